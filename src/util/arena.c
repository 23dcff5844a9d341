#include "config.h"

#include <stdalign.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/arena.h"

/* With sanitizers every object is a block of exactly its size, so that a step beyond it is seen. */
#ifdef BERTH_SANITIZED
#define ARENA_BLOCK ((size_t)0)
#else
#define ARENA_BLOCK ((size_t)64 * 1024)
#endif
#define ARENA_ALIGN alignof(max_align_t)

struct arena_block {
	alignas(max_align_t) struct arena_block *next;
	size_t size, used;
};

struct arena {
	struct arena_block *blocks; /* the first is the one being filled */
	size_t bytes;
};

static void
arena_exit(size_t size)
{
	fprintf(stderr, "berth: out of memory (%zu bytes more were needed)\n", size);
	exit(1);
}

static arena_oom_fn *arena_oom_hook = arena_exit;

void
arena_on_oom(arena_oom_fn *hook)
{
	arena_oom_hook = hook != NULL ? hook : arena_exit;
}

static _Noreturn void
arena_oom(size_t size)
{
	arena_oom_hook(size);
	abort(); /* a hook that returns is our own bug */
}

struct arena *
arena_new(void)
{
	struct arena *a = calloc(1, sizeof(*a));

	if (a == NULL)
		arena_oom(sizeof(*a));
	return a;
}

static void
arena_drop(struct arena_block *b)
{
	while (b != NULL) {
		struct arena_block *next = b->next;

		free(b);
		b = next;
	}
}

void
arena_free(struct arena *a)
{
	if (a == NULL)
		return;
	arena_drop(a->blocks);
	free(a);
}

void
arena_reset(struct arena *a)
{
	struct arena_block *b = a->blocks;

	a->bytes = 0;
	if (b == NULL || b->size != ARENA_BLOCK) {
		arena_drop(b);
		a->blocks = NULL;
		return;
	}
	arena_drop(b->next);
	b->next = NULL;
	memset(b + 1, 0, b->used);
	b->used = 0;
}

size_t
arena_bytes(const struct arena *a)
{
	return a->bytes;
}

static struct arena_block *
arena_block_new(size_t size)
{
	struct arena_block *b;

	if (size > PTRDIFF_MAX - sizeof(*b))
		arena_oom(size);
	b = calloc(1, sizeof(*b) + size);
	if (b == NULL)
		arena_oom(size);
	b->size = size;
	return b;
}

void *
arena_alloc(struct arena *a, size_t n)
{
	struct arena_block *b = a->blocks;
	size_t room =
	    n > SIZE_MAX - ARENA_ALIGN ? n : (n + ARENA_ALIGN - 1) / ARENA_ALIGN * ARENA_ALIGN;
	char *p;

	a->bytes += n;
	if (b != NULL && room <= b->size - b->used) {
		p = (char *)(b + 1) + b->used;
		b->used += room;
		return p;
	}
	if (room > ARENA_BLOCK / 4) { /* on its own, behind the block that is being filled */
		b = arena_block_new(n > 0 ? n : 1);
		b->used = b->size;
		if (a->blocks == NULL) {
			a->blocks = b;
		} else {
			b->next = a->blocks->next;
			a->blocks->next = b;
		}
		return b + 1;
	}
	b = arena_block_new(ARENA_BLOCK);
	b->next = a->blocks;
	b->used = room;
	a->blocks = b;
	return b + 1;
}

void *
arena_array(struct arena *a, size_t n, size_t size)
{
	if (size != 0 && n > SIZE_MAX / size)
		arena_oom(SIZE_MAX);
	return arena_alloc(a, n * size);
}

void *
arena_memdup(struct arena *a, const void *p, size_t n)
{
	void *q = arena_alloc(a, n);

	if (n > 0)
		memcpy(q, p, n);
	return q;
}

char *
arena_strndup(struct arena *a, const char *s, size_t n)
{
	size_t len = strnlen(s, n);
	char *p = arena_alloc(a, len + 1);

	memcpy(p, s, len);
	return p;
}

char *
arena_strdup(struct arena *a, const char *s)
{
	return arena_memdup(a, s, strlen(s) + 1);
}

char *
arena_vprintf(struct arena *a, const char *fmt, va_list ap)
{
	va_list again;
	char *p;
	int n;

	va_copy(again, ap);
	n = vsnprintf(NULL, 0, fmt, again);
	va_end(again);
	if (n < 0)
		return arena_strdup(a, "");
	p = arena_alloc(a, (size_t)n + 1);
	vsnprintf(p, (size_t)n + 1, fmt, ap);
	return p;
}

char *
arena_printf(struct arena *a, const char *fmt, ...)
{
	va_list ap;
	char *p;

	va_start(ap, fmt);
	p = arena_vprintf(a, fmt, ap);
	va_end(ap);
	return p;
}
