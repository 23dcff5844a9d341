/* src/plan/schedule_impl.h - what the files of schedule share.  Floor: domain; for
 * src/plan/schedule*.c alone. */
#ifndef BERTH_PLAN_SCHEDULE_IMPL_H
#define BERTH_PLAN_SCHEDULE_IMPL_H

#include "plan/commit_impl.h"
#include "plan/schedule.h"
#include "util/vec.h"

/* In merit order: behind what is bought in a band and `at` GPUs more, the price of use rises. */
struct schedule_step {
	size_t band;
	double at, fall; /* fall: USD that one more busy GPU saves in the stretch */
};
/* USD of a stretch's hours: usd, and sum over steps fall * (mean - E min(D, at + s)), s what is
 * bought in the step's band and below. */
struct schedule_merit {
	struct schedule_step *step; /* [n] */
	size_t n;
	double usd;
};
/* Machines that are alike in all but their price and term. */
struct schedule_kind {
	int64_t gpus;
	size_t band;
};

struct commit_recourse;

struct schedule_work {
	const struct schedule_problem *p;
	struct arena *a;
	int64_t steps;
	VEC(int64_t) border; /* sorted, from 0 to steps */
	VEC(int64_t) start;  /* sorted */
	VEC(struct terms_offer) offer;
	VEC(size_t) line;
	double *band; /* [n_bands] prices of use of what is bought, rising; one or more */
	size_t n_bands;
	size_t *band_of;              /* [lines] */
	struct terms_rest rest;       /* by GPUs reserved, all at the lowest price of use */
	double *usd, *use;            /* use: [rest.n][levels + 1] */
	double *served;               /* [rest.n][levels + 1] E min(D, s) */
	double *hours;                /* [rest.n] */
	struct schedule_merit *merit; /* [rest.n] */
	bool priced;                  /* usd has prices of its own; one band */
	size_t levels;                /* of demand */
	double cap;                   /* GPUs; what paths ask beyond is cut */
	/* Another work of the same dates, lines and demand but for their prices, and demand times
	 * scale: what it knows need not be found again. NULL: none. */
	const struct schedule_work *like;
	double scale;
	int64_t *least;
	int64_t *count; /* [offers] */
};

/* Are there quotas, shares or limits that the flow does not know, machines of several kinds, or a
 * budget that binds? */
bool schedule_ruled(const struct schedule_work *w, size_t n_kinds, bool budget);

static inline bool
schedule_dealt(const struct schedule_problem *p, size_t line)
{
	return p->held != NULL && p->held[line].from < p->held[line].to;
}

/* Prices of use of what is bought. */
void schedule_bands(struct schedule_work *w);
/* w->merit of a stretch. */
void schedule_merit(struct schedule_work *w, size_t t);
/* A band's part of the USD of a stretch with s GPUs bought in it and below: convex, falling; and
 * its slope (may be NULL). The parts add up. */
double schedule_band_usd(
    const struct schedule_work *w, size_t t, size_t band, double s, double *slope_out);
/* USD of a stretch with 0..rest.levels GPUs bought at the lowest price of use. */
void schedule_rest(const struct schedule_work *w, size_t t, double *usd);
/* GPUs that the counts reserve, [rest.n][n_bands], without machines of one kind (NULL: with all);
 * their sum in a stretch. */
void schedule_have(const struct schedule_work *w, const struct schedule_kind *but, int64_t *have);
int64_t schedule_sum(const struct schedule_work *w, const int64_t *have, size_t t);
/* USD of a stretch with these, and some more in a band. */
double schedule_hours_usd(
    const struct schedule_work *w, const int64_t *have, size_t t, size_t band, int64_t more);
/* How a solve is gone about. */
struct schedule_effort {
	double work; /* cells of tableaus; 0: some seconds; < 0: none, what it begins with is priced
		      */
	double used; /* out: of that */
	/* [stretches] hours of several members as another solve has left them, whose demand counts
	 * times scale; NULL: those of the paths. */
	const struct commit_recourse *hours;
	double scale;
	const struct commit_recourse *left; /* out: the hours; NULL: each member has its own */
	double *priced; /* [n_starts] USD of each that it begins with, INFINITY: it keeps no rules;
			   NULL: not asked */
	double enough;  /* what cannot cost less is not looked for; 0: all is */
};

/*
 * n members, of the same borders: from counts start [n_starts][n][offers] (each may be NULL) to the
 * best that keeps the rules of all. first: USD that none costs less than. e: may be NULL. Sets
 * w->count, and out's cost, lower bound and prices. A member's own budget is not looked at.
 * BERTH_EINFEASIBLE: no purchases keep the rules at all times.
 */
BERTH_MUST_CHECK enum berth_code schedule_rules_solve(struct schedule_work *w, size_t n,
    double budget, double first, int64_t *const *const *start, size_t n_starts,
    struct schedule_effort *e, struct schedule **out, struct berth_err *err);
/* The plan and bound of single GPUs at the price of their machine, all at the lowest price of use.
 */
BERTH_MUST_CHECK enum berth_code schedule_bound(
    struct schedule_work *w, struct terms_plan *plan, struct berth_err *err);
/* The flow's plan of one, into w->count, and its bound; *ruled_out: there is more to see to. */
BERTH_MUST_CHECK enum berth_code schedule_flow(
    struct schedule_work *w, struct schedule *out, bool *ruled_out, struct berth_err *err);
/* n that have the same borders. like [n], scale: of each work; NULL: none. */
BERTH_MUST_CHECK enum berth_code schedule_meet(struct schedule_work *w,
    const struct schedule_problem *p, size_t n, const struct schedule_work *like, double scale,
    struct arena *a, struct berth_err *err);
/* Counts of its purchases as another solve of it has them. */
int64_t *schedule_counts(const struct schedule_work *w, const struct schedule *of);

/* Start dates and the borders that they make; then offers and stretches, by the borders as they are
 * then. */
BERTH_MUST_CHECK enum berth_code schedule_begin(struct schedule_work *w,
    const struct schedule_problem *p, struct arena *a, struct berth_err *err);
BERTH_MUST_CHECK enum berth_code schedule_fill(struct schedule_work *w, struct berth_err *err);
/* The number of the border at a step. */
size_t schedule_at(const struct schedule_work *w, int64_t step);
void schedule_report(struct schedule_work *w, struct schedule *out);

#endif
