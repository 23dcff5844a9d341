#include <string.h>

#include "net/sign_impl.h"
#include "util/arena.h"
#include "util/str.h"

#define SIGN_V4_ALGORITHM "AWS4-HMAC-SHA256"

/* Headers that a proxy or the client may change on the way; whoever else signs these requests
 * leaves them out too. */
static bool
sign_v4_wanted(const char *name, const void *arg)
{
	static const char *const never[] = { "authorization", "connection", "expect",
		"transfer-encoding", "user-agent", "x-amzn-trace-id", NULL };
	const struct sign_v4 *s = arg;

	return str_index(name, never) < 0 &&
	       !(s->token_unsigned && str_eq(name, "x-amz-security-token"));
}

/* RFC 3986, 5.2.4, and slashes joined. */
static char *
sign_v4_normal(struct arena *a, const char *path)
{
	char *out = arena_alloc(a, strlen(path) + 2), *p = out;

	*p++ = '/';
	while (*path != '\0') {
		size_t n = strcspn(path, "/");

		if (n == 2 && path[0] == '.' && path[1] == '.') {
			if (p > out + 1)
				p--;
			while (p > out + 1 && p[-1] != '/')
				p--;
		} else if (n > 0 && !(n == 1 && path[0] == '.')) {
			memcpy(p, path, n);
			p += n;
			if (path[n] == '/')
				*p++ = '/';
		}
		path += n + (path[n] == '/');
	}
	*p = '\0';
	return out;
}

static const char *
sign_v4_scope(struct arena *a, const struct sign_v4 *s, const char *when)
{
	return arena_printf(a, "%.8s/%s/%s/aws4_request", when, s->region, s->service);
}

static char *
sign_v4_signature(struct arena *a, const struct sign_v4 *s, const char *when, const char *to_sign)
{
	unsigned char k[SIGN_MAC_SIZE];
	char *first = arena_printf(a, "AWS4%s", s->keys.secret);

	sign_hmac(first, strlen(first), arena_strndup(a, when, 8), k);
	explicit_bzero(first, strlen(first));
	sign_hmac(k, sizeof(k), s->region, k);
	sign_hmac(k, sizeof(k), s->service, k);
	sign_hmac(k, sizeof(k), "aws4_request", k);
	sign_hmac(k, sizeof(k), to_sign, k);
	return sign_hex(a, k, sizeof(k));
}

/* The signature of req as it stands; query is canonical. */
static char *
sign_v4_make(struct http_req *req, const struct sign_v4 *s, const char *when,
    const struct sign_url *u, const char *query, const struct sign_headers *h,
    struct sign_text *text_out)
{
	struct arena *a = req->arena;
	const char *path = sign_encode_path(a, s->raw_path ? u->path : sign_v4_normal(a, u->path));
	char *canonical = arena_printf(a, "%s\n%s\n%s\n%s\n%s\n%s",
	    req->method != NULL ? req->method : "GET", path, query, h->lines, h->names,
	    sign_sha256(a, req->body != NULL ? req->body : "", req->body_len));
	char *to_sign = arena_printf(a, SIGN_V4_ALGORITHM "\n%s\n%s\n%s", when,
	    sign_v4_scope(a, s, when), sign_sha256(a, canonical, strlen(canonical)));
	char *signature = sign_v4_signature(a, s, when, to_sign);

	sign_text_set(text_out, canonical, to_sign, signature);
	return signature;
}

static bool
sign_v4_has_token(const struct sign_v4 *s)
{
	return s->keys.token != NULL && s->keys.token[0] != '\0';
}

enum berth_code
sign_v4(struct http_req *req, const struct sign_v4 *s, struct sign_text *text_out,
    struct berth_err *err)
{
	struct arena *a = req->arena;
	const char *when = sign_basic_time(a, s->now);
	struct sign_headers h;
	struct sign_url u;
	char *signature;
	enum berth_code rc;

	if ((rc = sign_url_split(a, req->url, &u, err)) != BERTH_OK ||
	    (rc = http_req_set_header(req, "X-Amz-Date", when, false, err)) != BERTH_OK ||
	    (sign_v4_has_token(s) && (rc = http_req_set_header(req, "X-Amz-Security-Token",
					  s->keys.token, true, err)) != BERTH_OK) ||
	    (s->body_header &&
		(rc = http_req_set_header(req, "X-Amz-Content-Sha256",
		     sign_sha256(a, req->body != NULL ? req->body : "", req->body_len), false,
		     err)) != BERTH_OK))
		return rc;
	h = sign_headers_of(req, NULL, sign_v4_wanted, s);
	signature =
	    sign_v4_make(req, s, when, &u, sign_query_canonical(a, u.query, NULL, 0), &h, text_out);
	return http_req_set_header(req, "Authorization",
	    arena_printf(a, SIGN_V4_ALGORITHM " Credential=%s/%s, SignedHeaders=%s, Signature=%s",
		s->keys.id, sign_v4_scope(a, s, when), h.names, signature),
	    true, err);
}

enum berth_code
sign_v4_url(struct http_req *req, const struct sign_v4 *s, struct sign_text *text_out,
    struct berth_err *err)
{
	struct arena *a = req->arena;
	const char *when = sign_basic_time(a, s->now), *query, *token = "";
	struct sign_headers h = sign_headers_of(req, NULL, sign_v4_wanted, s);
	struct sign_pair extra[6];
	struct sign_url u;
	char *signature;
	size_t n = 0;
	enum berth_code rc = sign_url_split(a, req->url, &u, err);

	if (rc != BERTH_OK)
		return rc;
	extra[n++] = (struct sign_pair){ "X-Amz-Algorithm", SIGN_V4_ALGORITHM };
	extra[n++] = (struct sign_pair){ "X-Amz-Credential",
		arena_printf(a, "%s/%s", s->keys.id, sign_v4_scope(a, s, when)) };
	extra[n++] = (struct sign_pair){ "X-Amz-Date", when };
	extra[n++] = (struct sign_pair){ "X-Amz-Expires", arena_printf(a, "%d", s->expires_s) };
	extra[n++] = (struct sign_pair){ "X-Amz-SignedHeaders", h.names };
	if (sign_v4_has_token(s) && !s->token_unsigned)
		extra[n++] = (struct sign_pair){ "X-Amz-Security-Token", s->keys.token };
	else if (sign_v4_has_token(s))
		token =
		    arena_printf(a, "&X-Amz-Security-Token=%s", http_urlencode(a, s->keys.token));
	query = sign_query_canonical(a, u.query, extra, n);
	signature = sign_v4_make(req, s, when, &u, query, &h, text_out);
	http_req_url(req, "%s://%s%s?%s%s&X-Amz-Signature=%s", u.scheme, u.host, u.path, query,
	    token, signature);
	return BERTH_OK;
}
