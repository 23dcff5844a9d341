#include <math.h>

#include "plan/schedule_rules.h"
#include "util/arena.h"

/* What serves an hour of a member, beside what it buys. */
struct stretch_item {
	double usd, gpus;
};

static void
stretch_sort(struct stretch_item *v, size_t n)
{
	for (size_t i = 1; i < n; i++) {
		struct stretch_item item = v[i];
		size_t k = i;

		for (; k > 0 && v[k - 1].usd > item.usd; k--)
			v[k] = v[k - 1];
		v[k] = item;
	}
}

/* v for each GPU between two numbers of them, into what each further one saves: [levels + 1] as
 * they are and as differences. */
static void
stretch_span(double *save, double *differ, double levels, double lo, double hi, double v)
{
	size_t l, h;

	lo = fmax(0, lo);
	hi = fmin(levels, hi);
	if (lo >= hi)
		return;
	l = (size_t)lo;
	h = (size_t)hi;
	if (l == h) {
		save[l] += v * (hi - lo);
		return;
	}
	save[l] += v * ((double)(l + 1) - lo);
	save[h] += v * (hi - (double)h);
	differ[l + 1] += v;
	differ[h] -= v;
}

/* One hour of a member: its cost without purchases, and what each further GPU saves. What costs
 * more than the use of what is bought gives way, the dearest first. */
static double
stretch_hour(const struct stretch_item *item, size_t n, double unserved, double own, double demand,
    double *save, double *differ, double levels)
{
	double usd = 0, at = 0;

	for (size_t i = 0; i <= n && at < demand; i++) {
		double price = i < n ? item[i].usd : unserved,
		       q = i < n ? fmin(item[i].gpus, demand - at) : demand - at;

		usd += price * q;
		if (price > own)
			stretch_span(
			    save, differ, levels, demand - at - q, demand - at, price - own);
		at += q;
	}
	return usd;
}

/* What may serve a member in a stretch, at the price of its use alone; reach: [n][n_quotas] what it
 * takes of quotas. */
static size_t
stretch_items(const struct rules *s, size_t t, size_t k, struct stretch_item *item, double *reach)
{
	const struct commit_recourse *r = &s->r[t];
	size_t n = 0;

	for (size_t v = 0; v < s->n_servers; v++) {
		const struct commit_server *sv = &r->server[v];
		enum commit_kind kind;

		if (sv->member != k || sv->column != COMMIT_NOT_BOUGHT)
			continue;
		kind = s->member[k].problem->lines[sv->line].kind;
		for (size_t q = 0; q < s->n_quotas; q++)
			reach[n * s->n_quotas + q] =
			    kind == COMMIT_SPOT || kind == COMMIT_ON_DEMAND
				? s->member[k].rules->quota[q].weight[sv->line]
				: 0;
		item[n++] = (struct stretch_item){ sv->usage, sv->cap };
	}
	return n;
}

void
rules_price_stretch(const struct rules *s, size_t t, size_t k, const double *saves, double *usd)
{
	const struct commit_recourse *r = &s->r[t];
	size_t levels = (size_t)s->w[k].rest.levels, n;
	struct arena *a = arena_new();
	struct stretch_item *item = arena_array(a, s->n_servers + 1, sizeof(*item)),
			    *now = arena_array(a, s->n_servers + 1, sizeof(*now));
	double *reach = arena_array(a, s->n_servers * s->n_quotas + 1, sizeof(*reach)),
	       *save = arena_array(a, levels + 2, sizeof(*save)),
	       *differ = arena_array(a, levels + 2, sizeof(*differ)), run = 0;

	n = stretch_items(s, t, k, item, reach);
	usd[0] = 0;
	for (size_t h = 0; h < r->n_atoms; h++) {
		const double *mu = saves + h * s->n_quotas;
		double w = r->weight[h];

		for (size_t i = 0; i < n; i++) {
			now[i] = item[i];
			for (size_t q = 0; q < s->n_quotas; q++)
				now[i].usd += mu[q] * reach[i * s->n_quotas + q];
			now[i].usd *= w;
		}
		stretch_sort(now, n);
		usd[0] += stretch_hour(now, n, w * s->w[k].p->unserved, w * s->w[k].band[0],
		    r->demand[h * s->n + k], save, differ, (double)levels);
	}
	for (size_t l = 0; l < levels; l++) {
		run += differ[l];
		usd[l + 1] = fmax(0, usd[l] - fmax(0, save[l] + run)); /* 0: rounding */
	}
	for (size_t l = 0; l <= levels; l++)
		usd[l] *= s->hours[t];
	arena_free(a);
}
