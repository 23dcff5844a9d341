/* The other clouds' signatures: all are cousins, "METHOD path query headers hash" under an HMAC or
 * an RSA key. */
#include <openssl/evp.h>
#include <openssl/kdf.h>
#include <string.h>

#include "net/sign_impl.h"
#include "util/arena.h"
#include "util/str.h"
#include "util/time.h"

static const char *
sign_method(const struct http_req *req)
{
	return req->method != NULL ? req->method : "GET";
}

static char *
sign_body_hash(const struct http_req *req)
{
	return sign_sha256(req->arena, req->body != NULL ? req->body : "", req->body_len);
}

static char *
sign_hmac_hex(struct arena *a, const char *key, const char *text)
{
	unsigned char mac[SIGN_MAC_SIZE];

	sign_hmac(key, strlen(key), text, mac);
	return sign_hex(a, mac, sizeof(mac));
}

static bool
sign_has_token(const struct sign_keys *k)
{
	return k->token != NULL && k->token[0] != '\0';
}

/* Tencent. */

static bool
sign_tc3_wanted(const char *name, const void *arg)
{
	const struct sign_tc3 *s = arg;

	return str_eq(name, "host") || str_eq(name, "content-type") ||
	       (s->action && str_eq(name, "x-tc-action"));
}

static char *
sign_tc3_signature(struct arena *a, const struct sign_tc3 *s, const char *date, const char *to_sign)
{
	unsigned char k[SIGN_MAC_SIZE];
	char *first = arena_printf(a, "TC3%s", s->keys.secret);

	sign_hmac(first, strlen(first), date, k);
	explicit_bzero(first, strlen(first));
	sign_hmac(k, sizeof(k), s->service, k);
	sign_hmac(k, sizeof(k), "tc3_request", k);
	sign_hmac(k, sizeof(k), to_sign, k);
	return sign_hex(a, k, sizeof(k));
}

enum berth_code
sign_tc3(struct http_req *req, const struct sign_tc3 *s, struct sign_text *text_out,
    struct berth_err *err)
{
	struct arena *a = req->arena;
	const char *when = arena_printf(a, "%lld", (long long)s->now), *date;
	char *canonical, *to_sign, *signature, buf[TIME_FMT_SIZE];
	struct sign_headers h;
	struct sign_url u;
	enum berth_code rc;

	if ((rc = sign_url_split(a, req->url, &u, err)) != BERTH_OK ||
	    (rc = http_req_set_header(req, "X-TC-Timestamp", when, false, err)) != BERTH_OK ||
	    (sign_has_token(&s->keys) && (rc = http_req_set_header(req, "X-TC-Token", s->keys.token,
					      true, err)) != BERTH_OK))
		return rc;
	date = arena_strdup(a, time_fmt_date(buf, s->now));
	h = sign_headers_of(req, NULL, sign_tc3_wanted, s);
	canonical = arena_printf(a, "%s\n%s\n%s\n%s\n%s\n%s", sign_method(req), u.path,
	    u.query != NULL ? u.query : "", str_lower(a, h.lines), h.names, sign_body_hash(req));
	to_sign = arena_printf(a, "TC3-HMAC-SHA256\n%s\n%s/%s/tc3_request\n%s", when, date,
	    s->service, sign_sha256(a, canonical, strlen(canonical)));
	signature = sign_tc3_signature(a, s, date, to_sign);
	sign_text_set(text_out, canonical, to_sign, signature);
	return http_req_set_header(req, "Authorization",
	    arena_printf(a,
		"TC3-HMAC-SHA256 Credential=%s/%s/%s/tc3_request, SignedHeaders=%s, Signature=%s",
		s->keys.id, date, s->service, h.names, signature),
	    true, err);
}

/* Alibaba. */

static bool
sign_acs3_wanted(const char *name, const void *arg)
{
	(void)arg;
	return str_eq(name, "host") || str_eq(name, "content-type") || str_starts(name, "x-acs-");
}

static enum berth_code
sign_acs3_set(struct http_req *req, const struct sign_acs3 *s, struct berth_err *err)
{
	char when[TIME_FMT_SIZE];
	enum berth_code rc;

	if ((rc = http_req_set_header(req, "x-acs-date", time_fmt(when, s->now), false, err)) !=
		BERTH_OK ||
	    (rc = http_req_set_header(req, "x-acs-signature-nonce", s->nonce, false, err)) !=
		BERTH_OK ||
	    (rc = http_req_set_header(
		 req, "x-acs-content-sha256", sign_body_hash(req), false, err)) != BERTH_OK)
		return rc;
	return sign_has_token(&s->keys)
		   ? http_req_set_header(req, "x-acs-security-token", s->keys.token, true, err)
		   : BERTH_OK;
}

enum berth_code
sign_acs3(struct http_req *req, const struct sign_acs3 *s, struct sign_text *text_out,
    struct berth_err *err)
{
	struct arena *a = req->arena;
	char *canonical, *to_sign, *signature;
	struct sign_headers h;
	struct sign_url u;
	enum berth_code rc;

