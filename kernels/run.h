/* kernels/run.h - the state of one run, its devices, and what every test is written with. */
#ifndef BERTH_KERNELS_RUN_H
#define BERTH_KERNELS_RUN_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/cuda_api.h"
#include "kernels/images.h"
#include "kernels/lt_api.h"
#include "kernels/nvml_api.h"
#include "kernels/report.h"

enum { LEVEL_QUICK = 1, LEVEL_STANDARD = 2, LEVEL_DEEP = 4, LEVEL_ALL = 7 };

struct run_opts {
	int level;        /* one of LEVEL_ */
	const char *only; /* comma list of test names or their beginnings; NULL: all of the level */
	double cap_s;     /* whole run */
	double steady_s;
	uint64_t array_bytes;   /* of each of three arrays */
	uint64_t gemm_n;        /* edge of the large products */
	uint64_t pattern_bytes; /* 0: nine tenths of the free memory */
	const char *library;    /* cuBLASLt to use instead of a search; NULL: search */
	const char *kmsg;       /* kernel log to look for Xid lines in; NULL: /dev/kmsg */
	const char *sysroot;    /* /sys and /dev are looked for under it; NULL: the machine's */
	const char *measure, *measure_name; /* a user's own benchmark; NULL: none */
	double measure_devices;             /* accelerators that it keeps busy */
	const char *serve, *peer;           /* [HOST:]PORT of the network test; NULL: none */
	const char *token_file;             /* NULL: BERTH_PROBE_TOKEN */
	const char *rdma_device;            /* NULL: the first with a port that is up */
	char token[256];
	int streams;
	bool json, list, force_host;
};

/* What the host computes beforehand; each once, whoever asks first. */
struct expect {
	pthread_mutex_t lock;
	uint64_t n, read_xor, copy_sum, triad_sum; /* of arrays of n words */
	bool have_arrays;
	struct {
		uint64_t m, n, k, h;
	} product[8];
	struct {
		uint64_t words, sum;
	} copy[8];
	int products, copies;
};

struct run;
struct suite_row;

struct gpu {
	struct run *run;
	int index, dev; /* index of the list, CUDA device */
	void *ctx;
	void *mod[IMAGE_GROUPS];
	int mod_rc[IMAGE_GROUPS]; /* -1: not tried */
	int cc, sms;              /* 90 is 9.0 */
	size_t memory, l2;
	cuda_ptr a, b, c, acc, workspace;
	uint64_t words; /* 8-byte words of each array */
	void *ev[2];
	bool filled; /* b and c hold seeds 1 and 2 */
	bool ready;  /* opened; tests may run */
	nvml_dev nv;
	bool has_nv;
	void *lt; /* handle */
	struct lt_api lt_api;
	bool lt_tried;
	char lt_why[200];
	uint64_t mesh_sum;   /* of what this device received in a turn of p2p_all */
	double cold_tflops;  /* of the first second of the steady part */
	struct health_load { /* as NVML tells it, a few times a second under load */
		unsigned long long reasons;
		unsigned temp_max, clock_min, clock_max, power_max_mw;
		int samples, reasons_rc;
	} load;
	struct health_count { /* before the run */
		unsigned long long ecc_uncorrected, replay, nvlink_errors;
		bool valid;
	} before;
};

struct run {
	struct run_opts opts;
	struct report report;
	struct cuda_api cuda;
	struct nvml_api nvml;
	bool has_nvml, nvml_dead; /* dead: a call did not come back; never call it again */
	void *nvml_events;
	struct expect expect;
	struct gpu *gpus;
	int n_gpus;
	pthread_barrier_t barrier;
};

/* Suite */
typedef void (*test_fn)(struct gpu *g, const struct suite_row *row);

enum suite_phase { PHASE_EACH, PHASE_PAIRS, PHASE_MESH, PHASE_STEADY };

struct suite_row {
	const char *name, *unit, *what;
	int levels;
	double cap_s; /* of one device */
	enum suite_phase phase;
	test_fn run;
	int arg; /* precision, group: what one function needs to serve several rows */
};

const struct suite_row *suite_rows(size_t *n_out);
bool suite_wants(const struct run_opts *o, const struct suite_row *row);
bool suite_wants_name(
    const struct run_opts *o, const char *name); /* a test that is in no table; any level has it */

