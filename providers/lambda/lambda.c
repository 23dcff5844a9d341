#include <stdlib.h>
#include <string.h>

#include "providers/endpoint.h"
#include "providers/lambda/lambda.h"
#include "providers/prov.h"
#include "providers/wirejson.h"
#include "util/arena.h"
#include "util/str.h"

#define LAMBDA_ENDPOINT "https://cloud.lambda.ai/api/v1"

static const struct prov_key lambda_keys[] = {
	{ "api_key", PROV_KEY_SECRET, true, "key of the account: env:NAME or file:PATH" },
	{ "endpoint", PROV_KEY_STRING, false, "base URL; " LAMBDA_ENDPOINT },
	{ "ssh_key", PROV_KEY_STRING, false,
	    "name of an SSH key of the account, put on every machine; needed to rent" },
	{ NULL, PROV_KEY_STRING, false, NULL },
};

/* Codes of the OpenAPI document; its text says to go by the code, never by the message. */
static const struct prov_error_row lambda_errors[] = {
	{ 0, "instance-operations/launch/insufficient-capacity", NULL, BERTH_ECAPACITY },
	{ 0, "global/quota-exceeded", NULL, BERTH_EQUOTA },
	{ 0, "global/invalid-api-key", NULL, BERTH_EAUTH },
	{ 0, "global/account-inactive", NULL, BERTH_EAUTH },
	{ 0, "global/object-does-not-exist", NULL, BERTH_ENOTFOUND },
	{ 0, "global/invalid-parameters", NULL, BERTH_EPERMANENT },
	{ 0, "global/invalid-address", NULL, BERTH_EPERMANENT },
	{ 0, "global/duplicate", NULL, BERTH_EPERMANENT },
	{ 0, "instance-operations/launch/file-system-in-wrong-region", NULL, BERTH_EPERMANENT },
	{ 0, "provider/*", NULL, BERTH_ETRANSIENT },
	{ 0, NULL, NULL, BERTH_OK },
};

static enum berth_code
lambda_open(void *st, const struct prov_env *env, struct berth_err *err)
{
	struct lambda *l = st;

	l->env = env;
	l->ssh_key = prov_conf_str(env->conf, "ssh_key", NULL);
	return endpoint_read(env, "endpoint", LAMBDA_ENDPOINT, ENDPOINT_SECRETS, &l->endpoint, err);
}

enum berth_code
lambda_request(const struct lambda *l, struct http_req *req, const char *method, const char *path,
    struct berth_err *err)
{
	char *key = NULL;
	const char *bearer;
	enum berth_code rc = prov_conf_secret(l->env->conf, "api_key", &key, err);

	if (rc != BERTH_OK)
		return rc;
	bearer = arena_printf(req->arena, "Bearer %s", key);
	explicit_bzero(key, strlen(key));
	free(key);
	req->method = method;
	http_req_url(req, "%s/%s", l->endpoint, path);
	rc = http_req_header(req, "Authorization", bearer, true, err);
	return rc == BERTH_OK ? http_req_header(req, "Accept", "application/json", false, err) : rc;
}

/* {"error": {"code", "message"}}, which may come with any status. */
static bool
lambda_error_read(const struct http_resp *resp, struct prov_error *error_out)
{
	const char *code = "", *text = "";
	struct jsonr root, error;
	json_t *v = NULL;
	bool found = false;

	if (wirejson_parse(resp, &v, NULL) == BERTH_OK) {
		root = jsonr_root(v, "answer");
		error = jsonr_get(&root, "error");
		found = !jsonr_none(&error);
		(void)!jsonr_str(&error, "code", &code, NULL);
		(void)!jsonr_str(&error, "message", &text, NULL);
	}
	str_copy(error_out->code, sizeof(error_out->code), code);
	str_copy(error_out->text, sizeof(error_out->text), text);
	json_decref(v);
	return found || resp->status / 100 != 2;
}

const struct provider_ops provider_lambda = {
	.abi = PROVIDER_ABI,
	.caps = PROV_CAP_OFFERS | PROV_CAP_LEASE,
	.name = "lambda",
	.summary = "Lambda Cloud",
	.state_size = sizeof(struct lambda),
	.keys = lambda_keys,
	.errors = lambda_errors,
	.error_read = lambda_error_read,
	.open = lambda_open,
	.market = &lambda_market,
	.lease = &lambda_lease,
};
