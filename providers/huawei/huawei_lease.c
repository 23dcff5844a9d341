#include <stdio.h>
#include <string.h>

#include "providers/huawei/huawei.h"
#include "providers/lease.h"
#include "providers/nametag.h"
#include "providers/prov.h"
#include "providers/wirejson.h"
#include "util/arena.h"
#include "util/buf.h"
#include "util/glob.h"
#include "util/str.h"

#define HUAWEI_BODY_MAX 262144
#define HUAWEI_NAME_MAX 64
#define HUAWEI_TAG_MAX 43
#define HUAWEI_PAGE 100
#define HUAWEI_CHECK_TYPE "s6.small.1" /* nothing is made of it */
#define HUAWEI_SPOT_BILLING "2"

static const struct lease_state huawei_states[] = {
	{ "BUILD", PROV_PENDING },
	{ "REBUILD", PROV_PENDING },
	{ "REBOOT", PROV_PENDING },
	{ "HARD_REBOOT", PROV_PENDING },
	{ "RESIZE", PROV_PENDING },
	{ "REVERT_RESIZE", PROV_PENDING },
	{ "VERIFY_RESIZE", PROV_PENDING },
	{ "ACTIVE", PROV_READY },
	{ "MIGRATING", PROV_READY },
	{ "SHUTOFF", PROV_FAILED },
	{ "PAUSED", PROV_FAILED },
	{ "SUSPENDED", PROV_FAILED },
	{ "SHELVED", PROV_FAILED },
	{ "SHELVED_OFFLOADED", PROV_FAILED },
	{ "ERROR", PROV_FAILED },
	{ "SOFT_DELETED", PROV_ENDING },
	{ "DELETED", PROV_GONE },
	{ NULL, PROV_PENDING },
};

/* Of a key that holds one id for all regions, or REGION=ID for each; NULL: none. */
static const char *
huawei_of(const struct huawei *h, const char *key, const char *region)
{
	const char *own = lease_at_place(h->env->conf, key, region), *const * v;
	size_t n = prov_conf_strings(h->env->conf, key, &v);

	for (size_t i = 0; own == NULL && i < n; i++)
		if (strchr(v[i], '=') == NULL)
			own = v[i];
	return own;
}

static void
huawei_tag(struct jsonw *w, const char *key, const char *value)
{
	jsonw_begin_object(w, NULL);
	jsonw_str(w, "key", key);
	jsonw_str(w, "value", value);
	jsonw_end_object(w);
}

static void
huawei_one(struct jsonw *w, const char *list, const char *key, const char *value)
{
	jsonw_begin_array(w, list);
	jsonw_begin_object(w, NULL);
	jsonw_str(w, key, value);
	jsonw_end_object(w);
	jsonw_end_array(w);
}

/* A public address of the machine's own, which goes with it. */
static void
huawei_address_body(const struct huawei *h, struct jsonw *w)
{
	int64_t mbps = prov_conf_int(h->env->conf, "bandwidth_mbps", 10);

	if (mbps <= 0)
		return;
	jsonw_begin_object(w, "publicip");
	jsonw_begin_object(w, "eip");
	jsonw_str(w, "iptype", prov_conf_str(h->env->conf, "address_type", "5_bgp"));
	jsonw_begin_object(w, "bandwidth");
	jsonw_int(w, "size", mbps);
	jsonw_str(w, "sharetype", "PER");
	jsonw_str(w, "chargemode", "traffic");
	jsonw_end_object(w);
	jsonw_end_object(w);
	jsonw_bool(w, "delete_on_termination", true);
	jsonw_end_object(w);
}

static void
huawei_sale_body(const struct huawei *h, const struct offer *o, struct jsonw *w)
{
	const char *most = prov_conf_str(h->env->conf, "spot_max_price", NULL);

	jsonw_begin_object(w, "extendparam");
	jsonw_str(w, "chargingMode", "postPaid");
	jsonw_str(w, "regionID", o->region);
	if (o->purchase == PURCHASE_SPOT) {
		jsonw_str(w, "marketType", "spot");
		if (most != NULL)
			jsonw_str(w, "spotPrice", most);
	}
	jsonw_end_object(w);
}

