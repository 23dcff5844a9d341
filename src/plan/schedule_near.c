#include <math.h>
#include <string.h>

#include "plan/schedule_rules.h"
#include "util/arena.h"

#define RULES_MOVES 60000 /* stretches looked at by moves of single purchases */
#define NEAR_ROUND 0.8    /* of what is no gain: tangents are rounded */

/* Is there something on demand for a member's peak in a stretch that keeps its rows, which have b
 * left? */
static bool
near_peak(struct rules *s, const size_t *row, const double *b, size_t n)
{
	size_t member = s->row.v[row[0]].member, t = s->row.v[row[0]].stretch, m = 0;
	struct arena *a = arena_new();
	double *zero = arena_array(a, s->peak.n + 1, sizeof(*zero)),
	       *hi = arena_array(a, s->peak.n + 1, sizeof(*hi));
	double *of = arena_array(a, s->peak.n + 1, sizeof(*of));
	size_t *var = arena_array(a, s->peak.n + 1, sizeof(*var));
	struct linear lp;
	bool kept;

	for (size_t k = 0; k < s->peak.n; k++) {
		if (s->peak.v[k].member != member)
			continue;
		var[m] = s->n_offers + t * s->peak.n + k;
		hi[m] = s->lp.hi[var[m]];
		m++;
	}
	linear_init(&lp, m, zero, zero, hi, a);
	for (size_t r = 0; r < n; r++) {
		for (size_t k = 0; k < m; k++)
			of[k] = s->lp.a[row[r]][var[k]];
		linear_row(&lp, of, b[r]);
	}
	kept = linear_solve(&lp) == LINEAR_SOLVED;
	arena_free(a);
	return kept;
}

bool
rules_keep(struct rules *s, const double *x)
{
	size_t group[64], n = 0;
	double left[64];

	for (size_t r = 0; r < s->rows; r++) {
		const struct rules_row *is = &s->row.v[r];
		double b = s->lp.b[r], room = RULES_ROOM * (1 + fabs(b)), help = 0;

		for (size_t j = 0; j < s->n_offers; j++)
			b -= s->lp.a[r][j] * x[j];
		for (size_t k = 0; k < s->peak.n && is->member < s->n; k++) {
			size_t var = s->n_offers + is->stretch * s->peak.n + k;

			help += s->lp.a[r][var] < 0 ? -s->lp.a[r][var] * s->lp.hi[var] : 0;
		}
		if (b + help < -room)
			return false;
		if (n > 0 && (is->member != s->row.v[group[0]].member ||
				 is->stretch != s->row.v[group[0]].stretch)) {
			if (!near_peak(s, group, left, n))
				return false;
			n = 0;
		}
		if (is->member == s->n || n == sizeof(group) / sizeof(*group))
			continue;
		group[n] = r;
		left[n++] = b + room;
	}
	return n == 0 || near_peak(s, group, left, n);
}

/* What the rows leave beside the best purchases, with all that can be on demand; the cost of each
 * stretch [stretches], and its tangent there [stretches][n_columns], of one purchase more. */
struct near_all {
	double *x, *left, *usd, *slope;
};

/* What one more in each column changes the hours of a stretch by: a tangent of the last rules_at(),
 * into slope [n_columns]. */
static void
near_slope(const struct rules *s, double *slope, size_t t)
{
	double hours = 0, guides = 0;

	for (size_t k = 0; k < s->n_pieces; k++) {
		guides += s->piece[k].guide ? s->piece_usd[k] : 0;
		hours += s->piece[k].member == s->n ? s->piece_usd[k] : 0;
	}
	for (size_t c = 0; c < s->n_columns; c++) {
		slope[c] = s->n_hours > 0 && hours >= guides ? s->at.slope[c] * s->hours[t] : 0;
		for (size_t k = 0; k < s->n_pieces; k++)
			if (rules_serves(s, &s->piece[k], c) &&
			    (!s->piece[k].guide || hours < guides))
				slope[c] += s->piece_slope[k] * s->column[c].gpus;
	}
}

