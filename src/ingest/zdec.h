/* src/ingest/zdec.h - one unpacker for both packings.  Floor: ingest, private to zin. */
#ifndef BERTH_INGEST_ZDEC_H
#define BERTH_INGEST_ZDEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/err.h"

struct zdec;

/* By the first bytes [n]: *dec_out is NULL if they are not packed. */
BERTH_MUST_CHECK enum berth_code zdec_new(const unsigned char *head, size_t n, const char *path,
    struct zdec **dec_out, struct berth_err *err);
/*
 * Unpacks in [*used] into out [n]; *used becomes what was taken, *got what was given. false:
 * damaged. Members that follow each other are one stream; what follows a gzip member and is none is
 * damage, but for NULs.
 */
bool zdec_run(
    struct zdec *d, const unsigned char *in, size_t *used, char *out, size_t n, size_t *got);
bool zdec_whole(const struct zdec *d); /* all members so far are complete */
void zdec_free(struct zdec *d);

/* zstd, in zdec_zstd.c or zdec_nozstd.c */
extern const bool zstd_built;
void *zstd_new(void);
bool zstd_run(void *ctx, const unsigned char *in, size_t *used, char *out, size_t n, size_t *got,
    bool *whole);
void zstd_free(void *ctx);

#endif
