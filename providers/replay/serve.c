#include <limits.h>
#include <math.h>
#include <string.h>

#include "providers/inproc.h"
#include "providers/replay/measure.h"
#include "providers/replay/serve.h"
#include "providers/prov.h"
#include "providers/replay/state.h"
#include "util/arena.h"
#include "util/buf.h"
#include "util/fileio.h"
#include "util/json.h"
#include "util/lock.h"
#include "util/str.h"

#define SERVE_LOCK_WAIT_MS 60000
#define SERVE_BODY_MAX ((size_t)16 * 1024 * 1024)

/* One request being answered. */
struct serve {
	const struct serve_world *world;
	const struct http_req *req;
	struct cloud cloud;
	struct arena *a;
	struct buf body;
	struct jsonw w;
	int status;
	bool changed;
	char **path; /* [n_path] parts behind replay:// */
	size_t n_path;
};

static void
serve_refuse(struct serve *s, int status, const char *code, const char *message)
{
	buf_clear(&s->body);
	jsonw_init_buf(&s->w, &s->body, JSONW_COMPACT);
	inproc_error_write(&s->w, code, message);
	s->status = status;
}

static bool
serve_is_method(const struct serve *s, const char *method)
{
	return str_eq(s->req->method != NULL ? s->req->method : "GET", method);
}

static void
serve_machine(struct serve *s, const char *key, const struct cloud_machine *m)
{
	struct prov_machine p;

	cloud_describe(&s->cloud, m, &p);
	inproc_machine_write(&s->w, key, &p);
}

static void
serve_one_machine(struct serve *s, const struct cloud_machine *m, int status)
{
	jsonw_begin_object(&s->w, NULL);
	serve_machine(s, "machine", m);
	jsonw_end_object(&s->w);
	s->status = status;
}

static void
serve_list(struct serve *s, bool noticed_only)
{
	jsonw_begin_object(&s->w, NULL);
	jsonw_begin_array(&s->w, "machines");
	for (size_t i = 0; i < s->cloud.machines.n; i++) {
		const struct cloud_machine *m = &s->cloud.machines.v[i];

		if (!noticed_only || (m->notice_at != 0 && m->notice_at <= s->cloud.clock))
			serve_machine(s, NULL, m);
	}
	jsonw_end_array(&s->w);
	jsonw_end_object(&s->w);
	s->status = 200;
}

static void
serve_offer_head(struct serve *s, const struct trace_pool *p, enum purchase purchase)
{
	struct jsonw *w = &s->w;

	jsonw_begin_object(w, NULL);
	jsonw_str(w, "provider", p->provider);
	jsonw_str(w, "region", p->region);
	jsonw_str_or_null(w, "zone", p->zone);
	jsonw_str(w, "instance_type", p->instance_type);
	jsonw_str(w, "accelerator", p->accelerator);
	jsonw_int(w, "accelerator_count", p->accelerator_count);
	jsonw_double(w, "accelerator_memory_gib", p->accelerator_memory_gib);
	jsonw_double(w, "vcpus", p->vcpus);
	jsonw_double(w, "memory_gib", p->memory_gib);
	jsonw_str(w, "purchase", purchase_name(purchase));
}

static void
serve_market(struct serve *s, size_t pool, enum purchase purchase)
{
	const struct trace_pool *p = &s->world->trace->pools[pool];
	const struct trace_market *m = &p->market[purchase];
	struct usd_micro price = USD_UNKNOWN;

	if (!m->sold)
		return;
	if (usd_from_double(curve_at(&m->price, s->cloud.clock), &price, NULL) != BERTH_OK ||
	    price.v <= 0)
		price = USD_UNKNOWN;
	serve_offer_head(s, p, purchase);
	jsonw_money(&s->w, "price_per_hour", price);
	if (m->shown)
		jsonw_bool(&s->w, "available", cloud_room(&s->cloud, pool, purchase) > 0);
	else
		jsonw_null(&s->w, "available");
	jsonw_double(&s->w, "interruption_rate", m->interruption_rate);
	jsonw_end_object(&s->w);
}

