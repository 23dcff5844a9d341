#include <math.h>
#include <string.h>

#include "plan/linear.h"
#include "util/arena.h"

#define LINEAR_EPS                                                                                 \
	1e-11 /* of a bound that is broken, and of a pivot, in parts of what it stands in */
#define LINEAR_PIVOT 1e-9
#define LINEAR_TIE 1e-13
#define LINEAR_ROUND 1e-15 /* of the largest part of a row, which its slack cannot be told to */
#define LINEAR_STALLS 30   /* pivots that move nothing, after which the lowest numbers go first */
#define LINEAR_PIVOTS_MAX 20000
#define LINEAR_REBUILD 1000 /* pivots after which the tableau is made anew */

/* Of numbers alone: fmax() looks for what is none, which takes a call. */
static inline double
linear_max(double x, double y)
{
	return x > y ? x : y;
}

static void
linear_grow(struct linear *l)
{
	size_t room = l->room == 0 ? 16 : 2 * l->room, n = l->n + l->m;
	double *lo = arena_array(l->arena, l->n + room, sizeof(*lo)),
	       *hi = arena_array(l->arena, l->n + room, sizeof(*hi));
	double **a = arena_array(l->arena, room, sizeof(*a)),
	       **t = arena_array(l->arena, room, sizeof(*t));
	double *b = arena_array(l->arena, room, sizeof(*b)),
	       *beta = arena_array(l->arena, room, sizeof(*beta));
	double *part = arena_array(l->arena, room, sizeof(*part));
	size_t *row = arena_array(l->arena, room, sizeof(*row));
	ptrdiff_t *where = arena_array(l->arena, l->n + room, sizeof(*where));

	if (l->lo != NULL) {
		memcpy(lo, l->lo, n * sizeof(*lo));
		memcpy(hi, l->hi, n * sizeof(*hi));
		memcpy(where, l->where, n * sizeof(*where));
	}
	if (l->m > 0) {
		memcpy(a, l->a, l->m * sizeof(*a));
		memcpy(t, l->t, l->m * sizeof(*t));
		memcpy(b, l->b, l->m * sizeof(*b));
		memcpy(beta, l->beta, l->m * sizeof(*beta));
		memcpy(part, l->part, l->m * sizeof(*part));
		memcpy(row, l->row, l->m * sizeof(*row));
	}
	l->lo = lo;
	l->hi = hi;
	l->a = a;
	l->t = t;
	l->b = b;
	l->beta = beta;
	l->part = part;
	l->row = row;
	l->where = where;
	l->room = room;
}

/* The basis of slacks alone. */
static void
linear_start(struct linear *l)
{
	for (size_t j = 0; j < l->n; j++) {
		l->col[j] = j;
		l->where[j] = (ptrdiff_t)j;
		l->d[j] = l->cost[j];
		l->at[j] = l->cost[j] < 0 ? l->hi[j] : l->lo[j];
	}
	for (size_t r = 0; r < l->m; r++) {
		l->row[r] = l->n + r;
		l->where[l->n + r] = -1 - (ptrdiff_t)r;
		memcpy(l->t[r], l->a[r], l->n * sizeof(**l->t));
		l->beta[r] = l->b[r];
		for (size_t j = 0; j < l->n; j++)
			l->beta[r] -= l->a[r][j] * l->at[j];
	}
	l->pivots = 0;
}

void
linear_init(struct linear *l, size_t n, const double *cost, const double *lo, const double *hi,
    struct arena *a)
{
	*l = (struct linear){ .arena = a, .n = n };
	linear_grow(l);
	l->cost = arena_array(a, n + 1, sizeof(*l->cost));
	l->d = arena_array(a, n + 1, sizeof(*l->d));
	l->at = arena_array(a, n + 1, sizeof(*l->at));
	l->sum = arena_array(a, n + 1, sizeof(*l->sum));
	l->col = arena_array(a, n + 1, sizeof(*l->col));
	for (size_t j = 0; j < n; j++) {
		l->cost[j] = cost[j];
		l->lo[j] = lo[j];
		l->hi[j] = hi[j];
		l->dearest = fmax(l->dearest, fabs(cost[j]));
	}
	linear_start(l);
}

