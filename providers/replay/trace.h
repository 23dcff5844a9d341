/* providers/replay/trace.h - what a replayed cloud sells, and when.  Floor: providers. */
#ifndef BERTH_PROVIDERS_REPLAY_TRACE_H
#define BERTH_PROVIDERS_REPLAY_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/offer.h"
#include "providers/replay/curve.h"
#include "util/err.h"
#include "util/money.h"

struct arena;

/* One way to buy the machines of a pool: on demand, or spot. */
struct trace_market {
	bool sold;
	struct curve price;    /* USD a machine-hour; no steps: unknown */
	struct curve capacity; /* machines; no steps: no limit */
	int64_t notice_s;      /* between the notice and the end */
	double hazard;         /* interruptions an hour of each machine, beside capacity; 0: none */
	const int64_t *preempt; /* [n_preempt] ascending, s since epoch: one machine goes at each */
	size_t n_preempt;
	double interruption_rate; /* what the provider publishes, an hour; NaN: nothing */
	bool shown;               /* whether the offers tell if there is capacity */
};

struct trace_reserved {
	int term_months;
	enum payment payment;
	struct usd_micro upfront, price;
};

struct trace_pool {
	const char *provider, *region, *zone, *instance_type, *accelerator;
	int accelerator_count;
	double accelerator_memory_gib, vcpus, memory_gib; /* NaN: not said */
	int64_t startup_min_s, startup_max_s;
	int64_t teardown_s;
	double slow_share, slow_factor;        /* of machines; speed of those over the promised */
	double broken_share, fail_share;       /* measure wrong; never come up */
	double jitter;                         /* standard deviation of the speed of the others */
	struct trace_market market[2];         /* PURCHASE_ON_DEMAND, PURCHASE_SPOT */
	const struct trace_reserved *reserved; /* [n_reserved] */
	size_t n_reserved;
};

struct trace_quota {
	const char *provider, *region, *accelerator; /* globs */
	enum purchase purchase;
	int limit; /* accelerators of running machines that fit */
};

struct trace {
	const char *source; /* name of the file or of the set */
	int64_t start;      /* s since epoch: offset 0 */
	struct trace_pool *pools;
	size_t n_pools;
	struct trace_quota *quotas;
	size_t n_quotas;
};

/*
 * Reads a berth.replay/1 file (berth-replay(5)). start: 0, or the time that stands for the file's
 * own start. Everything lives in the arena. BERTH_EINVAL with file:line:column; BERTH_ENOTFOUND.
 */
BERTH_MUST_CHECK enum berth_code trace_load(const char *path, int64_t start, struct arena *a,
    struct trace *trace_out, struct berth_err *err);
/* The same from memory; name stands for the path in messages. */
BERTH_MUST_CHECK enum berth_code trace_parse(const char *name, const char *bytes, size_t n,
    int64_t start, struct arena *a, struct trace *trace_out, struct berth_err *err);

/* How the tidy spot traces, which tell of capacity alone, are filled up. */
struct trace_tidy_opts {
	const char *set;                  /* glob on trace_id */
	int64_t start;                    /* 0: each trace's own start_date */
	struct usd_micro spot_price;      /* where prices.csv has none; USD_UNKNOWN: unknown */
	struct usd_micro on_demand_price; /* USD_UNKNOWN: not sold on demand */
	int64_t startup_s, notice_s;
};

/*
 * Adds a pool for each trace of dir/traces.csv that fits the set: capacity from segments.csv, spot
 * price from prices.csv. BERTH_ENOTFOUND: no trace fits, or a file is missing. BERTH_EINVAL: a row
 * that cannot be (file:line).
 */
BERTH_MUST_CHECK enum berth_code trace_add_tidy(const char *dir, const struct trace_tidy_opts *opts,
    struct arena *a, struct trace *trace, struct berth_err *err);

/* "provider/region/zone/type": a pool's name in messages and seeds. */
const char *trace_pool_key(const struct trace_pool *p, struct arena *a);

#endif
