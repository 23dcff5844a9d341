/* src/plan/verdict.h - accept, discount or reject a machine by what was measured on it.  Floor:
 * domain. */
#ifndef BERTH_PLAN_VERDICT_H
#define BERTH_PLAN_VERDICT_H

#include <stdbool.h>
#include <stddef.h>

#include "model/probe.h"
#include "util/err.h"

struct accel;
struct accel_table;
struct arena;

enum verdict_kind {
	VERDICT_ACCEPT,   /* as promised; notes may stand beside it */
	VERDICT_DISCOUNT, /* sound, but slower than promised: worth less */
	VERDICT_REJECT,   /* wrong, unhealthy, unmeasured or far too slow */
	VERDICT_KIND_COUNT
};

/* What the offer says the machine is. "" , 0 and NaN: not promised. */
struct verdict_promise {
	const struct accel *accel; /* row of the table; NULL: none, or a name the table lacks */
	const char *accelerator;   /* as billed, for the messages */
	int count;                 /* accelerators that must be seen */
	double memory_gib;         /* per accelerator; NaN: the table's */
	const char *mig;           /* slice that was bought: "1g.10gb" */
	double network_gbps;       /* of the machine, one way; NaN or 0: not promised */
	const char *precision; /* whose GEMM rate counts: "bf16"; "": the fastest that was measured
				  of bf16, fp16, fp32 */
};

/*
 * What good machines reach in one test. A row says a value, or a share of the table's peak; the row
 * of the accelerator's own name goes before "*", and a fleet's median before a seed where it has
 * machines enough.
 */
struct verdict_ref {
	const char *accelerator; /* canonical name, or "*" */
	const char *test;        /* "dram_triad" */
	double value;            /* in the test's unit; NaN: see of_peak */
	double of_peak;          /* share of the table's peak of that test; NaN: see value */
	const char *source;
	int machines, providers; /* behind a fleet's median; 0: a seed */
	const char *key; /* fleet: the machines it was measured on, as verdict_fleet_key(); "" or
			    NULL: not known */
	double drift;    /* fleet: its median over its former median, minus 1; NaN: none */
};

struct verdict_refs {
	struct verdict_ref *refs;
	size_t n;
	const char *key; /* only medians of such machines, or of unknown ones; "" or NULL: the one
			    of most machines */
};

/* Every number that decides; data/probe_thresholds.csv, each row with its reason. */
struct verdict_limits {
	double accept;          /* ratio from which a machine is as promised */
	double reject;          /* ratio below which it is refused */
	double implausible;     /* ratio to the table's peak above which a rate is not believed */
	double memory;          /* share of the promised memory that must be there */
	double straggler;       /* slowest over median of the GPUs of one machine */
	double hot_cold;        /* rate at the end over the rate at the start of the steady part */
	double pcie;            /* copy rate over the link's */
	double pcie_balance;    /* device to host over host to device */
	double p2p;             /* NVLink copy over the link's */
	double p2p_all;         /* NVLink copy while all pairs talk over the same copy alone */
	double network;         /* TCP rate over the network that was sold */
	double network_balance; /* slower over faster direction of the network */
	double rdma;            /* RDMA write over the rate of the port */
	double jitter; /* 95th percentile over median from which a neighbour is suspected */
	double fleet_machines, fleet_providers; /* needed before a fleet's median replaces a seed */
	double
	    fleet_drift; /* a fleet that moved by more than this asks a person: the seed counts */
	double fleet_floor;   /* a fleet's median counts at least this share of the seed */
	double weight_memory; /* share of a job's time that memory bounds; the rest is GEMM */
};

struct verdict_reason {
	enum verdict_kind kind; /* what this alone would lead to; ACCEPT for a mere note */
	const char *code;       /* short and stable: "wrong_model" "ecc" "slow" */
	int gpu;                /* -1: the machine */
	const char *text;       /* what, measured and expected, and what to do */
};

struct verdict_ratio {
	int gpu;
	const char *resource; /* "memory" "compute" "host_link" "peer_link" "network" */
	const char *test;
	double measured, reference, ratio;
	const char *unit, *source;
};

struct verdict {
	enum verdict_kind kind;
	double speed; /* of the slowest GPU, measured over reference, 1 as promised; NaN: not
			 measured */
	double memory_gb_s, compute_tflops; /* of the slowest GPU; NaN: not measured */
	const char *compute_test;           /* "gemm_bf16"; "" */
	const char
	    *actual;   /* canonical name of what the machine really has; "" if the table lacks it */
	int gpus;      /* seen */
	int straggler; /* GPU that lags the others, -1 none */
	bool shared;   /* a neighbour is suspected */
	struct verdict_reason *reasons; /* worst first */
	size_t n_reasons;
	struct verdict_ratio *ratios;
	size_t n_ratios;
};

const char *verdict_kind_name(enum verdict_kind k); /* "accept" "discount" "reject" */
bool verdict_kind_parse(const char *s, enum verdict_kind *k_out);

/*
 * What was sold, by its name: the row of the table and, where it is a slice
 * ("H100-SXM5-80GB-1g.10gb"), the slice and, unless p->memory_gib says it, its memory. A name that
 * nothing knows stays as it is, with accel NULL.
 */
void verdict_promise_name(
    struct verdict_promise *p, const struct accel_table *table, struct arena *a, const char *name);

/*
 * Reads one berth.probe-result/1 object out of hostile bytes. Strings are copied into the arena.
 * text [len]   UTF-8 JSON, at most 4 MiB, at most 1024 GPUs, 65536 rows a list
 * Errors       BERTH_EINVAL: not JSON, another schema, a value of the wrong kind or out of range;
 * err->where names it. A result that cannot be read is a failed probe: the caller rejects the
 * machine.
 */
BERTH_MUST_CHECK enum berth_code verdict_parse(const char *text, size_t len, struct arena *a,
    struct probe_result *r_out, struct berth_err *err);

/*
 * Seeds (accelerator,test,value,of_peak,source) and limits (name,value,why) from CSV text. Unknown
 * limit names, missing limits and values out of range are BERTH_EINVAL with the line in err->where.
 */
BERTH_MUST_CHECK enum berth_code verdict_refs_parse(const char *csv, size_t len, struct arena *a,
    struct verdict_refs *refs_out, struct berth_err *err);
BERTH_MUST_CHECK enum berth_code verdict_limits_parse(
    const char *csv, size_t len, struct verdict_limits *limits_out, struct berth_err *err);

/*
 * Judges a result against a promise. Cannot fail: whatever is missing, unreadable or impossible
 * rejects. table   names the machine by what it says of itself; may be NULL (then only counts and
 * health speak)
 */
void verdict_judge(const struct probe_result *r, const struct verdict_promise *p,
    const struct accel_table *table, const struct verdict_refs *refs,
    const struct verdict_limits *limits, struct arena *a, struct verdict *v_out);

/* Price of a job that is bound by memory for share w of its time (0..1): price times this. NaN if
 * not measured. */
double verdict_price_factor(const struct verdict *v, double weight_memory);

#endif
