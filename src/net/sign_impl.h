/* src/net/sign_impl.h - what the signatures have in common.  Floor: net; sign_*.c only. */
#ifndef BERTH_NET_SIGN_IMPL_H
#define BERTH_NET_SIGN_IMPL_H

#include "net/sign.h"
#include "util/hash.h"

#define SIGN_MAC_SIZE 32

/* scheme://host[:port]path[?query]; path is "/" if there is none, query NULL. Strings in the arena.
 */
struct sign_url {
	const char *scheme, *host, *path, *query;
};
BERTH_MUST_CHECK enum berth_code sign_url_split(
    struct arena *a, const char *url, struct sign_url *u_out, struct berth_err *err);

/* The headers to sign, lower-cased, values trimmed and inner blanks joined, equal names joined by
 * ",", sorted. */
struct sign_headers {
	const char *lines; /* "name:value\n"... */
	const char *names; /* "a;b" */
};
typedef bool sign_header_fn(const char *lower_name, const void *arg);
/* host NULL: the URL's; "": none but what the request has. */
struct sign_headers sign_headers_of(
    const struct http_req *req, const char *host, sign_header_fn *wanted, const void *arg);

/* Pairs of a query, decoded and encoded anew, sorted; extra pairs (not encoded) among them. query
 * may be NULL. */
char *sign_query_canonical(
    struct arena *a, const char *query, const struct sign_pair *extra, size_t n_extra);
/* Percent-decoded; a "%" without two digits stays. */
char *sign_decode(struct arena *a, const char *s, size_t n);
/* http_urlencode() that leaves "/". */
char *sign_encode_path(struct arena *a, const char *path);

void sign_hmac(
    const void *key, size_t key_len, const char *text, unsigned char mac_out[SIGN_MAC_SIZE]);
char *sign_hex(struct arena *a, const unsigned char *p, size_t n);
char *sign_sha256(struct arena *a, const void *p, size_t n); /* hex */
char *sign_base64(
    struct arena *a, const void *p, size_t n, bool url); /* url: its alphabet, no padding */
BERTH_MUST_CHECK enum berth_code sign_rsa(struct arena *a, const char *pem, const char *passphrase,
    const char *text, unsigned char **sig_out, size_t *n_out, struct berth_err *err);

/* "20261130T100000Z" */
char *sign_basic_time(struct arena *a, int64_t t);
void sign_text_set(struct sign_text *t, const char *canonical, const char *to_sign,
    const char *signature); /* t may be NULL */

#endif
