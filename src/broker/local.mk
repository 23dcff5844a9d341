noinst_LIBRARIES += libbroker.a
libbroker_a_SOURCES = \
	src/broker/placing.h
