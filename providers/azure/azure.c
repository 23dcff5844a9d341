#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "providers/azure/azure.h"
#include "providers/endpoint.h"
#include "providers/prov.h"
#include "providers/wirejson.h"
#include "util/arena.h"
#include "util/glob.h"
#include "util/str.h"

#define AZURE_PRICES "https://prices.azure.com"
#define AZURE_IMDS "http://169.254.169.254"

static const struct prov_key azure_keys[] = {
	{ "locations", PROV_KEY_STRINGS, true,
	    "regions to look at, as the API spells them: eastus, westeurope ..." },
	{ "subscription", PROV_KEY_STRING, false, "subscription id; without it list prices alone" },
	{ "resource_group", PROV_KEY_STRING, false,
	    "group that machines are made in; needed to rent" },
	{ "tenant", PROV_KEY_STRING, false, "directory id; else AZURE_TENANT_ID" },
	{ "client_id", PROV_KEY_STRING, false,
	    "application, or user-assigned identity; else AZURE_CLIENT_ID" },
	{ "client_secret", PROV_KEY_SECRET, false,
	    "of the application, env:NAME or file:PATH; else AZURE_CLIENT_SECRET" },
	{ "client_assertion", PROV_KEY_SECRET, false,
	    "federated token instead of a secret, read anew each time; else the file that "
	    "AZURE_FEDERATED_TOKEN_FILE names" },
	{ "subnet", PROV_KEY_STRING, false,
	    "id of the subnet of machines, LOCATION in it stands for theirs; needed to rent" },
	{ "public_ip", PROV_KEY_BOOL, false, "give machines a public address; true" },
	{ "image", PROV_KEY_STRING, false,
	    "PUBLISHER:OFFER:SKU:VERSION or the id of an image; needed to rent" },
	{ "ssh_key", PROV_KEY_STRING, false, "public key put on every machine; needed to rent" },
	{ "admin_user", PROV_KEY_STRING, false, "user that the key is for; berth" },
	{ "disk_gib", PROV_KEY_INT, false, "OS disk; 128" },
	{ "eviction_rates", PROV_KEY_BOOL, false,
	    "ask the Resource Graph how often spot machines are taken back; true" },
	{ "cloud", PROV_KEY_STRING, false, "public, usgov or china; public" },
	{ "endpoint", PROV_KEY_STRING, false, "base URL of Resource Manager; the cloud's" },
	{ "login_endpoint", PROV_KEY_STRING, false, "base URL for tokens; the cloud's" },
	{ "prices_endpoint", PROV_KEY_STRING, false, "base URL of Retail Prices; " AZURE_PRICES },
	{ "imds_endpoint", PROV_KEY_STRING, false,
	    "base URL of the metadata service; " AZURE_IMDS },
	{ NULL, PROV_KEY_STRING, false, NULL },
};

static const struct {
	const char *name, *arm, *login;
} azure_clouds[] = {
	{ "public", "https://management.azure.com", "https://login.microsoftonline.com" },
	{ "usgov", "https://management.usgovcloudapi.net", "https://login.microsoftonline.us" },
	{ "china", "https://management.chinacloudapi.cn", "https://login.chinacloudapi.cn" },
};

/*
 * Codes of Resource Manager and Compute
 * (learn.microsoft.com/azure/azure-resource-manager/troubleshooting). A 404 is not always a machine
 * that is gone: a missing group or subscription is the account's fault and must not free machines.
 */
