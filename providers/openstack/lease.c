#include <stdio.h>
#include <string.h>

#include "providers/lease.h"
#include "providers/openstack/openstack.h"
#include "providers/prov.h"
#include "providers/wirejson.h"
#include "util/arena.h"
#include "util/base64.h"
#include "util/buf.h"
#include "util/glob.h"
#include "util/str.h"

#define OPENSTACK_BODY_MAX 262144
#define OPENSTACK_TAG                                                                              \
	"berth-" /* tag of a server: this and the installation; the metadata says all */

static const struct {
	const char *status;
	enum prov_state state;
} openstack_states[] = {
	{ "BUILD", PROV_PENDING },
	{ "REBUILD", PROV_PENDING },
	{ "ACTIVE", PROV_READY },
	{ "ERROR", PROV_FAILED },
	{ "DELETED", PROV_GONE },
	{ "SOFT_DELETED", PROV_ENDING },
	{ "SHUTOFF", PROV_FAILED },
	{ "STOPPED", PROV_FAILED },
	{ "PAUSED", PROV_FAILED },
	{ "SUSPENDED", PROV_FAILED },
	{ "SHELVED", PROV_FAILED },
	{ "SHELVED_OFFLOADED", PROV_FAILED },
	{ "RESCUE", PROV_FAILED },
	{ "REBOOT", PROV_READY },
	{ "HARD_REBOOT", PROV_READY },
	{ "PASSWORD", PROV_READY },
	{ "MIGRATING", PROV_READY },
	{ "RESIZE", PROV_READY },
	{ "VERIFY_RESIZE", PROV_READY },
	{ "REVERT_RESIZE", PROV_READY },
};

enum berth_code
openstack_fault(const char *text)
{
	static const struct {
		const char *pattern;
		enum berth_code code;
	} faults[] = {
		{ "*No valid host was found*", BERTH_ECAPACITY },
		{ "*Exceeded maximum number of retries*", BERTH_ECAPACITY },
		{ "*Exhausted all hosts*", BERTH_ECAPACITY },
		{ "*Insufficient compute resources*", BERTH_ECAPACITY },
		{ "*Quota exceeded*", BERTH_EQUOTA },
		{ "*quota*exceeded*", BERTH_EQUOTA },
		{ "*number of ports exceeded*", BERTH_EQUOTA },
	};

	for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++)
		if (glob_match(faults[i].pattern, text))
			return faults[i].code;
	return BERTH_EFAIL;
}

/* The address that a user would reach: floating before fixed, version 4 before 6. */
static void
openstack_address(const struct jsonr *o, char *dst, size_t size)
{
	struct jsonr nets = jsonr_get(o, "addresses");
	const char *name, *access = "";
	int best = -1;
	json_t *v;

	json_object_foreach((json_t *)(uintptr_t)nets.v, name, v)
	{
		struct jsonr list = jsonr_get(&nets, name);

		for (size_t i = 0; i < jsonr_len(&list); i++) {
			struct jsonr one = jsonr_at(&list, i);
			const char *addr = "", *type = "";
			int64_t version = 4;
			int rank;

			(void)!jsonr_str(&one, "addr", &addr, NULL);
			(void)!jsonr_str(&one, "OS-EXT-IPS:type", &type, NULL);
			(void)!jsonr_int(&one, "version", 4, 6, &version, NULL);
			rank = 2 * str_eq(type, "floating") + (version == 4);
			if (addr[0] != '\0' && rank > best && str_copy(dst, size, addr))
				best = rank;
		}
	}
	(void)!jsonr_str(o, "accessIPv4", &access, NULL);
	if (best < 2 && access[0] != '\0')
		str_copy(dst, size, access);
}

static void
openstack_state(const struct jsonr *o, const char *status, struct prov_machine *m)
{
	struct jsonr fault = jsonr_get(o, "fault");
	const char *words = "", *task = "";

	(void)!jsonr_str(&fault, "message", &words, NULL);
	(void)!jsonr_str(o, "OS-EXT-STS:task_state", &task, NULL);
	m->state = PROV_PENDING; /* UNKNOWN, or a word of tomorrow's nova: it is there, and it is
				    not known to be usable */
	for (size_t i = 0; i < sizeof(openstack_states) / sizeof(openstack_states[0]); i++)
		if (str_eq(status, openstack_states[i].status))
			m->state = openstack_states[i].state;
	if (str_eq(task, "deleting") && m->state != PROV_GONE)
		m->state = PROV_ENDING;
	if (m->state == PROV_FAILED)
		m->why = openstack_fault(words);
	snprintf(
	    m->detail, sizeof(m->detail), "%s%s%s", status, words[0] != '\0' ? ": " : "", words);
}

