#include <stdlib.h>
#include <string.h>

#include "ingest/rollup.h"
#include "util/time.h"

#define ROLLUP_WINDOW_MAX ((size_t)200000) /* rows of one step that are handed on */

/* A row in force, in a heap by end. */
struct rollup_active {
	int64_t end;
	double value, peak;
	uint32_t flags, form;
};

struct rollup {
	int64_t step_s;
	bool average;
	rollup_emit_fn *emit;
	void *arg;
	int64_t now;                /* everything before is integrated */
	struct rollup_active *heap; /* [n_heap] */
	size_t n_heap, heap_cap;
	size_t fresh, assumed;         /* of those in the heap: rows of this load, assumed rows */
	long double total, total_peak; /* of those in the heap */
	struct rollup_step step;       /* the open one; t INT64_MIN: none */
	long double area;              /* of the open step */
	struct usage_row *window;      /* [n_window] */
	size_t n_window, window_cap;
	int64_t lost_until;      /* end of the last row that the window lacks */
	const uint32_t *form_of; /* [sources] */
	size_t n_forms;
	double *form_total, *form_area; /* [n_forms] of those in the heap; of the open step */
};

enum berth_code
rollup_new(struct rollup **r_out, struct berth_err *err)
{
	*r_out = calloc(1, sizeof(**r_out));
	return *r_out != NULL ? BERTH_OK : err_set(err, BERTH_ENOMEM, "out of memory");
}

void
rollup_free(struct rollup *r)
{
	if (r == NULL)
		return;
	free(r->heap);
	free(r->window);
	free(r->form_total);
	free(r->form_area);
	free(r);
}

enum berth_code
rollup_forms(struct rollup *r, const uint32_t *of_source, size_t n_forms, struct berth_err *err)
{
	free(r->form_total);
	free(r->form_area);
	r->form_total = calloc(n_forms + 1, sizeof(*r->form_total));
	r->form_area = calloc(n_forms + 1, sizeof(*r->form_area));
	r->form_of = of_source;
	r->n_forms = n_forms;
	return r->form_total != NULL && r->form_area != NULL
		   ? BERTH_OK
		   : err_set(err, BERTH_ENOMEM, "out of memory");
}

void
rollup_begin(struct rollup *r, int64_t step_s, bool average, rollup_emit_fn *emit, void *arg)
{
	r->step_s = step_s;
	r->average = average;
	r->emit = emit;
	r->arg = arg;
	r->n_heap = r->n_window = 0;
	r->fresh = r->assumed = 0;
	r->total = r->total_peak = 0;
	r->lost_until = INT64_MIN;
	r->step.t = INT64_MIN;
	for (size_t i = 0; i < r->n_forms; i++)
		r->form_total[i] = 0;
}

static void
rollup_open(struct rollup *r, int64_t t)
{
	r->step = (struct rollup_step){ .t = t, .form = r->form_area };
	r->area = 0;
	for (size_t i = 0; i < r->n_forms; i++)
		r->form_area[i] = 0;
	for (size_t i = 0; r->average && i < r->n_heap; i++)
		if (r->heap[i].end > t && r->heap[i].peak > r->step.peak)
			r->step.peak = r->heap[i].peak;
}

/* The open step is over. Rows that are still in force stay in the window for the next one. */
static enum berth_code
rollup_flush(struct rollup *r, struct berth_err *err)
{
	int64_t end = r->step.t + r->step_s;
	enum berth_code rc = BERTH_OK;
	size_t k = 0;

	if (r->step.covered_s > 0) {
		r->step.mean = (double)(r->area / (long double)r->step.covered_s);
		if (r->step.peak < r->step.mean) /* by the last bit of a rounding */
			r->step.peak = r->step.mean;
		r->step.window = r->lost_until <= r->step.t ? r->window : NULL;
		r->step.n_window = r->step.window != NULL ? r->n_window : 0;
		rc = r->emit(r->arg, &r->step, err);
	}
	for (size_t i = 0; i < r->n_window; i++)
		if (r->window[i].end > end)
			r->window[k++] = r->window[i];
	r->n_window = k;
	r->step.t = INT64_MIN;
	return rc;
}

/* Nothing changes in [now, to). */
static enum berth_code
rollup_pass(struct rollup *r, int64_t to, struct berth_err *err)
{
	enum berth_code rc = BERTH_OK;

	while (rc == BERTH_OK && r->n_heap > 0 && r->now < to) {
		int64_t end, until;

		if (r->step.t == INT64_MIN)
			rollup_open(r, time_floor(r->now, r->step_s));
		end = r->step.t + r->step_s;
		until = to < end ? to : end;
		r->area += (r->average ? r->total / (long double)r->n_heap : r->total) *
			   (long double)(until - r->now);
		for (size_t i = 0; i < r->n_forms; i++)
			r->form_area[i] += r->form_total[i] * (double)(until - r->now);
		r->step.covered_s += until - r->now;
		if (!r->average && (double)r->total_peak > r->step.peak)
			r->step.peak = (double)r->total_peak;
		r->step.touched = r->step.touched || r->fresh > 0;
		r->step.assumed = r->step.assumed || r->assumed > 0;
		r->now = until;
		if (until == end)
			rc = rollup_flush(r, err);
	}
	r->now = to;
	return rc;
}

