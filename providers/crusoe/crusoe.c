#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "net/sign.h"
#include "providers/crusoe/crusoe.h"
#include "providers/endpoint.h"
#include "providers/prov.h"
#include "providers/wirejson.h"
#include "util/arena.h"
#include "util/str.h"

#define CRUSOE_ENDPOINT "https://api.crusoecloud.com/v1alpha5"

static const struct prov_key crusoe_keys[] = {
	{ "project", PROV_KEY_STRING, true, "id of the project" },
	{ "access_key", PROV_KEY_SECRET, true, "access key id: env:NAME or file:PATH" },
	{ "secret_key", PROV_KEY_SECRET, true, "secret key: env:NAME or file:PATH" },
	{ "ssh_key", PROV_KEY_STRING, false, "public key put on every machine; needed to rent" },
	{ "image", PROV_KEY_STRING, false,
	    "image; ubuntu22.04-nvidia-sxm-docker:latest, or -pcie- by the type" },
	{ "prices", PROV_KEY_NODE, false, "what an hour costs, for the API does not say" },
	{ "accelerators", PROV_KEY_NODE, false,
	    "names of the accelerator table for the API's words" },
	{ "endpoint", PROV_KEY_STRING, false, "base URL; " CRUSOE_ENDPOINT },
	{ NULL, PROV_KEY_STRING, false, NULL },
};

static const struct prov_error_row crusoe_errors[] = {
	{ 0, "out_of_stock", NULL, BERTH_ECAPACITY },
	{ 0, NULL, "out of stock", BERTH_ECAPACITY },
	{ 0, "quota_exceeded", NULL, BERTH_EQUOTA },
	{ 0, NULL, "quota", BERTH_EQUOTA },
	{ 0, "bad_credential", NULL, BERTH_EAUTH },
	{ 0, "unauthorized", NULL, BERTH_EAUTH },
	{ 0, "forbidden", NULL, BERTH_EAUTH },
	{ 0, "not_found", NULL, BERTH_ENOTFOUND },
	{ 0, "bad_request", NULL, BERTH_EPERMANENT },
	{ 0, "invalid_argument", NULL, BERTH_EPERMANENT },
	{ 0, "internal_error", NULL, BERTH_ETRANSIENT },
	{ 0, NULL, NULL, BERTH_OK },
};

static enum berth_code
crusoe_open(void *st, const struct prov_env *env, struct berth_err *err)
{
	struct crusoe *c = st;
	enum berth_code rc;

	c->env = env;
	c->project = prov_conf_str(env->conf, "project", "");
	if (c->project[0] == '\0' ||
	    c->project[strspn(c->project,
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_")] != '\0')
		return err_set(err, BERTH_EINVAL, "project '%s' is no id", c->project);
	rc = rates_read(prov_conf_node(env->conf, "prices"),
	    prov_conf_node(env->conf, "accelerators"), env->arena, &c->rates, err);
	return rc == BERTH_OK ? endpoint_read(env, "endpoint", CRUSOE_ENDPOINT, ENDPOINT_SECRETS,
				    &c->endpoint, err)
			      : rc;
}

static void
crusoe_close(void *st)
{
	struct crusoe *c = st;

	arena_free(c->arena);
}

enum berth_code
crusoe_request(const struct crusoe *c, struct http_req *req, const char *method,
    struct berth_err *err, const char *fmt, ...)
{
	va_list ap;

	req->method = method;
	va_start(ap, fmt);
	http_req_url(req, "%s/%s", c->endpoint, arena_vprintf(req->arena, fmt, ap));
	va_end(ap);
	return http_req_header(req, "Accept", "application/json", false, err);
}

static enum berth_code
crusoe_sign(void *st, struct http_req *req, int64_t now, struct berth_err *err)
{
	const struct crusoe *c = st;
	char *id = NULL, *secret = NULL;
	enum berth_code rc = prov_conf_secret(c->env->conf, "access_key", &id, err);

	if (rc == BERTH_OK)
		rc = prov_conf_secret(c->env->conf, "secret_key", &secret, err);
	if (rc == BERTH_OK)
		rc = sign_crusoe(
		    req, &(struct sign_keys){ .id = id, .secret = secret }, now, NULL, err);
	if (secret != NULL)
		explicit_bzero(secret, strlen(secret));
	free(secret);
	free(id);
	return rc;
}

/* {"code", "message"}, or an operation that failed: {"operation": {"state": "FAILED", "result":
 * {code, message}}}. */
static bool
crusoe_error_read(const struct http_resp *resp, struct prov_error *error_out)
{
	const char *code = "", *text = "", *state = "";
	struct jsonr root, op, result;
	json_t *v = NULL;

	memset(error_out, 0, sizeof(*error_out));
	if (resp->body_len > 0 && wirejson_parse(resp, &v, NULL) == BERTH_OK) {
		root = jsonr_root(v, "answer");
		op = jsonr_get(&root, "operation");
		result = jsonr_get(&op, "result");
		(void)!jsonr_str(&op, "state", &state, NULL);
		(void)!jsonr_str(&root, "code", &code, NULL);
		(void)!jsonr_str(&root, "message", &text, NULL);
		(void)!jsonr_str(&result, "code", &code, NULL);
		(void)!jsonr_str(&result, "message", &text, NULL);
		str_copy(error_out->code, sizeof(error_out->code), code);
		str_copy(error_out->text, sizeof(error_out->text), text);
	}
	bool failed = str_eq(state, "FAILED");

	json_decref(v);
	return failed || resp->status / 100 != 2;
}

static const struct prov_auth_ops crusoe_auth = { .sign = crusoe_sign };

const struct provider_ops provider_crusoe = {
	.abi = PROVIDER_ABI,
	.caps = PROV_CAP_OFFERS | PROV_CAP_QUOTA | PROV_CAP_LEASE,
	.name = "crusoe",
	.summary = "Crusoe Cloud",
	.state_size = sizeof(struct crusoe),
	.keys = crusoe_keys,
	.errors = crusoe_errors,
	.error_read = crusoe_error_read,
	.auth = &crusoe_auth,
	.open = crusoe_open,
	.close = crusoe_close,
	.market = &crusoe_market,
	.lease = &crusoe_lease,
};
