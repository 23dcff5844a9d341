#include <stdio.h>
#include <string.h>

#include "providers/inproc.h"
#include "providers/static/static.h"
#include "util/arena.h"
#include "util/buf.h"
#include "util/fileio.h"
#include "util/json.h"
#include "util/lock.h"
#include "util/str.h"

#define STATIC_STATE_MAX ((size_t)4 * 1024 * 1024)
#define STATIC_LOCK_WAIT_MS 60000

/* Who holds a machine; token NULL: it is free. */
struct static_lease {
	const char *token, *installation;
	int64_t since;
};

struct static_serve {
	const struct static_account *acc;
	const struct http_req *req;
	struct arena *a;
	struct static_lease *leases; /* [acc->n_machines] */
	struct buf body;
	struct jsonw w;
	int status;
	bool changed;
};

static enum berth_code
static_lease_read(struct static_serve *s, const struct jsonr *o, struct berth_err *err)
{
	const char *name = "", *token = "", *installation = "";
	int64_t since = 0;
	enum berth_code rc;

	if ((rc = jsonr_str(o, "machine", &name, err)) != BERTH_OK ||
	    (rc = jsonr_str(o, "token", &token, err)) != BERTH_OK ||
	    (rc = jsonr_str(o, "installation", &installation, err)) != BERTH_OK ||
	    (rc = jsonr_int(o, "since", 0, INT64_MAX / 2, &since, err)) != BERTH_OK)
		return rc;
	for (size_t i = 0; i < s->acc->n_machines; i++)
		if (str_eq(s->acc->machines[i].name, name))
			s->leases[i] = (struct static_lease){ arena_strdup(s->a, token),
				arena_strdup(s->a, installation), since };
	return BERTH_OK;
}

static enum berth_code
static_state_load(struct static_serve *s, struct berth_err *err)
{
	const char *path = s->acc->state_path;
	struct jsonr root, list, item;
	json_t *v = NULL;
	struct buf b;
	enum berth_code rc;

	if (path[0] == '\0' || !fileio_exists(path))
		return BERTH_OK;
	buf_init(&b, STATIC_STATE_MAX);
	if ((rc = fileio_read(path, &b, err)) == BERTH_OK)
		rc = jsonr_parse(b.p, b.len, path, &v, err);
	root = jsonr_root(v, path);
	if (rc == BERTH_OK)
		rc = jsonr_array(&root, "leases", &list, err);
	for (size_t i = 0; rc == BERTH_OK && i < jsonr_len(&list); i++) {
		item = jsonr_at(&list, i);
		rc = static_lease_read(s, &item, err);
	}
	json_decref(v);
	buf_free(&b);
	return rc;
}

static enum berth_code
static_state_save(struct static_serve *s, struct berth_err *err)
{
	struct jsonw w;
	struct buf b;
	enum berth_code rc;

	buf_init(&b, STATIC_STATE_MAX);
	jsonw_init_buf(&w, &b, JSONW_PRETTY);
	jsonw_begin_object(&w, NULL);
	jsonw_str(&w, "schema", "berth.static-state/1");
	jsonw_begin_array(&w, "leases");
	for (size_t i = 0; i < s->acc->n_machines; i++) {
		if (s->leases[i].token == NULL)
			continue;
		jsonw_begin_object(&w, NULL);
		jsonw_str(&w, "machine", s->acc->machines[i].name);
		jsonw_str(&w, "token", s->leases[i].token);
		jsonw_str(&w, "installation", s->leases[i].installation);
		jsonw_int(&w, "since", s->leases[i].since);
		jsonw_end_object(&w);
	}
	jsonw_end_array(&w);
	jsonw_end_object(&w);
	rc = jsonw_finish(&w, err);
	if (rc == BERTH_OK)
		rc = atomicfile_write(s->acc->state_path, b.p, b.len, 0600, err);
	buf_free(&b);
	return rc;
}

/* A lease has a name of its own: the same machine, lent again, is another lease. */
static void
static_ref(const struct static_serve *s, size_t i, char *dst, size_t size)
{
	const char *token = s->leases[i].token;

	snprintf(dst, size, "%s%s%.8s", s->acc->machines[i].name, token != NULL ? "~" : "",
	    token != NULL ? token : "");
}

