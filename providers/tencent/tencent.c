#include <stdlib.h>
#include <string.h>

#include "net/sign.h"
#include "providers/endpoint.h"
#include "providers/lease.h"
#include "providers/prov.h"
#include "providers/tencent/tencent.h"
#include "providers/wirejson.h"
#include "util/arena.h"
#include "util/buf.h"
#include "util/str.h"

#define TENCENT_ENDPOINT "https://cvm.tencentcloudapi.com"
#define TENCENT_VERSION "2017-03-12"
#define TENCENT_BODY_MAX 262144
#define TENCENT_REFUSAL_MAX                                                                        \
	65536 /* a refusal has no list in it: longer answers are not read twice */

static const struct prov_key tencent_keys[] = {
	{ "secret_id", PROV_KEY_SECRET, true, "id of the API key: env:NAME or file:PATH" },
	{ "secret_key", PROV_KEY_SECRET, true, "the API key: env:NAME or file:PATH" },
	{ "session_token", PROV_KEY_SECRET, false, "of temporary keys: env:NAME or file:PATH" },
	{ "regions", PROV_KEY_STRINGS, true, "regions to look at: ap-guangzhou ..." },
	{ "currency", PROV_KEY_STRING, true, "what the account is billed in: CNY or USD" },
	{ "image", PROV_KEY_STRING, false, "id of the image; needed to rent" },
	{ "vpc", PROV_KEY_STRING, false, "id of the network of machines; the region's default" },
	{ "subnets", PROV_KEY_STRINGS, false, "ZONE=SUBNET for each zone, with vpc" },
	{ "security_groups", PROV_KEY_STRINGS, false, "ids of security groups" },
	{ "ssh_keys", PROV_KEY_STRINGS, false,
	    "ids of key pairs of the account, put on every machine" },
	{ "bandwidth_mbps", PROV_KEY_INT, false,
	    "outward, with a public address, paid by traffic; 10; 0: no public address" },
	{ "disk_type", PROV_KEY_STRING, false, "of the system disk; CLOUD_PREMIUM" },
	{ "disk_gib", PROV_KEY_INT, false, "system disk; 100" },
	{ "spot_max_price", PROV_KEY_STRING, false,
	    "most to pay for an hour of a spot machine; what it costs now" },
	{ "accelerators", PROV_KEY_NODE, false,
	    "names of the accelerator table for the API's words" },
	{ "endpoint", PROV_KEY_STRING, false, "base URL; " TENCENT_ENDPOINT },
	{ NULL, PROV_KEY_STRING, false, NULL },
};

/*
 * Codes of CVM and those that all services share (cloud.tencent.com/document/api/213/30435); HTTP
 * says 200 to all of them.
 */
