noinst_LIBRARIES += libmodel.a
libmodel_a_SOURCES = \
	src/model/accel.h src/model/datapath.h src/model/job.h src/model/jobspec.h src/model/machine.h \
	src/model/offer.h src/model/probe.c src/model/probe.h src/model/series.h