size_t
linear_row(struct linear *l, const double *a, double b)
{
	size_t r = l->m;

	if (r == l->room)
		linear_grow(l);
	if (l->a[r] == NULL) { /* else of a row that was dropped */
		l->a[r] = arena_array(l->arena, l->n + 1, sizeof(**l->a));
		l->t[r] = arena_array(l->arena, l->n + 1, sizeof(**l->t));
	}
	memset(l->t[r], 0, l->n * sizeof(**l->t));
	memcpy(l->a[r], a, l->n * sizeof(*a));
	l->b[r] = b;
	l->beta[r] = b;
	l->part[r] = fabs(b);
	for (size_t k = 0; k < l->n; k++) {
		ptrdiff_t w = l->where[k];

		if (a[k] == 0)
			continue;
		l->part[r] =
		    linear_max(l->part[r], fabs(a[k]) * linear_max(fabs(l->lo[k]), fabs(l->hi[k])));
		if (w >= 0) {
			l->t[r][w] += a[k];
			l->beta[r] -= a[k] * l->at[w];
			continue;
		}
		for (size_t j = 0; j < l->n; j++)
			l->t[r][j] -= a[k] * l->t[-1 - w][j];
		l->beta[r] -= a[k] * l->beta[-1 - w];
	}
	l->lo[l->n + r] = 0;
	l->hi[l->n + r] = INFINITY;
	l->row[r] = l->n + r;
	l->where[l->n + r] = -1 - (ptrdiff_t)r;
	l->m++;
	return r;
}

static void
linear_shift(struct linear *l, size_t c, double by)
{
	l->at[c] += by;
	for (size_t r = 0; r < l->m; r++)
		l->beta[r] -= l->t[r][c] * by;
}

void
linear_bound(struct linear *l, size_t var, double lo, double hi)
{
	ptrdiff_t w = l->where[var];

	if (w >= 0) {
		bool top = l->at[w] == l->hi[var] && l->at[w] != l->lo[var];

		if (l->d[w] != 0)
			top = l->d[w] < 0;
		linear_shift(l, (size_t)w, (top ? hi : lo) - l->at[w]);
		l->at[w] = top ? hi : lo;
	}
	l->lo[var] = lo;
	l->hi[var] = hi;
}

void
linear_rhs(struct linear *l, size_t row, double b)
{
	double by = b - l->b[row];
	ptrdiff_t w = l->where[l->n + row];

	l->b[row] = b;
	if (w < 0) {
		l->beta[-1 - w] += by;
		return;
	}
	for (size_t r = 0; r < l->m; r++)
		l->beta[r] += l->t[r][w] * by;
}

/* What a variable's value may be off its bounds by. */
static double
linear_eps(const struct linear *l, size_t var, double value)
{
	double part = var >= l->n ? l->part[var - l->n] : 1;

	return LINEAR_EPS * ((part < 1 ? part : 1) + fabs(value)) + LINEAR_ROUND * part;
}

/* The row whose bound is broken most, or (low) that of the lowest variable whose bound is; m: none.
 * *to: the bound. */
static size_t
linear_leaves(const struct linear *l, bool low, double *to)
{
	size_t best = l->m;
	double most = 0;

	for (size_t r = 0; r < l->m; r++) {
		size_t v = l->row[r];
		double under = l->lo[v] - l->beta[r],
		       off = linear_max(under, l->beta[r] - l->hi[v]);

		if (off <= linear_eps(l, v, l->beta[r]) ||
		    (low ? best < l->m && v > l->row[best] : off <= most))
			continue;
		most = off;
		best = r;
		*to = under > 0 ? l->lo[v] : l->hi[v];
	}
	return best;
}

/* The column that may enter a row of the tableau at the least price, of equals that with the
 * largest pivot, or (low) the lowest; n: none. */
static size_t
linear_enters(const struct linear *l, const double *row, bool up, bool low)
{
	size_t best = l->n;
	double least = INFINITY, size = 0, scale = 0;

	for (size_t c = 0; c < l->n; c++)
		scale = linear_max(scale, fabs(row[c]));
	for (size_t c = 0; c < l->n; c++) {
		size_t v = l->col[c];
		double p = row[c], ratio, tie = LINEAR_TIE * least + 1e-17 * l->dearest;
		bool top = l->at[c] == l->hi[v];

		if (fabs(p) <= LINEAR_PIVOT * scale || l->lo[v] == l->hi[v] ||
		    (top ? !up : up) == (p > 0))
			continue;
		ratio = fabs(l->d[c] / p);
		if (isinf(least) || ratio < least - tie ||
		    (ratio <= least + tie && (low ? v < l->col[best] : fabs(p) > size))) {
			least = ratio;
			size = fabs(p);
			best = c;
		}
	}
	return best;
}

/* to -= f times row; four at a time, for speed. */
static void
linear_less(double *restrict to, const double *restrict row, double f, size_t n)
{
	size_t k = 0;

	for (; k + 4 <= n; k += 4) {
		to[k] -= f * row[k];
		to[k + 1] -= f * row[k + 1];
		to[k + 2] -= f * row[k + 2];
		to[k + 3] -= f * row[k + 3];
	}
	for (; k < n; k++)
		to[k] -= f * row[k];
}

