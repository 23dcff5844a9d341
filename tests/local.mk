TEST_EXTENSIONS = .t .sh
T_LOG_DRIVER = env AM_TAP_AWK='$(AWK)' $(SHELL) $(top_srcdir)/build-aux/tap-driver.sh
SH_LOG_DRIVER = $(T_LOG_DRIVER)
SH_LOG_COMPILER = $(SHELL)
AM_TESTS_ENVIRONMENT = \
	BERTH='$(abs_top_builddir)/berth$(EXEEXT)'; BERTH_PROBE='$(abs_top_builddir)/berth-probe$(EXEEXT)'; \
	TOP_SRCDIR='$(abs_top_srcdir)'; TOP_BUILDDIR='$(abs_top_builddir)'; \
	BERTH_DATA='$(abs_top_srcdir)/data'; AWK='$(AWK)'; MANDOC='$(MANDOC)'; CC='$(CC)'; \
	export BERTH BERTH_PROBE TOP_SRCDIR TOP_BUILDDIR BERTH_DATA AWK MANDOC CC; \
	if test -z "$$BERTH_SHARED" && test -d '$(abs_top_srcdir)/../shared/cases'; then \
		BERTH_SHARED='$(abs_top_srcdir)/../shared'; export BERTH_SHARED; \
	fi;
check_LIBRARIES += libtap.a
libtap_a_SOURCES = tests/tap.c tests/tap.h

# The longest of the scripts: what is named first begins first.
dist_check_SCRIPTS += tests/cli/spot-deadline.sh tests/cli/plan-starts.sh tests/cli/tick-money.sh tests/cli/place-safety.sh
dist_check_SCRIPTS += tests/cli/nasty.sh tests/cli/place-replay.sh

include tests/unit/util.mk
include tests/unit/model.mk
include tests/unit/net.mk
include tests/unit/store.mk
include tests/unit/ingest.mk
include tests/unit/plan.mk
include tests/unit/forecast.mk
include tests/unit/providers.mk
include tests/unit/broker.mk
include tests/unit/kernels.mk
include tests/probe/local.mk
include tests/cli/local.mk
include tests/lint/local.mk
include tests/live/local.mk
include tests/sim/local.mk
include tests/fuzz/local.mk

# Long ones first: the last of a parallel run are short then.
TESTS += $(sim_tests) $(dist_check_SCRIPTS) $(check_PROGRAMS)
