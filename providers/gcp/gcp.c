#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "providers/endpoint.h"
#include "providers/gcp/gcp.h"
#include "providers/prov.h"
#include "providers/wirejson.h"
#include "util/arena.h"
#include "util/str.h"

#define GCP_COMPUTE "https://compute.googleapis.com"
#define GCP_BILLING "https://cloudbilling.googleapis.com"
#define GCP_TPU "https://tpu.googleapis.com"
#define GCP_RESOURCES "https://cloudresourcemanager.googleapis.com"
#define GCP_QUOTAS "https://cloudquotas.googleapis.com"
#define GCP_METADATA "http://metadata.google.internal"

static const struct prov_key gcp_keys[] = {
	{ "project", PROV_KEY_STRING, true, "project id" },
	{ "credentials", PROV_KEY_SECRET, false,
	    "JSON key of a service account or of a user, env:NAME or file:PATH; else "
	    "GOOGLE_APPLICATION_CREDENTIALS, gcloud's own file, the metadata server" },
	{ "api_key", PROV_KEY_SECRET, false,
	    "API key for the price list alone: env:NAME or file:PATH" },
	{ "image", PROV_KEY_STRING, false,
	    "boot image: projects/P/global/images/family/F; needed to rent" },
	{ "network", PROV_KEY_STRING, false, "network; global/networks/default" },
	{ "subnetwork", PROV_KEY_STRING, false,
	    "subnetwork, REGION in it stands for the machine's: "
	    "projects/P/regions/REGION/subnetworks/S" },
	{ "external_ip", PROV_KEY_BOOL, false, "give machines a public address; true" },
	{ "disk_gib", PROV_KEY_INT, false, "boot disk; 100" },
	{ "ssh_key", PROV_KEY_STRING, false, "USER:PUBLIC KEY put on every machine" },
	{ "service_account", PROV_KEY_STRING, false, "service account that machines run as; none" },
	{ "tpu_zones", PROV_KEY_STRINGS, false,
	    "zones to offer TPUs in (the TPU API must be on); none" },
	{ "tpu_runtime", PROV_KEY_STRING, false,
	    "runtime version of TPUs; one by their generation" },
	{ "endpoint", PROV_KEY_STRING, false, "base URL of Compute; " GCP_COMPUTE },
	{ "billing_endpoint", PROV_KEY_STRING, false, "base URL of Cloud Billing; " GCP_BILLING },
	{ "tpu_endpoint", PROV_KEY_STRING, false, "base URL of the TPU API; " GCP_TPU },
	{ "resources_endpoint", PROV_KEY_STRING, false,
	    "base URL of the Resource Manager, for doctor; " GCP_RESOURCES },
	{ "quotas_endpoint", PROV_KEY_STRING, false, "base URL of Cloud Quotas; " GCP_QUOTAS },
	{ "metadata_endpoint", PROV_KEY_STRING, false,
	    "base URL of the metadata server; " GCP_METADATA },
	{ NULL, PROV_KEY_STRING, false, NULL },
};

/*
 * Reasons of the JSON APIs (cloud.google.com/apis/design/errors, compute/docs/troubleshooting) and
 * codes of operations. RESOURCE_EXHAUSTED says three things; only its text tells which.
 */
