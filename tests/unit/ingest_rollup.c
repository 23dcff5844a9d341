/* Roll-up against a plain array with one entry a second. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ingest/rollup.h"
#include "tests/tap.h"

#define STEP 600
#define SPAN 20000	/* seconds of the array */
#define SOURCES 5

static uint64_t
next(uint64_t *s)
{
	*s ^= *s << 13;
	*s ^= *s >> 7;
	*s ^= *s << 17;
	return *s;
}

struct got {
	struct rollup_step steps[SPAN];
	size_t n;
};

static enum berth_code
keep_step(void *arg, const struct rollup_step *step, struct berth_err *err)
{
	struct got *g = arg;

	(void)err;
	g->steps[g->n++] = *step;
	return BERTH_OK;
}

static int
row_cmp(const void *a, const void *b)
{
	const struct usage_row *x = a, *y = b;

	return x->t == y->t ? 0 : x->t < y->t ? -1 : 1;
}

static void
test_sums(uint64_t seed, bool average)
{
	static double value[SPAN], peak[SPAN], highest[SPAN];
	static int active[SPAN];
	static struct usage_row rows[SPAN];
	static struct got g;
	struct rollup *r;
	struct berth_err err;
	size_t n = 0, k = 0, wrong = 0, began;

	memset(value, 0, sizeof(value));
	memset(peak, 0, sizeof(peak));
	memset(active, 0, sizeof(active));
	memset(highest, 0, sizeof(highest));
	g.n = 0;
	/* Each source is on and off for random stretches; values in quarters, so that sums are exact. */
	for (uint32_t s = 0; s < SOURCES; s++)
		for (int64_t t = (int64_t)(next(&seed) % 3000); t < SPAN;) {
			int64_t len = 1 + (int64_t)(next(&seed) % (next(&seed) % 4 == 0 ? 3000 : 200));
			struct usage_row row = { .source = s, .t = t, .end = t + len < SPAN ? t + len : SPAN,
				.value = (double)(next(&seed) % 64) / 4 };

			row.peak = row.value + (double)(next(&seed) % 3);
			for (int64_t i = row.t; i < row.end; i++) {
				value[i] += row.value;
				peak[i] += row.peak;
				active[i]++;
				highest[i] = row.peak > highest[i] ? row.peak : highest[i];
			}
			rows[n++] = row;
			t = row.end + (next(&seed) % 3 == 0 ? (int64_t)(next(&seed) % 2500) : 0);
		}
	qsort(rows, n, sizeof(*rows), row_cmp);
	tap_code(rollup_new(&r, &err), BERTH_OK, &err);
	rollup_begin(r, STEP, average, keep_step, &g);
	for (size_t i = 0; i < n; i++)
		if (rollup_add(r, &rows[i], &err) != BERTH_OK)
			tap_code(err.code, BERTH_OK, &err);
	tap_code(rollup_end(r, &err), BERTH_OK, &err);
	rollup_free(r);
	for (int64_t t = 0; t < SPAN; t += STEP) {
		double sum = 0, most = 0;
		int64_t covered = 0;

		began = 0;
		for (int64_t i = t; i < t + STEP && i < SPAN; i++)
			if (active[i] > 0) {
				double top = average ? highest[i] : peak[i];

				sum += average ? value[i] / active[i] : value[i];
				covered++;
				most = top > most ? top : most;
			}
		for (size_t i = 0; i < n; i++)
			began += rows[i].t >= t && rows[i].t < t + STEP;
		if (covered == 0)
			continue;
		wrong += k >= g.n || g.steps[k].t != t || g.steps[k].covered_s != covered ||
		    fabs(g.steps[k].mean - sum / (double)covered) > 1e-12 * sum || g.steps[k].peak != most ||
		    g.steps[k].rows != (int64_t)began;
		k++;
	}
	tap_ok(wrong == 0 && k == g.n, "%zu rows of %d sources, %s: %zu steps as the seconds say", n, SOURCES,
	    average ? "averaged" : "added up", k);
}

struct held {
	struct usage_row rows[5000];
	size_t n;
	int64_t interval_s;
};

static enum berth_code
keep_row(void *arg, const struct usage_row *row, int64_t interval_s, struct berth_err *err)
{
	struct held *h = arg;

	(void)err;
	h->rows[h->n++] = *row;
	h->interval_s = interval_s;
	return BERTH_OK;
}

/* t [n] become rows; the ends that come out must be those of want. */
static void
test_hold(const int64_t *t, const uint32_t *flags, const int64_t *want, size_t n, int64_t interval_s,
    int64_t hint_s, bool assumed, const char *what)
{
	static struct held got;
	struct berth_err err;
	struct hold *h;
	struct hold_ends ends;
	size_t wrong = 0, k = 0;

	got.n = 0;
	tap_code(hold_new(&h, &err), BERTH_OK, &err);
	hold_begin(h, &(struct hold_options){ .step_s = 3600, .given_s = interval_s, .hint_s = hint_s }, keep_row, &got);
	for (size_t i = 0; i < n; i++) {
		struct usage_row row = { .t = t[i], .flags = flags != NULL ? flags[i] : 0, .value = (double)i };

		if (hold_add(h, &row, &err) != BERTH_OK)
			tap_code(err.code, BERTH_OK, &err);
	}
	tap_code(hold_end(h, &ends, &err), BERTH_OK, &err);
	for (size_t i = 0; i < n; i++) {
		if (want[i] == 0)	/* gives no row */
			continue;
		wrong += k >= got.n || got.rows[k].t != t[i] || got.rows[k].end != want[i] || got.rows[k].value != (double)i ||
		    ((got.rows[k].flags & USAGE_ASSUMED) != 0) != assumed;
		k++;
	}
	tap_ok(wrong == 0 && k == got.n, "%s: %zu rows last as long as they should", what, k);
	for (size_t i = 0; wrong > 0 && i < got.n; i++)
		tap_diag("%lld .. %lld", (long long)got.rows[i].t, (long long)got.rows[i].end);
	hold_free(h);
}

