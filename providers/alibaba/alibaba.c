#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "providers/alibaba/alibaba.h"
#include "providers/endpoint.h"
#include "providers/lease.h"
#include "providers/prov.h"
#include "providers/wirejson.h"
#include "util/arena.h"
#include "util/str.h"
#include "util/time.h"

#define ALIBABA_ENDPOINT "https://ecs.REGION.aliyuncs.com"
#define ALIBABA_VERSION "2014-05-26"
#define ALIBABA_REFUSAL_MAX                                                                        \
	65536 /* a refusal has no list in it: longer answers are not read twice */

static const struct prov_key alibaba_keys[] = {
	{ "access_key_id", PROV_KEY_SECRET, true, "id of the access key: env:NAME or file:PATH" },
	{ "access_key_secret", PROV_KEY_SECRET, true, "the access key: env:NAME or file:PATH" },
	{ "security_token", PROV_KEY_SECRET, false, "of temporary keys: env:NAME or file:PATH" },
	{ "regions", PROV_KEY_STRINGS, true, "regions to look at: cn-hangzhou ..." },
	{ "commitments", PROV_KEY_BOOL, false,
	    "ask what a month, a year and three years paid ahead cost; true" },
	{ "spot", PROV_KEY_BOOL, false, "ask what spot machines cost; true" },
	{ "spot_advice", PROV_KEY_BOOL, false, "ask how often spot machines are taken back; true" },
	{ "image", PROV_KEY_STRING, false, "id of the image; needed to rent" },
	{ "security_group", PROV_KEY_STRING, false, "id of the security group; needed to rent" },
	{ "vswitches", PROV_KEY_STRINGS, false, "ZONE=VSWITCH for each zone; needed to rent" },
	{ "ssh_key", PROV_KEY_STRING, false,
	    "name of a key pair of the account, put on every machine" },
	{ "bandwidth_mbps", PROV_KEY_INT, false,
	    "outward, with a public address, paid by traffic; 10; 0: no public address" },
	{ "disk_category", PROV_KEY_STRING, false, "of the system disk; cloud_essd" },
	{ "disk_gib", PROV_KEY_INT, false, "system disk; 100" },
	{ "spot_max_price", PROV_KEY_STRING, false,
	    "most to pay for an hour of a spot machine; the market's price" },
	{ "accelerators", PROV_KEY_NODE, false,
	    "names of the accelerator table for the API's words" },
	{ "endpoint", PROV_KEY_STRING, false, "base URL; " ALIBABA_ENDPOINT },
	{ NULL, PROV_KEY_STRING, false, NULL },
};

/* Codes of ECS and those that all services share. */
static const struct prov_error_row alibaba_errors[] = {
	{ 0, "*NoStock*", NULL, BERTH_ECAPACITY },
	{ 0, "Zone.NotOnSale", NULL, BERTH_ECAPACITY },
	{ 0, "*ZoneNotOnSale", NULL, BERTH_ECAPACITY },
	{ 0, "OperationDenied.ZoneSystemCategoryNotMatch", NULL, BERTH_ECAPACITY },
	{ 0, "InvalidResourceType.NotSupported", NULL, BERTH_ECAPACITY },
	{ 0, "InstanceType.Offline", NULL, BERTH_ECAPACITY },
	{ 0, "InvalidInstanceType.ZoneNotSupported", NULL, BERTH_ECAPACITY },
	{ 0, "InvalidInstanceType.NotSupported", NULL, BERTH_ECAPACITY },
	{ 0, "*SpotPriceLimit.LowerThan*", NULL, BERTH_ECAPACITY },
	{ 0, "QuotaExceed*", NULL, BERTH_EQUOTA },
	{ 0, "*QuotaExceed*", NULL, BERTH_EQUOTA },
	{ 0, "InvalidVSwitchId.IpNotEnough", NULL, BERTH_EQUOTA },
	{ 0, "InvalidAccountStatus.*", NULL, BERTH_EQUOTA },
	{ 0, "*Throttling*", NULL, BERTH_ETHROTTLED },
	{ 0, "InvalidAccessKeyId*", NULL, BERTH_EAUTH },
	{ 0, "SignatureDoesNotMatch", NULL, BERTH_EAUTH },
	{ 0, "IncompleteSignature", NULL, BERTH_EAUTH },
	{ 0, "InvalidTimeStamp.*", NULL, BERTH_EAUTH },
	{ 0, "SignatureNonceUsed", NULL, BERTH_ETRANSIENT },
	{ 0, "InvalidSecurityToken*", NULL, BERTH_EAUTH },
	{ 0, "MissingSecurityToken", NULL, BERTH_EAUTH },
	{ 0, "Forbidden*", NULL, BERTH_EAUTH },
	{ 0, "NoPermission*", NULL, BERTH_EAUTH },
	{ 0, "Account.Arrearage", NULL, BERTH_EQUOTA },
	{ 0, "InvalidInstanceId.NotFound", NULL, BERTH_ENOTFOUND },
	{ 0, "IncorrectInstanceStatus*", NULL, BERTH_ETRANSIENT },
	{ 0, "OperationConflict", NULL, BERTH_ETRANSIENT },
	{ 0, "LastTokenProcessing", NULL, BERTH_ETRANSIENT },
	{ 0, "IdempotentProcessing", NULL, BERTH_ETRANSIENT },
	{ 0, "IdempotentParameterMismatch", NULL, BERTH_EPERMANENT },
	{ 0, "InternalError*", NULL, BERTH_ETRANSIENT },
	{ 0, "ServiceUnavailable*", NULL, BERTH_ETRANSIENT },
	{ 0, "UnknownError", NULL, BERTH_ETRANSIENT },
	{ 0, "Invalid*", NULL, BERTH_EPERMANENT },
	{ 0, "Missing*", NULL, BERTH_EPERMANENT },
	{ 0, "Unsupported*", NULL, BERTH_EPERMANENT },
	{ 0, NULL, NULL, BERTH_OK },
};