static const struct prov_error_row gcp_errors[] = {
	{ 0, "ZONE_RESOURCE_POOL_EXHAUSTED*", NULL, BERTH_ECAPACITY },
	{ 0, "REGION_RESOURCE_POOL_EXHAUSTED*", NULL, BERTH_ECAPACITY },
	{ 0, "RESOURCE_POOL_EXHAUSTED*", NULL, BERTH_ECAPACITY },
	{ 0, "*INSUFFICIENT_CAPACITY*", NULL, BERTH_ECAPACITY },
	{ 0, "*STOCKOUT*", NULL, BERTH_ECAPACITY },
	{ 0, "IP_SPACE_EXHAUSTED*", NULL, BERTH_ECAPACITY },
	{ 0, "rateLimitExceeded", NULL, BERTH_ETHROTTLED },
	{ 0, "userRateLimitExceeded", NULL, BERTH_ETHROTTLED },
	{ 0, "RATE_LIMIT_EXCEEDED", NULL, BERTH_ETHROTTLED },
	{ 0, "RESOURCE_EXHAUSTED", "per minute", BERTH_ETHROTTLED },
	{ 0, "RESOURCE_EXHAUSTED", "capacity", BERTH_ECAPACITY },
	{ 0, "RESOURCE_EXHAUSTED", "quota", BERTH_EQUOTA },
	{ 0, "RESOURCE_EXHAUSTED", "limit", BERTH_EQUOTA },
	{ 0, "*QUOTA*", NULL, BERTH_EQUOTA },
	{ 0, "quotaExceeded", NULL, BERTH_EQUOTA },
	{ 0, "limitExceeded", NULL, BERTH_EQUOTA },
	{ 0, "VM_EXTERNAL_IP_ACCESS_POLICY_CONSTRAINT", NULL, BERTH_EAUTH },
	{ 0, "PERMISSIONS_ERROR", NULL, BERTH_EAUTH },
	{ 0, "PERMISSION_DENIED", NULL, BERTH_EAUTH },
	{ 0, "UNAUTHENTICATED", NULL, BERTH_EAUTH },
	{ 0, "SERVICE_DISABLED", NULL, BERTH_EAUTH },
	{ 0, "API_KEY_INVALID", NULL, BERTH_EAUTH },
	{ 0, "forbidden", NULL, BERTH_EAUTH },
	{ 0, "accessNotConfigured", NULL, BERTH_EAUTH },
	{ 0, "insufficientPermissions", NULL, BERTH_EAUTH },
	{ 0, "authError", NULL, BERTH_EAUTH },
	{ 0, "invalid_grant", NULL, BERTH_EAUTH },
	{ 0, "invalid_client", NULL, BERTH_EAUTH },
	{ 0, "unauthorized_client", NULL, BERTH_EAUTH },
	{ 0, "invalid_scope", NULL, BERTH_EAUTH },
	{ 0, "internal_failure", NULL, BERTH_ETRANSIENT },
	{ 0, "server_error", NULL, BERTH_ETRANSIENT },
	{ 0, "temporarily_unavailable", NULL, BERTH_ETRANSIENT },
	{ 0, "backendError", NULL, BERTH_ETRANSIENT },
	{ 0, "internalError", NULL, BERTH_ETRANSIENT },
	{ 0, "INTERNAL_ERROR", NULL, BERTH_ETRANSIENT },
	{ 0, "UNAVAILABLE", NULL, BERTH_ETRANSIENT },
	{ 0, "resourceNotReady", NULL, BERTH_ETRANSIENT },
	{ 0, "resourceInUseByAnotherResource", NULL, BERTH_ETRANSIENT },
	/* The name is the intent's: it is ours, made by a try whose answer was lost. The list will
	   show it. */
	{ 409, "alreadyExists", NULL, BERTH_ETRANSIENT },
	{ 409, "ALREADY_EXISTS", NULL, BERTH_ETRANSIENT },
	{ 0, "RESOURCE_ALREADY_EXISTS", NULL, BERTH_ETRANSIENT },
	{ 404, "notFound", NULL, BERTH_ENOTFOUND },
	{ 0, "NOT_FOUND", NULL, BERTH_ENOTFOUND },
	{ 0, "invalid", NULL, BERTH_EPERMANENT },
	{ 0, "INVALID_*", NULL, BERTH_EPERMANENT },
	{ 0, "required", NULL, BERTH_EPERMANENT },
	{ 0, "badRequest", NULL, BERTH_EPERMANENT },
	{ 0, "FAILED_PRECONDITION", NULL, BERTH_EPERMANENT },
	{ 0, "UNSUPPORTED_OPERATION", NULL, BERTH_EPERMANENT },
	{ 0, "RESOURCE_NOT_FOUND", NULL, BERTH_EPERMANENT },
	{ 0, "conditionNotMet", NULL, BERTH_EPERMANENT },
	{ 0, NULL, NULL, BERTH_OK },
};

