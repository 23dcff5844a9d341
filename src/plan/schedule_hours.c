#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "plan/schedule_rules.h"
#include "util/arena.h"

#define HOURS_MOST 20000.0 /* of all stretches, about */

/* Hours of a stretch that are taken as one: kept in the work, so that they can be parted. */
struct rules_hour {
	uint64_t key;
	uint32_t basis;
	size_t step, path;
};

/* The hours of one member as levels and their shares of the time. */
static void
hours_levels(struct rules *s, size_t t, size_t member)
{
	struct commit_recourse *r = &s->r[t];
	size_t levels = s->w[member].levels;
	const double *u = s->w[member].use + t * (levels + 1);

	r->demand = arena_array(s->a, (levels + 1) * s->n, sizeof(double));
	r->weight = arena_array(s->a, levels + 1, sizeof(double));
	for (size_t l = 0; l <= levels; l++) {
		double share = (l == 0 ? 1 : u[l - 1]) - (l == levels ? 0 : u[l]);

		if (!(share > 0))
			continue;
		r->demand[r->n_atoms * s->n + member] = (double)l;
		r->weight[r->n_atoms++] = share;
	}
}

static size_t
hours_paths(const struct rules *s)
{
	size_t paths = 0;

	for (size_t k = 0; k < s->n; k++)
		paths = s->w[k].p->demand->n_paths > paths ? s->w[k].p->demand->n_paths : paths;
	return paths;
}

/* Of members whose hours are not their own. */
static double
hours_demand(const struct rules *s, size_t member, const struct rules_hour *h)
{
	const struct commit_demand *d = s->w[member].p->demand;

	return s->merit[member]
		   ? 0
		   : fmin(d->gpus[h->path % d->n_paths * d->n_steps + h->step], s->cap[member]);
}

static double
hours_weight(const struct rules *s, size_t path)
{
	const struct commit_demand *d = s->w[0].p->demand;

	return d->weight == NULL ? 1 : d->weight[path % d->n_paths];
}

static uint64_t
hours_mix(uint64_t key, uint64_t v)
{
	key = (key ^ v) * UINT64_C(0x9e3779b97f4a7c15);
	return key ^ key >> 29;
}

/*
 * Hours with the same whole GPUs, of each and of all, are alike: between those what they cost
 * hardly bends; where that leaves too many, those within a few. Keys that are near are of hours
 * that are, which often have one basis.
 */
static uint64_t
hours_key(const struct rules *s, const struct rules_hour *h)
{
	uint64_t key = 0, rest = 1;
	double sum = 0, all = 0;

	for (size_t k = 0; k < s->n; k++) {
		double v = hours_demand(s, k, h);

		v /= s->wide[k];
		sum += v * s->wide[k];
		all += s->wide[k];
		if (k < 4)
			key = key << 13 | (uint64_t)fmin(ceil(v), 8191);
		else
			rest = hours_mix(rest, (uint64_t)ceil(v));
	}
	return key << 12 | (hours_mix(rest, (uint64_t)ceil(sum / (all / (double)s->n))) & 0xfff);
}

static int
hours_cmp(const void *a, const void *b)
{
	const struct rules_hour *x = a, *y = b;

	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	if (x->basis != y->basis)
		return x->basis < y->basis ? -1 : 1;
	if (x->path != y->path)
		return x->path < y->path ? -1 : 1;
	return (x->step > y->step) - (x->step < y->step);
}

static bool
hours_alike(const struct rules_hour *x, const struct rules_hour *y)
{
	return x->key == y->key && x->basis == y->basis;
}

/* Atoms of the hours in v [n], those that are alike at their mean; `each`: one by one. */
static void
hours_atoms(const struct rules *s, size_t t, const struct rules_hour *v, size_t n, bool each,
    struct arena *a)
{
	struct commit_recourse *r = &s->r[t];
	double total = 0;
	size_t atoms = 0;

	for (size_t h = 0; h < n; h++)
		atoms += each || h == 0 || !hours_alike(&v[h], &v[h - 1]);
	r->demand = arena_array(a, atoms * s->n + 1, sizeof(double));
	r->weight = arena_array(a, atoms + 1, sizeof(double));
	r->n_atoms = 0;
	for (size_t h = 0; h < n; h++) {
		double w = hours_weight(s, v[h].path);
		size_t at;

		r->n_atoms += each || h == 0 || !hours_alike(&v[h], &v[h - 1]);
		at = r->n_atoms - 1;
		for (size_t k = 0; k < s->n; k++)
			r->demand[at * s->n + k] += w * hours_demand(s, k, &v[h]);
		r->weight[at] += w;
		total += w;
	}
	for (size_t at = 0; at < r->n_atoms; at++) {
		for (size_t k = 0; k < s->n; k++)
			r->demand[at * s->n + k] /= r->weight[at];
		r->weight[at] /= total;
	}
}

static struct rules_hour *
hours_list(const struct rules *s, size_t t, struct arena *a, size_t *n_out)
{
	int64_t from = s->w[0].border.v[t], to = s->w[0].border.v[t + 1];
	size_t paths = hours_paths(s), n = 0;
	struct rules_hour *v = arena_array(a, (size_t)(to - from) * paths + 1, sizeof(*v));

	for (size_t p = 0; p < paths; p++)
		for (int64_t step = from; step < to; step++)
			v[n++] = (struct rules_hour){ 0, 0, (size_t)step, p };
	*n_out = n;
	return v;
}

