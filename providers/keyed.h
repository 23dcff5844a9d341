/* providers/keyed.h - small clouds with one key and JSON bodies.  Floor: providers. */
#ifndef BERTH_PROVIDERS_KEYED_H
#define BERTH_PROVIDERS_KEYED_H

#include "providers/provider.h"
#include "util/buf.h"
#include "util/json.h"

/*
 * Starts a request to base/path with the account's `api_key` as its bearer; each %s of the path
 * must be safe in a URL.
 */
enum berth_code keyed_request(const struct prov_env *env, struct http_req *req, const char *method,
    const char *base, struct berth_err *err, const char *fmt, ...)
    BERTH_PRINTF(6, 7) BERTH_MUST_CHECK;
/* Ends the text and makes it the request's body; the buffer is freed in any case. */
enum berth_code keyed_body(
    struct http_req *req, struct buf *b, struct jsonw *w, struct berth_err *err) BERTH_MUST_CHECK;

#define KEYED_BODY_MAX 262144

#endif
