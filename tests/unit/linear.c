/* Small linear programs: each optimum proven from the rows as given, each empty one by the least by which rows must be broken. */
#include <math.h>
#include <string.h>

#include "plan/linear.h"
#include "tests/tap.h"
#include "util/arena.h"
#include "util/rng.h"

#define N 12
#define M 14
#define CASES 4000

enum { PLAIN, EQUAL, WHOLE, ILL, CHEAP, DEAR, TWICE, TINY, KINDS };

struct program {
	size_t n, m;
	double cost[N + 1], lo[N + 1], hi[N + 1], row[M][N + 1], b[M];	/* one variable more: see empty() */
};

static void
make_variable(struct program *p, size_t j, unsigned kind, struct rng *r)
{
	p->cost[j] = kind == EQUAL ? 1 : kind == WHOLE ? (double)rng_below(r, 3) - 1 : rng_unit(r) * 4 - 1;
	if (kind == ILL)
		p->cost[j] = pow(10, rng_unit(r) * 10 - 4) * (rng_below(r, 5) > 0 ? 1 : -1);
	p->cost[j] *= kind == CHEAP ? 1e-4 : kind == DEAR ? 1e6 : 1;
	p->lo[j] = rng_below(r, 4) == 0 ? (double)rng_below(r, 3) - 1 : 0;
	p->hi[j] = p->lo[j] + (kind == ILL || kind == DEAR ? floor(rng_unit(r) * 1e5) : (double)rng_below(r, 8));
}

static void
make_row(struct program *p, size_t i, unsigned kind, struct rng *r)
{
	double sum = 0;

	for (size_t j = 0; j < p->n; j++) {
		double *a = &p->row[i][j], part = kind == WHOLE || kind == TWICE ? 0.5 : 0.4;

		*a = rng_below(r, 2) == 0 ? 0 : kind == EQUAL || kind == WHOLE || kind == TWICE ? (double)rng_below(r, 3) - 1 :
		    rng_unit(r) * 4 - 2;
		*a *= kind == ILL ? pow(10, rng_unit(r) * 8 - 4) : 1;
		if (kind == DEAR && i == 0)
			*a = p->cost[j] * 8760;
		sum += *a * (p->lo[j] + part * (p->hi[j] - p->lo[j]));
	}
	p->b[i] = sum + (rng_below(r, 3) == 0 ? 0 : 0.1 * fabs(sum) * rng_unit(r));
	if (rng_below(r, 25) == 0)
		p->b[i] -= 1 + 0.2 * fabs(sum);
	if (kind == TWICE && i > 0 && rng_below(r, 3) == 0) {
		memcpy(p->row[i], p->row[i - 1], sizeof(p->row[i]));
		p->b[i] = p->b[i - 1];
	}
}

static void
make_program(struct program *p, unsigned k, struct rng *r)
{
	unsigned kind = k % KINDS;

	memset(p, 0, sizeof(*p));
	rng_seed(r, k);
	p->n = kind == TINY ? rng_below(r, 3) : 1 + rng_below(r, N);
	p->m = kind == TINY ? rng_below(r, 3) : rng_below(r, M);
	for (size_t j = 0; j < p->n; j++)
		make_variable(p, j, kind, r);
	for (size_t i = 0; i < p->m; i++)
		make_row(p, i, kind, r);
}

/* Row by row, with bounds and rows that move and come back in between. */
static enum linear_end
solve(const struct program *p, struct linear *l, struct rng *r, struct arena *a)
{
	linear_init(l, p->n, p->cost, p->lo, p->hi, a);
	for (size_t i = 0; i < p->m; i++) {
		size_t j = p->n > 0 ? rng_below(r, (unsigned)p->n) : 0;

		linear_row(l, p->row[i], p->b[i]);
		if (rng_below(r, 2) == 0)
			(void)linear_solve(l);
		if (p->n > 0 && rng_below(r, 5) == 0) {
			linear_bound(l, j, p->lo[j], p->lo[j] + floor((p->hi[j] - p->lo[j]) / 2));
			(void)linear_solve(l);
			linear_bound(l, j, p->lo[j], p->hi[j]);
		}
		if (rng_below(r, 6) == 0) {
			linear_rhs(l, i, p->b[i] - 0.5 - 0.1 * fabs(p->b[i]));
			(void)linear_solve(l);
			linear_rhs(l, i, p->b[i]);
		}
	}
	return linear_solve(l);
}

/* By how much bounds and rows are broken at most, in parts of the largest number of a row. */
static double
broken(const struct program *p, const struct linear *l)
{
	double worst = 0;

	for (size_t j = 0; j < p->n; j++) {
		double v = linear_value(l, j);

		worst = fmax(worst, fmax(p->lo[j] - v, v - p->hi[j]) / (1 + fabs(v)));
	}
	for (size_t i = 0; i < p->m; i++) {
		double s = -p->b[i], size = 1e-300 + fabs(p->b[i]);

		for (size_t j = 0; j < p->n; j++) {
			s += p->row[i][j] * linear_value(l, j);
			size = fmax(size, fabs(p->row[i][j]) * fmax(fabs(p->lo[j]), fabs(p->hi[j])));
		}
		worst = fmax(worst, s / size);
	}
	return worst;
}