/* Devices */
int gpu_list(struct run *run); /* fills run->gpus; -1: nothing to measure, said in the report */
void gpu_open(struct gpu *g);  /* context, code, arrays; sets ready or reports why not */
int gpu_fill(struct gpu *g);   /* b and c as tests expect them; a CUDA code */
/* A kernel of a group, or NULL: *why says why, *missing whether no such image exists for this
 * device. */
void *gpu_kernel(
    struct gpu *g, enum image_group group, const char *name, const char **why, bool *missing);

struct gpu_launch {
	void *fn;
	unsigned grid, block;
	void **args;
};

int gpu_launch(struct gpu *g, const struct gpu_launch *l);
int gpu_run(struct gpu *g, enum image_group group, const char *name, unsigned grid, unsigned block,
    void **args);
unsigned gpu_grid(const struct gpu *g);

/* One thing to time: enqueues it and returns a CUDA code. */
typedef int (*gpu_op)(struct gpu *g, void *arg);

struct gpu_times {
	double s[128]; /* seconds */
	int n;
	bool partial; /* the cap came first */
};

int gpu_measure(struct gpu *g, gpu_op op, void *arg, int warm, int reps, double deadline,
    struct gpu_times *t_out);
/* Rate (work over time) or, with work 0, the time itself times scale; fills value, median, min,
 * max, iqr, n. */
void gpu_rates(const struct gpu_times *t, double work, double scale, struct report_test *out);
void gpu_report(struct gpu *g, const struct suite_row *row, const struct gpu_times *t, double work,
    double scale, bool right);
void gpu_failed(struct gpu *g, const struct suite_row *row, const char *where, int code);
/* Runs an op twice that leaves 8 bytes in acc, compares with want, reports check "NAME.WHAT"; true
 * if right. */
bool gpu_check_twice(struct gpu *g, const struct suite_row *row, const char *what, gpu_op op,
    void *arg, uint64_t want);

/* Expectations of the host */
void expect_init(struct expect *e);
void expect_arrays(
    struct expect *e, uint64_t words, uint64_t *xor_out, uint64_t *copy_out, uint64_t *triad_out);
uint64_t expect_product(struct expect *e, uint64_t m, uint64_t n, uint64_t k);
uint64_t expect_copy(
    struct expect *e, uint64_t words); /* sum of terms of the first words of seed 1 */

#define RUN_TRIAD_S 0.4

/* Health, see health.c */
void health_open(struct run *run);
void health_before(struct run *run);
void health_sample(struct run *run); /* under load */
void health_after(struct run *run);
/* Reads a kernel log for Xid lines of the listed devices. */
void health_kmsg(struct run *run);
/* Xids after which a device is not to be trusted. */
bool health_xid_fatal(unsigned long long xid);
/* A line of the kernel log: its Xid and the PCI address in bus [n], or -1. */
int health_xid_line(const char *line, char *bus, size_t n);
void health_link(struct gpu *g); /* PCIe link while copies run */

/* Accelerators of other vendors, see other.c: false if there are none. */
bool other_find(struct run *run);
/* Runs the user's own benchmark and reports what it measured. */
void user_measure(struct run *run);

/* The RDMA ports of this machine into the report's health; nothing where there are none. */
void rdma_ports(struct run *run);

/* Host reference, see host.c */
void host_reference(struct run *run);
int host_cpus(void);

/* Tests */
void test_dram_read(struct gpu *g, const struct suite_row *row);
void test_dram_copy(struct gpu *g, const struct suite_row *row);
void test_dram_triad(struct gpu *g, const struct suite_row *row);
void test_dram_stream(struct gpu *g, const struct suite_row *row);
void test_dram_memcpy(struct gpu *g, const struct suite_row *row);
void test_l2_read(struct gpu *g, const struct suite_row *row);
void test_dram_latency(struct gpu *g, const struct suite_row *row);
void test_patterns(struct gpu *g, const struct suite_row *row);
void test_fma(struct gpu *g, const struct suite_row *row);
void test_tensor(struct gpu *g, const struct suite_row *row);
void test_gemm(struct gpu *g, const struct suite_row *row);
void test_decode(struct gpu *g, const struct suite_row *row);
void test_steady(struct gpu *g, const struct suite_row *row);
void test_pcie(struct gpu *g, const struct suite_row *row);
void test_launch(struct gpu *g, const struct suite_row *row);
void test_p2p(struct gpu *g, const struct suite_row *row);
void test_p2p_all(struct gpu *g, const struct suite_row *row);

#endif
