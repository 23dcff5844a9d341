/* src/broker/shares.h - fair shares: `fair_share:` of berth.yaml, and who has used how much by the
 * store.  Floor: broker. */
#ifndef BERTH_BROKER_SHARES_H
#define BERTH_BROKER_SHARES_H

#include "model/job.h"
#include "plan/share.h"
#include "util/err.h"
#include "util/strmap.h"

struct arena;
struct store;
struct yaml_node;

/*
 * *policy_out: NULL where the config has no fair_share. BERTH_EINVAL with file:line:col for an
 * unknown key, a weight that is below 0, no number or over SHARE_WEIGHT_MAX, and a half-life of 0.
 */
BERTH_MUST_CHECK enum berth_code shares_read(const struct yaml_node *config, struct arena *a,
    const struct share_policy **policy_out, struct berth_err *err);

struct shares {
	const struct share_policy *policy;
	struct share_owner *
	    owners; /* [n] that have a job in the queue, run one, or have used something; by name */
	size_t n;
	struct share_owner *groups; /* [n_groups] projects, where their users have shares too */
	size_t n_groups;
	double weight_sum, used_sum;
	size_t *place;       /* [n] owner by its number in index */
	struct strmap index; /* key -> number */
	struct strmap group_index;
};

/* GPU-hours that the job still needs, as its first variant tells them. */
double shares_gpu_hours(const struct job *j);
/*
 * Usage by the attempts of the store, and what those that run still need. The owners of queued jobs
 * are there even if they have used nothing.
 */
BERTH_MUST_CHECK enum berth_code shares_load(struct store *store, const struct share_policy *p,
    int64_t now, const struct job *const *queued, size_t n_queued, const struct job *running,
    size_t n_running, struct arena *a, struct shares *out, struct berth_err *err);
size_t shares_owner(const struct shares *s, const struct job *j);
/* A weight whose name nobody has, but which is close to one that somebody has: "alcie", and in
 * *near_out "alice". NULL: none. */
const char *shares_misspelt(const struct shares *s, struct arena *a, const char **near_out);
/* The one that competes with others: the project where both have shares, else the owner. */
const struct share_owner *shares_top(const struct shares *s, size_t owner);
/* Part of all weights, of all usage: 0 where there is none. */
double shares_share(const struct shares *s, size_t owner);
double shares_used(const struct shares *s, size_t owner);

struct jsonw;
/* The key "fair_share" in an open object: null without a policy, else by, half_life_s and shares. s
 * NULL: null. */
void shares_json(struct jsonw *w, const struct shares *s);

#endif
