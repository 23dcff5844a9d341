/* providers/crusoe/crusoe.h - Crusoe Cloud, API v1alpha5.  Floor: providers. */
#ifndef BERTH_PROVIDERS_CRUSOE_H
#define BERTH_PROVIDERS_CRUSOE_H

#include "providers/provider.h"
#include "providers/rates.h"
#include "util/vec.h"

extern const struct provider_ops provider_crusoe;

/* This folder's own. */
struct crusoe_type {
	const char *name, *gpu;
	int64_t gpus;
	double vcpus, memory_gib;
};
struct crusoe {
	const struct prov_env *env;
	const char *project, *endpoint;
	struct rates rates;
	struct arena *arena; /* of the types of one walk; NULL: none */
	VEC(struct crusoe_type) types;
};

/* Starts a request to the project's part of the API; each %s must be safe in a URL. */
enum berth_code crusoe_request(const struct crusoe *c, struct http_req *req, const char *method,
    struct berth_err *err, const char *fmt, ...) BERTH_PRINTF(5, 6) BERTH_MUST_CHECK;

extern const struct prov_market_ops crusoe_market;
extern const struct prov_lease_ops crusoe_lease;

#endif
