#include "config.h"

#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "net/http.h"
#include "util/arena.h"
#include "util/buf.h"
#include "util/str.h"
#include "util/time.h"

#define HTTP_HEADER_BYTES_MAX ((size_t)256 * 1024)

struct http {
	CURL *curl;
	struct http_config conf;
	char *ca_file, *proxy, *user_agent;
};

/* What one hop receives. */
struct http_hop {
	struct http_resp *resp;
	struct buf body;
	size_t header_bytes;
	bool body_over, headers_over;
	char location[4096];
};

/* The parts of a URL that decide where secrets may go. */
struct http_origin { char *scheme, *host, *port, *path; };

/* Bytes with a NUL behind them; there may be NULs inside too. */
static char *
http_bytes_dup(struct arena *a, const char *bytes, size_t n)
{
	char *p = arena_alloc(a, n + 1);

	if (n > 0)
		memcpy(p, bytes, n);
	return p;
}

static char *
http_dup(const char *s)
{
	return s != NULL && s[0] != '\0' ? strdup(s) : NULL;
}

enum berth_code
http_new(const struct http_config *conf, struct http **http_out, struct berth_err *err)
{
	curl_version_info_data *v;
	struct http *h;

	if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
		return err_set(err, BERTH_EFAIL, "http: libcurl cannot start");
	v = curl_version_info(CURLVERSION_NOW);
	if ((v->features & CURL_VERSION_SSL) == 0)
		return err_set(err, BERTH_EFAIL, "http: this libcurl (%s) has no TLS", v->version);
	h = calloc(1, sizeof(*h));
	if (h == NULL || (h->curl = curl_easy_init()) == NULL) {
		free(h);
		return err_set(err, BERTH_ENOMEM, "http: no memory for a client");
	}
	if (conf != NULL)
		h->conf = *conf;
	if (h->conf.timeout_s <= 0)
		h->conf.timeout_s = 60;
	if (h->conf.connect_timeout_s <= 0)
		h->conf.connect_timeout_s = 10;
	if (h->conf.max_bytes == 0)
		h->conf.max_bytes = (size_t)64 * 1024 * 1024;
	if (h->conf.max_redirects <= 0)
		h->conf.max_redirects = 5;
	h->ca_file = http_dup(h->conf.ca_file);
	h->proxy = http_dup(h->conf.proxy);
	h->user_agent = http_dup(h->conf.user_agent != NULL ? h->conf.user_agent : PACKAGE_NAME "/" PACKAGE_VERSION);
	*http_out = h;
	return BERTH_OK;
}

void
http_free(struct http *http)
{
	if (http == NULL)
		return;
	curl_easy_cleanup(http->curl);
	free(http->ca_file);
	free(http->proxy);
	free(http->user_agent);
	free(http);
}

static void
http_origin_free(struct http_origin *o)
{
	curl_free(o->scheme);
	curl_free(o->host);
	curl_free(o->port);
	curl_free(o->path);
	memset(o, 0, sizeof(*o));
}

/* Splits an absolute URL; a name or password inside is refused: credentials belong in headers, not in logs. */
static enum berth_code
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
	return err_set(err, BERTH_EINVAL, "http: not an http or https URL, or one with a password in it");
}

static size_t
http_on_body(char *p, size_t size, size_t n, void *arg)
{
	struct http_hop *hop = arg;

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

	if (colon == NULL || r->n_headers == HTTP_HEADERS_MAX)
		return;
	name = arena_strndup(r->arena, line, (size_t)(colon - line));
	value = str_trim(r->arena, arena_strndup(r->arena, colon + 1, len - (size_t)(colon - line) - 1));
	r->headers[r->n_headers++] = (struct http_header){ name, value, false };
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
	if (size * n > 5 && memcmp(p, "HTTP/", 5) == 0)		/* a new head: 1xx, or the proxy's, came before */
		hop->resp->n_headers = 0;
	else
		http_keep_header(hop, p, size * n);
	return size * n;
}

static void
http_read_times(struct http_resp *r)
{
	const char *date = http_resp_header(r, "Date"), *retry = http_resp_header(r, "Retry-After");
	int64_t s = 0;
	time_t t;

	t = date != NULL ? curl_getdate(date, NULL) : -1;
	r->date = t > 0 ? t : 0;
	if (retry == NULL)
		return;
	if (str_to_i64(retry, 0, 86400, &s, NULL) != BERTH_OK) {
		t = curl_getdate(retry, NULL);
		s = t > 0 ? t - (r->date != 0 ? r->date : time_clock_s()) : 0;
	}
	r->retry_after_s = s > 86400 ? 86400 : s < 0 ? 0 : (int)s;
}

