#include "cmd/plan_deal.h"

#include <math.h>
#include <string.h>

#include "cmd/plan_lines.h"
#include "util/arena.h"

/* Which commitments are dealt among these series. */
static size_t
deal_which(const struct plan_series *ps, size_t n, bool dates, const bool *closed, size_t *which)
{
	size_t m = 0;

	for (size_t c = 0; n > 0 && c < ps[0].n_owned_all; c++) {
		size_t can = 0;

		for (size_t k = 0; k < n; k++) {
			int64_t lo, hi,
			    all = (int64_t)ps[k].forecast.horizon * ps[k].forecast.step_s;

			can += ps[k].fits[c] > 0 &&
			       plan_owned_holds(&ps[k].owned_all[c], &ps[k], &lo, &hi) &&
			       (dates ? plan_owned_whole(
					    (double)ps[k].owned_all[c].count, ps[k].fits[c]) > 0
				      : (hi - lo) * 2 >= all);
		}
		if (can > 1 && !(closed != NULL && closed[c]))
			which[m++] = c;
	}
	return m;
}

/* Quotas of an open series: none counts what is dealt, but those of the deal. */
static void
deal_quotas(struct plan_open *d, size_t k, const struct plan_series *was, struct arena *a)
{
	struct plan_series *ps = &d->ps[k];
	size_t n = was->shares.n_quotas;
	struct commit_quota *quota = arena_array(a, n + d->n_dealt + 1, sizeof(*quota));
	size_t *group = arena_array(a, ps->n_lines + 1, sizeof(*group));

	if (was->n_lines > 0)
		memcpy(group, was->shares.group, was->n_lines * sizeof(*group));
	for (size_t q = 0; q < n + d->n_dealt; q++) {
		double *weight = arena_array(a, ps->n_lines + 1, sizeof(*weight));
		size_t line = q < n ? SIZE_MAX : d->line[k][q - n];

		if (q < n && was->n_lines > 0)
			memcpy(weight, was->shares.quota[q].weight, was->n_lines * sizeof(*weight));
		if (line != SIZE_MAX)
			weight[line] = 1 / ps->carries[line];
		quota[q].weight = weight;
		quota[q].limit = q < n ? was->shares.quota[q].limit
				       : (double)ps->owned_all[d->commitment[q - n]].count;
	}
	ps->shares.quota = quota;
	ps->shares.n_quotas = n + d->n_dealt;
	ps->shares.group = group;
}

static size_t
deal_group(const struct plan_options *o, const struct plan_series *ps, const struct offer *x,
    struct arena *a)
{
	struct plan_series one = *ps;

	one.n_lines = 1;
	one.n_owned = 0;
	one.offers = &x;
	plan_shares(o, &one, a);
	return one.shares.group[0];
}

/* A line of machines that are dealt: with dates whole ones where they carry whole GPUs, else GPUs.
 */
static struct commit_line
deal_line(const struct plan_series *ps, const struct commitment *c, double carries, bool dates)
{
	bool whole = fabs(carries - rint(carries)) < 1e-9;
	struct commit_line l = { .kind = COMMIT_RESERVED,
		.usage = plan_owned_use(ps, &c->offer, carries),
		.gpus = 1,
		.max_count = c->count };

	if (!dates || whole)
		l.gpus = plan_units(carries, &l.speed);
	else
		l.max_count = (int64_t)plan_owned_whole((double)c->count, carries);
	return l;
}

/* What is dealt counts as owned no more; the first that can use it has what it takes of quotas. */
static void
deal_owned(struct plan_open *d, size_t k, const struct plan_options *o, struct arena *a)
{
	struct plan_series *ps = &d->ps[k];
	size_t n = ps->n_owned;

	ps->owned = arena_memdup(a, ps->owned, (n + 1) * sizeof(*ps->owned));
	for (size_t i = 0; i < n; i++)
		for (size_t e = 0; e < d->n_dealt; e++) {
			const struct commitment *c = &ps->owned_all[d->commitment[e]];
			double *weight = arena_array(a, ps->shares.n_quotas + 1, sizeof(*weight));
			bool first = true;

			if (ps->owned_offer[i] != &c->offer)
				continue;
			for (size_t b = 0; b < k; b++)
				first = first && d->line[b][e] == SIZE_MAX;
			for (size_t q = 0; q < o->n_limits && first; q++)
				weight[q] = plan_quota_owned(o, q, ps, &c->offer, c->count);
			ps->owned[i].gpus = 0;
			ps->owned[i].weight = weight;
			ps->owned[i].group = 0;
		}
	for (size_t i = 0; i < n; i++) { /* there are more quotas now */
		double *weight = arena_array(a, ps->shares.n_quotas + 1, sizeof(*weight));

		memcpy(weight, ps->owned[i].weight, o->n_limits * sizeof(*weight));
		ps->owned[i].weight = weight;
	}
}

