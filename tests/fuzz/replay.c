/*
 * Runs a fuzz target over its seeds, and over small changes of them that are the same each time: each seed once as it
 * is and FUZZ_ROUNDS times with bytes turned, cut out, doubled or exchanged. Arguments, if any, are files to run
 * instead (an input that the fuzzer found).
 */
#include <dirent.h>
#include <string.h>
#include <unistd.h>

#include "tests/fuzz/fuzz.h"
#include "tests/tap.h"
#include "util/fileio.h"
#include "util/rng.h"

#define FUZZ_ROUNDS 300
#define FUZZ_BYTES ((size_t)1 << 20)

/* A copy of exactly its size, so that a sanitizer sees a read beyond it. */
static void
run_copy(const char *bytes, size_t n)
{
	uint8_t *copy = malloc(n > 0 ? n : 1);

	if (copy == NULL)
		abort();
	memcpy(copy, bytes, n);
	LLVMFuzzerTestOneInput(copy, n);
	free(copy);
}

/* One change of p [n], which has room for twice as much; returns the new length. */
static size_t
mutate(struct rng *r, char *p, size_t n)
{
	static const char tokens[] = "\0\n\r\",:;{}[]\\-&*#!'0129eE+.TZ \t\xff\xc3";
	size_t at = n > 0 ? (size_t)rng_below(r, n) : 0, len = n > at ? 1 + (size_t)rng_below(r, n - at) : 0;

	switch (rng_below(r, 5)) {
	case 0:
		if (n > 0)
			p[at] = (char)(p[at] ^ (1 << rng_below(r, 8)));
		return n;
	case 1:
		if (n > 0)
			p[at] = tokens[rng_below(r, sizeof(tokens) - 1)];
		return n;
	case 2:
		return at;
	case 3:
		memmove(p + at, p + at + len, n - at - len);
		return n - len;
	default:
		memmove(p + at + len, p + at, n - at);
		return n + len;
	}
}

static void
run_seed(struct arena *a, const char *path, int rounds)
{
	struct berth_err err = { 0 };
	char *bytes = NULL, *p;
	struct rng r;
	size_t n = 0;

	if (fileio_slurp(a, path, FUZZ_BYTES, &bytes, &n, &err) != BERTH_OK) {
		tap_ok(0, "%s", err.msg);
		return;
	}
	run_copy(bytes, n);
	rng_seed(&r, n);
	p = arena_alloc(a, 16 * n + 16);
	for (int i = 0; i < rounds; i++) {
		size_t m = n;

		memcpy(p, bytes, n);
		for (uint64_t k = rng_below(&r, 4); k > 0; k--)
			m = mutate(&r, p, m);
		run_copy(p, m);
	}
	tap_ok(1, "%s", strrchr(path, '/') != NULL ? strrchr(path, '/') + 1 : path);
	arena_reset(a);
}

int
main(int argc, char **argv)
{
	const char *top = getenv("TOP_SRCDIR");
	struct arena *a = arena_new(), *names = arena_new();
	struct dirent **list = NULL;
	char *dir;
	int n;

	for (int i = 1; i < argc; i++)
		run_seed(a, argv[i], 0);
	if (argc == 1) {
		dir = arena_printf(names, "%s/tests/fuzz/seeds/%s", top != NULL ? top : ".", fuzz_name);
		n = scandir(dir, &list, NULL, alphasort);
		tap_ok(n > 2, "there are seeds in %s", dir);
		for (int i = 0; i < n; i++) {
			if (list[i]->d_name[0] != '.')
				run_seed(a, arena_printf(names, "%s/%s", dir, list[i]->d_name), FUZZ_ROUNDS);
			free(list[i]);
		}
		free(list);
	}
	arena_free(a);
	arena_free(names);
	return tap_done();
}
