#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "net/http_int.h"
#include "util/arena.h"
#include "util/str.h"

void
http_origin_free(struct http_origin *o)
{
	curl_free(o->scheme);
	curl_free(o->host);
	curl_free(o->port);
	curl_free(o->path);
	memset(o, 0, sizeof(*o));
}

enum berth_code
http_origin_of(const char *url, struct http_origin *o, struct berth_err *err)
{
	char *user = NULL;
	CURLU *u = curl_url();
	bool ok;

	memset(o, 0, sizeof(*o));
	if (u == NULL)
		return err_set(err, BERTH_ENOMEM, "http: no memory for a URL");
	ok = curl_url_set(u, CURLUPART_URL, url, 0) == CURLUE_OK &&
	     curl_url_get(u, CURLUPART_SCHEME, &o->scheme, 0) == CURLUE_OK &&
	     curl_url_get(u, CURLUPART_HOST, &o->host, 0) == CURLUE_OK &&
	     curl_url_get(u, CURLUPART_PORT, &o->port, CURLU_DEFAULT_PORT) == CURLUE_OK &&
	     curl_url_get(u, CURLUPART_PATH, &o->path, 0) == CURLUE_OK &&
	     (str_eq(o->scheme, "https") || str_eq(o->scheme, "http")) &&
	     curl_url_get(u, CURLUPART_USER, &user, 0) == CURLUE_NO_USER;
	curl_free(user);
	curl_url_cleanup(u);
	if (ok)
		return BERTH_OK;
	http_origin_free(o);
	return err_set(
	    err, BERTH_EINVAL, "http: not an http or https URL, or one with a password in it");
}

#define HTTP_SPOOL_STEP                                                                            \
	((size_t)512 * 1024) /* curl brings 16 KiB at a time: that many writes would cost more     \
				than the rest */

/* The file of a spooled body: unlinked at once, so that nothing is left however this ends. */
static FILE *
http_spool_open(const char *dir)
{
	char path[4096];
	FILE *f;
	int fd;

	if (snprintf(path, sizeof(path), "%s/berth-spool-XXXXXX", dir) >= (int)sizeof(path))
		return NULL;
	fd = mkostemp(path, O_CLOEXEC);
	if (fd < 0)
		return NULL;
	(void)unlink(path);
	f = fdopen(fd, "w+");
	if (f == NULL)
		(void)close(fd);
	return f;
}

bool
http_spool_flush(struct http_hop *hop)
{
	bool ok = fwrite(hop->body.p, 1, hop->body.len, hop->file) == hop->body.len;

	if (!ok)
		hop->io_errno = errno;
	buf_clear(&hop->body);
	return ok;
}

static size_t
http_on_spool(struct http_hop *hop, const char *p, size_t n)
{
	if (hop->file == NULL && (hop->file = http_spool_open(hop->spool_dir)) == NULL) {
		hop->io_errno = errno;
		return 0;
	}
	if (hop->spooled + n > hop->max_spool) {
		hop->body_over = true;
		return 0;
	}
	hop->spooled += n;
	if (hop->body.len + n > HTTP_SPOOL_STEP && hop->body.len > 0 && !http_spool_flush(hop))
		return 0;
	return buf_add(&hop->body, p, n) == BERTH_OK ? n : 0;
}

static size_t
http_on_body(char *p, size_t size, size_t n, void *arg)
{
	struct http_hop *hop = arg;
	long status = 0;

	if (hop->spool && (hop->file != NULL || (curl_easy_getinfo(hop->curl,
						     CURLINFO_RESPONSE_CODE, &status) == CURLE_OK &&
						    status / 100 == 2)))
		return http_on_spool(hop, p, size * n);
	if (buf_add(&hop->body, p, size * n) == BERTH_OK)
		return size * n;
	hop->body_over = true;
	return 0;
}

