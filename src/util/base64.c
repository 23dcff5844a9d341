#include <stdint.h>
#include <string.h>

#include "util/base64.h"
#include "util/str.h"

static const char base64_chars[] =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

char *
base64_encode(struct arena *a, const void *p, size_t n)
{
	const unsigned char *s = p;
	char *out = arena_array(a, n / 3 + 1, 5), *d = out;

	for (size_t i = 0; i < n; i += 3) {
		size_t left = n - i;
		uint32_t v = (uint32_t)s[i] << 16 | (left > 1 ? (uint32_t)s[i + 1] << 8 : 0) |
			     (left > 2 ? s[i + 2] : 0);

		*d++ = base64_chars[v >> 18];
		*d++ = base64_chars[v >> 12 & 63];
		*d++ = left > 1 ? base64_chars[v >> 6 & 63] : '=';
		*d++ = left > 2 ? base64_chars[v & 63] : '=';
	}
	return out;
}

enum berth_code
base64_decode(
    struct arena *a, const char *s, char **bytes_out, size_t *n_out, struct berth_err *err)
{
	char *out = arena_alloc(a, strlen(s) / 4 * 3 + 4);
	uint32_t bits = 0;
	size_t n = 0, held = 0, pads = 0;

	for (size_t i = 0; s[i] != '\0'; i++) {
		const char *c = strchr(base64_chars, s[i]);

		if (str_is_space(s[i]))
			continue;
		if (s[i] == '=' && held + pads < 4 && held >= 2) {
			pads++;
			continue;
		}
		if (c == NULL || pads > 0)
			return err_set(err, BERTH_EINVAL, "no base64: character %zu", i + 1);
		bits = bits << 6 | (uint32_t)(c - base64_chars);
		if (++held < 4)
			continue;
		out[n++] = (char)(bits >> 16 & 255);
		out[n++] = (char)(bits >> 8 & 255);
		out[n++] = (char)(bits & 255);
		held = bits = 0;
	}
	if (held == 1)
		return err_set(err, BERTH_EINVAL, "no base64: it is cut off");
	if (held > 1)
		out[n++] = (char)(bits >> (held == 2 ? 4 : 10) & 255);
	if (held > 2)
		out[n++] = (char)(bits >> 2 & 255);
	out[n] = '\0';
	*bytes_out = out;
	*n_out = n;
	return BERTH_OK;
}