static enum berth_code
alibaba_open(void *st, const struct prov_env *env, struct berth_err *err)
{
	struct alibaba *o = st;
	enum berth_code rc = lease_regions(env, "cn-hangzhou", &o->regions, &o->n_regions, err);

	o->env = env;
	if (rc != BERTH_OK ||
	    (rc = lease_spot_price(env, "the account's currency", err)) != BERTH_OK)
		return rc;
	rc =
	    rates_read(NULL, prov_conf_node(env->conf, "accelerators"), env->arena, &o->words, err);
	return rc == BERTH_OK ? endpoint_read(env, "endpoint", ALIBABA_ENDPOINT, ENDPOINT_SECRETS,
				    &o->template, err)
			      : rc;
}

static void
alibaba_close(void *st)
{
	alibaba_market_close(st);
}

void
alibaba_arg(struct alibaba_args *q, const char *name, const char *value)
{
	assert(q->n < ALIBABA_ARGS_MAX);
	q->v[q->n++] = (struct sign_pair){ name, value };
}

enum berth_code
alibaba_request(const struct alibaba *o, struct http_req *req, const char *region,
    const char *action, const struct alibaba_args *q, struct berth_err *err)
{
	const char *at = strstr(o->template, "REGION"), *base = o->template;
	enum berth_code rc;

	if (at != NULL)
		base = arena_printf(
		    req->arena, "%.*s%s%s", (int)(at - base), base, region, at + strlen("REGION"));
	req->method = "POST";
	http_req_url(req, "%s/?%s", base, sign_query(req->arena, q->v, q->n));
	if ((rc = http_req_header(req, "Accept", "application/json", false, err)) != BERTH_OK ||
	    (rc = http_req_header(req, "x-acs-action", action, false, err)) != BERTH_OK)
		return rc;
	return http_req_header(req, "x-acs-version", ALIBABA_VERSION, false, err);
}

/* New at each try; what the kernel cannot give is made up of the clock and a count. */
static const char *
alibaba_nonce(struct alibaba *o, struct arena *a, int64_t now)
{
	uint64_t v[2] = { (uint64_t)now, o->env->seed + ++o->nonces };

	if (getrandom(v, sizeof(v), GRND_NONBLOCK) != (ssize_t)sizeof(v))
		v[1] ^= (uint64_t)time_mono_ms() << 20;
	return arena_printf(
	    a, "%016llx%016llx", (unsigned long long)v[0], (unsigned long long)v[1]);
}

static enum berth_code
alibaba_sign(void *st, struct http_req *req, int64_t now, struct berth_err *err)
{
	struct alibaba *o = st;
	char *id = NULL, *secret = NULL, *token = NULL;
	enum berth_code rc = prov_conf_secret(o->env->conf, "access_key_id", &id, err);

	if (rc == BERTH_OK)
		rc = prov_conf_secret(o->env->conf, "access_key_secret", &secret, err);
	if (rc == BERTH_OK && prov_conf_has(o->env->conf, "security_token"))
		rc = prov_conf_secret(o->env->conf, "security_token", &token, err);
	if (rc == BERTH_OK) {
		struct sign_acs3 s = { .keys = { .id = id, .secret = secret, .token = token },
			.nonce = alibaba_nonce(o, req->arena, now),
			.now = now };

		rc = sign_acs3(req, &s, NULL, err);
	}
	lease_wipe(id);
	lease_wipe(secret);
	lease_wipe(token);
	return rc;
}

/* {"Code", "Message", "RequestId"}. */
bool
alibaba_error_read(const struct http_resp *resp, struct prov_error *error_out)
{
	const char *code = "", *text = "";
	bool refused = resp->status / 100 != 2;
	struct jsonr root;
	json_t *v = NULL;

	memset(error_out, 0, sizeof(*error_out));
	if (resp->body_len > ALIBABA_REFUSAL_MAX || wirejson_parse(resp, &v, NULL) != BERTH_OK)
		return refused;
	root = jsonr_root(v, "answer");
	(void)!jsonr_str(&root, "Code", &code, NULL);
	(void)!jsonr_str(&root, "Message", &text, NULL);
	if (refused) {
		str_copy(error_out->code, sizeof(error_out->code), code);
		str_copy(error_out->text, sizeof(error_out->text), text);
	}
	json_decref(v);
	return refused;
}

static const struct prov_auth_ops alibaba_auth = { .sign = alibaba_sign };

const struct provider_ops provider_alibaba = {
	.abi = PROVIDER_ABI,
	.caps = PROV_CAP_OFFERS | PROV_CAP_QUOTA | PROV_CAP_LEASE | PROV_CAP_TOKEN | PROV_CAP_SPOT,
	.name = "alibaba",
	.summary = "Alibaba Cloud ECS",
	.state_size = sizeof(struct alibaba),
	.keys = alibaba_keys,
	.errors = alibaba_errors,
	.error_read = alibaba_error_read,
	.auth = &alibaba_auth,
	.open = alibaba_open,
	.close = alibaba_close,
	.market = &alibaba_market,
	.lease = &alibaba_lease,
};
