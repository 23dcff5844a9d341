noinst_LIBRARIES += libingest.a
libingest_a_SOURCES = \
	src/ingest/zin.c src/ingest/zin.h src/ingest/zdec.c src/ingest/zdec.h \
	src/ingest/spool.c src/ingest/spool.h \
	src/ingest/hold.c src/ingest/rollup.c src/ingest/rollup.h \
	src/ingest/usage.c src/ingest/usage_csv.c src/ingest/usage.h
if ZSTD
libingest_a_SOURCES += src/ingest/zdec_zstd.c
else
libingest_a_SOURCES += src/ingest/zdec_nozstd.c
endif
EXTRA_DIST += src/ingest/zdec_zstd.c src/ingest/zdec_nozstd.c
