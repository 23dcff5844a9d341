#include <openssl/evp.h>
#include <string.h>

#include "util/hash.h"

uint64_t
hash_u64(uint64_t x)
{
	x += UINT64_C(0x9e3779b97f4a7c15);
	x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
	return x ^ (x >> 31);
}

uint64_t
hash_bytes(const void *p, size_t n)
{
	const unsigned char *c = p;
	uint64_t h = UINT64_C(0xcbf29ce484222325);

	for (size_t i = 0; i < n; i++)
		h = (h ^ c[i]) * UINT64_C(0x100000001b3);
	return h;
}

uint64_t
hash_str(const char *s)
{
	return hash_bytes(s, strlen(s));
}

uint64_t
hash_join(uint64_t h, uint64_t x)
{
	return hash_u64(h ^ hash_u64(x));
}

static void
hash_hex(const unsigned char *md, size_t n, char *dst)
{
	static const char hex[] = "0123456789abcdef";

	for (size_t i = 0; i < n; i++) {
		dst[2 * i] = hex[md[i] >> 4];
		dst[2 * i + 1] = hex[md[i] & 15];
	}
	dst[2 * n] = '\0';
}

#define HASH_LANES 4
#define HASH_BLOCK ((size_t)64)

void
hash_digest_init(struct hash_digest *d)
{
	memset(d, 0, sizeof(*d));
	for (unsigned i = 0; i < HASH_LANES; i++)
		d->lane[i] = hash_u64(i);
}

static uint64_t
hash_word(const unsigned char *p)
{
	uint64_t w;

	memcpy(&w, p, sizeof(w));
	return __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? w : __builtin_bswap64(w);
}

/* Both halves of a product in one word: any bit of either factor moves about half of its bits. */
static inline uint64_t
hash_fold(uint64_t a, uint64_t b)
{
	__extension__ typedef unsigned __int128 wide;
	wide p = (wide)a * b;

	return (uint64_t)p ^ (uint64_t)(p >> 64);
}

/* Whole blocks [n bytes]: each lane takes two words of each. */
static void
hash_blocks(uint64_t *lane, const unsigned char *p, size_t n)
{
	uint64_t a = lane[0], b = lane[1], c = lane[2], d = lane[3];

	for (; n > 0; p += HASH_BLOCK, n -= HASH_BLOCK) {
		a = hash_fold(hash_word(p) ^ UINT64_C(0xa0761d6478bd642f), hash_word(p + 8) ^ a);
		b = hash_fold(
		    hash_word(p + 16) ^ UINT64_C(0xe7037ed1a0b428db), hash_word(p + 24) ^ b);
		c = hash_fold(
		    hash_word(p + 32) ^ UINT64_C(0x8ebc6af09c88c6e3), hash_word(p + 40) ^ c);
		d = hash_fold(
		    hash_word(p + 48) ^ UINT64_C(0x589965cc75374cc3), hash_word(p + 56) ^ d);
	}
	lane[0] = a;
	lane[1] = b;
	lane[2] = c;
	lane[3] = d;
}

void
hash_digest_add(struct hash_digest *d, const void *p, size_t n)
{
	const unsigned char *c = p;
	size_t have = d->bytes % HASH_BLOCK, whole;

	d->bytes += n;
	if (have > 0) {
		size_t more = n < HASH_BLOCK - have ? n : HASH_BLOCK - have;

		memcpy(d->part + have, c, more);
		if (have + more < HASH_BLOCK)
			return;
		hash_blocks(d->lane, d->part, HASH_BLOCK);
		c += more;
		n -= more;
	}
	whole = n - n % HASH_BLOCK;
	hash_blocks(d->lane, c, whole);
	memcpy(d->part, c + whole, n - whole);
}

void
hash_digest_hex(const struct hash_digest *d, char dst[HASH_DIGEST_SIZE])
{
	struct hash_digest end = *d;
	unsigned char md[16];
	uint64_t a, b;

	memset(end.part + d->bytes % HASH_BLOCK, 0, HASH_BLOCK - d->bytes % HASH_BLOCK);
	hash_blocks(end.lane, end.part, HASH_BLOCK);
	a = hash_u64(d->bytes);
	b = ~a;
	for (unsigned i = 0; i < HASH_LANES; i++) {
		a = hash_join(a, end.lane[i]);
		b = hash_join(b, end.lane[HASH_LANES - 1 - i]);
	}
	for (unsigned i = 0; i < 8; i++) {
		md[i] = (unsigned char)(a >> (56 - 8 * i));
		md[8 + i] = (unsigned char)(b >> (56 - 8 * i));
	}
	hash_hex(md, sizeof(md), dst);
}

enum berth_code
hash_sha256_hex(const void *p, size_t n, char dst[HASH_SHA256_SIZE], struct berth_err *err)
{
	unsigned char md[EVP_MAX_MD_SIZE];
	unsigned int len = 0;

	if (EVP_Digest(p, n, md, &len, EVP_sha256(), NULL) != 1 || len != 32)
		return err_set(err, BERTH_EFAIL, "sha256: OpenSSL does not offer it");
	hash_hex(md, len, dst);
	return BERTH_OK;
}
