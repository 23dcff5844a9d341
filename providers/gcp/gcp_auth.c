#include <stdlib.h>
#include <string.h>

#include "net/sign.h"
#include "providers/endpoint.h"
#include "providers/gcp/gcp.h"
#include "providers/prov.h"
#include "util/arena.h"
#include "util/buf.h"
#include "util/fileio.h"
#include "util/str.h"

#define GCP_SCOPE "https://www.googleapis.com/auth/cloud-platform"
#define GCP_TOKEN_URI "https://oauth2.googleapis.com/token"
#define GCP_TOKEN_LIFE_S 3600
#define GCP_KEY_MAX 65536
#define GCP_FORM "application/x-www-form-urlencoded"

void
gcp_auth_close(struct gcp *g)
{
	bearer_drop(&g->bearer);
}

static bool
gcp_auth_need(void *st, int64_t now)
{
	const struct gcp *g = st;

	return bearer_need(&g->bearer, now);
}

static void
gcp_auth_drop(void *st)
{
	struct gcp *g = st;

	bearer_drop(&g->bearer);
}

/* Google's order of where a program's own credentials lie: named, gcloud's file, the machine's. ""
 * is the last. */
static enum berth_code
gcp_auth_text(const struct gcp *g, struct arena *a, char **text_out, struct berth_err *err)
{
	const char *path = getenv("GOOGLE_APPLICATION_CREDENTIALS"), *home = getenv("HOME");
	char *secret = NULL;
	enum berth_code rc;

	*text_out = arena_strdup(a, "");
	if (prov_conf_has(g->env->conf, "credentials")) {
		rc = prov_conf_secret(g->env->conf, "credentials", &secret, err);
		if (rc != BERTH_OK)
			return rc;
		*text_out = arena_strdup(a, secret);
		explicit_bzero(secret, strlen(secret));
		free(secret);
		return BERTH_OK;
	}
	if (path == NULL || path[0] == '\0') {
		path = arena_printf(a, "%s/.config/gcloud/application_default_credentials.json",
		    home != NULL ? home : "");
		if (!fileio_exists(path))
			return BERTH_OK;
	}
	rc = fileio_slurp(a, path, GCP_KEY_MAX, text_out, NULL, err);
	if (rc != BERTH_OK && err != NULL)
		err->code = BERTH_EAUTH;
	return rc == BERTH_OK ? rc : BERTH_EAUTH;
}

static enum berth_code
gcp_auth_form(struct http_req *req, const char *uri, const struct sign_pair *pairs, size_t n,
    struct berth_err *err)
{
	const char *form = sign_query(req->arena, pairs, n);
	enum berth_code rc = endpoint_check("token_uri", uri, ENDPOINT_SECRETS, err);

	if (rc != BERTH_OK)
		return rc;
	req->method = "POST";
	http_req_url(req, "%s", uri);
	return http_req_body(req, GCP_FORM, form, strlen(form), err);
}

/* The audience is Google's own name of the endpoint, by whatever way it is reached. */
static enum berth_code
gcp_auth_claims(
    struct arena *a, const char *email, int64_t now, char **text_out, struct berth_err *err)
{
	struct jsonw w;
	struct buf b;
	enum berth_code rc;

	buf_init(&b, GCP_KEY_MAX);
	jsonw_init_buf(&w, &b, JSONW_COMPACT);
	jsonw_begin_object(&w, NULL);
	jsonw_str(&w, "iss", email);
	jsonw_str(&w, "scope", GCP_SCOPE);
	jsonw_str(&w, "aud", GCP_TOKEN_URI);
	jsonw_int(&w, "iat", now);
	jsonw_int(&w, "exp", now + GCP_TOKEN_LIFE_S);
	jsonw_end_object(&w);
	rc = jsonw_finish(&w, err);
	if (rc == BERTH_OK)
		*text_out = arena_strndup(a, b.p, b.len);
	buf_free(&b);
	return rc;
}

