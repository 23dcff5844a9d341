# unit tests of the providers floor: check_PROGRAMS += tests/unit/NAME.t
