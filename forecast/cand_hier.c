/* forecast/cand_hier.c - one linear map from the last day and the same day a week ago to the next
 * day, shared by all series of a run and bent to each series by its own history.  Floor: domain.
 *
 * Windows are centred on the mean of their last day and scaled by the series' mean daily change.
 * The map is a ridge regression over all series; then each series fits what is left over, with a
 * penalty towards the shared map. Few lags, chosen where hours tell of each other, do better than
 * all hours of a week: what is between them is noise to fit. All windows of a series shift by one
 * step, so their normal matrix follows from the first row of each block of neighbouring lags by
 * adding and dropping one product each: O(m (n + m)) instead of O(n m^2).
 */
#include "forecast/fc.h"

#include <math.h>
#include <string.h>

static const double hier_ridge_shared = 0.01; /* per window */

/* Lags 1 to a day and two steps, and, if far, those around the day to come a week ago. */
struct fc_hier *
fc_hier_new(struct arena *a, size_t day, bool logs, bool far)
{
	struct fc_hier *g = arena_alloc(a, sizeof(*g));

	g->day = day;
	g->logs = logs;
	g->near = day + 2;
	g->far = far ? day + 4 : 0;
	g->back = far ? 7 * day + 2 : day + 2;
	g->centre = day;
	g->in = g->far + g->near;
	g->out = day;
	for (int w = 0; w < 2; w++) {
		g->gram[w] = arena_array(a, (g->in + g->out) * (g->in + g->out), sizeof(double));
		g->map[w] = arena_array(a, g->in * g->out, sizeof(double));
	}
	return g;
}

static const double *
hier_in(const struct fc_hier *g, const struct fc_job *j)
{
	return g->logs ? j->logy : j->y;
}

static double
hier_diff(const struct fc_hier *g, const struct fc_job *j)
{
	return g->logs ? j->log_diff : j->diff;
}

/* y += a x */
static void
hier_sum(const double *restrict x, size_t n, double a, double *restrict y)
{
	for (size_t i = 0; i < n; i++)
		y[i] += a * x[i];
}

/* Place of term i (inputs, then outputs) in a window of back + out steps. */
static size_t
hier_place(const struct fc_hier *g, size_t i)
{
	return i < g->far ? i : g->back - g->near + i - g->far;
}

/* Products of the first term of each block of neighbours with all terms: what the rest follows
 * from. y is the first window. */
static void
hier_edges(const struct fc_hier *g, const double *y, size_t count, double *gram, double *column)
{
	size_t m = g->in + g->out, f = g->far, q = hier_place(g, f);

	memset(gram, 0, m * sizeof(*gram));
	memset(gram + f * m, 0, m * sizeof(*gram));
	memset(column, 0, f * sizeof(*column));
	for (size_t t = 0; t < count; t++) {
		hier_sum(y + t + q, m - f, y[t + q], gram + f * m + f);
		if (f > 0) {
			hier_sum(y + t, f, y[t], gram);
			hier_sum(y + t + q, m - f, y[t], gram + f);
			hier_sum(y + t, f, y[t + q], column);
		}
	}
	for (size_t i = 1; i < f; i++)
		gram[i * m + f] = column[i];
}

/* Normal matrix of the centred windows of y[0..n), upper triangle, into gram [m][m], m = in + out.
 * Returns the windows. */
