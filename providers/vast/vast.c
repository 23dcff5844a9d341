#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "providers/endpoint.h"
#include "providers/prov.h"
#include "providers/vast/vast.h"
#include "providers/wirejson.h"
#include "util/str.h"

#define VAST_ENDPOINT "https://console.vast.ai/api"

static const struct prov_key vast_keys[] = {
	{ "api_key", PROV_KEY_SECRET, true, "key of the account: env:NAME or file:PATH" },
	{ "image", PROV_KEY_STRING, false, "container image; needed to rent" },
	{ "disk_gib", PROV_KEY_INT, false, "disk, which is part of the price; 32" },
	{ "unverified", PROV_KEY_BOOL, false,
	    "offer machines that Vast has not verified too; false" },
	{ "endpoint", PROV_KEY_STRING, false, "base URL; " VAST_ENDPOINT },
	{ NULL, PROV_KEY_STRING, false, NULL },
};

/* An ask is one machine of one host: when it is taken it is gone, and that is no room. */
static const struct prov_error_row vast_errors[] = {
	{ 0, "no_such_ask", NULL, BERTH_ECAPACITY },
	{ 0, NULL, "no_such_ask", BERTH_ECAPACITY },
	{ 0, NULL, "no longer available", BERTH_ECAPACITY },
	{ 0, NULL, "bid is too low", BERTH_ECAPACITY },
	{ 0, "insufficient_credit", NULL, BERTH_EQUOTA },
	{ 0, NULL, "lacks credit", BERTH_EQUOTA },
	{ 0, "rate_limit_exceeded", NULL, BERTH_ETHROTTLED },
	{ 0, NULL, "too frequent", BERTH_ETHROTTLED },
	{ 0, "auth_error", NULL, BERTH_EAUTH },
	{ 0, NULL, "invalid user key", BERTH_EAUTH },
	{ 0, "no_such_instance", NULL, BERTH_ENOTFOUND },
	{ 0, "not_found", NULL, BERTH_ENOTFOUND },
	{ 0, "invalid_args", NULL, BERTH_EPERMANENT },
	{ 0, "invalid_request", NULL, BERTH_EPERMANENT },
	{ 0, NULL, NULL, BERTH_OK },
};

static enum berth_code
vast_open(void *st, const struct prov_env *env, struct berth_err *err)
{
	struct vast *v = st;

	v->env = env;
	v->disk_gib = (double)prov_conf_int(env->conf, "disk_gib", 32);
	return endpoint_read(env, "endpoint", VAST_ENDPOINT, ENDPOINT_SECRETS, &v->endpoint, err);
}

/* {"success": false, "error", "msg"} with any status, or {"detail"}. */
static bool
vast_error_read(const struct http_resp *resp, struct prov_error *error_out)
{
	const char *code = "", *text = "";
	struct jsonr root;
	json_t *v = NULL;
	bool success = true;

	memset(error_out, 0, sizeof(*error_out));
	if (wirejson_parse(resp, &v, NULL) == BERTH_OK) {
		root = jsonr_root(v, "answer");
		(void)!jsonr_bool(&root, "success", &success, NULL);
		(void)!jsonr_str(&root, "error", &code, NULL);
		(void)!jsonr_str(&root, "detail", &text, NULL);
		(void)!jsonr_str(&root, "msg", &text, NULL);
		str_copy(error_out->code, sizeof(error_out->code), code);
		str_copy(error_out->text, sizeof(error_out->text), text);
	}
	json_decref(v);
	return !success || resp->status / 100 != 2;
}

const struct provider_ops provider_vast = {
	.abi = PROVIDER_ABI,
	.caps = PROV_CAP_OFFERS | PROV_CAP_LEASE | PROV_CAP_SPOT,
	.name = "vast",
	.summary = "Vast.ai",
	.state_size = sizeof(struct vast),
	.keys = vast_keys,
	.errors = vast_errors,
	.error_read = vast_error_read,
	.open = vast_open,
	.market = &vast_market,
	.lease = &vast_lease,
};