/* One server; not ours (installation ""): no error. */
static enum berth_code
openstack_machine(
    const struct openstack *s, const struct jsonr *o, struct prov_machine *m, struct berth_err *err)
{
	static const char *const needed[] = { "id", "status", NULL };
	struct jsonr metadata = jsonr_get(o, "metadata"), flavor = jsonr_get(o, "flavor");
	const char *status = "";
	enum berth_code rc;

	memset(m, 0, sizeof(*m));
	m->purchase = PURCHASE_ON_DEMAND;
	if ((rc = jsonr_need(o, needed, err)) != BERTH_OK ||
	    (rc = wirejson_field(o, "id", m->ref, sizeof(m->ref), err)) != BERTH_OK ||
	    (rc = jsonr_str(o, "status", &status, err)) != BERTH_OK ||
	    (rc = wirejson_field(&metadata, "berth-installation", m->installation,
		 sizeof(m->installation), err)) != BERTH_OK ||
	    (rc = wirejson_field(&metadata, "berth-token", m->token, sizeof(m->token), err)) !=
		BERTH_OK ||
	    (rc = wirejson_field(&flavor, "original_name", m->instance_type,
		 sizeof(m->instance_type), err)) != BERTH_OK ||
	    (rc = wirejson_field(
		 o, "OS-EXT-AZ:availability_zone", m->zone, sizeof(m->zone), err)) != BERTH_OK ||
	    (rc = jsonr_time(o, "created", &m->created, err)) != BERTH_OK)
		return rc;
	str_copy(m->region, sizeof(m->region), s->who.region);
	openstack_state(o, status, m);
	if (m->state == PROV_READY)
		openstack_address(o, m->address, sizeof(m->address));
	return BERTH_OK;
}

static enum berth_code
openstack_may_create(const struct openstack *s, const struct prov_create *c,
    const char **flavor_out, const char **image_out, struct berth_err *err)
{
	const size_t *at = strmap_get(&s->flavor_ids, c->offer->instance_type);

	*image_out = c->image != NULL ? c->image : s->image_id;
	if (at == NULL)
		return err_set(err, BERTH_EPERMANENT, "the project sees no flavour '%s'",
		    c->offer->instance_type);
	*flavor_out = s->ids.v[*at];
	if (*image_out == NULL || (*image_out)[0] == '\0')
		return err_set(err, BERTH_EPERMANENT,
		    s->image[0] != '\0' ? "the project sees no active image '%s'"
					: "the account needs 'image' in berth.yaml%s",
		    s->image);
	if (s->network_id == NULL || s->network_id[0] == '\0')
		return err_set(
		    err, BERTH_EPERMANENT, "the project sees no network '%s'", s->network);
	return BERTH_OK;
}

static void
openstack_body_network(const struct openstack *s, struct jsonw *w)
{
	if (str_eq(s->network_id, "auto") || str_eq(s->network_id, "none")) {
		jsonw_str(w, "networks", s->network_id);
		return;
	}
	jsonw_begin_array(w, "networks");
	jsonw_begin_object(w, NULL);
	jsonw_str(w, "uuid", s->network_id);
	jsonw_end_object(w);
	jsonw_end_array(w);
}

static void
openstack_body_disk(const struct openstack *s, const char *image, struct jsonw *w)
{
	if (s->boot_volume_gib == 0) {
		jsonw_str(w, "imageRef", image);
		return;
	}
	jsonw_begin_array(w, "block_device_mapping_v2");
	jsonw_begin_object(w, NULL);
	jsonw_int(w, "boot_index", 0);
	jsonw_str(w, "source_type", "image");
	jsonw_str(w, "destination_type", "volume");
	jsonw_str(w, "uuid", image);
	jsonw_int(w, "volume_size", s->boot_volume_gib);
	jsonw_bool(w, "delete_on_termination", true);
	jsonw_end_object(w);
	jsonw_end_array(w);
}

