/* providers/net.h - the network that accounts share: client, cache, recording.  Floor: providers.
 */
#ifndef BERTH_PROVIDERS_NET_H
#define BERTH_PROVIDERS_NET_H

#include <stdbool.h>
#include <stdint.h>

#include "net/http.h"
#include "util/err.h"

struct http_cache;
struct http_tape;
struct yaml_node;

#define PROV_NET_TIMEOUT_S 30 /* of one exchange, where nobody says otherwise */

/* One client for many accounts, counted: each of prov_net_new(), _open() and _ref() needs its
 * prov_net_free(). */
struct prov_net;

/* conf (NULL: defaults) holds for what an account does not say itself. No cache, no recording. */
BERTH_MUST_CHECK enum berth_code prov_net_new(
    const struct http_config *conf, struct prov_net **net_out, struct berth_err *err);
/*
 * As `network:` of berth.yaml says (config: its root, or NULL): proxy, ca_file, timeout, cache,
 * record, replay, sync_within, prices_within, lease_within; BERTH_RECORD and BERTH_REPLAY of the
 * environment go before the file. The cache lies in the user's cache folder, and is off without a
 * home. Errors: BERTH_EINVAL with file:line:col, BERTH_EIO, BERTH_ENOTFOUND (no such recording).
 */
BERTH_MUST_CHECK enum berth_code prov_net_open(const struct yaml_node *config,
    const char *config_dir, struct prov_net **net_out, struct berth_err *err);
struct prov_net *prov_net_ref(struct prov_net *net); /* NULL is allowed */
void prov_net_free(struct prov_net *net);            /* NULL is allowed */
/* What a pass over all accounts may take, s; fallback where `network:` does not say it (or net is
 * NULL). */
int prov_net_sync_within_s(const struct prov_net *net, int fallback);
int prov_net_prices_within_s(const struct prov_net *net, int fallback);
int prov_net_lease_within_s(
    const struct prov_net *net, int fallback); /* of one account in such a pass */

/* For the core. */
struct http *net_http(struct prov_net *net);
struct http_cache *net_cache(const struct prov_net *net); /* NULL: none; net may be NULL */
struct http_tape *net_tape(const struct prov_net *net);   /* NULL: none; net may be NULL */

#endif
