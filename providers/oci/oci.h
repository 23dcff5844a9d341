/* providers/oci/oci.h - Oracle Cloud Infrastructure: Core Services 20160918.  Floor: providers. */
#ifndef BERTH_PROVIDERS_OCI_H
#define BERTH_PROVIDERS_OCI_H

#include "providers/provider.h"
#include "util/json.h"

extern const struct provider_ops provider_oci;

/* This folder's own. */
struct oci_refresh; /* one walk of prices and shapes: oci_market.c */
struct oci_listing; /* one walk of machines and their cards: oci_list.c */

struct oci {
	const struct prov_env *env;
	const char *tenancy, *user, *fingerprint, *compartment;
	const char *template, *limits,
	    *prices; /* URLs; SERVICE and REGION in the first two stand for themselves */
	const char *const *regions;
	size_t n_regions;
	struct oci_refresh *refresh;
	struct oci_listing *listing;
	size_t quota_region;
};

/* Starts a request to a service of a region; the path begins behind the host, each %s in it must be
 * safe in a URL. */
enum berth_code oci_request(const struct oci *o, struct http_req *req, const char *method,
    const char *service, const char *region, struct berth_err *err, const char *fmt, ...)
    BERTH_PRINTF(7, 8) BERTH_MUST_CHECK;
/* The next page of an answer, "" if there is none: it stands in a header. */
const char *oci_page(const struct http_resp *resp);
/* "&page=..." or "". */
const char *oci_page_arg(struct arena *a, const char *page);

enum berth_code oci_machine(const struct oci *o, const struct jsonr *v, const char *region,
    struct prov_machine *m, struct berth_err *err) BERTH_MUST_CHECK;

extern const struct prov_market_ops oci_market;
void oci_market_close(struct oci *o);
extern const struct prov_lease_ops oci_lease;
enum berth_code oci_list_build(
    void *st, const struct prov_cursor *cur, struct http_req *req, struct berth_err *err);
enum berth_code oci_list_parse(void *st, const struct http_resp *resp, struct prov_cursor *cur,
    prov_machine_fn *emit, void *arg, struct berth_err *err);
void oci_list_close(struct oci *o);
const char *oci_address(const struct oci *o, const char *ref); /* as the last list had it, or "" */

#endif