/* min t, all rows broken by t of their size at most: no t near 0 does. */
static bool
empty(const struct program *p, struct arena *a)
{
	struct program q = *p;
	struct linear l;

	memset(q.cost, 0, sizeof(q.cost));
	q.cost[q.n] = 1;
	q.lo[q.n] = 0;
	q.hi[q.n] = 1e4;
	for (size_t i = 0; i < q.m; i++) {
		double size = 1e-300;

		for (size_t j = 0; j < q.n; j++)
			size = fmax(size, fabs(q.row[i][j]) * fmax(fabs(q.lo[j]), fabs(q.hi[j])));
		for (size_t j = 0; j < q.n; j++)
			q.row[i][j] /= fmax(size, fabs(q.b[i]));
		q.row[i][q.n] = -1;
		q.b[i] /= fmax(size, fabs(q.b[i]));
	}
	q.n++;
	linear_init(&l, q.n, q.cost, q.lo, q.hi, a);
	for (size_t i = 0; i < q.m; i++)
		linear_row(&l, q.row[i], q.b[i]);
	for (int k = 0; k < 2; k++)	/* the second begins anew */
		if (linear_solve(&l) == LINEAR_SOLVED)
			return linear_lower(&l) > 1e-12;
	return false;
}

static void
test_random(struct arena *a)
{
	int solved = 0, none = 0, failed = 0, off = 0, wide = 0;

	for (unsigned k = 0; k < CASES; k++) {
		struct program p;
		struct linear l;
		struct rng r;
		enum linear_end end;
		double size = 0;

		make_program(&p, k, &r);
		end = solve(&p, &l, &r, a);
		solved += end == LINEAR_SOLVED;
		none += end == LINEAR_EMPTY;
		failed += end == LINEAR_FAILED;
		if (end == LINEAR_EMPTY && !empty(&p, a)) {
			off++;
			tap_diag("program %u is not empty", k);
		}
		for (size_t j = 0; j < p.n; j++)
			size += fabs(p.cost[j] * linear_value(&l, j));
		if (end == LINEAR_SOLVED && (broken(&p, &l) > 1e-9 || linear_lower(&l) > linear_cost(&l) + 1e-9 * size)) {
			off++;
			tap_diag("program %u: rows are off by %g, cost %.15g, bound %.15g", k, broken(&p, &l), linear_cost(&l),
			    linear_lower(&l));
		}
		wide += end == LINEAR_SOLVED && linear_cost(&l) - linear_lower(&l) > 1e-9 * size;
		arena_reset(a);
	}
	tap_ok(solved > CASES * 8 / 10 && none > CASES / 20, "%d programs have an optimum, %d none", solved, none);
	tap_is_long(off, 0, "no optimum breaks a row or lies under its bound, no empty one has a point");
	tap_ok(failed + wide <= CASES / 500, "%d are not proven to 1e-9, and say so", failed + wide);
}

/* Sums of some of 12 variables are at least 1, all prices are equal: which variable goes first must not go round. */
static void
test_degenerate(struct arena *a)
{
	double cost[N], lo[N] = { 0 }, hi[N], row[N];
	struct linear l;
	enum linear_end end;

	for (size_t j = 0; j < N; j++) {
		cost[j] = 1;
		hi[j] = 1e5;
	}
	linear_init(&l, N, cost, lo, hi, a);
	for (unsigned s = 1; s <= 200; s++) {
		for (size_t j = 0; j < N; j++)
			row[j] = (s >> j % 8 & 1) != 0 ? -1 : 0;
		linear_row(&l, row, -1);
	}
	end = linear_solve(&l);
	tap_ok(end == LINEAR_SOLVED && fabs(linear_cost(&l) - 8) < 1e-9 && l.pivots < 500, "200 rows of equals: %zu pivots", l.pivots);
}

/* min x + 2 y with x + y >= 2, x <= 1.5 and later x <= 0.5, y <= 1. */
static void
test_changes(struct arena *a)
{
	const double cost[2] = { 1, 2 }, lo[2] = { 0, 0 }, hi[2] = { 1.5, 4 }, row[2] = { -1, -1 };
	struct linear l;

	linear_init(&l, 2, cost, lo, hi, a);
	linear_row(&l, row, -2);
	tap_ok(linear_solve(&l) == LINEAR_SOLVED && fabs(linear_cost(&l) - 2.5) < 1e-12, "a linear program");
	tap_ok(fabs(linear_lower(&l) - 2.5) < 1e-12, "its bound");
	tap_ok(fabs(linear_price(&l, 0) - 2) < 1e-12, "its price");
	linear_bound(&l, 0, 0, 0.5);
	tap_ok(linear_solve(&l) == LINEAR_SOLVED && fabs(linear_cost(&l) - 3.5) < 1e-12, "a bound that moves");
	linear_bound(&l, 1, 0, 1);
	tap_ok(linear_solve(&l) == LINEAR_EMPTY, "nothing keeps the row");
	linear_rhs(&l, 0, -1.25);
	tap_ok(linear_solve(&l) == LINEAR_SOLVED && fabs(linear_cost(&l) - 2) < 1e-12, "a row that moves");
}

int
main(void)
{
	struct arena *a = arena_new();

	test_changes(a);
	test_degenerate(a);
	test_random(a);
	arena_free(a);
	return tap_done();
}
