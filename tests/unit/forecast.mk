# unit tests of the forecast floor: check_PROGRAMS += tests/unit/NAME.t
check_PROGRAMS += tests/unit/forecast_run.t
tests_unit_forecast_run_t_SOURCES = tests/unit/forecast_run.c
tests_unit_forecast_run_t_LDADD = libtap.a $(FORECAST_LIBS)
check_PROGRAMS += tests/unit/forecast_peer.t
tests_unit_forecast_peer_t_SOURCES = tests/unit/forecast_peer.c
tests_unit_forecast_peer_t_LDADD = libtap.a $(FORECAST_LIBS)
