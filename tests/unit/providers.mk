# unit tests of the providers floor: check_PROGRAMS += tests/unit/NAME.t
check_PROGRAMS += tests/unit/import.t
tests_unit_import_t_SOURCES = tests/unit/import.c
tests_unit_import_t_LDADD = libtap.a $(PROVIDER_LIBS)
check_PROGRAMS += tests/unit/cloud.t
tests_unit_cloud_t_SOURCES = tests/unit/cloud.c
tests_unit_cloud_t_LDADD = libtap.a $(PROVIDER_LIBS)
