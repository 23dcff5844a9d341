/* The spool against qsort with a sequence number: sorted, stable, in memory and through runs on disk. */
#include <stdio.h>
#include <stdlib.h>

#include "ingest/spool.h"
#include "tests/tap.h"

struct tagged {
	struct usage_row row;
	size_t seq;
};

static const uint32_t *tagged_rank;

static int
tagged_cmp(const void *a, const void *b)
{
	const struct tagged *x = a, *y = b;
	uint32_t p = tagged_rank != NULL ? tagged_rank[x->row.source] : x->row.source;
	uint32_t q = tagged_rank != NULL ? tagged_rank[y->row.source] : y->row.source;

	if (p != q)
		return p < q ? -1 : 1;
	if (x->row.t != y->row.t)
		return x->row.t < y->row.t ? -1 : 1;
	return x->seq < y->seq ? -1 : 1;
}

static uint64_t
next(uint64_t *s)
{
	*s ^= *s << 13;
	*s ^= *s >> 7;
	*s ^= *s << 17;
	return *s;
}

/* value carries the sequence number, so that order among equals is seen. */
static void
test_order(size_t n, size_t max, uint32_t sources, int64_t times, const uint32_t *rank, const char *what)
{
	struct tagged *want = calloc(n, sizeof(*want));
	uint64_t rng = 0x9e3779b97f4a7c15ULL + n;
	const struct usage_row *row;
	struct berth_err err;
	struct spool *sp;
	size_t wrong = 0, got = 0;

	tap_code(spool_new(max, rank, &sp, &err), BERTH_OK, &err);
	for (size_t i = 0; i < n; i++) {
		want[i].seq = i;
		want[i].row = (struct usage_row){ .source = (uint32_t)(next(&rng) % sources),
			.t = times > 0 ? (int64_t)(next(&rng) % (uint64_t)times) : (int64_t)i, .value = (double)i };
		if (spool_add(sp, &want[i].row, &err) != BERTH_OK)
			tap_code(err.code, BERTH_OK, &err);
	}
	tap_is_long(spool_count(sp), (long long)n, "%s: counted", what);
	tagged_rank = rank;
	qsort(want, n, sizeof(*want), tagged_cmp);
	tap_code(spool_sort(sp, &err), BERTH_OK, &err);
	while (spool_next(sp, &row, &err) == BERTH_OK && row != NULL) {
		wrong += got >= n || row->value != want[got].row.value || row->t != want[got].row.t;
		got++;
	}
	tap_ok(got == n && wrong == 0, "%s: %zu rows come in order, %zu wrong", what, got, wrong);
	tap_ok(spool_next(sp, &row, &err) == BERTH_OK && row == NULL, "%s: and no more", what);
	spool_free(sp);
	free(want);
}

static void
test_no_tmp(void)
{
	struct usage_row row = { .source = 0 };
	struct berth_err err;
	struct spool *sp;
	enum berth_code rc = BERTH_OK;

	setenv("TMPDIR", "/nonexistent-folder", 1);
	tap_code(spool_new(4, NULL, &sp, &err), BERTH_OK, &err);
	for (int i = 0; i < 5 && rc == BERTH_OK; i++)
		rc = spool_add(sp, &row, &err);
	tap_code(rc, BERTH_EIO, &err);
	spool_free(sp);
}

int
main(void)
{
	static const uint32_t rank[] = { 2, 0, 0, 1, 2, 3, 3 };

	test_order(0, 10, 1, 10, NULL, "nothing");
	test_order(1, 10, 1, 10, NULL, "one row");
	test_order(5000, 10000, 7, 200, NULL, "in memory");
	test_order(5000, 10000, 1, 0, NULL, "sorted already");
	test_order(5000, 10000, 7, 200, rank, "by rank");
	test_order(10, 10, 3, 5, NULL, "just full");
	test_order(11, 10, 3, 5, NULL, "one more than full");
	test_order(100000, 1000, 7, 5000, NULL, "a hundred runs");
	test_order(99999, 1000, 7, 50, rank, "a hundred runs by rank, with many equals");
	test_no_tmp();
	return tap_done();
}