/* RFC 7523, 2.1: an assertion signed by the account's key buys a token. */
static enum berth_code
gcp_auth_service(const struct jsonr *key, int64_t now, struct http_req *req, struct berth_err *err)
{
	static const char *const needed[] = { "client_email", "private_key", "private_key_id",
		NULL };
	const char *email = "", *pem = "", *kid = "", *uri = GCP_TOKEN_URI;
	char *claims = NULL, *jwt = NULL;
	enum berth_code rc;

	if ((rc = jsonr_need(key, needed, err)) != BERTH_OK ||
	    (rc = jsonr_str(key, "client_email", &email, err)) != BERTH_OK ||
	    (rc = jsonr_str(key, "private_key", &pem, err)) != BERTH_OK ||
	    (rc = jsonr_str(key, "private_key_id", &kid, err)) != BERTH_OK ||
	    (rc = jsonr_str(key, "token_uri", &uri, err)) != BERTH_OK)
		return rc;
	if (kid[strspn(kid, "0123456789abcdefABCDEF")] != '\0')
		return jsonr_err(key, BERTH_EAUTH, err, "private_key_id is not hexadecimal");
	rc = gcp_auth_claims(req->arena, email, now, &claims, err);
	if (rc == BERTH_OK)
		rc = sign_jwt_rs256(req->arena, pem,
		    arena_printf(
			req->arena, "{\"alg\":\"RS256\",\"typ\":\"JWT\",\"kid\":\"%s\"}", kid),
		    claims, &jwt, err);
	if (rc != BERTH_OK)
		return rc;
	return gcp_auth_form(req, uri,
	    (const struct sign_pair[]){ { "assertion", jwt },
		{ "grant_type", "urn:ietf:params:oauth:grant-type:jwt-bearer" } },
	    2, err);
}

/* What "gcloud auth application-default login" leaves: RFC 6749, 6. */
static enum berth_code
gcp_auth_user(const struct jsonr *key, struct http_req *req, struct berth_err *err)
{
	static const char *const needed[] = { "client_id", "client_secret", "refresh_token", NULL };
	const char *id = "", *secret = "", *refresh = "", *uri = GCP_TOKEN_URI;
	enum berth_code rc;

	if ((rc = jsonr_need(key, needed, err)) != BERTH_OK ||
	    (rc = jsonr_str(key, "client_id", &id, err)) != BERTH_OK ||
	    (rc = jsonr_str(key, "client_secret", &secret, err)) != BERTH_OK ||
	    (rc = jsonr_str(key, "refresh_token", &refresh, err)) != BERTH_OK ||
	    (rc = jsonr_str(key, "token_uri", &uri, err)) != BERTH_OK)
		return rc;
	return gcp_auth_form(req, uri,
	    (const struct sign_pair[]){ { "client_id", id }, { "client_secret", secret },
		{ "grant_type", "refresh_token" }, { "refresh_token", refresh } },
	    4, err);
}

static enum berth_code
gcp_auth_step_build(void *st, int64_t now, struct http_req *req, struct berth_err *err)
{
	const struct gcp *g = st;
	const char *type = "";
	struct jsonr key;
	json_t *v = NULL;
	char *text;
	enum berth_code rc = gcp_auth_text(g, req->arena, &text, err);

	if (rc != BERTH_OK)
		return rc;
	if (text[0] == '\0') {
		http_req_url(req, "%s/computeMetadata/v1/instance/service-accounts/default/token",
		    g->metadata);
		return http_req_header(req, "Metadata-Flavor", "Google", false, err);
	}
	rc = jsonr_parse(text, strlen(text), "credentials", &v, err);
	explicit_bzero(text, strlen(text));
	key = jsonr_root(v, "credentials");
	if (rc == BERTH_OK)
		rc = jsonr_str(&key, "type", &type, err);
	if (rc == BERTH_OK && str_eq(type, "service_account"))
		rc = gcp_auth_service(&key, now, req, err);
	else if (rc == BERTH_OK && str_eq(type, "authorized_user"))
		rc = gcp_auth_user(&key, req, err);
	else if (rc == BERTH_OK)
		rc = err_set(err, BERTH_EAUTH,
		    "credentials of type '%.40s': service_account and authorized_user are known",
		    type);
	if (rc == BERTH_EINVAL && err != NULL)
		rc = err->code = BERTH_EAUTH;
	json_decref(v);
	return rc;
}

static enum berth_code
gcp_auth_step_parse(void *st, const struct http_resp *resp, int64_t now, struct berth_err *err)
{
	struct gcp *g = st;

	return bearer_parse(&g->bearer, resp, now, err);
}

/* The price list is public: where there is an API key for it, the token stays away. */
static enum berth_code
gcp_auth_sign(void *st, struct http_req *req, int64_t now, struct berth_err *err)
{
	struct gcp *g = st;

	(void)now;
	return http_req_get_header(req, "X-Goog-Api-Key") != NULL
		   ? BERTH_OK
		   : bearer_sign(&g->bearer, req, err);
}

const struct prov_auth_ops gcp_auth = {
	.need = gcp_auth_need,
	.step_build = gcp_auth_step_build,
	.step_parse = gcp_auth_step_parse,
	.drop = gcp_auth_drop,
	.sign = gcp_auth_sign,
};
