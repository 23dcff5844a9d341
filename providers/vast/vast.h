/* providers/vast/vast.h - Vast.ai, a market of other people's machines.  Floor: providers. */
#ifndef BERTH_PROVIDERS_VAST_H
#define BERTH_PROVIDERS_VAST_H

#include "providers/provider.h"

extern const struct provider_ops provider_vast;

/* This folder's own. */
struct vast {
	const struct prov_env *env;
	const char *endpoint;
	double disk_gib;
	bool bids; /* which half of the market is on its way */
};

extern const struct prov_market_ops vast_market;
extern const struct prov_lease_ops vast_lease;

#endif
