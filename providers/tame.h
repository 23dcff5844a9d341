/* providers/tame.h - what a cloud's answer may say, and what it may lead to.  Floor: providers; the
 * core only. */
#ifndef BERTH_PROVIDERS_TAME_H
#define BERTH_PROVIDERS_TAME_H

#include "providers/provider.h"

struct arena;

/*
 * A URL whose path has "." or ".." as a part addresses another resource than the one that was
 * named: clients and servers take such parts away. BERTH_EINVAL; the same for a blank or a control
 * character in it.
 */
BERTH_MUST_CHECK enum berth_code tame_url(const char *url, struct berth_err *err);

/*
 * A machine as an answer tells of it at now; in this process, and of one's own machines, it stays
 * as it is. Control characters in its words become '?'; an address that is none for ssh, and times
 * that cannot be (made tomorrow, ended before it was made), become "not said". BERTH_EINVAL: an id
 * with a control character in it, which nobody gave.
 */
BERTH_MUST_CHECK enum berth_code tame_machine(
    const struct provider_ops *ops, int64_t now, struct prov_machine *m, struct berth_err *err);

/* Counts below 0 and infinite ones are not said. */
void tame_quota(struct prov_quota *q);

/*
 * Control characters in its words become '?', in copies in the arena. Sizes that no machine has
 * become unknown: below 0, not finite, over 16,384 accelerators, a million cores.
 */
void tame_offer(struct offer *o, struct arena *a);

#endif
