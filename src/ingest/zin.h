/* src/ingest/zin.h - a file as it is or unpacked: gzip and zstd are known by their first bytes.
 * Floor: ingest. */
#ifndef BERTH_INGEST_ZIN_H
#define BERTH_INGEST_ZIN_H

#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

#include "util/err.h"
#include "util/hash.h"

struct zin;

/*
 * Opens path ("-": standard input) for reading. Memory does not depend on the size of the file or
 * of what it unpacks to. BERTH_ENOTFOUND, BERTH_EIO; BERTH_EINVAL: zstd where berth was built
 * without it.
 */
BERTH_MUST_CHECK enum berth_code zin_open(
    const char *path, struct zin **z_out, struct berth_err *err);
/* The unpacked bytes; belongs to z. A packed file that is cut off or damaged is a read error of
 * this stream. */
FILE *zin_file(struct zin *z);
/* The same without a copy between, as read(2) gives them: at most n bytes into to, 0 at the end, -1
 * and errno. One reads from the stream or with this, not with both. */
ssize_t zin_read(struct zin *z, char *to, size_t n);
bool zin_packed(const struct zin *z);
/* What was wrong with the packed bytes; NULL: nothing so far. */
const char *zin_fault(const struct zin *z);
/* hash_digest_hex() of the unpacked bytes that were read. */
void zin_digest(const struct zin *z, char dst[HASH_DIGEST_SIZE]);
/* How much of the file has been read, 0..1; NaN: it is a pipe, or empty. */
double zin_share(const struct zin *z);
void zin_close(struct zin *z); /* NULL is fine; standard input stays open */

#endif
