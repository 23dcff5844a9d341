# unit tests of the model floor: check_PROGRAMS += tests/unit/NAME.t
check_PROGRAMS += tests/unit/accel.t tests/unit/offer.t tests/unit/data.t
tests_unit_accel_t_SOURCES = tests/unit/accel.c
tests_unit_accel_t_LDADD = libtap.a $(MODEL_LIBS)
tests_unit_offer_t_SOURCES = tests/unit/offer.c
tests_unit_offer_t_LDADD = libtap.a $(MODEL_LIBS)
tests_unit_data_t_SOURCES = tests/unit/data.c
tests_unit_data_t_LDADD = libtap.a $(MODEL_LIBS)