	if ((rc = sign_url_split(a, req->url, &u, err)) != BERTH_OK ||
	    (!s->as_is && (rc = sign_acs3_set(req, s, err)) != BERTH_OK))
		return rc;
	h = sign_headers_of(req, s->as_is ? "" : NULL, sign_acs3_wanted, s);
	canonical = arena_printf(a, "%s\n%s\n%s\n%s\n%s\n%s", sign_method(req), u.path,
	    sign_query_canonical(a, u.query, NULL, 0), h.lines, h.names,
	    s->as_is && s->payload_hash != NULL ? s->payload_hash : sign_body_hash(req));
	to_sign =
	    arena_printf(a, "ACS3-HMAC-SHA256\n%s", sign_sha256(a, canonical, strlen(canonical)));
	signature = sign_hmac_hex(a, s->keys.secret, to_sign);
	sign_text_set(text_out, canonical, to_sign, signature);
	return http_req_set_header(req, "Authorization",
	    arena_printf(a, "ACS3-HMAC-SHA256 Credential=%s,SignedHeaders=%s,Signature=%s",
		s->keys.id, h.names, signature),
	    true, err);
}

/* Huawei. */

static bool
sign_sdk_wanted(const char *name, const void *arg)
{
	const struct sign_sdk *s = arg;

	return strchr(name, '_') == NULL && !str_eq(name, "authorization") &&
	       !(s->no_host && str_eq(name, "host")) &&
	       !(s->no_content_type && str_eq(name, "content-type"));
}

/* HKDF-SHA256 (RFC 5869) of the secret, in hexadecimal: that text is the key. */
static char *
sign_sdk_key(struct arena *a, const struct sign_sdk *s, const char *scope)
{
	EVP_PKEY_CTX *ctx = EVP_PKEY_CTX_new_id(EVP_PKEY_HKDF, NULL);
	unsigned char key[SIGN_MAC_SIZE];
	size_t n = sizeof(key);
	bool ok = ctx != NULL && EVP_PKEY_derive_init(ctx) == 1 &&
		  EVP_PKEY_CTX_set_hkdf_md(ctx, EVP_sha256()) == 1 &&
		  EVP_PKEY_CTX_set1_hkdf_salt(
		      ctx, (const unsigned char *)s->keys.id, (int)strlen(s->keys.id)) == 1 &&
		  EVP_PKEY_CTX_set1_hkdf_key(ctx, (const unsigned char *)s->keys.secret,
		      (int)strlen(s->keys.secret)) == 1 &&
		  EVP_PKEY_CTX_add1_hkdf_info(
		      ctx, (const unsigned char *)scope, (int)strlen(scope)) == 1 &&
		  EVP_PKEY_derive(ctx, key, &n) == 1;

	EVP_PKEY_CTX_free(ctx);
	return ok ? sign_hex(a, key, n) : NULL;
}

/* Segments decoded and encoded anew, with a slash at the end. */
static char *
sign_sdk_path(struct arena *a, const char *path)
{
	char *p = sign_encode_path(a, sign_decode(a, path, strlen(path)));

	return str_ends(p, "/") ? p : arena_printf(a, "%s/", p);
}

enum berth_code
sign_sdk(struct http_req *req, const struct sign_sdk *s, struct sign_text *text_out,
    struct berth_err *err)
{
	struct arena *a = req->arena;
	const char *when = sign_basic_time(a, s->now), *scope = "", *key = s->keys.secret, *hash;
	char *canonical, *to_sign, *signature, *auth;
	struct sign_headers h;
	struct sign_url u;
	enum berth_code rc;

	if ((rc = sign_url_split(a, req->url, &u, err)) != BERTH_OK ||
	    (rc = http_req_set_header(req, "X-Sdk-Date", when, false, err)) != BERTH_OK ||
	    (sign_has_token(&s->keys) && (rc = http_req_set_header(req, "X-Security-Token",
					      s->keys.token, true, err)) != BERTH_OK))
		return rc;
	h = sign_headers_of(req, s->no_host ? "" : NULL, sign_sdk_wanted, s);
	hash = http_req_get_header(req, "X-Sdk-Content-Sha256");
	canonical = arena_printf(a, "%s\n%s\n%s\n%s\n%s\n%s", sign_method(req),
	    sign_sdk_path(a, u.path), sign_query_canonical(a, u.query, NULL, 0), h.lines, h.names,
	    hash != NULL ? hash : sign_body_hash(req));
	hash = sign_sha256(a, canonical, strlen(canonical));
	if (s->region == NULL) {
		to_sign = arena_printf(a, "SDK-HMAC-SHA256\n%s\n%s", when, hash);
	} else {
		scope = arena_printf(a, "%.8s/%s/%s", when, s->region, s->service);
		to_sign = arena_printf(a, "V11-HMAC-SHA256\n%s\n%s\n%s", when, scope, hash);
		if ((key = sign_sdk_key(a, s, scope)) == NULL)
			return err_set(err, BERTH_EFAIL, "sign: no HKDF in OpenSSL");
	}
	signature = sign_hmac_hex(a, key, to_sign);
	sign_text_set(text_out, canonical, to_sign, signature);
	auth = s->region == NULL
		   ? arena_printf(a, "SDK-HMAC-SHA256 Access=%s, SignedHeaders=%s, Signature=%s",
			 s->keys.id, h.names, signature)
		   : arena_printf(a,
			 "V11-HMAC-SHA256 Credential=%s/%s, SignedHeaders=%s, Signature=%s",
			 s->keys.id, scope, h.names, signature);
	return http_req_set_header(req, "Authorization", auth, true, err);
}

