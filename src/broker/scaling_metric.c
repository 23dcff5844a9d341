/* What a fleet is told of: the load, what waits, what is busy, what is forecast. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "broker/broker.h"
#include "broker/scaling.h"
#include "ingest/promjson.h"
#include "net/http.h"
#include "providers/net.h"
#include "store/fleet_rows.h"
#include "store/forecast_rows.h"
#include "store/job_rows.h"
#include "store/series_rows.h"
#include "util/duration.h"
#include "util/glob.h"
#include "util/str.h"
#include "util/time.h"

#define SCALING_QUERY_S 10 /* a server that is slower must not hold up the tick */
#define SCALING_STALE_S 300
#define SCALING_PAST_S (366 * 86400)

static enum berth_code
scaling_series(struct broker *b, const struct scaling_source *s, double *value_out,
    const char **why_out, struct berth_err *err)
{
	int64_t stale, age;
	struct series row;
	struct dense d;
	char text[DURATION_FMT_SIZE];
	enum berth_code rc = store_series_get(b->store, s->text, b->tick_arena, &row, err);

	if (rc == BERTH_ENOTFOUND) {
		*why_out = arena_printf(b->tick_arena, "the store has no series %s", s->text);
		return BERTH_OK;
	}
	if (rc != BERTH_OK)
		return rc;
	stale = s->stale_s > 0                     ? s->stale_s
		: 2 * row.step_s > SCALING_STALE_S ? 2 * row.step_s
						   : SCALING_STALE_S;
	rc = store_samples_range(
	    b->store, row.id, b->now - stale - row.step_s, b->now + 1, b->tick_arena, &d, err);
	if (rc != BERTH_OK)
		return rc;
	for (size_t i = d.n; i-- > 0;) {
		int64_t t = d.t0 + (int64_t)i * d.step_s;

		age = b->now - t - d.step_s;
		if (t > b->now || isnan(d.peak[i]) || age > stale)
			continue;
		*value_out = d.peak[i];
		return BERTH_OK;
	}
	*why_out = arena_printf(b->tick_arena, "series %s has no sample of the last %s", s->text,
	    duration_fmt(text, stale));
	return BERTH_OK;
}

struct scaling_points {
	double value;
	int64_t n;
};

static enum berth_code
scaling_point(void *arg, const struct ingest_point *p, struct berth_err *err)
{
	struct scaling_points *v = arg;

	(void)err;
	v->value = p->value;
	v->n++;
	return BERTH_OK;
}

static void
scaling_unsaid(void *arg, enum usage_say kind, long line, const char *message)
{
	(void)arg;
	(void)kind;
	(void)line;
	(void)message;
}

static enum berth_code
scaling_ask(struct broker *b, const struct scaling_fleet *f, const struct scaling_source *s,
    struct scaling_points *v, struct berth_err *err)
{
	const struct ingest_sink sink = { .arg = v, .point = scaling_point, .say = scaling_unsaid };
	struct http_req req = {
		.arena = b->tick_arena, .idempotent = true, .timeout_s = SCALING_QUERY_S
	};
	struct http_resp resp;
	char *secret = NULL;
	int64_t points;
	enum berth_code rc = BERTH_OK;

	if (b->offline || b->net == NULL)
		return err_set(err, BERTH_ETRANSIENT, "offline: no server is asked");
	http_req_url(&req, "%.*s/api/v1/query?query=%s",
	    (int)(strlen(s->url) - (str_ends(s->url, "/") ? 1 : 0)), s->url,
	    http_urlencode(b->tick_arena, s->text));
	if (s->token != NULL) {
		rc = prov_secret(s->token, f->dir, "token", &secret, err);
		if (rc == BERTH_OK)
			rc = http_req_header(&req, "Authorization",
			    arena_printf(b->tick_arena, "Bearer %s", secret), true, err);
	}
	if (secret != NULL) {
		memset(secret, 0, strlen(secret));
		free(secret);
	}
	if (rc == BERTH_OK)
		rc = http_exchange(net_http(b->net), &req, &resp, err);
	if (rc == BERTH_OK && resp.status != 200)
		rc = err_set(err, BERTH_ETRANSIENT, "HTTP status %d", resp.status);
	if (rc == BERTH_OK)
		rc = promjson_read(resp.body, resp.body_len, s->url, "", &sink, &points, err);
	return rc;
}

static enum berth_code
scaling_query(struct broker *b, const struct scaling_fleet *f, const struct scaling_source *s,
    double *value_out, const char **why_out)
{
	struct scaling_points v = { NAN, 0 };
	struct berth_err why = { 0 };

	if (scaling_ask(b, f, s, &v, &why) != BERTH_OK)
		*why_out = arena_printf(b->tick_arena, "%s: %s", s->url, why.msg);
	else if (v.n != 1)
		*why_out = arena_printf(b->tick_arena, "the query gives %lld values, not one: %s",
		    (long long)v.n,
		    v.n == 0 ? "is it spelt right, and does its exporter run?"
			     : "put sum() or max() around it");
	else if (!isfinite(v.value) || v.value < 0)
		*why_out = "the query gives no number of 0 or more";
	else
		*value_out = v.value;
	return BERTH_OK;
}

