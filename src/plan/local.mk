noinst_LIBRARIES += libplan.a
libplan_a_SOURCES =
