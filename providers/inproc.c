#include <string.h>

#include "providers/inproc.h"
#include "providers/prov.h"
#include "providers/wirejson.h"
#include "util/str.h"

const struct prov_error_row inproc_errors[] = {
	{ 0, "no_capacity", NULL, BERTH_ECAPACITY },
	{ 0, "quota_exceeded", NULL, BERTH_EQUOTA },
	{ 0, "token_mismatch", NULL, BERTH_EPERMANENT },
	{ 0, "unknown_type", NULL, BERTH_EPERMANENT },
	{ 0, "bad_request", NULL, BERTH_EPERMANENT },
	{ 0, "conflict", NULL, BERTH_EPERMANENT },
	{ 0, "not_found", NULL, BERTH_ENOTFOUND },
	{ 0, NULL, NULL, BERTH_OK },
};

bool
inproc_error_read(const struct http_resp *resp, struct prov_error *error_out)
{
	const char *code = "", *text = "";
	struct jsonr root, error;
	json_t *v = NULL;

	if (resp->status / 100 == 2)
		return false;
	if (jsonr_parse(resp->body, resp->body_len, "answer", &v, NULL) == BERTH_OK) {
		root = jsonr_root(v, "answer");
		error = jsonr_get(&root, "error");
		(void)!jsonr_str(&error, "code", &code, NULL);
		(void)!jsonr_str(&error, "message", &text, NULL);
	}
	str_copy(error_out->code, sizeof(error_out->code), code);
	str_copy(error_out->text, sizeof(error_out->text), text);
	json_decref(v);
	return true;
}

void
inproc_error_write(struct jsonw *w, const char *code, const char *message)
{
	jsonw_begin_object(w, NULL);
	jsonw_begin_object(w, "error");
	jsonw_str(w, "code", code);
	jsonw_str(w, "message", message);
	jsonw_end_object(w);
	jsonw_end_object(w);
}

enum berth_code
inproc_request(struct http_req *req, const char *name, const char *method, const char *path)
{
	req->method = method;
	http_req_url(req, "%s://%s", name, path);
	return BERTH_OK;
}

void
inproc_machine_write(struct jsonw *w, const char *key, const struct prov_machine *m)
{
	jsonw_begin_object(w, key);
	jsonw_str(w, "id", m->ref);
	jsonw_str(w, "state", prov_state_name(m->state));
	jsonw_begin_object(w, "tags");
	jsonw_str(w, "token", m->token);
	jsonw_str(w, "installation", m->installation);
	jsonw_end_object(w);
	jsonw_str_or_null(w, "instance_type", m->instance_type);
	jsonw_str_or_null(w, "region", m->region);
	jsonw_str_or_null(w, "zone", m->zone);
	jsonw_str(w, "purchase", purchase_name(m->purchase));
	jsonw_str_or_null(w, "address", m->address);
	jsonw_time_or_null(w, "created", m->created);
	jsonw_time_or_null(w, "ready_at", m->ready_at);
	jsonw_time_or_null(w, "notice_at", m->notice_at);
	jsonw_time_or_null(w, "reclaim_at", m->reclaim_at);
	jsonw_time_or_null(w, "ended", m->ended);
	jsonw_bool(w, "preempted", m->preempted);
	jsonw_str_or_null(w, "why", m->why == BERTH_OK ? "" : err_name(m->why));
	jsonw_str_or_null(w, "detail", m->detail);
	jsonw_end_object(w);
}

static bool
inproc_state_parse(const char *s, enum prov_state *out)
{
	for (int i = 0; i < PROV_STATE_COUNT; i++)
		if (str_eq(s, prov_state_name((enum prov_state)i))) {
			*out = (enum prov_state)i;
			return true;
		}
	return false;
}

static enum berth_code
inproc_why(const char *name)
{
	for (int i = 0; i < BERTH_CODE_COUNT; i++)
		if (str_eq(name, err_name((enum berth_code)i)))
			return (enum berth_code)i;
	return BERTH_EFAIL;
}

