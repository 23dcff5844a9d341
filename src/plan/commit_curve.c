#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "plan/commit.h"
#include "plan/commit_impl.h"
#include "util/arena.h"

#define COMMIT_MAX_LEVELS ((double)(1 << 20))
#define COMMIT_ABSURD 50.0 /* times the 90 % quantile of the peaks */
#define COMMIT_ABSURD_PATHS 5

static int
commit_cmp_double(const void *x, const void *y)
{
	double a = *(const double *)x, b = *(const double *)y;

	return (a > b) - (a < b);
}

static enum berth_code
commit_check_demand(const struct commit_demand *d, struct berth_err *err)
{
	size_t n = d->n_paths * d->n_steps;

	if (d->n_paths == 0 || d->n_steps == 0)
		return err_set(
		    err, BERTH_EINVAL, "no demand: %zu paths of %zu steps", d->n_paths, d->n_steps);
	if (!(d->step_hours > 0) || !isfinite(d->step_hours))
		return err_set(err, BERTH_EINVAL, "a step of %g hours", d->step_hours);
	for (size_t i = 0; i < n; i++)
		if (!isfinite(d->gpus[i]) || d->gpus[i] < 0)
			return err_set(err, BERTH_EINVAL, "demand of %g GPUs in path %zu, step %zu",
			    d->gpus[i], i / d->n_steps + 1, i % d->n_steps + 1);
	for (size_t p = 0; d->weight != NULL && p < d->n_paths; p++)
		if (!isfinite(d->weight[p]) || d->weight[p] <= 0)
			return err_set(
			    err, BERTH_EINVAL, "path %zu has weight %g", p + 1, d->weight[p]);
	return BERTH_OK;
}

static double
commit_path_peak(const struct commit_demand *d, size_t path)
{
	const double *v = d->gpus + path * d->n_steps;
	double peak = 0;

	for (size_t t = 0; t < d->n_steps; t++)
		peak = v[t] > peak ? v[t] : peak;
	return peak;
}

double
commit_cap(const struct commit_demand *d, struct arena *a, size_t *cut_out)
{
	double *peak = arena_array(a, d->n_paths, sizeof(*peak)), bound, cap = 0;
	size_t cut = 0;

	for (size_t p = 0; p < d->n_paths; p++)
		peak[p] = commit_path_peak(d, p);
	qsort(peak, d->n_paths, sizeof(*peak), commit_cmp_double);
	bound = d->n_paths < COMMIT_ABSURD_PATHS || d->uncut
		    ? INFINITY
		    : COMMIT_ABSURD * peak[(size_t)ceil(0.9 * (double)d->n_paths) - 1];
	if (bound == 0) /* nearly every path is empty: the others are all there is */
		bound = INFINITY;
	for (size_t p = 0; p < d->n_paths; p++) {
		if (peak[p] <= bound)
			cap = fmax(cap, peak[p]);
		else
			cut++;
	}
	if (cut_out != NULL)
		*cut_out = cut;
	return cap;
}

size_t
commit_winsorise(double *gpus, size_t n_paths, size_t n_steps, struct arena *a)
{
	const struct commit_demand d = { .gpus = gpus, .n_paths = n_paths, .n_steps = n_steps };
	double cap;
	size_t cut = 0;

	if (n_paths == 0 || n_steps == 0)
		return 0;
	cap = commit_cap(&d, a, &cut);
	for (size_t i = 0; cut > 0 && i < n_paths * n_steps; i++)
		gpus[i] = fmin(gpus[i], cap);
	return cut;
}

/* Adds weight w of demand v to the sums that commit_finish() turns into use[]. */
static void
commit_add(double *above, double *part, double v, double w)
{
	double whole = floor(v);

	above[(size_t)whole] += w;
	part[(size_t)whole] += w * (v - whole);
}

/* above [levels + 1] weight of demand in [l, l + 1), part its fractions: use[l] = E clip(D - l, 0,
 * 1). */
static void
commit_finish(const double *above, const double *part, struct commit_curve *c)
{
	double total = 0, higher = 0;

	for (size_t l = 0; l <= c->levels; l++)
		total += above[l];
	for (size_t l = c->levels; l > 0; l--) {
		higher += above[l];
		c->use[l - 1] = fmin(1, (higher + part[l - 1]) / total);
	}
	c->mean = 0;
	for (size_t l = c->levels; l > 0; l--)
		c->mean += c->use[l - 1];
}

enum berth_code
commit_curve_scaled(const struct commit_demand *d, double scale, struct arena *a,
    struct commit_curve *curve_out, size_t *cut_out, struct berth_err *err)
{
	double *above, *part, cap;
	enum berth_code rc = commit_check_demand(d, err);