static void
http_keep_header(struct http_hop *hop, const char *line, size_t len)
{
	struct http_resp *r = hop->resp;
	const char *colon = memchr(line, ':', len);
	char *name, *value;

	if (colon == NULL)
		return;
	name = arena_strndup(r->arena, line, (size_t)(colon - line));
	value = str_trim(
	    r->arena, arena_strndup(r->arena, colon + 1, len - (size_t)(colon - line) - 1));
	http_resp_keep(r, name, value);
	if (strcasecmp(name, "Location") == 0)
		str_copy(hop->location, sizeof(hop->location), value);
}

static size_t
http_on_header(char *p, size_t size, size_t n, void *arg)
{
	struct http_hop *hop = arg;

	hop->header_bytes += size * n;
	if (hop->header_bytes > HTTP_HEADER_BYTES_MAX) {
		hop->headers_over = true;
		return 0;
	}
	if (size * n > 5 &&
	    memcmp(p, "HTTP/", 5) == 0) { /* a new head: 1xx, or the proxy's, came before */
		hop->resp->n_headers = 0;
		hop->location[0] = '\0';
	} else {
		http_keep_header(hop, p, size * n);
	}
	return size * n;
}

static enum berth_code
http_timed_out(const struct http_call *c, struct berth_err *err)
{
	curl_off_t connected = 0;

	(void)curl_easy_getinfo(c->curl, CURLINFO_CONNECT_TIME_T, &connected);
	if (strstr(c->hop.words, "too slow") != NULL)
		return err_set(err, BERTH_ETRANSIENT,
		    "%s: less than 1 KiB/s for %d s, the limit of a stalled answer", c->origin.host,
		    c->conf.stall_s);
	if (c->hurried)
		return err_set(err, BERTH_ETRANSIENT,
		    "%s: no whole answer in the time that was left", c->origin.host);
	if (connected == 0 && c->conf.connect_timeout_s < c->timeout_s)
		return err_set(err, BERTH_ETRANSIENT, "%s: no connection within %d s",
		    c->origin.host, c->conf.connect_timeout_s);
	return err_set(err, BERTH_ETRANSIENT,
	    "%s: no whole answer within %d s, the limit of one exchange", c->origin.host,
	    c->timeout_s);
}

enum berth_code
http_hop_error(const struct http_call *c, CURLcode cc, struct berth_err *err)
{
	const char *words = c->hop.words[0] != '\0' ? c->hop.words : curl_easy_strerror(cc),
		   *host = c->origin.host;
	const struct http_hop *hop = &c->hop;

	if (hop->io_errno != 0)
		return err_sys(err, BERTH_EIO, hop->io_errno, "%s: %s", host, hop->spool_dir);
	if (hop->body_over && hop->body.code != BERTH_ENOMEM)
		return err_set(err, BERTH_EINVAL, "%s: the answer is over the limit of %zu bytes",
		    host, hop->file != NULL ? hop->max_spool : hop->body.cap);
	if (hop->headers_over)
		return err_set(
		    err, BERTH_EINVAL, "%s: headers over %zu bytes", host, HTTP_HEADER_BYTES_MAX);
	if (cc == CURLE_SSL_CACERT_BADFILE)
		return err_set(err, BERTH_EAUTH,
		    "%s: ca_file: no certificates of authorities can be read from it (%s)", host,
		    words);
	if (cc == CURLE_PEER_FAILED_VERIFICATION || cc == CURLE_SSL_ISSUER_ERROR)
		return err_set(err, BERTH_EAUTH,
		    "%s: TLS certificate not trusted (%s); set ca_file if its authority is your "
		    "own",
		    host, words);
	if (cc == CURLE_OPERATION_TIMEDOUT)
		return http_timed_out(c, err);
	if (cc == CURLE_OUT_OF_MEMORY || hop->body_over)
		return err_set(err, BERTH_ENOMEM, "%s: no memory for the answer", host);
	/* curl quotes a proxy that it cannot use, password and all */
	if (strchr(words, '@') != NULL || str_starts(words, "Unsupported proxy"))
		return err_set(err, BERTH_EINVAL,
		    "%s: the proxy cannot be used: it must be like http://HOST:PORT", host);
	if (cc == CURLE_UNSUPPORTED_PROTOCOL || cc == CURLE_URL_MALFORMAT)
		return err_set(err, BERTH_EINVAL, "%s: %s", host, words);
	return err_set(err, BERTH_ETRANSIENT, "%s: %s", host, words);
}