static void
openstack_body(const struct openstack *s, const struct prov_create *c, const char *flavor,
    const char *image, struct arena *a, struct jsonw *w)
{
	const char *key = c->ssh_key != NULL ? c->ssh_key : s->key_name;
	const char *zone = c->offer->zone[0] != '\0' ? c->offer->zone : s->zone;

	jsonw_begin_object(w, NULL);
	jsonw_begin_object(w, "server");
	jsonw_str(w, "name", c->name != NULL ? c->name : arena_printf(a, "berth-%s", c->token));
	jsonw_str(w, "flavorRef", flavor);
	openstack_body_disk(s, image, w);
	openstack_body_network(s, w);
	if (zone[0] != '\0')
		jsonw_str(w, "availability_zone", zone);
	if (key != NULL)
		jsonw_str(w, "key_name", key);
	if (s->n_groups > 0) {
		jsonw_begin_array(w, "security_groups");
		for (size_t i = 0; i < s->n_groups; i++) {
			jsonw_begin_object(w, NULL);
			jsonw_str(w, "name", s->groups[i]);
			jsonw_end_object(w);
		}
		jsonw_end_array(w);
	}
	if (c->user_data != NULL)
		jsonw_str(w, "user_data", base64_encode(a, c->user_data, strlen(c->user_data)));
	jsonw_begin_object(w, "metadata");
	jsonw_str(w, "berth-installation", s->env->installation);
	jsonw_str(w, "berth-token", c->token);
	jsonw_end_object(w);
	jsonw_begin_array(w, "tags");
	jsonw_str(w, NULL, arena_printf(a, OPENSTACK_TAG "%s", s->env->installation));
	jsonw_end_array(w);
	jsonw_end_object(w);
	jsonw_end_object(w);
}

static enum berth_code
openstack_create_build(
    void *st, const struct prov_create *c, struct http_req *req, struct berth_err *err)
{
	const struct openstack *s = st;
	const char *flavor = "", *image = "";
	enum berth_code rc = openstack_may_create(s, c, &flavor, &image, err);
	struct jsonw w;
	struct buf b;

	if (rc != BERTH_OK)
		return rc;
	buf_init(&b, OPENSTACK_BODY_MAX);
	jsonw_init_buf(&w, &b, JSONW_COMPACT);
	openstack_body(s, c, flavor, image, req->arena, &w);
	rc = jsonw_finish(&w, err);
	if (rc == BERTH_OK)
		rc = openstack_request(s, req, "POST", s->compute, OPENSTACK_NOVA, "servers", err);
	if (rc == BERTH_OK)
		rc = http_req_body(req, "application/json", b.p, b.len, err);
	buf_free(&b);
	return rc;
}

/* 202 is a promise: whether there is room is said by the server's state. */
static enum berth_code
openstack_create_parse(void *st, const struct http_resp *resp, const struct prov_create *c,
    struct prov_machine *machine_out, struct berth_err *err)
{
	const struct openstack *s = st;
	struct jsonr root, server;
	json_t *v = NULL;
	enum berth_code rc = wirejson_parse(resp, &v, err);

	if (rc != BERTH_OK)
		return rc;
	root = jsonr_root(v, "answer");
	server = jsonr_get(&root, "server");
	rc = wirejson_field(&server, "id", machine_out->ref, sizeof(machine_out->ref), err);
	json_decref(v);
	machine_out->state = PROV_PENDING;
	machine_out->purchase = PURCHASE_ON_DEMAND;
	machine_out->created = s->env->now;
	str_copy(machine_out->region, sizeof(machine_out->region), c->offer->region);
	str_copy(machine_out->zone, sizeof(machine_out->zone), c->offer->zone);
	str_copy(machine_out->instance_type, sizeof(machine_out->instance_type),
	    c->offer->instance_type);
	return rc;
}

static enum berth_code
openstack_status_build(void *st, const char *ref, struct http_req *req, struct berth_err *err)
{
	const struct openstack *s = st;

	return openstack_request(s, req, "GET", s->compute, OPENSTACK_NOVA,
	    arena_printf(req->arena, "servers/%s", http_urlencode(req->arena, ref)), err);
}

static enum berth_code
openstack_status_parse(void *st, const struct http_resp *resp, const char *ref,
    struct prov_machine *machine_out, struct berth_err *err)
{
	struct jsonr root, server;
	json_t *v = NULL;
	enum berth_code rc = wirejson_parse(resp, &v, err);

	(void)ref;
	if (rc != BERTH_OK)
		return rc;
	root = jsonr_root(v, "answer");
	server = jsonr_get(&root, "server");
	rc = openstack_machine(st, &server, machine_out, err);
	json_decref(v);
	return rc;
}

static enum berth_code
openstack_destroy_build(void *st, const char *ref, struct http_req *req, struct berth_err *err)
{
	const struct openstack *s = st;

	return openstack_request(s, req, "DELETE", s->compute, OPENSTACK_NOVA,
	    arena_printf(req->arena, "servers/%s", http_urlencode(req->arena, ref)), err);
}

/* Pages of servers ("s" + marker), then each one in ERROR by itself ("e" + number), for its fault.
 */
