noinst_LIBRARIES += libmodel.a
libmodel_a_SOURCES = \
	src/model/accel.c src/model/accel.h \
	src/model/accelkey.c src/model/accelkey.h \
	src/model/accelslice.c \
	src/model/accelspec.c \
	src/model/acceltab.c src/model/acceltab.h \
	src/model/block.c src/model/block.h \
	src/model/budget.c src/model/budget.h \
	src/model/commitment.h \
	src/model/datapath.c src/model/datapath.h \
	src/model/event.h \
	src/model/formmix.c src/model/formmix.h \
	src/model/holiday.c src/model/holiday.h \
	src/model/job.c src/model/job.h \
	src/model/jobdefaults.c src/model/jobdefaults.h \
	src/model/jobspec.c src/model/jobspec.h \
	src/model/machine.c src/model/machine.h \
	src/model/measure.h \
	src/model/offer.c src/model/offer.h src/model/offerkey.c src/model/offerkey.h \
	src/model/probe.c src/model/probe.h \
	src/model/rates.c src/model/rates.h \
	src/model/record.h \
	src/model/series.c src/model/series.h
