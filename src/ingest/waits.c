#include "ingest/waits.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define WAITS_STARTED UINT32_C(0x80000000)

/* One job's waiting. */
struct waits_job {
	int64_t submit;
	uint32_t until; /* s behind the window's start */
	uint32_t label; /* with WAITS_STARTED */
};

struct waits {
	int64_t step_s, from, to;
	struct waits_job *job; /* [n] */
	size_t n, cap;
};

/* One series while the sweep passes. */
struct waits_group {
	double submits; /* sum of those that wait, s behind the window's start */
	int64_t waiting;
	uint32_t *queue; /* [head, tail) of cap: jobs in the order of submission; the first waits,
			    others may not */
	size_t head, tail, cap;
	uint32_t *wait; /* [n_wait] within waits_sweep's: of those that started in the step */
	size_t n_wait;
};

struct waits_sweep {
	struct waits *w;
	const struct waits_label *labels;
	struct waits_group *groups; /* [n_groups] */
	size_t n_groups;
	uint32_t *wait; /* room for those of one step */
	size_t wait_cap;
	waits_emit_fn *emit;
	void *arg;
};

enum berth_code
waits_new(int64_t step_s, int64_t from, int64_t to, struct waits **w_out, struct berth_err *err)
{
	struct waits *w = calloc(1, sizeof(*w));

	if (w == NULL)
		return err_set(err, BERTH_ENOMEM, "waits: out of memory");
	w->step_s = step_s;
	w->from = from;
	w->to = to;
	*w_out = w;
	return BERTH_OK;
}

void
waits_free(struct waits *w)
{
	if (w != NULL)
		free(w->job);
	free(w);
}

enum berth_code
waits_add(struct waits *w, uint32_t label, int64_t submit, int64_t until, bool started,
    struct berth_err *err)
{
	struct waits_job *j;

	if (submit > until)
		submit = until;
	if (until < w->from || submit >= w->to)
		return BERTH_OK;
	if (until >= w->to) {
		until = w->to;
		started = false;
	}
	if (w->n == w->cap) {
		size_t cap = w->cap == 0 ? 1024 : w->cap + w->cap / 2;
		struct waits_job *p = realloc(w->job, cap * sizeof(*p));

		if (p == NULL)
			return err_set(err, BERTH_ENOMEM, "waits: out of memory for %zu jobs", cap);
		w->job = p;
		w->cap = cap;
	}
	j = &w->job[w->n++];
	j->submit = submit;
	j->until = (uint32_t)(until - w->from);
	j->label = label | (started ? WAITS_STARTED : 0);
	return BERTH_OK;
}

static int
waits_cmp(const void *a, const void *b)
{
	const struct waits_job *x = a, *y = b;

	return x->submit < y->submit ? -1 : x->submit > y->submit;
}

/* The order of submission, in which they usually come. */
static void
waits_sort(struct waits *w)
{
	for (size_t i = 1; i < w->n; i++) {
		if (w->job[i - 1].submit > w->job[i].submit) {
			qsort(w->job, w->n, sizeof(*w->job), waits_cmp);
			return;
		}
	}
}

/* The k-th smallest of v [n] at its place, no larger ones before it (Hoare 1961). */
static uint32_t
waits_select(uint32_t *v, size_t n, size_t k)
{
	size_t lo = 0, hi = n - 1;

	while (lo < hi) {
		uint32_t pivot = v[lo + (hi - lo) / 2];
		size_t i = lo, j = hi;

		for (;;) {
			uint32_t x;

			while (v[i] < pivot)
				i++;
			while (v[j] > pivot)
				j--;
			if (i >= j)
				break;
			x = v[i];
			v[i++] = v[j];
			v[j--] = x;
		}
		if (k <= j)
			hi = j;
		else
			lo = j + 1;
	}
	return v[k];
}

static double
waits_quantile(uint32_t *v, size_t n, double q)
{
	double at = (double)(n - 1) * q;
	size_t k = (size_t)at;
	double low = waits_select(v, n, k), high = low;

	if (k + 1 < n && at > (double)k) {
		high = v[k + 1];
		for (size_t i = k + 2; i < n; i++)
			high = v[i] < high ? v[i] : high;
	}
	return low + (high - low) * (at - (double)k);
}

