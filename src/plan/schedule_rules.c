#include <math.h>
#include <string.h>

#include "plan/schedule_rules.h"
#include "util/arena.h"

#define RULES_WORK 3e9 /* cells of the tableau touched: some seconds */
#define RULES_PARTS 3  /* times that hours taken as one are parted */
#define RULES_CELLS_MAX 4e7
#define PRICED_STEPS 28
#define PRICED_FEW 10
#define PRICED_NEAR 3
#define PRICED_MORE 3 /* rounds, of what is far from its bound */
#define PRICED_FAR 0.003

bool
schedule_ruled(const struct schedule_work *w, size_t n_kinds, bool budget)
{
	const struct commit_shares *r = w->p->rules;
	double cells = ((double)w->offer.n + (double)w->rest.n) * (double)w->rest.n * 8;
	bool limits = r != NULL && r->n + r->n_quotas > 0;

	for (size_t i = 0; i < w->p->n_lines && !limits; i++)
		limits = w->p->lines[i].kind == COMMIT_RESERVED &&
			 w->p->lines[i].max_count != COMMIT_NO_LIMIT;
	return limits || ((n_kinds > 1 || budget) && cells < RULES_CELLS_MAX);
}

static double *
rules_counts(const struct rules *s, int64_t *const *count)
{
	double *x = arena_array(s->a, s->n_offers + 1, sizeof(*x));

	for (size_t j = 0, k = 0; j < s->n_offers; j++) {
		k = s->offer[j].member;
		x[j] = (double)count[k][j - s->at_member[k]];
	}
	return x;
}

/* Hours that were taken as one are parted until the best purchases cost what they say. True: some
 * were. */
static bool
rules_settle(struct rules *s)
{
	double usd, *x;
	bool parted = false;

	for (int k = 0; k < RULES_PARTS && rules_part(s, &usd); k++) {
		parted = true;
		s->polished = -1;
		x = arena_memdup(s->a, s->best, (s->n_offers + 1) * sizeof(*x));
		s->best_usd = INFINITY;
		memcpy(s->most, s->all, s->n_offers * sizeof(*s->most));
		rules_try(s, x);
	}
	return parted;
}

/* Several members: hours that are alike are one, which cost no more; then those are parted that
 * cost more, and again. */
static void
rules_rounds(struct rules *s)
{
	rules_settle(s);
	for (int k = 0; k < RULES_PARTS && rules_better(s, s->first) && s->work < s->work_max;
	     k++) {
		rules_search(s);
		s->first = fmax(s->first, s->lower);
		if (!rules_settle(s))
			break;
	}
	s->lower = fmin(s->best_usd, s->first);
}

/* Would the program alone take more than the work that is left? */
static bool
rules_large(const struct rules *s)
{
	double rows = 2 * (double)(s->stretches * s->n_pieces),
	       columns = (double)(s->first_usd + s->stretches * s->n_pieces);

	return s->n_hours > 1 && s->work_max > 0 && isfinite(s->best_usd) &&
	       40 * rows * rows * columns > s->work_max;
}

/* Prices of the quotas, then hours are parted where the best that is known uses them otherwise, and
 * again. */
static void
rules_priced(struct rules *s, int64_t *const *start, double *first)
{
	double *x =
	    start != NULL ? rules_counts(s, start) : arena_array(s->a, s->n_offers + 1, sizeof(*x));

	if (s->given && isfinite(s->best_usd)) {
		memcpy(x, s->best, s->n_offers * sizeof(*x));
		*first = fmax(*first, rules_price(s, x, PRICED_NEAR, PRICED_FEW));
		return;
	}
	*first = fmax(*first, rules_price(s, x, 0, PRICED_STEPS));
	for (int k = 0; k < RULES_PARTS && rules_better(s, *first) && rules_settle(s); k++)
		*first = fmax(*first, rules_price(s, x, PRICED_STEPS, PRICED_FEW));
	for (int k = 0; k < PRICED_MORE && s->best_usd - *first > PRICED_FAR * s->best_usd; k++) {
		*first = fmax(*first, rules_price(s, x, PRICED_STEPS, PRICED_STEPS));
		rules_settle(s);
	}
	if (!s->given && rules_large(s) && rules_better(s, *first))
		*first = fmax(*first, rules_price_single(s, x, false));
}

