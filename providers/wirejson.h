/* providers/wirejson.h - JSON answers of clouds on the wire.  Floor: providers. */
#ifndef BERTH_PROVIDERS_WIREJSON_H
#define BERTH_PROVIDERS_WIREJSON_H

#include "net/http.h"
#include "util/arena.h"
#include "util/json.h"

/*
 * The answer as a tree, the caller's to json_decref(). What is no JSON at all (a sign-in page, nothing) is
 * BERTH_ETRANSIENT "not JSON (text/html)": a proxy or a front door spoke, and may not next time. JSON that is broken
 * is BERTH_EINVAL.
 */
BERTH_MUST_CHECK enum berth_code wirejson_parse(const struct http_resp *resp, json_t **root_out, struct berth_err *err);
/* A string of the tree into its place; what does not fit is BERTH_EINVAL, for half an id is another id. */
BERTH_MUST_CHECK enum berth_code wirejson_field(const struct jsonr *o, const char *key, char *dst, size_t size,
    struct berth_err *err);

/* RFC 4648, 4: how clouds want user data. */
const char *wirejson_base64(struct arena *a, const char *s);

#endif