/* What a machine is asked with, but for whose it is. */
static void
huawei_machine_body(
    const struct huawei *h, const struct offer *o, const char *image, struct jsonw *w)
{
	const char *group = huawei_of(h, "security_group", o->region);

	jsonw_str(w, "availability_zone", o->zone);
	jsonw_str(w, "flavorRef", o->instance_type);
	jsonw_str(w, "imageRef", image);
	jsonw_str(w, "vpcid", huawei_of(h, "vpc", o->region));
	huawei_one(w, "nics", "subnet_id", huawei_of(h, "subnet", o->region));
	if (group != NULL)
		huawei_one(w, "security_groups", "id", group);
	jsonw_begin_object(w, "root_volume");
	jsonw_str(w, "volumetype", prov_conf_str(h->env->conf, "disk_type", "GPSSD"));
	jsonw_int(w, "size", prov_conf_int(h->env->conf, "disk_gib", 100));
	jsonw_end_object(w);
	jsonw_int(w, "count", 1);
	huawei_address_body(h, w);
	huawei_sale_body(h, o, w);
}

static void
huawei_create_body(const struct huawei *h, const struct prov_create *c, const char *name,
    const char *image, struct jsonw *w)
{
	const char *key =
	    c->ssh_key != NULL ? c->ssh_key : prov_conf_str(h->env->conf, "ssh_key", NULL);

	jsonw_str(w, "name", name);
	huawei_machine_body(h, c->offer, image, w);
	if (key != NULL)
		jsonw_str(w, "key_name", key);
	if (c->user_data != NULL)
		jsonw_str(w, "user_data", wirejson_base64(h->env->arena, c->user_data));
	jsonw_begin_array(w, "server_tags");
	huawei_tag(w, "berth-installation", h->env->installation);
	huawei_tag(w, "berth-token", c->token);
	jsonw_end_array(w);
}

/* The body {"server": {...}} of a create, or of a question whether it would be allowed. c: NULL for
 * the question. */
static enum berth_code
huawei_create_request(const struct huawei *h, const struct prov_create *c, const struct offer *o,
    const char *name, const char *image, struct http_req *req, struct berth_err *err)
{
	enum berth_code rc = huawei_ecs(h, req, "POST", o->region, "v1.1", err, "cloudservers");
	struct jsonw w;
	struct buf b;

	if (rc != BERTH_OK)
		return rc;
	buf_init(&b, HUAWEI_BODY_MAX);
	jsonw_init_buf(&w, &b, JSONW_COMPACT);
	jsonw_begin_object(&w, NULL);
	if (c == NULL)
		jsonw_bool(&w, "dry_run", true);
	jsonw_begin_object(&w, "server");
	if (c != NULL) {
		huawei_create_body(h, c, name, image, &w);
	} else {
		jsonw_str(&w, "name", "berth-check");
		huawei_machine_body(h, o, image, &w);
	}
	jsonw_end_object(&w);
	jsonw_end_object(&w);
	return wirejson_body(&w, &b, req, err);
}

