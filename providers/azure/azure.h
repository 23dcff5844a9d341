/* providers/azure/azure.h - Microsoft Azure: Resource Manager (Compute, Network) and Retail Prices.
 * Floor: providers. */
#ifndef BERTH_PROVIDERS_AZURE_H
#define BERTH_PROVIDERS_AZURE_H

#include "providers/bearer.h"
#include "providers/provider.h"
#include "util/json.h"
#include "util/strmap.h"
#include "util/vec.h"

extern const struct provider_ops provider_azure;

#define AZURE_COMPUTE_API "2024-07-01"
#define AZURE_SKUS_API "2021-07-01"
#define AZURE_RETAIL "/api/retail/prices"
#define AZURE_NETWORK_API "2022-11-01" /* of what is made with a machine */
#define AZURE_NETWORK_API_READ "2024-05-01"

/* This folder's own. */
struct azure_refresh;   /* what one walk of the price lists has gathered so far: azure_market.c */
struct azure_addresses; /* of machines, from the last list: azure_list.c */

struct azure {
	const struct prov_env *env;
	const char *subscription, *group;        /* "": list prices alone; machines need both */
	const char *arm, *login, *prices, *imds; /* base URLs without a slash at their end */
	const char *const *locations;
	size_t n_locations;
	struct bearer bearer;
	struct azure_refresh *refresh;
	struct azure_addresses *addresses;
	char listing;       /* which page of the list of machines is on its way */
	size_t quota_place; /* index in locations, of the quotas on their way */
};

/* Starts a request to ARM; each %s of the path must be safe in a URL. */
enum berth_code azure_request(const struct azure *z, struct http_req *req, const char *method,
    struct berth_err *err, const char *fmt, ...) BERTH_PRINTF(5, 6) BERTH_MUST_CHECK;
/*
 * A page's link to the next, at key of root, goes behind prefix into cur->next; nothing if there is
 * none. A link to another host than base is BERTH_EINVAL: whoever answers there would get the
 * token, or name its own prices.
 */
enum berth_code azure_next(const struct jsonr *root, const char *key, const char *base,
    const char *prefix, struct prov_cursor *cur, struct berth_err *err) BERTH_MUST_CHECK;

/* What is refused within {"error": {code, message, details}}. */
void azure_error_of(const struct jsonr *error, struct prov_error *e);
enum berth_code azure_classify(const struct prov_error *e); /* of a create */

/*
 * Accelerators of a VM size, by its name alone: the SKU API counts a sixth of a card as one.
 * sku_gpus: what it says, 0 if it was not asked. False: no accelerator machine, or one that nobody
 * knows the number of cards of.
 */
bool azure_size(const char *size, int64_t sku_gpus, const char **accelerator_out, int *count_out);

extern const struct prov_auth_ops azure_auth;
extern const struct prov_market_ops azure_market;
void azure_market_close(struct azure *z);
extern const struct prov_lease_ops azure_lease;
enum berth_code azure_machine(const struct azure *z, const struct jsonr *o, struct prov_machine *m,
    struct berth_err *err) BERTH_MUST_CHECK;
enum berth_code azure_list_build(
    void *st, const struct prov_cursor *cur, struct http_req *req, struct berth_err *err);
enum berth_code azure_list_parse(void *st, const struct http_resp *resp, struct prov_cursor *cur,
    prov_machine_fn *emit, void *arg, struct berth_err *err);
enum berth_code azure_check_build(void *st, int n, struct http_req *req, struct berth_err *err);
enum berth_code azure_check_parse(void *st, const struct http_resp *resp, int n,
    struct prov_check *check_out, struct berth_err *err);
const char *azure_address(const struct azure *z, const char *vm); /* "" if the last list had none */
void azure_list_close(struct azure *z);

#endif