static const struct prov_error_row azure_errors[] = {
	{ 0, "SkuNotAvailable", NULL, BERTH_ECAPACITY },
	{ 0, "*AllocationFailed", NULL, BERTH_ECAPACITY },
	{ 0, "Overconstrained*AllocationRequest", NULL, BERTH_ECAPACITY },
	{ 0, "AllocationTimeout", NULL, BERTH_ECAPACITY },
	{ 0, "CapacityNotAvailable*", NULL, BERTH_ECAPACITY },
	{ 0, "OperationNotAllowed", "quota", BERTH_EQUOTA },
	{ 0, "QuotaExceeded", NULL, BERTH_EQUOTA },
	{ 0, "*QuotaExceeded", NULL, BERTH_EQUOTA },
	{ 0, "ResourceQuotaExceeded", NULL, BERTH_EQUOTA },
	{ 0, "PublicIPCountLimitReached", NULL, BERTH_EQUOTA },
	{ 0, "OperationNotAllowed", "throttl", BERTH_ETHROTTLED },
	{ 429, "OperationNotAllowed", NULL, BERTH_ETHROTTLED },
	{ 0, "OperationNotAllowed", NULL, BERTH_EPERMANENT },
	{ 0, "TooManyRequests", NULL, BERTH_ETHROTTLED },
	{ 0, "*Throttled*", NULL, BERTH_ETHROTTLED },
	{ 0, "RateLimiting", NULL, BERTH_ETHROTTLED },
	{ 0, "*AuthenticationToken*", NULL, BERTH_EAUTH },
	{ 0, "AuthenticationFailed*", NULL, BERTH_EAUTH },
	{ 0, "*AuthorizationFailed", NULL, BERTH_EAUTH },
	{ 0, "InvalidTenant*", NULL, BERTH_EAUTH },
	{ 0, "SubscriptionNotFound", NULL, BERTH_EAUTH },
	{ 0, "*DisabledSubscription", NULL, BERTH_EAUTH },
	{ 0, "RequestDisallowedByPolicy", NULL, BERTH_EAUTH },
	{ 0, "invalid_client", NULL, BERTH_EAUTH },
	{ 0, "invalid_grant", NULL, BERTH_EAUTH },
	{ 0, "unauthorized_client", NULL, BERTH_EAUTH },
	{ 0, "ResourceGroupNotFound", NULL, BERTH_EPERMANENT },
	{ 0, "ResourceGroupBeingDeleted", NULL, BERTH_EPERMANENT },
	{ 0, "ParentResourceNotFound", NULL, BERTH_EPERMANENT },
	{ 0, "MissingSubscriptionRegistration", NULL, BERTH_EPERMANENT },
	{ 0, "InvalidSubscriptionId", NULL, BERTH_EPERMANENT },
	{ 0, "InvalidResourceReference", NULL, BERTH_EPERMANENT },
	{ 0, "ImageNotFound", NULL, BERTH_EPERMANENT },
	{ 0, "PlatformImageNotFound", NULL, BERTH_EPERMANENT },
	{ 404, "ResourceNotFound", NULL, BERTH_ENOTFOUND },
	{ 404, "NotFound", NULL, BERTH_ENOTFOUND },
	{ 0, "Conflict", NULL, BERTH_ETRANSIENT },
	{ 0, "AnotherOperationInProgress", NULL, BERTH_ETRANSIENT },
	{ 0, "OperationPreempted", NULL, BERTH_ETRANSIENT },
	{ 0, "RetryableError*", NULL, BERTH_ETRANSIENT },
	{ 0, "Internal*Error", NULL, BERTH_ETRANSIENT },
	{ 0, "NetworkingInternalOperationError", NULL, BERTH_ETRANSIENT },
	{ 0, "ServerTimeout", NULL, BERTH_ETRANSIENT },
	{ 0, "GatewayTimeout", NULL, BERTH_ETRANSIENT },
	{ 0, "ServiceUnavailable", NULL, BERTH_ETRANSIENT },
	{ 0, "temporarily_unavailable", NULL, BERTH_ETRANSIENT },
	/* The name is the intent's: what stands there is ours, made by a try whose answer was lost.
	   The list will show it. */
	{ 0, "PropertyChangeNotAllowed", NULL, BERTH_ETRANSIENT },
	{ 0, NULL, "AADSTS", BERTH_EAUTH },
	{ 0, "BadRequest", NULL, BERTH_EPERMANENT },
	{ 0, "Invalid*", NULL, BERTH_EPERMANENT },
	{ 0, "Missing*", NULL, BERTH_EPERMANENT },
	{ 0, "VMSize*", NULL, BERTH_EPERMANENT },
	{ 0, "NotSupported", NULL, BERTH_EPERMANENT },
	{ 0, "LocationNotAvailableForResourceType", NULL, BERTH_EPERMANENT },
	{ 0, NULL, NULL, BERTH_OK },
};

/* vcpus_per: cores of the machine for each card; 0: the SKU API's count is right. The first row
 * that fits decides. */
