#include <math.h>
#include <string.h>

#include "plan/commit_impl.h"
#include "util/arena.h"

#define SHARE_ROUNDS 200
#define SHARE_SLACK 1e-9 /* GPUs */

/* GPUs owned or bought, of a group (0: all). */
static double
share_gpus(const struct commit_work *w, const int64_t *count, size_t group)
{
	double sum = 0;

	for (size_t i = 0; i < w->p->n_lines; i++) {
		const struct commit_line *l = &w->p->lines[i];

		if ((l->kind == COMMIT_OWNED || l->kind == COMMIT_RESERVED) &&
		    (group == 0 || w->shares->group[i] == group))
			sum += commit_stack_gpus(l, count[i]);
	}
	return sum;
}

/* GPUs by which all shares together are broken. */
static double
share_broken(const struct commit_work *w, const int64_t *count)
{
	double all = share_gpus(w, count, 0), sum = 0;

	for (size_t k = 0; k < w->shares->n; k++) {
		const struct commit_share *s = &w->shares->share[k];
		double have = share_gpus(w, count, s->group);

		sum += fmax(0, have - s->max * all) + fmax(0, s->min * all - have);
	}
	return sum;
}

enum berth_code
commit_shares_check(const struct commit_shares *s, struct berth_err *err)
{
	double least = 0;

	if (s->n_quotas > COMMIT_QUOTAS_MAX)
		return err_set(err, BERTH_EINVAL, "%zu quotas are more than %d", s->n_quotas,
		    COMMIT_QUOTAS_MAX);
	for (size_t k = 0; k < s->n; k++) {
		if (!(s->share[k].min >= 0) || !(s->share[k].max <= 1) ||
		    !(s->share[k].min <= s->share[k].max))
			return err_set(err, BERTH_EINVAL, "a share of %g to %g", s->share[k].min,
			    s->share[k].max);
		least += s->share[k].min;
	}
	return least <= 1 + 1e-12
		   ? BERTH_OK
		   : err_set(err, BERTH_EINVAL, "the least shares add up to %g", least);
}

bool
commit_shares_hold(const struct commit_work *w, const int64_t *count)
{
	return share_broken(w, count) <= SHARE_SLACK;
}

struct share_search {
	struct commit_work *w;
	double limit;          /* USD an hour; INFINITY: none */
	int64_t *count, *best; /* [lines] */
	double best_cost;
	double scale; /* USD that one GPU of a broken rule counts, while a plan is mended */
};

static int64_t
share_bought(const struct share_search *x)
{
	int64_t sum = 0;

	for (size_t i = 0; i < x->w->p->n_lines; i++)
		if (x->w->p->lines[i].kind == COMMIT_RESERVED)
			sum += x->count[i] * x->w->p->lines[i].gpus;
	return sum;
}

/* Cost an hour, and what the broken rules weigh. */
static double
share_value(const struct share_search *x)
{
	double bound, cost = commit_stack_cost(&x->w->st, x->count, &bound);
	int64_t lack = x->w->floor - share_bought(x);

	return cost + x->scale * (share_broken(x->w, x->count) + (lack > 0 ? (double)lack : 0)) +
	       1e3 * fmax(0, bound - x->limit);
}

static bool
share_step(struct share_search *x, size_t i, int64_t by)
{
	const struct commit_line *l = &x->w->p->lines[i];

	if (l->kind != COMMIT_RESERVED || x->count[i] + by < l->min_count ||
	    x->count[i] + by > l->max_count ||
	    (double)(x->count[i] + by) * (double)l->gpus > (double)x->w->n)
		return false;
	x->count[i] += by;
	return true;
}

/* The best of: by more or fewer of one line, beside by more or fewer of another. True if it helped.
 */
static bool
share_move(struct share_search *x, int64_t by)
{
	double now = share_value(x), least = now - 1e-12 * fabs(now);
	size_t n = x->w->p->n_lines, bi = n, bj = n;
	int64_t di = 0, dj = 0;

	for (size_t i = 0; i < n; i++)
		for (int64_t d = -by; d <= by; d += 2 * by) {
			if (!share_step(x, i, d))
				continue;
			for (size_t j = i; j < n; j++) /* j == i: i alone */
				for (int64_t e = -by; e <= by; e += 2 * by) {
					double v;

					if (j != i && !share_step(x, j, e))
						continue;
					v = share_value(x);
					if (v < least) {
						least = v;
						bi = i;
						di = d;
						bj = j;
						dj = j == i ? 0 : e;
					}
					x->count[j] -= j == i ? 0 : e;
					if (j == i)
						break;
				}
			x->count[i] -= d;
		}
	if (bi == n)
		return false;
	x->count[bi] += di;
	x->count[bj] += dj;
	return true;
}

