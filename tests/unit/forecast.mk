# unit tests of the forecast floor: check_PROGRAMS += tests/unit/NAME.t
