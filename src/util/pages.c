#include "config.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "util/pages.h"

#define PAGES_HUGE ((size_t)2 * 1024 * 1024)

/* With sanitizers a block of exactly its size, so that a step beyond it is seen. */
#ifdef BERTH_SANITIZED
#define PAGES_LEAST SIZE_MAX
#else
#define PAGES_LEAST PAGES_HUGE
#endif

#ifdef MADV_HUGEPAGE
#define PAGES_ADVICE MADV_HUGEPAGE
#else
#define PAGES_ADVICE MADV_NORMAL
#endif

static bool
pages_mapped(size_t n)
{
	return n >= PAGES_LEAST && n <= SIZE_MAX - 2 * PAGES_HUGE;
}

/* As many bytes as pages_new() maps for n. */
static size_t
pages_room(size_t n)
{
	return (n + PAGES_HUGE - 1) / PAGES_HUGE * PAGES_HUGE;
}

void *
pages_new(size_t n)
{
	size_t room = pages_room(n), before;
	char *p;

	if (!pages_mapped(n))
		return calloc(1, n > 0 ? n : 1);
	p = mmap(NULL, room + PAGES_HUGE, PROT_READ | PROT_WRITE,
	    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (p == MAP_FAILED)
		return NULL;
	before = (PAGES_HUGE - (uintptr_t)p % PAGES_HUGE) % PAGES_HUGE;
	if (before > 0)
		(void)munmap(p, before);
	(void)munmap(p + before + room, PAGES_HUGE - before);
	(void)madvise(p + before, room, PAGES_ADVICE); /* small pages do as well */
	return p + before;
}

void
pages_free(void *p, size_t n)
{
	if (!pages_mapped(n))
		free(p);
	else if (p != NULL)
		(void)munmap(p, pages_room(n));
}