static void
static_describe(const struct static_serve *s, size_t i, struct prov_machine *m)
{
	const struct static_machine *own = &s->acc->machines[i];
	const struct static_lease *l = &s->leases[i];

	memset(m, 0, sizeof(*m));
	static_ref(s, i, m->ref, sizeof(m->ref));
	str_copy(m->instance_type, sizeof(m->instance_type), own->instance_type);
	str_copy(m->region, sizeof(m->region), own->region);
	str_copy(m->zone, sizeof(m->zone), own->zone);
	m->purchase = PURCHASE_ON_DEMAND;
	m->state = l->token != NULL ? PROV_READY : PROV_GONE;
	if (l->token == NULL)
		return;
	str_copy(m->address, sizeof(m->address), own->address);
	str_copy(m->token, sizeof(m->token), l->token);
	str_copy(m->installation, sizeof(m->installation), l->installation);
	m->created = m->ready_at = l->since;
}

static void
static_refuse(struct static_serve *s, int status, const char *code, const char *message)
{
	inproc_error_write(&s->w, code, message);
	s->status = status;
}

static void
static_answer(struct static_serve *s, const struct prov_machine *m)
{
	jsonw_begin_object(&s->w, NULL);
	inproc_machine_write(&s->w, "machine", m);
	jsonw_end_object(&s->w);
	s->status = 200;
}

static bool
static_fits(const struct static_machine *m, const char *region, const char *zone, const char *type)
{
	return str_eq(m->region, region) && str_eq(m->zone, zone) && str_eq(m->instance_type, type);
}

/* Whether a lease that went badly was of this machine: "NAME~..." */
static bool
static_avoided(const struct static_machine *m, const struct jsonr *avoid)
{
	size_t n = strlen(m->name);

	for (size_t i = 0; i < jsonr_len(avoid); i++) {
		const char *ref = json_string_value(jsonr_at(avoid, i).v);

		if (ref != NULL && strncmp(ref, m->name, n) == 0 &&
		    (ref[n] == '~' || ref[n] == '\0'))
			return true;
	}
	return false;
}

static void
static_create(struct static_serve *s, const struct jsonr *o)
{
	const char *token = "", *installation = "", *region = "", *zone = "", *type = "";
	const char *bad = NULL;
	struct prov_machine m;
	struct jsonr avoid;
	bool known = false;

	if (jsonr_str(o, "token", &token, NULL) != BERTH_OK ||
	    jsonr_str(o, "installation", &installation, NULL) != BERTH_OK ||
	    jsonr_str(o, "region", &region, NULL) != BERTH_OK ||
	    jsonr_str(o, "zone", &zone, NULL) != BERTH_OK ||
	    jsonr_str(o, "instance_type", &type, NULL) != BERTH_OK ||
	    jsonr_array(o, "avoid", &avoid, NULL) != BERTH_OK || token[0] == '\0' ||
	    s->acc->state_path[0] == '\0') {
		static_refuse(
		    s, 400, "bad_request", "no token, or no folder for the state of machines");
		return;
	}
	for (size_t i = 0; i < s->acc->n_machines; i++)
		if (s->leases[i].token != NULL && str_eq(s->leases[i].token, token)) {
			static_describe(s, i, &m);
			if (static_fits(&s->acc->machines[i], region, zone, type))
				static_answer(s, &m);
			else
				static_refuse(s, 409, "token_mismatch",
				    "the token belongs to a machine of another kind");
			return;
		}
	for (size_t i = 0; i < s->acc->n_machines; i++) {
		if (!static_fits(&s->acc->machines[i], region, zone, type))
			continue;
		known = true;
		if (s->leases[i].token != NULL)
			continue;
		if (static_avoided(&s->acc->machines[i], &avoid)) {
			bad = s->acc->machines[i].name;
			continue;
		}
		s->leases[i] = (struct static_lease){ arena_strdup(s->a, token),
			arena_strdup(s->a, installation), s->acc->env->now };
		s->changed = true;
		static_describe(s, i, &m);
		static_answer(s, &m);
		return;
	}
	if (bad != NULL)
		static_refuse(s, 503, "no_capacity",
		    arena_printf(s->a,
			"of this kind only machines are free that were found bad within the last "
			"hour (%s)",
			bad));
	else if (known)
		static_refuse(s, 503, "no_capacity", "every machine of this kind is taken");
	else
		static_refuse(s, 400, "unknown_type", "no such machine in berth.yaml");
}

