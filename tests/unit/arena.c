#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "tests/tap.h"
#include "util/arena.h"
#include "util/buf.h"
#include "util/pages.h"
#include "util/strmap.h"
#include "util/vec.h"

static void
test_alloc(struct arena *a)
{
	unsigned char *p[400];
	int aligned = 1, zeroed = 1, kept = 1;

	for (size_t i = 0; i < 400; i++) {
		size_t n = i * i;

		p[i] = arena_alloc(a, n);
		aligned = aligned && (uintptr_t)p[i] % _Alignof(max_align_t) == 0;
		for (size_t j = 0; j < n; j++)
			zeroed = zeroed && p[i][j] == 0;
		memset(p[i], (int)(i & 0xff), n);
	}
	for (size_t i = 0; i < 400; i++) {	/* nobody wrote into another's bytes */
		for (size_t j = 0; j < i * i; j++)
			kept = kept && p[i][j] == (i & 0xff);
	}
	tap_ok(aligned, "objects are aligned");
	tap_ok(zeroed, "objects are zeroed");
	tap_ok(kept, "objects do not overlap");
	tap_is_long((long long)arena_bytes(a), 399 * 400 * 799 / 6, "bytes are the sum of squares");
}

static void
test_reset(struct arena *a)
{
	int zeroed = 1;

	for (int round = 0; round < 3; round++) {
		unsigned char *p;

		arena_reset(a);
		p = arena_alloc(a, 1000);
		for (int i = 0; i < 1000; i++)
			zeroed = zeroed && p[i] == 0;
		memset(p, 0xff, 1000);
	}
	tap_ok(zeroed, "memory is zeroed again after a reset");
	tap_is_long((long long)arena_bytes(a), 1000, "a reset counts from 0");
}

static void
test_text(struct arena *a)
{
	const char bytes[] = { 'a', 'b', 'c' };	/* no NUL behind */

	tap_is_str(arena_strdup(a, "h100"), "h100", "strdup");
	tap_is_str(arena_strndup(a, bytes, sizeof(bytes)), "abc", "strndup stops at n");
	tap_is_str(arena_strndup(a, "ab\0cd", 5), "ab", "strndup stops at NUL");
	tap_is_str(arena_printf(a, "%s-%05d", "x", 42), "x-00042", "printf");
}

static void
test_vec(struct arena *a)
{
	VEC(struct { long i; char c; }) v = { 0 };
	int kept = 1;

	for (long i = 0; i < 10000; i++) {
		VEC_ADD(a, &v)->i = i * 3;
		v.v[v.n - 1].c = 'x';
	}
	for (long i = 0; i < 10000; i++)
		kept = kept && v.v[i].i == i * 3 && v.v[i].c == 'x';
	tap_ok(kept && v.n == 10000, "10000 items are kept in order");
}

static void
test_strmap(struct arena *a)
{
	struct strmap m = { 0 };
	char key[32];
	int ok = 1, added;

	tap_ok(strmap_get(&m, "x") == NULL, "an empty map has nothing");
	for (size_t i = 0; i < 5000; i++) {
		snprintf(key, sizeof(key), "key-%zu", i);
		ok = ok && *strmap_add(a, &m, key, i, &added) == i && added;
	}
	for (size_t i = 0; i < 5000; i++) {
		snprintf(key, sizeof(key), "key-%zu", i);
		ok = ok && *strmap_get(&m, key) == i && *strmap_add(a, &m, key, 7, &added) == i && !added;
	}
	tap_ok(ok && m.n == 5000, "5000 keys are found again");
	tap_ok(strmap_get(&m, "key-5000") == NULL, "a key that was never added is not");
}

static void
test_buf(void)
{
	struct berth_err err = { 0 };
	struct buf b;

	buf_init(&b, 10);
	tap_is_str(b.p, "", "an empty buffer is an empty string");
	tap_ok(buf_check(&b, "x", &err) == BERTH_OK, "and has not failed");
	buf_add_str(&b, "12345");
	buf_printf(&b, "%d", 678);
	tap_is_str(b.p, "12345678", "additions follow each other");
	tap_ok(buf_add_str(&b, "abc") == BERTH_EINVAL, "over the cap is refused");
	tap_is_str(b.p, "12345678", "and nothing is added in part");
	tap_ok(buf_add_char(&b, 'x') == BERTH_EINVAL, "the failure is kept");
	tap_code(buf_check(&b, "answer", &err), BERTH_EINVAL, &err);
	tap_is_str(err.msg, "answer: more than 10 bytes", "the message names the cap");
	buf_clear(&b);
	buf_add_str(&b, "1234567890");
	tap_code(buf_check(&b, "answer", &err), BERTH_OK, &err);
	tap_is_long((long long)b.len, 10, "exactly the cap fits");
	buf_wipe(&b);
	tap_ok(b.len == 0 && b.p[0] == '\0', "wiped");
	tap_ok(buf_reserve(&b, (size_t)-1) == NULL, "a size that overflows is over the cap");
	buf_free(&b);
}

static jmp_buf oom;
static size_t oom_size;

static void
oom_hook(size_t size)
{
	oom_size = size;
	longjmp(oom, 1);
}

static void
test_oom(struct arena *a)
{
	arena_on_oom(oom_hook);
	if (setjmp(oom) == 0) {
		arena_array(a, SIZE_MAX / 2, 3);
		tap_ok(0, "a size that overflows is refused");
	} else {
		tap_ok(1, "a size that overflows is refused");
	}
	if (setjmp(oom) == 0) {
		arena_alloc(a, SIZE_MAX - 100);
		tap_ok(0, "more than there can be is refused");
	} else {
		tap_ok(oom_size == SIZE_MAX - 100, "more than there can be is refused");
	}
	arena_on_oom(NULL);
	tap_is_str(arena_strdup(a, "still"), "still", "the arena goes on");
}

/* Memory in large pages: of any size, all zeros, all of it ours. */
static void
test_pages(void)
{
	static const size_t sizes[] = { 0, 1, 4096, 2097151, 2097152, 2097153, 5000000 };
	int wrong = 0;

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		unsigned char *p = pages_new(sizes[i]);

		wrong += p == NULL;
		for (size_t k = 0; p != NULL && k < sizes[i]; k++)
			wrong += p[k] != 0;
		if (p != NULL)
			memset(p, 0xa5, sizes[i]);
		pages_free(p, sizes[i]);
	}
	tap_is_long(wrong, 0, "pages are zeros, and written to their ends");
	pages_free(NULL, 0);
	pages_free(NULL, 5000000);
}

int
main(void)
{
	struct arena *a = arena_new();

	test_alloc(a);
	test_oom(a);
	test_reset(a);
	test_text(a);
	test_vec(a);
	test_strmap(a);
	test_buf();
	test_pages();
	arena_free(a);
	return tap_done();
}
