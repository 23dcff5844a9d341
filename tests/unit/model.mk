# unit tests of the model floor: check_PROGRAMS += tests/unit/NAME.t
