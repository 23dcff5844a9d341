noinst_LIBRARIES += libutil.a
libutil_a_SOURCES = \
	src/util/err.c src/util/err.h \
	src/util/money.h
