noinst_LIBRARIES += libmodel.a
libmodel_a_SOURCES = \
	src/model/probe.c src/model/probe.h