static const struct prov_error_row tencent_errors[] = {
	{ 0, "ResourceInsufficient.CidrBlock", NULL, BERTH_EQUOTA },
	{ 0, "ResourceInsufficient.*Quota", NULL, BERTH_EQUOTA },
	{ 0, "ResourceInsufficient*", NULL, BERTH_ECAPACITY },
	{ 0, "ResourcesSoldOut*", NULL, BERTH_ECAPACITY },
	{ 0, "ResourceUnavailable.SnapshotCreating", NULL, BERTH_ETRANSIENT },
	{ 0, "ResourceUnavailable*", NULL, BERTH_ECAPACITY },
	{ 0, "ResourceNotFound.InvalidZoneInstanceType", NULL, BERTH_ECAPACITY },
	{ 0, "InvalidParameter.InvalidCloudDiskSoldOut", NULL, BERTH_ECAPACITY },
	{ 0, "InvalidParameterValue.InsufficientOffering", NULL, BERTH_ECAPACITY },
	{ 0, "InvalidParameterValue.InsufficientPrice", NULL, BERTH_ECAPACITY },
	{ 0, "InvalidParameterValue.ZoneNotSupported", NULL, BERTH_ECAPACITY },
	{ 0, "UnsupportedOperation.NoInstanceTypeSupportSpot", NULL, BERTH_ECAPACITY },
	{ 0, "UnsupportedOperation.SpotUnsupportedRegion", NULL, BERTH_ECAPACITY },
	{ 0, "RequestLimitExceeded*", NULL, BERTH_ETHROTTLED },
	{ 0, "InvalidFilterValue.LimitExceeded", NULL, BERTH_EPERMANENT },
	{ 0, "InvalidParameterValue*LimitExceeded", NULL, BERTH_EPERMANENT },
	{ 0, "LimitExceeded*", NULL, BERTH_EQUOTA },
	{ 0, "*QuotaLimitExceeded", NULL, BERTH_EQUOTA },
	{ 0, "InvalidParameterValue.ExternalIpQuotaLimited", NULL, BERTH_EQUOTA },
	{ 0, "UnsupportedOperation.*Quota", NULL, BERTH_EQUOTA },
	{ 0, "OverQuota", NULL, BERTH_EQUOTA },
	{ 0, "FailedOperation.NoAvailableIpAddressCountInSubnet", NULL, BERTH_EQUOTA },
	{ 0, "InvalidAccount.InsufficientBalance", NULL, BERTH_EQUOTA },
	{ 0, "InvalidAccount.UnpaidOrder", NULL, BERTH_EQUOTA },
	{ 0, "UnauthorizedOperation.ImageNotBelongToAccount", NULL, BERTH_EPERMANENT },
	{ 0, "AuthFailure*", NULL, BERTH_EAUTH },
	{ 0, "UnauthorizedOperation*", NULL, BERTH_EAUTH },
	{ 0, "InvalidPermission", NULL, BERTH_EAUTH },
	{ 0, "AccountQualificationRestrictions", NULL, BERTH_EAUTH },
	{ 0, "OperationDenied.AccountNotSupported", NULL, BERTH_EAUTH },
	{ 0, "InvalidInstanceId.NotFound", NULL, BERTH_ENOTFOUND },
	{ 0, "ResourceNotFound.InvalidInstanceIdNotFound", NULL, BERTH_ENOTFOUND },
	{ 0, "UnsupportedOperation.InstanceStateTerminated", NULL, BERTH_ENOTFOUND },
	{ 0, "UnsupportedOperation.InstanceState*", NULL, BERTH_ETRANSIENT },
	{ 0, "MutexOperation*", NULL, BERTH_ETRANSIENT },
	{ 0, "OperationDenied.InstanceOperationInProgress", NULL, BERTH_ETRANSIENT },
	{ 0, "ResourceInUse*", NULL, BERTH_ETRANSIENT },
	{ 0, "FailedOperation.InquiryPriceFailed", NULL, BERTH_ETRANSIENT },
	{ 0, "InternalError*", NULL, BERTH_ETRANSIENT },
	{ 0, "InternalServerError*", NULL, BERTH_ETRANSIENT },
	{ 0, "ServiceUnavailable*", NULL, BERTH_ETRANSIENT },
	{ 0, "Invalid*", NULL, BERTH_EPERMANENT },
	{ 0, "Missing*", NULL, BERTH_EPERMANENT },
	{ 0, "Unknown*", NULL, BERTH_EPERMANENT },
	{ 0, "Unsupported*", NULL, BERTH_EPERMANENT },
	{ 0, "OperationDenied.*", NULL, BERTH_EPERMANENT },
	{ 0, "FailedOperation.*", NULL, BERTH_EPERMANENT },
	{ 0, "ResourceNotFound*", NULL, BERTH_EPERMANENT },
	{ 0, "RegionAbilityLimit*", NULL, BERTH_EPERMANENT },
	{ 0, "Vpc*", NULL, BERTH_EPERMANENT },
	{ 0, "SecGroupActionFailure", NULL, BERTH_EPERMANENT },
	{ 0, "EniNotAllowedChangeSubnet", NULL, BERTH_EPERMANENT },
	{ 0, "NoSuchVersion", NULL, BERTH_EPERMANENT },
	{ 0, "ActionOffline", NULL, BERTH_EPERMANENT },
	{ 0, "Re*SizeLimitExceeded", NULL, BERTH_EPERMANENT },
	{ 0, NULL, NULL, BERTH_OK },
};

static enum berth_code
tencent_open(void *st, const struct prov_env *env, struct berth_err *err)
{
	struct tencent *t = st;
	enum berth_code rc = lease_regions(env, "ap-guangzhou", &t->regions, &t->n_regions, err);

	t->env = env;
	t->currency = prov_conf_str(env->conf, "currency", "");
	if (rc != BERTH_OK)
		return rc;
	if (!str_eq(t->currency, "CNY") && !str_eq(t->currency, "USD"))
		return err_set(err, BERTH_EINVAL,
		    "currency '%s': CNY for accounts of the China site, USD for international ones",
		    t->currency);
	if ((rc = lease_spot_price(env, t->currency, err)) != BERTH_OK)
		return rc;
	rc =
	    rates_read(NULL, prov_conf_node(env->conf, "accelerators"), env->arena, &t->words, err);
	return rc == BERTH_OK ? endpoint_read(env, "endpoint", TENCENT_ENDPOINT, ENDPOINT_SECRETS,
				    &t->endpoint, err)
			      : rc;
}

static void
tencent_close(void *st)
{
	tencent_market_close(st);
}

void
tencent_begin(struct tencent_call *c)
{
	buf_init(c->b, TENCENT_BODY_MAX);
	jsonw_init_buf(c->w, c->b, JSONW_COMPACT);
	jsonw_begin_object(c->w, NULL);
}

