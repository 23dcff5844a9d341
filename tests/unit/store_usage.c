/* Jobs of other schedulers: what is stored against a plain list that is searched from end to end. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/usage_rows.h"
#include "tests/tap.h"
#include "tests/unit/store_tmp.h"
#include "util/rng.h"

#define KEYS 60
#define ROUNDS 40
#define BATCH 50

/* Key k is job k / 2, part k % 2; jobs of four hours. */
struct plain {
	bool there;
	struct usage_job row;
};

static char names[KEYS][32];

static void
key_of(int k, struct usage_job *r)
{
	snprintf(names[k], sizeof(names[k]), "c/%d%s", 1000 + k / 2, k / 2 % 2 == 0 ? "_[" : "");
	r->job = names[k];
	r->submit = T0 + (k / 2) % 4 * 3600 + k / 2 * 7;
	r->part = k % 2;
}

static struct usage_job
random_row(struct rng *r, int k)
{
	struct usage_job u = { .label = 1 + (int64_t)rng_below(r, 3), .state = (enum usage_state)rng_below(r, 3),
		.gpus = rng_below(r, 3) == 0 ? (double)(1 + rng_below(r, 7)) / 7 : (double)rng_below(r, 9) };

	key_of(k, &u);
	u.start = u.state == USAGE_WAITS ? 0 : u.submit + (int64_t)rng_below(r, 90) - 10;
	u.until = (u.start != 0 ? u.start : u.submit) + (int64_t)rng_below(r, 9000);
	return u;
}

static bool
plain_knows_less(const struct usage_job *row, const struct usage_job *old)
{
	return row->state < old->state || (row->state == old->state && row->state != USAGE_OVER && row->until < old->until);
}

/* The rules in their simplest form; both parts of a job come together or only the first. */
static void
plain_put(struct plain *p, const struct usage_job *rows, int n)
{
	for (int i = 0; i < n; i++) {
		for (int k = 0; k < KEYS; k++) {
			if (strcmp(names[k], rows[i].job) != 0 || k % 2 != rows[i].part)
				continue;
			if (!p[k].there || !plain_knows_less(&rows[i], &p[k].row))
				p[k].row = rows[i];
			p[k].there = true;
		}
	}
}

struct seen {
	const struct plain *plain;
	int n, wrong;
	double gpu_seconds;
};

static enum berth_code
look(void *arg, const struct usage_job *u, struct berth_err *err)
{
	struct seen *s = arg;
	bool found = false;

	(void)err;
	s->n++;
	for (int k = 0; k < KEYS; k++) {
		const struct usage_job *r = &s->plain[k].row;

		found = found || (s->plain[k].there && strcmp(r->job, u->job) == 0 && r->part == u->part && r->submit == u->submit &&
		    r->label == u->label && r->start == u->start && r->until == u->until && r->state == u->state &&
		    r->gpus == u->gpus);
	}
	s->wrong += !found;
	return BERTH_OK;
}

static void
compare(struct store *s, const struct plain *plain, int64_t from, int64_t to, const char *what)
{
	struct seen seen = { .plain = plain };
	struct berth_err err = { 0 };
	int want = 0;

	for (int k = 0; k < KEYS; k++) {
		const struct usage_job *r = &plain[k].row;
		int64_t first = r->start != 0 && r->start < r->submit ? r->start : r->submit;

		want += plain[k].there && first < to && r->until > from;
	}
	if (store_usage_each(s, from, to, look, &seen, &err) != BERTH_OK)
		tap_diag("%s", err.msg);
	tap_ok(seen.n == want && seen.wrong == 0, "%s: %d rows of %d, %d of them wrong", what, seen.n, want, seen.wrong);
}

static void
test_random(struct store *s, uint64_t seed)
{
	static struct plain plain[KEYS];
	struct berth_err err = { 0 };
	struct rng r;

	rng_seed(&r, seed);
	for (int k = 0; k < KEYS; k++)
		key_of(k, &plain[k].row);
	for (int round = 0; round < ROUNDS; round++) {
		struct usage_job rows[BATCH], copy[BATCH];
		struct put_counts c = { 0 };
		struct usage_span span = USAGE_SPAN_NONE;
		int n = 0;

		while (n + 2 <= BATCH) {
			int k = (int)rng_below(&r, KEYS / 2) * 2;

			rows[n] = random_row(&r, k);
			rows[n + 1] = random_row(&r, k + 1);
			rows[n + 1].state = rows[n].state;	/* parts of a job change together */
			rows[n + 1].start = rows[n].start;
			rows[n + 1].until = rows[n].until;
			n += 2;
		}
		memcpy(copy, rows, sizeof(rows));
		plain_put(plain, copy, n);
		if (store_usage_put(s, rows, (size_t)n, &c, &span, &err) != BERTH_OK)
			tap_diag("%s", err.msg);
		if (c.stored + c.duplicate + c.replaced != n / 2)	/* jobs, not parts */
			tap_ok(0, "round %d: %lld + %lld + %lld are not %d", round, (long long)c.stored, (long long)c.duplicate,
			    (long long)c.replaced, n / 2);
	}
	compare(s, plain, 0, T0 + 400000, "all");
	compare(s, plain, T0 + 3600, T0 + 7200, "an hour");
	compare(s, plain, T0 + 14000, T0 + 14001, "a second");
}

