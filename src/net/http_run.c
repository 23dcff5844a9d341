/* Many exchanges in one loop. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "net/http_int.h"
#include "util/arena.h"
#include "util/str.h"
#include "util/time.h"

#define HTTP_SPOOL_TIMEOUT_S 900

void
http_read_times(struct http_resp *r)
{
	const char *date = http_resp_header(r, "Date"), *retry = http_resp_header(r, "Retry-After");
	int64_t s = 0;
	time_t t;

	r->date = 0;
	if ((date == NULL && retry == NULL) || curl_load(NULL) != BERTH_OK)
		return;
	t = date != NULL ? curl_getdate(date, NULL) : -1;
	if (t > 0)
		r->date = t;
	if (retry == NULL)
		return;
	if (retry[0] != '\0' && strspn(retry, "0123456789") == strlen(retry)) {
		if (str_to_i64(retry, 0, 86400, &s, NULL) != BERTH_OK)
			s = 86400; /* years, or more than a number holds: not at once, at any rate
				    */
	} else {
		t = curl_getdate(retry, NULL);
		s = t > 0 ? t - (r->date != 0 ? r->date : time_clock_s()) : 0;
	}
	r->retry_after_s = s > 86400 ? 86400 : s < 0 ? 0 : (int)s;
}

/* The call's limits: its own, where it has none the client's. */
static struct http_config
http_limits(const struct http *h, const struct http_config *own)
{
	struct http_config c = h->conf;

	if (own == NULL)
		return c;
	c.timeout_s = own->timeout_s > 0 ? own->timeout_s : c.timeout_s;
	c.connect_timeout_s =
	    own->connect_timeout_s > 0 ? own->connect_timeout_s : c.connect_timeout_s;
	c.stall_s = own->stall_s > 0 ? own->stall_s : c.stall_s;
	c.max_bytes = own->max_bytes > 0 ? own->max_bytes : c.max_bytes;
	c.max_spool = own->max_spool > 0 ? own->max_spool : c.max_spool;
	c.max_redirects = own->max_redirects > 0 ? own->max_redirects : c.max_redirects;
	c.ca_file = own->ca_file != NULL ? own->ca_file : c.ca_file;
	c.ca_pem = own->ca_file != NULL || own->ca_pem != NULL ? own->ca_pem : c.ca_pem;
	c.cert_pem = own->cert_pem;
	c.key_pem = own->key_pem;
	c.proxy = own->proxy != NULL ? own->proxy : c.proxy;
	c.user_agent = own->user_agent != NULL ? own->user_agent : c.user_agent;
	c.spool_dir = own->spool_dir != NULL ? own->spool_dir : c.spool_dir;
	return c;
}

static void
http_call_free(struct http_call *c)
{
	struct http *h = c->http;

	for (struct http_call **at = &h->calls; *at != NULL; at = &(*at)->next)
		if (*at == c) {
			*at = c->next;
			break;
		}
	if (c->curl != NULL && h->n_idle < sizeof(h->idle) / sizeof(h->idle[0])) {
		curl_easy_reset(c->curl);
		h->idle[h->n_idle++] = c->curl;
	} else {
		curl_easy_cleanup(c->curl);
	}
	curl_slist_free_all(c->list);
	http_origin_free(&c->origin);
	buf_free(&c->hop.body);
	if (c->hop.file != NULL)
		(void)fclose(c->hop.file);
	free(c);
}

/* The call's present url goes on its way. */
static enum berth_code
http_hop_start(struct http_call *c, struct berth_err *err)
{
	int64_t left_ms = c->deadline_ms - time_mono_ms();
	enum berth_code rc;

	http_origin_free(&c->origin);
	if ((rc = http_origin_of(c->url, &c->origin, err)) != BERTH_OK)
		return rc;
	if (left_ms <= 0)
		return err_set(err, BERTH_ETRANSIENT,
		    c->hurried ? "%s: no time left"
			       : "%s: no whole answer within the limit of one exchange",
		    c->origin.host);
	if ((rc = http_hop_set(c, (long)left_ms, err)) != BERTH_OK)
		return rc;
	if (curl_multi_add_handle(c->http->multi, c->curl) != CURLM_OK)
		return err_set(err, BERTH_ENOMEM, "http: no memory for an exchange");
	return BERTH_OK;
}

