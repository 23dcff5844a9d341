# unit tests of the kernels floor: check_PROGRAMS += tests/unit/NAME.t