static void
linear_pivot(struct linear *l, size_t r, size_t c, double to)
{
	double p = l->t[r][c], by = (l->beta[r] - to) / p, f;
	size_t in = l->col[c], out = l->row[r];

	for (size_t i = 0; i < l->m; i++)
		if (i != r)
			l->beta[i] -= l->t[i][c] * by;
	l->beta[r] = l->at[c] + by;
	l->at[c] = to;
	for (size_t k = 0; k < l->n; k++)
		l->t[r][k] /= p;
	l->t[r][c] = 1 / p;
	for (size_t i = 0; i < l->m; i++) {
		f = l->t[i][c];
		if (i == r || f == 0)
			continue;
		linear_less(l->t[i], l->t[r], f, l->n);
		l->t[i][c] = -f / p;
	}
	f = l->d[c];
	linear_less(l->d, l->t[r], f, l->n);
	l->d[c] = -f / p;
	l->col[c] = out;
	l->row[r] = in;
	l->where[in] = -1 - (ptrdiff_t)r;
	l->where[out] = (ptrdiff_t)c;
	l->pivots++;
	l->all_pivots++;
}

double
linear_value(const struct linear *l, size_t var)
{
	ptrdiff_t w = l->where[var];

	return w >= 0 ? l->at[w] : l->beta[-1 - w];
}

/* By how much the rows as they were given are off: drift of the tableau. l->sum: scratch. */
static double
linear_drift(const struct linear *l)
{
	double worst = 0;

	for (size_t k = 0; k < l->n; k++)
		l->sum[k] = linear_value(l, k);
	for (size_t r = 0; r < l->m; r++) {
		double s = linear_value(l, l->n + r) - l->b[r], scale = 1 + fabs(l->b[r]);

		for (size_t k = 0; k < l->n; k++) {
			double v = l->a[r][k] == 0 ? 0 : l->a[r][k] * l->sum[k];

			s += v;
			scale += fabs(v);
		}
		worst = linear_max(worst, fabs(s) / scale);
	}
	return worst;
}

/* min of sum x over the bounds, the sums as they are in l->sum. */
static double
linear_least(const struct linear *l)
{
	double least = 0;

	for (size_t j = 0; j < l->n; j++)
		least += l->sum[j] * (l->sum[j] > 0 ? l->lo[j] : l->hi[j]);
	return least;
}

/* Adds y times row r as it was given to l->sum; returns y (b - s), of the slack s where that is
 * most. */
static double
linear_add(const struct linear *l, size_t r, double y)
{
	if (y == 0)
		return 0;
	for (size_t j = 0; j < l->n; j++)
		l->sum[j] += y * l->a[r][j];
	return y * (l->b[r] - (y > 0 ? l->lo[l->n + r] : l->hi[l->n + r]));
}

/*
 * Does tableau row r show that nothing keeps the rows? It is a sum of those that were given; of one
 * sign alone such a sum holds for all x, whatever rounding did to the tableau (Farkas).
 */
static bool
linear_shown_empty(const struct linear *l, size_t r)
{
	for (int sign = -1; sign <= 1; sign += 2) {
		double b = 0, size = 0;

		memset(l->sum, 0, l->n * sizeof(*l->sum));
		for (size_t i = 0; i < l->m; i++) {
			ptrdiff_t w = l->where[l->n + i];
			double y = sign * (w >= 0                     ? l->t[r][w]
					      : l->row[r] == l->n + i ? 1
								      : 0),
			       part;

			if (y == 0 || (y < 0 && isinf(l->hi[l->n + i])))
				continue;
			part = linear_add(l, i, y);
			b += part;
			size += fmax(fabs(part), fabs(y) * l->part[i]);
		}
		if (linear_least(l) > b + LINEAR_ROUND * size + LINEAR_EPS * fabs(b))
			return true;
	}
	return false;
}

/* From the slacks, once in a call; false: that was done. */
static bool
linear_again(struct linear *l, bool *fresh)
{
	if (*fresh)
		return false;
	linear_start(l);
	*fresh = true;
	return true;
}

