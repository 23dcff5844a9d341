/* kernels/sha.h - SHA-256 and HMAC (FIPS 180-4, RFC 2104), for the proof that a peer knows the
 * token. */
#ifndef BERTH_KERNELS_SHA_H
#define BERTH_KERNELS_SHA_H

#include <stddef.h>
#include <stdint.h>

void sha_digest(const void *data, size_t n, uint8_t out[32]);
/* data [n], n at most 256 */
void sha_hmac(const void *key, size_t key_n, const void *data, size_t n, uint8_t out[32]);

#endif
