# Simulations: whole brokers on replayed clouds.
EXTRA_DIST += tests/sim/tick.c
