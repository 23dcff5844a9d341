/* src/plan/commit_joint.h - what the files of commit_solve_joint() share.  Floor: domain; for
 * src/plan/commit*.c alone. */
#ifndef BERTH_PLAN_COMMIT_JOINT_H
#define BERTH_PLAN_COMMIT_JOINT_H

#include "plan/commit_impl.h"
#include "plan/linear.h"
#include "util/vec.h"

#define COMMIT_NOT_BOUGHT SIZE_MAX

/* A line that can be bought: a column of the master program. */
struct commit_column {
	size_t member, line;
	double fixed, gpus; /* USD an hour and GPUs of one purchase */
	double least, most;
};

/* A line that serves. */
struct commit_server {
	size_t member, line, column; /* COMMIT_NOT_BOUGHT: cap stands */
	double cap, usage;
};

struct commit_basis;

struct commit_recourse {
	const struct commit_member *m;
	size_t n, n_quotas, n_columns, n_servers, n_atoms;
	const struct commit_column *column;
	const struct commit_server *server;
	const double *quota;     /* [n_quotas] limits, without what is owned */
	double *demand, *weight; /* [n_atoms][n], [n_atoms] adding up to 1 */
	struct arena *scratch;
	uint32_t *basis; /* out [n_atoms] hours with one number have one basis; NULL: not asked */
	const uint32_t *group; /* [n_atoms] below n_groups: hours of one group often have one basis;
				  NULL: not known */
	size_t n_groups;
	bool failed; /* an hour's program was not solved */
};

/* What the hours cost on average beside the purchases, and how that changes. */
struct commit_tangent {
	double usd;
	double with_demand; /* what it changes by for all demand times 1 + e, over e */
	double *slope;      /* [n_columns] of one purchase more */
	double *saves;      /* [n_quotas] of one more of a quota, >= 0 */
	double *each;       /* [n_atoms] USD of each hour; NULL: not asked */
	double *each_saves; /* [n_atoms][n_quotas] as saves, of each hour; NULL: not asked */
	double *served,
	    *most; /* [n_servers] GPUs on average and at the busiest hour; NULL: not asked */
};

/* Counts x [n_columns], any numbers that keep the quotas. */
void commit_recourse_at(struct commit_recourse *r, const double *x, struct commit_tangent *t);

/* A row of a quota, so that its price can be told: the quota. */
struct joint_row {
	size_t row, quota;
};
/*
 * A tangent: USD of the hours >= slope x + rise (scale - 1) - least. The hours' cost is convex in
 * purchases and demand together, so that it holds for demand times any scale, and whatever
 * purchases cost.
 */
struct joint_cut {
	size_t row;    /* SIZE_MAX: not in the program now */
	double *slope; /* [columns] */
	double rise, least;
	double *saves; /* [n_quotas] */
};

/* All hours of all paths, and which of them are taken as one. */
struct joint_hours {
	struct arena *a;         /* its own */
	double *demand, *weight; /* [n][members], [n] adding up to 1 */
	uint32_t *group;         /* [n] */
	size_t n, n_groups;
	double *mean, *part; /* [n_groups][members], [n_groups] of the groups */
};

struct joint {
	struct commit_recourse r;
	struct arena *a;
	double budget;
	double *owned; /* [members] GPUs */
	struct linear
	    lp; /* columns, then what serves a member's peak on demand, then USD of the hours */
	size_t n_peaks, usd; /* number of the last */
	VEC(struct commit_column) column;
	VEC(struct commit_server) server;
	VEC(size_t) peak; /* servers */
	VEC(struct joint_row) quota_row;
	VEC(struct joint_cut) cut;
	struct commit_tangent at;
	struct joint_hours hours;
	double price_factor, scale, scale_max; /* of reserved prices and of demand; 1 */
	size_t rows;                           /* without tangents */
	double proven;                         /* part of the cost that is none */
	double loose;           /* USD an hour that the program may be off the groups */
	double *x, *best;       /* [columns] */
	double best_usd, lower; /* USD an hour */
	double *price;          /* [n_quotas] USD an hour */
	bool priced;
	size_t tries, budget_row;
	double budget_price; /* USD that one more saves */
	double work, work_max;
};

/* Columns, servers and quotas. */
void joint_init(struct joint *j);
/* The hours: levels of the members' curves, where no quota is shared. */
void joint_levels(struct joint *j);
/* All steps and paths, of which about `most` are left by taking those together that are near. Frees
 * nothing: joint_hours_end(). */
void joint_steps(struct joint *j, size_t most);
void joint_hours_end(struct joint *j);
/* Hours are the groups' means, at j->scale; or each by itself. */
void joint_hours_means(struct joint *j);
void joint_hours_each(struct joint *j);
/* Groups whose hours are used in several ways, as r.basis of joint_hours_each() says, are parted by
 * those. */
void joint_hours_part(struct joint *j, const uint32_t *basis);
/* A struct with its defaults. */
struct joint joint_new(const struct commit_member *m, size_t n, double budget, struct arena *a);
/* The rows anew, with j->price_factor and j->scale, and all tangents. */
void joint_again(struct joint *j);
double joint_fixed(const struct joint *j, const double *x);
/* USD of the hours at x and its tangent, into j->at; joint_cut(): as a row of the program. */
void joint_at(struct joint *j, const double *x);
void joint_cut(struct joint *j, const double *x);
/* Do whole counts keep all rows, and may they be better than j->best_usd? */
bool joint_keeps(struct joint *j, const double *x);
/* The best whole counts by the hours as they are grouped: j->best, j->best_usd, and j->lower. */
void joint_search(struct joint *j);
/* USD of x by the hours one by one, at a scale of 1; its tangent is a row; groups are parted by it.
 */
double joint_exact(struct joint *j, const double *x);
void joint_master(struct joint *j);
double *joint_row_new(struct joint *j); /* zeroes */

#endif