/* Oracle. */

static const char *
sign_oci_date(struct arena *a, const struct sign_oci *s)
{
	static const char *const days[] = { "Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun" };
	static const char *const months[] = { "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul",
		"Aug", "Sep", "Oct", "Nov", "Dec" };
	struct time_civil c = time_to_civil(s->now);

	return s->date != NULL ? s->date
			       : arena_printf(a, "%s, %02d %s %04d %02d:%02d:%02d GMT",
				     days[time_weekday(s->now)], c.day, months[c.month - 1], c.year,
				     c.hour, c.minute, c.second);
}

static bool
sign_only_host(const char *name, const void *arg)
{
	(void)arg;
	return str_eq(name, "host");
}

/* The lines on the body, of the methods that have one. */
static enum berth_code
sign_oci_body(struct http_req *req, const char **lines, const char **names, struct berth_err *err)
{
	struct arena *a = req->arena;
	const char *type = http_req_get_header(req, "Content-Type"), *hash;
	unsigned char md[EVP_MAX_MD_SIZE];
	unsigned n = 0;

	EVP_Digest(req->body != NULL ? req->body : "", req->body_len, md, &n, EVP_sha256(), NULL);
	hash = sign_base64(a, md, n, false);
	*lines = arena_printf(a, "%s\ncontent-length: %zu\ncontent-type: %s\nx-content-sha256: %s",
	    *lines, req->body_len, type != NULL ? type : "application/json", hash);
	*names = arena_printf(a, "%s content-length content-type x-content-sha256", *names);
	return http_req_set_header(req, "X-Content-SHA256", hash, false, err);
}

enum berth_code
sign_oci(struct http_req *req, const struct sign_oci *s, struct sign_text *text_out,
    struct berth_err *err)
{
	static const char *const with_body[] = { "POST", "PUT", "PATCH", NULL };
	struct arena *a = req->arena;
	const char *date = sign_oci_date(a, s), *lines, *names = "date (request-target) host",
		   *target, *signature;
	unsigned char *sig = NULL;
	struct sign_headers h;
	struct sign_url u;
	size_t n = 0;
	enum berth_code rc;

	if ((rc = sign_url_split(a, req->url, &u, err)) != BERTH_OK ||
	    (rc = http_req_set_header(req, "Date", date, false, err)) != BERTH_OK)
		return rc;
	h = sign_headers_of(req, NULL, sign_only_host, NULL);
	target = u.query != NULL ? arena_printf(a, "%s?%s", u.path, u.query) : u.path;
	lines = arena_printf(a, "date: %s\n(request-target): %s %s\nhost: %.*s", date,
	    str_lower(a, sign_method(req)), target, (int)(strlen(h.lines) - strlen("host:") - 1),
	    h.lines + strlen("host:"));
	if (str_index(sign_method(req), with_body) >= 0 &&
	    (rc = sign_oci_body(req, &lines, &names, err)) != BERTH_OK)
		return rc;
	if ((rc = sign_rsa(a, s->key_pem, s->passphrase, lines, &sig, &n, err)) != BERTH_OK)
		return rc;
	signature = sign_base64(a, sig, n, false);
	sign_text_set(text_out, "", lines, signature);
	return http_req_set_header(req, "Authorization",
	    arena_printf(a,
		"Signature version=\"1\",headers=\"%s\",keyId=\"%s\","
		"algorithm=\"rsa-sha256\",signature=\"%s\"",
		names, s->key_id, signature),
	    true, err);
}

enum berth_code
sign_jwt_rs256(struct arena *arena, const char *key_pem, const char *header_json,
    const char *claims_json, char **jwt_out, struct berth_err *err)
{
	const char *input =
	    arena_printf(arena, "%s.%s", sign_base64(arena, header_json, strlen(header_json), true),
		sign_base64(arena, claims_json, strlen(claims_json), true));
	unsigned char *sig = NULL;
	size_t n = 0;
	enum berth_code rc = sign_rsa(arena, key_pem, NULL, input, &sig, &n, err);

	if (rc == BERTH_OK)
		*jwt_out = arena_printf(arena, "%s.%s", input, sign_base64(arena, sig, n, true));
	return rc;
}
