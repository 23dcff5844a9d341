# unit tests of the broker floor: check_PROGRAMS += tests/unit/NAME.t
check_PROGRAMS += tests/unit/pricelist.t
tests_unit_pricelist_t_SOURCES = tests/unit/pricelist.c
tests_unit_pricelist_t_LDADD = libtap.a $(BROKER_LIBS)
check_PROGRAMS += tests/unit/usage_load.t
tests_unit_usage_load_t_SOURCES = tests/unit/usage_load.c
tests_unit_usage_load_t_LDADD = libtap.a libstoretmp.a $(BROKER_LIBS)
