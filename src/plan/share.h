/* src/plan/share.h - fair shares: who goes first among those who want the same machines.  Floor:
 * domain. */
#ifndef BERTH_PLAN_SHARE_H
#define BERTH_PLAN_SHARE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct arena;

struct share_weight {
	const char *name;
	double weight;
};

/* `fair_share:` of berth.yaml. */
struct share_policy {
	bool by_project;                    /* shares are those of projects; else of users */
	bool then_user;                     /* ... and within a project those of its users */
	double half_life_s;                 /* of past usage; INFINITY: it never fades */
	const struct share_weight *weights; /* [n_weights]; who is not named has 1 */
	size_t n_weights;
	const struct share_weight *user_weights; /* [n_user_weights] within a project */
	size_t n_user_weights;
};

#define SHARE_HALF_LIFE_S (7 * 86400)
#define SHARE_WEIGHT_MAX 1e6

double share_weight_of(const struct share_policy *p, const char *name);

/* One user, or one project. */
struct share_owner {
	const char *name;
	double weight; /* >= 0; 0: goes after all that have one */
	double used;   /* GPU-hours until now, past ones faded */
	double coming; /* GPU-hours that what runs still needs */
	size_t at;     /* for the caller's own use */
	size_t group;  /* the project of a user, where both have shares */
};

/*
 * Hours of [from, to) that lie before now, of which an hour counts half as much for each half-life
 * that it lies back: the integral of 2^-((now - t) / half_life). half_life_s > 0, or INFINITY for
 * plain hours.
 */
double share_faded_hours(int64_t from, int64_t to, int64_t now, double half_life_s);

/* GPU-hours for each unit of weight, with `more` GPU-hours on top; INFINITY for the weight 0. */
double share_level(const struct share_owner *o, double more);

struct share_job {
	size_t owner;
	int priority;
	double gpu_hours; /* that it will use */
	bool urgent; /* its deadline leaves no time to wait: goes before shares, within its priority
		      */
};

/* What became of each job. */
struct share_rank {
	size_t rank;    /* 0 goes first */
	bool in;        /* it was admitted when its turn came */
	double counted; /* GPU-hours of its owner when its turn came, without the job itself */
	double group_counted; /* of its owner's group likewise; 0 without groups */
};

/* Takes the job's machines away for good and returns true, or false where it does not fit any more.
 */
typedef bool share_admit_fn(void *arg, size_t job);

/*
 * The order of jobs [n], given in that of the queue: higher priority first; within one, urgent
 * jobs; then always the next job of the owner with the fewest GPU-hours for its weight
 * (share_level()), ties by the queue. A job that is admitted adds its GPU-hours to its owner's, one
 * that is not adds nothing, so that nobody waits behind what cannot go. In the long run each owner
 * that wants so much gets GPU-hours in proportion to its weight: start-time fair queueing (Goyal,
 * Vin and Cheng, 1996). admit NULL: all fit. ranks_out [n].
 */
void share_order(const struct share_owner *owners, size_t n_owners, const struct share_job *jobs,
    size_t n, share_admit_fn *admit, void *arg, struct arena *a, struct share_rank *ranks_out);

/*
 * The same on two levels: the next turn is that of the group with the fewest GPU-hours for its
 * weight among those that have a job, and in it of the owner with the fewest for its own; a job
 * that is admitted adds to both. groups [n_groups] as owners, whose `group` names theirs.
 */
void share_order_in(const struct share_owner *groups, size_t n_groups,
    const struct share_owner *owners, size_t n_owners, const struct share_job *jobs, size_t n,
    share_admit_fn *admit, void *arg, struct arena *a, struct share_rank *ranks_out);

#endif
