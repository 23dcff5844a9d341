#include <math.h>
#include <string.h>

#include "plan/commit_joint.h"
#include "util/arena.h"
#include "util/vec.h"

#define RECOURSE_EPS 1e-10
#define RECOURSE_JUMPS 16 /* from basis to basis, before all are looked at */

/*
 * Hours differ in their demand alone, so that few bases of the linear program are the best one of
 * all hours: one is known to be as soon as its variables keep their bounds (bunching: Wets 1988).
 */
struct commit_basis {
	uint32_t number;
	double *at, *by;    /* [rows] value without demand, change with it: those that are not 0 */
	uint32_t *of, *end; /* of which member each is; [rows] behind the last of a row */
	double *lo, *hi;    /* [rows] */
	size_t *var;        /* [rows] */
	double usd, *price; /* USD without demand, [n] with it */
	double *slope, *saves;
	double *rest;           /* [servers] of those that are at a bound */
	double weight, *demand; /* sums over its hours */
	double *most;           /* [rows] */
	struct commit_basis *
	    *jump; /* [2 rows] what fitted last where this one did not, by the bound that broke */
};

struct recourse_work {
	struct commit_recourse *r;
	struct linear lp;
	size_t rows;
	VEC(struct commit_basis *) basis;
	struct commit_basis **hint; /* [n_groups] of the group's last hour */
};

static double
recourse_unserved(const struct commit_recourse *r, size_t member)
{
	return r->m[member].problem->unserved;
}

/* min (usage - unserved) y: the slack of a member's demand is what nothing serves. */
static void
recourse_start(struct recourse_work *w, const double *x)
{
	const struct commit_recourse *r = w->r;
	double *cost = arena_array(r->scratch, 4 * (r->n_servers + 1), sizeof(*cost)),
	       *lo = cost + r->n_servers + 1;
	double *hi = lo + r->n_servers + 1, *row = hi + r->n_servers + 1;

	for (size_t j = 0; j < r->n_servers; j++) {
		const struct commit_server *s = &r->server[j];

		cost[j] = s->usage - recourse_unserved(r, s->member);
		hi[j] = s->column == COMMIT_NOT_BOUGHT
			    ? s->cap
			    : fmax(0, x[s->column]) * r->column[s->column].gpus;
	}
	linear_init(&w->lp, r->n_servers, cost, lo, hi, r->scratch);
	for (size_t k = 0; k < r->n; k++) {
		for (size_t j = 0; j < r->n_servers; j++)
			row[j] = r->server[j].member == k;
		linear_row(&w->lp, row, 0);
	}
	for (size_t q = 0; q < r->n_quotas; q++) {
		double left = r->quota[q];

		for (size_t c = 0; c < r->n_columns; c++)
			left -=
			    r->m[r->column[c].member].rules->quota[q].weight[r->column[c].line] *
			    r->column[c].gpus * x[c];
		for (size_t j = 0; j < r->n_servers; j++) {
			const struct commit_server *s = &r->server[j];
			enum commit_kind kind = r->m[s->member].problem->lines[s->line].kind;

			row[j] = kind == COMMIT_SPOT || kind == COMMIT_ON_DEMAND
				     ? r->m[s->member].rules->quota[q].weight[s->line]
				     : 0;
		}
		linear_row(&w->lp, row, fmax(0, left));
	}
	w->rows = r->n + r->n_quotas;
}

/* How the basic variables change with the demand of a member. */
static double
recourse_by(const struct recourse_work *w, size_t row, size_t member)
{
	ptrdiff_t at = w->lp.where[w->lp.n + member];

	if (at >= 0)
		return w->lp.t[row][at];
	return (size_t)(-1 - at) == row;
}