static void
serve_offers(struct serve *s)
{
	const struct trace *t = s->world->trace;

	jsonw_begin_object(&s->w, NULL);
	jsonw_str(&s->w, "source", t->source);
	jsonw_time(&s->w, "as_of", s->cloud.clock);
	jsonw_begin_array(&s->w, "offers");
	for (size_t i = 0; i < t->n_pools; i++) {
		serve_market(s, i, PURCHASE_ON_DEMAND);
		serve_market(s, i, PURCHASE_SPOT);
		for (size_t k = 0; k < t->pools[i].n_reserved; k++) {
			const struct trace_reserved *r = &t->pools[i].reserved[k];

			serve_offer_head(s, &t->pools[i], PURCHASE_RESERVED);
			jsonw_int(&s->w, "term_months", r->term_months);
			jsonw_str(&s->w, "payment", payment_name(r->payment));
			jsonw_money(&s->w, "upfront", r->upfront);
			jsonw_money(&s->w, "price_per_hour", r->price);
			jsonw_end_object(&s->w);
		}
	}
	jsonw_end_array(&s->w);
	jsonw_end_object(&s->w);
	s->status = 200;
}

static void
serve_quotas(struct serve *s)
{
	jsonw_begin_object(&s->w, NULL);
	jsonw_begin_array(&s->w, "quotas");
	for (size_t i = 0; i < s->world->trace->n_quotas; i++) {
		const struct trace_quota *q = &s->world->trace->quotas[i];

		jsonw_begin_object(&s->w, NULL);
		jsonw_str(&s->w, "provider", q->provider);
		jsonw_str(&s->w, "region", q->region);
		jsonw_str(&s->w, "accelerator", q->accelerator);
		jsonw_str(&s->w, "purchase", purchase_name(q->purchase));
		jsonw_int(&s->w, "limit", q->limit);
		jsonw_int(&s->w, "used", cloud_quota_used(&s->cloud, q));
		jsonw_end_object(&s->w);
	}
	jsonw_end_array(&s->w);
	jsonw_end_object(&s->w);
	s->status = 200;
}

static enum berth_code
serve_read_create(const struct jsonr *o, struct cloud_create *want, struct berth_err *err)
{
	static const char *const needed[] = { "token", "installation", "provider", "region",
		"instance_type", "purchase", NULL };
	const char *purchase = "";
	enum berth_code rc;

	memset(want, 0, sizeof(*want));
	want->zone = "";
	if ((rc = jsonr_need(o, needed, err)) != BERTH_OK ||
	    (rc = jsonr_str(o, "token", &want->token, err)) != BERTH_OK ||
	    (rc = jsonr_str(o, "installation", &want->installation, err)) != BERTH_OK ||
	    (rc = jsonr_str(o, "provider", &want->provider, err)) != BERTH_OK ||
	    (rc = jsonr_str(o, "region", &want->region, err)) != BERTH_OK ||
	    (rc = jsonr_str(o, "zone", &want->zone, err)) != BERTH_OK ||
	    (rc = jsonr_str(o, "instance_type", &want->instance_type, err)) != BERTH_OK ||
	    (rc = jsonr_str(o, "purchase", &purchase, err)) != BERTH_OK)
		return rc;
	if (!purchase_parse(purchase, &want->purchase))
		return err_set(err, BERTH_EINVAL, "purchase '%s'", purchase);
	return BERTH_OK;
}

static void
serve_create(struct serve *s, const struct jsonr *body)
{
	struct cloud_create want;
	struct berth_err err;
	size_t i = SIZE_MAX;

	if (serve_read_create(body, &want, &err) != BERTH_OK) {
		serve_refuse(s, 400, "bad_request", err.msg);
		return;
	}
	if (s->world->state_path[0] == '\0') {
		serve_refuse(s, 400, "bad_request", "no folder for the state of machines");
		return;
	}
	switch (cloud_create(&s->cloud, &want, &i)) {
	case CLOUD_MADE:
		s->changed = true;
		serve_one_machine(s, &s->cloud.machines.v[i], 201);
		return;
	case CLOUD_SAME:
		serve_one_machine(s, &s->cloud.machines.v[i], 200);
		return;
	case CLOUD_MISMATCH:
		serve_refuse(s, 409, "token_mismatch",
		    "the token belongs to a machine with other parameters");
		return;
	case CLOUD_NO_POOL:
		serve_refuse(s, 400, "unknown_type", "no such machine is sold here");
		return;
	case CLOUD_NO_CAPACITY:
		serve_refuse(s, 503, "no_capacity", "no machine of this kind is free now");
		return;
	case CLOUD_QUOTA:
		serve_refuse(s, 403, "quota_exceeded", "the account's quota is used up");
		return;
	}
}