static void
static_one(struct static_serve *s, const char *ref, bool destroy)
{
	struct prov_machine m;

	for (size_t i = 0; i < s->acc->n_machines; i++) {
		static_describe(s, i, &m);
		if (s->leases[i].token == NULL || !str_eq(m.ref, ref))
			continue;
		if (destroy) {
			s->leases[i] = (struct static_lease){ 0 };
			s->changed = true;
			m.state = PROV_GONE;
		}
		static_answer(s, &m);
		return;
	}
	static_refuse(s, 404, "not_found", "there is no such lease");
}

static void
static_list(struct static_serve *s)
{
	struct prov_machine m;

	jsonw_begin_object(&s->w, NULL);
	jsonw_begin_array(&s->w, "machines");
	for (size_t i = 0; i < s->acc->n_machines; i++)
		if (s->leases[i].token != NULL) {
			static_describe(s, i, &m);
			inproc_machine_write(&s->w, NULL, &m);
		}
	jsonw_end_array(&s->w);
	jsonw_end_object(&s->w);
	s->status = 200;
}

/* For each machine whether it is free: the offers' availability; the rest of an offer stands in
 * berth.yaml. */
static void
static_offers(struct static_serve *s)
{
	jsonw_begin_object(&s->w, NULL);
	jsonw_begin_array(&s->w, "free");
	for (size_t i = 0; i < s->acc->n_machines; i++)
		jsonw_bool(&s->w, NULL, s->leases[i].token == NULL);
	jsonw_end_array(&s->w);
	jsonw_end_object(&s->w);
	s->status = 200;
}

static enum berth_code
static_route(struct static_serve *s, struct berth_err *err)
{
	const char *path = s->req->url + strlen("static://");
	const char *method = s->req->method != NULL ? s->req->method : "GET";
	struct jsonr body;
	json_t *v = NULL;
	enum berth_code rc;

	if (s->req->body != NULL &&
	    (rc = jsonr_parse(s->req->body, s->req->body_len, "request", &v, err)) != BERTH_OK)
		return rc;
	body = jsonr_root(v, "request");
	if (str_eq(path, "offers"))
		static_offers(s);
	else if (str_eq(path, "machines") && str_eq(method, "POST"))
		static_create(s, &body);
	else if (str_eq(path, "machines"))
		static_list(s);
	else if (str_starts(path, "machines/"))
		static_one(s, path + strlen("machines/"), str_eq(method, "DELETE"));
	else
		static_refuse(s, 404, "not_found", "no such path");
	json_decref(v);
	rc = jsonw_finish(&s->w, err);
	return rc == BERTH_OK && s->changed ? static_state_save(s, err) : rc;
}

enum berth_code
static_exchange(void *st, const struct http_req *req, struct http_resp *resp, struct berth_err *err)
{
	struct static_serve s = { .acc = st, .req = req, .a = arena_new() };
	struct lockfile lock = LOCKFILE_NONE;
	enum berth_code rc = BERTH_OK;

	s.leases = arena_array(s.a, s.acc->n_machines, sizeof(*s.leases));
	buf_init(&s.body, STATIC_STATE_MAX);
	jsonw_init_buf(&s.w, &s.body, JSONW_COMPACT);
	if (s.acc->state_path[0] != '\0') {
		if (!fileio_exists(s.acc->state_path))
			rc = fileio_mkdirs_for(s.acc->state_path, err);
		if (rc == BERTH_OK)
			rc = lockfile_take(arena_printf(s.a, "%s.lock", s.acc->state_path),
			    STATIC_LOCK_WAIT_MS, &lock, err);
	}
	if (rc == BERTH_OK)
		rc = static_state_load(&s, err);
	if (rc == BERTH_OK)
		rc = static_route(&s, err);
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
