#include <stdarg.h>
#include <string.h>

#include "net/sign.h"
#include "providers/endpoint.h"
#include "providers/lease.h"
#include "providers/oci/oci.h"
#include "providers/prov.h"
#include "providers/wirejson.h"
#include "util/arena.h"
#include "util/str.h"

#define OCI_ENDPOINT "https://SERVICE.REGION.oraclecloud.com"
#define OCI_LIMITS "https://limits.REGION.oci.oraclecloud.com"
#define OCI_PRICES "https://apexapps.oracle.com"

static const struct prov_key oci_keys[] = {
	{ "tenancy", PROV_KEY_STRING, true, "OCID of the tenancy" },
	{ "user", PROV_KEY_STRING, true, "OCID of the user that the key is of" },
	{ "fingerprint", PROV_KEY_STRING, true, "fingerprint of the API key" },
	{ "key", PROV_KEY_SECRET, true, "API signing key, PEM: env:NAME or file:PATH" },
	{ "pass_phrase", PROV_KEY_SECRET, false, "of the key: env:NAME or file:PATH" },
	{ "regions", PROV_KEY_STRINGS, true, "regions to look at: us-ashburn-1 ..." },
	{ "compartment", PROV_KEY_STRING, false,
	    "OCID of the compartment of machines; the tenancy" },
	{ "subnet", PROV_KEY_STRING, false, "OCID of the subnet of machines; needed to rent" },
	{ "image", PROV_KEY_STRING, false, "OCID of the image; needed to rent" },
	{ "public_ip", PROV_KEY_BOOL, false, "give machines a public address; true" },
	{ "disk_gib", PROV_KEY_INT, false, "boot volume; 100" },
	{ "ssh_key", PROV_KEY_STRING, false, "public key put on every machine" },
	{ "endpoint", PROV_KEY_STRING, false, "base URL; " OCI_ENDPOINT },
	{ "limits_endpoint", PROV_KEY_STRING, false, "base URL of limits; " OCI_LIMITS },
	{ "prices_endpoint", PROV_KEY_STRING, false, "base URL of the price list; " OCI_PRICES },
	{ NULL, PROV_KEY_STRING, false, NULL },
};

/* Codes of the API (docs.oracle.com/iaas, API errors). No room is an InternalError, which only its
 * words tell apart. */
static const struct prov_error_row oci_errors[] = {
	{ 0, NULL, "out of host capacity", BERTH_ECAPACITY },
	{ 0, NULL, "out of capacity", BERTH_ECAPACITY },
	{ 0, "LimitExceeded", NULL, BERTH_EQUOTA },
	{ 0, "QuotaExceeded", NULL, BERTH_EQUOTA },
	{ 0, "TooManyRequests", NULL, BERTH_ETHROTTLED },
	{ 0, "NotAuthenticated", NULL, BERTH_EAUTH },
	{ 0, "NotAuthorized", NULL, BERTH_EAUTH },
	{ 0, "SignUpRequired", NULL, BERTH_EAUTH },
	{ 0, "NotAuthorizedOrNotFound", NULL, BERTH_ENOTFOUND },
	/* The token was seen before: what it made is ours, and the list shows it. */
	{ 0, "InvalidatedRetryToken", NULL, BERTH_ETRANSIENT },
	{ 0, "IncorrectState", NULL, BERTH_ETRANSIENT },
	{ 0, "LockConflict", NULL, BERTH_ETRANSIENT },
	{ 0, "Conflict", NULL, BERTH_ETRANSIENT },
	{ 0, "InternalError", NULL, BERTH_ETRANSIENT },
	{ 0, "InternalServerError", NULL, BERTH_ETRANSIENT },
	{ 0, "ServiceUnavailable", NULL, BERTH_ETRANSIENT },
	{ 0, "MethodNotImplemented", NULL, BERTH_EPERMANENT },
	{ 0, "InvalidParameter", NULL, BERTH_EPERMANENT },
	{ 0, "MissingParameter", NULL, BERTH_EPERMANENT },
	{ 0, "CannotParseRequest", NULL, BERTH_EPERMANENT },
	{ 0, NULL, NULL, BERTH_OK },
};

