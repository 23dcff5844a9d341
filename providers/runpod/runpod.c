#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "providers/endpoint.h"
#include "providers/keyed.h"
#include "providers/prov.h"
#include "providers/runpod/runpod.h"
#include "providers/wirejson.h"
#include "util/arena.h"
#include "util/str.h"

#define RUNPOD_ENDPOINT "https://api.runpod.io"

static const struct prov_key runpod_keys[] = {
	{ "api_key", PROV_KEY_SECRET, true, "key of the account: env:NAME or file:PATH" },
	{ "cloud", PROV_KEY_STRING, false, "secure or community; secure" },
	{ "image", PROV_KEY_STRING, false, "container image with sshd; needed to rent" },
	{ "disk_gib", PROV_KEY_INT, false, "container disk; 50" },
	{ "ssh_key", PROV_KEY_STRING, false, "public key put on every pod" },
	{ "endpoint", PROV_KEY_STRING, false, "base URL; " RUNPOD_ENDPOINT },
	{ NULL, PROV_KEY_STRING, false, NULL },
};

/* GraphQL says what is wrong in words alone, with status 200. */
static const struct prov_error_row runpod_errors[] = {
	{ 0, NULL, "no longer any instances available", BERTH_ECAPACITY },
	{ 0, NULL, "with these specifications", BERTH_ECAPACITY },
	{ 0, NULL, "requested specifications", BERTH_ECAPACITY },
	{ 0, NULL, "insufficient resources", BERTH_ECAPACITY },
	{ 0, NULL, "not enough free gpus", BERTH_ECAPACITY },
	{ 402, NULL, NULL, BERTH_EQUOTA },
	{ 0, NULL, "balance", BERTH_EQUOTA },
	{ 0, NULL, "spend limit", BERTH_EQUOTA },
	{ 0, NULL, "unauthorized", BERTH_EAUTH },
	{ 0, NULL, "not authenticated", BERTH_EAUTH },
	{ 0, "UNAUTHENTICATED", NULL, BERTH_EAUTH },
	{ 0, "FORBIDDEN", NULL, BERTH_EAUTH },
	{ 0, NULL, "rate limit", BERTH_ETHROTTLED },
	{ 422, NULL, NULL, BERTH_EPERMANENT },
	{ 0, NULL, "pod not found", BERTH_ENOTFOUND },
	{ 0, "BAD_USER_INPUT", NULL, BERTH_EPERMANENT },
	{ 0, "GRAPHQL_VALIDATION_FAILED", NULL, BERTH_EPERMANENT },
	{ 0, "GRAPHQL_PARSE_FAILED", NULL, BERTH_EPERMANENT },
	{ 0, NULL, NULL, BERTH_OK },
};

static enum berth_code
runpod_open(void *st, const struct prov_env *env, struct berth_err *err)
{
	const char *cloud = prov_conf_str(env->conf, "cloud", "secure");
	struct runpod *r = st;

	r->env = env;
	r->secure = str_eq(cloud, "secure");
	if (!r->secure && !str_eq(cloud, "community"))
		return err_set(err, BERTH_EINVAL, "cloud '%s': secure or community", cloud);
	return endpoint_read(env, "endpoint", RUNPOD_ENDPOINT, ENDPOINT_SECRETS, &r->endpoint, err);
}

enum berth_code
runpod_query(const struct runpod *r, struct http_req *req, const char *query,
    runpod_write_fn *write, void *arg, struct berth_err *err)
{
	enum berth_code rc = keyed_request(r->env, req, "POST", r->endpoint, err, "graphql");
	struct jsonw w;
	struct buf b;

	if (rc != BERTH_OK)
		return rc;
	buf_init(&b, KEYED_BODY_MAX);
	jsonw_init_buf(&w, &b, JSONW_COMPACT);
	jsonw_begin_object(&w, NULL);
	jsonw_str(&w, "query", query);
	if (write != NULL) {
		jsonw_begin_object(&w, "variables");
		jsonw_begin_object(&w, "input");
		write(arg, &w);
		jsonw_end_object(&w);
		jsonw_end_object(&w);
	}
	jsonw_end_object(&w);
	return keyed_body(req, &b, &w, err);
}

/* {"errors": [{message, extensions {code}}]} with any status, or {"message"} or a problem's
 * {"title", "detail"}. */
static bool
runpod_error_read(const struct http_resp *resp, struct prov_error *error_out)
{
	struct jsonr root, list, first, more;
	const char *code = "", *text = "";
	json_t *v = NULL;
	bool found = false;

	memset(error_out, 0, sizeof(*error_out));
	if (wirejson_parse(resp, &v, NULL) == BERTH_OK) {
		root = jsonr_root(v, "answer");
		list = jsonr_get(&root, "errors");
		first = jsonr_at(&list, 0);
		more = jsonr_get(&first, "extensions");
		found = jsonr_len(&list) > 0;
		(void)!jsonr_str(&root, "detail", &text, NULL);
		(void)!jsonr_str(&first, "message", &text, NULL);
		(void)!jsonr_str(&more, "code", &code, NULL);
		str_copy(error_out->code, sizeof(error_out->code), code);
		str_copy(error_out->text, sizeof(error_out->text), text);
	}
	json_decref(v);
	return found || resp->status / 100 != 2;
}

const struct provider_ops provider_runpod = {
	.abi = PROVIDER_ABI,
	.caps = PROV_CAP_OFFERS | PROV_CAP_LEASE | PROV_CAP_SPOT,
	.name = "runpod",
	.summary = "RunPod",
	.state_size = sizeof(struct runpod),
	.keys = runpod_keys,
	.errors = runpod_errors,
	.error_read = runpod_error_read,
	.open = runpod_open,
	.market = &runpod_market,
	.lease = &runpod_lease,
};
