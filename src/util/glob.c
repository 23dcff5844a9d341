#include "util/glob.h"
#include "util/str.h"

/* The byte at **p against c: a set, an escape or itself; moves *p behind it. */
static bool
glob_one(const char **p, char c)
{
	const char *s = *p, *end = s + 1;
	bool not_in, hit = false;

	if (*s == '?')
		return *p = s + 1, true;
	if (*s == '\\' && s[1] != '\0')
		return *p = s + 2, str_lower_char(s[1]) == c;
	if (*s == '[') {
		not_in = s[1] == '!' || s[1] == '^';
		end = s + 1 + not_in;
		s = end;
		while (*end != '\0' && (*end != ']' || end == s)) {
			char lo = str_lower_char(*end), hi = lo;

			if (end[1] == '-' && end[2] != '\0' && end[2] != ']') {
				hi = str_lower_char(end[2]);
				end += 2;
			}
			hit = hit || (lo <= c && c <= hi);
			end++;
		}
		if (*end == ']')
			return *p = end + 1, hit != not_in;
	}
	s = (*p)++;
	return str_lower_char(*s) == c;
}

bool
glob_match(const char *pattern, const char *s)
{
	const char *star = NULL, *from = s;

	while (*s != '\0') {
		const char *p = pattern;

		if (*p == '*') {
			star = ++pattern;
			from = s;
		} else if (*p != '\0' && glob_one(&p, str_lower_char(*s))) {
			pattern = p;
			s++;
		} else if (star != NULL) {
			/* The last star takes one byte more; no earlier one needs to. */
			pattern = star;
			s = ++from;
		} else {
			return false;
		}
	}
	while (*pattern == '*')
		pattern++;
	return *pattern == '\0';
}

bool
glob_match_any(const char *const *patterns, size_t n, const char *s)
{
	for (size_t i = 0; i < n; i++) {
		if (glob_match(patterns[i], s))
			return true;
	}
	return n == 0;
}
