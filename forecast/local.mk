noinst_LIBRARIES += libforecast.a
libforecast_a_SOURCES = \
	forecast/forecast.h