static enum berth_code
inproc_words(const struct jsonr *o, struct prov_machine *m, struct berth_err *err)
{
	struct jsonr tags = jsonr_get(o, "tags");
	enum berth_code rc;

	if ((rc = wirejson_field(o, "id", m->ref, sizeof(m->ref), err)) != BERTH_OK ||
	    (rc = wirejson_field(&tags, "token", m->token, sizeof(m->token), err)) != BERTH_OK ||
	    (rc = wirejson_field(&tags, "installation", m->installation, sizeof(m->installation),
		 err)) != BERTH_OK ||
	    (rc = wirejson_field(o, "instance_type", m->instance_type, sizeof(m->instance_type),
		 err)) != BERTH_OK ||
	    (rc = wirejson_field(o, "region", m->region, sizeof(m->region), err)) != BERTH_OK ||
	    (rc = wirejson_field(o, "zone", m->zone, sizeof(m->zone), err)) != BERTH_OK ||
	    (rc = wirejson_field(o, "address", m->address, sizeof(m->address), err)) != BERTH_OK)
		return rc;
	return wirejson_field(o, "detail", m->detail, sizeof(m->detail), err);
}

enum berth_code
inproc_machine_read(const struct jsonr *o, struct prov_machine *out, struct berth_err *err)
{
	static const char *const needed[] = { "id", "state", "purchase", NULL };
	const char *state = "", *purchase = "", *why = NULL;
	enum berth_code rc;

	memset(out, 0, sizeof(*out));
	if ((rc = jsonr_need(o, needed, err)) != BERTH_OK ||
	    (rc = inproc_words(o, out, err)) != BERTH_OK ||
	    (rc = jsonr_str(o, "state", &state, err)) != BERTH_OK ||
	    (rc = jsonr_str(o, "purchase", &purchase, err)) != BERTH_OK ||
	    (rc = jsonr_str(o, "why", &why, err)) != BERTH_OK ||
	    (rc = jsonr_time(o, "created", &out->created, err)) != BERTH_OK ||
	    (rc = jsonr_time(o, "ready_at", &out->ready_at, err)) != BERTH_OK ||
	    (rc = jsonr_time(o, "notice_at", &out->notice_at, err)) != BERTH_OK ||
	    (rc = jsonr_time(o, "reclaim_at", &out->reclaim_at, err)) != BERTH_OK ||
	    (rc = jsonr_time(o, "ended", &out->ended, err)) != BERTH_OK ||
	    (rc = jsonr_bool(o, "preempted", &out->preempted, err)) != BERTH_OK)
		return rc;
	if (!inproc_state_parse(state, &out->state) || !purchase_parse(purchase, &out->purchase))
		return jsonr_err(
		    o, BERTH_EINVAL, err, "state '%s', purchase '%s'", state, purchase);
	out->why = why != NULL ? inproc_why(why) : BERTH_OK;
	return BERTH_OK;
}

enum berth_code
inproc_list_read(
    const struct http_resp *resp, prov_machine_fn *emit, void *arg, struct berth_err *err)
{
	struct jsonr root, list, item;
	struct prov_machine m;
	json_t *v = NULL;
	enum berth_code rc;

	if ((rc = jsonr_parse(resp->body, resp->body_len, "machines", &v, err)) != BERTH_OK)
		return rc;
	root = jsonr_root(v, "machines");
	rc = jsonr_array(&root, "machines", &list, err);
	if (rc == BERTH_OK && list.v == NULL)
		rc = jsonr_err(&root, BERTH_EINVAL, err, "no machines in the answer");
	for (size_t i = 0; rc == BERTH_OK && i < jsonr_len(&list); i++) {
		item = jsonr_at(&list, i);
		rc = inproc_machine_read(&item, &m, err);
		if (rc == BERTH_OK)
			rc = emit(arg, &m, err);
	}
	json_decref(v);
	return rc;
}

enum berth_code
inproc_one_read(const struct http_resp *resp, struct prov_machine *out, struct berth_err *err)
{
	struct jsonr root, m;
	json_t *v = NULL;
	enum berth_code rc;

	if ((rc = jsonr_parse(resp->body, resp->body_len, "machine", &v, err)) != BERTH_OK)
		return rc;
	root = jsonr_root(v, "machine");
	m = jsonr_get(&root, "machine");
	rc = inproc_machine_read(&m, out, err);
	json_decref(v);
	return rc;
}