static enum berth_code
http_follow(struct http_call *c, struct berth_err *err)
{
	struct http_hop *hop = &c->hop;
	enum berth_code rc;

	if (c->hops++ == c->conf.max_redirects)
		return err_set(err, BERTH_EPERMANENT, "%s: more than %d redirects", c->origin.host,
		    c->conf.max_redirects);
	rc = http_redirect(c->req->arena, c->url, hop->location, &c->url, &c->foreign, err);
	if (rc != BERTH_OK)
		return rc;
	hop->location[0] = '\0';
	hop->resp->n_headers = 0;
	buf_clear(&hop->body);
	return http_hop_start(c, err);
}

static enum berth_code
http_whole(struct http_call *c, struct berth_err *err)
{
	struct http_hop *hop = &c->hop;
	struct http_resp *resp = hop->resp;

	http_read_times(resp);
	if (hop->file != NULL && ((hop->body.len > 0 && !http_spool_flush(hop)) ||
				     fflush(hop->file) != 0 || fseeko(hop->file, 0, SEEK_SET) != 0))
		return err_set(err, BERTH_EIO, "%s: the answer cannot be kept in %s",
		    c->origin.host, hop->spool_dir);
	if (hop->spool && hop->file == NULL && resp->status / 100 == 2 &&
	    (hop->file = http_spool_bytes("", 0)) == NULL)
		return err_set(err, BERTH_ENOMEM, "%s: no memory", c->origin.host);
	resp->file = hop->file;
	hop->file = NULL;
	if (hop->body.len == 0)
		return BERTH_OK;
	resp->body = arena_memdup(resp->arena, hop->body.p, hop->body.len + 1);
	resp->body_len = hop->body.len;
	return BERTH_OK;
}

/* Where it failed: scheme://host/path, with the port where it is not the scheme's own. */
static void
http_blame(const struct http_origin *o, struct berth_err *err)
{
	bool own = o->port == NULL || str_eq(o->port, str_eq(o->scheme, "https") ? "443" : "80");

	err_at(
	    err, "%s://%s%s%s%s", o->scheme, o->host, own ? "" : ":", own ? "" : o->port, o->path);
}

/* One hop has ended: the next one, or the end of the call. True: it has ended. */
static bool
http_hop_done(struct http_call *c, CURLcode cc)
{
	struct berth_err err = { 0 };
	enum berth_code rc;
	long status = 0;

	(void)curl_easy_getinfo(c->curl, CURLINFO_RESPONSE_CODE, &status);
	(void)curl_multi_remove_handle(c->http->multi, c->curl);
	c->hop.resp->status = (int)status;
	if (cc != CURLE_OK) {
		rc = http_hop_error(c, cc, &err);
	} else if (http_is_redirect(c->req, &c->hop)) {
		rc = http_follow(c, &err);
		if (rc == BERTH_OK)
			return false;
	} else {
		rc = http_whole(c, &err);
	}
	if (rc != BERTH_OK && c->origin.host != NULL)
		http_blame(&c->origin, &err);
	c->done(c->arg, rc, &err);
	http_call_free(c);
	return true;
}

int
http_limit_s(const struct http *http, const struct http_config *conf, const struct http_req *req)
{
	const bool said = req->timeout_s > 0 || (conf != NULL && conf->timeout_s > 0);
	const int s = req->timeout_s > 0 ? req->timeout_s : http_limits(http, conf).timeout_s;

	/* A list of hundreds of MiB takes its time, unless the caller has said how much. */
	return req->spool && !said && s < HTTP_SPOOL_TIMEOUT_S ? HTTP_SPOOL_TIMEOUT_S : s;
}

enum berth_code
http_begin(struct http *http, const struct http_config *conf, const struct http_req *req,
    struct http_resp *resp, int64_t deadline_ms, http_done_fn *done, void *arg,
    struct berth_err *err)
{
	enum berth_code rc = http_start(http, err);
	struct http_call *c;

