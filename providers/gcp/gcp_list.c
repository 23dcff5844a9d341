#include <stdio.h>
#include <string.h>

#include "providers/gcp/gcp.h"
#include "providers/nametag.h"
#include "providers/wirejson.h"
#include "util/arena.h"
#include "util/str.h"

#define GCP_PAST_S 86400 /* operations older than that tell nothing new */

/*
 * cur->next: "iTOKEN" machines, "oTOKEN" operations, "nINDEX|TOKEN" nodes and "qINDEX|TOKEN" queued
 * resources of a TPU zone.
 */
enum berth_code
gcp_list_build(void *st, const struct prov_cursor *cur, struct http_req *req, struct berth_err *err)
{
	struct gcp *g = st;
	const char *token = cur->next[0] != '\0' ? cur->next + 1 : "", *bar = strchr(token, '|');

	g->listing = cur->next[0] != '\0' ? cur->next[0] : 'i';
	if (g->listing == 'n' || g->listing == 'q') {
		g->listing_zone = 0;
		for (const char *p = token; bar != NULL && p < bar; p++)
			g->listing_zone = g->listing_zone * 10 + (size_t)(*p - '0');
		token = bar != NULL ? bar + 1 : "";
		return gcp_request(req, "GET", g->tpu_api, err,
		    "v2/projects/%s/locations/%s/%s?pageSize=100%s%s", g->project,
		    http_urlencode(req->arena, g->tpu_zones[g->listing_zone]),
		    g->listing == 'n' ? "nodes" : "queuedResources",
		    token[0] != '\0' ? "&pageToken=" : "", http_urlencode(req->arena, token));
	}
	if (g->listing == 'i')
		return gcp_request(req, "GET", g->compute, err,
		    "compute/v1/projects/%s/aggregated/instances?maxResults=500&filter=%s%s%s",
		    g->project,
		    http_urlencode(
			req->arena, arena_printf(req->arena, "labels.berth-installation = \"%s\"",
					g->env->installation)),
		    token[0] != '\0' ? "&pageToken=" : "", http_urlencode(req->arena, token));
	return gcp_request(req, "GET", g->compute, err,
	    "compute/v1/projects/%s/aggregated/operations?maxResults=500&filter=%s%s%s", g->project,
	    http_urlencode(req->arena, GCP_ENDINGS), token[0] != '\0' ? "&pageToken=" : "",
	    http_urlencode(req->arena, token));
}

static enum berth_code
gcp_take_instance(const struct gcp *g, const struct jsonr *o, struct arena *a,
    prov_machine_fn *emit, void *arg, struct berth_err *err)
{
	struct prov_machine m;
	enum berth_code rc = gcp_machine(o, a, &m, err);

	(void)g;
	return rc == BERTH_OK ? emit(arg, &m, err) : rc;
}

enum berth_code
gcp_operation(const struct gcp *g, const struct jsonr *o, struct arena *a, struct prov_machine *m,
    struct berth_err *err)
{
	const char *type = "", *target = "", *name, *zone = "";
	struct jsonr error = jsonr_get(o, "error");
	struct prov_error e = { "", "" };
	int64_t at = 0;
	enum berth_code rc;

	memset(m, 0, sizeof(*m));
	if ((rc = jsonr_str(o, "operationType", &type, err)) != BERTH_OK ||
	    (rc = jsonr_str(o, "targetLink", &target, err)) != BERTH_OK ||
	    (rc = jsonr_str(o, "zone", &zone, err)) != BERTH_OK ||
	    (rc = jsonr_time(o, "insertTime", &at, err)) != BERTH_OK)
		return rc;
	name = gcp_tail(target);
	zone = gcp_tail(zone);
	nametag_read(name, m);
	m->preempted = str_eq(type, "compute.instances.preempted");
	if (m->token[0] == '\0' || at < g->env->now - GCP_PAST_S ||
	    (!m->preempted && jsonr_none(&error)) ||
	    snprintf(m->ref, sizeof(m->ref), "%s/%s", zone, name) >= (int)sizeof(m->ref)) {
		m->ref[0] = '\0';
		return BERTH_OK;
	}
	str_copy(m->zone, sizeof(m->zone), zone);
	str_copy(m->region, sizeof(m->region), gcp_region(a, zone));
	m->created = m->preempted ? 0 : at;
	m->ended = at;
	if (m->preempted) {
		m->state = PROV_GONE;
		m->purchase = PURCHASE_SPOT;
		str_copy(m->detail, sizeof(m->detail), "preempted");
	} else {
		m->state = PROV_FAILED;
		gcp_error_of(&error, &e);
		m->why = gcp_classify(&e);
		snprintf(m->detail, sizeof(m->detail), "%s: %.90s", e.code, e.text);
	}
	return BERTH_OK;
}