static void
serve_run(struct serve *s, const struct cloud_machine *m)
{
	struct prov_run r;

	cloud_job_state(&s->cloud, m, &r);
	jsonw_begin_object(&s->w, NULL);
	jsonw_str(&s->w, "job", m->job.id);
	jsonw_str(&s->w, "state", prov_run_state_name(r.state));
	jsonw_double(&s->w, "progress", r.progress);
	jsonw_double(&s->w, "safe_progress", r.safe_progress);
	jsonw_time_or_null(&s->w, "started", r.started);
	jsonw_time_or_null(&s->w, "ended", r.ended);
	jsonw_time_or_null(&s->w, "notice_at", r.notice_at);
	jsonw_time_or_null(&s->w, "reclaim_at", r.reclaim_at);
	jsonw_int(&s->w, "exit_status", r.exit_status);
	jsonw_str_or_null(&s->w, "detail", r.detail);
	jsonw_end_object(&s->w);
	s->status = 200;
}

static enum berth_code
serve_read_job(const struct jsonr *o, struct prov_job *j, struct berth_err *err)
{
	static const char *const needed[] = { "job", "work_hours", NULL };
	enum berth_code rc;

	memset(j, 0, sizeof(*j));
	if ((rc = jsonr_need(o, needed, err)) != BERTH_OK ||
	    (rc = jsonr_str(o, "job", &j->job_id, err)) != BERTH_OK ||
	    (rc = jsonr_double(o, "work_hours", &j->work_hours, err)) != BERTH_OK ||
	    (rc = jsonr_double(o, "progress", &j->progress, err)) != BERTH_OK ||
	    (rc = jsonr_int(o, "checkpoint_interval_s", 0, INT_MAX, &j->checkpoint_interval_s,
		 err)) != BERTH_OK ||
	    (rc = jsonr_int(o, "checkpoint_write_s", 0, INT_MAX, &j->checkpoint_write_s, err)) !=
		BERTH_OK ||
	    (rc = jsonr_int(o, "restart_s", 0, INT_MAX, &j->restart_s, err)) != BERTH_OK)
		return rc;
	if (!(j->work_hours > 0 && j->work_hours < 1e7) || !(j->progress >= 0 && j->progress < 1))
		return err_set(err, BERTH_EINVAL, "work or progress out of range");
	return BERTH_OK;
}

static void
serve_start(struct serve *s, size_t machine, const struct jsonr *body)
{
	struct prov_job job;
	struct berth_err err;

	if (serve_read_job(body, &job, &err) != BERTH_OK)
		serve_refuse(s, 400, "bad_request", err.msg);
	else if (!cloud_job_start(&s->cloud, machine, &job))
		serve_refuse(s, 409, "conflict", "the machine is not up, or another job is on it");
	else {
		s->changed = true;
		serve_run(s, &s->cloud.machines.v[machine]);
	}
}

/* A new interval for the job; false: refused. */
static bool
serve_tell(struct serve *s, size_t machine, const struct jsonr *body)
{
	static const char *const needed[] = { "checkpoint_interval_s", NULL };
	struct berth_err err;
	int64_t interval = 0;

	if (jsonr_need(body, needed, &err) != BERTH_OK ||
	    jsonr_int(body, needed[0], 1, INT_MAX, &interval, &err) != BERTH_OK) {
		serve_refuse(s, 400, "bad_request", err.msg);
		return false;
	}
	if (cloud_job_tell(&s->cloud, machine, interval))
		s->changed = true;
	return true;
}

/* /machines/ID/job and /machines/ID/job/JOB */
static void
serve_job(struct serve *s, size_t machine, const struct jsonr *body)
{
	const struct cloud_machine *m = &s->cloud.machines.v[machine];

	if (s->n_path == 3 && serve_is_method(s, "POST")) {
		serve_start(s, machine, body);
		return;
	}
	if (s->n_path != 4 || m->job.id == NULL || !str_eq(m->job.id, s->path[3])) {
		serve_refuse(s, 404, "not_found", "no such job on this machine");
		return;
	}
	if (serve_is_method(s, "PUT") && !serve_tell(s, machine, body))
		return;
	if (serve_is_method(s, "DELETE")) {
		cloud_job_stop(&s->cloud, machine);
		s->changed = true;
	}
	serve_run(s, m);
}

