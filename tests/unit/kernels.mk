# unit tests of the kernels floor: check_PROGRAMS += tests/unit/NAME.t
check_PROGRAMS += tests/unit/probe_sha.t
tests_unit_probe_sha_t_SOURCES = tests/unit/probe_sha.c
tests_unit_probe_sha_t_LDADD = libtap.a libprobe.a $(UTIL_LIBS)
