#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "providers/endpoint.h"
#include "providers/openstack/openstack.h"
#include "providers/prov.h"
#include "providers/wirejson.h"
#include "util/arena.h"
#include "util/buf.h"
#include "util/log.h"
#include "util/str.h"

#define OPENSTACK_BODY_MAX 65536

/* The first step still to be made from here on; what needs no look-up is passed over. */
static enum openstack_step
openstack_from(const struct openstack *s, enum openstack_step step)
{
	if (s->env->installation[0] == '\0' && step != OPENSTACK_TOKEN)
		return OPENSTACK_DONE; /* nothing will be made */
	if (step == OPENSTACK_IMAGE && s->image_id != NULL)
		step = OPENSTACK_NETWORK;
	if (step == OPENSTACK_NETWORK && s->network_id != NULL)
		step = OPENSTACK_DONE;
	return step;
}

static bool
openstack_need(void *st, int64_t now)
{
	struct openstack *s = st;

	if (s->token == NULL || now >= s->expires - OPENSTACK_EARLY_S)
		return true;
	return s->step != OPENSTACK_DONE;
}

static void
openstack_opt(struct jsonw *w, const char *key, const char *value)
{
	if (value[0] != '\0')
		jsonw_str(w, key, value);
}

static void
openstack_domain(struct jsonw *w, const char *id, const char *name)
{
	jsonw_begin_object(w, "domain");
	if (id[0] != '\0')
		jsonw_str(w, "id", id);
	else
		jsonw_str(w, "name", name[0] != '\0' ? name : "Default");
	jsonw_end_object(w);
}

static void
openstack_user(struct jsonw *w, const struct openstack_who *who, bool password)
{
	jsonw_begin_object(w, "user");
	if (who->user_id[0] != '\0')
		jsonw_str(w, "id", who->user_id);
	else {
		jsonw_str(w, "name", who->username);
		openstack_domain(w, who->user_domain_id, who->user_domain_name);
	}
	if (password)
		jsonw_str(w, "password", who->secret);
	jsonw_end_object(w);
}

static void
openstack_scope(struct jsonw *w, const struct openstack_who *who)
{
	jsonw_begin_object(w, "scope");
	jsonw_begin_object(w, "project");
	if (who->project_id[0] != '\0')
		jsonw_str(w, "id", who->project_id);
	else {
		jsonw_str(w, "name", who->project_name);
		openstack_domain(w, who->project_domain_id, who->project_domain_name);
	}
	jsonw_end_object(w);
	jsonw_end_object(w);
}

/* An application credential is bound to its project: keystone refuses a scope beside it. */
static void
openstack_token_body(struct jsonw *w, const struct openstack_who *who)
{
	const bool app = who->app_id[0] != '\0' || who->app_name[0] != '\0';
	const char *method = app ? "application_credential" : "password";

	jsonw_begin_object(w, NULL);
	jsonw_begin_object(w, "auth");
	jsonw_begin_object(w, "identity");
	jsonw_begin_array(w, "methods");
	jsonw_str(w, NULL, method);
	jsonw_end_array(w);
	jsonw_begin_object(w, method);
	if (app) {
		openstack_opt(w, "id", who->app_id);
		if (who->app_id[0] == '\0') {
			jsonw_str(w, "name", who->app_name);
			openstack_user(w, who, false);
		}
		jsonw_str(w, "secret", who->secret);
	} else
		openstack_user(w, who, true);
	jsonw_end_object(w);
	jsonw_end_object(w);
	if (!app)
		openstack_scope(w, who);
	jsonw_end_object(w);
	jsonw_end_object(w);
}

static enum berth_code
openstack_token_build(struct openstack *s, struct http_req *req, struct berth_err *err)
{
	struct jsonw w;
	struct buf b;
	enum berth_code rc;

	buf_init(&b, OPENSTACK_BODY_MAX);
	jsonw_init_buf(&w, &b, JSONW_COMPACT);
	openstack_token_body(&w, &s->who);
	rc = jsonw_finish(&w, err);
	req->method = "POST";
	http_req_url(req, "%s/auth/tokens", s->who.auth_url);
	if (rc == BERTH_OK)
		rc = http_req_header(req, "Accept", "application/json", false, err);
	if (rc == BERTH_OK)
		rc = http_req_body(req, "application/json", b.p, b.len, err);
	buf_wipe(&b);
	return rc;
}

static enum berth_code
openstack_sign(void *st, struct http_req *req, int64_t now, struct berth_err *err)
{
	const struct openstack *s = st;

	(void)now;
	return http_req_set_header(
	    req, "X-Auth-Token", s->token != NULL ? s->token : "", true, err);
}