/* Header lines of a request; those a foreign host must not see are left out. NULL: out of memory.
 */
static struct curl_slist *
http_header_list(const struct http_req *req, bool foreign)
{
	struct curl_slist *list = curl_slist_append(NULL, "Expect:"), *next;

	for (size_t i = 0; list != NULL && i < req->n_headers; i++) {
		const struct http_header *h = &req->headers[i];

		if (foreign && strcasecmp(h->name, "Accept") != 0 &&
		    strcasecmp(h->name, "Accept-Language") != 0)
			continue;
		next = curl_slist_append(
		    list, arena_printf(req->arena, h->value[0] != '\0' ? "%s: %s" : "%s;%s",
			      h->name, h->value));
		if (next == NULL)
			curl_slist_free_all(list);
		list = next;
	}
	if (list == NULL || req->body != NULL || http_req_get_header(req, "Content-Type") != NULL)
		return list;
	next = curl_slist_append(list, "Content-Type:"); /* nothing has no type: curl would name a
							    form's, which is in no signature */
	if (next == NULL)
		curl_slist_free_all(list);
	return next;
}

static void
http_set_body(CURL *c, const struct http_req *req)
{
	const char *method = req->method != NULL ? req->method : "GET";

	if (str_eq(method, "HEAD"))
		curl_easy_setopt(c, CURLOPT_NOBODY, 1L);
	else if (req->body != NULL || str_eq(method, "POST")) {
		curl_easy_setopt(c, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)req->body_len);
		curl_easy_setopt(c, CURLOPT_POSTFIELDS, req->body != NULL ? req->body : "");
	}
	curl_easy_setopt(c, CURLOPT_CUSTOMREQUEST, method);
}

static void
http_set_pem(CURL *c, CURLoption option, const char *pem)
{
	struct curl_blob blob = { (void *)(uintptr_t)pem, strlen(pem),
		CURL_BLOB_NOCOPY }; /* lives as long as the call */

	curl_easy_setopt(c, option, &blob);
}

/* Whom we trust, and who we are: the latter only where the request was meant to go. */
static void
http_set_trust(CURL *c, const struct http_call *call)
{
	const struct http_config *conf = &call->conf;

	if (conf->ca_pem != NULL)
		http_set_pem(c, CURLOPT_CAINFO_BLOB, conf->ca_pem);
	else if (conf->ca_file != NULL)
		curl_easy_setopt(c, CURLOPT_CAINFO, conf->ca_file);
	if (conf->cert_pem == NULL || conf->key_pem == NULL || call->foreign)
		return;
	http_set_pem(c, CURLOPT_SSLCERT_BLOB, conf->cert_pem);
	http_set_pem(c, CURLOPT_SSLKEY_BLOB, conf->key_pem);
}

static bool
http_is_once(const struct http_req *req)
{
	return !req->idempotent && req->method != NULL && !str_eq(req->method, "GET") &&
	       !str_eq(req->method, "HEAD");
}