/* Rows of one time: the highest value and the highest peak, in whatever order; equal ones are no conflict. */
static void
test_hold_conflicts(void)
{
	static const double value[] = { 4, 9, 9, 2 }, peak[] = { 8, 9, 9, 11 };
	static struct held got;
	struct hold_ends ends = { 0 };
	struct berth_err err;
	struct hold *h;

	got.n = 0;
	tap_code(hold_new(&h, &err), BERTH_OK, &err);
	hold_begin(h, &(struct hold_options){ .step_s = 3600, .given_s = 3600 }, keep_row, &got);
	for (int i = 0; i < 4; i++) {
		struct usage_row row = { .t = 7200, .flags = usage_line_flag(10 - i), .value = value[i], .peak = peak[i] };

		tap_code(hold_add(h, &row, &err), BERTH_OK, &err);
	}
	tap_code(hold_end(h, &ends, &err), BERTH_OK, &err);
	tap_ok(got.n == 1 && got.rows[0].value == 9 && got.rows[0].peak == 11, "the highest of four rows of one time counts");
	tap_ok(ends.dropped == 3, "three rows did not count");
	tap_ok(ends.conflicts == 2, "of which two had another value than what counted until then");
	tap_ok(ends.line == 9, "the first by its line is named");
	hold_free(h);
}

static void
test_holds(void)
{
	static const int64_t even[] = { 0, 300, 600, 900 }, even_end[] = { 300, 600, 900, 1200 };
	static const int64_t jitter[] = { 0, 302, 599, 901, 1500 }, jitter_end[] = { 302, 599, 901, 1203, 1802 };
	static const int64_t one[] = { 4000 }, one_end[] = { 7200 };
	static const int64_t sparse[] = { 0, 7200 }, sparse_end[] = { 3600, 10800 };
	static const int64_t odd[] = { 60, 7300, 20000 }, odd_end[] = { 3660, 10900, 23600 };
	static const int64_t days[] = { 0, 86400, 172800, 259200 }, days_end[] = { 86400, 172800, 259200, 345600 };
	static const int64_t holes[] = { 0, 3600, 14400, 18000, 28800 }, holes_end[] = { 3600, 7200, 18000, 21600, 32400 };
	static const int64_t twice[] = { 0, 3600, 3600, 7200 }, twice_end[] = { 3600, 0, 7200, 10800 };
	static const int64_t gap[] = { 0, 3600, 7200, 10800 }, gap_end[] = { 3600, 0, 10800, 14400 };
	static const uint32_t gap_flags[] = { 0, USAGE_GAP, 0, 0 };
	static const int64_t kept[] = { 0, 0, 3600, 3600, 7200 }, kept_end[] = { 0, 3600, 7200, 0, 10800 };
	static const uint32_t kept_flags[] = { USAGE_KEPT, 0, 0, USAGE_KEPT, 0 };
	static int64_t many[4000], many_end[4000];

	test_hold(even, NULL, even_end, 4, 0, 0, false, "every five minutes");
	test_hold(even, NULL, (const int64_t[]){ 300, 600 }, 2, 0, 0, true, "two rows five minutes apart are a guess");
	test_hold(even, NULL, (const int64_t[]){ 60, 360 }, 2, 0, 60, false, "but not where a minute is known");
	test_hold(jitter, NULL, jitter_end, 5, 0, 0, false, "about every five minutes, then one is missing");
	test_hold(one, NULL, one_end, 1, 0, 0, true, "a single row, to the end of its step");
	test_hold(one, NULL, (const int64_t[]){ 4060 }, 1, 60, 0, false, "a single row with an interval that is given");
	test_hold(one, NULL, (const int64_t[]){ 4300 }, 1, 0, 300, false, "or known");
	test_hold(sparse, NULL, sparse_end, 2, 0, 0, false, "two rows two hours apart say nothing of the hour between");
	test_hold(odd, NULL, odd_end, 3, 0, 0, true, "nor do rows off the grid");
	test_hold(days, NULL, days_end, 4, 0, 0, false, "plainly daily rows last a day");
	test_hold(holes, NULL, holes_end, 5, 0, 0, false, "holes stay holes");
	test_hold(twice, NULL, twice_end, 4, 0, 0, false, "of two rows at once the one that is higher counts");
	test_hold_conflicts();
	test_hold(gap, gap_flags, gap_end, 4, 0, 0, false, "a refused row is a hole");
	test_hold(kept, kept_flags, kept_end, 5, 0, 0, false, "new rows go before kept ones");
	for (int64_t i = 0; i < 4000; i++) {
		many[i] = i * 60;
		many_end[i] = (i + 1) * 60;
	}
	test_hold(many, NULL, many_end, 4000, 0, 0, false, "more rows than the median looks at");
}

int
main(void)
{
	for (uint64_t seed = 1; seed <= 20; seed++) {
		test_sums(seed * 0x9e3779b97f4a7c15ULL, false);
		test_sums(seed * 0x9e3779b97f4a7c15ULL, true);
	}
	test_holds();
	return tap_done();
}