static enum berth_code
gcp_take_operation(const struct gcp *g, const struct jsonr *o, struct arena *a,
    prov_machine_fn *emit, void *arg, struct berth_err *err)
{
	struct prov_machine m;
	enum berth_code rc = gcp_operation(g, o, a, &m, err);

	return rc == BERTH_OK && m.ref[0] != '\0' ? emit(arg, &m, err) : rc;
}

/* A list that could not reach everything does not say that what it lacks is gone. */
static enum berth_code
gcp_list_scopes(const struct gcp *g, const struct jsonr *root, const char *array, struct arena *a,
    prov_machine_fn *emit, void *arg, struct berth_err *err)
{
	struct jsonr items, scope, list, item;
	const char *name, *far;
	enum berth_code rc;
	json_t *v;

	gcp_unreachable(root, &far);
	if (far != NULL)
		return err_set(err, BERTH_ETRANSIENT,
		    "the list is not whole: %.100s could not be reached", far);
	if ((rc = jsonr_object(root, "items", &items, err)) != BERTH_OK)
		return rc;
	if (items.v == NULL)
		return jsonr_err(root, BERTH_ETRANSIENT, err, "no machines in the answer");
	json_object_foreach((json_t *)(uintptr_t)items.v, name, v)
	{
		scope = jsonr_get(&items, name);
		rc = jsonr_array(&scope, array, &list, err);
		for (size_t i = 0; rc == BERTH_OK && i < jsonr_len(&list); i++) {
			item = jsonr_at(&list, i);
			rc = g->listing == 'i' ? gcp_take_instance(g, &item, a, emit, arg, err)
					       : gcp_take_operation(g, &item, a, emit, arg, err);
		}
		if (rc != BERTH_OK)
			return rc;
	}
	return BERTH_OK;
}

static enum berth_code
gcp_list_tpus(const struct gcp *g, const struct jsonr *root, struct arena *a, prov_machine_fn *emit,
    void *arg, struct berth_err *err)
{
	struct jsonr list, item;
	struct prov_machine m;
	const char *far;
	enum berth_code rc;

	gcp_unreachable(root, &far);
	if (far != NULL)
		return err_set(err, BERTH_ETRANSIENT,
		    "the list is not whole: %.100s could not be reached", far);
	rc = jsonr_array(root, g->listing == 'n' ? "nodes" : "queuedResources", &list, err);
	for (size_t i = 0; rc == BERTH_OK && i < jsonr_len(&list); i++) {
		item = jsonr_at(&list, i);
		rc = g->listing == 'n' ? gcp_tpu_node(&item, a, &m, err)
				       : gcp_tpu_machine(&item, a, &m, err);
		if (rc == BERTH_OK)
			rc = emit(arg, &m, err);
	}
	return rc;
}

/* The page after this one: of the same list, or the first of the next. */
static enum berth_code
gcp_list_next(
    const struct gcp *g, const struct jsonr *root, struct prov_cursor *cur, struct berth_err *err)
{
	const char *token = "";
	size_t zone = g->listing_zone;
	char next = g->listing;
	int n;
	enum berth_code rc = jsonr_str(root, "nextPageToken", &token, err);

	if (rc != BERTH_OK)
		return rc;
	if (token[0] == '\0') {
		if (g->listing == 'i')
			next = 'o';
		else if (g->listing == 'n')
			next = 'q';
		else {
			zone = g->listing == 'o' ? 0 : zone + 1;
			next = zone < g->n_tpu_zones ? 'n' : '\0';
		}
	}
	if (next == '\0')
		return BERTH_OK;
	if (next == 'n' || next == 'q')
		n = snprintf(cur->next, sizeof(cur->next), "%c%zu|%s", next, zone, token);
	else
		n = snprintf(cur->next, sizeof(cur->next), "%c%s", next, token);
	return n < 0 || (size_t)n >= sizeof(cur->next)
		   ? jsonr_err(root, BERTH_EINVAL, err, "nextPageToken is too long")
		   : BERTH_OK;
}

enum berth_code
gcp_list_parse(void *st, const struct http_resp *resp, struct prov_cursor *cur,
    prov_machine_fn *emit, void *arg, struct berth_err *err)
{
	const struct gcp *g = st;
	struct jsonr root;
	json_t *v = NULL;
	enum berth_code rc = wirejson_parse(resp, &v, err);

	if (rc != BERTH_OK)
		return rc;
	root = jsonr_root(v, "answer");
	if (g->listing == 'n' || g->listing == 'q')
		rc = gcp_list_tpus(g, &root, resp->arena, emit, arg, err);
	else
		rc = gcp_list_scopes(g, &root, g->listing == 'i' ? "instances" : "operations",
		    resp->arena, emit, arg, err);
	if (rc == BERTH_OK)
		rc = gcp_list_next(g, &root, cur, err);
	json_decref(v);
	return rc;
}
