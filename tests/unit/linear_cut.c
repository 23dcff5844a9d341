/* Cuts of small programs that are whole in part: beside all whole numbers there are. */
#include <math.h>
#include <string.h>

#include "plan/linear_cut.h"
#include "tests/tap.h"
#include "util/arena.h"
#include "util/rng.h"

#define N 5	/* variables; the last is any number */
#define M 6
#define CASES 4000
#define ROUNDS 4

struct program {
	double cost[N], lo[N], hi[N], row[M + ROUNDS * N][N], b[M + ROUNDS * N], unit[M + ROUNDS * N];
	size_t m;
};

/* Some rows are of whole numbers alone, so that their slacks are multiples of 1 or 2; the last variable is what rows say at least. */
static void
make_program(struct program *p, struct rng *r)
{
	*p = (struct program){ .m = M };
	for (size_t j = 0; j < N; j++) {
		p->lo[j] = j < N - 1 && rng_below(r, 4) == 0 ? (double)rng_below(r, 3) - 1 : 0;
		p->hi[j] = p->lo[j] + (j < N - 1 ? 1 + (double)rng_below(r, 4) : 60);
		p->cost[j] = j < N - 1 ? rng_unit(r) * 4 - 1 : 1;
	}
	for (size_t i = 0; i < M; i++) {
		bool tangent = i < 3, even = rng_below(r, 2) == 0;
		double sum = 0;

		for (size_t j = 0; j < N - 1; j++) {
			double v = tangent ? -1 - 7 * rng_unit(r) : (double)rng_below(r, 6) * (even ? 2 : 1);

			p->row[i][j] = rng_below(r, 5) == 0 ? 0 : v;
			sum += p->row[i][j] * (0.3 * p->lo[j] + 0.7 * p->hi[j]);
		}
		p->row[i][N - 1] = tangent ? -1 : 0;
		p->b[i] = tangent ? -fabs(sum) * (0.6 + 0.6 * rng_unit(r)) : floor(fabs(sum) / 2) * 2;
		p->unit[i] = tangent ? 0 : even ? 2 : 1;
	}
}

/* By how much the rows from `first` on are broken at most by whole numbers, and what the last variable may be beside those, that keep
 * the rows before it; *least: the cost. */
static double
worst_off(const struct program *p, size_t first, double *x, size_t j, double *least)
{
	double worst = -INFINITY, lo = p->lo[N - 1], hi = p->hi[N - 1], cost = 0;

	if (j < N - 1) {
		for (x[j] = p->lo[j]; x[j] <= p->hi[j]; x[j]++)
			worst = fmax(worst, worst_off(p, first, x, j + 1, least));
		return worst;
	}
	for (size_t i = 0; i < first; i++) {
		double left = p->b[i];

		for (size_t k = 0; k < N - 1; k++)
			left -= p->row[i][k] * x[k];
		if (p->row[i][N - 1] == 0 && left < 0)
			return worst;
		if (p->row[i][N - 1] < 0)
			lo = fmax(lo, -left);
	}
	if (lo > hi)
		return worst;
	for (size_t k = 0; k < N; k++)
		cost += p->cost[k] * (k < N - 1 ? x[k] : lo);
	*least = fmin(*least, cost);
	for (int end = 0; end < 2; end++)
		for (size_t i = first; i < p->m; i++) {
			double off = p->row[i][N - 1] * (end == 0 ? lo : hi) - p->b[i];

			for (size_t k = 0; k < N - 1; k++)
				off += p->row[i][k] * x[k];
			worst = fmax(worst, off);
		}
	return worst;
}

/* Cuts of each variable and of sums of two that are not whole, into the program. */
static size_t
add_cuts(struct program *p, struct linear *l, struct arena *a)
{
	static const bool whole[N] = { true, true, true, true, false };
	double row[N], work[M + ROUNDS * N];
	struct linear_cut cut = { .a = arena_array(a, N, sizeof(double)) };
	size_t first = p->m;

	for (size_t j = 0; j + 1 < N; j++) {
		size_t var[2] = { j, (j + 1) % (N - 1) }, n = 1 + j % 2;
		double v = linear_value(l, var[0]) + (n > 1 ? linear_value(l, var[1]) : 0);

		if (fabs(v - round(v)) < 1e-6)
			continue;
		linear_sum(l, var, n, row);
		if (!linear_cut_round(l, row, whole, p->unit, work, &cut))
			continue;
		memcpy(p->row[p->m], cut.a, sizeof(cut.a[0]) * N);
		p->b[p->m] = cut.b;
		p->unit[p->m++] = 0;
	}
	for (size_t i = first; i < p->m; i++)
		linear_row(l, p->row[i], p->b[i]);
	return p->m - first;
}

int
main(void)
{
	struct arena *a = arena_new();
	struct rng r;
	int wrong = 0, above = 0, rose = 0, made = 0, closed = 0, open = 0, low = 0;

	rng_seed(&r, 11);
	for (int k = 0; k < CASES; k++) {
		struct program p;
		struct linear l;
		double x[N] = { 0 }, least = INFINITY, was, is;

		make_program(&p, &r);
		linear_init(&l, N, p.cost, p.lo, p.hi, a);
		for (size_t i = 0; i < M; i++)
			linear_row(&l, p.row[i], p.b[i]);
		if (linear_solve(&l) != LINEAR_SOLVED)
			continue;
		was = is = linear_lower(&l);
		for (int round = 0; round < ROUNDS && add_cuts(&p, &l, a) > 0 && linear_solve(&l) == LINEAR_SOLVED; round++) {
			low += linear_lower(&l) < is - 1e-9;
			is = linear_lower(&l);
		}
		wrong += worst_off(&p, M, x, 0, &least) > 1e-12;
		made += (int)(p.m - M);
		above += isfinite(least) && is > least + 1e-9;
		rose += is > was + 1e-6;
		open += isfinite(least) && least > was + 1e-6;
		closed += isfinite(least) && least > was + 1e-6 && is > least - 0.01 * (least - was);
		arena_reset(a);
	}
	tap_is_long(wrong, 0, "%d cuts keep all whole numbers that keep the rows", made);
	tap_is_long(above, 0, "none makes the bound more than the best of them costs");
	tap_is_long(low, 0, "nor less than it was");
	tap_ok(rose > CASES / 4, "%d of %d programs have a higher bound", rose, CASES);
	tap_ok(closed > open / 8, "of %d that are not whole %d have all of it", open, closed);
	arena_free(a);
	return tap_done();
}