static enum berth_code
http_curl_error(CURLcode cc, const struct http_hop *hop, const struct http_origin *o, const struct http *h,
    int timeout_s, size_t max_bytes, const char *words, struct berth_err *err)
{
	if (hop->body_over && hop->body.code != BERTH_ENOMEM)
		return err_set(err, BERTH_EINVAL, "%s: the answer is over the limit of %zu bytes", o->host, max_bytes);
	if (hop->headers_over)
		return err_set(err, BERTH_EINVAL, "%s: headers over %zu bytes", o->host, HTTP_HEADER_BYTES_MAX);
	if (cc == CURLE_PEER_FAILED_VERIFICATION || cc == CURLE_SSL_CACERT_BADFILE || cc == CURLE_SSL_ISSUER_ERROR)
		return err_set(err, BERTH_EAUTH, "%s: TLS certificate not trusted (%s); set ca_file if its authority is "
		    "your own", o->host, words);
	if (cc == CURLE_OPERATION_TIMEDOUT)
		return err_set(err, BERTH_ETRANSIENT, "%s: no whole answer within %d s (connecting: %d s)", o->host,
		    timeout_s, h->conf.connect_timeout_s);
	if (cc == CURLE_OUT_OF_MEMORY || hop->body_over)
		return err_set(err, BERTH_ENOMEM, "%s: no memory for the answer", o->host);
	if (cc == CURLE_UNSUPPORTED_PROTOCOL || cc == CURLE_URL_MALFORMAT)
		return err_set(err, BERTH_EINVAL, "%s: %s", o->host, words);
	return err_set(err, BERTH_ETRANSIENT, "%s: %s", o->host, words);
}

/* Header lines of a request; those a foreign host must not see are left out. NULL: out of memory. */
static struct curl_slist *
http_header_list(const struct http_req *req, bool foreign)
{
	struct curl_slist *list = curl_slist_append(NULL, "Expect:"), *next;

	for (size_t i = 0; list != NULL && i < req->n_headers; i++) {
		const struct http_header *h = &req->headers[i];

		if (foreign && strcasecmp(h->name, "Accept") != 0 && strcasecmp(h->name, "Accept-Language") != 0)
			continue;
		next = curl_slist_append(list, arena_printf(req->arena, h->value[0] != '\0' ? "%s: %s" : "%s;%s", h->name,
		    h->value));
		if (next == NULL)
			curl_slist_free_all(list);
		list = next;
	}
	return list;
}

static void
http_set_options(struct http *h, const struct http_req *req, const char *url, struct http_hop *hop,
    struct curl_slist *list, long timeout_ms)
{
	CURL *c = h->curl;
	const char *method = req->method != NULL ? req->method : "GET";

	curl_easy_reset(c);		/* keeps connections, sessions and name cache */
	curl_easy_setopt(c, CURLOPT_URL, url);
	curl_easy_setopt(c, CURLOPT_PROTOCOLS_STR, "http,https");
	curl_easy_setopt(c, CURLOPT_FOLLOWLOCATION, 0L);
	curl_easy_setopt(c, CURLOPT_SSL_VERIFYPEER, 1L);
	curl_easy_setopt(c, CURLOPT_SSL_VERIFYHOST, 2L);
	curl_easy_setopt(c, CURLOPT_NETRC, (long)CURL_NETRC_IGNORED);
	curl_easy_setopt(c, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(c, CURLOPT_TIMEOUT_MS, timeout_ms);
	curl_easy_setopt(c, CURLOPT_CONNECTTIMEOUT_MS, (long)h->conf.connect_timeout_s * 1000);
	curl_easy_setopt(c, CURLOPT_ACCEPT_ENCODING, "");
	curl_easy_setopt(c, CURLOPT_USERAGENT, h->user_agent);
	if (h->ca_file != NULL)
		curl_easy_setopt(c, CURLOPT_CAINFO, h->ca_file);
	if (h->proxy != NULL)
		curl_easy_setopt(c, CURLOPT_PROXY, h->proxy);
	curl_easy_setopt(c, CURLOPT_HTTPHEADER, list);
	curl_easy_setopt(c, CURLOPT_WRITEFUNCTION, http_on_body);
	curl_easy_setopt(c, CURLOPT_WRITEDATA, hop);
	curl_easy_setopt(c, CURLOPT_HEADERFUNCTION, http_on_header);
	curl_easy_setopt(c, CURLOPT_HEADERDATA, hop);
	if (str_eq(method, "HEAD"))
		curl_easy_setopt(c, CURLOPT_NOBODY, 1L);
	else if (req->body != NULL || str_eq(method, "POST")) {
		curl_easy_setopt(c, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)req->body_len);
		curl_easy_setopt(c, CURLOPT_POSTFIELDS, req->body != NULL ? req->body : "");
	}
	curl_easy_setopt(c, CURLOPT_CUSTOMREQUEST, method);
}

