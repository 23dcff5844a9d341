# unit tests of the store floor: check_PROGRAMS += tests/unit/NAME.t
