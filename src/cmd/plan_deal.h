/* src/cmd/plan_deal.h - which series has the machines that several can use: a part of what is
 * solved.  Floor: cmd; for plan_*.c alone. */
#ifndef BERTH_CMD_PLAN_DEAL_H
#define BERTH_CMD_PLAN_DEAL_H

#include "cmd/plan_join.h"

/*
 * Series with a line more for each commitment that several of them can use: machines that are
 * bought there at no price, whole GPUs at dates, and one quota more for each such commitment over
 * all of them. What they take of the other quotas, whoever uses them, the first of the series has
 * at dates; at one date their limits are without it.
 */
struct plan_open {
	struct plan_series *ps; /* [n] */
	size_t n, n_dealt;
	size_t *commitment;          /* [n_dealt] */
	size_t **line;               /* [n][n_dealt] SIZE_MAX: the series cannot use it */
	struct schedule_held **held; /* [n][lines], by the steps of the schedule */
};

/* dates: of the schedule; else of the plan at one date, which has what holds for half of the
 * horizon. closed [commitments]: those that stay dealt as they are; NULL: none. NULL: there is
 * nothing to deal. */
struct plan_open *plan_deal_open(const struct plan_series *ps, size_t n, bool dates,
    const bool *closed, const struct plan_options *o, struct arena *a);
/* Machines of a commitment that so many GPUs of a dealt line are. */
int64_t plan_deal_machines(
    const struct plan_open *d, size_t series, size_t dealt, int64_t purchases);
/* GPUs whose machines, rounded up for each series, are more than there are: they stand for parts of
 * machines. SIZE_MAX: none. */
size_t plan_deal_over(const struct plan_open *d, struct schedule *const *s);
/* The series' own parts of what is owned, as schedules of open series have it: to ps->owned and its
 * counts. */
void plan_deal_take(const struct plan_open *d, struct schedule *const *s, struct plan_series *ps,
    const struct plan_options *o, struct arena *a);

/* The deal at which buying all now costs least: to ps->owned_part. Behind plan_build() of all,
 * which is to be done again. */
BERTH_MUST_CHECK enum berth_code plan_deal(struct plan_series *ps, size_t n,
    const struct plan_options *o, struct arena *a, struct berth_err *err);
/*
 * As schedule_solve_joint(), p and what they begin with as what is owned is dealt now, and with the
 * deal solved as well: ps->open, ps->owned and its counts. The bounds of alone become such that
 * hold for each deal. GPUs of slower cards that no whole machines make stay as they were.
 */
BERTH_MUST_CHECK enum berth_code plan_deal_schedule(struct plan_series *ps,
    const struct schedule_problem *p, size_t n, double budget, struct schedule *const *alone,
    struct schedule *const *part, const struct plan_options *o, struct arena *a,
    struct schedule **out, struct berth_err *err);
/* Says how many machines each has in the schedule. */
void plan_deal_explain(struct plan_series *ps, struct arena *a);
/* Plans of series that share what is owned cost no less in all than every deal does. */
void plan_deal_bound(struct plan_series *ps, size_t n);

#endif