static void
recourse_slopes(const struct recourse_work *w, struct commit_basis *b)
{
	const struct commit_recourse *r = w->r;

	for (size_t q = 0; q < r->n_quotas; q++)
		b->saves[q] = linear_price(&w->lp, r->n + q);
	for (size_t j = 0; j < r->n_servers; j++) {
		ptrdiff_t at = w->lp.where[j];
		size_t c = r->server[j].column;

		b->rest[j] = at >= 0 ? w->lp.at[at] : 0;
		if (c != COMMIT_NOT_BOUGHT && at >= 0 && w->lp.d[at] < 0)
			b->slope[c] += w->lp.d[at] * r->column[c].gpus;
	}
	for (size_t c = 0; c < r->n_columns; c++)
		for (size_t q = 0; q < r->n_quotas; q++)
			b->slope[c] +=
			    b->saves[q] * r->column[c].gpus *
			    r->m[r->column[c].member].rules->quota[q].weight[r->column[c].line];
}

/* The basis that the program stands in, found at demand d. */
static struct commit_basis *
recourse_keep(struct recourse_work *w, const double *d)
{
	const struct commit_recourse *r = w->r;
	struct arena *a = r->scratch;
	struct commit_basis *b = arena_array(a, 1, sizeof(*b));
	size_t m = w->rows;
	uint32_t n = 0;

	b->at = arena_array(a,
	    m * (r->n + 4) + 3 * r->n + r->n_servers + r->n_columns + r->n_quotas, sizeof(double));
	b->by = b->at + m;
	b->lo = b->by + m * r->n;
	b->hi = b->lo + m;
	b->most = b->hi + m;
	b->price = b->most + m;
	b->demand = b->price + r->n;
	b->rest = b->demand + r->n;
	b->slope = b->rest + r->n_servers;
	b->saves = b->slope + r->n_columns;
	b->var = arena_array(a, m, sizeof(*b->var));
	b->of = arena_array(a, m * (r->n + 1), sizeof(*b->of));
	b->end = b->of + m * r->n;
	b->jump = arena_array(a, 2 * m, sizeof(struct commit_basis *));
	b->usd = linear_cost(&w->lp);
	b->number = (uint32_t)w->basis.n;
	for (size_t k = 0; k < r->n; k++) {
		double fall = linear_price(&w->lp, k);

		b->price[k] = recourse_unserved(r, k) - fall;
		b->usd += fall * d[k];
	}
	for (size_t i = 0; i < m; i++) {
		b->var[i] = w->lp.row[i];
		b->lo[i] = w->lp.lo[b->var[i]];
		b->hi[i] = w->lp.hi[b->var[i]];
		b->at[i] = w->lp.beta[i];
		for (size_t k = 0; k < r->n; k++) {
			double by = recourse_by(w, i, k);

			if (by == 0)
				continue;
			b->of[n] = (uint32_t)k;
			b->by[n++] = by;
			b->at[i] -= by * d[k];
		}
		b->end[i] = n;
	}
	recourse_slopes(w, b);
	VEC_PUSH(a, &w->basis, b);
	return b;
}

static inline double
recourse_basic(const struct commit_basis *b, size_t i, const double *d)
{
	double v = b->at[i];

	for (uint32_t k = i == 0 ? 0 : b->end[i - 1]; k < b->end[i]; k++)
		v += b->by[k] * d[b->of[k]];
	return v;
}

/* Which bound breaks, as a number of jump; SIZE_MAX: none. */
static inline size_t
recourse_breaks(const struct recourse_work *w, const struct commit_basis *b, const double *d)
{
	for (size_t i = 0; i < w->rows; i++) {
		double v = recourse_basic(b, i, d);

		if (v < b->lo[i] && v < b->lo[i] - RECOURSE_EPS * (1 + fabs(v)))
			return 2 * i;
		if (v > b->hi[i] && v > b->hi[i] + RECOURSE_EPS * (1 + fabs(v)))
			return 2 * i + 1;
	}
	return SIZE_MAX;
}

/* From one basis by jumps that led somewhere before to one that fits, if any; else all are looked
 * at, or a new one is found. */
