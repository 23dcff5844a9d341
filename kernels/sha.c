#include "config.h"

#include <string.h>

#include "kernels/sha.h"

static const uint32_t sha_k[64] = {
	0x428a2f98,
	0x71374491,
	0xb5c0fbcf,
	0xe9b5dba5,
	0x3956c25b,
	0x59f111f1,
	0x923f82a4,
	0xab1c5ed5,
	0xd807aa98,
	0x12835b01,
	0x243185be,
	0x550c7dc3,
	0x72be5d74,
	0x80deb1fe,
	0x9bdc06a7,
	0xc19bf174,
	0xe49b69c1,
	0xefbe4786,
	0x0fc19dc6,
	0x240ca1cc,
	0x2de92c6f,
	0x4a7484aa,
	0x5cb0a9dc,
	0x76f988da,
	0x983e5152,
	0xa831c66d,
	0xb00327c8,
	0xbf597fc7,
	0xc6e00bf3,
	0xd5a79147,
	0x06ca6351,
	0x14292967,
	0x27b70a85,
	0x2e1b2138,
	0x4d2c6dfc,
	0x53380d13,
	0x650a7354,
	0x766a0abb,
	0x81c2c92e,
	0x92722c85,
	0xa2bfe8a1,
	0xa81a664b,
	0xc24b8b70,
	0xc76c51a3,
	0xd192e819,
	0xd6990624,
	0xf40e3585,
	0x106aa070,
	0x19a4c116,
	0x1e376c08,
	0x2748774c,
	0x34b0bcb5,
	0x391c0cb3,
	0x4ed8aa4a,
	0x5b9cca4f,
	0x682e6ff3,
	0x748f82ee,
	0x78a5636f,
	0x84c87814,
	0x8cc70208,
	0x90befffa,
	0xa4506ceb,
	0xbef9a3f7,
	0xc67178f2,
};

static uint32_t
sha_rotate(uint32_t x, int n)
{
	return x >> n | x << (32 - n);
}

static void
sha_block(uint32_t h[8], const uint8_t p[64])
{
	uint32_t w[64], v[8];

	for (int i = 0; i < 16; i++)
		w[i] = (uint32_t)p[4 * i] << 24 | (uint32_t)p[4 * i + 1] << 16 |
		       (uint32_t)p[4 * i + 2] << 8 | p[4 * i + 3];
	for (int i = 16; i < 64; i++) {
		const uint32_t a = w[i - 15], b = w[i - 2];

		w[i] = w[i - 16] + (sha_rotate(a, 7) ^ sha_rotate(a, 18) ^ a >> 3) + w[i - 7] +
		       (sha_rotate(b, 17) ^ sha_rotate(b, 19) ^ b >> 10);
	}
	memcpy(v, h, sizeof(v));
	for (int i = 0; i < 64; i++) {
		const uint32_t t1 =
		    v[7] + (sha_rotate(v[4], 6) ^ sha_rotate(v[4], 11) ^ sha_rotate(v[4], 25)) +
		    ((v[4] & v[5]) ^ (~v[4] & v[6])) + sha_k[i] + w[i];
		const uint32_t t2 =
		    (sha_rotate(v[0], 2) ^ sha_rotate(v[0], 13) ^ sha_rotate(v[0], 22)) +
		    ((v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]));

		memmove(v + 1, v, 7 * sizeof(v[0]));
		v[4] += t1;
		v[0] = t1 + t2;
	}
	for (int i = 0; i < 8; i++)
		h[i] += v[i];
}

void
sha_digest(const void *data, size_t n, uint8_t out[32])
{
	uint32_t h[8] = { 0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c,
		0x1f83d9ab, 0x5be0cd19 };
	const uint8_t *p = data;
	uint8_t last[128] = { 0 };
	size_t left = n, tail;

	for (; left >= 64; left -= 64, p += 64)
		sha_block(h, p);
	memcpy(last, p, left);
	last[left] = 0x80;
	tail = left < 56 ? 64 : 128;
	for (int i = 0; i < 8; i++)
		last[tail - 1 - (size_t)i] = (uint8_t)((uint64_t)n * 8 >> 8 * i);
	sha_block(h, last);
	if (tail == 128)
		sha_block(h, last + 64);
	for (int i = 0; i < 32; i++)
		out[i] = (uint8_t)(h[i / 4] >> (24 - 8 * (i % 4)));
}

void
sha_hmac(const void *key, size_t key_n, const void *data, size_t n, uint8_t out[32])
{
	uint8_t k[64] = { 0 }, in[64 + 256];

	if (key_n > 64)
		sha_digest(key, key_n, k);
	else
		memcpy(k, key, key_n);
	for (int i = 0; i < 64; i++)
		in[i] = k[i] ^ 0x36;
	n = n < 256 ? n : 256;
	memcpy(in + 64, data, n);
	sha_digest(in, 64 + n, out);
	for (int i = 0; i < 64; i++)
		in[i] = k[i] ^ 0x5c;
	memcpy(in + 64, out, 32);
	sha_digest(in, 96, out);
}
