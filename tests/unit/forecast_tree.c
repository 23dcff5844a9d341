/* Sums of series: they add up, and are what the textbook formula gives, worked out another way; joint paths keep dependence. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "forecast/tree.h"
#include "tests/tap.h"

enum { HOURS = 1600, AHEAD = 72, PATHS = 100, LEAVES = 4, SUMS = 3, NODES = LEAVES + SUMS };

static const int64_t start = 1704067200;
static double y[LEAVES][HOURS];
static const size_t all[] = { 0, 1, 2, 3 }, left[] = { 0, 1 }, right[] = { 2, 3 };
static const struct fc_sum sums[SUMS] = { { "total", all, 4 }, { "x=left", left, 2 }, { "x=right", right, 2 } };
static const struct fc_tree tree = { LEAVES, SUMS, sums };
static struct fc_result base[NODES], r[NODES];

static double
noise(int t, int k)
{
	return (double)(((t + 37 * k) * (7919 + 2 * k)) % 1009) / 1009 - 0.5;
}

static void
run(struct fc_result *out, bool errors, struct arena *a)
{
	static const char *const names[LEAVES] = { "a", "b", "c", "d" };
	struct fc_series in[NODES];
	struct fc_options o;
	struct berth_err err = { 0 };

	for (int i = 0; i < LEAVES; i++)
		in[i] = (struct fc_series){ names[i], start, 3600, HOURS, y[i], NULL };
	for (int k = 0; k < SUMS; k++)
		fc_tree_history(in, &sums[k], a, &in[LEAVES + k]);
	fc_options_init(&o);
	o.horizon = AHEAD;
	o.n_paths = PATHS;
	o.errors = errors;
	tap_code(fc_run_many(in, NODES, &o, a, out, &err), BERTH_OK, &err);
}

/* Worst gap between sums and their leaves, over all steps and paths and the mean. */
static double
gap(const struct fc_result *v)
{
	double worst = 0;

	for (int k = 0; k < SUMS; k++)
		for (size_t i = 0; i < AHEAD * (PATHS + 1); i++) {
			const double *p = i < AHEAD * PATHS ? v[LEAVES + k].paths + i : v[LEAVES + k].mean + (i - AHEAD * PATHS);
			double s = *p;

			for (size_t l = 0; l < sums[k].n; l++) {
				const struct fc_result *leaf = &v[sums[k].leaf[l]];

				s -= i < AHEAD * PATHS ? leaf->paths[i] : leaf->mean[i - AHEAD * PATHS];
			}
			worst = fmax(worst, fabs(s));
		}
	return worst;
}

/* Generalised least squares: the leaves b that make (x - S b)' W^-1 (x - S b) least, by Gauss-Jordan; w: variances. */
static void
least_squares(const double *x, const double *w, double *b)
{
	double m[LEAVES][LEAVES + 1] = { { 0 } };

	for (int node = 0; node < NODES; node++) {
		double row[LEAVES] = { 0 };

		for (int l = 0; l < LEAVES; l++)
			row[l] = node == l ? 1 : 0;
		for (size_t q = 0; node >= LEAVES && q < sums[node - LEAVES].n; q++)
			row[sums[node - LEAVES].leaf[q]] = 1;
		for (int i = 0; i < LEAVES; i++) {
			for (int k = 0; k < LEAVES; k++)
				m[i][k] += row[i] * row[k] / w[node];
			m[i][LEAVES] += row[i] * x[node] / w[node];
		}
	}
	for (int p = 0; p < LEAVES; p++)
		for (int i = 0; i < LEAVES; i++) {
			double f = i == p ? 0 : m[i][p] / m[p][p];

			for (int k = 0; k <= LEAVES; k++)
				m[i][k] -= f * m[p][k];
		}
	for (int i = 0; i < LEAVES; i++)
		b[i] = m[i][LEAVES] / m[i][i];
}

static void
fleet(void)
{
	for (int t = 0; t < HOURS; t++)
		for (int i = 0; i < LEAVES; i++)
			y[i][t] = fmax(0, 20 * (i + 1) + 6 * sin(t * 6.283185307179586 / 24 + i) + 10 * noise(t / (5 + i), i));
}

