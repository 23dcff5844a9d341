/* src/net/http.h - one HTTP request, one answer, and the client that carries them.  Floor: net. */
#ifndef BERTH_NET_HTTP_H
#define BERTH_NET_HTTP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "util/err.h"

struct arena;
struct http;

#define HTTP_HEADERS_MAX 32

struct http_header {
	const char *name;
	const char *value;
	bool secret; /* never logged or recorded; dropped at a redirect to another host */
};

/*
 * What a build function fills. Strings and bytes live in arena (the core's, per call), so that a
 * builder needs no memory of its own. A zeroed request with arena set is a valid start: GET, no
 * header, no body.
 */
struct http_req {
	struct arena *arena;
	const char *method; /* NULL: "GET" */
	const char *url;    /* absolute, http or https; in-process clouds use "NAME://PATH" */
	struct http_header headers[HTTP_HEADERS_MAX];
	size_t n_headers;
	const char *body; /* NULL: none; a NUL stands behind the last byte */
	size_t body_len;
	size_t max_bytes; /* of the answer's body; 0: the client's limit */
	int timeout_s;    /* whole exchange; 0: the client's limit */
	bool idempotent; /* sending it twice does no harm: the core may retry; else, but for GET and
			    HEAD, it goes out once */
	bool any_status; /* its parse gets refusals too, once they may not be repeated */
	bool spool;      /* a 2xx body goes to an unlinked file instead of memory (resp->file) */
	/*
	 * NULL: never cached. Else the answer to this GET may come from the cache on disk while it
	 * is younger than cache_ttl_s, and is asked for with its ETag or Last-Modified after that.
	 * The key stands for the URL without what changes by itself (signature, time); two accounts
	 * that see different things need different keys.
	 */
	const char *cache_key;
	int cache_ttl_s;
};

/* An answer of any status. Lives in the request's arena. */
struct http_resp {
	struct arena *arena;
	int status;
	struct http_header headers[HTTP_HEADERS_MAX]; /* of the last hop; see http_resp_keep() */
	size_t n_headers;
	const char *body; /* never NULL; a NUL stands behind the last byte; "" if spooled */
	size_t body_len;
	FILE *file; /* of a spooled body, at its start; the core closes it after parse; else NULL */
	int64_t cached; /* when the answer was fetched, s since epoch, if it comes from the cache;
			   else 0 */
	int retry_after_s; /* from Retry-After, seconds or date; 0: not said */
	int64_t date;      /* from Date, s since epoch; 0: not said */
};

/* Limits and trust of a client, or of one exchange. Zero or NULL: the default in brackets. */
struct http_config {
	int timeout_s;         /* a whole exchange [60; 900 for a spooled one] */
	int connect_timeout_s; /* [10] */
	int stall_s;           /* so long under 1 KiB/s ends an exchange that still runs [30] */
	size_t max_bytes;      /* of a body after decompression [64 MiB] */
	size_t max_spool;      /* of a spooled one [4 GiB] */
	int max_redirects;     /* [5] */
	const char *ca_file;   /* PEM instead of the system's authorities */
	/* Texts, borrowed as long as the client or the exchange lives. */
	const char *ca_pem; /* authorities; goes before ca_file */
	const char *cert_pem,
	    *key_pem; /* our own certificate and its key; never shown to another origin */
	const char *proxy;
	const char *user_agent; /* ["berth/VERSION"] */
	const char *spool_dir;  /* [$TMPDIR, else /tmp] */
};

/* Sets url from a format; each %s must already be safe in a URL (http_urlencode). */
void http_req_url(struct http_req *req, const char *fmt, ...) BERTH_PRINTF(2, 3);
/*
 * Adds a header; name and value are copied. CR or LF inside, or more than HTTP_HEADERS_MAX:
 * BERTH_EINVAL.
 */
BERTH_MUST_CHECK enum berth_code http_req_header(
    struct http_req *req, const char *name, const char *value, bool secret, struct berth_err *err);
