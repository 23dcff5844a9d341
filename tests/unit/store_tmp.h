/* tests/unit/store_tmp.h - a store in a folder of its own for one test. */
#ifndef BERTH_STORE_TMP_H
#define BERTH_STORE_TMP_H

#include <stddef.h>
#include <stdint.h>

#include "store/store.h"

#define T0 INT64_C(1796054400)	/* 2026-11-30T16:00:00Z: the clock of the tests, a whole hour */

/* "/tmp/…/name" in a new folder that store_tmp_end() removes with all that is in it. */
const char *store_tmp_path(const char *name);
/* Opens (makes) the store at path, or ends the test with "Bail out!". */
struct store *store_tmp_open(const char *path);
void store_tmp_end(void);
/* One number by a second, plain SQLite connection: an oracle that shares no code with the store. */
int64_t store_tmp_number(const char *path, const char *sql);
/* Runs statements by a plain SQLite connection. */
void store_tmp_exec(const char *path, const char *sql);
/* xorshift, for test data */
uint64_t store_tmp_random(uint64_t *state);

#endif