static void
deal_series(struct plan_open *d, size_t k, const struct plan_series *was, bool dates,
    const struct plan_options *o, struct arena *a)
{
	struct plan_series *ps = &d->ps[k];
	size_t n = was->n_lines, room = n + d->n_dealt + 1;

	*ps = *was;
	ps->open = NULL;
	ps->lines = arena_array(a, room, sizeof(*ps->lines));
	ps->offers = arena_array(a, room, sizeof(*ps->offers));
	ps->names = arena_array(a, room, sizeof(*ps->names));
	ps->carries = arena_array(a, room, sizeof(*ps->carries));
	d->held[k] = arena_array(a, room, sizeof(**d->held));
	d->line[k] = arena_array(a, d->n_dealt + 1, sizeof(**d->line));
	for (size_t i = 0; i < n; i++) {
		ps->lines[i] = was->lines[i];
		ps->offers[i] = was->offers[i];
		ps->names[i] = was->names[i];
		ps->carries[i] = was->carries[i];
	}
	for (size_t e = 0; e < d->n_dealt; e++) {
		const struct commitment *c = &ps->owned_all[d->commitment[e]];
		double carries = ps->fits[d->commitment[e]];
		int64_t lo, hi, from = ps->forecast.t0, step = ps->forecast.step_s;

		d->line[k][e] = SIZE_MAX;
		for (size_t i = 0; i < n; i++)
			if (ps->lines[i].kind == COMMIT_OWNED && ps->offers[i] == &c->offer)
				ps->lines[i].min_count = ps->lines[i].max_count = 0;
		if (!(carries > 0) || !plan_owned_holds(c, ps, &lo, &hi))
			continue;
		d->line[k][e] = ps->n_lines;
		ps->offers[ps->n_lines] = &c->offer;
		ps->names[ps->n_lines] = "owned";
		ps->carries[ps->n_lines] = carries;
		d->held[k][ps->n_lines] =
		    (struct schedule_held){ dates ? plan_schedule_step(ps, (lo - from) / step) : 0,
			    dates && hi < from + (int64_t)ps->forecast.horizon * step
				? plan_schedule_step(ps, (hi - from) / step)
				: INT64_MAX };
		ps->lines[ps->n_lines] = deal_line(ps, c, carries, dates);
		ps->lines[ps->n_lines].ref = ps->n_lines;
		ps->n_lines++;
	}
	deal_quotas(d, k, was, a);
	for (size_t e = 0; e < d->n_dealt; e++)
		if (d->line[k][e] != SIZE_MAX)
			((size_t *)ps->shares.group)[d->line[k][e]] =
			    deal_group(o, ps, ps->offers[d->line[k][e]], a);
	deal_owned(d, k, o, a);
	ps->problem.lines = ps->lines;
	ps->problem.n_lines = ps->n_lines;
}

/* What is dealt takes its part of the quotas, whoever has it. */
static void
deal_limits(struct plan_open *d, const struct plan_options *o)
{
	for (size_t q = 0; q < o->n_limits; q++) {
		double takes = 0;

		for (size_t e = 0; e < d->n_dealt; e++) {
			const struct commitment *c = &d->ps[0].owned_all[d->commitment[e]];
			size_t k = 0;

			while (d->line[k][e] == SIZE_MAX)
				k++;
			takes += plan_quota_owned(o, q, &d->ps[k], &c->offer, c->count);
		}
		for (size_t k = 0; k < d->n; k++) {
			struct commit_quota *quota = (struct commit_quota *)d->ps[k].shares.quota;

			quota[q].limit = fmax(0, quota[q].limit - takes);
		}
	}
}

