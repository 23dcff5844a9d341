/*
 * tests/probe/fake.h - what the fake driver libraries are told to do: BERTH_FAKE="name=NVIDIA H100,bw=3000,bw@1=900".
 * A key with @N is for device N alone. Whole numbers, rates in GB/s and TFLOP/s, sizes as the key says.
 */
#ifndef BERTH_TESTS_FAKE_H
#define BERTH_TESTS_FAKE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *
fake_find(const char *key)
{
	const char *e = getenv("BERTH_FAKE");
	size_t n = strlen(key);

	while (e != NULL && *e != '\0') {
		if (strncmp(e, key, n) == 0 && e[n] == '=')
			return e + n + 1;
		e = strchr(e, ',');
		e = e != NULL ? e + 1 : NULL;
	}
	return NULL;
}

/* Text of a key, for device dev (-1: any), into buf; the default where it is not given. */
static const char *
fake_text(const char *key, int dev, const char *dflt, char *buf, size_t n)
{
	char one[64];
	const char *p;

	snprintf(one, sizeof(one), "%s@%d", key, dev);
	p = fake_find(one);
	p = p != NULL ? p : fake_find(key);
	if (p == NULL) {
		snprintf(buf, n, "%s", dflt);
		return buf;
	}
	snprintf(buf, n, "%.*s", (int)strcspn(p, ","), p);
	return buf;
}

static double
fake_number(const char *key, int dev, double dflt)
{
	char buf[64];

	fake_text(key, dev, "", buf, sizeof(buf));
	return buf[0] != '\0' ? strtod(buf, NULL) : dflt;
}

/* Is name the value of key? "" never. */
static inline int
fake_is(const char *key, int dev, const char *name)
{
	char buf[64];

	return strcmp(fake_text(key, dev, "", buf, sizeof(buf)), name) == 0 && name[0] != '\0';
}

#endif