static enum berth_code
huawei_create_build(
    void *st, const struct prov_create *c, struct http_req *req, struct berth_err *err)
{
	static const char *const wanted[] = { "vpc", "subnet" };
	const struct huawei *h = st;
	const char *region = c->offer->region, *name = "";
	const char *image = c->image != NULL ? c->image : huawei_of(h, "image", region);
	enum berth_code rc;

	if (c->offer->purchase == PURCHASE_RESERVED) /* another machine, by the hour, would not be
							the one that was paid */
		return err_set(err, BERTH_EPERMANENT,
		    "a machine paid ahead is bought in the provider's console; berth rents by the "
		    "hour and as spot");
	if (image == NULL)
		return err_set(
		    err, BERTH_EPERMANENT, "'image' of berth.yaml has none for region %s", region);
	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++)
		if (huawei_of(h, wanted[i], region) == NULL)
			return err_set(err, BERTH_EPERMANENT,
			    "'%s' of berth.yaml has none for region %s", wanted[i], region);
	if (strlen(c->token) > HUAWEI_TAG_MAX || strlen(h->env->installation) > HUAWEI_TAG_MAX)
		return err_set(err, BERTH_EPERMANENT,
		    "the token is longer than %d, what a tag may hold", HUAWEI_TAG_MAX);
	if ((rc = nametag_make(req->arena, h->env->installation, c->token, HUAWEI_NAME_MAX, &name,
		 err)) != BERTH_OK ||
	    (rc = huawei_create_request(h, c, c->offer, name, image, req, err)) != BERTH_OK)
		return rc;
	return http_req_header(req, "X-Client-Token", c->token, false, err);
}

static const struct huawei_made *
huawei_made(const struct huawei *h, const char *ref)
{
	for (size_t i = h->made.n; i > 0; i--)
		if (str_eq(h->made.v[i - 1].ref, ref))
			return &h->made.v[i - 1];
	return NULL;
}

/*
 * {"job_id", "serverIds": ["..."]}: accepted; whether it comes up is told by its job, and by the
 * machine once it is there.
 */
static enum berth_code
huawei_create_parse(void *st, const struct http_resp *resp, const struct prov_create *c,
    struct prov_machine *machine_out, struct berth_err *err)
{
	struct huawei *h = st;
	struct arena *a = h->env->arena;
	const char *job = "", *id;
	struct jsonr root, ids;
	json_t *v = NULL;
	enum berth_code rc = wirejson_parse(resp, &v, err);

	if (rc != BERTH_OK)
		return rc;
	root = jsonr_root(v, "answer");
	ids = jsonr_get(&root, "serverIds");
	id = json_string_value(json_array_get(ids.v, 0));
	lease_asked(c, machine_out);
	rc = jsonr_str(&root, "job_id", &job, err);
	if (rc == BERTH_OK && (id == NULL || id[0] == '\0' || jsonr_len(&ids) != 1))
		rc = jsonr_err(&root, BERTH_ETRANSIENT, err, "serverIds does not hold one machine");
	if (rc == BERTH_OK)
		rc = lease_ref(
		    &root, c->offer->region, id, machine_out->ref, sizeof(machine_out->ref), err);
	if (rc == BERTH_OK && job[0] != '\0' &&
	    job[strspn(job, "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-_")] ==
		'\0' &&
	    huawei_made(h, machine_out->ref) == NULL)
		VEC_PUSH(a, &h->made,
		    ((struct huawei_made){ arena_strdup(a, machine_out->ref), arena_strdup(a, job),
			arena_strdup(a, c->token) }));
	json_decref(v);
	return rc;
}

/* Tags come as "key=value". */
static void
huawei_tags(const struct jsonr *item, struct prov_machine *m)
{
	static const char mine[] = "berth-installation=", token[] = "berth-token=";
	struct jsonr tags = jsonr_get(item, "tags"), tag;

	for (size_t i = 0; i < jsonr_len(&tags); i++) {
		const char *s;

		tag = jsonr_at(&tags, i);
		s = json_string_value(tag.v);
		if (s != NULL && str_starts(s, mine) &&
		    strlen(s + strlen(mine)) < sizeof(m->installation))
			str_copy(m->installation, sizeof(m->installation), s + strlen(mine));
		else if (s != NULL && str_starts(s, token) &&
			 strlen(s + strlen(token)) < sizeof(m->token))
			str_copy(m->token, sizeof(m->token), s + strlen(token));
	}
}

