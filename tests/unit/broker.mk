# unit tests of the broker floor: check_PROGRAMS += tests/unit/NAME.t
