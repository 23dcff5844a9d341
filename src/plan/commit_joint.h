/* src/plan/commit_joint.h - what the files of commit_solve_joint() share.  Floor: domain; for src/plan/commit*.c alone. */
#ifndef BERTH_PLAN_COMMIT_JOINT_H
#define BERTH_PLAN_COMMIT_JOINT_H

#include "plan/commit_impl.h"
#include "plan/linear.h"
#include "util/vec.h"

#define COMMIT_NOT_BOUGHT SIZE_MAX

/* A line that can be bought: a column of the master program. */
struct commit_column {
	size_t member, line;
	double fixed, gpus;	/* USD an hour and GPUs of one purchase */
	double least, most;
};

/* A line that serves. */
struct commit_server {
	size_t member, line, column;	/* COMMIT_NOT_BOUGHT: cap stands */
	double cap, usage;
};

struct commit_basis;

struct commit_recourse {
	const struct commit_member *m;
	size_t n, n_quotas, n_columns, n_servers, n_atoms;
	const struct commit_column *column;
	const struct commit_server *server;
	const double *quota;	/* [n_quotas] limits, without what is owned */
	double *demand, *weight;	/* [n_atoms][n], [n_atoms] adding up to 1 */
	struct arena *scratch;
	uint32_t *basis;	/* out [n_atoms] hours with one number have one basis; NULL: not asked */
	bool failed;		/* an hour's program was not solved */
};

/* What the hours cost on average beside the purchases, and how that changes. */
struct commit_tangent {
	double usd;
	double *slope;		/* [n_columns] of one purchase more */
	double *saves;		/* [n_quotas] of one more of a quota, >= 0 */
	double *each;		/* [n_atoms] USD of each hour; NULL: not asked */
	double *served, *most;	/* [n_servers] GPUs on average and at the busiest hour; NULL: not asked */
};

/* Counts x [n_columns], any numbers that keep the quotas. */
void commit_recourse_at(struct commit_recourse *r, const double *x, struct commit_tangent *t);

/* A row of a quota, so that its price can be told: the quota. */
struct joint_row { size_t row, quota; };
struct joint_cut {
	size_t row;
	double *saves;		/* [n_quotas] */
};

struct joint {
	struct commit_recourse r;
	struct arena *a;
	double budget;
	double *owned;			/* [members] GPUs */
	struct linear lp;		/* columns, then what serves a member's peak on demand, then USD of the hours */
	size_t n_peaks, usd;		/* number of the last */
	VEC(struct commit_column) column;
	VEC(struct commit_server) server;
	VEC(size_t) peak;		/* servers */
	VEC(struct joint_row) quota_row;
	VEC(struct joint_cut) cut;
	struct commit_tangent at;
	double *x, *best;		/* [columns] */
	double best_usd, lower;		/* USD an hour */
	double *price;			/* [n_quotas] USD an hour */
	size_t tries, budget_row;
	double budget_price;		/* USD that one more saves */
	double work, work_max;
};


/* Columns, servers and quotas. */
void joint_init(struct joint *j);
/* The hours: levels of the members' curves, where no quota is shared; or steps, `fold` of them taken as one, at their mean. */
void joint_levels(struct joint *j);
void joint_steps(struct joint *j, size_t fold);
size_t joint_fold(const struct joint *j);
void joint_master(struct joint *j);
double *joint_row_new(struct joint *j);	/* zeroes */

#endif
