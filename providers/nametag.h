/* providers/nametag.h - whose a machine is, in its name, where a cloud has no tags or they are not
 * enough.  Floor: providers. */
#ifndef BERTH_PROVIDERS_NAMETAG_H
#define BERTH_PROVIDERS_NAMETAG_H

#include "providers/provider.h"
#include "util/arena.h"

/*
 * "berth-INSTALLATION-TOKEN". BERTH_EPERMANENT if it is longer than max bytes or the installation
 * id holds a '-', which ends it.
 */
BERTH_MUST_CHECK enum berth_code nametag_make(struct arena *a, const char *installation,
    const char *token, size_t max, const char **name_out, struct berth_err *err);
/* Back from it into installation and token of m; nothing if the name is not of this form. */
void nametag_read(const char *name, struct prov_machine *m);

#endif