static struct commit_basis *
recourse_find(struct recourse_work *w, struct commit_basis *at, const double *d)
{
	struct commit_basis **from = NULL, *found = NULL;

	for (size_t k = 0; at != NULL && k < RECOURSE_JUMPS; k++) {
		size_t broken = recourse_breaks(w, at, d);

		if (broken == SIZE_MAX)
			return at;
		from = &at->jump[broken];
		at = *from;
	}
	for (size_t k = 0; k < w->basis.n && found == NULL; k++)
		if (recourse_breaks(w, w->basis.v[k], d) == SIZE_MAX) {
			found = w->basis.v[k];
			if (k > 0) { /* those that fit often come to the front */
				w->basis.v[k] = w->basis.v[k - 1];
				w->basis.v[k - 1] = found;
			}
		}
	if (found == NULL) {
		for (size_t k = 0; k < w->r->n; k++)
			linear_rhs(&w->lp, k, d[k]);
		if (linear_solve(&w->lp) != LINEAR_SOLVED)
			w->r->failed = true;
		found = recourse_keep(w, d);
	}
	if (from != NULL)
		*from = found;
	return found;
}

static void
recourse_served(
    const struct recourse_work *w, const struct commit_basis *b, struct commit_tangent *t)
{
	const struct commit_recourse *r = w->r;

	for (size_t j = 0; j < r->n_servers; j++) {
		t->served[j] += b->weight * b->rest[j];
		t->most[j] = fmax(t->most[j], b->rest[j]);
	}
	for (size_t i = 0; i < w->rows; i++) {
		double sum = b->weight * b->at[i];

		if (b->var[i] >= r->n_servers)
			continue;
		for (uint32_t k = i == 0 ? 0 : b->end[i - 1]; k < b->end[i]; k++)
			sum += b->by[k] * b->demand[b->of[k]];
		t->served[b->var[i]] += sum;
		t->most[b->var[i]] = fmax(t->most[b->var[i]], b->most[i]);
	}
}

void
commit_recourse_at(struct commit_recourse *r, const double *x, struct commit_tangent *t)
{
	struct recourse_work w = { .r = r };
	struct commit_basis *b = NULL;

	arena_reset(r->scratch);
	recourse_start(&w, x);
	if (r->group != NULL)
		w.hint = arena_array(r->scratch, r->n_groups + 1, sizeof(struct commit_basis *));
	t->usd = 0;
	t->with_demand = 0;
	memset(t->slope, 0, r->n_columns * sizeof(*t->slope));
	memset(t->saves, 0, r->n_quotas * sizeof(*t->saves));
	for (size_t h = 0; h < r->n_atoms; h++) {
		const double *d = r->demand + h * r->n;

		b = recourse_find(
		    &w, w.hint != NULL && w.hint[r->group[h]] != NULL ? w.hint[r->group[h]] : b, d);
		if (w.hint != NULL)
			w.hint[r->group[h]] = b;
		if (t->each != NULL)
			t->each[h] = b->usd;
		for (size_t k = 0; k < r->n && t->each != NULL; k++)
			t->each[h] += b->price[k] * d[k];
		if (t->each_saves != NULL)
			memcpy(t->each_saves + h * r->n_quotas, b->saves,
			    r->n_quotas * sizeof(*b->saves));
		b->weight += r->weight[h];
		if (r->basis != NULL)
			r->basis[h] = b->number;
		for (size_t k = 0; k < r->n; k++)
			b->demand[k] += r->weight[h] * d[k];
		for (size_t i = 0; t->served != NULL && i < w.rows; i++)
			b->most[i] = fmax(b->most[i], recourse_basic(b, i, d));
	}
	if (t->served != NULL) {
		memset(t->served, 0, r->n_servers * sizeof(*t->served));
		memset(t->most, 0, r->n_servers * sizeof(*t->most));
	}
	for (size_t v = 0; v < w.basis.n; v++) {
		b = w.basis.v[v];
		t->usd += b->usd * b->weight;
		for (size_t k = 0; k < r->n; k++)
			t->with_demand += b->price[k] * b->demand[k];
		for (size_t c = 0; c < r->n_columns; c++)
			t->slope[c] += b->weight * b->slope[c];
		for (size_t q = 0; q < r->n_quotas; q++)
			t->saves[q] += b->weight * b->saves[q];
		if (t->served != NULL)
			recourse_served(&w, b, t);
	}
	t->usd += t->with_demand;
}
