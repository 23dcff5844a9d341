/* src/util/fileio.h - whole files: read capped, written at once.  Floor: util. */
#ifndef BERTH_UTIL_FILEIO_H
#define BERTH_UTIL_FILEIO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "util/arena.h"
#include "util/buf.h"
#include "util/err.h"

/*
 * Appends the file ("-": stdin) to b; over b's cap is BERTH_EINVAL, no such file BERTH_ENOTFOUND,
 * else BERTH_EIO.
 */
BERTH_MUST_CHECK enum berth_code fileio_read(
    const char *path, struct buf *b, struct berth_err *err);
/* The same into the arena, NUL-terminated; *n_out may be NULL. */
BERTH_MUST_CHECK enum berth_code fileio_slurp(struct arena *a, const char *path, size_t cap,
    char **bytes_out, size_t *n_out, struct berth_err *err);
bool fileio_exists(const char *path);
/* Makes the directory and its parents, each new one with mode 0700; an existing one is fine. */
BERTH_MUST_CHECK enum berth_code fileio_mkdirs(const char *path, struct berth_err *err);
/* fileio_mkdirs() of the directory that path lies in. */
BERTH_MUST_CHECK enum berth_code fileio_mkdirs_for(const char *path, struct berth_err *err);
/* A file without a name in $TMPDIR (else /tmp), for writing and reading; NULL with errno set. */
FILE *fileio_temporary(void);
/* Flushes f and says whether everything so far reached it: BERTH_EIO "NAME: No space left on
 * device". */
BERTH_MUST_CHECK enum berth_code fileio_flush(FILE *f, const char *name, struct berth_err *err);

/*
 * path has the old bytes or the new ones, never a part: temporary file in the same directory,
 * fsync, rename, fsync of the directory. mode is for a new file (0600, 0644); an existing file
 * keeps its mode. A symbolic link is followed. On an error the old file is untouched and the
 * temporary one gone. BERTH_EIO.
 */
BERTH_MUST_CHECK enum berth_code atomicfile_write(
    const char *path, const void *bytes, size_t n, unsigned mode, struct berth_err *err);

#endif
