#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/pem.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/sign_impl.h"
#include "util/arena.h"
#include "util/str.h"
#include "util/time.h"

enum berth_code
sign_url_split(struct arena *a, const char *url, struct sign_url *u_out, struct berth_err *err)
{
	const char *colon = url != NULL ? strstr(url, "://") : NULL, *host, *path, *query;

	if (colon == NULL || colon[3] == '\0')
		return err_set(err, BERTH_EINVAL, "sign: no URL");
	host = colon + 3;
	path = host + strcspn(host, "/?");
	query = strchr(path, '?');
	u_out->scheme = arena_strndup(a, url, (size_t)(colon - url));
	u_out->host = arena_strndup(a, host, (size_t)(path - host));
	u_out->path =
	    path == query || *path == '\0'
		? "/"
		: arena_strndup(a, path, query != NULL ? (size_t)(query - path) : strlen(path));
	u_out->query = query != NULL ? arena_strdup(a, query + 1) : NULL;
	return BERTH_OK;
}

struct sign_row {
	const char *name, *value;
	size_t order;
};

static int
sign_row_cmp(const void *pa, const void *pb)
{
	const struct sign_row *a = pa, *b = pb;
	int c = strcmp(a->name, b->name);

	return c != 0 ? c : a->order < b->order ? -1 : a->order > b->order;
}

/* Blanks (and folded lines) within become one, those around none. */
static char *
sign_squeeze(struct arena *a, const char *s)
{
	char *out = arena_alloc(a, strlen(s) + 1), *p = out;

	for (; *s != '\0'; s++)
		if (!str_is_space(*s))
			*p++ = *s;
		else if (p != out && p[-1] != ' ')
			*p++ = ' ';
	while (p != out && p[-1] == ' ')
		p--;
	*p = '\0';
	return out;
}

/* The host as a client sends it: without the port that the scheme has anyway. */
static const char *
sign_host(struct arena *a, const char *url)
{
	struct sign_url u = { .host = "" };
	const char *port;

	if (sign_url_split(a, url, &u, NULL) != BERTH_OK)
		return "";
	port = str_eq(u.scheme, "https") ? ":443" : ":80";
	return str_ends(u.host, port) ? arena_strndup(a, u.host, strlen(u.host) - strlen(port))
				      : u.host;
}

struct sign_headers
sign_headers_of(
    const struct http_req *req, const char *host, sign_header_fn *wanted, const void *arg)
{
	struct sign_row rows[HTTP_HEADERS_MAX + 1];
	struct sign_headers h = { "", "" };
	size_t n = 0;

	if (http_req_get_header(req, "Host") == NULL && (host == NULL || host[0] != '\0') &&
	    wanted("host", arg))
		rows[n++] = (struct sign_row){ "host",
			host != NULL ? host : sign_host(req->arena, req->url), 0 };
	for (size_t i = 0; i < req->n_headers; i++) {
		const char *name = str_lower(req->arena, req->headers[i].name);

		if (wanted(name, arg))
			rows[n++] = (struct sign_row){ name,
				sign_squeeze(req->arena, req->headers[i].value), i };
	}
	qsort(rows, n, sizeof(rows[0]), sign_row_cmp);
	for (size_t i = 0; i < n; i++) {
		bool again = i > 0 && str_eq(rows[i].name, rows[i - 1].name),
		     more = i + 1 < n && str_eq(rows[i].name, rows[i + 1].name);

		h.lines = arena_printf(req->arena, "%s%s%s%s%s", h.lines,
		    again ? "," : rows[i].name, again ? "" : ":", rows[i].value, more ? "" : "\n");
		if (!again)
			h.names = arena_printf(req->arena, "%s%s%s", h.names,
			    h.names[0] != '\0' ? ";" : "", rows[i].name);
	}
	return h;
}

static int
sign_hex_digit(char c)
{
	return c >= '0' && c <= '9'   ? c - '0'
	       : c >= 'a' && c <= 'f' ? c - 'a' + 10
	       : c >= 'A' && c <= 'F' ? c - 'A' + 10
				      : -1;
}

char *
sign_decode(struct arena *a, const char *s, size_t n)
{
	char *out = arena_alloc(a, n + 1), *p = out;

	for (size_t i = 0; i < n; i++) {
		int hi = s[i] == '%' && i + 2 < n ? sign_hex_digit(s[i + 1]) : -1;
		int lo = hi >= 0 ? sign_hex_digit(s[i + 2]) : -1;

		if (lo > 0 || (lo == 0 && hi > 0)) { /* %00 stays as it is: text ends at a NUL */
			*p++ = (char)(hi * 16 + lo);
			i += 2;
		} else {
			*p++ = s[i];
		}
	}
	*p = '\0';
	return out;
}

static int
sign_pair_cmp(const void *pa, const void *pb)
{
	const struct sign_pair *a = pa, *b = pb;
	int c = strcmp(a->name, b->name);

	return c != 0 ? c : strcmp(a->value, b->value);
}

char *
sign_query(struct arena *arena, const struct sign_pair *pairs, size_t n)
{
	struct sign_pair *enc = arena_array_of(arena, n, struct sign_pair);
	size_t size = 1;
	char *out;
	size_t len = 0;

	for (size_t i = 0; i < n; i++) {
		enc[i].name = http_urlencode(arena, pairs[i].name);
		enc[i].value = http_urlencode(arena, pairs[i].value);
		size += strlen(enc[i].name) + strlen(enc[i].value) + 2;
	}
	if (n > 1)
		qsort(enc, n, sizeof(enc[0]), sign_pair_cmp);
	out = arena_alloc(arena, size);
	for (size_t i = 0; i < n; i++)
		len += (size_t)snprintf(
		    out + len, size - len, "%s%s=%s", i > 0 ? "&" : "", enc[i].name, enc[i].value);
	return out;
}

