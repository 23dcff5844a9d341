/* src/model/accelkey.h - spellings of accelerator names, reduced to what they say.  Floor: model,
 * inside accel*.c. */
#ifndef BERTH_MODEL_ACCELKEY_H
#define BERTH_MODEL_ACCELKEY_H

#include <stdbool.h>
#include <stddef.h>

#define ACCELKEY_BYTES 160 /* no accelerator has a longer name */
#define ACCELKEY_WORDS 24

/* A name in lower case, cut into runs of letters and digits. */
struct accelkey {
	char text[ACCELKEY_BYTES];
	const char *word[ACCELKEY_WORDS];
	int n;
};

/* False if the name is too long to be one; then n is 0. Bytes beyond ASCII only separate words. */
bool accelkey_split(struct accelkey *k, const char *name, size_t len);
/* Words [from, to) glued together. */
void accelkey_join(const struct accelkey *k, int from, int to, char dst[ACCELKEY_BYTES]);
/* Words that say who makes a card or which line it belongs to, not which card it is. */
bool accelkey_is_maker(const char *word);
/* Words that may stand behind a name and add nothing to it: "Tensor Core GPU". */
bool accelkey_is_tail(const char *word);

#endif
