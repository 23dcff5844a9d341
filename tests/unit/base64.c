/* tests/unit/base64.c - RFC 4648: its own vectors, and what is no base64. */
#include <stdio.h>
#include <string.h>

#include "tests/tap.h"
#include "util/base64.h"

int
main(void)
{
	/* RFC 4648, section 10 */
	static const struct { const char *bytes, *text; } vectors[] = {
		{ "", "" }, { "f", "Zg==" }, { "fo", "Zm8=" }, { "foo", "Zm9v" }, { "foob", "Zm9vYg==" }, { "fooba", "Zm9vYmE=" },
		{ "foobar", "Zm9vYmFy" },
	};
	static const char *const bad[] = { "Z", "Zm9v!", "Zg=a", "=", "Zm9v=", "Zg===", "Z=g=", "Zm9vY" };
	struct arena *a = arena_new();
	struct berth_err err = { 0 };
	unsigned char all[256];
	char *out = NULL;
	size_t n = 0;

	for (size_t i = 0; i < sizeof(vectors) / sizeof(vectors[0]); i++) {
		tap_is_str(base64_encode(a, vectors[i].bytes, strlen(vectors[i].bytes)), vectors[i].text, "'%s'", vectors[i].bytes);
		tap_code(base64_decode(a, vectors[i].text, &out, &n, &err), BERTH_OK, &err);
		tap_ok(n == strlen(vectors[i].bytes) && strcmp(out, vectors[i].bytes) == 0, "and back");
	}
	for (size_t i = 0; i < 256; i++)
		all[i] = (unsigned char)i;
	tap_code(base64_decode(a, base64_encode(a, all, 256), &out, &n, &err), BERTH_OK, &err);
	tap_ok(n == 256 && memcmp(out, all, 256) == 0, "every byte");
	tap_code(base64_decode(a, "Zm9v\nYm\r\n Fy", &out, &n, &err), BERTH_OK, &err);
	tap_is_str(out, "foobar", "in lines");
	tap_code(base64_decode(a, "Zm9vYg", &out, &n, &err), BERTH_OK, &err);
	tap_is_str(out, "foob", "without padding");
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		tap_ok(base64_decode(a, bad[i], &out, &n, &err) == BERTH_EINVAL, "'%s': %s", bad[i], err.msg);
	arena_free(a);
	return tap_done();
}
