#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "providers/endpoint.h"
#include "providers/huawei/huawei.h"
#include "providers/lease.h"
#include "providers/prov.h"
#include "providers/wirejson.h"
#include "util/arena.h"
#include "util/str.h"

#define HUAWEI_ECS "https://ecs.REGION.myhuaweicloud.com"
#define HUAWEI_IAM "https://iam.myhuaweicloud.com"
#define HUAWEI_REFUSAL_MAX                                                                         \
	65536 /* a refusal has no list in it: longer answers are not read twice */

/* Two companies sell under one name: other accounts, other prices, other money. */
static const struct {
	const char *name, *bss, *currency;
} huawei_sites[] = {
	{ "china", "https://bss.myhuaweicloud.com", "CNY" },
	{ "international", "https://bss-intl.myhuaweicloud.com", "USD" },
};

static const struct prov_key huawei_keys[] = {
	{ "access_key", PROV_KEY_SECRET, false,
	    "the access key (AK): env:NAME or file:PATH; as its own tools find it" },
	{ "secret_key", PROV_KEY_SECRET, false, "the secret key (SK): env:NAME or file:PATH" },
	{ "security_token", PROV_KEY_SECRET, false, "of temporary keys: env:NAME or file:PATH" },
	{ "regions", PROV_KEY_STRINGS, true, "regions to look at: cn-north-4 ..." },
	{ "site", PROV_KEY_STRING, true, "whose account it is: china or international" },
	{ "projects", PROV_KEY_STRINGS, false,
	    "REGION=ID of projects; the one that has the region's name" },
	{ "domain", PROV_KEY_STRING, false, "id of the account; that of its projects" },
	{ "commitments", PROV_KEY_BOOL, false,
	    "ask what a month, a year and three years paid ahead cost; true" },
	{ "spot", PROV_KEY_BOOL, false, "ask where spot machines are sold; true" },
	{ "prices", PROV_KEY_NODE, false, "what spot machines cost, which the API does not say" },
	{ "image", PROV_KEY_STRINGS, false,
	    "id of the image, or REGION=ID for each region; needed to rent" },
	{ "vpc", PROV_KEY_STRINGS, false,
	    "id of the network, or REGION=ID for each region; needed to rent" },
	{ "subnet", PROV_KEY_STRINGS, false,
	    "id of the subnet, or REGION=ID for each region; needed to rent" },
	{ "security_group", PROV_KEY_STRINGS, false,
	    "id of the security group, or REGION=ID for each region; the default one" },
	{ "ssh_key", PROV_KEY_STRING, false,
	    "name of a key pair of the account, put on every machine" },
	{ "bandwidth_mbps", PROV_KEY_INT, false,
	    "with a public address, paid by traffic; 10; 0: no public address" },
	{ "address_type", PROV_KEY_STRING, false, "of the public address; 5_bgp" },
	{ "disk_type", PROV_KEY_STRING, false, "of the system disk; GPSSD" },
	{ "disk_gib", PROV_KEY_INT, false, "system disk; 100" },
	{ "spot_max_price", PROV_KEY_STRING, false,
	    "most to pay for an hour of a spot machine; the price on demand" },
	{ "accelerators", PROV_KEY_NODE, false,
	    "names of the accelerator table for the API's words" },
	{ "endpoint", PROV_KEY_STRING, false, "base URL of ECS; " HUAWEI_ECS },
	{ "price_endpoint", PROV_KEY_STRING, false, "base URL of BSS; that of the site" },
	{ "iam_endpoint", PROV_KEY_STRING, false, "base URL of IAM; " HUAWEI_IAM },
	{ NULL, PROV_KEY_STRING, false, NULL },
};

/*
 * Codes of ECS (support.huaweicloud.com/intl/en-us/api-ecs/ecs_07_0002.html), of the gateway before
 * it
 * (.../devg-apisign/api-sign-errorcode.html) and of BSS. Many codes of ECS carry a text of the
 * cloud beneath, which then says what it was.
 */
