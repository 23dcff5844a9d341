noinst_LIBRARIES += libplan.a
libplan_a_SOURCES = \
	src/plan/commit.c src/plan/commit.h src/plan/commit_impl.h \
	src/plan/commit_curve.c \
	src/plan/commit_risk.c \
	src/plan/commit_stack.c \
	src/plan/cost.h \
	src/plan/explain.h \
	src/plan/place.h \
	src/plan/verdict.h