static enum berth_code
gcp_open(void *st, const struct prov_env *env, struct berth_err *err)
{
	struct gcp *g = st;
	enum berth_code rc;

	g->env = env;
	g->project = prov_conf_str(env->conf, "project", "");
	g->n_tpu_zones = prov_conf_strings(env->conf, "tpu_zones", &g->tpu_zones);
	if (g->project[0] == '\0' ||
	    g->project[strspn(g->project, "abcdefghijklmnopqrstuvwxyz0123456789-.:")] != '\0')
		return err_set(err, BERTH_EINVAL, "project '%s' is no project id", g->project);
	if ((rc = endpoint_read(
		 env, "endpoint", GCP_COMPUTE, ENDPOINT_SECRETS, &g->compute, err)) != BERTH_OK ||
	    (rc = endpoint_read(env, "billing_endpoint", GCP_BILLING, ENDPOINT_SECRETS, &g->billing,
		 err)) != BERTH_OK ||
	    (rc = endpoint_read(env, "resources_endpoint", GCP_RESOURCES, ENDPOINT_SECRETS,
		 &g->resources, err)) != BERTH_OK ||
	    (rc = endpoint_read(env, "quotas_endpoint", GCP_QUOTAS, ENDPOINT_SECRETS, &g->quotas,
		 err)) != BERTH_OK ||
	    (rc = endpoint_read(
		 env, "tpu_endpoint", GCP_TPU, ENDPOINT_SECRETS, &g->tpu_api, err)) != BERTH_OK)
		return rc;
	return endpoint_read(
	    env, "metadata_endpoint", GCP_METADATA, ENDPOINT_LOCAL, &g->metadata, err);
}

static void
gcp_close(void *st)
{
	gcp_auth_close(st);
	gcp_market_close(st);
}

enum berth_code
gcp_request(struct http_req *req, const char *method, const char *base, struct berth_err *err,
    const char *fmt, ...)
{
	va_list ap;

	req->method = method;
	va_start(ap, fmt);
	http_req_url(req, "%s/%s", base, arena_vprintf(req->arena, fmt, ap));
	va_end(ap);
	return http_req_header(req, "Accept", "application/json", false, err);
}

const char *
gcp_tail(const char *url)
{
	const char *slash = strrchr(url, '/');

	return slash != NULL ? slash + 1 : url;
}

const char *
gcp_region(struct arena *a, const char *zone)
{
	const char *dash = strrchr(zone, '-');

	return dash != NULL && dash != zone && strchr(zone, '-') != dash
		   ? arena_strndup(a, zone, (size_t)(dash - zone))
		   : "";
}

void
gcp_unreachable(const struct jsonr *root, const char **what_out)
{
	struct jsonr items = jsonr_get(root, "items"), far = jsonr_get(root, "unreachables");
	const char *scope, *code;
	json_t *v;

	*what_out = NULL;
	if (jsonr_none(&far))
		far = jsonr_get(root, "unreachable"); /* as the TPU API spells it */
	if (jsonr_len(&far) > 0)
		*what_out = json_is_string(json_array_get(far.v, 0))
				? json_string_value(json_array_get(far.v, 0))
				: "?";
	if (!json_is_object(items.v))
		return;
	json_object_foreach((json_t *)(uintptr_t)items.v, scope, v)
	{
		struct jsonr it = jsonr_get(&items, scope), warning = jsonr_get(&it, "warning");

		code = "";
		(void)!jsonr_str(&warning, "code", &code, NULL);
		if (*what_out == NULL && str_eq(code, "UNREACHABLE"))
			*what_out = scope;
	}
}

void
gcp_shape_read(const char *instance_type, struct gcp_shape *shape)
{
	const char *plus = strchr(instance_type, '+'), *x;

	memset(shape, 0, sizeof(*shape));
	str_copy(shape->type,
	    plus != NULL && (size_t)(plus - instance_type) < sizeof(shape->type)
		? (size_t)(plus - instance_type) + 1
		: sizeof(shape->type),
	    instance_type);
	x = plus != NULL ? strchr(plus, 'x') : NULL;
	if (x == NULL || x - plus < 2 || x - plus > 3)
		return;
	for (const char *p = plus + 1; p < x; p++)
		shape->cards = str_is_digit(*p) ? shape->cards * 10 + (*p - '0') : 0;
	str_copy(shape->card, sizeof(shape->card), x + 1);
}