/* {"NETWORK": [{"addr", "version", "OS-EXT-IPS:type"}]}: a floating address, else the first one of
 * version 4. */
static enum berth_code
huawei_address(const struct jsonr *item, struct prov_machine *m, struct berth_err *err)
{
	struct jsonr all = jsonr_get(item, "addresses"), list, one;
	enum berth_code rc;
	const char *network;
	json_t *v;

	json_object_foreach((json_t *)(uintptr_t)all.v, network, v)
	{
		list = jsonr_get(&all, network);
		for (size_t i = 0; i < jsonr_len(&list); i++) {
			const char *ip = "", *kind = "";
			int64_t version = 4;

			one = jsonr_at(&list, i);
			if ((rc = jsonr_str(&one, "addr", &ip, err)) != BERTH_OK ||
			    (rc = jsonr_str(&one, "OS-EXT-IPS:type", &kind, err)) != BERTH_OK ||
			    (rc = jsonr_int(&one, "version", 0, 99, &version, err)) != BERTH_OK)
				return rc;
			if (version == 4 && ip[0] != '\0' &&
			    (str_eq(kind, "floating") || m->address[0] == '\0'))
				(void)str_copy(m->address, sizeof(m->address), ip);
		}
	}
	return BERTH_OK;
}

/* A refusal that is told in an answer of 200: by the table of codes, else by its words. */
static enum berth_code
huawei_why(const char *code, const char *text)
{
	struct http_resp resp = { .status = 400, .body = "" };
	struct prov_error e = { "", "" };
	enum berth_code to;

	str_copy(e.code, sizeof(e.code), code[0] != '\0' ? code : "Ecs.");
	str_copy(e.text, sizeof(e.text), text);
	to = prov_classify(&provider_huawei, &resp, &e, false, NULL);
	return to == BERTH_ECAPACITY || to == BERTH_EQUOTA || to == BERTH_EAUTH ? to : BERTH_EFAIL;
}

static enum berth_code
huawei_machine(
    const struct jsonr *item, const char *region, struct prov_machine *m, struct berth_err *err)
{
	static const char *const needed[] = { "id", "status", NULL };
	struct jsonr flavor = jsonr_get(item, "flavor"), meta = jsonr_get(item, "metadata"),
		     fault = jsonr_get(item, "fault");
	const char *id = "", *state = "", *task = "", *billing = "", *name = "", *text = "";
	enum berth_code rc;

	memset(m, 0, sizeof(*m));
	if ((rc = jsonr_need(item, needed, err)) != BERTH_OK ||
	    (rc = jsonr_str(item, "id", &id, err)) != BERTH_OK ||
	    (rc = jsonr_str(item, "status", &state, err)) != BERTH_OK ||
	    (rc = jsonr_str(item, "name", &name, err)) != BERTH_OK ||
	    (rc = jsonr_str(item, "OS-EXT-STS:task_state", &task, err)) != BERTH_OK ||
	    (rc = jsonr_str(&meta, "charging_mode", &billing, err)) != BERTH_OK ||
	    (rc = jsonr_str(&fault, "message", &text, err)) != BERTH_OK ||
	    (rc = wirejson_field(&flavor, "id", m->instance_type, sizeof(m->instance_type), err)) !=
		BERTH_OK ||
	    (rc = wirejson_field(
		 item, "OS-EXT-AZ:availability_zone", m->zone, sizeof(m->zone), err)) != BERTH_OK ||
	    (rc = jsonr_time(item, "created", &m->created, err)) != BERTH_OK ||
	    (rc = huawei_address(item, m, err)) != BERTH_OK ||
	    (rc = lease_ref(item, region, id, m->ref, sizeof(m->ref), err)) != BERTH_OK)
		return rc;
	if (id[0] == '\0')
		return jsonr_err(item, BERTH_EINVAL, err, "id is empty");
	huawei_tags(item, m);
	if (m->installation[0] == '\0') /* tags are put on a little after the machine is there */
		nametag_read(name, m);
	str_copy(m->region, sizeof(m->region), region);
	m->purchase = str_eq(billing, HUAWEI_SPOT_BILLING) ? PURCHASE_SPOT : PURCHASE_ON_DEMAND;
	m->state = str_eq(task, "deleting") ? PROV_ENDING : lease_state(huawei_states, state);
	str_copy(m->detail, sizeof(m->detail), text[0] != '\0' ? text : state);
	m->why = m->state == PROV_FAILED ? huawei_why("", text) : BERTH_OK;
	return BERTH_OK;
}

