#include "config.h"

#include <math.h>
#include <string.h>

#include "cmd/forecast.h"
#include "store/series_rows.h"
#include "util/arena.h"
#include "util/json.h"
#include "util/str.h"

#define QUEUE_LOOK_S (28 * 86400)
#define QUEUE_TELL 0.05 /* share of what runs that has to wait before it is told */

/* Are these the labels of the queue of a series with those labels: the same, and a state beside? */
static bool
queue_labels_match(const char *queue, const char *labels)
{
	struct berth_err ignored;
	json_t *q = NULL, *l = NULL;
	bool same = false;

	if (jsonr_parse(queue, strlen(queue), "labels", &q, &ignored) == BERTH_OK &&
	    jsonr_parse(labels, strlen(labels), "labels", &l, &ignored) == BERTH_OK) {
		same = json_is_object(q) && json_object_del(q, "state") == 0 && json_equal(q, l);
	}
	json_decref(q);
	json_decref(l);
	return same;
}

static const struct series *
queue_of(const struct forecast_set *f, const struct series *s)
{
	for (size_t i = 0; i < f->n_all; i++)
		if (str_eq(f->all[i].unit, "gpu_queued") && f->all[i].samples > 0 &&
		    queue_labels_match(f->all[i].labels, s->labels))
			return &f->all[i];
	return NULL;
}

/* in becomes what was asked for: what ran and what was waited for. */
static void
queue_add(const struct fc_series *queue, struct arena *a, struct fc_series *in)
{
	double *mean = arena_memdup(a, in->mean, in->n * sizeof(*mean));
	double *peak =
	    arena_memdup(a, in->peak != NULL ? in->peak : in->mean, in->n * sizeof(*peak));

	for (size_t i = 0; i < in->n; i++) {
		int64_t k = (in->t0 - queue->t0) / in->step_s + (int64_t)i;

		if (k < 0 || k >= (int64_t)queue->n || isnan(queue->mean[k]))
			continue;
		mean[i] += queue->mean[k];
		peak[i] +=
		    queue->peak != NULL && !isnan(queue->peak[k]) ? queue->peak[k] : queue->mean[k];
	}
	in->mean = mean;
	in->peak = peak;
}

/* Mean of the known steps of the last four weeks before `end`. */
static double
queue_mean(const struct fc_series *s, int64_t end)
{
	double sum = 0;
	size_t known = 0;

	for (size_t i = 0; i < s->n; i++) {
		int64_t t = s->t0 + (int64_t)i * s->step_s;

		if (t < end - QUEUE_LOOK_S || t >= end || isnan(s->mean[i]))
			continue;
		sum += s->mean[i];
		known++;
	}
	return known > 0 ? sum / (double)known : 0;
}

enum berth_code
forecast_queue(struct cmd_ctx *ctx, const struct forecast_set *f, const struct series *s,
    struct arena *a, struct fc_series *in, double *queued_out, struct berth_err *err)
{
	const struct forecast_opts *o = ctx->opts;
	const struct series *q = str_eq(s->unit, "gpu") ? queue_of(f, s) : NULL;
	struct fc_series queue;
	const char *coarse;
	double ran;
	enum berth_code rc;

	*queued_out = 0;
	if (q == NULL || in->n == 0)
		return BERTH_OK;
	rc = forecast_read(ctx, q, o->at, a, &queue, &coarse, err);
	if (rc != BERTH_OK || queue.n == 0 || queue.step_s != in->step_s)
		return rc;
	*queued_out = queue_mean(&queue, in->t0 + (int64_t)in->n * in->step_s);
	ran = queue_mean(in, in->t0 + (int64_t)in->n * in->step_s);
	if (o->requested)
		queue_add(&queue, a, in);
	else if (*queued_out >= QUEUE_TELL * ran && *queued_out > 0)
		cmd_warn(ctx,
		    "series %s: %.1f GPUs ran and %.1f were waited for, mean of four weeks: what "
		    "ran is not all that was wanted; --requested takes both as demand",
		    s->name, ran, *queued_out);
	return BERTH_OK;
}
