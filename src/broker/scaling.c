/* scale: each fleet gets as many replicas as its metric asks for; they are jobs, and the queue does
 * the rest. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "broker/broker.h"
#include "broker/scaling.h"
#include "model/jobspec.h"
#include "store/fleet_rows.h"
#include "store/job_rows.h"
#include "store/plan_rows.h"
#include "util/buf.h"
#include "util/json.h"
#include "util/str.h"
#include "util/vec.h"

#define SCALING_JSON_MAX 65536

/* A fleet while it is being stepped. */
struct scaling {
	struct broker *b;
	const struct scaling_fleet *f;
	struct scaling_view *v;
	struct scale_state state;
	char last[16];         /* reason of the last decision; "" none */
	VEC(struct job) open;  /* oldest first */
	int64_t crashed_until; /* 0: not so many */
};

static enum berth_code
scaling_state_parse(struct scaling *s, const char *text, struct berth_err *err)
{
	struct scale_state *st = &s->state;
	struct jsonr root, want;
	const char *last = "";
	json_t *tree = NULL;
	enum berth_code rc = jsonr_parse(text, strlen(text), "fleet", &tree, err);

	if (rc != BERTH_OK)
		return rc;
	root = jsonr_root(tree, "fleet");
	st->arrived = INT64_MIN;
	st->started = true;
	if ((rc = jsonr_int(&root, "had", 0, INT64_MAX, &st->had, err)) == BERTH_OK &&
	    (rc = jsonr_int(&root, "arrived", INT64_MIN, INT64_MAX, &st->arrived, err)) ==
		BERTH_OK &&
	    (rc = jsonr_int(&root, "down_t", INT64_MIN, INT64_MAX, &st->down_t, err)) == BERTH_OK &&
	    (rc = jsonr_int(&root, "down_n", 0, INT64_MAX, &st->down_n, err)) == BERTH_OK &&
	    (rc = jsonr_double(&root, "last", &st->last, err)) == BERTH_OK &&
	    (rc = jsonr_double(&root, "move", &st->move, err)) == BERTH_OK &&
	    (rc = jsonr_double(&root, "swing", &st->swing, err)) == BERTH_OK &&
	    (rc = jsonr_int(&root, "moved", 0, INT64_MAX, &st->moved, err)) == BERTH_OK &&
	    (rc = jsonr_double(&root, "gap", &st->gap, err)) == BERTH_OK &&
	    (rc = jsonr_str(&root, "reason", &last, err)) == BERTH_OK)
		rc = jsonr_array(&root, "want", &want, err);
	snprintf(s->last, sizeof(s->last), "%s", last);
	for (size_t i = 0; rc == BERTH_OK && i < jsonr_len(&want) && i < SCALE_MEMORY; i++) {
		struct jsonr w = jsonr_at(&want, i);

		rc = jsonr_int(&w, "t", INT64_MIN, INT64_MAX, &st->want[i].t, err);
		if (rc == BERTH_OK)
			rc = jsonr_double(&w, "n", &st->want[i].n, err);
		st->n_want = i + 1;
	}
	json_decref(tree);
	return rc;
}

static enum berth_code
scaling_state_load(struct scaling *s, struct berth_err *err)
{
	struct fleet_row *rows;
	size_t n;
	enum berth_code rc = store_fleet_list(s->b->store, s->b->tick_arena, &rows, &n, err);

	for (size_t i = 0; rc == BERTH_OK && i < n; i++)
		if (str_eq(rows[i].name, s->f->name))
			return scaling_state_parse(s, rows[i].state, err);
	return rc;
}

static enum berth_code
scaling_state_keep(struct scaling *s, struct berth_err *err)
{
	struct fleet_row row = { .name = s->f->name, .t = s->b->now };
	const struct scale_state *st = &s->state;
	enum berth_code rc;
	struct buf text;
	struct jsonw w;

	buf_init(&text, SCALING_JSON_MAX);
	jsonw_init_buf(&w, &text, JSONW_COMPACT);
	jsonw_begin_object(&w, NULL);
	jsonw_int(&w, "had", st->had);
	if (st->arrived != INT64_MIN)
		jsonw_int(&w, "arrived", st->arrived);
	jsonw_int(&w, "down_t", st->down_t);
	jsonw_int(&w, "down_n", st->down_n);
	jsonw_double(&w, "last", st->last);
	jsonw_double(&w, "move", st->move);
	jsonw_double(&w, "swing", st->swing);
	jsonw_int(&w, "moved", st->moved);
	jsonw_double(&w, "gap", st->gap);
	jsonw_str(&w, "reason", s->v->reason);
	jsonw_begin_array(&w, "want");
	for (size_t i = 0; i < st->n_want; i++) {
		jsonw_begin_object(&w, NULL);
		jsonw_int(&w, "t", st->want[i].t);
		jsonw_double(&w, "n", st->want[i].n);
		jsonw_end_object(&w);
	}
	jsonw_end_array(&w);
	jsonw_end_object(&w);
	rc = jsonw_finish(&w, err);
	if (rc == BERTH_OK) {
		row.state = text.p;
		rc = store_fleet_put(s->b->store, &row, err);
	}
	buf_free(&text);
	return rc;
}