/* A status is the machine, and where there is none what the job that makes it says, if this process
 * asked for it. */
static bool
huawei_more(void *st, bool begin)
{
	struct huawei *h = st;

	if (begin)
		h->asking_job = NULL;
	return h->asking_job != NULL;
}

static enum berth_code
huawei_status_build(void *st, const char *ref, struct http_req *req, struct berth_err *err)
{
	const struct huawei *h = st;
	const char *region = "", *id = "";
	enum berth_code rc = lease_ref_split(req->arena, ref, "Huawei's", "", &region, &id, err);

	if (rc != BERTH_OK)
		return rc;
	if (h->asking_job != NULL)
		return huawei_ecs(h, req, "GET", region, "v1", err, "jobs/%s", h->asking_job);
	req->any_status = huawei_made(h, ref) != NULL;
	return huawei_ecs(h, req, "GET", region, "v1", err, "cloudservers/%s", id);
}

/* {"status": "FAIL", "error_code", "fail_reason"}, or what its parts say. */
static enum berth_code
huawei_job(const struct huawei *h, const struct jsonr *root, const char *ref, struct arena *a,
    struct prov_machine *m, struct berth_err *err)
{
	const struct huawei_made *made = huawei_made(h, ref);
	struct jsonr entities = jsonr_get(root, "entities"),
		     parts = jsonr_get(&entities, "sub_jobs"), part;
	const char *state = "", *code = "", *text = "";
	enum berth_code rc;

	memset(m, 0, sizeof(*m));
	if ((rc = jsonr_str(root, "status", &state, err)) != BERTH_OK ||
	    (rc = jsonr_str(root, "error_code", &code, err)) != BERTH_OK ||
	    (rc = jsonr_str(root, "fail_reason", &text, err)) != BERTH_OK)
		return rc;
	for (size_t i = 0; i < jsonr_len(&parts) && huawei_why(code, text) == BERTH_EFAIL; i++) {
		part = jsonr_at(&parts, i);
		if ((rc = jsonr_str(&part, "error_code", &code, err)) != BERTH_OK ||
		    (rc = jsonr_str(&part, "fail_reason", &text, err)) != BERTH_OK)
			return rc;
	}
	if (str_eq(state, "SUCCESS")) /* it was made, and is there no more */
		return err_set(err, BERTH_ENOTFOUND, "no such machine");
	str_copy(m->ref, sizeof(m->ref), ref);
	str_copy(m->installation, sizeof(m->installation), h->env->installation);
	str_copy(m->token, sizeof(m->token), made != NULL ? made->token : "");
	str_copy(m->region, sizeof(m->region), arena_strndup(a, ref, strcspn(ref, "/")));
	m->state = str_eq(state, "FAIL") ? PROV_FAILED : PROV_PENDING;
	m->why = m->state == PROV_FAILED ? huawei_why(code, text) : BERTH_OK;
	str_copy(m->detail, sizeof(m->detail),
	    text[0] != '\0'   ? text
	    : code[0] != '\0' ? code
			      : state);
	return state[0] != '\0' ? BERTH_OK
				: jsonr_err(root, BERTH_ETRANSIENT, err, "no status of the job");
}

