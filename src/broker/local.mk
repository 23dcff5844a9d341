noinst_LIBRARIES += libbroker.a
libbroker_a_SOURCES =