enum berth_code
tencent_end(const struct tencent *t, struct tencent_call *c, struct berth_err *err)
{
	struct http_req *req = c->req;
	enum berth_code rc;

	jsonw_end_object(c->w);
	rc = jsonw_finish(c->w, err);
	req->method = "POST";
	http_req_url(req, "%s/", t->endpoint);
	if (rc == BERTH_OK)
		rc = http_req_body(req, "application/json", c->b->p, c->b->len, err);
	buf_free(c->b);
	if (rc != BERTH_OK ||
	    (rc = http_req_header(req, "X-TC-Action", c->action, false, err)) != BERTH_OK ||
	    (rc = http_req_header(req, "X-TC-Version", TENCENT_VERSION, false, err)) != BERTH_OK ||
	    (rc = http_req_header(req, "X-TC-Region", c->region, false, err)) != BERTH_OK)
		return rc;
	return http_req_header(req, "X-TC-Language", "en-US", false, err);
}

void
tencent_filter(struct jsonw *w, const char *name, const char *const *values)
{
	jsonw_begin_object(w, NULL);
	jsonw_str(w, "Name", name);
	jsonw_begin_array(w, "Values");
	for (; *values != NULL; values++)
		jsonw_str(w, NULL, *values);
	jsonw_end_array(w);
	jsonw_end_object(w);
}

enum berth_code
tencent_answer(const struct http_resp *resp, json_t **tree_out, struct jsonr *root,
    struct jsonr *response, struct berth_err *err)
{
	enum berth_code rc = wirejson_parse(resp, tree_out, err);

	if (rc != BERTH_OK)
		return rc;
	*root = jsonr_root(*tree_out, "answer");
	*response = jsonr_get(root, "Response");
	if (json_is_object(response->v))
		return BERTH_OK;
	rc = jsonr_err(root, BERTH_ETRANSIENT, err, "no Response in the answer");
	json_decref(*tree_out);
	*tree_out = NULL;
	return rc;
}

static enum berth_code
tencent_sign(void *st, struct http_req *req, int64_t now, struct berth_err *err)
{
	const struct tencent *t = st;
	char *id = NULL, *secret = NULL, *token = NULL;
	enum berth_code rc = prov_conf_secret(t->env->conf, "secret_id", &id, err);

	if (rc == BERTH_OK)
		rc = prov_conf_secret(t->env->conf, "secret_key", &secret, err);
	if (rc == BERTH_OK && prov_conf_has(t->env->conf, "session_token"))
		rc = prov_conf_secret(t->env->conf, "session_token", &token, err);
	if (rc == BERTH_OK) {
		struct sign_tc3 s = { .keys = { .id = id, .secret = secret, .token = token },
			.service = "cvm",
			.now = now };

		rc = sign_tc3(req, &s, NULL, err);
	}
	lease_wipe(id);
	lease_wipe(secret);
	lease_wipe(token);
	return rc;
}

/* {"Response": {"Error": {"Code", "Message"}}}, with a status of 200. */
static bool
tencent_error_read(const struct http_resp *resp, struct prov_error *error_out)
{
	const char *code = "", *text = "";
	struct jsonr root, response, error;
	json_t *v = NULL;
	bool refused = resp->status / 100 != 2;

	memset(error_out, 0, sizeof(*error_out));
	if (resp->body_len > TENCENT_REFUSAL_MAX || wirejson_parse(resp, &v, NULL) != BERTH_OK)
		return refused;
	root = jsonr_root(v, "answer");
	response = jsonr_get(&root, "Response");
	error = jsonr_get(&response, "Error");
	if (!jsonr_none(&error)) {
		refused = true;
		(void)!jsonr_str(&error, "Code", &code, NULL);
		(void)!jsonr_str(&error, "Message", &text, NULL);
		str_copy(error_out->code, sizeof(error_out->code), code);
		str_copy(error_out->text, sizeof(error_out->text), text);
	}
	json_decref(v);
	return refused;
}

static const struct prov_auth_ops tencent_auth = { .sign = tencent_sign };

const struct provider_ops provider_tencent = {
	.abi = PROVIDER_ABI,
	.caps = PROV_CAP_OFFERS | PROV_CAP_QUOTA | PROV_CAP_LEASE | PROV_CAP_TOKEN | PROV_CAP_SPOT,
	.name = "tencent",
	.summary = "Tencent Cloud CVM",
	.state_size = sizeof(struct tencent),
	.keys = tencent_keys,
	.errors = tencent_errors,
	.error_read = tencent_error_read,
	.auth = &tencent_auth,
	.open = tencent_open,
	.close = tencent_close,
	.market = &tencent_market,
	.lease = &tencent_lease,
};
