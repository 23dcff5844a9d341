/* providers/runpod/runpod.h - RunPod, by its GraphQL API.  Floor: providers. */
#ifndef BERTH_PROVIDERS_RUNPOD_H
#define BERTH_PROVIDERS_RUNPOD_H

#include "providers/provider.h"
#include "util/json.h"

extern const struct provider_ops provider_runpod;

/* This folder's own. */
struct runpod {
	const struct prov_env *env;
	const char *endpoint;
	bool secure; /* the secure cloud, not the community's */
};

/* POST of a query, or a mutation, with variables under "input" that write() puts (NULL: none). */
typedef void runpod_write_fn(void *arg, struct jsonw *w);
enum berth_code runpod_query(const struct runpod *r, struct http_req *req, const char *query,
    runpod_write_fn *write, void *arg, struct berth_err *err) BERTH_MUST_CHECK;

extern const struct prov_market_ops runpod_market;
extern const struct prov_lease_ops runpod_lease;

#endif
