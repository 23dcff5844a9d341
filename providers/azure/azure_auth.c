#include <stdlib.h>
#include <string.h>

#include "net/sign.h"
#include "providers/azure/azure.h"
#include "providers/endpoint.h"
#include "providers/prov.h"
#include "util/arena.h"
#include "util/fileio.h"
#include "util/str.h"

#define AZURE_FORM "application/x-www-form-urlencoded"
#define AZURE_ASSERTION "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
#define AZURE_TOKEN_FILE_MAX 65536

/* Without a subscription there is only the price list, which is public. */
static bool
azure_auth_need(void *st, int64_t now)
{
	const struct azure *z = st;

	return z->subscription[0] != '\0' && bearer_need(&z->bearer, now);
}

static void
azure_auth_drop(void *st)
{
	struct azure *z = st;

	bearer_drop(&z->bearer);
}

static const char *
azure_auth_said(const struct azure *z, const char *key, const char *variable)
{
	const char *s = prov_conf_str(z->env->conf, key, NULL);

	if (s == NULL)
		s = getenv(variable);
	return s != NULL ? s : "";
}

/* A secret of the section, else of the environment ("" if neither has it); file: the variable names
 * a file. */
static enum berth_code
azure_auth_secret(const struct azure *z, const char *key, const char *variable, bool file,
    struct arena *a, char **secret_out, struct berth_err *err)
{
	char *secret = NULL;
	const char *s = getenv(variable);
	enum berth_code rc;

	*secret_out = arena_strdup(a, "");
	if (prov_conf_has(z->env->conf, key)) {
		rc = prov_conf_secret(z->env->conf, key, &secret, err);
		if (rc == BERTH_OK) {
			*secret_out = arena_strdup(a, secret);
			explicit_bzero(secret, strlen(secret));
			free(secret);
		}
		return rc;
	}
	if (s == NULL || s[0] == '\0')
		return BERTH_OK;
	if (!file)
		return sign_key_text(a, variable, s, secret_out, err);
	rc = fileio_slurp(a, s, AZURE_TOKEN_FILE_MAX, &secret, NULL, err);
	if (rc != BERTH_OK)
		return err != NULL ? (err->code = BERTH_EAUTH) : BERTH_EAUTH;
	return sign_key_text(a, variable, secret, secret_out, err);
}

/* RFC 6749, 4.4 with a secret, or RFC 7523, 2.2 with a token of another issuer. */
static enum berth_code
azure_auth_client(const struct azure *z, const char *tenant, const char *client, const char *secret,
    const char *assertion, struct http_req *req, struct berth_err *err)
{
	const char *scope = arena_printf(req->arena, "%s/.default", z->arm), *form;

	if (secret[0] != '\0')
		form = sign_query(req->arena,
		    (const struct sign_pair[]){ { "client_id", client },
			{ "client_secret", secret }, { "grant_type", "client_credentials" },
			{ "scope", scope } },
		    4);
	else
		form = sign_query(req->arena,
		    (const struct sign_pair[]){ { "client_assertion", assertion },
			{ "client_assertion_type", AZURE_ASSERTION }, { "client_id", client },
			{ "grant_type", "client_credentials" }, { "scope", scope } },
		    5);
	req->method = "POST";
	http_req_url(req, "%s/%s/oauth2/v2.0/token", z->login, http_urlencode(req->arena, tenant));
	return http_req_body(req, AZURE_FORM, form, strlen(form), err);
}

static enum berth_code
azure_auth_step_build(void *st, int64_t now, struct http_req *req, struct berth_err *err)
{
	const struct azure *z = st;
	const char *tenant = azure_auth_said(z, "tenant", "AZURE_TENANT_ID");
	const char *client = azure_auth_said(z, "client_id", "AZURE_CLIENT_ID");
	char *secret, *assertion;
	enum berth_code rc;

	(void)now;
	if ((rc = azure_auth_secret(z, "client_secret", "AZURE_CLIENT_SECRET", false, req->arena,
		 &secret, err)) != BERTH_OK ||
	    (rc = azure_auth_secret(z, "client_assertion", "AZURE_FEDERATED_TOKEN_FILE", true,
		 req->arena, &assertion, err)) != BERTH_OK)
		return rc;
	if (secret[0] != '\0' || assertion[0] != '\0') {
		if (tenant[0] == '\0' || client[0] == '\0')
			return err_set(err, BERTH_EAUTH,
			    "a secret or federated token wants 'tenant' and 'client_id' too");
		return azure_auth_client(z, tenant, client, secret, assertion, req, err);
	}
	http_req_url(req,
	    "%s/metadata/identity/oauth2/token?api-version=2018-02-01&resource=%s%s%s", z->imds,
	    http_urlencode(req->arena, z->arm), client[0] != '\0' ? "&client_id=" : "",
	    http_urlencode(req->arena, client));
	return http_req_header(req, "Metadata", "true", false, err);
}

static enum berth_code
azure_auth_step_parse(void *st, const struct http_resp *resp, int64_t now, struct berth_err *err)
{
	struct azure *z = st;

	return bearer_parse(&z->bearer, resp, now, err);
}

/* The token goes to Resource Manager and nowhere else. */
static enum berth_code
azure_auth_sign(void *st, struct http_req *req, int64_t now, struct berth_err *err)
{
	struct azure *z = st;

	(void)now;
	if (!endpoint_same(req->url, z->arm) ||
	    str_starts(req->url, arena_printf(req->arena, "%s" AZURE_RETAIL, z->prices)))
		return BERTH_OK;
	return bearer_sign(&z->bearer, req, err);
}

const struct prov_auth_ops azure_auth = {
	.need = azure_auth_need,
	.step_build = azure_auth_step_build,
	.step_parse = azure_auth_step_parse,
	.drop = azure_auth_drop,
	.sign = azure_auth_sign,
};