static const struct {
	const char *size, *accelerator;
	int vcpus_per;
} azure_sizes[] = {
	{ "Standard_NC*as_T4_v3", "T4", 16 },
	{ "Standard_NV6ads_A10_v5", "A10-4Q", 6 },
	{ "Standard_NV12ads_A10_v5", "A10-8Q", 12 },
	{ "Standard_NV18ads_A10_v5", "A10-12Q", 18 },
	{ "Standard_NV*s_A10_v5", "A10", 36 },
	{ "Standard_NV24ads_V710_v5", "Radeon Pro V710", 24 },
	{ "Standard_NV28adms_V710_v5", "Radeon Pro V710", 28 },
	{ "Standard_NG32ad*s_V620_v1", "Radeon Pro V620", 32 },
	{ "Standard_NC*ads_A100_v4", "A100-PCIE-80GB", 24 },
	{ "Standard_ND96asr*_v4", "A100-SXM4-40GB", 12 },
	{ "Standard_ND96ams*_A100_v4", "A100-SXM4-80GB", 12 },
	{ "Standard_NC*ad*s_H100_v5", "H100-NVL-94GB", 40 },
	{ "Standard_ND96is*_H100_v5", "H100-SXM5-80GB", 12 },
	{ "Standard_ND96is*_H200_v5", "H200-SXM-141GB", 12 },
	{ "Standard_ND96is*_MI300X_v5", "MI300X", 12 },
	{ "Standard_ND128is*GB200_v6", "GB200-186GB", 32 },
	{ "Standard_ND128is*GB300_v6", "GB300-279GB", 32 },
	{ "Standard_NC*_RTXPRO6000BSE_v6", "RTX PRO 6000 Blackwell Server", 0 },
	{ "Standard_NC[0-9]*s_v3", "V100-PCIE-16GB", 6 },
	{ "Standard_ND40rs_v2", "V100-SXM2-32GB", 5 },
	{ "Standard_NV[0-9]*s_v3", "M60", 12 },
};

bool
azure_size(const char *size, int64_t sku_gpus, const char **accelerator_out, int *count_out)
{
	int64_t vcpus = 0;

	for (const char *p = size; *p != '\0' && vcpus < 10000; p++) {
		if (str_is_digit(*p))
			vcpus = vcpus * 10 + (*p - '0');
		else if (vcpus > 0)
			break;
	}
	for (size_t i = 0; i < sizeof(azure_sizes) / sizeof(azure_sizes[0]); i++) {
		if (!glob_match(azure_sizes[i].size, size))
			continue;
		*accelerator_out = azure_sizes[i].accelerator;
		*count_out = azure_sizes[i].vcpus_per == 0 ? (int)sku_gpus
			     : vcpus < azure_sizes[i].vcpus_per
				 ? 1
				 : (int)(vcpus / azure_sizes[i].vcpus_per);
		return *count_out > 0;
	}
	return false;
}

static enum berth_code
azure_open(void *st, const struct prov_env *env, struct berth_err *err)
{
	const char *cloud = prov_conf_str(env->conf, "cloud", "public");
	static const char plain[] =
	    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.()";
	struct azure *z = st;
	size_t k = 0;
	enum berth_code rc;

	z->env = env;
	z->subscription = prov_conf_str(env->conf, "subscription", "");
	z->group = prov_conf_str(env->conf, "resource_group", "");
	z->n_locations = prov_conf_strings(env->conf, "locations", &z->locations);
	while (k < sizeof(azure_clouds) / sizeof(azure_clouds[0]) &&
	       !str_eq(azure_clouds[k].name, cloud))
		k++;
	if (k == sizeof(azure_clouds) / sizeof(azure_clouds[0]))
		return err_set(err, BERTH_EINVAL, "cloud '%s': public, usgov or china", cloud);
	if (z->subscription[strspn(z->subscription, plain)] != '\0' ||
	    z->group[strspn(z->group, plain)] != '\0')
		return err_set(err, BERTH_EINVAL,
		    "subscription '%s', resource_group '%s': not names of Azure's", z->subscription,
		    z->group);
	for (size_t i = 0; i < z->n_locations; i++)
		if (z->locations[i][0] == '\0' ||
		    z->locations[i][strspn(
			z->locations[i], "abcdefghijklmnopqrstuvwxyz0123456789")] != '\0')
			return err_set(err, BERTH_EINVAL,
			    "location '%s': as the API spells it, 'eastus'", z->locations[i]);
	if ((rc = endpoint_read(env, "endpoint", azure_clouds[k].arm, ENDPOINT_SECRETS, &z->arm,
		 err)) != BERTH_OK ||
	    (rc = endpoint_read(env, "login_endpoint", azure_clouds[k].login, ENDPOINT_SECRETS,
		 &z->login, err)) != BERTH_OK ||
	    (rc = endpoint_read(env, "prices_endpoint", AZURE_PRICES, ENDPOINT_SECRETS, &z->prices,
		 err)) != BERTH_OK)
		return rc;
	return endpoint_read(env, "imds_endpoint", AZURE_IMDS, ENDPOINT_LOCAL, &z->imds, err);
}

static void
azure_close(void *st)
{
	struct azure *z = st;

	bearer_drop(&z->bearer);
	azure_market_close(z);
	azure_list_close(z);
}