static size_t
hier_gram(const struct fc_hier *g, const struct fc_job *j, size_t n, double *gram)
{
	size_t m = g->in + g->out, f = g->far, count = n - g->back - g->out + 1,
	       q = hier_place(g, f);
	double *p = arena_array(j->tmp, m, sizeof(*p)),
	       *column = arena_array(j->tmp, f + 1, sizeof(*column));
	double inv = 1 / hier_diff(g, j), sum = 0, cc = 0;
	double *y = arena_array(j->tmp, n, sizeof(*y)), mean = fc_mean(hier_in(g, j), n);

	/* Windows are centred, so the level is of no matter; without it nothing cancels in the sums
	 * below. */
	for (size_t i = 0; i < n; i++)
		y[i] = hier_in(g, j)[i] - mean;
	hier_edges(g, y, count, gram, column);
	for (size_t i = g->back - g->centre; i < g->back; i++)
		sum += y[i] / (double)g->centre;
	for (size_t t = 0; t < count; t++) {
		cc += sum * sum;
		hier_sum(y + t, f, sum, p);
		hier_sum(y + t + q, m - f, sum, p + f);
		if (t + 1 < count)
			sum += (y[t + g->back] - y[t + g->back - g->centre]) / (double)g->centre;
	}
	for (size_t i = 1; i < m; i++)
		for (size_t k = i; k < m && i != f; k++) {
			size_t a = hier_place(g, i), b = hier_place(g, k);

			if (k != f)
				gram[i * m + k] = gram[(i - 1) * m + k - 1] +
						  y[count - 1 + a] * y[count - 1 + b] -
						  y[a - 1] * y[b - 1];
		}
	for (size_t i = 0; i < m; i++)
		for (size_t k = i; k < m; k++)
			gram[i * m + k] = inv * inv * (gram[i * m + k] + cc - p[i] - p[k]);
	return count;
}

static bool
hier_fits(const struct fc_hier *g, const struct fc_job *j, size_t n)
{
	return j->day == g->day && hier_in(g, j) != NULL && hier_diff(g, j) > 0 &&
	       n >= g->back + g->out + 2 * g->day;
}

/* Weight of a series in the shared map: windows that swing far count less. */
static double
hier_weight(const struct fc_hier *g, const double *gram, size_t count)
{
	size_t m = g->in + g->out;
	double ms = 0;

	for (size_t i = 0; i < g->in; i++)
		ms += gram[i * m + i];
	ms /= (double)(g->in * count);
	return ms > 1 ? 1 / ms : 1;
}

void
fc_hier_add(struct fc_hier *g, const struct fc_job *j)
{
	size_t m = g->in + g->out;
	double *gram = arena_array(j->tmp, m * m, sizeof(*gram));

	for (int w = 0; w < 2; w++) {
		size_t n = w == 0 ? j->fit_n : j->n, count;
		double weight;

		if (!hier_fits(g, j, n))
			continue;
		count = hier_gram(g, j, n, gram);
		weight = hier_weight(g, gram, count);
		for (size_t i = 0; i < m * m; i++)
			g->gram[w][i] += weight * gram[i];
		g->windows[w] += (double)count;
	}
}

void
fc_hier_merge(struct fc_hier *g, const struct fc_hier *part)
{
	size_t m = g->in + g->out;

	for (int w = 0; w < 2; w++) {
		for (size_t i = 0; i < m * m; i++)
			g->gram[w][i] += part->gram[w][i];
		g->windows[w] += part->windows[w];
	}
}

/* Copies the normal matrix of the inputs (symmetric upper) plus ridge, and the cross products. */
static void
hier_split(
    const struct fc_hier *g, const double *gram, double scale, double ridge, double *xx, double *xy)
{
	size_t m = g->in + g->out;

	for (size_t i = 0; i < g->in; i++) {
		for (size_t k = i; k < g->in; k++)
			xx[i * g->in + k] = scale * gram[i * m + k];
		xx[i * g->in + i] += ridge;
		for (size_t k = 0; k < g->out; k++)
			xy[i * g->out + k] = scale * gram[i * m + g->in + k];
	}
}

void
fc_hier_solve(struct fc_hier *g, struct arena *a)
{
	double *xx = arena_array(a, g->in * g->in, sizeof(*xx));

	for (int w = 0; w < 2; w++) {
		hier_split(
		    g, g->gram[w], 1, hier_ridge_shared * g->windows[w] + 1e-9, xx, g->map[w]);
		g->ready[w] = g->windows[w] > 0 && fc_chol(xx, g->in);
		if (g->ready[w])
			fc_chol_solve(xx, g->in, g->map[w], g->out);
	}
}

