#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ingest/spool.h"
#include "util/fileio.h"

/* A sorted piece of the temporary file, and the part of it that is in memory. */
struct spool_run {
	int64_t at, left;      /* rows: the next to read, and how many */
	struct usage_row *buf; /* [cap] */
	size_t cap, n, i;
};

struct spool {
	const uint32_t *rank;
	struct usage_row *rows;  /* [max] */
	struct usage_row *spare; /* [max] the other half of a sort; later the runs' buffers */
	size_t max, n, i;
	int64_t count;
	FILE *f; /* runs, one behind the other */
	struct spool_run *runs;
	size_t n_runs;
	size_t *heap; /* runs by their first row */
	size_t n_heap;
};

enum berth_code
spool_new(size_t rows_max, const uint32_t *rank, struct spool **sp_out, struct berth_err *err)
{
	struct spool *sp = calloc(1, sizeof(*sp));

	if (sp != NULL) {
		sp->rank = rank;
		sp->max = rows_max;
		sp->rows = malloc(rows_max * sizeof(*sp->rows));
		sp->spare = malloc(rows_max * sizeof(*sp->spare));
	}
	if (sp == NULL || sp->rows == NULL || sp->spare == NULL) {
		spool_free(sp);
		return err_set(err, BERTH_ENOMEM, "out of memory for %zu rows", rows_max);
	}
	*sp_out = sp;
	return BERTH_OK;
}

void
spool_free(struct spool *sp)
{
	if (sp == NULL)
		return;
	if (sp->f != NULL)
		fclose(sp->f);
	free(sp->rows);
	free(sp->spare);
	free(sp->runs);
	free(sp->heap);
	free(sp);
}

int64_t
spool_count(const struct spool *sp)
{
	return sp->count;
}

static uint32_t
spool_rank(const struct spool *sp, const struct usage_row *r)
{
	return sp->rank != NULL ? sp->rank[r->source] : r->source;
}

static bool
spool_before(const struct spool *sp, const struct usage_row *a, const struct usage_row *b)
{
	uint32_t x = spool_rank(sp, a), y = spool_rank(sp, b);

	return x != y ? x < y : a->t < b->t;
}

/* Stable merge sort by t of v [n]; tmp [n]. Halves that are in order already are left alone. */
static void
spool_sort_times(struct usage_row *v, struct usage_row *tmp, size_t n)
{
	size_t half = n / 2, i = 0, j = half, k = 0;

	if (n < 2)
		return;
	spool_sort_times(v, tmp, half);
	spool_sort_times(v + half, tmp, n - half);
	if (v[half - 1].t <= v[half].t)
		return;
	memcpy(tmp, v, half * sizeof(*v));
	while (i < half && j < n)
		v[k++] = v[j].t < tmp[i].t ? v[j++] : tmp[i++];
	memcpy(v + k, tmp + i, (half - i) * sizeof(*v));
}

/* Counting sort by rank into the spare half, then each rank by time. */
static enum berth_code
spool_sort_rows(struct spool *sp, struct berth_err *err)
{
	struct usage_row *from = sp->rows, *to = sp->spare;
	size_t ranks = 0, *start;
	bool sorted = true;

	for (size_t i = 0; i < sp->n; i++) {
		uint32_t rank = spool_rank(sp, &from[i]);

		ranks = rank >= ranks ? rank + (size_t)1 : ranks;
		sorted = sorted && (i == 0 || !spool_before(sp, &from[i], &from[i - 1]));
	}
	if (sorted)
		return BERTH_OK;
	start = calloc(ranks + 1, sizeof(*start));
	if (start == NULL)
		return err_set(err, BERTH_ENOMEM, "out of memory for %zu series", ranks);
	for (size_t i = 0; i < sp->n; i++)
		start[spool_rank(sp, &from[i]) + 1]++;
	for (size_t r = 0; r < ranks; r++)
		start[r + 1] += start[r];
	for (size_t i = 0; i < sp->n; i++)
		to[start[spool_rank(sp, &from[i])]++] = from[i];
	for (size_t r = 0, at = 0; r < ranks;
	     at = start[r++]) /* start[r] is now the end of rank r */
		spool_sort_times(to + at, from, start[r] - at);
	free(start);
	sp->rows = to;
	sp->spare = from;
	return BERTH_OK;
}

static enum berth_code
spool_fail(struct berth_err *err)
{
	return err_sys(
	    err, BERTH_EIO, errno, "temporary file for sorting (TMPDIR names its folder)");
}

