/* src/util/hash.h - mixers for tables and seeds, SHA-256 for identity.  Floor: util. */
#ifndef BERTH_UTIL_HASH_H
#define BERTH_UTIL_HASH_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "util/err.h"

/* Not for secrets and not against an enemy. The values are the same on every machine and never
 * change. */
uint64_t hash_u64(uint64_t x);                /* finaliser of splitmix64 */
uint64_t hash_bytes(const void *p, size_t n); /* 64-bit FNV-1a */
uint64_t hash_str(const char *s);             /* 64-bit FNV-1a */
/* As good for a table in memory and many times as fast; the values differ between machines. */
static inline uint64_t hash_fast(const void *p, size_t n);
uint64_t hash_join(uint64_t h, uint64_t x); /* order matters */

static inline uint64_t
hash_fast(const void *p, size_t n)
{
	const unsigned char *c = p;
	uint64_t h = n * UINT64_C(0x9e3779b97f4a7c15), w = 0;

	for (; n >= 8; c += 8, n -= 8) {
		memcpy(&w, c, 8);
		h = (h ^ w) * UINT64_C(0xff51afd7ed558ccd);
		h ^= h >> 32;
	}
	w = 0;
	if (n >= 4) { /* two halves that may overlap */
		uint32_t half[2];

		memcpy(&half[0], c, 4);
		memcpy(&half[1], c + n - 4, 4);
		w = (uint64_t)half[0] << 32 | half[1];
	} else if (n > 0) {
		w = (uint64_t)c[0] | (uint64_t)c[n / 2] << 8 | (uint64_t)c[n - 1] << 16;
	}
	h = (h ^ w) * UINT64_C(0xff51afd7ed558ccd);
	return h ^ h >> 32;
}

/*
 * 128 bits of a stream, at the speed of memory: tells inputs apart that nobody has made to look
 * alike. The same on every machine.
 */
#define HASH_DIGEST_SIZE 33
struct hash_digest {
	uint64_t lane[4], bytes;
	unsigned char part[64]; /* the bytes behind the last whole block */
};
void hash_digest_init(struct hash_digest *d);
void hash_digest_add(struct hash_digest *d, const void *p, size_t n);
/* 32 lower-case hex digits and a NUL of all that was added; d stays as it is. */
void hash_digest_hex(const struct hash_digest *d, char dst[HASH_DIGEST_SIZE]);

#define HASH_SHA256_SIZE 65
/* 64 lower-case hex digits and a NUL. BERTH_EFAIL only if OpenSSL has no SHA-256. */
BERTH_MUST_CHECK enum berth_code hash_sha256_hex(
    const void *p, size_t n, char dst[HASH_SHA256_SIZE], struct berth_err *err);

#endif
