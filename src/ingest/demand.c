#include "ingest/demand.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "util/pages.h"

#define DEMAND_FEW ((size_t)24) /* events that are sorted by insertion */
#define DEMAND_CHUNK                                                                               \
	((size_t)256) /* steps of one series handed over at a time, at least; and of all series:   \
		       */
#define DEMAND_CHUNKS ((size_t)128 * 1024)

/* An end of an interval in one word, so that sorting words sorts by time: seconds into the window,
 * class, end. */
#define DEMAND_EVENT(t, cls, ends) ((uint64_t)(t) << 32 | (uint64_t)(cls) << 1 | (uint64_t)(ends))
#define DEMAND_T(e) ((int64_t)((e) >> 32))
#define DEMAND_CLS(e) ((uint32_t)(e) >> 1)
#define DEMAND_ENDS(e) ((e)&1)

struct demand {
	int64_t step_s, from, to;
	size_t align;    /* steps; 1: none */
	size_t chunk;    /* steps of one series handed over at a time */
	uint64_t *event; /* [n] */
	size_t n, cap, max;
	uint64_t inverse; /* of step_s: 2^64 / step_s, rounded up; 0 for a step of 1 s */
};

/* One series while the sweep passes. */
struct demand_group {
	double level, area, peak;
	int64_t since;      /* area is up to here */
	int64_t active;     /* intervals that are open */
	struct sample *out; /* [n_out], room for a chunk and an alignment */
	size_t n_out;
};

enum berth_code
demand_new(int64_t step_s, int64_t from, int64_t to, size_t max_events, struct demand **d_out,
    struct berth_err *err)
{
	struct demand *d;

	if (step_s <= 0 || from % step_s != 0 || to % step_s != 0 || to < from ||
	    to - from > INT64_C(0xffffffff))
		return err_set(
		    err, BERTH_EINVAL, "demand: a window of %lld s", (long long)(to - from));
	d = calloc(1, sizeof(*d));
	if (d == NULL)
		return err_set(err, BERTH_ENOMEM, "demand: out of memory");
	d->step_s = step_s;
	d->inverse = step_s > 1 ? UINT64_MAX / (uint64_t)step_s + 1 : 0;
	d->from = from;
	d->to = to;
	d->max = max_events;
	d->align = 1;
	*d_out = d;
	return BERTH_OK;
}

void
demand_free(struct demand *d)
{
	if (d != NULL)
		pages_free(d->event, d->cap * sizeof(*d->event));
	free(d);
}

int64_t
demand_to(const struct demand *d)
{
	return d->to;
}

/*
 * The step that an event lies in: its time, below 2^32, divided by the step as a product (Lemire,
 * Kaser, Kurz 2019, 3.1).
 */
static inline size_t
demand_home(const struct demand *d, uint64_t event)
{
	__extension__ typedef unsigned __int128 wide;

	return d->inverse == 0 ? (size_t)DEMAND_T(event)
			       : (size_t)((wide)d->inverse * (event >> 32) >> 64);
}

void
demand_align(struct demand *d, int64_t align_s)
{
	d->align = (size_t)(align_s / d->step_s);
}

/* Moves the end of the window to where about half of the events lie before it. */
static enum berth_code
demand_shrink(struct demand *d, struct berth_err *err)
{
	size_t steps = (size_t)((d->to - d->from) / d->step_s), sum = 0, keep = 0, s = 0, n = 0;
	uint32_t *count;

	if (steps < 2 || steps <= d->align)
		return BERTH_OK;
	count = calloc(steps + 1, sizeof(*count));
	if (count == NULL)
		return err_set(err, BERTH_ENOMEM, "demand: out of memory");
	for (size_t i = 0; i < d->n; i++)
		count[demand_home(d, d->event[i])]++;
	while (s < steps - 1 && (s == 0 || sum + count[s] <= d->max / 2))
		sum += count[s++];
	free(count);
	keep = s > d->align ? s - s % d->align : d->align;
	d->to = d->from + (int64_t)keep * d->step_s;
	for (size_t i = 0; i < d->n; i++)
		if (DEMAND_T(d->event[i]) < (int64_t)keep * d->step_s)
			d->event[n++] = d->event[i];
	d->n = n;
	return BERTH_OK;
}

static enum berth_code
demand_push(struct demand *d, uint64_t event, struct berth_err *err)
{
	if (d->n ==
	    d->cap) { /* at first as many as there may be: what is not touched takes no memory */
		size_t cap = d->cap == 0 ? (d->max > 1024 ? d->max : 1024) : d->cap + d->cap / 2;
		uint64_t *p = pages_new(cap * sizeof(*p));

		if (p == NULL)
			return err_set(
			    err, BERTH_ENOMEM, "demand: out of memory for %zu intervals", cap / 2);
		if (d->n > 0)
			memcpy(p, d->event, d->n * sizeof(*p));
		pages_free(d->event, d->cap * sizeof(*d->event));
		d->event = p;
		d->cap = cap;
	}
	d->event[d->n++] = event;
	return BERTH_OK;
}