static bool
waits_queue_room(struct waits_group *g)
{
	size_t cap = g->cap == 0 ? 64 : 2 * g->cap;
	uint32_t *p;

	if (g->tail < g->cap)
		return true;
	if (g->head > g->cap / 2) { /* those before head have gone */
		memmove(g->queue, g->queue + g->head, (g->tail - g->head) * sizeof(*g->queue));
		g->tail -= g->head;
		g->head = 0;
		return true;
	}
	p = realloc(g->queue, cap * sizeof(*p));
	if (p == NULL)
		return false;
	g->queue = p;
	g->cap = cap;
	return true;
}

/* Job i still waits when a step ends: for the first time, if it has come in that step. */
static enum berth_code
waits_enter(struct waits_sweep *s, uint32_t i, struct berth_err *err)
{
	const struct waits_job *j = &s->w->job[i];
	const struct waits_label *l = &s->labels[j->label & ~WAITS_STARTED];

	for (size_t k = 0; k < l->n; k++) {
		struct waits_group *g = &s->groups[l->groups[k]];

		if (!waits_queue_room(g))
			return err_set(err, BERTH_ENOMEM, "waits: out of memory");
		g->queue[g->tail++] = i;
		g->submits += (double)(j->submit - s->w->from);
		g->waiting++;
	}
	return BERTH_OK;
}

static void
waits_leave(struct waits_sweep *s, const struct waits_job *j)
{
	const struct waits_label *l = &s->labels[j->label & ~WAITS_STARTED];

	for (size_t k = 0; k < l->n; k++) {
		struct waits_group *g = &s->groups[l->groups[k]];

		g->submits -= (double)(j->submit - s->w->from);
		if (--g->waiting == 0)
			g->submits = 0; /* not what rounding has left */
	}
}

/* Room for the waits of one step: counts them by series, then gives each series its part. */
static enum berth_code
waits_room(struct waits_sweep *s, const uint32_t *order, size_t n, struct berth_err *err)
{
	size_t all = 0;

	for (size_t i = 0; i < n; i++) {
		const struct waits_job *j = &s->w->job[order[i]];
		const struct waits_label *l = &s->labels[j->label & ~WAITS_STARTED];

		for (size_t k = 0; (j->label & WAITS_STARTED) != 0 && k < l->n; k++) {
			s->groups[l->groups[k]].n_wait++;
			all++;
		}
	}
	if (all > s->wait_cap) {
		free(s->wait);
		s->wait_cap = all * 2;
		s->wait = malloc(s->wait_cap * sizeof(*s->wait));
		if (s->wait == NULL)
			return err_set(err, BERTH_ENOMEM, "waits: out of memory");
	}
	all = 0;
	for (size_t i = 0; i < s->n_groups; i++) {
		struct waits_group *g = &s->groups[i];

		g->wait = s->wait + all;
		all += g->n_wait;
		g->n_wait = 0;
	}
	return BERTH_OK;
}

static void
waits_started(struct waits_group *g, struct waits_step *out)
{
	double sum = 0;

	out->started = (int64_t)g->n_wait;
	out->mean = out->p50 = out->p95 = out->longest = (double)NAN;
	if (g->n_wait == 0)
		return;
	out->longest = 0;
	for (size_t k = 0; k < g->n_wait; k++) {
		sum += g->wait[k];
		out->longest = g->wait[k] > out->longest ? g->wait[k] : out->longest;
	}
	out->mean = sum / (double)g->n_wait;
	out->p50 = waits_quantile(g->wait, g->n_wait, 0.5);
	out->p95 = waits_quantile(g->wait, g->n_wait, 0.95);
	g->n_wait = 0;
}

/* Those that still wait when the step ends, end s behind the window's start. */
static void
waits_open(const struct waits *w, struct waits_group *g, int64_t end, struct waits_step *out)
{
	while (g->head < g->tail && (int64_t)w->job[g->queue[g->head]].until < end)
		g->head++;
	out->waiting = g->waiting;
	out->waiting_mean = out->oldest = (double)NAN;
	if (g->waiting == 0)
		return;
	out->waiting_mean = (double)end - g->submits / (double)g->waiting;
	out->oldest = (double)(w->from + end - w->job[g->queue[g->head]].submit);
}