/* Its own doing, not the cloud's: the work failed, or was over as soon as it began. */
static bool
scaling_crashed(const struct job *j)
{
	return j->state == JOB_FAILED ||
	       (j->state == JOB_DONE && j->finished - j->started < SCALING_SHORT_S);
}

static enum berth_code
scaling_count(struct scaling *s, struct berth_err *err)
{
	struct scale_input *in = &s->v->in;
	const char *const *ids;
	int64_t oldest = INT64_MAX;
	size_t n, crashed = 0;
	enum berth_code rc = store_replica_list(
	    s->b->store, s->f->name, s->b->now - SCALING_CRASH_S, s->b->tick_arena, &ids, &n, err);

	for (size_t i = 0; rc == BERTH_OK && i < n; i++) {
		struct job job;

		rc = store_job_get(s->b->store, ids[i], s->b->tick_arena, &job, err);
		if (rc != BERTH_OK)
			break;
		if ((JOB_BIT(job.state) & JOB_OPEN) != 0)
			VEC_PUSH(s->b->tick_arena, &s->open, job);
		else if (scaling_crashed(&job)) {
			crashed++;
			oldest = job.finished < oldest ? job.finished : oldest;
		}
		in->ready += job.state == JOB_RUNNING;
		in->starting += job.state == JOB_QUEUED || job.state == JOB_PLACED;
		in->waiting += job.state == JOB_QUEUED;
	}
	if (crashed >= SCALING_CRASH_N)
		s->crashed_until = oldest + SCALING_CRASH_S;
	return rc;
}

static enum berth_code
scaling_add(struct scaling *s, int64_t n, struct berth_err *err)
{
	struct broker *b = s->b;
	struct job_spec spec;
	const char *id;
	enum berth_code rc = jobspec_load(s->f->job, b->accels, b->now, b->tick_arena, &spec, err);

	if (rc == BERTH_OK)
		rc = job_defaults_fill(&b->job_defaults, s->f->job, b->tick_arena, &spec, err);
	if (rc != BERTH_OK)
		return err_ctx(err, "fleet %s", s->f->name);
	for (int64_t i = 0; rc == BERTH_OK && i < n; i++) {
		rc = store_job_insert(b->store, &spec, b->now, b->tick_arena, &id, err);
		if (rc == BERTH_OK)
			rc = store_replica_insert(b->store, s->f->name, id, err);
		if (rc == BERTH_OK)
			rc = broker_event(b, err, "job.submitted", id, id, NULL,
			    "%s, a replica of fleet %s", spec.name, s->f->name);
	}
	return rc;
}

static bool
scaling_goes_before(const struct job *a, const struct job *b)
{
	if (a->state != b->state) /* queued, placed, running: what costs least to stop */
		return a->state < b->state;
	if (a->started != b->started)
		return a->started > b->started;
	return strcmp(a->id, b->id) > 0;
}

static enum berth_code
scaling_take(struct scaling *s, int64_t n, struct berth_err *err)
{
	struct broker *b = s->b;
	enum berth_code rc = BERTH_OK;

	for (; rc == BERTH_OK && n > 0 && s->open.n > 0; n--) {
		size_t k = 0;

		for (size_t i = 1; i < s->open.n; i++)
			if (scaling_goes_before(&s->open.v[i], &s->open.v[k]))
				k = i;
		s->open.v[k].state = JOB_CANCELLED;
		s->open.v[k].reason =
		    arena_printf(b->tick_arena, "fleet %s needs fewer replicas", s->f->name);
		s->open.v[k].finished = b->now;
		rc = store_job_update(b->store, &s->open.v[k], JOB_OPEN, err);
		if (rc == BERTH_OK)
			rc = broker_event(b, err, "job.cancelled", s->open.v[k].id, s->open.v[k].id,
			    NULL, "%s", s->open.v[k].reason);
		s->open.v[k] = s->open.v[--s->open.n];
	}
	return rc;
}

