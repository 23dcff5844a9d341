# unit tests of the net floor: check_PROGRAMS += tests/unit/NAME.t
check_PROGRAMS += tests/unit/http.t
tests_unit_http_t_SOURCES = tests/unit/http.c
tests_unit_http_t_LDADD = libtap.a $(NET_LIBS)
EXTRA_DIST += tests/unit/http_server.py
