noinst_LIBRARIES += libproviders.a
libproviders_a_SOURCES =