enum berth_code
demand_add(struct demand *d, uint32_t cls, int64_t from, int64_t to, struct berth_err *err)
{
	enum berth_code rc = BERTH_OK;

	assert(cls < UINT32_C(0x80000000));
	if (from < d->from)
		from = d->from;
	if (from >= to || from >= d->to)
		return BERTH_OK;
	if (d->max > 0 && d->n + 2 > d->max) {
		rc = demand_shrink(d, err);
		if (rc != BERTH_OK || from >= d->to)
			return rc;
	}
	rc = demand_push(d, DEMAND_EVENT(from - d->from, cls, 0), err);
	if (rc == BERTH_OK && to < d->to)
		rc = demand_push(d, DEMAND_EVENT(to - d->from, cls, 1), err);
	return rc;
}

static int
demand_cmp(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* A few events by time; those of one second stay as they are, for their order is of no account. */
static void
demand_sort_few(uint64_t *event, size_t n)
{
	for (size_t i = 1; i < n; i++) {
		uint64_t e = event[i];
		size_t k = i;

		for (; k > 0 && DEMAND_T(event[k - 1]) > DEMAND_T(e); k--)
			event[k] = event[k - 1];
		event[k] = e;
	}
}

/* Buckets of 2^shift seconds for the events of one step. */
struct demand_buckets {
	uint32_t *at;   /* [most + 2], all 0, and so again */
	uint64_t *copy; /* [as many events as a step has at most] */
};

/* Sorts the events [n] of the step that starts at t0: into about as many buckets as there are
 * events, then each. */
static void
demand_sort_step(struct demand_buckets *b, uint64_t *event, size_t n, int64_t t0, int64_t step_s)
{
	unsigned shift = 0;
	size_t buckets;
	uint32_t at = 0;

	while ((step_s >> shift) > (int64_t)n)
		shift++;
	buckets = (size_t)(step_s >> shift) + 1;
	for (size_t i = 0; i < n; i++)
		b->at[(DEMAND_T(event[i]) - t0) >> shift]++;
	for (size_t s = 0; s < buckets; s++) {
		uint32_t count = b->at[s];

		b->at[s] = at;
		at += count;
	}
	memcpy(b->copy, event, n * sizeof(*event));
	for (size_t i = 0; i < n; i++)
		event[b->at[(DEMAND_T(b->copy[i]) - t0) >> shift]++] = b->copy[i];
	at = 0;
	for (size_t s = 0; s < buckets && shift > 0;
	     s++) { /* at[s] is now where the next bucket begins */
		size_t in = b->at[s] - at;

		if (in > DEMAND_FEW)
			qsort(event + at, in, sizeof(*event), demand_cmp);
		else if (in > 1)
			demand_sort_few(event + at, in);
		at = b->at[s];
	}
	memset(b->at, 0, buckets * sizeof(*b->at));
}

static enum berth_code
demand_sort_steps(struct demand *d, size_t steps, const size_t *at, struct berth_err *err)
{
	struct demand_buckets b;
	size_t most = 0;

	for (size_t s = 0; s < steps; s++)
		most = at[s + 1] - at[s] > most ? at[s + 1] - at[s] : most;
	if (most > (size_t)d->step_s)
		b.at = calloc((size_t)d->step_s + 2, sizeof(*b.at));
	else
		b.at = calloc(most + 2, sizeof(*b.at));
	b.copy = malloc((most + 1) * sizeof(*b.copy));
	if (b.at == NULL || b.copy == NULL) {
		free(b.at);
		free(b.copy);
		return err_set(err, BERTH_ENOMEM, "demand: out of memory for %zu events", most);
	}
	for (size_t s = 0; s < steps; s++)
		if (at[s + 1] - at[s] > 1)
			demand_sort_step(&b, d->event + at[s], at[s + 1] - at[s],
			    (int64_t)s * d->step_s, d->step_s);
	free(b.at);
	free(b.copy);
	return BERTH_OK;
}

/* Puts the events of each step together, in place; at[s] is where step s begins. Then the steps are
 * sorted one by one. */
static enum berth_code
demand_sort(struct demand *d, size_t steps, size_t *at, struct berth_err *err)
{
	size_t *next = calloc(steps + 1, sizeof(*next));

	if (next == NULL)
		return err_set(err, BERTH_ENOMEM, "demand: out of memory for %zu steps", steps);
	for (size_t i = 0; i < d->n; i++)
		at[demand_home(d, d->event[i]) + 1]++;
	for (size_t s = 0; s < steps; s++) {
		at[s + 1] += at[s];
		next[s] = at[s];
	}
	for (size_t s = 0; s < steps; s++) {
		while (next[s] < at[s + 1]) {
			uint64_t e = d->event[next[s]];
			size_t home = demand_home(d, e);

			if (home == s) {
				next[s]++;
			} else { /* each swap brings one event home */
				d->event[next[s]] = d->event[next[home]];
				d->event[next[home]++] = e;
			}
		}
	}
	free(next);
	return demand_sort_steps(d, steps, at, err);
}

static void
demand_apply(struct demand_group *g, int64_t t, double amount, int ends)
{
	g->area += g->level * (double)(t - g->since);
	g->since = t;
	g->level += ends ? -amount : amount;
	g->active += ends ? -1 : 1;
	if (g->active == 0)
		g->level = 0; /* not what rounding has left */
}

static void
demand_one(uint64_t event, const struct demand_class *classes, struct demand_group *groups)
{
	const struct demand_class *c = &classes[DEMAND_CLS(event)];

	for (size_t k = 0; k < c->n_groups; k++) {
		struct demand_group *g = &groups[c->groups[k]];

		demand_apply(g, DEMAND_T(event), c->amount, DEMAND_ENDS(event));
		if (g->level > g->peak)
			g->peak = g->level;
	}
}

/* The events [i, end) of one step that starts at t0. */
static void
demand_step(const struct demand *d, const struct demand_class *classes, struct demand_group *groups,
    size_t n_groups, size_t i, size_t end, int64_t t0)
{
	bool first = true;

	while (first || i < end) {
		int64_t t = first ? t0 : DEMAND_T(d->event[i]);
		size_t from = i;

		if (!first && (i + 1 == end || DEMAND_T(d->event[i + 1]) !=
						   t)) { /* alone in its second, as most are */
			demand_one(d->event[i], classes, groups);
			i++;
			continue;
		}
		for (; i < end && DEMAND_T(d->event[i]) == t; i++) {
			const struct demand_class *c = &classes[DEMAND_CLS(d->event[i])];

			for (size_t k = 0; k < c->n_groups; k++)
				demand_apply(
				    &groups[c->groups[k]], t, c->amount, DEMAND_ENDS(d->event[i]));
		}
		if (first) {
			for (size_t k = 0; k < n_groups; k++)
				groups[k].peak = groups[k].level;
			first = false;
			continue;
		}
		for (; from < i; from++) {
			const struct demand_class *c = &classes[DEMAND_CLS(d->event[from])];

			for (size_t k = 0; k < c->n_groups; k++) {
				struct demand_group *g = &groups[c->groups[k]];

				if (g->level > g->peak)
					g->peak = g->level;
			}
		}
	}
}

/* A series goes into the store fastest when all of it comes at once; many long ones together are
 * too much to hold. */
static size_t
demand_chunk(size_t steps, size_t n_groups)
{
	size_t share = n_groups > 0 ? DEMAND_CHUNKS / n_groups : DEMAND_CHUNKS;

	if (share > steps)
		share = steps;
	return share > DEMAND_CHUNK ? share : DEMAND_CHUNK;
}

/* The step that ends at t1 is over. */
static enum berth_code
demand_flush(const struct demand *d, struct demand_group *groups, size_t n_groups, int64_t t1,
    bool last, demand_emit_fn *emit, void *arg, struct berth_err *err)
{
	for (size_t k = 0; k < n_groups; k++) {
		struct demand_group *g = &groups[k];
		struct sample *s = &g->out[g->n_out++];

		g->area += g->level * (double)(t1 - g->since);
		s->t = d->from + t1 - d->step_s;
		s->mean = g->area > 0 ? g->area / (double)d->step_s : 0;
		s->peak = g->peak > s->mean ? g->peak : s->mean;
		g->since = t1;
		g->area = 0;
		if (last || (g->n_out >= d->chunk && (size_t)(t1 / d->step_s) % d->align == 0)) {
			enum berth_code rc = emit(arg, (uint32_t)k, g->out, g->n_out, err);

			if (rc != BERTH_OK)
				return rc;
			g->n_out = 0;
		}
	}
	return BERTH_OK;
}

enum berth_code
demand_run(struct demand *d, const struct demand_class *classes, size_t n_groups,
    demand_emit_fn *emit, void *arg, struct berth_err *err)
{
	size_t steps = (size_t)((d->to - d->from) / d->step_s),
	       chunk = demand_chunk(steps, n_groups);
	size_t room = chunk + d->align;
	struct demand_group *groups = calloc(n_groups + 1, sizeof(*groups));
	struct sample *out = calloc(n_groups * room + 1, sizeof(*out));
	size_t *at = calloc(steps + 2, sizeof(*at));
	enum berth_code rc = BERTH_OK;

	if (groups == NULL || out == NULL || at == NULL) {
		rc = err_set(err, BERTH_ENOMEM, "demand: out of memory for %zu series", n_groups);
		goto out;
	}
	d->chunk = chunk;
	for (size_t k = 0; k < n_groups; k++)
		groups[k].out = out + k * room;
	rc = demand_sort(d, steps, at, err);
	for (size_t s = 0; rc == BERTH_OK && s < steps; s++) {
		int64_t t0 = (int64_t)s * d->step_s;

		demand_step(d, classes, groups, n_groups, at[s], at[s + 1], t0);
		rc = demand_flush(
		    d, groups, n_groups, t0 + d->step_s, s + 1 == steps, emit, arg, err);
	}
out:
	free(at);
	free(out);
	free(groups);
	return rc;
}