char *
sign_query_canonical(
    struct arena *a, const char *query, const struct sign_pair *extra, size_t n_extra)
{
	size_t n = 0, max = 1 + n_extra;
	struct sign_pair *pairs;

	for (const char *s = query; s != NULL && *s != '\0'; s++)
		max += *s == '&';
	pairs = arena_array_of(a, max, struct sign_pair);
	for (const char *s = query; s != NULL && *s != '\0';) {
		size_t len = strcspn(s, "&"), name = strcspn(s, "=&");

		if (len > 0) {
			pairs[n].name = sign_decode(a, s, name);
			pairs[n++].value =
			    name < len ? sign_decode(a, s + name + 1, len - name - 1) : "";
		}
		s += len + (s[len] == '&');
	}
	for (size_t i = 0; i < n_extra; i++)
		pairs[n++] = extra[i];
	return sign_query(a, pairs, n);
}

char *
sign_encode_path(struct arena *a, const char *path)
{
	const char *slash, *out = "";

	for (; (slash = strchr(path, '/')) != NULL; path = slash + 1)
		out = arena_printf(a, "%s%s/", out,
		    http_urlencode(a, arena_strndup(a, path, (size_t)(slash - path))));
	return arena_printf(a, "%s%s", out, http_urlencode(a, path));
}

void
sign_hmac(const void *key, size_t key_len, const char *text, unsigned char mac_out[SIGN_MAC_SIZE])
{
	unsigned n = SIGN_MAC_SIZE;

	HMAC(EVP_sha256(), key, (int)key_len, (const unsigned char *)text, strlen(text), mac_out,
	    &n);
}

char *
sign_hex(struct arena *a, const unsigned char *p, size_t n)
{
	static const char digits[] = "0123456789abcdef";
	char *out = arena_alloc(a, 2 * n + 1);

	for (size_t i = 0; i < n; i++) {
		out[2 * i] = digits[p[i] >> 4];
		out[2 * i + 1] = digits[p[i] & 15];
	}
	return out;
}

char *
sign_sha256(struct arena *a, const void *p, size_t n)
{
	unsigned char md[EVP_MAX_MD_SIZE];
	unsigned len = 0;

	EVP_Digest(p, n, md, &len, EVP_sha256(), NULL);
	return sign_hex(a, md, len);
}

char *
sign_base64(struct arena *a, const void *p, size_t n, bool url)
{
	char *out = arena_alloc(a, 4 * ((n + 2) / 3) + 1);

	EVP_EncodeBlock((unsigned char *)out, p, (int)n);
	for (char *s = out; url && *s != '\0'; s++)
		*s = *s == '+' ? '-' : *s == '/' ? '_' : *s == '=' ? '\0' : *s;
	return out;
}

/* OpenSSL asks for a passphrase on the terminal otherwise. */
static int
sign_passphrase(char *buf, int size, int rwflag, void *arg)
{
	const char *s = arg;
	int n = s != NULL ? (int)strlen(s) : 0;

	(void)rwflag;
	if (n > size)
		return -1;
	memcpy(buf, s != NULL ? s : "", (size_t)n);
	return n;
}

enum berth_code
sign_rsa(struct arena *a, const char *pem, const char *passphrase, const char *text,
    unsigned char **sig_out, size_t *n_out, struct berth_err *err)
{
	BIO *bio = BIO_new_mem_buf(pem, -1);
	EVP_PKEY *key = NULL;
	EVP_MD_CTX *ctx = EVP_MD_CTX_new();
	enum berth_code rc = BERTH_EAUTH;

	if (bio != NULL)
		key = PEM_read_bio_PrivateKey(
		    bio, NULL, sign_passphrase, (void *)(uintptr_t)passphrase);
	if (key == NULL || EVP_PKEY_get_base_id(key) != EVP_PKEY_RSA) {
		err_set(err, rc,
		    "sign: the private key is no RSA key in PEM, or its passphrase is another");
		goto out;
	}
	*n_out = (size_t)EVP_PKEY_get_size(key);
	*sig_out = arena_alloc(a, *n_out);
	if (ctx == NULL || EVP_DigestSignInit(ctx, NULL, EVP_sha256(), NULL, key) != 1 ||
	    EVP_DigestSign(ctx, *sig_out, n_out, (const unsigned char *)text, strlen(text)) != 1) {
		err_set(err, rc, "sign: the private key cannot sign");
		goto out;
	}
	rc = BERTH_OK;
out:
	EVP_MD_CTX_free(ctx);
	EVP_PKEY_free(key);
	BIO_free(bio);
	return rc;
}

char *
sign_basic_time(struct arena *a, int64_t t)
{
	struct time_civil c = time_to_civil(t);

	return arena_printf(
	    a, "%04d%02d%02dT%02d%02d%02dZ", c.year, c.month, c.day, c.hour, c.minute, c.second);
}

void
sign_text_set(
    struct sign_text *t, const char *canonical, const char *to_sign, const char *signature)
{
	if (t != NULL)
		*t = (struct sign_text){ canonical, to_sign, signature };
}

enum berth_code
sign_key_text(
    struct arena *arena, const char *what, const char *text, char **key_out, struct berth_err *err)
{
	char *key = str_trim(arena, str_starts(text, "\xef\xbb\xbf") ? text + 3 : text);

	if (key[0] == '\0')
		return err_set(err, BERTH_EAUTH, "%s is empty", what);
	if (str_control(key) >= 0)
		return err_set(err, BERTH_EAUTH, "%s holds a control character at byte %td", what,
		    str_control(key) + 1);
	*key_out = key;
	return BERTH_OK;
}
