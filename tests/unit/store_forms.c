/* Forms of a series against an array that has one entry an hour. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "store/form_rows.h"
#include "store/series_rows.h"
#include "tests/tap.h"
#include "tests/unit/store_tmp.h"

#define STEP INT64_C(3600)
#define SLOTS 300
#define MIXES 3

static const char *const mixes[MIXES] = { "{\"A\":1.000000}", "{\"B\":1.000000}", "{\"A\":0.500000,\"B\":0.500000}" };
static int want[SLOTS];	/* the oracle: 0 nothing, else 1 + mix */
static double want_seconds[SLOTS];

static void
check(struct store *s, int64_t id, struct arena *a, const char *what)
{
	double seconds = 0, wanted = 0;
	struct form_run *run;
	struct berth_err err;
	size_t n, wrong = 0, split = 0;
	int got[SLOTS] = { 0 };

	tap_code(store_forms_list(s, id, 0, a, &run, &n, &err), BERTH_OK, &err);
	for (size_t i = 0; i < n; i++) {
		for (int64_t t = run[i].t; t < run[i].until; t += STEP)
			for (int m = 0; m < MIXES; m++)
				if (strcmp(run[i].mix, mixes[m]) == 0)
					got[(t - T0) / STEP] = m + 1;
		split += i > 0 && run[i - 1].until == run[i].t && strcmp(run[i - 1].mix, run[i].mix) == 0;
		seconds += run[i].unit_seconds;
	}
	for (size_t i = 0; i < SLOTS; i++) {
		wrong += got[i] != want[i];
		wanted += want_seconds[i];
	}
	tap_is_long((long long)wrong, 0, "%s: each hour has the mix that was put last", what);
	tap_is_long((long long)split, 0, "%s: neighbours of one mix are one run", what);
	tap_ok(fabs(seconds - wanted) <= 1e-6 * wanted + 1e-6, "%s: %.3f unit-seconds, %.3f by the hour", what, seconds, wanted);
}

/* Runs with gaps, of any length, one unit-second a second. */
static void
test_random(struct store *s)
{
	uint64_t seed = 7;
	struct arena *a = arena_new();
	struct berth_err err;
	int64_t id;

	tap_code(store_series_put(s, "forms", NULL, "gpu", STEP, &id, &err), BERTH_OK, &err);
	for (int k = 0; k < 120; k++) {
		struct form_run v[6];
		size_t n = 0, at = store_tmp_random(&seed) % (SLOTS - 60);
		char what[32];

		for (size_t parts = 1 + store_tmp_random(&seed) % 6; n < parts; n++) {
			size_t first = at + store_tmp_random(&seed) % 3, end = first + 1 + store_tmp_random(&seed) % 7;
			size_t mix = store_tmp_random(&seed) % MIXES;

			v[n] = (struct form_run){ T0 + (int64_t)first * STEP, T0 + (int64_t)end * STEP, mixes[mix], (double)(end - first) * STEP };
			for (size_t i = first; i < end; i++) {
				want[i] = 1 + (int)mix;
				want_seconds[i] = STEP;
			}
			at = end;
		}
		tap_code(store_forms_put(s, id, v, n, &err), BERTH_OK, &err);
		snprintf(what, sizeof(what), "put %d", k);
		if (k % 10 == 9)
			check(s, id, a, what);
		arena_reset(a);
	}
	arena_free(a);
}

static void
test_edges(struct store *s, const char *path)
{
	const struct form_run bad[] = { { T0, T0 + 2 * STEP, mixes[0], 1 }, { T0 + STEP, T0 + 3 * STEP, mixes[1], 1 } };
	const struct form_run one = { T0, T0 + 4 * STEP, mixes[0], 8 }, middle = { T0 + STEP, T0 + 2 * STEP, mixes[1], 5 };
	struct arena *a = arena_new();
	struct form_run *run;
	struct berth_err err;
	int64_t id;
	size_t n;

	tap_code(store_series_put(s, "edges", NULL, "gpu", STEP, &id, &err), BERTH_OK, &err);
	tap_code(store_forms_put(s, id, bad, 2, &err), BERTH_EINVAL, &err);
	tap_code(store_forms_put(s, id, NULL, 0, &err), BERTH_OK, &err);
	tap_code(store_forms_put(s, id, &one, 1, &err), BERTH_OK, &err);
	tap_code(store_forms_put(s, id, &middle, 1, &err), BERTH_OK, &err);
	tap_code(store_forms_list(s, id, T0 + 2 * STEP, a, &run, &n, &err), BERTH_OK, &err);
	tap_ok(n == 2 && run[0].unit_seconds == 2 && run[1].unit_seconds == 5, "a cut run keeps its part; later ones are left out");
	tap_code(store_series_delete(s, id, &err), BERTH_OK, &err);
	tap_is_long(store_tmp_number(path, "SELECT count(*) FROM series_form WHERE series_id NOT IN (SELECT id FROM series)"), 0,
	    "gone with the series");
	arena_free(a);
}

static void
test_mix(void)
{
	const char *const text[] = { "X", NULL, "", "{\"X\":0.250000,\"Y\":0.750000}", "Y" };
	const double amount[] = { 3, 100, 2, 4, 1 };
	struct form_share *share;
	struct arena *a = arena_new();
	const char *mix = formmix_text(a, text, amount, 5);
	size_t n;

	/* X 3 + 1, Y 3 + 1, "" 2, of 10 */
	tap_ok(strcmp(mix, "{\"\":0.200000,\"X\":0.400000,\"Y\":0.400000}") == 0, "the mix of forms and mixes: %s", mix);
	tap_ok(formmix_parse(a, mix, &share, &n) && n == 3 && share[1].share == 0.4 && strcmp(share[2].form, "Y") == 0, "read again");
	tap_ok(formmix_text(a, text + 1, amount + 1, 1) == NULL && formmix_text(a, text, (const double[]){ 0 }, 1) == NULL,
	    "of nothing there is none");
	tap_ok(!formmix_parse(a, "{\"X\"", &share, &n), "what is cut short is none");
	arena_free(a);
}

int
main(void)
{
	char path[1024];
	struct store *s;

	snprintf(path, sizeof(path), "%s", store_tmp_path("berth.db"));
	s = store_tmp_open(path);
	test_random(s);
	test_edges(s, path);
	test_mix();
	store_close(s);
	store_tmp_end();
	return tap_done();
}