enum linear_end
linear_solve(struct linear *l)
{
	bool fresh = l->pivots == 0, any = false;
	size_t stalls = 0;

	if (l->pivots > LINEAR_REBUILD)
		linear_again(l, &fresh);
	for (size_t k = 0; k < LINEAR_PIVOTS_MAX; k++) {
		bool low = stalls > LINEAR_STALLS;
		double to = 0;
		size_t r = linear_leaves(l, low, &to), c;

		if (r == l->m) {
			if (!any || linear_drift(l) < 1e-11)
				return LINEAR_SOLVED;
			if (!linear_again(l, &fresh))
				return LINEAR_FAILED;
			continue;
		}
		c = linear_enters(l, l->t[r], l->beta[r] < to, low);
		if (c == l->n) {
			if (linear_shown_empty(l, r))
				return LINEAR_EMPTY;
			if (!linear_again(l, &fresh))
				return LINEAR_FAILED;
			continue;
		}
		stalls = fabs(l->d[c]) <= LINEAR_ROUND * l->dearest ? stalls + 1 : 0;
		any = true;
		linear_pivot(l, r, c, to);
	}
	linear_start(l);
	return LINEAR_FAILED;
}

double
linear_cost(const struct linear *l)
{
	double sum = 0;

	for (size_t j = 0; j < l->n; j++)
		sum += l->cost[j] * linear_value(l, j);
	return sum;
}

double
linear_price(const struct linear *l, size_t row)
{
	ptrdiff_t w = l->where[l->n + row];

	return w >= 0 ? fmax(0, l->d[w]) : 0;
}

/* The rows that stay get their new numbers in all that names them. */
static void
linear_renumber(struct linear *l, const size_t *now)
{
	for (size_t c = 0; c < l->n; c++)
		if (l->col[c] >= l->n)
			l->col[c] = l->n + now[l->col[c] - l->n];
	for (size_t r = 0; r < l->m; r++) {
		double *a = l->a[r];

		if (now[r] == SIZE_MAX || now[r] == r)
			continue;
		l->a[r] = l->a[now[r]]; /* kept for a row to come */
		l->a[now[r]] = a;
		l->b[now[r]] = l->b[r];
		l->part[now[r]] = l->part[r];
		l->lo[l->n + now[r]] = l->lo[l->n + r];
		l->hi[l->n + now[r]] = l->hi[l->n + r];
	}
}

void
linear_cut_back(struct linear *l, size_t rows)
{
	l->m = rows;
	linear_start(l);
}

void
linear_drop(struct linear *l, size_t first, size_t *now)
{
	size_t kept = 0, rows = 0;

	for (size_t r = 0; r < l->m; r++)
		now[r] = r >= first && l->where[l->n + r] < 0 ? SIZE_MAX : kept++;
	for (size_t r = 0; r < l->m; r++) {
		size_t v = l->row[r];
		double *t = l->t[r];

		if (v >= l->n && now[v - l->n] == SIZE_MAX)
			continue;
		l->t[r] = l->t[rows];
		l->t[rows] = t;
		l->beta[rows] = l->beta[r];
		l->row[rows++] = v >= l->n ? l->n + now[v - l->n] : v;
	}
	linear_renumber(l, now);
	l->m = kept;
	for (size_t r = 0; r < l->m; r++)
		l->where[l->row[r]] = -1 - (ptrdiff_t)r;
	for (size_t c = 0; c < l->n; c++)
		l->where[l->col[c]] = (ptrdiff_t)c;
}

double
linear_forced(const struct linear *l, size_t var, bool up)
{
	ptrdiff_t w = l->where[var];
	size_t r = (size_t)(-1 - w), c;
	double part;

	if (w >= 0)
		return 0;
	part = up ? ceil(l->beta[r]) - l->beta[r] : l->beta[r] - floor(l->beta[r]);
	c = linear_enters(l, l->t[r], up, false);
	return c == l->n ? INFINITY : fabs(l->d[c] / l->t[r][c]) * part;
}

void
linear_sum(const struct linear *l, const size_t *var, size_t n, double *row)
{
	memset(row, 0, l->n * sizeof(*row));
	for (size_t k = 0; k < n; k++) {
		ptrdiff_t w = l->where[var[k]];

		if (w >= 0)
			row[w]--;
		else
			linear_less(row, l->t[-1 - w], -1, l->n);
	}
}

double
linear_sum_forced(const struct linear *l, const double *row, double by)
{
	size_t c = linear_enters(l, row, by > 0, false);

	return c == l->n ? INFINITY : fabs(l->d[c] / row[c] * by);
}

double
linear_lower(const struct linear *l)
{
	double b = 0;

	memcpy(l->sum, l->cost, l->n * sizeof(*l->sum));
	for (size_t r = 0; r < l->m; r++) {
		ptrdiff_t w = l->where[l->n + r];

		if (w >= 0 && (l->d[w] > 0 || isfinite(l->hi[l->n + r])))
			b += linear_add(l, r, l->d[w]);
	}
	return linear_least(l) - b;
}
