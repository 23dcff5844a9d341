#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/tap.h"
#include "util/hash.h"
#include "util/rng.h"

#define DRAWS 1000000

/* Outputs of the reference programs of S. Vigna (prng.di.unimi.it): splitmix64.c from state 1234567, xoshiro256starstar.c. */
static void
test_known(void)
{
	static const uint64_t split[] = { UINT64_C(6457827717110365317), UINT64_C(3203168211198807973),
		UINT64_C(9817491932198370423), UINT64_C(4593380528125082431), UINT64_C(16408922859458223821) };
	static const uint64_t stars[] = { UINT64_C(11520), UINT64_C(0), UINT64_C(1509978240),
		UINT64_C(1215971899390074240), UINT64_C(1216172134540287360), UINT64_C(607988272756665600),
		UINT64_C(16172922978634559625), UINT64_C(8476171486693032832), UINT64_C(10595114339597558777),
		UINT64_C(2904607092377533576) };
	struct rng r;
	int same = 1;

	for (uint64_t i = 0; i < 5; i++)
		same = same && hash_u64(1234567 + i * UINT64_C(0x9e3779b97f4a7c15)) == split[i];
	tap_ok(same, "splitmix64 from 1234567");
	rng_seed(&r, 1234567);
	tap_ok(memcmp(r.s, split, sizeof(r.s)) == 0, "a seed fills the state by splitmix64");
	r = (struct rng){ .s = { 1, 2, 3, 4 } };
	same = 1;
	for (int i = 0; i < 10; i++)
		same = same && rng_u64(&r) == stars[i];
	tap_ok(same, "xoshiro256** from state 1 2 3 4");
}

/* Sample moments lie within 5 standard errors of the true ones. */
static void
test_moments(void)
{
	double u1 = 0, u2 = 0, n1 = 0, n2 = 0, n3 = 0, n4 = 0, e1 = 0, e2 = 0, least = 1, most = 0, lag = 0, before = 0;
	struct rng r;
	double se = 1 / sqrt((double)DRAWS);
	int tail = 0;

	rng_seed(&r, 42);
	for (int i = 0; i < DRAWS; i++) {
		double u = rng_unit(&r), n = rng_normal(&r), e = rng_exp(&r);

		least = u < least ? u : least;
		most = u > most ? u : most;
		u1 += u;
		u2 += u * u;
		n1 += n;
		n2 += n * n;
		n3 += n * n * n;
		n4 += n * n * n * n;
		e1 += e;
		e2 += e * e;
		lag += n * before;
		before = n;
		tail += n > 1.959963984540054;
	}
	tap_ok(least >= 0 && most < 1, "units lie in [0, 1)");
	tap_near(u1 / DRAWS, 0.5, 5 * se * sqrt(1.0 / 12), "mean of units");
	tap_near(u2 / DRAWS, 1.0 / 3, 5 * se * sqrt(4.0 / 45), "square of units");
	tap_near(n1 / DRAWS, 0, 5 * se, "mean of normals");
	tap_near(n2 / DRAWS, 1, 5 * se * sqrt(2), "variance of normals");
	tap_near(n3 / DRAWS, 0, 5 * se * sqrt(15), "third moment of normals");
	tap_near(n4 / DRAWS, 3, 5 * se * sqrt(96), "fourth moment of normals");
	tap_near(lag / DRAWS, 0, 5 * se, "neighbours do not go together");
	tap_near((double)tail / DRAWS, 0.025, 5 * se * sqrt(0.025 * 0.975), "upper 2.5 %% of normals");
	tap_near(e1 / DRAWS, 1, 5 * se, "mean of exponentials");
	tap_near(e2 / DRAWS, 2, 5 * se * sqrt(20), "square of exponentials");
}

/* Chi-square of 6 faces: 5 degrees of freedom, 20.5 is passed once in 1000. */
static void
test_below(void)
{
	long count[6] = { 0 };
	struct rng r;
	double chi = 0;
	int ok = 1;

	rng_seed(&r, 7);
	for (int i = 0; i < 600000; i++)
		count[rng_below(&r, 6)]++;
	for (int k = 0; k < 6; k++)
		chi += (double)((count[k] - 100000) * (count[k] - 100000)) / 100000;
	tap_ok(chi < 20.5, "a die is fair: chi-square %.2f", chi);
	/* Two thirds of the range: a biased multiply would give each third value twice as often. */
	memset(count, 0, sizeof(count));
	for (int i = 0; i < 300000; i++) {
		uint64_t n = UINT64_C(3) << 62, v = rng_below(&r, n);

		ok = ok && v < n;
		count[v % 3]++;
	}
	tap_ok(ok, "below is below");
	chi = 0;
	for (int k = 0; k < 3; k++)
		chi += (double)((count[k] - 100000) * (count[k] - 100000)) / 100000;
	tap_ok(chi < 13.8, "without bias in a large range: chi-square %.2f", chi);
	tap_is_long((long long)rng_below(&r, 1), 0, "below 1 there is 0");
}