static enum berth_code
oci_open(void *st, const struct prov_env *env, struct berth_err *err)
{
	struct oci *o = st;
	enum berth_code rc;

	o->env = env;
	o->tenancy = prov_conf_str(env->conf, "tenancy", "");
	o->user = prov_conf_str(env->conf, "user", "");
	o->fingerprint = prov_conf_str(env->conf, "fingerprint", "");
	o->compartment = prov_conf_str(env->conf, "compartment", o->tenancy);
	if ((rc = lease_regions(env, "us-ashburn-1", &o->regions, &o->n_regions, err)) !=
		BERTH_OK ||
	    (rc = endpoint_read(
		 env, "endpoint", OCI_ENDPOINT, ENDPOINT_SECRETS, &o->template, err)) != BERTH_OK ||
	    (rc = endpoint_read(env, "limits_endpoint", OCI_LIMITS, ENDPOINT_SECRETS, &o->limits,
		 err)) != BERTH_OK)
		return rc;
	return endpoint_read(env, "prices_endpoint", OCI_PRICES, ENDPOINT_SECRETS, &o->prices, err);
}

static void
oci_close(void *st)
{
	oci_market_close(st);
	oci_list_close(st);
}

static const char *
oci_fill(struct arena *a, const char *text, const char *word, const char *with)
{
	const char *at = strstr(text, word);

	return at == NULL
		   ? text
		   : arena_printf(a, "%.*s%s%s", (int)(at - text), text, with, at + strlen(word));
}

enum berth_code
oci_request(const struct oci *o, struct http_req *req, const char *method, const char *service,
    const char *region, struct berth_err *err, const char *fmt, ...)
{
	const char *base = str_eq(service, "limits") ? o->limits : o->template;
	va_list ap;

	base =
	    oci_fill(req->arena, oci_fill(req->arena, base, "SERVICE", service), "REGION", region);
	req->method = method;
	va_start(ap, fmt);
	http_req_url(req, "%s/%s", base, arena_vprintf(req->arena, fmt, ap));
	va_end(ap);
	return http_req_header(req, "Accept", "application/json", false, err);
}

const char *
oci_page(const struct http_resp *resp)
{
	const char *page = http_resp_header(resp, "opc-next-page");

	return page != NULL ? page : "";
}

const char *
oci_page_arg(struct arena *a, const char *page)
{
	return page[0] != '\0' ? arena_printf(a, "&page=%s", http_urlencode(a, page)) : "";
}

/* The price list is public, and somebody else's host. */
static enum berth_code
oci_sign(void *st, struct http_req *req, int64_t now, struct berth_err *err)
{
	const struct oci *o = st;
	char *pem = NULL, *pass = NULL;
	struct sign_oci s = { .now = now };
	enum berth_code rc;

	if (str_starts(req->url, arena_printf(req->arena, "%s/pls/apex/", o->prices)))
		return BERTH_OK;
	rc = prov_conf_secret(o->env->conf, "key", &pem, err);
	if (rc == BERTH_OK && prov_conf_has(o->env->conf, "pass_phrase"))
		rc = prov_conf_secret(o->env->conf, "pass_phrase", &pass, err);
	if (rc == BERTH_OK) {
		s.key_id =
		    arena_printf(req->arena, "%s/%s/%s", o->tenancy, o->user, o->fingerprint);
		s.key_pem = pem;
		s.passphrase = pass;
		rc = sign_oci(req, &s, NULL, err);
	}
	lease_wipe(pem);
	lease_wipe(pass);
	return rc;
}

/* {"code", "message"}. */
static bool
oci_error_read(const struct http_resp *resp, struct prov_error *error_out)
{
	return wirejson_refusal(resp, "code", error_out);
}

static const struct prov_auth_ops oci_auth = { .sign = oci_sign };

const struct provider_ops provider_oci = {
	.abi = PROVIDER_ABI,
	.caps = PROV_CAP_OFFERS | PROV_CAP_QUOTA | PROV_CAP_LEASE | PROV_CAP_TOKEN | PROV_CAP_SPOT,
	.name = "oci",
	.summary = "Oracle Cloud Infrastructure",
	.state_size = sizeof(struct oci),
	.keys = oci_keys,
	.errors = oci_errors,
	.error_read = oci_error_read,
	.auth = &oci_auth,
	.open = oci_open,
	.close = oci_close,
	.market = &oci_market,
	.lease = &oci_lease,
};