static enum berth_code
openstack_list_build(
    void *st, const struct prov_cursor *cur, struct http_req *req, struct berth_err *err)
{
	struct openstack *s = st;
	struct arena *a = req->arena;
	int64_t i = 0;

	s->asking = SIZE_MAX;
	if (cur->next[0] == 'e' &&
	    str_to_i64(cur->next + 1, 0, (int64_t)s->broken.n - 1, &i, NULL) == BERTH_OK) {
		s->asking = (size_t)i;
		req->any_status = true; /* it may be gone by now */
		return openstack_status_build(st, s->broken.v[i], req, err);
	}
	return openstack_request(s, req, "GET", s->compute, OPENSTACK_NOVA,
	    arena_printf(a, "servers/detail?limit=500&tags=%s%s%s",
		http_urlencode(a, arena_printf(a, OPENSTACK_TAG "%s", s->env->installation)),
		cur->next[0] == 's' ? "&marker=" : "", cur->next[0] == 's' ? cur->next + 1 : ""),
	    err);
}

static enum berth_code
openstack_broken_parse(struct openstack *s, const struct http_resp *resp, struct prov_cursor *cur,
    prov_machine_fn *emit, void *arg, struct berth_err *err)
{
	const size_t i = s->asking + 1;
	struct prov_machine m;
	enum berth_code rc = BERTH_OK;

	if (resp->status == 200)
		rc = openstack_status_parse(s, resp, s->broken.v[s->asking], &m, err);
	else if (resp->status != 404)
		rc = err_set(err, BERTH_ETRANSIENT, "HTTP %d for server %s", resp->status,
		    s->broken.v[s->asking]);
	if (rc == BERTH_OK && resp->status == 200)
		rc = emit(arg, &m, err);
	if (i < s->broken.n)
		snprintf(cur->next, sizeof(cur->next), "e%zu", i);
	return rc;
}

static enum berth_code
openstack_servers(struct openstack *s, const struct jsonr *list, prov_machine_fn *emit, void *arg,
    struct berth_err *err)
{
	enum berth_code rc = BERTH_OK;

	for (size_t i = 0; rc == BERTH_OK && i < jsonr_len(list); i++) {
		struct jsonr item = jsonr_at(list, i);
		struct prov_machine m;

		rc = openstack_machine(s, &item, &m, err);
		if (rc != BERTH_OK)
			break;
		if (m.state == PROV_FAILED && m.why == BERTH_EFAIL &&
		    str_eq(m.installation, s->env->installation))
			VEC_PUSH(s->pass, &s->broken, arena_strdup(s->pass, m.ref));
		else
			rc = emit(arg, &m, err);
	}
	return rc;
}

static enum berth_code
openstack_list_parse(void *st, const struct http_resp *resp, struct prov_cursor *cur,
    prov_machine_fn *emit, void *arg, struct berth_err *err)
{
	struct openstack *s = st;
	struct jsonr root, list;
	json_t *v = NULL;
	enum berth_code rc;

	if (s->asking < s->broken.n)
		return openstack_broken_parse(s, resp, cur, emit, arg, err);
	if ((rc = wirejson_parse(resp, &v, err)) != BERTH_OK)
		return rc;
	if (cur->page == 0) {
		arena_reset(s->pass);
		memset(&s->broken, 0, sizeof(s->broken));
		memset(&s->found, 0, sizeof(s->found));
	}
	root = jsonr_root(v, "answer");
	rc = jsonr_array(&root, "servers", &list, err);
	if (rc == BERTH_OK && list.v == NULL)
		rc = jsonr_err(&root, BERTH_ETRANSIENT, err, "no servers in the answer");
	if (rc == BERTH_OK)
		rc = openstack_servers(s, &list, emit, arg, err);
	cur->next[0] = 's';
	if (rc == BERTH_OK)
		rc = openstack_next(
		    &root, "servers_links", cur->next + 1, sizeof(cur->next) - 1, err);
	json_decref(v);
	if (rc == BERTH_OK && cur->next[1] == '\0')
		str_copy(cur->next, sizeof(cur->next), s->broken.n > 0 ? "e0" : "");
	return rc;
}

const struct prov_lease_ops openstack_lease = {
	.create_build = openstack_create_build,
	.create_parse = openstack_create_parse,
	.status_build = openstack_status_build,
	.status_parse = openstack_status_parse,
	.destroy_build = openstack_destroy_build,
	.destroy_parse = lease_destroy_parse,
	.list_build = openstack_list_build,
	.list_parse = openstack_list_parse,
};