/* One request and its answer, no redirect followed. */
static enum berth_code
http_hop_run(struct http *h, const struct http_req *req, const char *url, const struct http_origin *o, bool foreign,
    int64_t deadline_ms, struct http_hop *hop, struct berth_err *err)
{
	size_t max = req->max_bytes != 0 ? req->max_bytes : h->conf.max_bytes;
	int timeout_s = req->timeout_s > 0 ? req->timeout_s : h->conf.timeout_s;
	int64_t left_ms = deadline_ms - time_mono_ms();
	char words[CURL_ERROR_SIZE] = "";
	struct curl_slist *list;
	long status = 0;
	CURLcode cc;

	if (left_ms <= 0)
		return err_set(err, BERTH_ETRANSIENT, "%s: no whole answer within %d s", o->host, timeout_s);
	list = http_header_list(req, foreign);
	if (list == NULL)
		return err_set(err, BERTH_ENOMEM, "http: no memory for headers");
	hop->body.cap = max;
	http_set_options(h, req, url, hop, list, (long)left_ms);
	curl_easy_setopt(h->curl, CURLOPT_ERRORBUFFER, words);
	cc = curl_easy_perform(h->curl);
	curl_easy_getinfo(h->curl, CURLINFO_RESPONSE_CODE, &status);
	curl_easy_setopt(h->curl, CURLOPT_ERRORBUFFER, NULL);
	curl_slist_free_all(list);
	if (cc != CURLE_OK)
		return http_curl_error(cc, hop, o, h, timeout_s, max, words[0] != '\0' ? words : curl_easy_strerror(cc),
		    err);
	hop->resp->status = (int)status;
	return BERTH_OK;
}

static bool
http_is_redirect(const struct http_req *req, const struct http_hop *hop)
{
	int s = hop->resp->status;

	if (req->method != NULL && !str_eq(req->method, "GET") && !str_eq(req->method, "HEAD"))
		return false;
	return (s == 301 || s == 302 || s == 303 || s == 307 || s == 308) && hop->location[0] != '\0';
}

/* Absolute URL of a redirect into url_out, and whether it leaves the origin; a step to a weaker scheme is refused. */
static enum berth_code
http_redirect(struct arena *a, const char *url, const char *location, const char **url_out, bool *foreign,
    struct berth_err *err)
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
		rc = err_set(err, BERTH_EPERMANENT, "%s: redirected to something that is neither http nor https, or holds a "
		    "password: refused", from.host);
		goto out;
	}
	if (str_eq(from.scheme, "https") && !str_eq(to.scheme, "https")) {
		rc = err_set(err, BERTH_EPERMANENT, "%s redirects from https to http at %s: refused", from.host, to.host);
		goto out;
	}
	if (strcasecmp(from.host, to.host) != 0 || !str_eq(from.port, to.port) || !str_eq(from.scheme, to.scheme))
		*foreign = true;
	*url_out = arena_strdup(a, abs);
out:
	http_origin_free(&from);
	http_origin_free(&to);
	curl_free(abs);
	curl_url_cleanup(u);
	return rc;
}

static enum berth_code
http_follow(struct http *h, const struct http_req *req, struct http_hop *hop, int64_t deadline_ms,
    struct berth_err *err)
{
	struct http_origin o = { 0 };
	const char *url = req->url;
	bool foreign = false;
	enum berth_code rc;

	for (int hops = 0;; hops++) {
		http_origin_free(&o);
		if ((rc = http_origin_of(url, &o, err)) != BERTH_OK)
			break;
		rc = http_hop_run(h, req, url, &o, foreign, deadline_ms, hop, err);
		if (rc != BERTH_OK || !http_is_redirect(req, hop))
			break;
		if (hops == h->conf.max_redirects) {
			rc = err_set(err, BERTH_EPERMANENT, "%s: more than %d redirects", o.host, hops);
			break;
		}
		if ((rc = http_redirect(req->arena, url, hop->location, &url, &foreign, err)) != BERTH_OK)
			break;
		hop->location[0] = '\0';
		hop->resp->n_headers = 0;
		buf_clear(&hop->body);
	}
	if (rc != BERTH_OK && o.host != NULL)
		err_at(err, "%s://%s%s", o.scheme, o.host, o.path);
	http_origin_free(&o);
	return rc;
}

enum berth_code
http_exchange(struct http *http, const struct http_req *req, struct http_resp *resp, struct berth_err *err)
{
	int timeout_s = req->timeout_s > 0 ? req->timeout_s : http->conf.timeout_s;
	struct http_hop hop = { .resp = resp };
	enum berth_code rc;

	memset(resp, 0, sizeof(*resp));
	resp->arena = req->arena;
	resp->body = "";
	buf_init(&hop.body, http->conf.max_bytes);
	rc = http_follow(http, req, &hop, time_mono_ms() + (int64_t)timeout_s * 1000, err);
	if (rc == BERTH_OK) {
		http_read_times(resp);
		resp->body = http_bytes_dup(req->arena, hop.body.p, hop.body.len);
		resp->body_len = hop.body.len;
	}
	buf_free(&hop.body);
	return rc;
}