static enum berth_code
scaling_record(struct scaling *s, struct berth_err *err)
{
	struct decision d = { .t = s->b->now, .kind = "scale", .subject = s->f->name };
	enum berth_code rc;
	struct buf text;
	struct jsonw w;
	int64_t id;

	if (s->v->change == 0 && str_eq(s->last, s->v->reason))
		return BERTH_OK;
	buf_init(&text, SCALING_JSON_MAX);
	jsonw_init_buf(&w, &text, JSONW_COMPACT);
	jsonw_begin_object(&w, NULL);
	scaling_json(&w, s->v);
	jsonw_end_object(&w);
	rc = jsonw_finish(&w, err);
	if (rc == BERTH_OK) {
		d.json = text.p;
		rc = store_decision_insert(s->b->store, &d, &id, err);
	}
	buf_free(&text);
	if (rc == BERTH_OK && (s->v->change != 0 || s->v->failing || s->v->missing[0] != '\0'))
		rc = broker_event(s->b, err,
		    s->v->change != 0 ? "fleet.scaled"
		    : s->v->failing   ? "fleet.failing"
				      : "fleet.no_metric",
		    arena_printf(s->b->tick_arena, "fleet:%s", s->f->name), "", NULL, "%s",
		    s->v->why);
	return rc;
}

static enum berth_code
scaling_apply(struct scaling *s, struct berth_err *err)
{
	enum berth_code rc = BERTH_OK;

	if (s->v->change > 0)
		rc = scaling_add(s, s->v->change, err);
	else if (s->v->change < 0)
		rc = scaling_take(s, -s->v->change, err);
	if (rc == BERTH_OK)
		rc = scaling_state_keep(s, err);
	return rc == BERTH_OK ? scaling_record(s, err) : rc;
}

static void
scaling_limits(const struct scaling *s)
{
	const struct scaling_fleet *f = s->f;
	struct scaling_view *v = s->v;
	const struct scale_hours *h =
	    f->n_hours > 0 ? scale_hours_at(f->hours, f->n_hours, f->tz, s->b->now) : NULL;

	v->hours = h != NULL ? h->text : NULL;
	if (f->n_hours > 0) {
		scale_hours_apply(f->hours, f->n_hours, f->tz, s->b->now, &v->rule);
		v->next =
		    scale_hours_next(f->hours, f->n_hours, f->tz, s->b->now, &f->rule, &v->then);
	}
	v->headroom = scaling_headroom_text(s->b->tick_arena, &v->rule.headroom);
}

/* How many accelerators a replica has, where headroom is told in them. */
static enum berth_code
scaling_gpus_of(const struct scaling *s, struct berth_err *err)
{
	struct job_spec spec;
	enum berth_code rc;

	if (!s->f->headroom_gpus)
		return BERTH_OK;
	rc = jobspec_load(s->f->job, s->b->accels, s->b->now, s->b->tick_arena, &spec, err);
	if (rc != BERTH_OK)
		return err_ctx(err, "fleet %s", s->f->name);
	s->v->rule.gpus = scaling_gpus_least(&spec);
	return BERTH_OK;
}

/* What the forecast tells at the headroom's percentile; one that tells nothing is said. */
static enum berth_code
scaling_headroom(struct scaling *s, struct berth_err *err)
{
	struct scaling_view *v = s->v;
	int64_t percentile = v->rule.headroom.percentile;
	const char *why = "";
	enum berth_code rc;

	if (percentile == 0)
		return BERTH_OK;
	rc = scaling_least(s->b, s->f, percentile, &v->in.least, &v->in.least_soon, &why, err);
	if (rc != BERTH_OK || why[0] == '\0')
		return rc;
	v->note = arena_printf(s->b->tick_arena,
	    "%s%sheadroom p%lld adds no replica and takes none away: %s", v->note,
	    v->note[0] != '\0' ? "; " : "", (long long)percentile, why);
	return BERTH_OK;
}

static enum berth_code
scaling_decide(struct scaling *s, struct berth_err *err)
{
	struct scaling_view *v = s->v;
	enum berth_code rc = scaling_state_load(s, err);

	v->rule = s->f->rule;
	if (rc == BERTH_OK)
		rc = scaling_count(s, err);
	if (rc == BERTH_OK)
		rc = scaling_gpus_of(s, err);
	if (rc != BERTH_OK)
		return rc;
	scaling_limits(s);
	if ((rc = scaling_headroom(s, err)) != BERTH_OK)
		return rc;
	scale_step(&v->rule, &s->state, &v->in, &v->d);
	v->change = v->d.target - v->in.ready - v->in.starting;
	v->failing = v->change > 0 && s->crashed_until > s->b->now;
	if (v->failing) {
		v->change = 0;
		v->d.target = v->in.ready + v->in.starting;
	}
	v->reason = v->failing ? "failing" : scale_reason_name(v->d.reason);
	scaling_say(s->b, v, &s->state, s->crashed_until);
	return BERTH_OK;
}