enum berth_code
http_hop_set(struct http_call *call, long timeout_ms, struct berth_err *err)
{
	CURL *c = call->curl;

	curl_slist_free_all(call->list);
	call->list = http_header_list(call->req, call->foreign);
	if (call->list == NULL)
		return err_set(err, BERTH_ENOMEM, "http: no memory for headers");
	curl_easy_reset(c); /* keeps sessions and name cache */
	curl_easy_setopt(c, CURLOPT_PRIVATE, call);
	curl_easy_setopt(c, CURLOPT_URL, call->url);
	curl_easy_setopt(c, CURLOPT_PROTOCOLS_STR, "http,https");
	curl_easy_setopt(c, CURLOPT_FOLLOWLOCATION, 0L);
	curl_easy_setopt(c, CURLOPT_SSL_VERIFYPEER, 1L);
	curl_easy_setopt(c, CURLOPT_SSL_VERIFYHOST, 2L);
	curl_easy_setopt(c, CURLOPT_NETRC, (long)CURL_NETRC_IGNORED);
	curl_easy_setopt(c, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(c, CURLOPT_TIMEOUT_MS, timeout_ms);
	curl_easy_setopt(c, CURLOPT_CONNECTTIMEOUT_MS, (long)call->conf.connect_timeout_s * 1000);
	curl_easy_setopt(c, CURLOPT_LOW_SPEED_LIMIT, 1024L);
	curl_easy_setopt(c, CURLOPT_LOW_SPEED_TIME, (long)call->conf.stall_s);
	curl_easy_setopt(c, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_2TLS);
	if (str_eq(call->origin.scheme,
		"https")) /* a connection that may turn out to be HTTP/2 is waited for */
		curl_easy_setopt(c, CURLOPT_PIPEWAIT, 1L);
	/* On a connection that was used before curl sends what had no answer a second time, a POST
	 * too. */
	if (http_is_once(call->req))
		curl_easy_setopt(c, CURLOPT_FRESH_CONNECT, 1L);
	curl_easy_setopt(c, CURLOPT_ACCEPT_ENCODING, "");
	curl_easy_setopt(c, CURLOPT_USERAGENT, call->conf.user_agent);
	if (call->hop.spool)
		curl_easy_setopt(c, CURLOPT_BUFFERSIZE, 256L * 1024);
	http_set_trust(c, call);
	if (call->conf.proxy != NULL)
		curl_easy_setopt(c, CURLOPT_PROXY, call->conf.proxy);
	curl_easy_setopt(c, CURLOPT_HTTPHEADER, call->list);
	curl_easy_setopt(c, CURLOPT_WRITEFUNCTION, http_on_body);
	curl_easy_setopt(c, CURLOPT_WRITEDATA, &call->hop);
	curl_easy_setopt(c, CURLOPT_HEADERFUNCTION, http_on_header);
	curl_easy_setopt(c, CURLOPT_HEADERDATA, &call->hop);
	curl_easy_setopt(c, CURLOPT_ERRORBUFFER, call->hop.words);
	http_set_body(c, call->req);
	return BERTH_OK;
}

bool
http_is_redirect(const struct http_req *req, const struct http_hop *hop)
{
	int s = hop->resp->status;

	if (req->method != NULL && !str_eq(req->method, "GET") && !str_eq(req->method, "HEAD"))
		return false;
	return (s == 301 || s == 302 || s == 303 || s == 307 || s == 308) &&
	       hop->location[0] != '\0';
}

enum berth_code
http_redirect(struct arena *a, const char *url, const char *location, const char **url_out,
    bool *foreign, struct berth_err *err)
{
	struct http_origin from = { 0 }, to = { 0 };
	char *abs = NULL;
	CURLU *u = curl_url();
	enum berth_code rc;

	if (u == NULL || curl_url_set(u, CURLUPART_URL, url, 0) != CURLUE_OK ||
	    curl_url_set(u, CURLUPART_URL, location, 0) != CURLUE_OK ||
	    curl_url_get(u, CURLUPART_URL, &abs, 0) != CURLUE_OK) {
		rc = err_set(err, BERTH_EPERMANENT, "http: redirected to something that is no URL");
		goto out;
	}
	if ((rc = http_origin_of(url, &from, err)) != BERTH_OK)
		goto out;
	if ((rc = http_origin_of(abs, &to, err)) != BERTH_OK) {
		rc = err_set(err, BERTH_EPERMANENT,
		    "%s: redirected to something that is neither http nor https, or holds a "
		    "password: refused",
		    from.host);
		goto out;
	}
	if (str_eq(from.scheme, "https") && !str_eq(to.scheme, "https")) {
		rc = err_set(err, BERTH_EPERMANENT,
		    "%s redirects from https to http at %s: refused", from.host, to.host);
		goto out;
	}
	if (strcasecmp(from.host, to.host) != 0 || !str_eq(from.port, to.port) ||
	    !str_eq(from.scheme, to.scheme))
		*foreign = true;
	*url_out = arena_strdup(a, abs);
out:
	http_origin_free(&from);
	http_origin_free(&to);
	curl_free(abs);
	curl_url_cleanup(u);
	return rc;
}
