#include "model/accelkey.h"

#include <string.h>

#include "util/str.h"

bool
accelkey_split(struct accelkey *k, const char *name, size_t len)
{
	size_t at = 0;
	bool in_word = false;

	k->n = 0;
	if (len >= sizeof(k->text) - 1)
		return false;
	for (size_t i = 0; i < len; i++) {
		if (!str_is_alnum(name[i])) {
			if (in_word)
				k->text[at++] = '\0';
			in_word = false;
			continue;
		}
		if (!in_word) {
			if (k->n == ACCELKEY_WORDS) {
				k->n = 0;
				return false;
			}
			k->word[k->n++] = k->text + at;
			in_word = true;
		}
		k->text[at++] = str_lower_char(name[i]);
	}
	k->text[at] = '\0';
	return true;
}

void
accelkey_join(const struct accelkey *k, int from, int to, char dst[ACCELKEY_BYTES])
{
	size_t at = 0;

	for (int i = from; i < to; i++) {
		size_t n = strlen(k->word[i]);

		memcpy(dst + at, k->word[i], n);
		at += n;
	}
	dst[at] = '\0';
}

bool
accelkey_is_maker(const char *word)
{
	static const char *const makers[] = { "nvidia", "tesla", "geforce", "grid", "amd", "ati",
		"radeon", "instinct", "intel", "habana", "google", "cloud", "aws", "amazon",
		"azure", "huawei", "cambricon", "hygon", "qualcomm", "xilinx", "r", "tm", NULL };

	return str_index(word, makers) >= 0;
}

bool
accelkey_is_tail(const char *word)
{
	static const char *const tails[] = { "gpu", "core", "tensor", "accelerator", "r", "tm",
		NULL };

	return str_index(word, tails) >= 0;
}
