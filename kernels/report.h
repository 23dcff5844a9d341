/* kernels/report.h - what a run finds out, from many threads, and its JSON and its table for
 * people. */
#ifndef BERTH_KERNELS_REPORT_H
#define BERTH_KERNELS_REPORT_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define REPORT_MAX_GPUS 64

#define REPORT_PRINTF(f, a) __attribute__((format(printf, f, a)))

enum report_status {
	REPORT_OK,
	REPORT_PARTIAL,
	REPORT_FAILED,
	REPORT_SKIPPED,
	REPORT_NOTE,
	REPORT_UNKNOWN
};

struct report_gpu {
	bool present;
	char name[96], uuid[48], pci[40], bus[24], cc[8], mig[32], link[8];
	int sms, ecc;                     /* -1: not said */
	double memory_mib, power_limit_w; /* NaN: not said */
};

struct report_test {
	char name[32], unit[12], error[200];
	int gpu, peer;                       /* -1: the host; none */
	double value, median, min, max, iqr; /* NaN: not measured */
	int n;
	double
	    took_s; /* wall time up to the report, filling and checking included; NaN: not said */
	enum report_status status;
};

struct report_check {
	char name[40], detail[240];
	int gpu;      /* -1: the machine */
	double value; /* NaN: none */
	enum report_status status;
};

struct report_error {
	char where[40], message[240];
	int code;
};

struct report {
	pthread_mutex_t lock;
	bool closed;                     /* printed; what comes later is dropped */
	const char *mode, *level, *only; /* only: "" for all of the level */
	char host[72], driver[40], cuda[16], image[8], kernels[32];
	struct report_gpu gpus[REPORT_MAX_GPUS];
	struct report_test *tests;
	size_t n_tests, cap_tests;
	struct report_check *health, *checks;
	size_t n_health, cap_health, n_checks, cap_checks;
	struct report_error *errors;
	size_t n_errors, cap_errors;
	bool lost;      /* out of memory: something is missing */
	double started; /* monotonic */
	struct {
		const char *test; /* NULL: between tests */
		double since, cap_s;
	} running[REPORT_MAX_GPUS + 1]; /* by gpu + 1; 0 is the host */
};

double report_now(void); /* monotonic seconds */
void report_init(struct report *r, const char *level);
void report_free(struct report *r);

/* All of these copy what they are given and may be called from any thread. */
void report_test(struct report *r, const struct report_test *t);
void report_check(struct report *r, const char *name, int gpu, enum report_status s, double value,
    const char *fmt, ...) REPORT_PRINTF(6, 7);
void report_health(struct report *r, const char *name, int gpu, enum report_status s, double value,
    const char *fmt, ...) REPORT_PRINTF(6, 7);
void report_error(struct report *r, const char *where, int code, const char *fmt, ...)
    REPORT_PRINTF(4, 5);

/* A test that could not run, or has no meaning here. */
void report_test_none(struct report *r, const char *name, int gpu, const char *unit,
    enum report_status s, const char *fmt, ...) REPORT_PRINTF(6, 7);

/* Marks what a device is doing, for the watchdog and the progress line; test NULL ends it. */
void report_running(struct report *r, int gpu, const char *test, double cap_s);

/* 0 measured and right; 3 nothing to measure; 4 wrong or unhealthy; 5 a time cap ended it. */
int report_exit(struct report *r, bool timed_out);
/* Writes everything; -1 when the output failed. Only the first call of either does anything. */
int report_json(struct report *r, FILE *f);
int report_table(struct report *r, FILE *f);

#endif
