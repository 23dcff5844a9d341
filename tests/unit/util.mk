# unit tests of the util floor: check_PROGRAMS += tests/unit/NAME.t
check_PROGRAMS += tests/unit/arena.t tests/unit/str.t tests/unit/money.t tests/unit/time.t
tests_unit_arena_t_SOURCES = tests/unit/arena.c
tests_unit_arena_t_LDADD = libtap.a $(UTIL_LIBS)
tests_unit_str_t_SOURCES = tests/unit/str.c
tests_unit_str_t_LDADD = libtap.a $(UTIL_LIBS)
tests_unit_money_t_SOURCES = tests/unit/money.c
tests_unit_money_t_LDADD = libtap.a $(UTIL_LIBS)
tests_unit_time_t_SOURCES = tests/unit/time.c
tests_unit_time_t_LDADD = libtap.a $(UTIL_LIBS)
check_PROGRAMS += tests/unit/csv.t
tests_unit_csv_t_SOURCES = tests/unit/csv.c
tests_unit_csv_t_LDADD = libtap.a $(UTIL_LIBS)
check_PROGRAMS += tests/unit/json.t
tests_unit_json_t_SOURCES = tests/unit/json.c
tests_unit_json_t_LDADD = libtap.a $(UTIL_LIBS)

# The terminal and the command line.
check_PROGRAMS += tests/unit/opt.t tests/unit/table.t tests/unit/plot.t tests/unit/svg.t
tests_unit_opt_t_SOURCES = tests/unit/opt.c
tests_unit_opt_t_LDADD = libtap.a $(UTIL_LIBS)
tests_unit_table_t_SOURCES = tests/unit/table.c
tests_unit_table_t_LDADD = libtap.a $(UTIL_LIBS)
tests_unit_plot_t_SOURCES = tests/unit/plot.c
tests_unit_plot_t_LDADD = libtap.a $(UTIL_LIBS)
tests_unit_svg_t_SOURCES = tests/unit/svg.c
tests_unit_svg_t_LDADD = libtap.a $(UTIL_LIBS)
