#include <stdio.h>
#include <string.h>

#include "providers/oci/oci.h"
#include "providers/wirejson.h"
#include "util/arena.h"
#include "util/str.h"
#include "util/vec.h"

/*
 * A machine says nothing of its address, which is its card's. So a list reads the machines of a
 * region, then which cards they have, then each card of ours that is not on its way out.
 */
struct oci_card {
	const char *vnic, *ref;
};
struct oci_address {
	const char *ref, *ip;
};

struct oci_listing {
	struct arena *arena;
	char phase; /* i machines, a attachments of cards, v one card */
	size_t region, card;
	VEC(struct prov_machine) machines;
	VEC(struct oci_card) cards;
	VEC(struct oci_address)
	addresses; /* kept until the next walk: a machine's own state has none */
};

void
oci_list_close(struct oci *o)
{
	if (o->listing != NULL)
		arena_free(o->listing->arena);
	o->listing = NULL;
}

const char *
oci_address(const struct oci *o, const char *ref)
{
	for (size_t i = 0; o->listing != NULL && i < o->listing->addresses.n; i++)
		if (str_eq(o->listing->addresses.v[i].ref, ref))
			return o->listing->addresses.v[i].ip;
	return "";
}

/* cur->next: "iREGION|PAGE", "aREGION|PAGE", "vREGION|INDEX"; "" is the start. */
enum berth_code
oci_list_build(void *st, const struct prov_cursor *cur, struct http_req *req, struct berth_err *err)
{
	struct oci *o = st;
	const char *bar = strchr(cur->next, '|'), *page = bar != NULL ? bar + 1 : "", *region;
	struct arena *a;
	size_t i = 0;

	if (bar == NULL || o->listing == NULL) {
		oci_list_close(o);
		a = arena_new();
		o->listing = arena_new_of(a, struct oci_listing);
		o->listing->arena = a;
	}
	o->listing->phase = bar != NULL ? cur->next[0] : 'i';
	o->listing->region = 0;
	for (const char *p = cur->next + 1; bar != NULL && p < bar; p++)
		o->listing->region = o->listing->region * 10 + (size_t)(*p - '0');
	region = o->regions[o->listing->region];
	if (o->listing->phase == 'v') {
		for (const char *p = page; *p != '\0'; p++)
			i = i * 10 + (size_t)(*p - '0');
		return oci_request(o, req, "GET", "iaas", region, err, "20160918/vnics/%s",
		    http_urlencode(req->arena, o->listing->cards.v[i].vnic));
	}
	return oci_request(o, req, "GET", "iaas", region, err,
	    "20160918/%s?compartmentId=%s&limit=500%s",
	    o->listing->phase == 'i' ? "instances" : "vnicAttachments",
	    http_urlencode(req->arena, o->compartment), oci_page_arg(req->arena, page));
}

static enum berth_code
oci_take_attachment(const struct oci *o, const struct jsonr *item, struct berth_err *err)
{
	struct oci_listing *l = o->listing;
	const char *instance = "", *vnic = "", *state = "";
	enum berth_code rc = jsonr_str(item, "instanceId", &instance, err);

	if (rc == BERTH_OK)
		rc = jsonr_str(item, "vnicId", &vnic, err);
	if (rc == BERTH_OK)
		rc = jsonr_str(item, "lifecycleState", &state, err);
	if (str_starts(state, "DETACH")) /* its card may be gone already */
		vnic = "";
	for (size_t i = 0; i < l->cards.n; i++) /* each is a question of its own: once */
		if (str_eq(l->cards.v[i].vnic, vnic))
			vnic = "";
	for (size_t i = 0; rc == BERTH_OK && i < l->machines.n && vnic[0] != '\0'; i++) {
		const struct prov_machine *m = &l->machines.v[i];

		if (str_eq(strchr(m->ref, '/') + 1, instance) &&
		    (m->state == PROV_READY || m->state == PROV_PENDING) &&
		    str_eq(m->installation, o->env->installation))
			VEC_PUSH(l->arena, &l->cards,
			    (struct oci_card){
				arena_strdup(l->arena, vnic), arena_strdup(l->arena, m->ref) });
	}
	return rc;
}

