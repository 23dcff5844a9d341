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

struct hash_sha256 *
hash_sha256_new(void)
{
	EVP_MD_CTX *ctx = EVP_MD_CTX_new();

	if (ctx != NULL && EVP_DigestInit_ex(ctx, EVP_sha256(), NULL) != 1) {
		EVP_MD_CTX_free(ctx);
		ctx = NULL;
	}
	return (struct hash_sha256 *)ctx;
}

void
hash_sha256_add(struct hash_sha256 *h, const void *p, size_t n)
{
	if (h != NULL)
		(void)EVP_DigestUpdate((EVP_MD_CTX *)h, p, n);
}

void
hash_sha256_end(struct hash_sha256 *h, char dst[HASH_SHA256_SIZE])
{
	unsigned char md[EVP_MAX_MD_SIZE];
	unsigned int len = 0;

	dst[0] = '\0';
	if (h != NULL && EVP_DigestFinal_ex((EVP_MD_CTX *)h, md, &len) == 1 && len == 32)
		hash_hex(md, len, dst);
}

void
hash_sha256_free(struct hash_sha256 *h)
{
	EVP_MD_CTX_free((EVP_MD_CTX *)h);
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