static void
structural(struct arena *a)
{
	const double w[NODES] = { 1, 1, 1, 1, 4, 2, 2 };
	double worst = 0, mean = 0, peak = 0;

	run(base, false, a);
	run(r, false, a);
	fc_tree_reconcile(&tree, FC_RECONCILE_STRUCTURAL, r);
	tap_near(gap(r), 0, 1e-9, "structural: sums are those of their leaves at every step, on every path and in the mean");
	tap_ok(gap(base) > 1, "they were not before (%.1f)", gap(base));
	for (size_t i = 0; i < AHEAD * PATHS; i++) {
		double x[NODES], b[LEAVES];

		for (int n = 0; n < NODES; n++)
			x[n] = base[n].paths[i];
		least_squares(x, w, b);
		for (int l = 0; l < LEAVES; l++)
			worst = fmax(worst, fabs(fmax(0, b[l]) - r[l].paths[i]));
	}
	tap_near(worst, 0, 1e-6, "paths are the weighted least squares of all nodes");
	for (size_t i = 0; i < AHEAD; i++) {
		double x[NODES], b[LEAVES];

		for (int n = 0; n < NODES; n++)
			x[n] = base[n].mean[i];
		least_squares(x, w, b);
		for (int l = 0; l < LEAVES; l++)
			mean = fmax(mean, fabs(.5 * (b[l] + base[l].mean[i]) - r[l].mean[i]));
	}
	tap_near(mean, 0, 1e-6, "means are halfway between that and the leaves alone");
	for (size_t k = 0; k < PATHS; k++) {
		double max = 0;

		for (size_t i = 0; i < AHEAD; i++)
			max = fmax(max, r[LEAVES].paths[k * AHEAD + i]);
		peak += max > r[LEAVES].peak[FC_PEAK90] ? 1 : 0;
	}
	tap_near(peak, 10, 1, "the total's peak is that of its paths");
	worst = 0;
	for (size_t n = 0; n < NODES; n++)
		for (size_t i = 0; i < AHEAD; i++)
			for (size_t l = 1; l < FC_LEVEL_COUNT; l++)
				worst = fmax(worst, r[n].q[i * FC_LEVEL_COUNT + l - 1] - r[n].q[i * FC_LEVEL_COUNT + l]);
	tap_ok(worst <= 0, "quantiles stay in order");
}

static void
others(struct arena *a)
{
	double worst = 0, mean = 0;

	run(r, true, a);
	tap_ok(r[0].n_origins > 20 && r[0].n_origins == r[NODES - 1].n_origins, "errors of the rolling origins are kept");
	fc_tree_reconcile(&tree, FC_RECONCILE_MINT, r);
	tap_near(gap(r), 0, 1e-9, "minimum trace: sums are those of their leaves");
	for (size_t i = 0; i < AHEAD; i++)
		mean = fmax(mean, fabs(r[LEAVES].mean[i] / base[LEAVES].mean[i] - 1));
	tap_ok(mean < .2, "and not far from what they were (%.3f)", mean);
	run(r, false, a);
	fc_tree_reconcile(&tree, FC_RECONCILE_UP, r);
	tap_near(gap(r), 0, 1e-9, "bottom-up adds up");
	for (int l = 0; l < LEAVES; l++)
		for (size_t i = 0; i < AHEAD * PATHS; i++)
			worst = fmax(worst, fabs(r[l].paths[i] - base[l].paths[i]));
	tap_near(worst, 0, 0, "and leaves the leaves alone");
	run(r, false, a);
	fc_tree_reconcile(&tree, FC_RECONCILE_NONE, r);
	tap_near(gap(r), gap(base), 0, "none changes nothing");
	for (size_t i = 0; i < AHEAD * PATHS; i++)
		r[0].paths[i] += 10;
	for (size_t i = 0; i < AHEAD; i++)
		r[0].mean[i] += 10;
	fc_tree_sum(&tree, r);
	tap_near(gap(r), 0, 1e-9, "sums follow leaves that were changed");
}

/* Errors that come together make the sum's peak higher than errors that do not. */
static void
dependence(struct arena *a)
{
	double together, apart, spread[2];

	for (int joint = 1; joint >= 0; joint--) {
		for (int t = 0; t < HOURS; t++)
			for (int i = 0; i < LEAVES; i++) {
				int day = t / 24;

				y[i][t] = 50 + 40 * noise(joint ? day : day * (2 * i + 1) + 100 * i, joint ? 0 : i);
			}
		run(r, false, a);
		fc_tree_reconcile(&tree, FC_RECONCILE_UP, r);
		spread[joint] = 0;
		for (size_t k = 0; k < PATHS; k++) {
			double d = r[LEAVES].paths[k * AHEAD + 40] - r[LEAVES].mean[40];

			spread[joint] += d * d / PATHS;
		}
	}
	together = sqrt(spread[1]);
	apart = sqrt(spread[0]);
	tap_ok(together > 1.5 * apart, "errors that came together spread the sum (%.1f) wider than those that did not (%.1f)", together,
	    apart);
	fleet();
}

