# unit tests of the plan floor: check_PROGRAMS += tests/unit/NAME.t
