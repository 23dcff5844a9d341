/* src/util/arena.h - memory of one command, freed at once.  Floor: util. */
#ifndef BERTH_UTIL_ARENA_H
#define BERTH_UTIL_ARENA_H

#include <stdarg.h>
#include <stddef.h>

#include "util/err.h"

/*
 * An arena owns every object taken from it; arena_free() frees them all. Objects are aligned for
 * any type and zeroed. In a build with sanitizers each object is a malloc of its own, so that
 * overruns are seen.
 *
 * Taking from an arena never returns NULL: rows and strings of a command are small next to the
 * machine, and a command that cannot have them cannot go on. When memory is out (or a size
 * overflows) the hook is called with the size that was asked for; it must not return. The default
 * hook prints one line on stderr and exits with status 1; main may set another (to take a lock
 * file away first, say). Bytes from outside whose size an enemy can choose belong in a capped
 * struct buf, not here.
 */
struct arena;

typedef void arena_oom_fn(size_t size);
/*
 * For main alone, before the first arena; NULL brings the default back. The one mutable global of
 * this floor.
 */
void arena_on_oom(arena_oom_fn *hook);

struct arena *arena_new(void);
void arena_free(struct arena *a);  /* NULL is fine */
void arena_reset(struct arena *a); /* frees the objects, keeps the arena: for a loop's scratch */
size_t arena_bytes(const struct arena *a); /* bytes handed out since the last reset */

void *arena_alloc(struct arena *a, size_t n) __attribute__((malloc, returns_nonnull));
/* n objects of size bytes; n * size is checked; n == 0 gives a valid pointer. */
void *arena_array(struct arena *a, size_t n, size_t size) __attribute__((malloc, returns_nonnull));
/* arena_new_of(a, struct job) and arena_array_of(a, n, struct job): zeroed and of the right type.
 */
#define arena_new_of(a, type) ((type *)arena_alloc((a), sizeof(type)))
#define arena_array_of(a, n, type) ((type *)arena_array((a), (n), sizeof(type)))

char *arena_strdup(struct arena *a, const char *s) __attribute__((returns_nonnull));
/* At most n bytes of s. */
char *arena_strndup(struct arena *a, const char *s, size_t n) __attribute__((returns_nonnull));
void *arena_memdup(struct arena *a, const void *p, size_t n) __attribute__((returns_nonnull));
char *arena_printf(struct arena *a, const char *fmt, ...) BERTH_PRINTF(2, 3)
    __attribute__((returns_nonnull));
char *arena_vprintf(struct arena *a, const char *fmt, va_list ap) BERTH_PRINTF(2, 0)
    __attribute__((returns_nonnull));

#endif