/* Machines that must not go; one that is not known keeps all of them. */
static enum berth_code
scaling_metrics(
    struct broker *b, const struct scaling_fleet *f, struct scaling_view *v, struct berth_err *err)
{
	double queued = NAN, more = NAN, busy = NAN;
	const char *why[3] = { "", "", "" };
	enum berth_code rc = scaling_metric(b, f, &f->load, &v->in.load, &queued, &v->missing, err);

	if (rc == BERTH_OK)
		rc = scaling_metric(b, f, &f->backlog, &more, &queued, &why[0], err);
	if (rc == BERTH_OK)
		rc = scaling_metric(b, f, &f->busy, &busy, &queued, &why[1], err);
	if (rc == BERTH_OK)
		rc = scaling_forecast(b, f, &v->in.forecast, &v->in.soon, &why[2], err);
	if (rc != BERTH_OK)
		return rc;
	v->in.queued = isfinite(more) ? more : queued;
	if (f->busy.kind != SCALING_NONE)
		v->in.busy = isfinite(busy) && busy < 1e9 ? (int64_t)ceil(busy) : INT64_MAX / 4;
	for (size_t i = 0; i < 3; i++)
		if (why[i][0] != '\0')
			v->note = v->note[0] == '\0'
				      ? why[i]
				      : arena_printf(b->tick_arena, "%s; %s", v->note, why[i]);
	return BERTH_OK;
}

enum berth_code
scaling_step(struct broker *b, const struct scaling_fleet *f, bool apply, struct scaling_view *v,
    struct berth_err *err)
{
	struct scaling s = { .b = b, .f = f, .v = v };
	enum berth_code rc;

	*v = (struct scaling_view){ .fleet = f,
		.missing = "",
		.note = "",
		.in = { .t = b->now,
		    .load = NAN,
		    .forecast = NAN,
		    .soon = NAN,
		    .least = NAN,
		    .least_soon = NAN } };
	rc = scaling_metrics(b, f, v, err);
	if (rc != BERTH_OK || !apply)
		return rc == BERTH_OK ? scaling_decide(&s, err) : rc;
	rc = store_begin(b->store, err);
	if (rc != BERTH_OK)
		return rc;
	rc = scaling_decide(&s, err);
	if (rc == BERTH_OK)
		rc = scaling_apply(&s, err);
	if (rc == BERTH_OK)
		return store_commit(b->store, err);
	store_rollback(b->store);
	return rc;
}

enum berth_code
scaling_left(struct broker *b, const struct scaling_fleet *fs, size_t n,
    const char *const **names_out, size_t *n_out, struct berth_err *err)
{
	VEC(const char *) left = { NULL, 0, 0 };
	struct fleet_row *rows;
	size_t n_rows;
	enum berth_code rc = store_fleet_list(b->store, b->tick_arena, &rows, &n_rows, err);

	for (size_t i = 0; rc == BERTH_OK && i < n_rows; i++) {
		const char *const *ids;
		size_t k = 0, n_ids;

		while (k < n && !str_eq(fs[k].name, rows[i].name))
			k++;
		if (k < n)
			continue;
		rc = store_replica_list(
		    b->store, rows[i].name, INT64_MAX, b->tick_arena, &ids, &n_ids, err);
		if (rc == BERTH_OK && n_ids > 0)
			VEC_PUSH(b->tick_arena, &left, rows[i].name);
	}
	*names_out = left.v;
	*n_out = left.n;
	return rc;
}

/* A fault of one fleet (its job file, its state) is counted and said; the others and the other
 * passes go on. */
enum berth_code
pass_scale(struct broker *b, struct berth_err *err)
{
	enum berth_code rc = BERTH_OK;

	for (size_t i = 0; i < b->n_fleets; i++) {
		struct scaling_view v;

		rc = scaling_step(b, &b->fleets[i], true, &v, err);
		if (rc == BERTH_EINVAL || rc == BERTH_ENOTFOUND || rc == BERTH_EIO) {
			b->counts.errors++;
			log_warn(b->log, "fleet %s: %s%s%s", b->fleets[i].name, err->where,
			    err->where[0] != '\0' ? ": " : "", err->msg);
			rc = BERTH_OK;
			continue;
		}
		if (rc != BERTH_OK)
			return rc;
		b->counts.scaled_up += v.change > 0 ? v.change : 0;
		b->counts.scaled_down -= v.change < 0 ? v.change : 0;
		if (v.note[0] != '\0')
			log_info(b->log, "fleet %s: %s", b->fleets[i].name, v.note);
	}
	return rc;
}
