# unit tests of the store floor: check_PROGRAMS += tests/unit/NAME.t
check_LIBRARIES += libstoretmp.a
libstoretmp_a_SOURCES = tests/unit/store_tmp.c tests/unit/store_tmp.h
STORE_TEST_LIBS = libtap.a libstoretmp.a $(STORE_LIBS)
check_PROGRAMS += tests/unit/store_open.t
tests_unit_store_open_t_SOURCES = tests/unit/store_open.c
tests_unit_store_open_t_LDADD = $(STORE_TEST_LIBS)
