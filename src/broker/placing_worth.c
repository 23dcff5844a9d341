/* What more of a limit would bring, which limits keep a job out, and what the moving of data
 * decided. */
#include "config.h"

#include <math.h>
#include <string.h>

#include "broker/placing_impl.h"
#include "util/arena.h"

#define PLACING_CENT 0.005 /* USD; what saves less is not worth a word */
#define PLACING_ROUND 1e-6 /* relative, of prices in the search */

/* What candidate k takes of one limit after the other; at counts them from 0. False: that was all.
 */
static bool
placing_draw(const struct place_problem *p, size_t k, size_t at, size_t *r_out, int64_t *units_out)
{
	size_t j = p->offer[k], u = p->use_start[j] + at, own = p->use_start[j + 1];

	if (u < own) {
		*r_out = p->resource[u];
		*units_out = p->need[k] * p->weight[u];
		return true;
	}
	if (p->more == NULL || (u = p->more->start[k] + (u - own)) >= p->more->start[k + 1])
		return false;
	*r_out = p->more->resource[u];
	*units_out = p->more->units[u];
	return true;
}

static bool
placing_is_short(int64_t left, int64_t units)
{
	return left != PLACE_NO_LIMIT && left < units;
}

/* The most that a unit can be worth in money: what job i saves by the candidates that draw on it
 * beside its dearest one. */
static void
placing_worth_job(const struct placing_work_space *w, size_t i, bool placed, const int64_t *left,
    double *most, bool *places)
{
	const struct place_problem *p = &w->p;
	double dearest = 0;
	int64_t units;
	size_t r;

	for (size_t k = p->cand_start[i]; k < p->cand_start[i + 1]; k++)
		dearest = fmax(dearest, p->cost[k]);
	for (size_t k = p->cand_start[i]; k < p->cand_start[i + 1]; k++)
		for (size_t at = 0; placing_draw(p, k, at, &r, &units); at++) {
			places[r] = places[r] || (!placed && placing_is_short(left[r], units));
			if (units > 0)
				most[r] = fmax(most[r], (dearest - p->cost[k]) / (double)units);
		}
}

void
placing_worth(struct placing_work_space *w, const struct place_plan *plan, const int64_t *left)
{
	size_t n = w->p.n_resources;
	double *most = arena_array(w->a, n, sizeof(*most));
	bool *places = arena_array(w->a, n, sizeof(*places));

	w->worth = arena_array(w->a, n, sizeof(*w->worth));
	w->short_of = arena_array(w->a, n, sizeof(*w->short_of));
	for (size_t i = 0; i < w->n_jobs; i++)
		placing_worth_job(w, i, plan->chosen[i] != PLACE_NONE, left, most, places);
	for (size_t r = 0; r < n; r++)
		w->worth[r] = plan->shadow[r] > 0 &&
				      (places[r] || plan->shadow[r] > most[r] * (1 + PLACING_ROUND))
				  ? NAN
				  : plan->shadow[r];
}

/* The limits that are short for one candidate. */
static void
placing_short_of(const struct placing_work_space *w, size_t k, const int64_t *left, size_t *count)
{
	int64_t units;
	size_t r;

	for (size_t at = 0; placing_draw(&w->p, k, at, &r, &units); at++)
		count[r] += placing_is_short(left[r], units);
}

size_t
placing_kept_out(struct placing_work_space *w, size_t i, const int64_t *left, size_t binds,
    const size_t **limits_out, size_t *n_out)
{
	const struct place_problem *p = &w->p;
	size_t from = p->cand_start[i], n = p->cand_start[i + 1] - from, best = from;
	size_t *count = w->short_of;
	VEC(size_t) limits = { 0 };

	memset(count, 0, p->n_resources * sizeof(*count));
	for (size_t k = from; k < from + n; k++) {
		placing_short_of(w, k, left, count);
		best = p->cost[k] < p->cost[best] ? k : best;
	}
	for (size_t r = 0; r < p->n_resources; r++)
		if (count[r] == n)
			VEC_PUSH(w->a, &limits, r);
	if (limits.n == 0) { /* each is kept out by another one: those of the cheapest */
		memset(count, 0, p->n_resources * sizeof(*count));
		placing_short_of(w, best, left, count);
		for (size_t r = 0; r < p->n_resources; r++)
			if (count[r] > 0)
				VEC_PUSH(w->a, &limits, r);
	}
	*limits_out = limits.v;
	*n_out = limits.n;
	for (size_t x = 0; x < limits.n; x++)
		if (limits.v[x] == binds)
			return binds;
	return limits.n > 0 ? limits.v[0] : binds;
}

void
placing_egress_told(struct placing_work_space *w, size_t i, size_t k)
{
	struct placing_egress *x = &w->jobs[i].egress;
	double own = w->cost.v[k] - w->estimate.v[k].egress_usd;

	for (size_t c = w->p.cand_start[i]; c < w->p.cand_start[i + 1]; c++) {
		double egress = w->estimate.v[c].egress_usd, saves = own - (w->cost.v[c] - egress);

		if (w->cost.v[c] < w->cost.v[k] || egress <= w->estimate.v[k].egress_usd ||
		    saves < PLACING_CENT || (x->offer != NULL && saves <= x->saves_usd))
			continue;
		*x = (struct placing_egress){ placing_label(&w->facts.offers[w->offer.v[c]],
						  w->estimate.v[c].machines, w->a),
			w->cost.v[c], saves, egress };
	}
}