/* The rows in memory become a run of the temporary file. */
static enum berth_code
spool_spill(struct spool *sp, struct berth_err *err)
{
	struct spool_run *runs = realloc(sp->runs, (sp->n_runs + 1) * sizeof(*runs));
	enum berth_code rc;

	if (runs == NULL)
		return err_set(err, BERTH_ENOMEM, "out of memory");
	sp->runs = runs;
	if (sp->f == NULL && (sp->f = fileio_temporary()) == NULL)
		return spool_fail(err);
	rc = spool_sort_rows(sp, err);
	if (rc != BERTH_OK)
		return rc;
	if (fwrite(sp->rows, sizeof(*sp->rows), sp->n, sp->f) != sp->n)
		return spool_fail(err);
	runs[sp->n_runs++] =
	    (struct spool_run){ .at = sp->count - (int64_t)sp->n, .left = (int64_t)sp->n };
	sp->n = 0;
	return BERTH_OK;
}

enum berth_code
spool_add(struct spool *sp, const struct usage_row *row, struct berth_err *err)
{
	enum berth_code rc;

	if (sp->n == sp->max && (rc = spool_spill(sp, err)) != BERTH_OK)
		return rc;
	sp->rows[sp->n++] = *row;
	sp->count++;
	return BERTH_OK;
}

static enum berth_code
spool_run_fill(struct spool *sp, struct spool_run *run, struct berth_err *err)
{
	size_t want = run->left < (int64_t)run->cap ? (size_t)run->left : run->cap;

	run->n = run->i = 0;
	if (want == 0)
		return BERTH_OK;
	if (fseeko(sp->f, (off_t)(run->at * (int64_t)sizeof(*run->buf)), SEEK_SET) != 0 ||
	    fread(run->buf, sizeof(*run->buf), want, sp->f) != want)
		return spool_fail(err);
	run->n = want;
	run->at += (int64_t)want;
	run->left -= (int64_t)want;
	return BERTH_OK;
}

/* Earlier runs hold rows that were added earlier: they go first among equals. */
static bool
spool_run_before(const struct spool *sp, size_t a, size_t b)
{
	const struct usage_row *x = &sp->runs[a].buf[sp->runs[a].i],
			       *y = &sp->runs[b].buf[sp->runs[b].i];

	if (spool_before(sp, x, y))
		return true;
	return !spool_before(sp, y, x) && a < b;
}

static void
spool_sift(struct spool *sp, size_t i)
{
	for (;;) {
		size_t least = i, l = 2 * i + 1, r = l + 1, swap;

		if (l < sp->n_heap && spool_run_before(sp, sp->heap[l], sp->heap[least]))
			least = l;
		if (r < sp->n_heap && spool_run_before(sp, sp->heap[r], sp->heap[least]))
			least = r;
		if (least == i)
			return;
		swap = sp->heap[i];
		sp->heap[i] = sp->heap[least];
		sp->heap[least] = swap;
		i = least;
	}
}

enum berth_code
spool_sort(struct spool *sp, struct berth_err *err)
{
	enum berth_code rc;
	size_t share;

	if (sp->n_runs == 0)
		return spool_sort_rows(sp, err);
	rc = sp->n > 0 ? spool_spill(sp, err) : BERTH_OK;
	if (rc != BERTH_OK)
		return rc;
	sp->heap = calloc(sp->n_runs, sizeof(*sp->heap));
	if (sp->heap == NULL || sp->n_runs > sp->max)
		return err_set(err, BERTH_ENOMEM, "out of memory for %zu runs", sp->n_runs);
	share = sp->max / sp->n_runs;
	for (size_t i = 0; i < sp->n_runs; i++) {
		sp->runs[i].buf = sp->spare + i * share;
		sp->runs[i].cap = share;
		rc = spool_run_fill(sp, &sp->runs[i], err);
		if (rc != BERTH_OK)
			return rc;
		sp->heap[sp->n_heap++] = i;
	}
	for (size_t i = sp->n_heap / 2; i-- > 0;)
		spool_sift(sp, i);
	return BERTH_OK;
}

enum berth_code
spool_next(struct spool *sp, const struct usage_row **row_out, struct berth_err *err)
{
	struct spool_run *run;
	enum berth_code rc;

	*row_out = NULL;
	if (sp->n_runs == 0) {
		if (sp->i < sp->n)
			*row_out = &sp->rows[sp->i++];
		return BERTH_OK;
	}
	if (sp->n_heap == 0)
		return BERTH_OK;
	run = &sp->runs[sp->heap[0]];
	sp->rows[0] = run->buf[run->i++]; /* kept while the buffer is filled anew */
	*row_out = &sp->rows[0];
	if (run->i == run->n) {
		rc = spool_run_fill(sp, run, err);
		if (rc != BERTH_OK)
			return rc;
		if (run->n == 0)
			sp->heap[0] = sp->heap[--sp->n_heap];
	}
	spool_sift(sp, 0);
	return BERTH_OK;
}
