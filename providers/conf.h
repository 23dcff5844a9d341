/* providers/conf.h - an account's section of berth.yaml, for the core alone.  Floor: providers. */
#ifndef BERTH_PROVIDERS_CONF_H
#define BERTH_PROVIDERS_CONF_H

#include "providers/prov.h"

struct prov_conf {
	const struct provider_ops *ops;
	const struct yaml_node *node; /* NULL: no section, every key is absent */
	struct arena *arena;
	const char *dir;
};

/* Keys that the core reads for every provider on the wire: ca_file, proxy, timeout, rate. Ends with
 * a NULL name. */
extern const struct prov_key prov_wire_keys[];
/* The key is in the schema: of the adapter itself, or of those on the wire. */
bool prov_conf_knows(const struct prov_conf *conf, const char *name);

/* Checks every key of the section against ops->keys. BERTH_EINVAL with file:line:column. */
BERTH_MUST_CHECK enum berth_code prov_conf_check(
    const struct prov_conf *conf, struct berth_err *err);

#endif
