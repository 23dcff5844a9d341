/* src/net/http_int.h - the client from inside.  Floor: net; http.c, http_hop.c and
 * http_run.c only.
 */
#ifndef BERTH_NET_HTTP_INT_H
#define BERTH_NET_HTTP_INT_H

#include "net/curl_load.h"
#include "net/http.h"
#include "util/buf.h"

#define HTTP_HEADER_BYTES_MAX ((size_t)256 * 1024)
#define HTTP_REFUSAL_MAX                                                                           \
	((size_t)1024 * 1024) /* what is read of a refusal to a spooled request                    \
			       */

/* What one hop receives. */
struct http_hop {
	struct http_resp *resp;
	CURL *curl;
	struct buf body;
	bool spool; /* this request's body goes to a file if it is 2xx */
	FILE *file;
	size_t spooled, max_spool;
	const char *spool_dir;
	int io_errno; /* the file cannot be written */
	size_t header_bytes;
	bool body_over, headers_over;
	char location[4096];
	char words[CURL_ERROR_SIZE];
};

/* The parts of a URL that decide where secrets may go. */
struct http_origin {
	char *scheme, *host, *port, *path;
};

/* One exchange under way. */
struct http_call {
	struct http *http;
	struct http_call *next;
	CURL *curl;
	const struct http_req *req;
	struct http_config conf; /* every field set but ca_file and proxy */
	int timeout_s;
	int64_t deadline_ms; /* of all its hops */
	bool hurried;        /* the deadline is the caller's, not its own limit */
	const char *url;
	struct http_origin origin;
	bool foreign; /* has left the first origin */
	int hops;
	struct http_hop hop;
	struct curl_slist *list;
	http_done_fn *done;
	void *arg;
};

struct http {
	CURLM *multi; /* NULL: nothing was asked yet */
	struct http_config conf;
	char *ca_file, *proxy, *user_agent;
	struct http_call *calls;
	CURL *idle[16]; /* handles that wait for the next exchange */
	size_t n_idle;
};

/* Before the first exchange of a client. */
BERTH_MUST_CHECK enum berth_code http_start(struct http *http, struct berth_err *err);
/* date and retry_after_s from the headers. */
void http_read_times(struct http_resp *r);

/* http_hop.c: one request on a curl handle. */
/* What was received goes to the file; false: io_errno says why not. */
bool http_spool_flush(struct http_hop *hop);
void http_origin_free(struct http_origin *o);
/* Splits an absolute URL; a name or password inside is refused: credentials belong in headers, not
 * in logs. */
BERTH_MUST_CHECK enum berth_code http_origin_of(
    const char *url, struct http_origin *o, struct berth_err *err);
/* Sets the handle up for the call's present url. */
BERTH_MUST_CHECK enum berth_code http_hop_set(
    struct http_call *c, long timeout_ms, struct berth_err *err);
enum berth_code http_hop_error(const struct http_call *c, CURLcode cc, struct berth_err *err);
bool http_is_redirect(const struct http_req *req, const struct http_hop *hop);
/* Absolute URL of a redirect into url_out, and whether it leaves the origin; a step to a weaker
 * scheme is refused. */
BERTH_MUST_CHECK enum berth_code http_redirect(struct arena *a, const char *url,
    const char *location, const char **url_out, bool *foreign, struct berth_err *err);

#endif
