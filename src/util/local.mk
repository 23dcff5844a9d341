noinst_LIBRARIES += libutil.a
libutil_a_SOURCES = \
	src/util/err.c src/util/err.h \
	src/util/money.h \
	src/util/opt.h src/util/plot.h src/util/progress.h src/util/table.h src/util/term.h