static enum berth_code
openstack_step_build(void *st, int64_t now, struct http_req *req, struct berth_err *err)
{
	struct openstack *s = st;
	struct arena *a = req->arena;
	enum berth_code rc;

	if (s->token == NULL || now >= s->expires - OPENSTACK_EARLY_S)
		return openstack_token_build(s, req, err);
	req->any_status = true; /* what cannot be looked up is missed where it is needed */
	if (s->step == OPENSTACK_FLAVORS)
		rc = openstack_request(s, req, "GET", s->compute, OPENSTACK_NOVA,
		    arena_printf(a, "flavors?is_public=None&limit=1000%s%s",
			s->marker[0] != '\0' ? "&marker=" : "", s->marker),
		    err);
	else if (s->step == OPENSTACK_IMAGE)
		rc = openstack_request(s, req, "GET", s->image_url, NULL,
		    arena_printf(a, "%s?name=%s&status=active&sort=created_at:desc&limit=1",
			str_ends(s->image_url, "/v2") ? "images" : "v2/images",
			http_urlencode(a, s->image)),
		    err);
	else
		rc = openstack_request(s, req, "GET", s->network_url, NULL,
		    arena_printf(a, "%s?name=%s",
			str_ends(s->network_url, "/v2.0") ? "networks" : "v2.0/networks",
			http_urlencode(a, s->network)),
		    err);
	return rc == BERTH_OK ? openstack_sign(st, req, now, err) : rc;
}

/* URL of a service: its endpoint of our interface, in our region if one is named. */
static enum berth_code
openstack_endpoint(struct openstack *s, const struct jsonr *catalog, const char *const *types,
    const char *said, const char **url_out, struct berth_err *err)
{
	const char *url = said, *first = "";
	size_t n;
	char *own;

	for (size_t i = 0; url[0] == '\0' && i < jsonr_len(catalog); i++) {
		struct jsonr service = jsonr_at(catalog, i),
			     list = jsonr_get(&service, "endpoints");
		const char *type = "";

		(void)!jsonr_str(&service, "type", &type, NULL);
		for (size_t k = 0; str_index(type, types) >= 0 && k < jsonr_len(&list); k++) {
			struct jsonr e = jsonr_at(&list, k);
			const char *interface = "", *region = "", *u = "";

			(void)!jsonr_str(&e, "interface", &interface, NULL);
			(void)!jsonr_str(&e, "region", &region, NULL);
			(void)!jsonr_str(&e, "url", &u, NULL);
			if (!str_eq(interface, s->who.interface) ||
			    (s->who.region[0] != '\0' && !str_eq(region, s->who.region)))
				continue;
			if (first[0] == '\0') {
				first = u;
				if (s->who.region[0] == '\0' && str_eq(type, "compute"))
					s->who.region = arena_strdup(s->env->arena, region);
			}
		}
	}
	own = arena_strdup(s->catalog, url[0] != '\0' ? url : first);
	for (n = strlen(own); n > 0 && own[n - 1] == '/';)
		own[--n] = '\0';
	*url_out = own;
	return own[0] == '\0' ? BERTH_OK
			      : endpoint_check(types[0], own,
				    s->plain_http ? ENDPOINT_LOCAL : ENDPOINT_SECRETS, err);
}

static enum berth_code
openstack_catalog(struct openstack *s, const struct jsonr *token, struct berth_err *err)
{
	static const char *const compute[] = { "compute", NULL }, *const placement[] = {
		"placement", NULL
	};
	static const char *const image[] = { "image", NULL }, *const network[] = { "network",
		NULL };
	struct jsonr catalog = jsonr_get(token, "catalog");
	enum berth_code rc;

	arena_reset(s->catalog);
	if ((rc = openstack_endpoint(s, &catalog, compute, s->who.compute, &s->compute, err)) !=
		BERTH_OK ||
	    (rc = openstack_endpoint(
		 s, &catalog, placement, s->who.placement, &s->placement, err)) != BERTH_OK ||
	    (rc = openstack_endpoint(s, &catalog, image, s->who.image_url, &s->image_url, err)) !=
		BERTH_OK ||
	    (rc = openstack_endpoint(
		 s, &catalog, network, s->who.network_url, &s->network_url, err)) != BERTH_OK)
		return rc;
	if (s->compute[0] != '\0')
		return BERTH_OK;
	return err_set(err, BERTH_EPERMANENT,
	    "the catalogue has no compute service for interface '%s'%s%s%s", s->who.interface,
	    s->who.region[0] != '\0' ? " in region '" : "", s->who.region,
	    s->who.region[0] != '\0' ? "'" : "");
}

static void
openstack_drop(void *st)
{
	struct openstack *s = st;

	if (s->token != NULL)
		explicit_bzero(s->token, strlen(s->token));
	free(s->token);
	s->token = NULL;
}

