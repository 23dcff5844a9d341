/* src/util/hash.h - mixers for tables and seeds, SHA-256 for identity.  Floor: util. */
#ifndef BERTH_UTIL_HASH_H
#define BERTH_UTIL_HASH_H

#include <stddef.h>
#include <stdint.h>

#include "util/err.h"

/* Not for secrets and not against an enemy. The values are the same on every machine and never change. */
uint64_t hash_u64(uint64_t x);				/* finaliser of splitmix64 */
uint64_t hash_bytes(const void *p, size_t n);		/* 64-bit FNV-1a */
uint64_t hash_str(const char *s);			/* 64-bit FNV-1a */
uint64_t hash_join(uint64_t h, uint64_t x);		/* order matters */

#define HASH_SHA256_SIZE 65
/* 64 lower-case hex digits and a NUL. BERTH_EFAIL only if OpenSSL has no SHA-256. */
BERTH_MUST_CHECK enum berth_code hash_sha256_hex(const void *p, size_t n, char dst[HASH_SHA256_SIZE],
    struct berth_err *err);

#endif
