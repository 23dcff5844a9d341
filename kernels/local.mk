# berth-probe: a program of its own, plain C, with the device code embedded as data. It links no CUDA library.
# What the device computes the host must compute alike: no contraction but the explicit one.
BERTH_PROBE_CFLAGS = $(WARN_CFLAGS) $(SAN_CFLAGS) $(COV_CFLAGS) -ffp-contract=off
BERTH_PROBE_LIBS = -ldl -lpthread -lm
if OLDGLIBC
BERTH_PROBE_CFLAGS += -include $(srcdir)/kernels/oldglibc.h
BERTH_PROBE_LIBS += $(OLDGLIBC_LIBS)
endif
noinst_LIBRARIES += libprobe.a
libprobe_a_SOURCES = \
	kernels/arith.h \
	kernels/cuda_api.c kernels/cuda_api.h \
	kernels/expect.c \
	kernels/gpu.c \
	kernels/health.c \
	kernels/host.c \
	kernels/images.h \
	kernels/jlite.c kernels/jlite.h \
	kernels/kmsg.c \
	kernels/lt_api.c kernels/lt_api.h \
	kernels/measure.c \
	kernels/nvml_api.c kernels/nvml_api.h \
	kernels/oldglibc.h \
	kernels/other.c kernels/other.h kernels/other_amd.c kernels/other_ascend.c kernels/other_gaudi.c \
	kernels/other_neuron.c kernels/other_tpu.c \
	kernels/peer.c kernels/peer.h kernels/peer_rdma.c \
	kernels/rdma.c kernels/rdma_api.c kernels/rdma_api.h kernels/rdma_link.c kernels/rdma_link.h \
	kernels/report.c kernels/report.h kernels/report_out.c \
	kernels/run.h \
	kernels/sha.c kernels/sha.h \
	kernels/suite.c \
	kernels/t_compute.c kernels/t_gemm.c kernels/t_link.c kernels/t_memory.c kernels/t_peer.c \
	kernels/tool.c kernels/tool.h kernels/user.c
libprobe_a_CFLAGS = $(BERTH_PROBE_CFLAGS)

pkglibexec_PROGRAMS += berth-probe
berth_probe_SOURCES = kernels/main.c kernels/images.c
if OLDGLIBC
berth_probe_SOURCES += kernels/start.c
else
EXTRA_DIST += kernels/start.c
endif
berth_probe_CFLAGS = $(BERTH_PROBE_CFLAGS)
berth_probe_LDADD = libprobe.a $(BERTH_PROBE_LIBS)

BERTH_IMAGES = \
	kernels/base.fatbin kernels/base.ptx \
	kernels/tensor75.fatbin kernels/tensor75.ptx \
	kernels/tensor80.fatbin kernels/tensor80.ptx \
	kernels/tensor89.fatbin kernels/tensor89.ptx \
	kernels/wgmma.fatbin kernels/wgmma.ptx
EXTRA_DIST += kernels/base.cu kernels/tensor.cu kernels/wgmma.cu kernels/clang_shim.h
CLEANFILES += $(BERTH_IMAGES) kernels/*.fatbin.log
kernels/berth_probe-images.$(OBJEXT): $(BERTH_IMAGES)

if NVCC
# A spill or a warning in device code is an error; the assembler's report (registers) is kept for the tests. PTX is lowered to the ISA of old drivers: whatever the
# code needs is in there, as the assembler of the driver will confirm when it loads it.
BERTH_NVCC = $(NVCC) -O3 -std=c++17 -Werror all-warnings -Xcompiler -Wall,-Wextra,-Werror \
	-Xptxas -warn-spills,-Werror,-v $(NVCC_COMPRESS) $(NVCCFLAGS)

kernels/base.fatbin: kernels/base.cu kernels/arith.h
	$(AM_V_GEN)$(MKDIR_P) kernels && $(BERTH_NVCC) $(NVCC_GENCODE) -fatbin -o $@ $(srcdir)/kernels/base.cu >$@.log 2>&1 || { cat $@.log >&2; rm -f $@; exit 1; }
kernels/base.ptx: kernels/base.cu kernels/arith.h
	$(AM_V_GEN)$(MKDIR_P) kernels && $(BERTH_NVCC) -arch=compute_75 -ptx -o $@-t $(srcdir)/kernels/base.cu
	$(AM_V_at)$(SED) -e 's/^\.target .*/.target sm_60/' -e 's/^\.version .*/.version 7.0/' $@-t > $@ && rm -f $@-t
kernels/tensor75.fatbin: kernels/tensor.cu kernels/arith.h
	$(AM_V_GEN)$(MKDIR_P) kernels && $(BERTH_NVCC) -DBERTH_TENSOR=75 -arch=sm_75 -fatbin -o $@ $(srcdir)/kernels/tensor.cu >$@.log 2>&1 || { cat $@.log >&2; rm -f $@; exit 1; }
