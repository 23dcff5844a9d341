/* forecast/hand.c - results handed out one by one, in order.  Floor: domain.
 *
 * Workers take the series in their order; the caller takes the results in the same order. A worker
 * that is two results a thread ahead of the caller waits, so that few lie about at any time.
 */
#include <pthread.h>

#include "forecast/fc.h"

enum { HAND_THREADS_MAX = 64, HAND_AHEAD = 2 };

/* Results on their way to the caller, in the order of the series: item i waits in slot i % n_slots.
 */
struct hand {
	struct fc_run *r;
	const size_t *which;
	size_t n;
	bool last;
	pthread_mutex_t lock;
	pthread_cond_t change;
	size_t taken, given, n_slots;
	bool stop;
	struct hand_slot {
		struct arena *a;
		struct fc_result r;
		bool done;
	} slot[HAND_AHEAD * HAND_THREADS_MAX];
};

static size_t
hand_series(const struct hand *h, size_t i)
{
	return h->which != NULL ? h->which[i] : i;
}

static void *
hand_worker(void *arg)
{
	struct hand *h = arg;
	struct arena *tmp = arena_new();

	(void)pthread_mutex_lock(&h->lock);
	for (;;) {
		struct hand_slot *s;
		size_t i;

		while (!h->stop && h->taken < h->n && h->taken >= h->given + h->n_slots)
			(void)pthread_cond_wait(&h->change, &h->lock);
		if (h->stop || h->taken >= h->n)
			break;
		i = h->taken++;
		s = &h->slot[i % h->n_slots];
		(void)pthread_mutex_unlock(&h->lock);
		s->a = arena_new();
		fc_run_finish(h->r, hand_series(h, i), h->last, tmp, s->a, &s->r);
		arena_reset(tmp);
		(void)pthread_mutex_lock(&h->lock);
		s->done = true;
		(void)pthread_cond_broadcast(&h->change);
	}
	(void)pthread_mutex_unlock(&h->lock);
	arena_free(tmp);
	return NULL;
}

/* The caller takes them, in its own thread. */
static enum berth_code
hand_out(struct hand *h, fc_sink_fn *sink, void *arg, struct berth_err *err)
{
	enum berth_code rc = BERTH_OK;

	for (size_t i = 0; i < h->n && rc == BERTH_OK; i++) {
		struct hand_slot *s = &h->slot[i % h->n_slots];

		(void)pthread_mutex_lock(&h->lock);
		while (!s->done)
			(void)pthread_cond_wait(&h->change, &h->lock);
		(void)pthread_mutex_unlock(&h->lock);
		rc = sink(arg, hand_series(h, i), &s->r, s->a, err);
		arena_free(s->a);
		(void)pthread_mutex_lock(&h->lock);
		s->a = NULL;
		s->done = false;
		h->given = i + 1;
		h->stop = rc != BERTH_OK;
		(void)pthread_cond_broadcast(&h->change);
		(void)pthread_mutex_unlock(&h->lock);
	}
	return rc;
}

static enum berth_code
hand_alone(struct hand *h, fc_sink_fn *sink, void *arg, struct berth_err *err)
{
	struct arena *tmp = arena_new();
	enum berth_code rc = BERTH_OK;

	for (size_t i = 0; i < h->n && rc == BERTH_OK; i++) {
		struct arena *a = arena_new();
		struct fc_result r;

		fc_run_finish(h->r, hand_series(h, i), h->last, tmp, a, &r);
		arena_reset(tmp);
		rc = sink(arg, hand_series(h, i), &r, a, err);
		arena_free(a);
	}
	arena_free(tmp);
	return rc;
}

enum berth_code
fc_run_each(struct fc_run *r, const size_t *which, size_t n, bool last, fc_sink_fn *sink, void *arg,
    struct berth_err *err)
{
	struct hand h = { .r = r, .which = which, .n = n, .last = last };
	pthread_t t[HAND_THREADS_MAX];
	size_t want = fc_run_threads(r) < n ? fc_run_threads(r) : n, got = 0;
	enum berth_code rc;

	want = want < HAND_THREADS_MAX ? want : HAND_THREADS_MAX;
	if (want < 2)
		return hand_alone(&h, sink, arg, err);
	h.n_slots = HAND_AHEAD * want;
	(void)pthread_mutex_init(&h.lock, NULL);
	(void)pthread_cond_init(&h.change, NULL);
	while (got < want && pthread_create(&t[got], NULL, hand_worker, &h) == 0)
		got++;
	rc = got > 0 ? hand_out(&h, sink, arg, err) : hand_alone(&h, sink, arg, err);
	while (got > 0)
		(void)pthread_join(t[--got], NULL);
	for (size_t k = 0; k < h.n_slots; k++)
		arena_free(h.slot[k].a);
	(void)pthread_cond_destroy(&h.change);
	(void)pthread_mutex_destroy(&h.lock);
	return rc;
}