/* Accelerators of a job as it would run at the least. */
static double
scaling_gpus(const struct job_spec *s)
{
	const struct job_variant *v = s->n_variants > 0 ? &s->variants[0] : NULL;

	return v == NULL
		   ? 0
		   : (double)(v->count_min > 0 ? v->count_min : 1) * (v->nodes > 1 ? v->nodes : 1);
}

int64_t
scaling_gpus_least(const struct job_spec *s)
{
	int64_t least = 0;

	for (size_t i = 0; i < s->n_variants; i++) {
		const struct job_variant *v = &s->variants[i];
		int64_t n = (int64_t)v->count_min * (v->nodes > 1 ? v->nodes : 1);

		least = n > 0 && (least == 0 || n < least) ? n : least;
	}
	return least;
}

static bool
scaling_is_replica(const char *id, const char *const *ids, size_t n)
{
	size_t lo = 0;

	while (lo < n) {
		size_t mid = lo + (n - lo) / 2;
		int c = strcmp(id, ids[mid]);

		if (c == 0)
			return true;
		if (c > 0)
			lo = mid + 1;
		else
			n = mid;
	}
	return false;
}

/* With a time to drain in, what waits is work to be done in that time; without, it is load like
 * what runs. */
static enum berth_code
scaling_queue(struct broker *b, const struct scaling_fleet *f, const struct scaling_source *s,
    double *value_out, double *queued_out, struct berth_err *err)
{
	struct job_query q = { .states = JOB_OPEN };
	const char *const *ids;
	struct job *jobs;
	double load = 0, queued = 0;
	size_t n, n_ids;
	enum berth_code rc = store_job_list(b->store, &q, b->tick_arena, &jobs, &n, err);

	if (rc == BERTH_OK)
		rc =
		    store_replica_list(b->store, NULL, INT64_MAX, b->tick_arena, &ids, &n_ids, err);
	if (rc != BERTH_OK)
		return rc;
	for (size_t i = 0; i < n; i++) {
		const struct job *j = &jobs[i];
		double gpus = scaling_gpus(&j->spec),
		       hours = j->spec.work_hours * (1 - j->progress);

		if (!glob_match(s->text, j->spec.project) || scaling_is_replica(j->id, ids, n_ids))
			continue;
		if (j->state == JOB_QUEUED && f->rule.drain_s > 0 && isfinite(hours))
			queued += gpus * hours * 3600;
		else
			load += gpus;
	}
	*value_out = load;
	*queued_out = queued;
	return BERTH_OK;
}

enum berth_code
scaling_metric(struct broker *b, const struct scaling_fleet *f, const struct scaling_source *s,
    double *value_out, double *queued_out, const char **why_out, struct berth_err *err)
{
	*value_out = NAN;
	*why_out = "";
	switch (s->kind) {
	case SCALING_NONE:
		return BERTH_OK;
	case SCALING_SERIES:
		return scaling_series(b, s, value_out, why_out, err);
	case SCALING_QUERY:
		return scaling_query(b, f, s, value_out, why_out);
	case SCALING_QUEUE:
		return scaling_queue(b, f, s, value_out, queued_out, err);
	}
	return BERTH_OK;
}

/* What is known of a series up to a time. */
struct scaling_past {
	struct scale_still still;
	int64_t until;
};

/* Looks from a time on; false: it has moved, or nothing is known. */
static enum berth_code
scaling_past_since(struct broker *b, int64_t series_id, int64_t from, struct scaling_past *p,
    bool *still_out, struct berth_err *err)
{
	struct dense d;
	enum berth_code rc =
	    store_samples_range(b->store, series_id, from, b->now + 1, b->tick_arena, &d, err);

	*p = (struct scaling_past){ .still = { .known_s = 0 } };
	*still_out = false;
	for (size_t i = 0; rc == BERTH_OK && i < d.n; i++) {
		if (isnan(d.mean[i]))
			continue;
		if (*still_out && d.mean[i] != p->still.value) {
			*still_out = false;
			p->still.known_s = 0;
			return BERTH_OK;
		}
		*still_out = true;
		p->still.value = d.mean[i];
		p->until = d.t0 + (int64_t)(i + 1) * d.step_s;
		p->still.known_s = p->until - d.t0;
	}
	return rc;
}

/* Whether a series has never moved, in a year at least; the newest day tells most that have. */
static enum berth_code
scaling_past(struct broker *b, const char *name, struct scaling_past *p, struct berth_err *err)
{
	struct series row;
	bool still = false;
	enum berth_code rc = store_series_get(b->store, name, b->tick_arena, &row, err);

	*p = (struct scaling_past){ .until = b->now };
	if (rc == BERTH_ENOTFOUND) /* its forecast is there, and counts */
		return BERTH_OK;
	if (rc == BERTH_OK)
		rc = scaling_past_since(b, row.id, b->now - 86400, p, &still, err);
	if (rc == BERTH_OK && still)
		rc = scaling_past_since(b, row.id, b->now - SCALING_PAST_S, p, &still, err);
	return rc;
}

