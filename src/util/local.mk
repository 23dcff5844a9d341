noinst_LIBRARIES += libutil.a
libutil_a_SOURCES = \
	src/util/err.c src/util/err.h \
	src/util/arena.c src/util/arena.h src/util/vec.c src/util/vec.h src/util/strmap.c src/util/strmap.h \
	src/util/base64.c src/util/base64.h \
	src/util/buf.c src/util/buf.h src/util/pages.c src/util/pages.h \
	src/util/child.c src/util/child.h \
	src/util/str.c src/util/strnum.c src/util/str.h src/util/glob.c src/util/glob.h \
	src/util/money.c src/util/money.h \
	src/util/duration.c src/util/duration.h src/util/tz.c src/util/tz.h src/util/time.c src/util/time.h \
	src/util/rng.c src/util/rng.h src/util/hash.c src/util/hash.h src/util/leb.h src/util/sketch.c src/util/sketch.h \
	src/util/csv.c src/util/csv.h src/util/yaml.c src/util/yamlget.c src/util/yaml.h \
	src/util/xml.c src/util/xml.h \
	src/util/json.h src/util/jsonr.c src/util/jsonr.h src/util/jsonw.c src/util/jsonw.h \
	src/util/jsonpull.c src/util/jsonpull.h src/util/jsonscan_any.c src/util/jsonscan_x86.c src/util/jsonscan.h \
	src/util/fileio.c src/util/atomicfile.c src/util/fileio.h src/util/lock.c src/util/lock.h src/util/xdg.c src/util/xdg.h src/util/log.c src/util/log.h

# The terminal and the command line.
libutil_a_SOURCES += \
	src/util/opt.c src/util/opt.h src/util/plot.c src/util/plot.h \
	src/util/progress.c src/util/progress.h src/util/svg.c src/util/svg.h \
	src/util/table.c src/util/table.h \
	src/util/term.c src/util/term.h