static void
serve_measure(struct serve *s, const struct cloud_machine *m)
{
	struct prov_machine p;

	cloud_describe(&s->cloud, m, &p);
	if ((p.state != PROV_READY && p.state != PROV_NOTICED) || m->pool == SIZE_MAX) {
		serve_refuse(s, 409, "conflict", "the machine is not up");
		return;
	}
	if (measure_write(&s->cloud, m, s->world->accels, s->world->refs, &s->body, NULL) !=
	    BERTH_OK)
		serve_refuse(s, 500, "internal", "the result does not fit");
	else
		s->status = 200;
}

static void
serve_machines(struct serve *s, const struct jsonr *body)
{
	size_t i;

	if (s->n_path == 1) {
		if (serve_is_method(s, "POST"))
			serve_create(s, body);
		else
			serve_list(s, false);
		return;
	}
	i = cloud_find(&s->cloud, s->path[1]);
	if (i == SIZE_MAX) {
		serve_refuse(s, 404, "not_found", "no such machine");
		return;
	}
	if (s->n_path >= 3 && str_eq(s->path[2], "job")) {
		serve_job(s, i, body);
		return;
	}
	if (s->n_path == 3 && str_eq(s->path[2], "measure")) {
		serve_measure(s, &s->cloud.machines.v[i]);
		return;
	}
	if (serve_is_method(s, "DELETE")) {
		cloud_destroy(&s->cloud, i);
		s->changed = true;
	}
	serve_one_machine(s, &s->cloud.machines.v[i], 200);
}

static void
serve_route(struct serve *s, const struct jsonr *body)
{
	const char *what = s->n_path > 0 ? s->path[0] : "";

	if (str_eq(what, "offers"))
		serve_offers(s);
	else if (str_eq(what, "quotas"))
		serve_quotas(s);
	else if (str_eq(what, "notices"))
		serve_list(s, true);
	else if (str_eq(what, "machines"))
		serve_machines(s, body);
	else
		serve_refuse(s, 404, "not_found", "no such path");
}

static enum berth_code
serve_locked(struct serve *s, struct berth_err *err)
{
	const struct serve_world *w = s->world;
	json_t *root = NULL;
	struct jsonr body;
	enum berth_code rc;

	s->cloud = (struct cloud){ .trace = w->trace, .seed = w->seed, .arena = s->a, .next = 1 };
	if (w->state_path[0] != '\0' &&
	    (rc = state_load(w->state_path, w->kept, &s->cloud, err)) != BERTH_OK)
		return rc;
	if (s->req->body != NULL &&
	    (rc = jsonr_parse(s->req->body, s->req->body_len, "request", &root, err)) != BERTH_OK)
		return rc;
	cloud_advance(&s->cloud, w->now);
	body = jsonr_root(root, "request");
	serve_route(s, &body);
	rc = jsonw_finish(&s->w, err);
	if (rc == BERTH_OK && s->changed)
		rc = state_save(w->state_path, &s->cloud, err);
	json_decref(root);
	return rc;
}

enum berth_code
serve(const struct serve_world *world, const struct http_req *req, struct http_resp *resp,
    struct berth_err *err)
{
	struct serve s = { .world = world, .req = req, .a = arena_new() };
	struct lockfile lock = LOCKFILE_NONE;
	const char *path = strstr(req->url, "://");
	enum berth_code rc = BERTH_OK;

	buf_init(&s.body, SERVE_BODY_MAX);
	jsonw_init_buf(&s.w, &s.body, JSONW_COMPACT);
	s.path = str_split(s.a, path != NULL ? path + 3 : req->url, '/', &s.n_path);
	if (world->state_path[0] != '\0') {
		if (!fileio_exists(world->state_path))
			rc = fileio_mkdirs_for(world->state_path, err);
		if (rc == BERTH_OK)
			rc = lockfile_take(arena_printf(s.a, "%s.lock", world->state_path),
			    SERVE_LOCK_WAIT_MS, &lock, err);
	}
	if (rc == BERTH_OK)
		rc = serve_locked(&s, err);
	lockfile_release(&lock);
	if (rc == BERTH_OK) {
		resp->status = s.status;
		resp->body = arena_strndup(req->arena, s.body.p, s.body.len);
		resp->body_len = s.body.len;
	}
	buf_free(&s.body);
	arena_free(s.a);
	return rc;
}