/*
 * The step [start, end), s behind the window's start; order [n] are the jobs whose waiting ends in
 * it, *next the first to come.
 */
static enum berth_code
waits_step(struct waits_sweep *s, int64_t start, int64_t end, const uint32_t *order, size_t n,
    size_t *next, struct berth_err *err)
{
	enum berth_code rc = waits_room(s, order, n, err);

	for (size_t i = 0; rc == BERTH_OK && i < n; i++) {
		const struct waits_job *j = &s->w->job[order[i]];
		const struct waits_label *l = &s->labels[j->label & ~WAITS_STARTED];
		int64_t wait = s->w->from + j->until - j->submit;

		for (size_t k = 0; (j->label & WAITS_STARTED) != 0 && k < l->n; k++) {
			struct waits_group *g = &s->groups[l->groups[k]];

			g->wait[g->n_wait++] = wait > UINT32_MAX ? UINT32_MAX : (uint32_t)wait;
		}
		if (start > 0 &&
		    j->submit - s->w->from < start) /* it waited when the step before ended */
			waits_leave(s, j);
	}
	for (; rc == BERTH_OK && *next < s->w->n && s->w->job[*next].submit - s->w->from < end;
	     (*next)++)
		if ((int64_t)s->w->job[*next].until >= end)
			rc = waits_enter(s, (uint32_t)*next, err);
	for (uint32_t k = 0; rc == BERTH_OK && k < s->n_groups; k++) {
		struct waits_step step = { .t = s->w->from + start };

		waits_started(&s->groups[k], &step);
		waits_open(s->w, &s->groups[k], end, &step);
		if (step.started > 0 || step.waiting > 0)
			rc = s->emit(s->arg, k, &step, err);
	}
	return rc;
}

/* Jobs by the step in which their waiting ends; at [steps + 2]. Returns order [n], or NULL. */
static uint32_t *
waits_order(const struct waits *w, size_t steps, size_t *at)
{
	uint32_t *order = malloc((w->n + 1) * sizeof(*order));
	uint32_t step = (uint32_t)w->step_s;

	if (order == NULL)
		return NULL;
	for (size_t i = 0; i < w->n; i++) {
		size_t s = w->job[i].until / step;

		at[(s < steps ? s : steps) + 1]++;
	}
	for (size_t s = 0; s < steps + 1; s++)
		at[s + 1] += at[s];
	for (size_t i = w->n; i-- > 0;) { /* from behind: at[s + 1] goes down to where s begins */
		size_t s = w->job[i].until / step;

		order[--at[(s < steps ? s : steps) + 1]] = (uint32_t)i;
	}
	return order;
}

enum berth_code
waits_run(struct waits *w, const struct waits_label *labels, size_t n_groups, waits_emit_fn *emit,
    void *arg, struct berth_err *err)
{
	size_t steps = (size_t)((w->to - w->from) / w->step_s), next = 0,
	       *at = calloc(steps + 3, sizeof(*at));
	struct waits_sweep s = {
		.w = w, .labels = labels, .n_groups = n_groups, .emit = emit, .arg = arg
	};
	enum berth_code rc = BERTH_OK;
	uint32_t *order = NULL;

	s.groups = calloc(n_groups + 1, sizeof(*s.groups));
	waits_sort(w);
	if (at != NULL)
		order = waits_order(w, steps, at);
	if (s.groups == NULL || order == NULL) {
		rc = err_set(err, BERTH_ENOMEM, "waits: out of memory for %zu jobs", w->n);
		goto out;
	}
	/* Since waits_order() at[k + 1] is where step k begins. */
	for (size_t k = 0; rc == BERTH_OK && k < steps; k++)
		rc = waits_step(&s, (int64_t)k * w->step_s, (int64_t)(k + 1) * w->step_s,
		    order + at[k + 1], at[k + 2] - at[k + 1], &next, err);
out:
	for (size_t g = 0; s.groups != NULL && g < n_groups; g++)
		free(s.groups[g].queue);
	free(s.groups);
	free(s.wait);
	free(order);
	free(at);
	return rc;
}