/* What each member pays, as the hours have it. */
static void
rules_split(struct rules *s, struct schedule **out)
{
	double *bound = arena_array(s->a, s->n, sizeof(*bound)), all = 0;
	struct arena *each = arena_new();

	s->at.served = arena_array(s->a, s->n_servers + 1, sizeof(double));
	s->at.most = arena_array(s->a, s->n_servers + 1, sizeof(double));
	for (size_t k = 0; k < s->n; k++)
		out[k]->cost_usd = 0;
	for (size_t j = 0; j < s->n_offers; j++)
		out[s->offer[j].member]->cost_usd += s->best[j] * s->offer[j].usd;
	for (size_t t = 0; t < s->stretches; t++) {
		struct commit_recourse *r = &s->r[t], was = rules_each(s, t, each);

		rules_at(s, t, s->best);
		for (size_t k = 0; k < s->n_pieces; k++)
			if (s->piece[k].member < s->n && !s->piece[k].guide)
				out[s->piece[k].member]->cost_usd += s->piece_usd[k];
		for (size_t k = 0; k < s->n; k++) {
			double left = 0, usd = 0;

			if (s->merit[k])
				continue;
			for (size_t h = 0; h < r->n_atoms; h++)
				left += r->weight[h] * r->demand[h * s->n + k];
			for (size_t v = 0; v < s->n_servers; v++)
				if (r->server[v].member == k) {
					left -= s->at.served[v];
					usd += s->at.served[v] * r->server[v].usage;
				}
			out[k]->cost_usd +=
			    s->hours[t] * (usd + fmax(0, left) * s->w[k].p->unserved);
		}
		was.failed = was.failed || r->failed;
		*r = was;
		arena_reset(each);
	}
	arena_free(each);
	for (size_t k = 0; k < s->n; k++)
		all += out[k]->cost_usd;
	for (size_t k = 0; k < s->n && s->given && all > 0; k++) /* means of hours say less */
		out[k]->cost_usd *= s->best_usd / all;
	for (size_t k = 0; k < s->n; k++) /* none costs less in all: in parts of each */
		out[k]->lower_bound_usd = all > 0 ? out[k]->cost_usd * fmin(1, s->lower / all) : 0;
}

static void
rules_report(struct rules *s, struct schedule **out)
{
	double bound = 0;

	for (size_t j = 0; j < s->n_offers; j++) {
		s->w[s->offer[j].member].count[j - s->at_member[s->offer[j].member]] =
		    (int64_t)s->best[j];
		bound += s->best[j] * s->offer[j].usd;
	}
	if (s->n > 1) {
		rules_split(s, out);
	} else {
		out[0]->cost_usd = s->best_usd - s->theta * bound;
		out[0]->lower_bound_usd = s->lower;
	}
	for (size_t k = 0; k < s->n; k++) {
		out[k]->quota_price = s->price;
		if (s->budget_price > 0)
			out[k]->theta = s->budget_price;
	}
}

static bool
rules_failed(const struct rules *s)
{
	bool failed = false;

	for (size_t t = 0; t < s->stretches; t++)
		failed = failed || s->r[t].failed;
	return failed;
}

enum berth_code
schedule_rules_solve(struct schedule_work *w, size_t n, double budget, double first,
    int64_t *const *const *start, size_t n_starts, struct schedule_effort *e, struct schedule **out,
    struct berth_err *err)
{
	struct rules s = { .w = w,
		.n = n,
		.a = w->a,
		.scratch = arena_new(),
		.budget = budget,
		.theta = w->p->theta,
		.best_usd = INFINITY,
		.lower = -INFINITY,
		.polished = -1,
		.enough = e == NULL || e->enough == 0 ? INFINITY : e->enough,
		.work_max = e == NULL || e->work == 0 ? RULES_WORK : e->work };
	double *x;
	bool failed;

	rules_init(&s);
	if (e != NULL && e->hours != NULL)
		rules_hours_given(&s, e->hours, e->scale);
	else
		rules_hours(&s);
	for (size_t k = 0; k < n_starts; k++) {
		if (start[k] == NULL)
			continue;
		x = rules_counts(&s, start[k]);
		if (e != NULL && e->priced != NULL)
			s.best_usd = INFINITY;
		rules_try(&s, x);
		if (e != NULL && e->priced != NULL)
			e->priced[k] = s.best_usd;
	}
	if (s.n_hours > 1 && s.work_max > 0)
		rules_priced(&s, n_starts > 0 ? start[0] : NULL, &first);
	s.first = first;
	if (!rules_large(&s))
		rules_rounds(&s);
	s.lower = fmax(s.lower, fmin(s.first, s.best_usd));
	failed = rules_failed(&s);
	if (isfinite(s.best_usd) && !failed)
		rules_report(&s, out);
	if (e != NULL)
		e->used = s.work;
	if (e != NULL)
		e->left = s.n_hours > 1 ? s.r : NULL;
	arena_free(s.scratch);
	if (failed)
		return err_set(err, BERTH_EFAIL, "the hours under the quotas could not be solved");
	if (isinf(s.best_usd))
		return err_set(err, BERTH_EINFEASIBLE,
		    "no purchases keep peak%s, quotas and shares at all times%s", n > 1 ? "s" : "",
		    isnan(budget) ? "" : " within the budget");
	return BERTH_OK;
}
