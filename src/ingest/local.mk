noinst_LIBRARIES += libingest.a
libingest_a_SOURCES = \
	src/ingest/demand.c src/ingest/demand.h \
	src/ingest/expo.c src/ingest/expo.h \
	src/ingest/focus.c src/ingest/focus.h \
	src/ingest/ingest.h \
	src/ingest/lines.c src/ingest/lines.h \
	src/ingest/metric.c src/ingest/metric.h \
	src/ingest/points.c src/ingest/points.h \
	src/ingest/promjson.c src/ingest/promjson.h \
	src/ingest/sacct.c src/ingest/sacct.h src/ingest/sacct_row.c src/ingest/sacct_row.h \
	src/ingest/sacct_cut_any.c src/ingest/sacct_cut_x86.c \
	src/ingest/slurmrest.c src/ingest/slurmrest.h \
	src/ingest/slurmtime.c src/ingest/slurmtime.h \
	src/ingest/smi.c src/ingest/smi.h \
	src/ingest/snapshot.c src/ingest/snapshot.h \
	src/ingest/tres.c src/ingest/tres.h \
	src/ingest/zin.c src/ingest/zin.h src/ingest/zdec.c src/ingest/zdec.h \
	src/ingest/spool.c src/ingest/spool.h \
	src/ingest/hold.c src/ingest/rollup.c src/ingest/rollup.h \
	src/ingest/usage.c src/ingest/usage_csv.c src/ingest/usage.h \
	src/ingest/waits.c src/ingest/waits.h
if ZSTD
libingest_a_SOURCES += src/ingest/zdec_zstd.c
else
libingest_a_SOURCES += src/ingest/zdec_nozstd.c
endif
EXTRA_DIST += src/ingest/zdec_zstd.c src/ingest/zdec_nozstd.c
