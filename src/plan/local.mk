noinst_LIBRARIES += libplan.a
libplan_a_SOURCES = \
	src/plan/verdict.h
