/* src/util/str.h - text in no locale: strict numbers, lists, suggestions, UTF-8.  Floor: util. */
#ifndef BERTH_UTIL_STR_H
#define BERTH_UTIL_STR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/arena.h"
#include "util/err.h"

bool str_eq(const char *a, const char *b);
bool str_ieq(const char *a, const char *b); /* ASCII letters in either case */
bool str_starts(const char *s, const char *prefix);
bool str_istarts(const char *s, const char *prefix);
bool str_ends(const char *s, const char *suffix);
/* Never by locale: ASCII, blank \t \n \v \f \r. */
static inline bool
str_is_space(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}
static inline bool
str_is_digit(char c)
{
	return c >= '0' && c <= '9';
}
static inline char
str_lower_char(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}
static inline bool
str_is_alnum(char c)
{
	return str_is_digit(c) || (str_lower_char(c) >= 'a' && str_lower_char(c) <= 'z');
}
/* Index of s in the NULL-terminated list, -1 if it is not there. */
int str_index(const char *s, const char *const *list);

/*
 * The whole string must be the number: no blanks, no "0x", no thousands separators, no NaN or
 * infinity; a leading '+' or '-' is fine. BERTH_EINVAL names the text and the range; *out is
 * written only on BERTH_OK.
 */
BERTH_MUST_CHECK enum berth_code str_to_i64(
    const char *s, int64_t min, int64_t max, int64_t *out, struct berth_err *err);
/* Decimal with optional fraction and exponent; correctly rounded; overflow is refused, underflow
 * gives 0. */
BERTH_MUST_CHECK enum berth_code str_to_double(
    const char *s, double min, double max, double *out, struct berth_err *err);
/*
 * Bytes: "4096", "64k" "64KiB" "2M" "1.5GiB" "1T" (powers of 1024, any case), "2MB" "1GB" (powers
 * of 1000).
 */
BERTH_MUST_CHECK enum berth_code str_to_size(
    const char *s, int64_t *bytes_out, struct berth_err *err);
/* true false yes no on off 1 0, any case. */
BERTH_MUST_CHECK enum berth_code str_to_bool(const char *s, bool *out, struct berth_err *err);

#define STR_DOUBLE_SIZE 32
/*
 * The shortest text that reads back as the same double ("0.1", "1e+20", "-0"); "nan", "inf",
 * "-inf". Returns dst.
 */
char *str_from_double(char dst[STR_DOUBLE_SIZE], double x);

char *str_join(struct arena *a, const char *const *v, size_t n, const char *sep);
/*
 * Pieces between separators, blanks around each taken off, empty ones kept; "" gives none.
 * NULL-terminated.
 */
char **str_split(struct arena *a, const char *s, char sep, size_t *n_out);
char *str_trim(struct arena *a, const char *s);  /* a copy without blanks at either end */
char *str_lower(struct arena *a, const char *s); /* a copy; ASCII letters only */
/*
 * Bytes of the character at s if it drives a terminal or turns a line's direction: C0 and C1
 * controls, DEL (ISO 6429), embeddings and overrides of Unicode's UAX 9; 0: it does not. "" is 0.
 */
size_t str_control_len(const char *s);
/* dst gets s, cut at size - 1 bytes (never inside a UTF-8 sequence); false if it was cut. */
bool str_copy(char *dst, size_t size, const char *s);

/*
 * Edits (insert, delete, replace, swap neighbours) from a to b; ASCII case does not count. At
 * most 64 bytes count.
 */
int str_distance(const char *a, const char *b);
/*
 * What the user may have meant: the nearest of the NULL-terminated list within a third of the
 * longer word's length (at least 1 edit), or one that word is a prefix of (two letters or more);
 * the first of equals; NULL if none.
 */
const char *str_suggest(const char *word, const char *const *list);

/*
 * Decodes the code point at s [n]; *len_out gets its bytes (1 for a bad byte). -1: bad (overlong,
 * surrogate, above U+10FFFF, cut off). n must be > 0.
 */
int32_t str_utf8_next(const char *s, size_t n, size_t *len_out);
bool str_utf8_valid(const char *s, size_t n);
/* A control character (C0 or DEL), which no name may have: its place, or -1. */
ptrdiff_t str_control(const char *s);
/*
 * Overwrites the password of each URL in s ("scheme://user:password@host") with
 * stars; true if there was any.
 */
bool str_hide_password(char *s);

/* Significant digits, at least 6, at which %g tells two numbers apart that differ; 17 at most. */
int str_digits_apart(double x, double y);

#endif