/* The series' own map b + d, where d fits what the shared map b leaves with penalty r: (X'X + r) (b
 * + d) = X'Y + r b. */
static bool
hier_own(const struct fc_hier *g, const struct fc_job *j, int w, double *map)
{
	size_t m = g->in + g->out, n = w == 0 ? j->fit_n : j->n, count;
	double *gram = arena_array(j->tmp, m * m, sizeof(*gram)),
	       *xx = arena_array(j->tmp, g->in * g->in, sizeof(*xx));

	count = hier_gram(g, j, n, gram);
	hier_split(g, gram, hier_weight(g, gram, count), fc_tuning.hier_own, xx, map);
	for (size_t i = 0; i < g->in * g->out; i++)
		map[i] += fc_tuning.hier_own * g->map[w][i];
	if (!fc_chol(xx, g->in))
		return false;
	fc_chol_solve(xx, g->in, map, g->out);
	return true;
}

/* y [out] += the map of the centred inputs that stand in the window before y. */
static void
hier_apply(const struct fc_hier *g, const double *map, const double *x, double c, double *y)
{
	size_t i = 0;

	for (; i + 4 <= g->in; i += 4) {
		double s[4] = { c - x[hier_place(g, i)], c - x[hier_place(g, i + 1)],
			c - x[hier_place(g, i + 2)], c - x[hier_place(g, i + 3)] };

		fc_axpy4(y, map + i * g->out, g->out, s, g->out);
	}
	for (; i < g->in; i++)
		hier_sum(map + i * g->out, g->out, x[hier_place(g, i)] - c, y);
}

/* win: the last `back` values, with room for h + out more behind them; the map is applied again to
 * its own forecasts. */
static void
hier_predict(const struct fc_hier *g, const double *map, double *win, size_t h, double *out)
{
	size_t season = g->far > 0 ? 7 * g->day : g->day;

	for (size_t from = 0; from < h; from += g->out) {
		double *x = win + from, *y = x + g->back, c = 0;

		if (from >= 8 * g->day) {
			for (size_t i = 0; i < g->out && from + i < h; i++)
				y[i] = (y + i)[-(ptrdiff_t)season];
		} else {
			for (size_t i = g->back - g->centre; i < g->back; i++)
				c += x[i] / (double)g->centre;
			for (size_t k = 0; k < g->out; k++)
				y[k] = c;
			hier_apply(g, map, x, c, y);
		}
		for (size_t k = 0; k < g->out && from + k < h; k++)
			out[from + k] = y[k];
	}
}

void
fc_cand_hier(struct fc_job *j, const struct fc_hier *g)
{
	double *map, *win;
	struct fc_cand *c;

	if (!hier_fits(g, j, j->fit_n) || !g->ready[0] || !g->ready[1])
		return;
	map = arena_array(j->tmp, g->in * g->out, sizeof(*map));
	win = arena_array(j->tmp, g->back + j->h + j->hc + g->out, sizeof(*win));
	c = fc_cand_add(j, g->far > 0 ? g->logs ? "pooled regression of logs" : "pooled regression"
			   : g->logs  ? "pooled daily regression of logs"
				      : "pooled daily regression");
	if (!hier_own(g, j, 0, map)) {
		fc_cand_drop(j, j->n_cand - 1);
		return;
	}
	for (size_t k = 0; k < j->n_org; k++) {
		memcpy(win, hier_in(g, j) + j->org[k] - g->back, g->back * sizeof(*win));
		hier_predict(g, map, win, fc_seen(j, k), c->cv + k * j->hc);
	}
	if (!hier_own(g, j, 1, map)) {
		fc_cand_drop(j, j->n_cand - 1);
		return;
	}
	memcpy(win, hier_in(g, j) + j->n - g->back, g->back * sizeof(*win));
	hier_predict(g, map, win, j->h, c->fin);
	if (g->logs)
		fc_cand_exp(j, c);
}
