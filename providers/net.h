/* providers/net.h - the network that accounts share.  Floor: providers. */
#ifndef BERTH_PROVIDERS_NET_H
#define BERTH_PROVIDERS_NET_H

#include "net/http.h"
#include "util/err.h"

/* One client for many accounts, counted: each of prov_net_new() and prov_net_ref() needs its prov_net_free(). */
struct prov_net;

/* conf (NULL: defaults) holds for what an account does not say itself. */
BERTH_MUST_CHECK enum berth_code prov_net_new(const struct http_config *conf, struct prov_net **net_out,
    struct berth_err *err);
struct prov_net *prov_net_ref(struct prov_net *net);	/* NULL is allowed */
void prov_net_free(struct prov_net *net);		/* NULL is allowed */
struct http *net_http(struct prov_net *net);

#endif
