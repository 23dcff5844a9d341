# unit tests of the net floor: check_PROGRAMS += tests/unit/NAME.t