static void
rollup_count(struct rollup *r, uint32_t flags, bool more)
{
	if ((flags & USAGE_KEPT) == 0)
		r->fresh = more ? r->fresh + 1 : r->fresh - 1;
	if ((flags & USAGE_ASSUMED) != 0)
		r->assumed = more ? r->assumed + 1 : r->assumed - 1;
}

static void
rollup_pop(struct rollup *r)
{
	struct rollup_active last = r->heap[--r->n_heap];
	size_t i = 0;

	rollup_count(r, r->heap[0].flags, false);
	if (r->n_forms > 0)
		r->form_total[r->heap[0].form] -= r->heap[0].value;
	r->total -= (long double)r->heap[0].value;
	r->total_peak -= (long double)r->heap[0].peak;
	if (r->n_heap == 0) {
		r->total = r->total_peak = 0; /* no rest of earlier roundings */
		for (size_t k = 0; k < r->n_forms; k++)
			r->form_total[k] = 0;
		return;
	}
	for (;;) {
		size_t child = 2 * i + 1;

		if (child >= r->n_heap)
			break;
		if (child + 1 < r->n_heap && r->heap[child + 1].end < r->heap[child].end)
			child++;
		if (r->heap[child].end >= last.end)
			break;
		r->heap[i] = r->heap[child];
		i = child;
	}
	r->heap[i] = last;
}

/* Room for one more item of size bytes behind n; NULL: out of memory, and what was there stays. */
static void *
rollup_room(void *v, size_t n, size_t *cap, size_t size)
{
	size_t want = *cap > 0 ? *cap * 2 : 64;
	void *p;

	if (n < *cap)
		return v;
	p = realloc(v, want * size);
	if (p != NULL)
		*cap = want;
	return p;
}

static enum berth_code
rollup_push(struct rollup *r, const struct usage_row *row, struct berth_err *err)
{
	struct rollup_active *heap = rollup_room(r->heap, r->n_heap, &r->heap_cap, sizeof(*heap));
	size_t i = r->n_heap;

	if (heap == NULL)
		return err_set(err, BERTH_ENOMEM, "out of memory for %zu rows at once", r->n_heap);
	r->heap = heap;
	r->n_heap++;
	while (i > 0 && heap[(i - 1) / 2].end > row->end) {
		heap[i] = heap[(i - 1) / 2];
		i = (i - 1) / 2;
	}
	heap[i] = (struct rollup_active){ row->end, row->value, row->peak, row->flags,
		r->n_forms > 0 ? r->form_of[row->source] : 0 };
	if (r->n_forms > 0)
		r->form_total[heap[i].form] += row->value;
	rollup_count(r, row->flags, true);
	r->total += (long double)row->value;
	r->total_peak += (long double)row->peak;
	if (r->average && row->peak > r->step.peak)
		r->step.peak = row->peak;
	return BERTH_OK;
}

static enum berth_code
rollup_remember(struct rollup *r, const struct usage_row *row, struct berth_err *err)
{
	struct usage_row *window;

	if (r->n_window == ROLLUP_WINDOW_MAX) {
		r->lost_until = row->end > r->lost_until ? row->end : r->lost_until;
		return BERTH_OK;
	}
	window = rollup_room(r->window, r->n_window, &r->window_cap, sizeof(*window));
	if (window == NULL)
		return err_set(
		    err, BERTH_ENOMEM, "out of memory for %zu rows of a step", r->n_window);
	r->window = window;
	window[r->n_window++] = *row;
	return BERTH_OK;
}

/* Rows that end by t leave, in the order of their ends. */
static enum berth_code
rollup_advance(struct rollup *r, int64_t t, struct berth_err *err)
{
	enum berth_code rc = BERTH_OK;

	while (rc == BERTH_OK && r->n_heap > 0 && r->heap[0].end <= t) {
		rc = rollup_pass(r, r->heap[0].end, err);
		rollup_pop(r);
	}
	return rc == BERTH_OK ? rollup_pass(r, t, err) : rc;
}

enum berth_code
rollup_add(struct rollup *r, const struct usage_row *row, struct berth_err *err)
{
	int64_t step = time_floor(row->t, r->step_s);
	bool whole =
	    (row->flags & USAGE_FLAGS) == 0 && row->t == step && row->end - row->t == r->step_s;
	enum berth_code rc = rollup_advance(r, row->t, err);

	if (rc == BERTH_OK && r->step.t != INT64_MIN && r->step.t != step)
		rc = rollup_flush(r, err); /* a step that ended in a gap */
	if (rc != BERTH_OK)
		return rc;
	if (r->step.t == INT64_MIN)
		rollup_open(r, step);
	if ((row->flags & (USAGE_KEPT | USAGE_DERIVED)) == 0 && r->step.rows++ == 0)
		r->step.line = usage_line(row->flags);
	/* Such a row fills its step: nobody will need the step's rows again. */
	if (whole)
		r->lost_until = row->end > r->lost_until ? row->end : r->lost_until;
	else
		rc = rollup_remember(r, row, err);
	return rc == BERTH_OK ? rollup_push(r, row, err) : rc;
}

enum berth_code
rollup_end(struct rollup *r, struct berth_err *err)
{
	enum berth_code rc = BERTH_OK;

	while (rc == BERTH_OK && r->n_heap > 0)
		rc = rollup_advance(r, r->heap[0].end, err);
	if (rc == BERTH_OK && r->step.t != INT64_MIN)
		rc = rollup_flush(r, err);
	return rc;
}
