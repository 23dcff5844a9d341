/* providers/gcp/gcp.h - Google Cloud: Compute v1, Cloud Billing v1, TPU v2.  Floor: providers. */
#ifndef BERTH_PROVIDERS_GCP_H
#define BERTH_PROVIDERS_GCP_H

#include "providers/bearer.h"
#include "providers/provider.h"
#include "util/json.h"

struct buf;

extern const struct provider_ops provider_gcp;

/* This folder's own. */
struct gcp_refresh; /* what one walk of the price lists has gathered so far: gcp_market.c */

struct gcp {
	const struct prov_env *env;
	const char *project;
	const char *compute, *billing, *tpu_api, *resources, *quotas,
	    *metadata; /* base URLs without a slash at their end */
	const char *const *tpu_zones;
	size_t n_tpu_zones;
	struct bearer bearer;
	struct gcp_refresh *refresh;
	char listing; /* which page of the list of machines is on its way */
	size_t listing_zone;
	char quota_page;       /* and of the list of quotas */
	bool asking_why, more; /* of a status: the machine is not there, its operations say why */
};

/*
 * Starts a request; the path may hold %s, each already safe in a URL. The token is put on by sign.
 */
enum berth_code gcp_request(struct http_req *req, const char *method, const char *base,
    struct berth_err *err, const char *fmt, ...) BERTH_PRINTF(5, 6) BERTH_MUST_CHECK;
/* The part behind the last slash of a URL or a name. */
const char *gcp_tail(const char *url);
/* "us-central1" of "us-central1-a", in the arena; "" for what is no zone. */
const char *gcp_region(struct arena *a, const char *zone);
/*
 * A list says what it could not reach (unreachables, or a scope's own warning); *what_out: the
 * first such place, or NULL.
 */
void gcp_unreachable(const struct jsonr *root, const char **what_out);

/* What a refusal inside of an object is: {"errors": [{code, message}]} of an operation, or {code,
 * message, status}. */
void gcp_error_of(const struct jsonr *error, struct prov_error *e);
enum berth_code gcp_classify(const struct prov_error *e); /* of a create */

/* The parts of one offer's instance_type: "n1-standard-8", or "n1-standard-8+2xnvidia-tesla-t4"
 * with cards attached. */
struct gcp_shape {
	char type[64], card[64];
	int64_t cards;
};
void gcp_shape_read(const char *instance_type, struct gcp_shape *shape);

extern const struct prov_auth_ops gcp_auth;
void gcp_auth_close(struct gcp *g);
extern const struct prov_market_ops gcp_market;
void gcp_market_close(struct gcp *g);
extern const struct prov_lease_ops gcp_lease;

/* What both kinds of machine share: gcp_lease.c. */
enum berth_code gcp_name(const struct gcp *g, struct arena *a, const char *token,
    const char **name_out,
    struct berth_err *err) BERTH_MUST_CHECK; /* nametag_make(), and one that the API takes */
const char *gcp_request_id(struct arena *a, const char *token); /* a UUID that is the token's */
void gcp_labels(const struct gcp *g, const char *token, struct jsonw *w);
void gcp_read_labels(const struct jsonr *o, struct prov_machine *m);
bool gcp_ref(const char *ref, struct arena *a, const char **zone_out, const char **name_out);

enum berth_code gcp_machine(const struct jsonr *o, struct arena *a, struct prov_machine *m,
    struct berth_err *err) BERTH_MUST_CHECK;
enum berth_code gcp_list_build(
    void *st, const struct prov_cursor *cur, struct http_req *req, struct berth_err *err);
enum berth_code gcp_list_parse(void *st, const struct http_resp *resp, struct prov_cursor *cur,
    prov_machine_fn *emit, void *arg, struct berth_err *err);

/*
 * What operations tell of machines that are in no list: inserts that failed after they were
 * accepted, and what was taken back.
 */
#define GCP_ENDINGS                                                                                \
	"(operationType = \"insert\") OR (operationType = \"compute.instances.preempted\")"
/* One operation; ref "": it tells of no machine of ours, or of none that ended within a day. */
enum berth_code gcp_operation(const struct gcp *g, const struct jsonr *o, struct arena *a,
    struct prov_machine *m, struct berth_err *err) BERTH_MUST_CHECK;
bool gcp_error_read(const struct http_resp *resp, struct prov_error *error_out);

const char *gcp_page(struct arena *a, const char *token); /* "&pageToken=..." or "" */
enum berth_code gcp_quota_build(
    void *st, const struct prov_cursor *cur, struct http_req *req, struct berth_err *err);
enum berth_code gcp_quota_parse(void *st, const struct http_resp *resp, struct prov_cursor *cur,
    prov_quota_fn *emit, void *arg, struct berth_err *err);
enum berth_code gcp_check_build(void *st, int n, struct http_req *req, struct berth_err *err);
enum berth_code gcp_check_parse(void *st, const struct http_resp *resp, int n,
    struct prov_check *check_out, struct berth_err *err);

/* TPUs: queued resources, whose instance types are the API's ("v5litepod-8") and whose refs begin
 * with "tpu:". */
#define GCP_TPU_REF "tpu:"
bool gcp_tpu_is(const char *instance_type);
enum berth_code gcp_tpu_create_build(const struct gcp *g, const struct prov_create *c,
    struct http_req *req, struct berth_err *err) BERTH_MUST_CHECK;
/* GET or DELETE of ref, which begins with GCP_TPU_REF. */
enum berth_code gcp_tpu_ref_build(const struct gcp *g, const char *method, const char *ref,
    struct http_req *req, struct berth_err *err) BERTH_MUST_CHECK;
/* A queued resource, or a node that one has got. */
enum berth_code gcp_tpu_machine(const struct jsonr *queued, struct arena *a, struct prov_machine *m,
    struct berth_err *err) BERTH_MUST_CHECK;
enum berth_code gcp_tpu_node(const struct jsonr *node, struct arena *a, struct prov_machine *m,
    struct berth_err *err) BERTH_MUST_CHECK;

#endif
