/* providers/digitalocean/digitalocean.h - DigitalOcean's GPU droplets, API v2.  Floor: providers.
 */
#ifndef BERTH_PROVIDERS_DIGITALOCEAN_H
#define BERTH_PROVIDERS_DIGITALOCEAN_H

#include "providers/provider.h"

extern const struct provider_ops provider_digitalocean;

/* This folder's own. */
struct docean {
	const struct prov_env *env;
	const char *endpoint;
};

#endif