static enum berth_code
huawei_status_parse(void *st, const struct http_resp *resp, const char *ref,
    struct prov_machine *machine_out, struct berth_err *err)
{
	struct huawei *h = st;
	bool job = h->asking_job != NULL;
	struct jsonr root, server;
	json_t *v = NULL;
	enum berth_code rc;

	if (resp->status / 100 != 2) { /* not there, or not yet: its job says which */
		struct prov_error e = { "", "" };

		(void)huawei_error_read(resp, &e);
		rc = prov_classify(&provider_huawei, resp, &e, false, NULL);
		if (rc != BERTH_ENOTFOUND)
			return err_set(err, rc, "HTTP %d %s: %s", resp->status, e.code, e.text);
		h->asking_job = huawei_made(h, ref)->job;
		return BERTH_OK;
	}
	h->asking_job = NULL;
	if ((rc = wirejson_parse(resp, &v, err)) != BERTH_OK)
		return rc;
	root = jsonr_root(v, "answer");
	server = jsonr_get(&root, "server");
	rc = job ? huawei_job(h, &root, ref, resp->arena, machine_out, err)
		 : huawei_machine(&server, arena_strndup(resp->arena, ref, strcspn(ref, "/")),
		       machine_out, err);
	if (rc == BERTH_OK && !str_eq(machine_out->ref, ref))
		rc = jsonr_err(
		    &root, BERTH_EINVAL, err, "the answer is about machine %s", machine_out->ref);
	json_decref(v);
	return rc;
}

static enum berth_code
huawei_destroy_build(void *st, const char *ref, struct http_req *req, struct berth_err *err)
{
	const char *region = "", *id = "";
	struct jsonw w;
	struct buf b;
	enum berth_code rc = lease_ref_split(req->arena, ref, "Huawei's", "", &region, &id, err);

	if (rc != BERTH_OK || (rc = huawei_ecs(st, req, "POST", region, "v1", err,
				   "cloudservers/delete")) != BERTH_OK)
		return rc;
	buf_init(&b, HUAWEI_BODY_MAX);
	jsonw_init_buf(&w, &b, JSONW_COMPACT);
	jsonw_begin_object(&w, NULL);
	jsonw_bool(&w, "delete_publicip", true);
	jsonw_bool(&w, "delete_volume", true);
	huawei_one(&w, "servers", "id", id);
	jsonw_end_object(&w);
	return wirejson_body(&w, &b, req, err);
}

/* {"job_id"}: asked for; the list shows when it is gone. */
static enum berth_code
huawei_destroy_parse(void *st, const struct http_resp *resp, const char *ref,
    struct prov_machine *machine_out, struct berth_err *err)
{
	json_t *v = NULL;
	enum berth_code rc = wirejson_parse(resp, &v, err);

	(void)st;
	json_decref(v);
	if (rc == BERTH_OK)
		lease_ending(ref, machine_out);
	return rc;
}

/* By the name, which begins with whose a machine is. cur->next: "REGION|PAGE|SEEN". */
static enum berth_code
huawei_list_build(
    void *st, const struct prov_cursor *cur, struct http_req *req, struct berth_err *err)
{
	struct huawei *h = st;
	const char *s = cur->next;
	size_t page;

	h->list_region = lease_cursor(s, &s);
	page = lease_cursor(s, &s);
	h->list_page = page > 0 ? (int)page : 1;
	h->list_seen = 0;
	if (s[0] != '\0' && str_to_i64(s, 0, INT64_MAX, &h->list_seen, err) != BERTH_OK)
		return err->code;
	return huawei_ecs(h, req, "GET", h->regions[h->list_region], "v1", err,
	    "cloudservers/detail?limit=%d&name=%s&offset=%d", HUAWEI_PAGE,
	    http_urlencode(req->arena, arena_printf(req->arena, "berth-%s-", h->env->installation)),
	    h->list_page);
}

