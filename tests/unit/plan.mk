# unit tests of the plan floor: check_PROGRAMS += tests/unit/NAME.t
check_PROGRAMS += tests/unit/commit.t
tests_unit_commit_t_SOURCES = tests/unit/commit.c
tests_unit_commit_t_LDADD = libtap.a $(PLAN_LIBS)
check_PROGRAMS += tests/unit/place.t
tests_unit_place_t_SOURCES = tests/unit/place.c
tests_unit_place_t_LDADD = libtap.a $(PLAN_LIBS)
