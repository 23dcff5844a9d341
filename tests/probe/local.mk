# berth-probe against a fake driver: no GPU is needed, no verdict is left to luck
BERTH_FAKES = tests/probe/fake/libcuda.so.1 tests/probe/fake/libnvidia-ml.so.1 tests/probe/fake/libcublasLt.so.13 tests/probe/fake/libibverbs.so.1
BERTH_FAKE_CC = $(CC) $(DEFS) -I$(top_srcdir) -std=gnu17 -O2 -ffp-contract=off -Wall -Wextra $(CFLAGS) -fPIC -shared
check_DATA = $(BERTH_FAKES)
CLEANFILES += $(BERTH_FAKES)
EXTRA_DIST += tests/probe/fake.h tests/probe/fake_cuda.c tests/probe/fake_nvml.c tests/probe/fake_lt.c tests/probe/fake_verbs.c \
	tests/probe/verbs_abi.c
dist_check_SCRIPTS += tests/probe/fixtures.sh tests/probe/gate.sh tests/probe/others.sh tests/probe/peer.sh tests/probe/start.sh

tests/probe/fake/libcuda.so.1: tests/probe/fake_cuda.c tests/probe/fake.h kernels/arith.h
	$(AM_V_GEN)$(MKDIR_P) tests/probe/fake && $(BERTH_FAKE_CC) -Wl,-soname,libcuda.so.1 -o $@ \
		$(srcdir)/tests/probe/fake_cuda.c -lpthread -lm
tests/probe/fake/libnvidia-ml.so.1: tests/probe/fake_nvml.c tests/probe/fake.h kernels/nvml_api.h
	$(AM_V_GEN)$(MKDIR_P) tests/probe/fake && $(BERTH_FAKE_CC) -Wl,-soname,libnvidia-ml.so.1 -o $@ \
		$(srcdir)/tests/probe/fake_nvml.c
tests/probe/fake/libcublasLt.so.13: tests/probe/fake_lt.c tests/probe/fake.h kernels/lt_api.h
	$(AM_V_GEN)$(MKDIR_P) tests/probe/fake && $(BERTH_FAKE_CC) -Wl,-soname,libcublasLt.so.13 -o $@ \
		$(srcdir)/tests/probe/fake_lt.c -ldl -lm
tests/probe/fake/libibverbs.so.1: tests/probe/fake_verbs.c tests/probe/fake.h kernels/rdma_api.h
	$(AM_V_GEN)$(MKDIR_P) tests/probe/fake && $(BERTH_FAKE_CC) -Wl,-soname,libibverbs.so.1 -o $@ \
		$(srcdir)/tests/probe/fake_verbs.c -lpthread

# the same program with images that only the fake driver loads, so that no compiler of device code is needed
EXTRA_PROGRAMS += tests/probe/probe-on-fakes
check_DATA += tests/probe/probe-on-fakes$(EXEEXT)
CLEANFILES += tests/probe/probe-on-fakes$(EXEEXT)
tests_probe_probe_on_fakes_SOURCES = kernels/main.c tests/probe/fake_images.c
tests_probe_probe_on_fakes_CFLAGS = $(BERTH_PROBE_CFLAGS)
tests_probe_probe_on_fakes_LDADD = libprobe.a $(BERTH_PROBE_LIBS)
if OLDGLIBC
tests_probe_probe_on_fakes_SOURCES += kernels/start.c
endif
