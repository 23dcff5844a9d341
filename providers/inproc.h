/* providers/inproc.h - what clouds that live in this process say on their inner wire.  Floor:
 * providers. */
#ifndef BERTH_PROVIDERS_INPROC_H
#define BERTH_PROVIDERS_INPROC_H

#include "providers/provider.h"
#include "util/json.h"

/* {"id", "state", "tags": {"token", "installation"}, ...}: every field of struct prov_machine. */
void inproc_machine_write(struct jsonw *w, const char *key, const struct prov_machine *m);
BERTH_MUST_CHECK enum berth_code inproc_machine_read(
    const struct jsonr *o, struct prov_machine *out, struct berth_err *err);
/* An answer {"machine": {...}}. */
BERTH_MUST_CHECK enum berth_code inproc_one_read(
    const struct http_resp *resp, struct prov_machine *out, struct berth_err *err);
/* An answer {"machines": [...]}: emit is called for each. */
BERTH_MUST_CHECK enum berth_code inproc_list_read(
    const struct http_resp *resp, prov_machine_fn *emit, void *arg, struct berth_err *err);

/* Refusals: {"error": {"code", "message"}}, with the table that gives each code its meaning. */
void inproc_error_write(struct jsonw *w, const char *code, const char *message);
bool inproc_error_read(const struct http_resp *resp, struct prov_error *error_out);
extern const struct prov_error_row inproc_errors[];

/* Method and NAME://path. Always BERTH_OK: the last word of a build function. */
enum berth_code inproc_request(
    struct http_req *req, const char *name, const char *method, const char *path);

#endif
