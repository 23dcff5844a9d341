#include <stdlib.h>

#include "ingest/rollup.h"
#include "util/time.h"

#define HOLD_LOOK 1024 /* distances that make the median */

struct hold {
	struct hold_options o;
	int64_t interval_s; /* 0: not known yet */
	int64_t plain_s;
	bool assumed;
	hold_emit_fn *emit;
	void *arg;
	struct hold_ends ends;
	size_t n; /* rows that wait: for the median, then for their successor */
	struct usage_row wait[HOLD_LOOK + 1];
	int64_t gaps[HOLD_LOOK];
};

enum berth_code
hold_new(struct hold **h_out, struct berth_err *err)
{
	*h_out = calloc(1, sizeof(**h_out));
	return *h_out != NULL ? BERTH_OK : err_set(err, BERTH_ENOMEM, "out of memory");
}

void
hold_free(struct hold *h)
{
	free(h);
}

void
hold_begin(struct hold *h, const struct hold_options *o, hold_emit_fn *emit, void *arg)
{
	h->o = *o;
	h->interval_s = o->given_s;
	h->plain_s = 0;
	h->assumed = false;
	h->emit = emit;
	h->arg = arg;
	h->ends = (struct hold_ends){ 0 };
	h->n = 0;
}

static int
hold_gap_cmp(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return x == y ? 0 : x < y ? -1 : 1;
}

/* The interval that the rows that wait show; 0: it is not plain. *median_out 0: there is one row
 * only. */
static int64_t
hold_plain(struct hold *h, int64_t *median_out)
{
	size_t n = h->n - 1, equal = 0;
	bool grid = n > 0;

	*median_out = 0;
	if (n == 0)
		return 0;
	for (size_t i = 0; i < n; i++)
		h->gaps[i] = h->wait[i + 1].t - h->wait[i].t;
	qsort(h->gaps, n, sizeof(h->gaps[0]), hold_gap_cmp);
	*median_out = h->gaps[(n - 1) / 2];
	for (size_t i = 0; i < n; i++)
		equal += h->gaps[i] == *median_out;
	for (size_t i = 0; i <= n; i++)
		grid = grid && h->wait[i].t % h->o.step_s == 0;
	if (n >= 3 && (*median_out <= h->o.step_s || equal * 2 >= n))
		return *median_out;
	return grid ? h->o.step_s : 0;
}

static void
hold_decide(struct hold *h)
{
	int64_t median;

	h->plain_s = hold_plain(h, &median);
	h->interval_s = h->plain_s != 0 ? h->plain_s : h->o.hint_s;
	if (h->interval_s != 0)
		return;
	h->assumed = true;
	if (median == 0)
		h->interval_s = time_floor(h->wait[0].t, h->o.step_s) + h->o.step_s - h->wait[0].t;
	else
		h->interval_s = median < h->o.step_s ? median : h->o.step_s;
}

/* next 0: there is none. */
static enum berth_code
hold_give(struct hold *h, struct usage_row *r, int64_t next, struct berth_err *err)
{
	bool told = r->end != 0;

	if ((r->flags & USAGE_GAP) != 0)
		return BERTH_OK;
	if (!told)
		r->end = next != 0 && next - r->t < h->interval_s + (h->interval_s + 1) / 2
			     ? next
			     : r->t + h->interval_s;
	if (h->assumed && !told)
		r->flags |= USAGE_ASSUMED;
	return h->emit(h->arg, r, h->plain_s, err);
}

/* Two values of one time in one load: the higher counts, in whatever order they come. */
static void
hold_same(struct hold *h, struct usage_row *last, const struct usage_row *row)
{
	long line = usage_line(row->flags) > usage_line(last->flags) ? usage_line(row->flags)
								     : usage_line(last->flags);
	double peak = row->peak > last->peak ? row->peak : last->peak;

	h->ends.dropped++;
	if (row->value == last->value && row->peak == last->peak)
		return;
	h->ends.conflicts++;
	if (line > 0 && (h->ends.line == 0 || line < h->ends.line))
		h->ends.line = line;
	if (row->value > last->value)
		*last = *row;
	last->peak = peak;
}

enum berth_code
hold_add(struct hold *h, const struct usage_row *row, struct berth_err *err)
{
	struct usage_row *last = h->n > 0 ? &h->wait[h->n - 1] : NULL;
	enum berth_code rc = BERTH_OK;

	if (last != NULL && last->t == row->t) {
		/* What has a value goes before what has none, a new row before a kept one, a later
		 * row before an earlier. */
		if ((row->flags & USAGE_GAP) != 0 ||
		    ((row->flags & USAGE_KEPT) != 0 && (last->flags & USAGE_GAP) == 0))
			return BERTH_OK;
		if (((last->flags | row->flags) & (USAGE_KEPT | USAGE_GAP | USAGE_DERIVED)) == 0 &&
		    last->end == 0 && row->end == 0) {
			hold_same(h, last, row);
			return BERTH_OK;
		}
		h->ends.dropped += (last->flags & (USAGE_KEPT | USAGE_GAP | USAGE_DERIVED)) == 0;
		*last = *row;
		return BERTH_OK;
	}
	if (h->n == HOLD_LOOK + 1 && h->interval_s == 0)
		hold_decide(h);
	if (h->interval_s != 0) {
		for (size_t i = 0; rc == BERTH_OK && i < h->n; i++)
			rc = hold_give(
			    h, &h->wait[i], i + 1 < h->n ? h->wait[i + 1].t : row->t, err);
		h->n = 0;
	}
	h->wait[h->n++] = *row;
	return rc;
}

enum berth_code
hold_end(struct hold *h, struct hold_ends *out, struct berth_err *err)
{
	enum berth_code rc = BERTH_OK;

	if (h->n > 0 && h->interval_s == 0)
		hold_decide(h);
	for (size_t i = 0; rc == BERTH_OK && i < h->n; i++)
		rc = hold_give(h, &h->wait[i], i + 1 < h->n ? h->wait[i + 1].t : 0, err);
	h->n = 0;
	*out = h->ends;
	return rc;
}