enum berth_code
azure_request(const struct azure *z, struct http_req *req, const char *method,
    struct berth_err *err, const char *fmt, ...)
{
	va_list ap;

	req->method = method;
	va_start(ap, fmt);
	http_req_url(req, "%s/%s", z->arm, arena_vprintf(req->arena, fmt, ap));
	va_end(ap);
	return http_req_header(req, "Accept", "application/json", false, err);
}

/*
 * Some services write their filter into the link as it was meant: what no URL may hold is
 * percent-encoded. False: too long.
 */
static bool
azure_put_link(char *dst, size_t size, const char *prefix, const char *link)
{
	size_t n = strlen(prefix);

	if (!str_copy(dst, size, prefix))
		return false;
	for (const char *p = link; *p != '\0'; p++) {
		bool bare = *p > ' ' && *p < 0x7f && strchr("\"<>\\^`{|}", *p) == NULL;

		if (n + 4 > size)
			return false;
		n += (size_t)snprintf(
		    dst + n, size - n, bare ? "%c" : "%%%02X", bare ? *p : (unsigned char)*p);
	}
	return true;
}

enum berth_code
azure_next(const struct jsonr *root, const char *key, const char *base, const char *prefix,
    struct prov_cursor *cur, struct berth_err *err)
{
	const char *link = "";
	enum berth_code rc = jsonr_str(root, key, &link, err);

	if (rc != BERTH_OK || link[0] == '\0')
		return rc;
	if (!endpoint_same(link, base))
		return jsonr_err(
		    root, BERTH_EINVAL, err, "%s leads to another host: '%.150s'", key, link);
	return azure_put_link(cur->next, sizeof(cur->next), prefix, link)
		   ? BERTH_OK
		   : jsonr_err(root, BERTH_EINVAL, err, "%s is too long", key);
}

void
azure_error_of(const struct jsonr *error, struct prov_error *e)
{
	static const char *const wrappers[] = { "DeploymentFailed", "InvalidTemplateDeployment",
		"ResourceDeploymentFailure", "MultipleErrorsOccurred", NULL };
	struct jsonr details = jsonr_get(error, "details"), first = jsonr_at(&details, 0);
	const char *code = "", *text = "";

	(void)!jsonr_str(error, "code", &code, NULL);
	(void)!jsonr_str(error, "message", &text, NULL);
	if (str_index(code, wrappers) >= 0) {
		(void)!jsonr_str(&first, "code", &code, NULL);
		(void)!jsonr_str(&first, "message", &text, NULL);
	}
	str_copy(e->code, sizeof(e->code), code);
	str_copy(e->text, sizeof(e->text), text);
}

/*
 * {"error": {code, message}} of ARM with any status, {"error": "invalid_client", ...} of the login,
 * {"Error": {...}} of prices.
 */
static bool
azure_error_read(const struct http_resp *resp, struct prov_error *error_out)
{
	struct jsonr root, error;
	json_t *v = NULL;
	const char *s = "";
	bool found = false;

	memset(error_out, 0, sizeof(*error_out));
	if (resp->body_len > 0 && wirejson_parse(resp, &v, NULL) == BERTH_OK) {
		root = jsonr_root(v, "answer");
		error = jsonr_get(&root, "error");
		if (jsonr_none(&error))
			error = jsonr_get(&root, "Error");
		found = !jsonr_none(&error);
		if (json_is_string(error.v)) {
			str_copy(
			    error_out->code, sizeof(error_out->code), json_string_value(error.v));
			(void)!jsonr_str(&root, "error_description", &s, NULL);
			str_copy(error_out->text, sizeof(error_out->text), s);
		} else if (json_is_object(error.v))
			azure_error_of(&error, error_out);
	}
	json_decref(v);
	return found || resp->status / 100 != 2;
}

enum berth_code
azure_classify(const struct prov_error *e)
{
	struct http_resp resp = { .status = 0, .body = "" };

	return prov_classify(&provider_azure, &resp, e, true, NULL);
}

const struct provider_ops provider_azure = {
	.abi = PROVIDER_ABI,
	.caps = PROV_CAP_OFFERS | PROV_CAP_QUOTA | PROV_CAP_LEASE | PROV_CAP_TOKEN | PROV_CAP_SPOT,
	.name = "azure",
	.summary = "Microsoft Azure virtual machines",
	.state_size = sizeof(struct azure),
	.keys = azure_keys,
	.errors = azure_errors,
	.error_read = azure_error_read,
	.auth = &azure_auth,
	.open = azure_open,
	.close = azure_close,
	.market = &azure_market,
	.lease = &azure_lease,
};
