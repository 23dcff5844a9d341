/* src/broker/quarantine.h - price lists that could not be believed, kept for somebody to look at.
 * Floor: broker. */
#ifndef BERTH_BROKER_QUARANTINE_H
#define BERTH_BROKER_QUARANTINE_H

#include <stddef.h>
#include <stdint.h>

#include "model/offer.h"
#include "util/err.h"

struct arena;

/*
 * One list: NAME.csv in berth's own layout, NAME.json says what it is. The name comes from
 * provider, account and source, so that a newer list of the same takes the older one's place.
 */
struct quarantine {
	const char *name, *path;      /* path: of the CSV */
	const char *provider;         /* "" : all that the account sells */
	const char *account, *source; /* key of the list in the store */
	const char *why;
	size_t offers;
	int64_t at; /* when it came, s since epoch */
};

/* Writes offers [n]; q: all but name, path and offers, which are filled in. dry: no file.
 * BERTH_EIO. */
BERTH_MUST_CHECK enum berth_code quarantine_put(const char *dir, struct quarantine *q,
    const struct offer *offers, size_t n, bool dry, struct arena *a, struct berth_err *err);
/* All, by name; a folder that is not there holds none. A description that cannot be read is an
 * error: BERTH_EINVAL. */
BERTH_MUST_CHECK enum berth_code quarantine_list(const char *dir, struct arena *a,
    struct quarantine **v_out, size_t *n_out, struct berth_err *err);
/* Takes the list of this key away, if there is one. */
void quarantine_drop(const char *dir, const struct quarantine *q, struct arena *a);

#endif
