noinst_LIBRARIES += libforecast.a
libforecast_a_SOURCES =