/* The same in place of a header of that name (any case), or added where there is none: for signers.
 */
BERTH_MUST_CHECK enum berth_code http_req_set_header(
    struct http_req *req, const char *name, const char *value, bool secret, struct berth_err *err);
/* Sets body (copied) and Content-Type. */
BERTH_MUST_CHECK enum berth_code http_req_body(struct http_req *req, const char *content_type,
    const char *body, size_t len, struct berth_err *err);
/* Value of a header, name compared without case; NULL if absent. */
const char *http_req_get_header(const struct http_req *req, const char *name);
const char *http_resp_header(const struct http_resp *resp, const char *name);
/*
 * Keeps a header (borrowed, in resp's arena). Of more than HTTP_HEADERS_MAX those that berth reads
 * (Date, Retry-After, tags, pages, tokens) are kept wherever they stand: the last of the others
 * makes way.
 */
void http_resp_keep(struct http_resp *resp, const char *name, const char *value);
/* Percent-encodes all but A-Z a-z 0-9 - . _ ~ (RFC 3986, 2.3). */
const char *http_urlencode(struct arena *arena, const char *s);

/*
 * A client: one connection pool and one loop over all its exchanges, for one thread. HTTP/2 where
 * the server offers it; connections are kept and shared by hosts. TLS certificates and host names
 * are always verified, there is no option to turn that off. Errors: BERTH_ENOMEM, BERTH_EFAIL if
 * curl has no TLS.
 */
BERTH_MUST_CHECK enum berth_code http_new(
    const struct http_config *conf, struct http **http_out, struct berth_err *err);
void http_free(
    struct http *http); /* NULL is allowed; what is under way is given up without a word */

/*
 * Sends req and reads the whole answer into resp (in req->arena). Any HTTP status is BERTH_OK: the
 * caller classifies. Redirects (301 302 303 307 308) are followed for GET and HEAD only and at
 * most max_redirects times, by hand: a step from https to http is refused (BERTH_EPERMANENT, both
 * hosts named); at a step to another host, port or scheme every header marked secret and
 * Authorization, Cookie and Proxy-Authorization are dropped, and a query is never carried over.
 * Errors: BERTH_ETRANSIENT for name resolution, connection, time-out (the message says which
 * limit) and a cut answer; BERTH_EAUTH for a certificate that does not verify; BERTH_EINVAL for a
 * bad URL or an answer over its size limit; BERTH_EIO where a spooled body cannot be written.
 * err->where is scheme://host/path without query. Other exchanges of the client go on meanwhile.
 */
BERTH_MUST_CHECK enum berth_code http_exchange(
    struct http *http, const struct http_req *req, struct http_resp *resp, struct berth_err *err);

/*
 * The same for many at once. http_begin() only starts: req and resp must live, and conf's strings
 * too (NULL: the client's), until done is called, from http_pump(). deadline_ms (time_mono_ms(); 0:
 * none) ends it whatever its own limit. done may begin another.
 */
typedef void http_done_fn(void *arg, enum berth_code rc, const struct berth_err *err);
BERTH_MUST_CHECK enum berth_code http_begin(struct http *http, const struct http_config *conf,
    const struct http_req *req, struct http_resp *resp, int64_t deadline_ms, http_done_fn *done,
    void *arg, struct berth_err *err);
/* Seconds that one such exchange may take. */
int http_limit_s(
    const struct http *http, const struct http_config *conf, const struct http_req *req);
/* Lets exchanges run until at least one has ended, or it is until_ms (time_mono_ms()). Nothing
 * under way: waits. */
BERTH_MUST_CHECK enum berth_code http_pump(
    struct http *http, int64_t until_ms, struct berth_err *err);

void http_cancel(struct http *http); /* gives up all that is under way; no done is called */

/* bytes [n] as a spooled body, for answers that were never on the wire. NULL: no memory. */
FILE *http_spool_bytes(const char *bytes, size_t n);

#endif
