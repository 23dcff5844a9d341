/* src/net/http_tape.h - exchanges written down without their secrets, and played again.  Floor:
 * net. */
#ifndef BERTH_NET_HTTP_TAPE_H
#define BERTH_NET_HTTP_TAPE_H

#include <stdbool.h>

#include "net/http.h"
#include "util/err.h"

/*
 * One line of JSON an exchange ("berth.exchange/1"): account, method, url, body, status, headers
 * and body of the answer. Taken out before anything is written: headers marked secret and those
 * that carry credentials; values of query and form fields, JSON members, XML elements and answer
 * headers whose names tell of a token, secret, key, password, signature or credential (but not of
 * paging or idempotency tokens) or of what a machine is to run (a start script, a container's
 * command and arguments); values of JSON pairs of a name and a value so named; and what secret
 * headers and fields of the request hold, wherever else it stands. A body that is no UTF-8 is kept
 * as base64, one over 32 MiB is not kept. The file is its owner's alone.
 */
struct http_tape;

/* Opens a file to append to, or one to play. */
BERTH_MUST_CHECK enum berth_code http_tape_record(
    const char *path, struct http_tape **tape_out, struct berth_err *err);
BERTH_MUST_CHECK enum berth_code http_tape_replay(
    const char *path, struct http_tape **tape_out, struct berth_err *err);
void http_tape_free(struct http_tape *tape);        /* NULL is allowed */
bool http_tape_plays(const struct http_tape *tape); /* false: NULL, or it records */

/* Writes one exchange down. BERTH_EIO. resp->file is read whole and set back to its start. */
BERTH_MUST_CHECK enum berth_code http_tape_put(struct http_tape *tape, const char *account,
    const struct http_req *req, const struct http_resp *resp, struct berth_err *err);
/*
 * The next recorded answer to a request of this account: the first one unused with the same method,
 * URL and body, else with the same method and URL up to the query; else the last one used of those.
 * BERTH_ENOTFOUND: there is none.
 */
BERTH_MUST_CHECK enum berth_code http_tape_get(struct http_tape *tape, const char *account,
    const struct http_req *req, struct http_resp *resp, struct berth_err *err);

/* text [n] of a URL, form, JSON or XML with what is secret replaced; in the arena. secrets
 * [n_secrets] may be empty. */
const char *http_tape_scrub(
    struct arena *a, const char *text, size_t n, const char *const *secrets, size_t n_secrets);
/* The words of an answer to req, which may be cut: without the secrets that req carries, for
 * messages. In req's arena. */
const char *http_tape_scrub_words(const struct http_req *req, const char *text);

#endif
