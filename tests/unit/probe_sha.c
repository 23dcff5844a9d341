/* SHA-256 and HMAC by published vectors: FIPS 180-4's examples, RFC 4231 cases 1, 2 and 6. */
#include <stdio.h>
#include <string.h>

#include "kernels/sha.h"
#include "tests/tap.h"

static void
hex_is(const uint8_t d[32], const char *want, const char *label)
{
	char hex[65];

	for (int i = 0; i < 32; i++)
		snprintf(hex + 2 * i, 3, "%02x", d[i]);
	tap_is_str(hex, want, "%s", label);
}

int
main(void)
{
	uint8_t d[32], key[131];

	sha_digest("abc", 3, d);
	hex_is(d, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad", "one block");
	sha_digest("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 56, d);
	hex_is(d, "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1", "two blocks");
	sha_digest("", 0, d);
	hex_is(d, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855", "nothing");
	memset(key, 0x0b, 20);
	sha_hmac(key, 20, "Hi There", 8, d);
	hex_is(d, "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7", "RFC 4231, 1");
	sha_hmac("Jefe", 4, "what do ya want for nothing?", 28, d);
	hex_is(d, "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843", "RFC 4231, 2");
	memset(key, 0xaa, sizeof(key));
	sha_hmac(key, sizeof(key), "Test Using Larger Than Block-Size Key - Hash Key First", 54, d);
	hex_is(d, "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54", "RFC 4231, 6: a long key");
	return tap_done();
}
