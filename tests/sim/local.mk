# Simulations: whole brokers on replayed clouds.
check_PROGRAMS += tests/sim/tick.t
tests_sim_tick_t_SOURCES = tests/sim/tick.c
tests_sim_tick_t_LDADD = libtap.a $(BROKER_LIBS)
check_PROGRAMS += tests/sim/spot.t
tests_sim_spot_t_SOURCES = tests/sim/spot.c
tests_sim_spot_t_LDADD = libtap.a $(BROKER_LIBS)