	memset(resp, 0, sizeof(*resp));
	resp->arena = req->arena;
	resp->body = "";
	if (rc != BERTH_OK)
		return rc;
	c = calloc(1, sizeof(*c));
	if (c == NULL)
		return err_set(err, BERTH_ENOMEM, "http: no memory for an exchange");
	*c = (struct http_call){ .http = http,
		.req = req,
		.conf = http_limits(http, conf),
		.url = req->url,
		.done = done,
		.arg = arg,
		.hop = { .resp = resp, .spool = req->spool } };
	c->timeout_s = http_limit_s(http, conf, req);
	c->deadline_ms = time_mono_ms() + (int64_t)c->timeout_s * 1000;
	if (deadline_ms != 0 && deadline_ms < c->deadline_ms) {
		c->deadline_ms = deadline_ms;
		c->hurried = true;
	}
	c->hop.max_spool = req->spool && req->max_bytes > 0 ? req->max_bytes : c->conf.max_spool;
	c->hop.spool_dir = c->conf.spool_dir;
	buf_init(&c->hop.body, req->spool           ? HTTP_REFUSAL_MAX
			       : req->max_bytes > 0 ? req->max_bytes
						    : c->conf.max_bytes);
	c->curl = c->hop.curl = http->n_idle > 0 ? http->idle[--http->n_idle] : curl_easy_init();
	rc = c->curl != NULL ? http_hop_start(c, err)
			     : err_set(err, BERTH_ENOMEM, "http: no memory for an exchange");
	if (rc == BERTH_OK) {
		c->next = http->calls;
		http->calls = c;
		return BERTH_OK;
	}
	http_call_free(c);
	return rc;
}

/* How many calls have ended. */
static size_t
http_reap(struct http *h)
{
	size_t ended = 0;
	CURLMsg *m;
	int left;

	while ((m = curl_multi_info_read(h->multi, &left)) != NULL) {
		char *private = NULL;

		if (m->msg != CURLMSG_DONE)
			continue;
		(void)curl_easy_getinfo(m->easy_handle, CURLINFO_PRIVATE, &private);
		ended += http_hop_done((struct http_call *)(void *)private, m->data.result);
	}
	return ended;
}

enum berth_code
http_pump(struct http *http, int64_t until_ms, struct berth_err *err)
{
	enum berth_code rc = http_start(http, err);

	if (rc != BERTH_OK)
		return rc;
	for (;;) {
		int64_t left_ms;
		int running;

		if (curl_multi_perform(http->multi, &running) != CURLM_OK)
			return err_set(err, BERTH_EFAIL, "http: libcurl's loop failed");
		if (http_reap(http) > 0)
			return BERTH_OK;
		left_ms = until_ms - time_mono_ms();
		if (left_ms <= 0)
			return BERTH_OK;
		if (curl_multi_poll(http->multi, NULL, 0, left_ms < 1000 ? (int)left_ms : 1000,
			NULL) != CURLM_OK)
			return err_set(err, BERTH_EFAIL, "http: libcurl cannot wait");
	}
}

struct http_one {
	bool ended;
	enum berth_code rc;
	struct berth_err *err;
};

static void
http_one_done(void *arg, enum berth_code rc, const struct berth_err *err)
{
	struct http_one *one = arg;

	one->ended = true;
	one->rc = rc;
	if (rc != BERTH_OK && one->err != NULL)
		*one->err = *err;
}

enum berth_code
http_exchange(
    struct http *http, const struct http_req *req, struct http_resp *resp, struct berth_err *err)
{
	struct http_one one = { .err = err };
	enum berth_code rc = http_begin(http, NULL, req, resp, 0, http_one_done, &one, err);

	while (rc == BERTH_OK && !one.ended)
		rc = http_pump(http, time_mono_ms() + 1000, err);
	return rc == BERTH_OK ? one.rc : rc;
}

FILE *
http_spool_bytes(const char *bytes, size_t n)
{
	FILE *f = tmpfile();

	if (f == NULL)
		return NULL;
	if ((n == 0 || fwrite(bytes, 1, n, f) == n) && fflush(f) == 0 &&
	    fseeko(f, 0, SEEK_SET) == 0)
		return f;
	(void)fclose(f);
	return NULL;
}