static enum berth_code
huawei_list_next(const struct huawei *h, const struct jsonr *root, size_t n,
    struct prov_cursor *cur, struct berth_err *err)
{
	int64_t total = -1, seen = h->list_seen + (int64_t)n;
	enum berth_code rc = jsonr_int(root, "count", 0, INT64_MAX, &total, err);

	if (rc != BERTH_OK)
		return rc;
	if (total < 0 || (n == 0 && seen < total))
		return jsonr_err(root, BERTH_ETRANSIENT, err, "the list of machines is not whole");
	if (seen < total)
		snprintf(cur->next, sizeof(cur->next), "%zu|%d|%lld", h->list_region,
		    h->list_page + 1, (long long)seen);
	else if (h->list_region + 1 < h->n_regions)
		snprintf(cur->next, sizeof(cur->next), "%zu|1|0", h->list_region + 1);
	return BERTH_OK;
}

static enum berth_code
huawei_list_parse(void *st, const struct http_resp *resp, struct prov_cursor *cur,
    prov_machine_fn *emit, void *arg, struct berth_err *err)
{
	const struct huawei *h = st;
	struct jsonr root, set, item;
	struct prov_machine m;
	json_t *v = NULL;
	enum berth_code rc = wirejson_parse(resp, &v, err);

	if (rc != BERTH_OK)
		return rc;
	root = jsonr_root(v, "answer");
	rc = jsonr_array(&root, "servers", &set, err);
	if (rc == BERTH_OK && set.v == NULL)
		rc = jsonr_err(&root, BERTH_ETRANSIENT, err, "no servers in the answer");
	for (size_t i = 0; rc == BERTH_OK && i < jsonr_len(&set); i++) {
		item = jsonr_at(&set, i);
		rc = huawei_machine(&item, h->regions[h->list_region], &m, err);
		if (rc == BERTH_OK)
			rc = emit(arg, &m, err);
	}
	if (rc == BERTH_OK)
		rc = huawei_list_next(h, &root, jsonr_len(&set), cur, err);
	json_decref(v);
	return rc;
}

/* May it launch? A dry run, which makes nothing; without image and network nothing can be asked
 * for. */
static enum berth_code
huawei_check_build(void *st, int n, struct http_req *req, struct berth_err *err)
{
	const struct huawei *h = st;
	const char *region = h->regions[0], *image = huawei_of(h, "image", region);
	struct offer o = { .region = region,
		.zone = arena_printf(req->arena, "%sa", region),
		.instance_type = HUAWEI_CHECK_TYPE,
		.purchase = PURCHASE_ON_DEMAND };

	if (n > 0 || image == NULL || huawei_of(h, "vpc", region) == NULL ||
	    huawei_of(h, "subnet", region) == NULL)
		return BERTH_ENOTFOUND;
	return huawei_create_request(h, NULL, &o, NULL, image, req, err);
}

/* What is refused of the flavor or the zone was allowed to be asked; what berth.yaml names must be
 * there. */
static enum berth_code
huawei_check_parse(void *st, const struct http_resp *resp, int n, struct prov_check *check_out,
    struct berth_err *err)
{
	static const char *const ours[] = { "Ecs.0003", "Ecs.0014", "Ecs.0030", "Ecs.0031",
		"Ecs.0032", "Ecs.0038", "Ecs.0314" };

	(void)st, (void)n, (void)err;
	lease_check(&provider_huawei, resp, "ecs:cloudServers:createServers", ours,
	    sizeof(ours) / sizeof(ours[0]), check_out);
	return BERTH_OK;
}

const struct prov_lease_ops huawei_lease = {
	.create_build = huawei_create_build,
	.create_parse = huawei_create_parse,
	.status_build = huawei_status_build,
	.status_parse = huawei_status_parse,
	.more = huawei_more,
	.destroy_build = huawei_destroy_build,
	.destroy_parse = huawei_destroy_parse,
	.list_build = huawei_list_build,
	.list_parse = huawei_list_parse,
	.check_build = huawei_check_build,
	.check_parse = huawei_check_parse,
};
