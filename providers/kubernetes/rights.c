#include <stdio.h>

#include "providers/kubernetes/kubernetes.h"
#include "providers/wirejson.h"
#include "util/buf.h"
#include "util/str.h"

/* Rights that machines need, asked of the cluster itself: it answers for whoever asks, and makes
 * nothing. */
static const struct {
	const char *verb, *group, *resource;
	bool cluster, needed;
} kube_rights[] = {
	{ "create", "batch", "jobs", false, true },
	{ "list", "batch", "jobs", false, true },
	{ "delete", "batch", "jobs", false, true },
	{ "list", "", "pods", false, true },
	{ "list", "", "events", false, false },
	{ "list", "", "nodes", true, false },
	{ "list", "", "pods", true, false },
};
#define KUBE_RIGHTS ((int)(sizeof(kube_rights) / sizeof(kube_rights[0])))

enum berth_code
kube_check_build(void *st, int n, struct http_req *req, struct berth_err *err)
{
	const struct kube *s = st;
	struct jsonw w;
	struct buf b;
	enum berth_code rc;

	if (n >= KUBE_RIGHTS)
		return err_set(err, BERTH_ENOTFOUND, "no more rights");
	buf_init(&b, 4096);
	jsonw_init_buf(&w, &b, JSONW_COMPACT);
	jsonw_begin_object(&w, NULL);
	jsonw_str(&w, "apiVersion", "authorization.k8s.io/v1");
	jsonw_str(&w, "kind", "SelfSubjectAccessReview");
	jsonw_begin_object(&w, "spec");
	jsonw_begin_object(&w, "resourceAttributes");
	jsonw_str(&w, "verb", kube_rights[n].verb);
	jsonw_str(&w, "group", kube_rights[n].group);
	jsonw_str(&w, "resource", kube_rights[n].resource);
	if (!kube_rights[n].cluster)
		jsonw_str(&w, "namespace", s->access.namespace);
	jsonw_end_object(&w);
	jsonw_end_object(&w);
	jsonw_end_object(&w);
	rc = jsonw_finish(&w, err);
	if (rc == BERTH_OK)
		rc = kube_request(
		    s, req, "POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", err);
	if (rc == BERTH_OK)
		rc = http_req_body(req, "application/json", b.p, b.len, err);
	buf_free(&b);
	return rc;
}

enum berth_code
kube_check_parse(void *st, const struct http_resp *resp, int n, struct prov_check *check_out,
    struct berth_err *err)
{
	const struct kube *s = st;
	struct jsonr root, status;
	/* prices are read from nodes, unless the account says what there is */
	bool allowed = false,
	     needed = kube_rights[n].needed ||
		      (s->shapes == NULL && str_eq(kube_rights[n].resource, "nodes"));
	json_t *v = NULL;
	enum berth_code rc;

	snprintf(check_out->name, sizeof(check_out->name), "%s %s%s%s%s", kube_rights[n].verb,
	    kube_rights[n].resource, kube_rights[n].group[0] != '\0' ? "." : "",
	    kube_rights[n].group, kube_rights[n].cluster ? " of the cluster" : "");
	if (check_out->code != BERTH_OK)
		return BERTH_OK;
	if ((rc = wirejson_parse(resp, &v, err)) != BERTH_OK)
		return rc;
	root = jsonr_root(v, "answer");
	status = jsonr_get(&root, "status");
	(void)!jsonr_bool(&status, "allowed", &allowed, NULL);
	json_decref(v);
	if (allowed)
		return BERTH_OK;
	if (needed)
		check_out->code = BERTH_EAUTH;
	snprintf(check_out->detail, sizeof(check_out->detail), "not allowed to this user%s",
	    needed && kube_rights[n].cluster ? ": allow it, or name what there is by 'shapes'"
					     : "");
	return BERTH_OK;
}
