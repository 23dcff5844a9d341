noinst_LIBRARIES += libplan.a
libplan_a_SOURCES = \
	src/plan/commit.h \
	src/plan/cost.h \
	src/plan/explain.h \
	src/plan/place.h \
	src/plan/verdict.h