struct plan_open *
plan_deal_open(const struct plan_series *ps, size_t n, bool dates, const bool *closed,
    const struct plan_options *o, struct arena *a)
{
	struct plan_open *d = arena_array(a, 1, sizeof(*d));

	d->n = n;
	d->commitment = arena_array(a, n > 0 ? ps[0].n_owned_all + 1 : 1, sizeof(*d->commitment));
	d->n_dealt = deal_which(ps, n, dates, closed, d->commitment);
	if (d->n_dealt == 0)
		return NULL;
	d->ps = arena_array(a, n, sizeof(*d->ps));
	d->line = arena_array(a, n, sizeof(*d->line));
	d->held = arena_array(a, n, sizeof(*d->held));
	for (size_t k = 0; k < n; k++)
		deal_series(d, k, &ps[k], dates, o, a);
	if (!dates)
		deal_limits(d, o);
	return d;
}

int64_t
plan_deal_machines(const struct plan_open *d, size_t series, size_t dealt, int64_t purchases)
{
	size_t line = d->line[series][dealt];
	double gpus = (double)purchases * commit_line_gpus(&d->ps[series].lines[line]);

	return (int64_t)ceil(gpus / d->ps[series].carries[line] - 1e-9);
}

/* Machines of a commitment that a schedule of an open series has. */
static int64_t
deal_has(const struct plan_open *d, struct schedule *const *s, size_t k, size_t e)
{
	for (size_t i = 0; i < s[k]->n; i++)
		if (s[k]->buy[i].line == d->line[k][e])
			return plan_deal_machines(d, k, e, s[k]->buy[i].count);
	return 0;
}

size_t
plan_deal_over(const struct plan_open *d, struct schedule *const *s)
{
	for (size_t e = 0; e < d->n_dealt; e++) {
		int64_t sum = 0;

		for (size_t k = 0; k < d->n; k++)
			sum += deal_has(d, s, k, e);
		if (sum > d->ps[0].owned_all[d->commitment[e]].count)
			return d->commitment[e];
	}
	return SIZE_MAX;
}

/* What no series needs is with the first that can use it. */
static void
deal_rest(const struct plan_open *d, size_t e, int64_t *machines)
{
	int64_t left = d->ps[0].owned_all[d->commitment[e]].count;
	size_t first = d->n;

	for (size_t k = 0; k < d->n; k++) {
		left -= machines[k];
		if (first == d->n && d->line[k][e] != SIZE_MAX)
			first = k;
	}
	if (first < d->n && left > 0 && d->ps[first].shares.n == 0)
		machines[first] += left;
}

void
plan_deal_take(const struct plan_open *d, struct schedule *const *s, struct plan_series *ps,
    const struct plan_options *o, struct arena *a)
{
	int64_t *machines = arena_array(a, d->n, sizeof(*machines));

	for (size_t e = 0; e < d->n_dealt; e++) {
		const struct offer *x = &ps[0].owned_all[d->commitment[e]].offer;

		for (size_t k = 0; k < d->n; k++)
			machines[k] = deal_has(d, s, k, e);
		deal_rest(d, e, machines);
		for (size_t k = 0; k < d->n; k++)
			for (size_t i = 0; i < ps[k].n_owned; i++) {
				double *weight;

				if (ps[k].owned_offer[i] != x)
					continue;
				weight = arena_array(a, ps[k].shares.n_quotas + 1, sizeof(*weight));
				for (size_t q = 0; q < o->n_limits; q++)
					weight[q] = plan_quota_owned(o, q, &ps[k], x, machines[k]);
				ps[k].owned_count[i] = machines[k];
				ps[k].owned[i].gpus = plan_owned_whole(
				    (double)machines[k], ps[k].fits[d->commitment[e]]);
				ps[k].owned[i].weight = weight;
			}
	}
	for (size_t k = 0; k < d->n; k++) {
		size_t kept = 0;

		for (size_t i = 0; i < s[k]->n; i++)
			if (s[k]->buy[i].line < ps[k].n_lines)
				s[k]->buy[kept++] = s[k]->buy[i];
		s[k]->n = kept;
	}
}