	if (rc != BERTH_OK)
		return rc;
	cap = commit_cap(d, a, cut_out) * scale;
	if (cap > COMMIT_MAX_LEVELS)
		return err_set(err, BERTH_EINVAL,
		    "a peak of %.0f GPUs is more than the %.0f that a plan can hold: are its "
		    "numbers right?",
		    ceil(cap), (double)COMMIT_MAX_LEVELS);
	curve_out->levels = (size_t)ceil(cap);
	curve_out->peak = cap;
	curve_out->hours = d->step_hours * (double)d->n_steps;
	curve_out->use = arena_array(a, curve_out->levels + 1, sizeof(double));
	above = arena_array(a, curve_out->levels + 1, sizeof(double));
	part = arena_array(a, curve_out->levels + 1, sizeof(double));
	for (size_t p = 0; p < d->n_paths; p++) {
		const double *v = d->gpus + p * d->n_steps;
		double w = d->weight == NULL ? 1 : d->weight[p];

		for (size_t t = 0; t < d->n_steps; t++)
			commit_add(above, part, v[t] * scale < cap ? v[t] * scale : cap, w);
	}
	commit_finish(above, part, curve_out);
	return BERTH_OK;
}

enum berth_code
commit_curve_build(const struct commit_demand *d, struct arena *a, struct commit_curve *curve_out,
    size_t *cut_out, struct berth_err *err)
{
	return commit_curve_scaled(d, 1, a, curve_out, cut_out, err);
}

enum berth_code
commit_curve_merged(const double *value, const double *weight, size_t n, double hours,
    struct arena *a, struct commit_curve *curve_out, struct berth_err *err)
{
	double *above, *part, peak = 0;

	if (n == 0 || !(hours > 0) || !isfinite(hours))
		return err_set(err, BERTH_EINVAL, "no demand: %zu values over %g hours", n, hours);
	for (size_t i = 0; i < n; i++) {
		if (!isfinite(value[i]) || value[i] < 0 || value[i] > COMMIT_MAX_LEVELS)
			return err_set(
			    err, BERTH_EINVAL, "value %zu: demand of %g GPUs", i + 1, value[i]);
		if (!isfinite(weight[i]) || weight[i] <= 0)
			return err_set(err, BERTH_EINVAL, "value %zu: weight %g", i + 1, weight[i]);
		peak = fmax(peak, value[i]);
	}
	curve_out->levels = (size_t)ceil(peak);
	curve_out->peak = peak;
	curve_out->hours = hours;
	curve_out->use = arena_array(a, curve_out->levels + 1, sizeof(double));
	above = arena_array(a, curve_out->levels + 1, sizeof(double));
	part = arena_array(a, curve_out->levels + 1, sizeof(double));
	for (size_t i = 0; i < n; i++)
		commit_add(above, part, value[i], weight[i]);
	commit_finish(above, part, curve_out);
	return BERTH_OK;
}

struct commit_pair {
	double value, weight;
};

static int
commit_cmp_pair(const void *x, const void *y)
{
	return commit_cmp_double(
	    &((const struct commit_pair *)x)->value, &((const struct commit_pair *)y)->value);
}

/* Least value whose share of the weight, with all below it, is at least q. Sorts v. */
static double
commit_quantile(struct commit_pair *v, size_t n, double q)
{
	double total = 0, sum = 0;

	for (size_t i = 0; i < n; i++)
		total += v[i].weight;
	qsort(v, n, sizeof(*v), commit_cmp_pair);
	for (size_t i = 0; i < n; i++) {
		sum += v[i].weight;
		if (sum >= q * total * (1 - 1e-12))
			return v[i].value;
	}
	return v[n - 1].value;
}

void
commit_quantiles(const struct commit_demand *d, const double *value, const double *q, size_t n_q,
    struct arena *a, double *out)
{
	struct commit_pair *v = arena_array(a, d->n_paths, sizeof(*v));

	for (size_t p = 0; p < d->n_paths; p++)
		v[p] = (struct commit_pair){ value[p], d->weight == NULL ? 1 : d->weight[p] };
	for (size_t i = 0; i < n_q; i++)
		out[i] = commit_quantile(v, d->n_paths, q[i]);
}

double *
commit_peaks(const struct commit_demand *d, struct arena *a)
{
	double *peak = arena_array(a, d->n_paths, sizeof(*peak)), cap = commit_cap(d, a, NULL);

	for (size_t p = 0; p < d->n_paths; p++)
		peak[p] = fmin(cap, commit_path_peak(d, p));
	return peak;
}

enum berth_code
commit_peak(const struct commit_demand *d, double q, struct arena *a, double *gpus_out,
    bool *enough_out, struct berth_err *err)
{
	enum berth_code rc = commit_check_demand(d, err);

	if (rc != BERTH_OK)
		return rc;
	if (!(q > 0 && q < 1))
		return err_set(err, BERTH_EINVAL, "service level %g is not between 0 and 1", q);
	commit_quantiles(d, commit_peaks(d, a), &q, 1, a, gpus_out);
	*enough_out = 1 - pow(q, (double)d->n_paths) >= 0.95;
	return BERTH_OK;
}

double
commit_spot_usage(double price, double useful, double obtain, double on_demand)
{
	return obtain * price / useful + (1 - obtain) * on_demand;
}
