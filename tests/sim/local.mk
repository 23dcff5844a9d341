# Simulations: whole brokers on replayed clouds.  They take the longest and begin first, which is why they stand before all other
# TESTS and not among check_PROGRAMS.
sim_tests = tests/sim/tick.t tests/sim/spot.t
EXTRA_PROGRAMS += $(sim_tests)
check_DATA += $(sim_tests)
CLEANFILES += $(sim_tests)
tests_sim_tick_t_SOURCES = tests/sim/tick.c
tests_sim_tick_t_LDADD = libtap.a $(BROKER_LIBS)
tests_sim_spot_t_SOURCES = tests/sim/spot.c
tests_sim_spot_t_LDADD = libtap.a $(BROKER_LIBS)