kernels/tensor75.ptx: kernels/tensor.cu kernels/arith.h
	$(AM_V_GEN)$(MKDIR_P) kernels && $(BERTH_NVCC) -DBERTH_TENSOR=75 -arch=compute_75 -ptx -o $@-t $(srcdir)/kernels/tensor.cu
	$(AM_V_at)$(SED) -e 's/^\.target .*/.target sm_75/' -e 's/^\.version .*/.version 7.0/' $@-t > $@ && rm -f $@-t
kernels/tensor80.fatbin: kernels/tensor.cu kernels/arith.h
	$(AM_V_GEN)$(MKDIR_P) kernels && $(BERTH_NVCC) -DBERTH_TENSOR=80 $(NVCC_GENCODE80) -fatbin -o $@ $(srcdir)/kernels/tensor.cu >$@.log 2>&1 || { cat $@.log >&2; rm -f $@; exit 1; }
kernels/tensor80.ptx: kernels/tensor.cu kernels/arith.h
	$(AM_V_GEN)$(MKDIR_P) kernels && $(BERTH_NVCC) -DBERTH_TENSOR=80 -arch=compute_80 -ptx -o $@-t $(srcdir)/kernels/tensor.cu
	$(AM_V_at)$(SED) -e 's/^\.target .*/.target sm_80/' -e 's/^\.version .*/.version 7.0/' $@-t > $@ && rm -f $@-t
kernels/tensor89.fatbin: kernels/tensor.cu kernels/arith.h
	$(AM_V_GEN)$(MKDIR_P) kernels && $(BERTH_NVCC) -DBERTH_TENSOR=89 $(NVCC_GENCODE89) -fatbin -o $@ $(srcdir)/kernels/tensor.cu >$@.log 2>&1 || { cat $@.log >&2; rm -f $@; exit 1; }
kernels/tensor89.ptx: kernels/tensor.cu kernels/arith.h
	$(AM_V_GEN)$(MKDIR_P) kernels && $(BERTH_NVCC) -DBERTH_TENSOR=89 -arch=compute_89 -ptx -o $@-t $(srcdir)/kernels/tensor.cu
	$(AM_V_at)$(SED) -e 's/^\.target .*/.target sm_89/' -e 's/^\.version .*/.version 8.4/' $@-t > $@ && rm -f $@-t
else
kernels/base.fatbin kernels/tensor75.fatbin kernels/tensor80.fatbin kernels/tensor89.fatbin kernels/tensor89.ptx:
	$(AM_V_at)$(MKDIR_P) kernels && : > $@
if CLANG_PTX
BERTH_CLANG = $(CLANG) -x cuda --cuda-device-only -Xclang -target-feature -Xclang +ptx70 -nocudainc -nocudalib \
	-nostdinc -fms-extensions -O3 -ffp-contract=off -S -Wno-unknown-cuda-version \
	-include $(srcdir)/kernels/clang_shim.h

kernels/base.ptx: kernels/base.cu kernels/arith.h kernels/clang_shim.h
	$(AM_V_GEN)$(MKDIR_P) kernels && $(BERTH_CLANG) --cuda-gpu-arch=sm_60 -o $@ $(srcdir)/kernels/base.cu
kernels/tensor75.ptx: kernels/tensor.cu kernels/arith.h kernels/clang_shim.h
	$(AM_V_GEN)$(MKDIR_P) kernels && $(BERTH_CLANG) --cuda-gpu-arch=sm_75 -DBERTH_TENSOR=75 -o $@ $(srcdir)/kernels/tensor.cu
kernels/tensor80.ptx: kernels/tensor.cu kernels/arith.h kernels/clang_shim.h
	$(AM_V_GEN)$(MKDIR_P) kernels && $(BERTH_CLANG) --cuda-gpu-arch=sm_80 -DBERTH_TENSOR=80 -o $@ $(srcdir)/kernels/tensor.cu
else
kernels/base.ptx kernels/tensor75.ptx kernels/tensor80.ptx:
	$(AM_V_at)$(MKDIR_P) kernels && : > $@
endif
endif

if NVCC_SM90
kernels/wgmma.fatbin: kernels/wgmma.cu kernels/arith.h
	$(AM_V_GEN)$(MKDIR_P) kernels && $(BERTH_NVCC) -gencode arch=compute_90a,code=sm_90a -fatbin -o $@ $(srcdir)/kernels/wgmma.cu >$@.log 2>&1 || { cat $@.log >&2; rm -f $@; exit 1; }
kernels/wgmma.ptx: kernels/wgmma.cu kernels/arith.h
	$(AM_V_GEN)$(MKDIR_P) kernels && $(BERTH_NVCC) -arch=compute_90a -ptx -o $@-t $(srcdir)/kernels/wgmma.cu
	$(AM_V_at)$(SED) -e 's/^\.target .*/.target sm_90a/' -e 's/^\.version .*/.version 8.0/' $@-t > $@ && rm -f $@-t
else
kernels/wgmma.fatbin kernels/wgmma.ptx:
	$(AM_V_at)$(MKDIR_P) kernels && : > $@
endif