static enum berth_code
count_row(void *arg, const struct usage_job *row, struct berth_err *err)
{
	(void)err;
	*(long *)arg += strcmp(row->job, "9") == 0;
	return BERTH_OK;
}

static void
test_same(struct store *s)
{
	long parts = 0;
	struct usage_job row = { .submit = T0 - 7200, .job = "9", .label = 1, .start = T0 - 7000, .until = T0 - 6000,
		.state = USAGE_OVER, .gpus = 2 };
	struct usage_span span = USAGE_SPAN_NONE;
	struct put_counts c = { 0 };
	struct berth_err err = { 0 };
	struct usage_job two[2] = { row, row };

	tap_code(store_usage_put(s, &row, 1, &c, &span, &err), BERTH_OK, &err);
	tap_ok(c.stored == 1 && span.from == T0 - 7200 && span.to == T0 - 6000, "stored, and what changed is from submit to end");
	span = USAGE_SPAN_NONE;
	tap_code(store_usage_put(s, &row, 1, &c, &span, &err), BERTH_OK, &err);
	tap_ok(c.duplicate == 1 && span.from > span.to, "the same again changes nothing");
	two[1].part = 1;
	tap_code(store_usage_put(s, two, 2, &c, &span, &err), BERTH_OK, &err);
	row.gpus = 3;
	c = (struct put_counts){ 0 };
	tap_code(store_usage_put(s, &row, 1, &c, &span, &err), BERTH_OK, &err);
	tap_ok(c.replaced == 1, "a correction replaces");
	tap_code(store_usage_each(s, T0 - 7200, T0 - 6000, count_row, &parts, &err), BERTH_OK, &err);
	tap_is_long(parts, 1, "and the second part has gone with it");
	c = (struct put_counts){ 0 };
	tap_code(store_usage_put(s, two, 2, &c, &span, &err), BERTH_OK, &err);
	tap_ok(c.stored == 0 && c.replaced == 1, "a job of two parts is one that was replaced");
	tap_code(store_usage_remove(s, row.submit, "9", &err), BERTH_OK, &err);
	c = (struct put_counts){ 0 };
	tap_code(store_usage_put(s, two, 2, &c, &span, &err), BERTH_OK, &err);
	tap_is_long(c.stored, 1, "removed, both parts");
	tap_code(store_usage_remove(s, row.submit, "9", &err), BERTH_OK, &err);
}

static void
test_views(struct store *s)
{
	struct berth_err err = { 0 };
	bool added = false;
	int64_t a = 0, b = 0;

	tap_code(store_usage_view_put(s, "accelerator", 3600, &added, &err), BERTH_OK, &err);
	tap_ok(added, "new");
	tap_code(store_usage_view_put(s, "accelerator", 3600, &added, &err), BERTH_OK, &err);
	tap_ok(!added, "known");
	tap_code(store_usage_view_put(s, "accelerator", 900, &added, &err), BERTH_EINVAL, &err);
	tap_code(store_usage_view_put(s, "accelerator", 0, &added, &err), BERTH_OK, &err);
	tap_code(store_usage_label(s, "{\"a\":\"b\"}", &a, &err), BERTH_OK, &err);
	tap_code(store_usage_label(s, "{\"a\":\"b\"}", &b, &err), BERTH_OK, &err);
	tap_is_long(a, b, "a label set has one id");
}

int
main(int argc, char **argv)
{
	uint64_t seed = argc > 2 && strcmp(argv[1], "-s") == 0 ? strtoull(argv[2], NULL, 10) : 1;
	struct berth_err err = { 0 };
	struct store *s = NULL;

	tap_code(store_open(":memory:", STORE_CREATE, T0, &s, &err), BERTH_OK, &err);
	test_same(s);
	test_random(s, seed);
	test_views(s);
	store_close(s);
	return tap_done();
}