static enum berth_code
oci_take_vnic(const struct oci *o, const struct jsonr *root, struct berth_err *err)
{
	struct oci_listing *l = o->listing;
	const char *ip = "", *id = "";
	enum berth_code rc;

	if ((rc = jsonr_str(root, "id", &id, err)) != BERTH_OK ||
	    (rc = jsonr_str(root, "privateIp", &ip, err)) != BERTH_OK ||
	    (rc = jsonr_str(root, "publicIp", &ip, err)) != BERTH_OK)
		return rc;
	for (size_t i = 0; i < l->cards.n; i++)
		for (size_t k = 0; str_eq(l->cards.v[i].vnic, id) && k < l->machines.n; k++)
			if (str_eq(l->machines.v[k].ref, l->cards.v[i].ref))
				str_copy(
				    l->machines.v[k].address, sizeof(l->machines.v[k].address), ip);
	for (size_t i = 0; i < l->cards.n; i++)
		if (str_eq(l->cards.v[i].vnic, id) && ip[0] != '\0')
			VEC_PUSH(l->arena, &l->addresses,
			    (struct oci_address){ l->cards.v[i].ref, arena_strdup(l->arena, ip) });
	return BERTH_OK;
}

static enum berth_code
oci_list_take(const struct oci *o, const struct jsonr *root, struct berth_err *err)
{
	struct oci_listing *l = o->listing;
	struct prov_machine m;
	struct jsonr item;
	enum berth_code rc = BERTH_OK;

	if (l->phase == 'v')
		return oci_take_vnic(o, root, err);
	if (!json_is_array(root->v))
		return jsonr_err(root, BERTH_ETRANSIENT, err, "no list in the answer");
	for (size_t i = 0; rc == BERTH_OK && i < jsonr_len(root); i++) {
		item = jsonr_at(root, i);
		if (l->phase == 'a') {
			rc = oci_take_attachment(o, &item, err);
			continue;
		}
		rc = oci_machine(o, &item, o->regions[l->region], &m, err);
		if (rc == BERTH_OK)
			VEC_PUSH(l->arena, &l->machines, m);
	}
	return rc;
}

static enum berth_code
oci_list_emit(struct oci *o, prov_machine_fn *emit, void *arg, struct berth_err *err)
{
	struct oci_listing *l = o->listing;
	enum berth_code rc = BERTH_OK;

	for (size_t i = 0; rc == BERTH_OK && i < l->machines.n; i++)
		rc = emit(arg, &l->machines.v[i], err);
	l->machines.n = l->cards.n = 0;
	return rc;
}

enum berth_code
oci_list_parse(void *st, const struct http_resp *resp, struct prov_cursor *cur,
    prov_machine_fn *emit, void *arg, struct berth_err *err)
{
	struct oci *o = st;
	struct oci_listing *l = o->listing;
	const char *page = oci_page(resp);
	struct jsonr root;
	json_t *v = NULL;
	enum berth_code rc = wirejson_parse(resp, &v, err);

	if (rc != BERTH_OK)
		return rc;
	root = jsonr_root(v, "answer");
	rc = oci_list_take(o, &root, err);
	json_decref(v);
	if (rc != BERTH_OK)
		return rc;
	if (l->phase != 'v' && page[0] != '\0') {
		if (snprintf(cur->next, sizeof(cur->next), "%c%zu|%s", l->phase, l->region, page) >=
		    (int)sizeof(cur->next))
			return err_set(err, BERTH_EINVAL, "opc-next-page is too long");
		return BERTH_OK;
	}
	if (l->phase == 'v')
		l->card++;
	else
		l->card = 0;
	if (l->phase == 'i')
		snprintf(cur->next, sizeof(cur->next), "a%zu|", l->region);
	else if (l->card < l->cards.n)
		snprintf(cur->next, sizeof(cur->next), "v%zu|%zu", l->region, l->card);
	else {
		rc = oci_list_emit(o, emit, arg, err);
		if (rc == BERTH_OK && l->region + 1 < o->n_regions)
			snprintf(cur->next, sizeof(cur->next), "i%zu|", l->region + 1);
	}
	return rc;
}