static void
near_all(struct rules *s, struct near_all *m)
{
	for (size_t r = 0; r < s->rows; r++) {
		m->left[r] = s->lp.b[r] + RULES_ROOM * (1 + fabs(s->lp.b[r]));
		for (size_t j = 0; j < s->first_usd; j++)
			m->left[r] -= s->lp.a[r][j] * (j < s->n_offers        ? s->best[j]
							  : s->lp.a[r][j] < 0 ? s->lp.hi[j]
									      : 0);
	}
	for (size_t t = 0; t < s->stretches; t++) {
		m->usd[t] = rules_at(s, t, s->best);
		near_slope(s, m->slope + t * s->n_columns, t);
	}
}

/* What a move adds to a stretch at least. */
static double
near_rise(const struct rules *s, size_t t, size_t j, double dj, size_t k, double dk,
    const struct near_all *m)
{
	const double *slope = m->slope + t * s->n_columns;

	return (rules_runs(s, j, t) ? dj * slope[s->offer[j].column] : 0) +
	       (rules_runs(s, k, t) ? dk * slope[s->offer[k].column] : 0);
}

/* Cost of the best purchases with dj more of j and dk more of k; INFINITY where tangents, of the
 * stretches that are not looked at yet, or rows say that it is of no use. */
static double
near_moved(struct rules *s, size_t j, double dj, size_t k, double dk, const struct near_all *m)
{
	double sum = s->best_usd + dj * s->lp.cost[j] + dk * s->lp.cost[k], *x = m->x,
	       most = s->best_usd - NEAR_ROUND * RULES_PROVEN * fabs(s->best_usd);

	for (size_t t = 0; t < s->stretches; t++)
		sum += near_rise(s, t, j, dj, k, dk, m);
	if (sum > most)
		return INFINITY;
	memcpy(x, s->best, s->n_offers * sizeof(*x));
	x[j] += dj;
	x[k] += dk;
	if (x[j] < 0 || x[k] < 0 || x[j] > s->most[j] || x[k] > s->most[k])
		return INFINITY;
	for (size_t r = 0; r < s->rows; r++)
		if (dj * s->lp.a[r][j] + dk * s->lp.a[r][k] > m->left[r])
			return INFINITY;
	for (size_t t = 0; t < s->stretches && sum <= most; t++)
		if (rules_runs(s, j, t) || rules_runs(s, k, t)) {
			s->moves += fmax(1, (double)s->r[t].n_atoms / 100);
			sum += rules_at(s, t, x) - m->usd[t] - near_rise(s, t, j, dj, k, dk, m);
		}
	return sum <= most ? sum : INFINITY;
}

/* May two purchases change places? They begin together, or are of one line of one member. */
static bool
near_pair(const struct rules *s, size_t j, size_t k)
{
	return s->offer[j].from == s->offer[k].from || s->offer[j].column == s->offer[k].column;
}

void
rules_polish(struct rules *s)
{
	static const double by[4][2] = { { 1, -1 }, { -1, 1 }, { 1, 1 }, { -1, -1 } };
	struct near_all m = { arena_array(s->a, s->n_offers + 1, sizeof(double)),
		arena_array(s->a, s->rows + 1, sizeof(double)),
		arena_array(s->a, s->stretches, sizeof(double)),
		arena_array(s->a, s->stretches * s->n_columns + 1, sizeof(double)) };
	bool better = isfinite(s->best_usd) && s->best_usd != s->polished;

	while (better && s->moves < RULES_MOVES) {
		better = false;
		near_all(s, &m);
		for (size_t j = 0; j < s->n_offers && !better; j++)
			for (size_t k = j; k < s->n_offers && !better; k++)
				for (int way = 0; way < 4 && !better && s->moves < RULES_MOVES &&
						  near_pair(s, j, k);
				     way++) {
					double half = k == j ? 2 : 1;

					if (k == j && way < 2)
						continue;
					better = rules_better(s, near_moved(s, j, by[way][0] / half,
								     k, by[way][1] / half, &m)) &&
						 rules_try(s, m.x);
				}
	}
	if (!better && isfinite(s->best_usd))
		s->polished = s->best_usd;
}
