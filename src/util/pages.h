/* src/util/pages.h - large memory that is touched all over: in huge pages where the kernel has
 * them.  Floor: util. */
#ifndef BERTH_UTIL_PAGES_H
#define BERTH_UTIL_PAGES_H

#include <stddef.h>

/* n bytes of zeros, the caller's to give to pages_free() with the same n; NULL: out of memory. What
 * is not touched takes no memory. */
void *pages_new(size_t n);
void pages_free(void *p, size_t n); /* NULL is fine */

#endif