static void
test_streams(void)
{
	struct rng a, b, c;
	int same = 1, differ = 0;

	rng_seed_stream(&a, 1, 5);
	rng_seed_stream(&b, 1, 5);
	rng_seed_stream(&c, 1, 6);
	for (int i = 0; i < 1000; i++) {
		uint64_t x = rng_u64(&a);

		same = same && x == rng_u64(&b);
		differ += x != rng_u64(&c);
	}
	tap_ok(same, "the same seed and stream, the same numbers");
	tap_is_long(differ, 1000, "another stream, others");
}

/* FIPS 180-2, appendix B; FNV test vectors of L. C. Noll (isthe.com/chongo/tech/comp/fnv). */
static void
test_hashes(void)
{
	struct berth_err err = { 0 };
	char hex[HASH_SHA256_SIZE];

	tap_code(hash_sha256_hex("abc", 3, hex, &err), BERTH_OK, &err);
	tap_is_str(hex, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad", "sha256 of abc");
	tap_code(hash_sha256_hex("", 0, hex, &err), BERTH_OK, &err);
	tap_is_str(hex, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855", "sha256 of nothing");
	tap_ok(hash_str("") == UINT64_C(0xcbf29ce484222325), "fnv-1a of nothing");
	tap_ok(hash_str("a") == UINT64_C(0xaf63dc4c8601ec8c), "fnv-1a of a");
	tap_ok(hash_str("foobar") == UINT64_C(0x85944171f73967e8), "fnv-1a of foobar");
	tap_ok(hash_join(hash_join(0, 1), 2) != hash_join(hash_join(0, 2), 1), "the order of a join matters");
}

static int
cmp_digest(const void *a, const void *b)
{
	return strcmp(a, b);
}

/* A stream in parts of any size; and streams that differ a little, in a byte, in two places, in order, in length. */
static void
test_digest(void)
{
	static char seen[4000][HASH_DIGEST_SIZE];
	static const unsigned char zeros[64];
	unsigned char bytes[1000];
	char whole[HASH_DIGEST_SIZE], parts[HASH_DIGEST_SIZE];
	struct hash_digest d;
	struct rng r;
	int n = 0, differ = 0, same = 0;

	rng_seed(&r, 5);
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (unsigned char)rng_below(&r, 256);
	hash_digest_init(&d);
	hash_digest_add(&d, bytes, sizeof(bytes));
	hash_digest_hex(&d, whole);
	for (int k = 0; k < 200; k++) {
		hash_digest_init(&d);
		for (size_t at = 0; at < sizeof(bytes); ) {
			size_t part = rng_below(&r, k < 100 ? 5 : 200);

			part = part < sizeof(bytes) - at ? part : sizeof(bytes) - at;
			hash_digest_add(&d, bytes + at, part);
			at += part;
		}
		hash_digest_hex(&d, parts);
		differ += strcmp(whole, parts) != 0;
	}
	tap_is_long(differ, 0, "parts make the same digest as the whole");
	for (; n < 1000; n++) {		/* each byte in turn; the same bit in two words of a lane; an exchange; a length */
		bytes[n] ^= 1;
		hash_digest_init(&d);
		hash_digest_add(&d, bytes, sizeof(bytes));
		hash_digest_hex(&d, seen[n]);
		if (n + 64 < 1000)
			bytes[n + 64] ^= 1;
		hash_digest_init(&d);
		hash_digest_add(&d, bytes, sizeof(bytes));
		hash_digest_hex(&d, seen[1000 + n]);
		if (n + 64 < 1000)
			bytes[n + 64] ^= 1;
		else
			snprintf(seen[1000 + n], HASH_DIGEST_SIZE, "none %d", n);
		bytes[n] ^= 1;
		hash_digest_init(&d);
		hash_digest_add(&d, bytes + n % 64, 64);
		hash_digest_add(&d, bytes, (size_t)n);
		hash_digest_hex(&d, seen[2000 + n]);
		hash_digest_init(&d);
		hash_digest_add(&d, zeros, (size_t)(n % 64));
		hash_digest_hex(&d, seen[3000 + n]);
		if (n >= 64)
			snprintf(seen[3000 + n], HASH_DIGEST_SIZE, "none, too %d", n);
	}
	qsort(seen, 4000, HASH_DIGEST_SIZE, cmp_digest);
	for (int i = 1; i < 4000; i++)
		same += strcmp(seen[i - 1], seen[i]) == 0;
	tap_is_long(same, 0, "of streams that are nearly the same no two have one digest");
}

int
main(void)
{
	test_known();
	test_moments();
	test_below();
	test_streams();
	test_hashes();
	test_digest();
	return tap_done();
}