/* Mends and improves x->count, and keeps it if it is the best that holds. */
static void
share_polish(struct share_search *x)
{
	int64_t by = 1;
	double bound, cost;

	while (by < x->w->n / 4)
		by *= 2;
	for (; by > 0; by /= 2)
		while (share_move(x, by))
			continue;
	cost = commit_stack_cost(&x->w->st, x->count, &bound);
	if (!commit_shares_hold(x->w, x->count) || bound > x->limit + 1e-12 * fabs(x->limit) ||
	    share_bought(x) < x->w->floor || cost >= x->best_cost)
		return;
	x->best_cost = cost;
	memcpy(x->best, x->count, x->w->p->n_lines * sizeof(*x->best));
}

/* Prices of the rules: [shares] too much, [shares] too little, then the budget. */
static double
share_adjust(struct share_search *x, const double *price)
{
	const struct commit_problem *p = x->w->p;
	const struct commit_shares *sh = x->w->shares;
	double all = 0, constant = isinf(x->limit) ? 0 : -price[2 * sh->n] * x->limit;

	for (size_t k = 0; k < sh->n; k++)
		all += price[sh->n + k] * sh->share[k].min - price[k] * sh->share[k].max;
	for (size_t i = 0; i < p->n_lines; i++) {
		double d = all;

		for (size_t k = 0; k < sh->n; k++)
			if (sh->group[i] == sh->share[k].group)
				d += price[k] - price[sh->n + k];
		x->w->adjust[i] = d + (isinf(x->limit) ? 0 : price[2 * sh->n] * p->lines[i].fixed);
		if (p->lines[i].kind == COMMIT_OWNED)
			constant += d * commit_stack_gpus(&p->lines[i], p->lines[i].max_count);
	}
	return constant;
}

enum berth_code
commit_shares_price(
    struct commit_work *w, double limit, struct arena *a, double *lower_io, struct berth_err *err)
{
	const struct commit_problem *p = w->p;
	const struct commit_shares *sh = w->shares;
	size_t n = sh->n;
	double *price = arena_array(a, 2 * n + 1, sizeof(*price)), most = 0;
	struct share_search x = {
		.w = w, .limit = isnan(limit) ? INFINITY : limit, .best_cost = INFINITY
	};

	x.count = arena_array(a, p->n_lines, sizeof(*x.count));
	x.best = arena_array(a, p->n_lines, sizeof(*x.best));
	w->adjust = arena_array(a, p->n_lines, sizeof(*w->adjust));
	for (size_t i = 0; i < p->n_lines; i++)
		most = fmax(most, p->lines[i].fixed + p->lines[i].usage);
	x.scale = 10 * fmax(most, p->unserved);
	for (int round = 0; round < SHARE_ROUNDS; round++) {
		double step = most / (1 + round / 4.0), all, c = share_adjust(&x, price), bound;

		c += commit_program(w, p->theta);
		if (isfinite(c))
			*lower_io = fmax(*lower_io, c);
		memcpy(x.count, w->count, p->n_lines * sizeof(*x.count));
		all = fmax(1, share_gpus(w, x.count, 0));
		commit_stack_cost(&w->st, x.count, &bound);
		for (size_t k = 0; k < n; k++) {
			double have = share_gpus(w, x.count, sh->share[k].group);

			price[k] = fmax(0, price[k] + step * (have - sh->share[k].max * all) / all);
			price[n + k] =
			    fmax(0, price[n + k] + step * (sh->share[k].min * all - have) / all);
		}
		if (isfinite(x.limit))
			price[2 * n] =
			    fmax(0, price[2 * n] + (bound - x.limit) / fmax(x.limit, 1e-9) /
						       (1 + round / 4.0));
		if (round % (p->n_lines <= 32 ? 2 : 20) == 0 || round == SHARE_ROUNDS - 1)
			share_polish(&x);
		if (x.best_cost - *lower_io <= 1e-12 * fabs(x.best_cost))
			break;
	}
	if (isinf(x.best_cost)) { /* nothing bought keeps every greatest share, if it is allowed */
		memset(x.count, 0, p->n_lines * sizeof(*x.count));
		for (size_t i = 0; i < p->n_lines; i++)
			x.count[i] = p->lines[i].kind == COMMIT_RESERVED ? p->lines[i].min_count
									 : p->lines[i].max_count;
		share_polish(&x);
	}
	if (isinf(x.best_cost))
		return err_set(err, BERTH_EINFEASIBLE, "no purchases keep the shares%s",
		    isfinite(x.limit) ? " and the budget" : "");
	memcpy(w->count, x.best, p->n_lines * sizeof(*x.best));
	return BERTH_OK;
}
