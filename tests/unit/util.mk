# unit tests of the util floor: check_PROGRAMS += tests/unit/NAME.t