/* google.rpc.Code where a long-running operation gives the number alone. */
static const char *
gcp_rpc_name(int64_t code)
{
	static const char *const names[] = { "", "CANCELLED", "UNKNOWN", "INVALID_ARGUMENT",
		"DEADLINE_EXCEEDED", "NOT_FOUND", "ALREADY_EXISTS", "PERMISSION_DENIED",
		"RESOURCE_EXHAUSTED", "FAILED_PRECONDITION", "ABORTED", "OUT_OF_RANGE",
		"UNIMPLEMENTED", "INTERNAL_ERROR", "UNAVAILABLE", "DATA_LOSS", "UNAUTHENTICATED" };

	return code > 0 && code < (int64_t)(sizeof(names) / sizeof(names[0])) ? names[code] : "";
}

void
gcp_error_of(const struct jsonr *error, struct prov_error *e)
{
	struct jsonr list = jsonr_get(error, "errors"), first = jsonr_at(&list, 0);
	struct jsonr details = jsonr_get(error, "details"), detail = jsonr_at(&details, 0);
	const char *code = "", *text = "";
	int64_t number = 0;

	(void)!jsonr_str(error, "message", &text, NULL);
	(void)!jsonr_int(error, "code", 0, 1000, &number, NULL);
	(void)!jsonr_str(error, "status", &code, NULL);
	(void)!jsonr_str(&detail, "reason", &code, NULL);
	(void)!jsonr_str(&first, "reason", &code, NULL);
	(void)!jsonr_str(&first, "code", &code, NULL);
	if (text[0] == '\0')
		(void)!jsonr_str(&first, "message", &text, NULL);
	str_copy(e->code, sizeof(e->code), code[0] != '\0' ? code : gcp_rpc_name(number));
	str_copy(e->text, sizeof(e->text), text);
}

/* Of the JSON APIs, of an operation that is done already, or of a token endpoint (RFC 6749, 5.2):
 * any status. */
bool
gcp_error_read(const struct http_resp *resp, struct prov_error *error_out)
{
	struct jsonr root, error;
	json_t *v = NULL;
	const char *s = "";
	bool found = false;

	memset(error_out, 0, sizeof(*error_out));
	if (wirejson_parse(resp, &v, NULL) == BERTH_OK) {
		root = jsonr_root(v, "answer");
		error = jsonr_get(&root, "error");
		found = !jsonr_none(&error);
		if (json_is_string(error.v)) {
			str_copy(
			    error_out->code, sizeof(error_out->code), json_string_value(error.v));
			(void)!jsonr_str(&root, "error_description", &s, NULL);
			str_copy(error_out->text, sizeof(error_out->text), s);
		} else if (json_is_object(error.v))
			gcp_error_of(&error, error_out);
	}
	json_decref(v);
	return found || resp->status / 100 != 2;
}

enum berth_code
gcp_classify(const struct prov_error *e)
{
	struct http_resp resp = { .status = 0, .body = "" };

	return prov_classify(&provider_gcp, &resp, e, true, NULL);
}

const struct provider_ops provider_gcp = {
	.abi = PROVIDER_ABI,
	.caps = PROV_CAP_OFFERS | PROV_CAP_QUOTA | PROV_CAP_LEASE | PROV_CAP_TOKEN | PROV_CAP_SPOT,
	.name = "gcp",
	.summary = "Google Cloud: Compute Engine and TPUs",
	.state_size = sizeof(struct gcp),
	.keys = gcp_keys,
	.errors = gcp_errors,
	.error_read = gcp_error_read,
	.auth = &gcp_auth,
	.open = gcp_open,
	.close = gcp_close,
	.market = &gcp_market,
	.lease = &gcp_lease,
};
