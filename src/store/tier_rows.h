/* src/store/tier_rows.h - history by the tier it is kept in: steps, hours, days.  Floor: store. */
#ifndef BERTH_STORE_TIER_ROWS_H
#define BERTH_STORE_TIER_ROWS_H

#include "store/series_rows.h"
#include "store/store.h"
#include "util/sketch.h"

/* How long steps stay as they are; 0: for ever. Steps of less than an hour become hours, hours and
 * longer steps days. */
struct tier_policy {
	int64_t raw_s;    /* steps of less than an hour that divide it */
	int64_t hourly_s; /* hours, and steps that do not become hours */
};
#define TIER_POLICY_DEFAULT ((struct tier_policy){ INT64_C(100) * 86400, INT64_C(1096) * 86400 })

struct tier_moved {
	int64_t series;       /* of which something was rolled up */
	int64_t steps, hours; /* that were rolled up */
	int64_t hours_made, days_made;
	bool more; /* max_work is reached, and there is more */
};

/* done of all; all is an estimate */
typedef void tier_progress_fn(void *arg, int64_t done, int64_t all);

/*
 * Rolls up what is older than the policy says, oldest first, in transactions of some ten thousand
 * steps: a process that is killed has moved each of them wholly or not at all. Mean, peak, missing
 * time and quantiles are kept; a day is a day UTC. max_work   steps and hours in this call, about;
 * 0: all progress   may be NULL
 */
BERTH_MUST_CHECK enum berth_code store_rollup(struct store *s, const struct tier_policy *policy,
    int64_t now, int64_t max_work, tier_progress_fn *progress, void *arg,
    struct tier_moved *moved_out, struct berth_err *err);
/* What store_rollup() would move; made counts are those of whole buckets at most. Changes nothing.
 */
BERTH_MUST_CHECK enum berth_code store_rollup_due(struct store *s, const struct tier_policy *policy,
    int64_t now, struct tier_moved *due_out, struct berth_err *err);
/* Gives the room of what was deleted back to the file system. Outside of a transaction; others wait
 * meanwhile. */
BERTH_MUST_CHECK enum berth_code store_compact(struct store *s, struct berth_err *err);

/* What is known about steps that are put where they may be rolled up already. */
struct put_rule {
	bool loaded_before; /* this very input was: what cannot be told apart is the same */
	bool remade; /* from facts that the store keeps: [from, to) has changed. Of steps outside of
		      * it those alone count that belong to a bucket, and are there already. Whole
		      * days UTC must be handed over. */
	int64_t from, to;
};
/*
 * store_samples_put() with a rule. Steps that are rolled up and come again in part only are
 * PUT_REFUSED: a bucket is replaced by one that has each of its steps and as many seconds of them,
 * and completed by one that has none of them; to tell, all steps of a day must come in one call.
 */
BERTH_MUST_CHECK enum berth_code store_samples_late(struct store *s, int64_t series_id,
    const struct sample *v, size_t n, const struct put_rule *rule, unsigned char *fate,
    struct put_counts *counts, struct berth_err *err);
/* Steps before this are rolled up; 0: none. */
BERTH_MUST_CHECK enum berth_code store_late_until(
    struct store *s, int64_t series_id, int64_t *until_out, struct berth_err *err);

/* Seconds, unit-seconds and steps of all of a series, from the ledger. */
struct series_sum {
	int64_t steps, covered_s;
	double unit_seconds;
};
BERTH_MUST_CHECK enum berth_code store_series_sum(
    struct store *s, int64_t series_id, struct series_sum *sum_out, struct berth_err *err);

/* History on a grid. A bucket longer than an entry is laid out evenly over those of its steps that
 * are there. */
struct history {
	struct dense d;
	double *covered; /* [d.n] share of the entry that is known, 0..1 */
	int64_t hours_until,
	    days_until; /* entries before these come of hours, of days; d.t0 or less: none */
};
/*
 * step_s     0: the series' own; else a multiple of it that divides a day or that a day divides
 * from, to   as in store_samples_range(); steps that do not begin before to are left out of the
 * last entry Entries of several steps carry the mean of what is known, weighed by seconds, and the
 * highest peak; one of which less than half is known is missing.  Errors: BERTH_ENOTFOUND;
 * BERTH_EINVAL: damaged, or more than 100 M entries.
 */
/* From here on store_history() gives single steps as that plan found them, whatever was loaded
 * since; 0: as they are. What has been rolled up since is not told apart. */
void store_history_as_of(struct store *s, int64_t plan_id);
BERTH_MUST_CHECK enum berth_code store_history(struct store *s, int64_t series_id, int64_t step_s,
    int64_t from, int64_t to, struct arena *a, struct history *out, struct berth_err *err);

/* One hour or day that is rolled up. */
struct tier_view {
	int64_t t, len_s;
	int64_t steps, covered_s;
	double unit_seconds, peak;
	struct sketch sketch;
};
/* Those of [from, to) by time, hours and days; to 0: all. */
typedef enum berth_code tier_view_fn(void *arg, const struct tier_view *v, struct berth_err *err);
BERTH_MUST_CHECK enum berth_code store_tier_each(struct store *s, int64_t series_id, int64_t from,
    int64_t to, tier_view_fn *fn, void *arg, struct berth_err *err);

/* An earlier load of these very bytes with these options of which no row came too late; 0: none. */
BERTH_MUST_CHECK enum berth_code store_load_find(struct store *s, const char *format,
    const char *digest, const char *options, int64_t *load_id_out, struct berth_err *err);

#endif
