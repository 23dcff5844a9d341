#include <stdio.h>
#include <string.h>

#include "providers/gcp/gcp.h"
#include "providers/wirejson.h"
#include "util/buf.h"
#include "util/str.h"

/* What berth does with a project, in Google's words (iam.googleapis.com permissions); the TPU API's
 * only with tpu_zones. */
static const struct {
	const char *name;
	bool tpu;
} gcp_permissions[] = {
	{ "compute.machineTypes.list", false }, { "compute.acceleratorTypes.list", false },
	{ "compute.regions.list", false }, { "compute.projects.get", false },
	{ "compute.instances.list", false }, { "compute.instances.get", false },
	{ "compute.instances.create", false }, { "compute.instances.delete", false },
	{ "compute.instances.setMetadata", false }, { "compute.instances.setLabels", false },
	{ "compute.disks.create", false }, { "compute.subnetworks.use", false },
	{ "compute.subnetworks.useExternalIp", false }, { "compute.globalOperations.list", false },
	{ "compute.zoneOperations.list", false }, { "tpu.acceleratortypes.list", true },
	{ "tpu.nodes.list", true }, { "tpu.nodes.get", true }, { "tpu.nodes.create", true },
	{ "tpu.nodes.delete",
	    true }, /* of queued resources too, which have no permissions of their own */
};
#define GCP_PERMISSIONS (sizeof(gcp_permissions) / sizeof(gcp_permissions[0]))

static bool
gcp_check_wanted(const struct gcp *g, size_t i)
{
	return !gcp_permissions[i].tpu || g->n_tpu_zones > 0;
}

enum berth_code
gcp_check_build(void *st, int n, struct http_req *req, struct berth_err *err)
{
	const struct gcp *g = st;
	enum berth_code rc;
	struct jsonw w;
	struct buf b;

	if (n > 0)
		return BERTH_ENOTFOUND;
	rc = gcp_request(
	    req, "POST", g->resources, err, "v1/projects/%s:testIamPermissions", g->project);
	if (rc != BERTH_OK)
		return rc;
	buf_init(&b, 8192);
	jsonw_init_buf(&w, &b, JSONW_COMPACT);
	jsonw_begin_object(&w, NULL);
	jsonw_begin_array(&w, "permissions");
	for (size_t i = 0; i < GCP_PERMISSIONS; i++)
		if (gcp_check_wanted(g, i))
			jsonw_str(&w, NULL, gcp_permissions[i].name);
	jsonw_end_array(&w);
	jsonw_end_object(&w);
	return wirejson_body(&w, &b, req, err);
}

/* The answer names those that the caller has. */
enum berth_code
gcp_check_parse(void *st, const struct http_resp *resp, int n, struct prov_check *check_out,
    struct berth_err *err)
{
	const struct gcp *g = st;
	struct jsonr root, list;
	json_t *v = NULL;
	enum berth_code rc;

	(void)n;
	str_copy(check_out->name, sizeof(check_out->name), "permissions");
	if (check_out->code != BERTH_OK)
		return BERTH_OK;
	rc = wirejson_parse(resp, &v, err);
	if (rc != BERTH_OK)
		return rc;
	root = jsonr_root(v, "answer");
	list = jsonr_get(&root, "permissions");
	for (size_t i = 0; i < GCP_PERMISSIONS; i++) {
		bool has = !gcp_check_wanted(g, i);

		for (size_t k = 0; !has && k < jsonr_len(&list); k++)
			has = str_eq(
			    json_string_value(json_array_get(list.v, k)), gcp_permissions[i].name);
		if (has)
			continue;
		check_out->code = BERTH_EAUTH;
		snprintf(check_out->detail + strlen(check_out->detail),
		    sizeof(check_out->detail) - strlen(check_out->detail), "%s%s",
		    check_out->detail[0] != '\0' ? ", " : "missing: ", gcp_permissions[i].name);
	}
	json_decref(v);
	return BERTH_OK;
}
