# unit tests of the util floor: check_PROGRAMS += tests/unit/NAME.t
check_PROGRAMS += tests/unit/arena.t tests/unit/str.t tests/unit/money.t
tests_unit_arena_t_SOURCES = tests/unit/arena.c
tests_unit_arena_t_LDADD = libtap.a $(UTIL_LIBS)
tests_unit_str_t_SOURCES = tests/unit/str.c
tests_unit_str_t_LDADD = libtap.a $(UTIL_LIBS)
tests_unit_money_t_SOURCES = tests/unit/money.c
tests_unit_money_t_LDADD = libtap.a $(UTIL_LIBS)