/* A step of the forecast, for a time in it. */
static double
scaling_foreseen(
    const struct forecast_row *row, const struct scaling_past *p, size_t level, int64_t at)
{
	static const double levels[FORECAST_ROW_LEVELS] = { 0.05, 0.5, 0.9, 0.95, 0.99 };
	size_t k = (size_t)((at - row->as_of) / row->step_s);

	return scale_foreseen(&p->still, levels[level], at > p->until ? at - p->until : 0,
	    row->q[k * FORECAST_ROW_LEVELS + level]);
}

/* The most of the steps in [from, to]. */
static double
scaling_soon(const struct forecast_row *row, const struct scaling_past *p, size_t level,
    int64_t from, int64_t to)
{
	double most = NAN;

	for (int64_t k = from > row->as_of ? (from - row->as_of) / row->step_s : 0;
	     k <= (to - row->as_of) / row->step_s; k++) {
		int64_t at = row->as_of + k * row->step_s;

		if ((size_t)k < row->n)
			most = fmax(most, scaling_foreseen(row, p, level, at > from ? at : from));
	}
	return most;
}

/* Of the levels that are kept, .05 .50 .90 .95 .99. */
static size_t
scaling_level(double level)
{
	return level < 0.7 ? 1 : level < 0.93 ? 2 : level < 0.97 ? 3 : 4;
}

const char *
scaling_foretold(const struct scaling_fleet *f)
{
	return f->forecast != NULL              ? f->forecast
	       : f->load.kind == SCALING_SERIES ? f->load.text
						: NULL;
}

/* The newest kept forecast that tells of t + boot_s; *row_out NULL and *why_out: there is none. */
static enum berth_code
scaling_kept(struct broker *b, const struct scaling_fleet *f, const char *series,
    const struct forecast_row **row_out, const char **why_out, struct berth_err *err)
{
	int64_t at = b->now + f->rule.boot_s, stale = f->forecast_stale_s, old = INT64_MIN;
	char text[DURATION_FMT_SIZE], made[TIME_FMT_SIZE];
	struct forecast_row *rows;
	size_t n;
	enum berth_code rc =
	    store_forecast_list(b->store, series, 8, b->tick_arena, &rows, &n, err);

	*row_out = NULL;
	*why_out = "";
	for (size_t i = 0; rc == BERTH_OK && i < n && *row_out == NULL; i++) {
		if (rows[i].step_s <= 0 || rows[i].as_of > b->now + rows[i].step_s ||
		    at < rows[i].as_of ||
		    (size_t)((at - rows[i].as_of) / rows[i].step_s) >= rows[i].n)
			continue;
		if (stale > 0 && b->now - rows[i].as_of > stale)
			old = rows[i].as_of > old ? rows[i].as_of : old;
		else
			*row_out = &rows[i];
	}
	if (rc != BERTH_OK || *row_out != NULL)
		return rc;
	*why_out =
	    old != INT64_MIN
		? arena_printf(b->tick_arena,
		      "the forecast of %s is of %s, over %s ago: berth forecast %s makes a new one",
		      series, time_fmt(made, old), duration_fmt(text, stale), series)
		: arena_printf(b->tick_arena,
		      "no forecast of %s covers now: berth forecast %s makes one", series, series);
	return BERTH_OK;
}

enum berth_code
scaling_forecast(struct broker *b, const struct scaling_fleet *f, double *value_out,
    double *soon_out, const char **why_out, struct berth_err *err)
{
	size_t level = scaling_level(f->level);
	const struct forecast_row *row;
	struct scaling_past past;
	enum berth_code rc;

	*value_out = *soon_out = NAN;
	*why_out = "";
	if (f->forecast == NULL || !(f->level > 0))
		return BERTH_OK;
	rc = scaling_kept(b, f, f->forecast, &row, why_out, err);
	if (rc != BERTH_OK || row == NULL ||
	    (rc = scaling_past(b, f->forecast, &past, err)) != BERTH_OK)
		return rc;
	*value_out = scaling_foreseen(row, &past, level, b->now + f->rule.boot_s);
	*soon_out = scaling_soon(row, &past, level, b->now, b->now + scale_restart(&f->rule));
	return BERTH_OK;
}

enum berth_code
scaling_least(struct broker *b, const struct scaling_fleet *f, int64_t percentile,
    double *least_out, double *soon_out, const char **why_out, struct berth_err *err)
{
	size_t level = scaling_level((double)percentile / 100);
	const struct forecast_row *row;
	struct scaling_past past;
	enum berth_code rc = scaling_kept(b, f, scaling_foretold(f), &row, why_out, err);

	*least_out = *soon_out = NAN;
	if (rc != BERTH_OK || row == NULL ||
	    (rc = scaling_past(b, scaling_foretold(f), &past, err)) != BERTH_OK)
		return rc;
	*least_out = scaling_soon(row, &past, level, b->now, b->now + f->rule.boot_s);
	*soon_out = scaling_soon(row, &past, level, b->now, b->now + scale_restart(&f->rule));
	return BERTH_OK;
}
