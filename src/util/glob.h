/* src/util/glob.h - shell patterns over names.  Floor: util. */
#ifndef BERTH_UTIL_GLOB_H
#define BERTH_UTIL_GLOB_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Whether pattern matches all of s: '*' any run, '?' one byte, '[a-z]' '[!a-z]' one of a set, '\'
 * the next byte itself; '/' and '.' are ordinary. ASCII case does not count. Time is at most
 * |pattern| * |s|. A '[' without ']' is an ordinary byte.
 */
bool glob_match(const char *pattern, const char *s);
/* Whether any of the n patterns does; true for n == 0: no pattern is no limit. */
bool glob_match_any(const char *const *patterns, size_t n, const char *s);

#endif
