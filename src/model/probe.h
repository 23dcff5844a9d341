/* src/model/probe.h - what berth-probe (or the user's own tool) measured on one machine.  Floor:
 * model. */
#ifndef BERTH_MODEL_PROBE_H
#define BERTH_MODEL_PROBE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The text form of all of this is berth.probe-result/1, described in berth-probe(1). */

enum probe_status {
	PROBE_OK,      /* measured, and whatever it computed was right */
	PROBE_PARTIAL, /* its time cap came first; the samples so far are right */
	PROBE_FAILED,  /* could not be measured, or computed something wrong */
	PROBE_SKIPPED, /* does not exist on this device, or was not asked for */
	PROBE_STATUS_COUNT
};

enum check_status {
	CHECK_OK,
	CHECK_NOTE, /* worth telling, never a reason to reject */
	CHECK_FAILED,
	CHECK_UNKNOWN, /* not supported, no permission, unreadable: never the same as ok */
	CHECK_STATUS_COUNT
};

enum probe_mode {
	PROBE_MODE_GPU,
	PROBE_MODE_HOST,    /* no usable NVIDIA device: the host reference ran instead */
	PROBE_MODE_OTHER,   /* another vendor's tool or a user's own benchmark */
	PROBE_MODE_NETWORK, /* between two machines; says nothing of accelerators */
	PROBE_MODE_COUNT
};

/* Strings are never NULL: "" is "not said". NaN is an unknown double, -1 an unknown int. */
struct probe_gpu {
	int index;
	const char *name;       /* as the driver spells it */
	const char *uuid, *pci; /* pci: "10de:2330:10de:16c1" device and subsystem */
	const char *cc;         /* "9.0" */
	int sms;
	double memory_mib;
	double power_limit_w;
	int ecc;          /* 1 on, 0 off */
	const char *mig;  /* slice "1g.10gb"; "" when the whole device is ours */
	const char *link; /* "nvlink", "pcie" */
};

struct probe_test {
	const char *name; /* "dram_triad" */
	int gpu, peer;    /* -1: the host; no peer */
	double value;     /* the one to use: the median, or the last of a steady run */
	const char *unit; /* "GB/s" "TFLOP/s" "ns" "us" "1" */
	double median, min, max, iqr;
	int n; /* samples */
	enum probe_status status;
	const char *error;
};

struct probe_check {
	const char *name; /* "dram_triad.sum" "ecc_uncorrected" */
	int gpu;          /* -1: the machine */
	enum check_status status;
	double value; /* of a health counter; NaN where there is none */
	const char *detail;
};

struct probe_error {
	const char *where; /* "cuInit" */
	int code;
	const char *message;
};

struct probe_result {
	enum probe_mode mode;
	const char *level; /* "quick" "standard" "deep" */
	const char
	    *only; /* the tests that were asked for, where not the level's: "dram,gemm"; "" */
	const char *probe;   /* version of the program */
	const char *kernels; /* hash of the device code; "" without */
	const char *host;    /* host name */
	const char *driver;  /* "580.65.06" */
	const char *cuda;    /* what the driver offers: "13.0" */
	const char *image;   /* "sass" "ptx" */
	int64_t at;          /* s since epoch, by the machine's own clock; 0: not said */
	double duration_s;
	bool complete; /* the last key of the object was there: nothing was cut off */
	struct probe_gpu *gpus;
	size_t n_gpus;
	struct probe_check *health; /* counters and states as the driver tells them */
	size_t n_health;
	struct probe_test *tests;
	size_t n_tests;
	struct probe_check *checks; /* was what it computed right */
	size_t n_checks;
	struct probe_error *errors;
	size_t n_errors;
};

const char *probe_status_name(enum probe_status s); /* "ok" "partial" "failed" "skipped" */
bool probe_status_parse(const char *s, enum probe_status *s_out);
const char *check_status_name(enum check_status s); /* "ok" "note" "failed" "unknown" */
bool check_status_parse(const char *s, enum check_status *s_out);
const char *probe_mode_name(enum probe_mode m); /* "gpu" "host" "other" */
bool probe_mode_parse(const char *s, enum probe_mode *m_out);

/* The test of that name on that GPU (-1: the host) with the given peer (-1: none), or NULL. */
const struct probe_test *probe_test_find(
    const struct probe_result *r, const char *name, int gpu, int peer);

#endif
