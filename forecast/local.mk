noinst_LIBRARIES += libforecast.a
libforecast_a_CFLAGS = $(AM_CFLAGS) $(VEC_CFLAGS)
libforecast_a_SOURCES = \
	forecast/answer.c forecast/answer.h \
	forecast/backtest.c \
	forecast/band.c \
	forecast/cand_arx.c \
	forecast/cand_es.c \
	forecast/cand_harm.c \
	forecast/cand_hier.c \
	forecast/cand_simple.c \
	forecast/cold.c \
	forecast/combine.c \
	forecast/event.c forecast/event.h \
	forecast/fc.h \
	forecast/forecast.h \
	forecast/growth.c \
	forecast/hand.c \
	forecast/holiday.c \
	forecast/lin.c \
	forecast/local.c \
	forecast/path.c \
	forecast/peak.c \
	forecast/peer.c \
	forecast/pool.c \
	forecast/prep.c \
	forecast/regrid.c \
	forecast/result.c \
	forecast/run.c \
	forecast/score.c \
	forecast/shift.c \
	forecast/spike.c \
	forecast/stat.c \
	forecast/tree.c forecast/tree.h forecast/tree_add.c forecast/tree_cap.c \
	forecast/walk.c
