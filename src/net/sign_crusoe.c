#include <string.h>

#include "net/sign_impl.h"
#include "util/arena.h"
#include "util/time.h"

/* base64url without padding (RFC 4648, 5) into at most the size of its text; -1: a byte that is
 * none. */
static int
sign_unbase64url(const char *s, unsigned char *out, size_t size)
{
	static const char digits[] =
	    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
	unsigned acc = 0, bits = 0;
	size_t n = 0;

	for (; *s != '\0' && *s != '='; s++) {
		const char *at = strchr(digits, *s);

		if (at == NULL || n >= size)
			return -1;
		acc = (acc << 6 | (unsigned)(at - digits)) & 0xffffff;
		bits += 6;
		if (bits >= 8) {
			bits -= 8;
			out[n++] = (unsigned char)(acc >> bits);
		}
	}
	return (int)n;
}

enum berth_code
sign_crusoe(struct http_req *req, const struct sign_keys *keys, int64_t now,
    struct sign_text *text_out, struct berth_err *err)
{
	struct arena *a = req->arena;
	unsigned char key[256], mac[SIGN_MAC_SIZE];
	char at[TIME_FMT_SIZE], *when, *text, *signature;
	struct sign_url u = { .query = NULL };
	enum berth_code rc = sign_url_split(a, req->url, &u, err);
	int n;

	if (rc != BERTH_OK)
		return rc;
	n = sign_unbase64url(keys->secret, key, sizeof(key));
	if (n <= 0)
		return err_set(err, BERTH_EAUTH, "the secret key is not base64url");
	time_fmt(at, now);
	when = arena_printf(a, "%.19s+00:00", at);
	text =
	    arena_printf(a, "%s\n%s\n%s\n%s\n", u.path, sign_query_canonical(a, u.query, NULL, 0),
		req->method != NULL ? req->method : "GET", when);
	sign_hmac(key, (size_t)n, text, mac);
	explicit_bzero(key, sizeof(key));
	signature = sign_base64(a, mac, sizeof(mac), true);
	sign_text_set(text_out, text, text, signature);
	rc = http_req_set_header(req, "X-Crusoe-Timestamp", when, false, err);
	return rc == BERTH_OK
		   ? http_req_set_header(req, "Authorization",
			 arena_printf(a, "Bearer 1.0:%s:%s", keys->id, signature), true, err)
		   : rc;
}
