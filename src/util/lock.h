/* src/util/lock.h - one run at a time, by a locked file.  Floor: util. */
#ifndef BERTH_UTIL_LOCK_H
#define BERTH_UTIL_LOCK_H

#include "util/err.h"

struct lockfile {
	int fd; /* -1: not held */
};

#define LOCKFILE_NONE ((struct lockfile){ -1 })

/*
 * Takes the write lock of path (made with mode 0600 if need be; it is never removed, so that two
 * runs cannot lock two files of the same name). wait_ms: how long to try, 0: once. BERTH_ELOCKED
 * names the process that holds it. The lock ends with lockfile_release() or with the process,
 * however that ends; a child that calls exec has none.
 */
BERTH_MUST_CHECK enum berth_code lockfile_take(
    const char *path, int wait_ms, struct lockfile *lock_out, struct berth_err *err);
void lockfile_release(struct lockfile *lock); /* not held is fine */

#endif
