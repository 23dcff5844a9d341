/* src/plan/explain.h - plans in plain words.  Floor: domain. */
#ifndef BERTH_PLAN_EXPLAIN_H
#define BERTH_PLAN_EXPLAIN_H

#include <stddef.h>

#include "plan/commit.h"
#include "plan/cost.h"
#include "plan/place.h"

/* Lines of text in an arena. */
struct explain {
	const char **line; /* [n] */
	size_t n;
};

/*
 * Why the commitments are as they are: levels that are bound and the share of time they are busy,
 * the first level that is not, break-even, what the plan saves, P10/P90, regret at 20 % less and
 * more, what binds, the bound. name [n_lines]: how the user knows each line ("aws us-east-1
 * p5.48xlarge reserved 12 months").
 */
void explain_commit(const struct commit_problem *p, const struct commit_plan *plan,
    const struct commit_risk *risk, const char *const *name, struct arena *a, struct explain *out);

/* One job: chosen offer with its cost, the runner-up and its extra cost, what binds, who was
 * refused why. */
struct explain_job {
	const char *chosen; /* label of the offer; NULL: not placed */
	const struct cost_estimate *cost;
	const char *runner_up; /* NULL: none */
	double runner_up_usd;
	double runner_up_egress_usd; /* to move the data */
	const char *passed_over;     /* that only the moving of the data makes dearer; NULL: none */
	double passed_over_saves_usd, passed_over_egress_usd; /* without it, and for it */
	const char *binds;                                    /* label of the limit; NULL: none */
	double shadow;                                        /* as in explain_more() */
	const char *unit;                                     /* of the limit: "GPU", "vCPU" */
	double more;                                          /* as in explain_more() */
	double more_saves_usd;                                /* as in explain_more() */
	size_t seen;
	const size_t *refused; /* [REFUSE_COUNT] */
	const char *detail;    /* for a job not placed: the last rule in numbers; NULL */
	bool alone;            /* that says it all, without the rule */
	const char *spot;      /* what the policy for spot under a deadline says; NULL */
};

const char *explain_place(const struct explain_job *j, struct arena *a);

/* " (12 vcpu more would save 3.72 USD)", " (1.20 USD a gpu)". shadow: USD that one unit more would
 * save; more: the least that would bring anything, 0: nothing would, then ""; saves: USD, so much
 * more, NaN: it would place a job. */
const char *explain_more(
    double shadow, double more, double saves, const char *unit, struct arena *a);

/* The rule that took the last offer away; REFUSE_NOT: there were none. */
enum refuse_code explain_rule(const size_t *refused);

/* "memory 112, residency 40, deadline 9"; "" if none. */
const char *explain_refusals(const size_t *refused, struct arena *a);

#endif