/* GPUs that are taken as one: so many that about HOURS_MOST hours are left of all stretches. */
static void
hours_wide(struct rules *s)
{
	double sides = floor(pow(HOURS_MOST / (double)s->stretches, 1 / (double)s->n_hours));

	s->wide = arena_array(s->a, s->n, sizeof(*s->wide));
	for (size_t k = 0; k < s->n; k++) {
		const struct commit_demand *d = s->w[k].p->demand;
		double lo = INFINITY, hi = 0;

		for (size_t i = 0; i < d->n_paths * d->n_steps; i++) {
			lo = fmin(lo, d->gpus[i]);
			hi = fmax(hi, fmin(d->gpus[i], s->cap[k]));
		}
		s->wide[k] = fmax(1, (hi - lo) / fmax(2, sides));
	}
}

static void
hours_caps(struct rules *s)
{
	s->cap = arena_array(s->a, s->n, sizeof(*s->cap));
	for (size_t k = 0; k < s->n; k++)
		s->cap[k] = commit_cap(s->w[k].p->demand, s->a, NULL);
}

void
rules_hours(struct rules *s)
{
	size_t one = 0;

	if (s->n_hours == 0)
		return;
	while (s->merit[one])
		one++;
	if (s->n_hours > 1) {
		hours_caps(s);
		hours_wide(s);
	}
	for (size_t t = 0; t < s->stretches; t++) {
		struct arena *scratch;
		struct rules_hour *v;
		size_t n;

		if (s->n_hours == 1) {
			hours_levels(s, t, one);
			continue;
		}
		scratch = arena_new();
		v = hours_list(s, t, scratch, &n);
		for (size_t h = 0; h < n; h++)
			v[h].key = hours_key(s, &v[h]);
		qsort(v, n, sizeof(*v), hours_cmp);
		hours_atoms(s, t, v, n, false, s->a);
		arena_free(scratch);
	}
}

void
rules_hours_given(struct rules *s, const struct commit_recourse *hours, double scale)
{
	s->given = true;
	for (size_t t = 0; t < s->stretches; t++) {
		size_t cells = hours[t].n_atoms * s->n;

		s->r[t].n_atoms = hours[t].n_atoms;
		s->r[t].weight = hours[t].weight;
		s->r[t].demand = arena_memdup(s->a, hours[t].demand, cells * sizeof(double));
		for (size_t i = 0; i < cells && scale != 1; i++)
			s->r[t].demand[i] *= scale;
	}
}

/* One stretch by its single hours at the best purchases; then those of one basis and one key are
 * one. */
static double
hours_part(struct rules *s, size_t t)
{
	struct commit_recourse *r = &s->r[t], was = *r;
	struct arena *a = arena_new();
	size_t n;
	struct rules_hour *v = hours_list(s, t, a, &n);
	double usd;

	hours_atoms(s, t, v, n, true, a);
	r->basis = arena_array(a, n + 1, sizeof(*r->basis));
	usd = rules_at(s, t, s->best);
	rules_note(s, t);
	for (size_t h = 0; h < n; h++) {
		v[h].key = hours_key(s, &v[h]);
		v[h].basis = r->basis[h];
	}
	s->work += 20 * (double)n;
	qsort(v, n, sizeof(*v), hours_cmp);
	was.failed = was.failed || r->failed;
	*r = was;
	hours_atoms(s, t, v, n, false, s->a);
	arena_free(a);
	return usd;
}

bool
rules_part(struct rules *s, double *usd)
{
	double known = 0, is = 0;

	*usd = s->best_usd;
	if (s->n_hours < 2 || s->given || isinf(s->best_usd))
		return false;
	for (size_t t = 0; t < s->stretches; t++) {
		double before = rules_at(s, t, s->best), exact = hours_part(s, t);

		known += before;
		is += exact;
	}
	*usd = s->best_usd + is - known;
	return is - known > RULES_PROVEN * fabs(*usd);
}

struct commit_recourse
rules_each(struct rules *s, size_t t, struct arena *a)
{
	struct commit_recourse was = s->r[t];
	struct rules_hour *v;
	size_t n;

	if (s->n_hours < 2 || s->given)
		return was;
	v = hours_list(s, t, a, &n);
	hours_atoms(s, t, v, n, true, a);
	return was;
}

static void
hours_now(struct rules *s, size_t t, const double *x)
{
	memset(s->now, 0, (s->n_columns + 1) * sizeof(*s->now));
	for (size_t j = 0; j < s->n_offers; j++)
		if (x[j] != 0 && rules_runs(s, j, t))
			s->now[s->offer[j].column] += x[j];
	s->work += (double)s->n_offers + (double)(s->n_pieces * s->n_columns);
}

double
rules_guides(struct rules *s, size_t t, const double *x)
{
	double usd = 0;

	hours_now(s, t, x);
	for (size_t k = 0; k < s->n_pieces; k++) {
		const struct rules_piece *p = &s->piece[k];

		if (!p->guide)
			continue;
		s->piece_usd[k] = schedule_band_usd(
		    &s->w[p->member], t, p->band, rules_running(s, p), &s->piece_slope[k]);
		usd += s->piece_usd[k];
	}
	return usd;
}

double
rules_at(struct rules *s, size_t t, const double *x)
{
	double usd = 0, guides = rules_guides(s, t, x), hours = 0;

	for (size_t k = 0; k < s->n_pieces; k++) {
		const struct rules_piece *p = &s->piece[k];

		if (p->guide)
			continue;
		if (p->member == s->n) {
			commit_recourse_at(&s->r[t], s->now, &s->at);
			s->piece_usd[k] = s->at.usd * s->hours[t];
			s->work +=
			    8 * (double)s->r[t].n_atoms * (double)(s->n * (s->n + s->n_quotas));
			hours = s->piece_usd[k];
		} else {
			s->piece_usd[k] = schedule_band_usd(
			    &s->w[p->member], t, p->band, rules_running(s, p), &s->piece_slope[k]);
			usd += s->piece_usd[k];
		}
	}
	return usd + fmax(hours, guides); /* means of hours may say less */
}