static const struct prov_error_row huawei_errors[] = {
	{ 0, "Ecs.0319", NULL, BERTH_ECAPACITY }, /* insufficient flavor capacity */
	{ 0, "Ecs.0029", NULL, BERTH_ECAPACITY }, /* the flavor is not there, or abandoned */
	{ 0, "Ecs.0001", NULL, BERTH_EQUOTA },    /* number of machines */
	{ 0, "Ecs.0012", NULL, BERTH_EQUOTA },    /* addresses of the subnet */
	{ 0, "Ecs.0013", NULL, BERTH_EQUOTA },    /* public addresses */
	{ 0, "Ecs.0021", NULL, BERTH_EQUOTA },    /* disks */
	{ 0, "Ecs.0022", NULL, BERTH_EQUOTA },    /* machines of a group */
	{ 0, "Ecs.0003", "balance", BERTH_EQUOTA },
	{ 0, "Ecs.0003", "suspended", BERTH_EQUOTA }, /* op_suspended: unpaid */
	{ 0, "Ecs.0003", NULL, BERTH_EAUTH },
	{ 0, "Ecs.0004", NULL, BERTH_EAUTH },
	{ 0, "Ecs.0023", NULL, BERTH_EAUTH },  /* the project is not that of the key */
	{ 0, "Ecs.0030", NULL, BERTH_EQUOTA }, /* frozen, as accounts are that do not pay */
	{ 0, "Ecs.0614", NULL, BERTH_ENOTFOUND },
	{ 0, "Ecs.0002", NULL, BERTH_ETRANSIENT },
	{ 0, "Ecs.0302", NULL, BERTH_ETRANSIENT }, /* it could not look at the quota */
	{ 0, "Ecs.0308", NULL, BERTH_ETRANSIENT },
	{ 0, "Ecs.0501", NULL, BERTH_ETRANSIENT }, /* a disk is still being read: again later */
	{ 0, "Ecs.0603", NULL, BERTH_ETRANSIENT }, /* another command runs */
	{ 0, "Ecs.0615", NULL, BERTH_ETRANSIENT },
	{ 0, "Ecs.1001", "being deleted", BERTH_ETRANSIENT },
	{ 0, "Ecs.1002", NULL, BERTH_ETRANSIENT },
	{ 0, "Ecs.*", "quota", BERTH_EQUOTA },
	{ 0, "Ecs.*", "sold out", BERTH_ECAPACITY },
	{ 0, "Ecs.*", "sellout", BERTH_ECAPACITY },
	{ 0, "Ecs.*", "no valid host", BERTH_ECAPACITY },
	{ 0, "Ecs.*", "capacity is not enough", BERTH_ECAPACITY },
	{ 0, "Ecs.*", "insufficient resource", BERTH_ECAPACITY },
	{ 0, "Ecs.*", "could not be found", BERTH_ENOTFOUND },
	{ 429, NULL, NULL, BERTH_ETHROTTLED },
	{ 0, "APIGW.0308", NULL, BERTH_ETHROTTLED },
	{ 0, "APIG*.0301", NULL, BERTH_EAUTH },
	{ 0, "APIG*.0302", NULL, BERTH_EAUTH },
	{ 0, "APIG*.0303", NULL, BERTH_EAUTH },
	{ 0, "APIG*.0305", NULL, BERTH_EAUTH },
	{ 0, "APIG*.0307", NULL, BERTH_EAUTH },
	{ 0, "APIG*.010[123]", NULL, BERTH_EPERMANENT },
	{ 0, "APIG*.0201", "timed out", BERTH_ETRANSIENT },
	{ 0, "APIG*.0201", "timeout", BERTH_ETRANSIENT },
	{ 0, "APIG*.0201", "unavailable", BERTH_ETRANSIENT },
	{ 0, "APIG*.0201", NULL, BERTH_EPERMANENT },
	{ 0, "APIG*.0602", NULL, BERTH_EPERMANENT },
	{ 0, "APIG*.06*", NULL, BERTH_ETRANSIENT },
	{ 0, "CBC.0250", NULL, BERTH_ETHROTTLED },
	{ 0, "CBC.015*", NULL, BERTH_EAUTH },
	{ 0, "CBC.18000016", NULL, BERTH_EAUTH },
	{ 0, "CBC.0999", NULL, BERTH_ETRANSIENT },
	{ 0, "CBC.*", NULL, BERTH_EPERMANENT },
	{ 400, "Ecs.00*", NULL, BERTH_EPERMANENT },
	{ 400, "Ecs.09*", NULL, BERTH_EPERMANENT },
	{ 0, NULL, NULL, BERTH_OK },
};

static enum berth_code
huawei_site(struct huawei *h, const char **bss_out, struct berth_err *err)
{
	const char *site = prov_conf_str(h->env->conf, "site", "");

	for (size_t i = 0; i < sizeof(huawei_sites) / sizeof(huawei_sites[0]); i++)
		if (str_eq(site, huawei_sites[i].name)) {
			h->currency = huawei_sites[i].currency;
			*bss_out = huawei_sites[i].bss;
			return BERTH_OK;
		}
	return err_set(err, BERTH_EINVAL,
	    "site '%s': china for accounts of huaweicloud.com in China, international for others",
	    site);
}