static void
history(struct arena *a)
{
	double one[] = { 1, 2, NAN, 4, 5 }, two[] = { 10, 20, 30 }, peak[] = { 15, 20, 30 };
	struct fc_series in[2] = { { "a", start, 3600, 5, one, NULL }, { "b", start + 3 * 3600, 3600, 3, two, peak } }, out[2], sum;
	const size_t both[] = { 0, 1 };
	const struct fc_sum s = { "s", both, 2 };
	struct berth_err err = { 0 };

	tap_code(fc_tree_align(in, 2, a, out, &err), BERTH_OK, &err);
	tap_ok(out[0].n == 6 && out[1].n == 6 && out[1].t0 == start && isnan(out[0].mean[5]) && isnan(out[1].mean[2]),
	    "leaves share one grid");
	fc_tree_history(out, &s, a, &sum);
	tap_ok(sum.mean[0] == 1 && sum.mean[1] == 2, "a leaf that has not begun counts as nothing");
	tap_ok(isnan(sum.mean[2]) && isnan(sum.mean[5]), "a gap makes the sum unknown");
	tap_ok(sum.mean[3] == 14 && sum.peak[3] == 19 && sum.mean[4] == 25, "else it is the sum, of peaks too");
	in[1].step_s = 86400;
	tap_code(fc_tree_align(in, 2, a, out, &err), BERTH_EINVAL, &err);
}

/* A fleet with a leaf of zeros, and sums that say the same twice. */
static void
odd(struct arena *a)
{
	static const struct fc_sum twice[] = { { "total", all, 4 }, { "x=all", all, 4 }, { "x=a", all, 1 } };
	static const struct fc_tree t = { LEAVES, SUMS, twice };
	double low = 0;

	memset(y[0], 0, sizeof(y[0]));
	run(r, true, a);
	fc_tree_reconcile(&t, FC_RECONCILE_MINT, r);
	for (int n = 0; n < NODES; n++)
		for (size_t i = 0; i < AHEAD * PATHS; i++)
			low = isfinite(r[n].paths[i]) ? fmin(low, r[n].paths[i]) : -1;
	tap_near(low, 0, 0, "equal sums and a leaf of zeros: finite, never negative");
	for (size_t i = 0; i < AHEAD; i++)
		low = fmax(low, fabs(r[4].mean[i] - r[5].mean[i]));
	tap_near(low, 0, 1e-9, "equal sums are equal");
	fleet();
}

/* Caps of a sum and of a leaf: none is passed, all still adds up, and what lies below them is left alone. */
static void
capped(struct arena *a)
{
	double caps[NODES] = { NAN, NAN, NAN, 70, 190, 55, NAN }, over = 0, changed = 0, before;
	struct fc_result was[NODES];

	run(was, false, a);
	run(r, false, a);
	fc_tree_reconcile(&tree, FC_RECONCILE_STRUCTURAL, was);
	fc_tree_reconcile(&tree, FC_RECONCILE_STRUCTURAL, r);
	before = r[LEAVES].peak[FC_PEAK95];
	fc_tree_cap(&tree, caps, true, r);
	tap_ok(before > 190 && r[LEAVES].peak[FC_PEAK50] <= 190, "the total of %.0f is brought to %.0f", before, r[LEAVES].peak[FC_PEAK50]);
	tap_near(gap(r), 0, 1e-9, "with caps all adds up");
	for (int n = 0; n < NODES; n++)
		for (size_t i = 0; i < AHEAD && !isnan(caps[n]); i++) {
			over = fmax(over, r[n].mean[i] - caps[n]);
			over = fmax(over, r[n].q[i * FC_LEVEL_COUNT + FC_P99] - caps[n]);
			for (size_t k = 0; k < PATHS; k++)
				over = fmax(over, r[n].paths[k * AHEAD + i] - caps[n]);
		}
	tap_near(over, 0, 1e-9, "nothing passes a cap: paths, quantiles, mean");
	for (size_t i = 0; i < AHEAD * PATHS; i++) {
		double total = 0, group = was[0].paths[i] + was[1].paths[i];

		for (int l = 0; l < LEAVES; l++)
			total += fmin(was[l].paths[i], l == 3 ? 70 : INFINITY);
		if (total > 190 || group > 55 || was[3].paths[i] > 70)
			continue;
		for (int n = 0; n < NODES; n++)
			changed = fmax(changed, fabs(was[n].paths[i] - r[n].paths[i]));
	}
	tap_near(changed, 0, 1e-9, "a step of a path that passes none is as it was");
	for (int n = 0; n < NODES; n++)
		caps[n] = NAN;
	fc_tree_cap(&tree, caps, true, was);
	run(r, false, a);
	fc_tree_reconcile(&tree, FC_RECONCILE_STRUCTURAL, r);
	for (int n = 0; n < NODES; n++)
		changed = fmax(changed, fabs(was[n].peak[FC_PEAK95] - r[n].peak[FC_PEAK95]) + fabs(was[n].q[FC_P99] - r[n].q[FC_P99]));
	tap_near(changed, 0, 1e-9, "no cap changes nothing");
}

int
main(void)
{
	struct arena *a = arena_new();

	fleet();
	structural(a);
	others(a);
	dependence(a);
	history(a);
	odd(a);
	capped(a);
	arena_free(a);
	return tap_done();
}
