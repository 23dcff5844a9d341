/* providers/wirejson.h - JSON answers of clouds on the wire.  Floor: providers. */
#ifndef BERTH_PROVIDERS_WIREJSON_H
#define BERTH_PROVIDERS_WIREJSON_H

#include "net/http.h"
#include "util/arena.h"
#include "util/json.h"

struct buf;
struct jsonw;
struct prov_error;

/*
 * The answer as a tree, the caller's to json_decref(). What is no JSON at all (a sign-in page,
 * nothing) is BERTH_ETRANSIENT "not JSON (text/html)": a proxy or a front door spoke, and may not
 * next time. JSON that is broken is BERTH_EINVAL.
 */
BERTH_MUST_CHECK enum berth_code wirejson_parse(
    const struct http_resp *resp, json_t **root_out, struct berth_err *err);
/* A string of the tree into its place; what does not fit is BERTH_EINVAL, for half an id is another
 * id. */
BERTH_MUST_CHECK enum berth_code wirejson_field(
    const struct jsonr *o, const char *key, char *dst, size_t size, struct berth_err *err);

/*
 * Ends the text that w writes into b, makes it the JSON body of the request and frees b, also on
 * failure. Errors: those of jsonw_finish() and http_req_body().
 */
BERTH_MUST_CHECK enum berth_code wirejson_body(
    struct jsonw *w, struct buf *b, struct http_req *req, struct berth_err *err);
/*
 * For error_read: the code under this key and the text under "message" of a refusal, both "" where
 * it is no JSON object with them. False: the answer is no refusal.
 */
bool wirejson_refusal(
    const struct http_resp *resp, const char *code_key, struct prov_error *error_out);

/* RFC 4648, 4: how clouds want user data. */
const char *wirejson_base64(struct arena *a, const char *s);

#endif