static enum berth_code
huawei_open(void *st, const struct prov_env *env, struct berth_err *err)
{
	struct huawei *h = st;
	const char *bss = "";
	enum berth_code rc;

	h->env = env;
	h->domain = prov_conf_str(env->conf, "domain", "");
	if (prov_conf_has(env->conf, "access_key") != prov_conf_has(env->conf, "secret_key"))
		return err_set(err, BERTH_EINVAL, "access_key and secret_key: both or neither");
	if ((rc = lease_regions(env, "cn-north-4", &h->regions, &h->n_regions, err)) != BERTH_OK ||
	    (rc = huawei_site(h, &bss, err)) != BERTH_OK ||
	    (rc = lease_spot_price(env, h->currency, err)) != BERTH_OK ||
	    (rc = huawei_projects_read(h, err)) != BERTH_OK ||
	    (rc = rates_read(prov_conf_node(env->conf, "prices"),
		 prov_conf_node(env->conf, "accelerators"), env->arena, &h->rates, err)) !=
		BERTH_OK ||
	    (rc = endpoint_read(env, "endpoint", HUAWEI_ECS, ENDPOINT_SECRETS, &h->ecs, err)) !=
		BERTH_OK ||
	    (rc = endpoint_read(env, "iam_endpoint", HUAWEI_IAM, ENDPOINT_SECRETS, &h->iam, err)) !=
		BERTH_OK)
		return rc;
	if (h->n_regions == 0)
		return err_set(err, BERTH_EINVAL, "regions: name at least one, as in cn-north-4");
	return endpoint_read(env, "price_endpoint", bss, ENDPOINT_SECRETS, &h->bss, err);
}

static void
huawei_close(void *st)
{
	huawei_market_close(st);
}

const char *
huawei_base(const struct http_req *req, const char *template, const char *region)
{
	const char *at = strstr(template, "REGION");

	return at == NULL ? template
			  : arena_printf(req->arena, "%.*s%s%s", (int)(at - template), template,
				region, at + strlen("REGION"));
}

enum berth_code
huawei_ecs(const struct huawei *h, struct http_req *req, const char *method, const char *region,
    const char *version, struct berth_err *err, const char *fmt, ...)
{
	const char *project = huawei_project(h, region);
	char path[1024];
	va_list ap;
	int n;

	if (project == NULL)
		return err_set(err, BERTH_EAUTH,
		    "the account has no project of region %s: open the region, or set 'projects: "
		    "%s=ID'",
		    region, region);
	va_start(ap, fmt);
	n = vsnprintf(path, sizeof(path), fmt, ap);
	va_end(ap);
	if (n < 0 || (size_t)n >= sizeof(path))
		return err_set(err, BERTH_EINVAL, "a request's path is too long");
	req->method = method;
	http_req_url(req, "%s/%s/%s/%s", huawei_base(req, h->ecs, region), version, project, path);
	return http_req_header(req, "X-Project-Id", project, false, err);
}

/* {"error": {"code", "message"}} of ECS, {"error_code", "error_msg"} of the gateway and of BSS. */
bool
huawei_error_read(const struct http_resp *resp, struct prov_error *error_out)
{
	const char *code = "", *text = "";
	bool refused = resp->status / 100 != 2;
	struct jsonr root, error;
	json_t *v = NULL;

	memset(error_out, 0, sizeof(*error_out));
	if (!refused || resp->body_len > HUAWEI_REFUSAL_MAX ||
	    wirejson_parse(resp, &v, NULL) != BERTH_OK)
		return refused;
	root = jsonr_root(v, "answer");
	error = jsonr_get(&root, "error");
	(void)!jsonr_str(&root, "error_code", &code, NULL);
	(void)!jsonr_str(&root, "error_msg", &text, NULL);
	(void)!jsonr_str(&root, "code", &code, NULL);
	(void)!jsonr_str(&root, "message", &text, NULL);
	(void)!jsonr_str(&error, "code", &code, NULL);
	(void)!jsonr_str(&error, "message", &text, NULL);
	str_copy(error_out->code, sizeof(error_out->code), code);
	str_copy(error_out->text, sizeof(error_out->text), text);
	json_decref(v);
	return refused;
}

const struct provider_ops provider_huawei = {
	.abi = PROVIDER_ABI,
	.caps = PROV_CAP_OFFERS | PROV_CAP_QUOTA | PROV_CAP_LEASE | PROV_CAP_TOKEN | PROV_CAP_SPOT,
	.name = "huawei",
	.summary = "Huawei Cloud ECS",
	.state_size = sizeof(struct huawei),
	.keys = huawei_keys,
	.errors = huawei_errors,
	.error_read = huawei_error_read,
	.auth = &huawei_auth,
	.open = huawei_open,
	.close = huawei_close,
	.market = &huawei_market,
	.lease = &huawei_lease,
};