static enum berth_code
openstack_token_parse(
    struct openstack *s, const struct http_resp *resp, int64_t now, struct berth_err *err)
{
	const char *value = http_resp_header(resp, "X-Subject-Token");
	struct jsonr root, token;
	json_t *v = NULL;
	int64_t expires = now + 3600;
	enum berth_code rc = wirejson_parse(resp, &v, err);

	if (rc != BERTH_OK)
		return rc;
	openstack_drop(s);
	root = jsonr_root(v, "answer");
	rc = jsonr_object(&root, "token", &token, err);
	if (rc == BERTH_OK && (token.v == NULL || value == NULL || value[0] == '\0'))
		rc = jsonr_err(&root, BERTH_ETRANSIENT, err, "no token in the answer");
	if (rc == BERTH_OK)
		rc = jsonr_time(&token, "expires_at", &expires, err);
	if (rc == BERTH_OK)
		rc = openstack_catalog(s, &token, err);
	if (rc == BERTH_OK && (s->token = strdup(value)) == NULL)
		rc = err_set(err, BERTH_ENOMEM, "no memory for a token");
	json_decref(v);
	/* one that lives for less than the margin is used while it lives */
	s->expires = expires - now > 2 * OPENSTACK_EARLY_S
			 ? expires
			 : expires + OPENSTACK_EARLY_S - (expires - now) / 4;
	if (rc == BERTH_OK && s->step == OPENSTACK_TOKEN)
		s->step = openstack_from(s, OPENSTACK_FLAVORS);
	return rc;
}

static enum berth_code
openstack_flavor_ids(struct openstack *s, const struct jsonr *root, struct berth_err *err)
{
	struct jsonr list;
	char next[2048] = "";
	enum berth_code rc = jsonr_array(root, "flavors", &list, err);

	for (size_t i = 0; rc == BERTH_OK && i < jsonr_len(&list); i++) {
		struct jsonr f = jsonr_at(&list, i);
		const char *name = "", *id = "";

		if ((rc = jsonr_str(&f, "name", &name, err)) != BERTH_OK ||
		    (rc = jsonr_str(&f, "id", &id, err)) != BERTH_OK)
			return rc;
		strmap_add(s->env->arena, &s->flavor_ids, name, s->ids.n, NULL);
		VEC_PUSH(s->env->arena, &s->ids, arena_strdup(s->env->arena, id));
	}
	if (rc == BERTH_OK)
		rc = openstack_next(root, "flavors_links", next, sizeof(next), err);
	if (rc == BERTH_OK && next[0] != '\0' && !str_eq(next, s->marker))
		s->marker = arena_strdup(s->env->arena, next);
	else
		s->step = openstack_from(s, OPENSTACK_IMAGE);
	return rc;
}

/* The id of the first of a list; "" if it has none. */
static const char *
openstack_first_id(struct openstack *s, const struct jsonr *root, const char *key)
{
	struct jsonr list = jsonr_get(root, key), one = jsonr_at(&list, 0);
	const char *id = "";

	(void)!jsonr_str(&one, "id", &id, NULL);
	return arena_strdup(s->env->arena, id);
}

static enum berth_code
openstack_step_parse(void *st, const struct http_resp *resp, int64_t now, struct berth_err *err)
{
	struct openstack *s = st;
	struct jsonr root;
	json_t *v = NULL;
	enum berth_code rc = BERTH_OK;

	if (s->token == NULL || now >= s->expires - OPENSTACK_EARLY_S)
		return openstack_token_parse(s, resp, now, err);
	if (resp->status == 200)
		(void)!wirejson_parse(resp, &v, NULL);
	else
		log_debug(s->env->log, "%s: HTTP %d to a look-up", s->env->account, resp->status);
	root = jsonr_root(v, "answer");
	switch (s->step) {
	case OPENSTACK_FLAVORS:
		rc = openstack_flavor_ids(s, &root, err);
		break;
	case OPENSTACK_IMAGE:
		s->image_id = openstack_first_id(s, &root, "images");
		s->step = openstack_from(s, OPENSTACK_NETWORK);
		break;
	case OPENSTACK_NETWORK:
		s->network_id = openstack_first_id(s, &root, "networks");
		s->step = OPENSTACK_DONE;
		break;
	case OPENSTACK_TOKEN:
	case OPENSTACK_DONE:
		s->step = OPENSTACK_DONE;
		break;
	}
	json_decref(v);
	return rc;
}

const struct prov_auth_ops openstack_auth = {
	.need = openstack_need,
	.step_build = openstack_step_build,
	.step_parse = openstack_step_parse,
	.drop = openstack_drop,
	.sign = openstack_sign,
};
