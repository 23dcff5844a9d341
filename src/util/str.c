#include "config.h"

#include <string.h>

#include "util/str.h"

bool
str_eq(const char *a, const char *b)
{
	return strcmp(a, b) == 0;
}

bool
str_ieq(const char *a, const char *b)
{
	while (*a != '\0' && str_lower_char(*a) == str_lower_char(*b)) {
		a++;
		b++;
	}
	return *a == '\0' && *b == '\0';
}

bool
str_starts(const char *s, const char *prefix)
{
	return strncmp(s, prefix, strlen(prefix)) == 0;
}

bool
str_istarts(const char *s, const char *prefix)
{
	for (; *prefix != '\0'; s++, prefix++) {
		if (str_lower_char(*s) != str_lower_char(*prefix))
			return false;
	}
	return true;
}

bool
str_ends(const char *s, const char *suffix)
{
	size_t n = strlen(s), m = strlen(suffix);

	return n >= m && memcmp(s + n - m, suffix, m) == 0;
}

int
str_index(const char *s, const char *const *list)
{
	for (int i = 0; list[i] != NULL; i++) {
		if (strcmp(s, list[i]) == 0)
			return i;
	}
	return -1;
}

char *
str_join(struct arena *a, const char *const *v, size_t n, const char *sep)
{
	size_t len = 1, m = strlen(sep);
	char *s, *p;

	for (size_t i = 0; i < n; i++)
		len += strlen(v[i]) + m;
	s = p = arena_alloc(a, len);
	for (size_t i = 0; i < n; i++) {
		size_t k = strlen(v[i]);

		if (i > 0) {
			memcpy(p, sep, m);
			p += m;
		}
		memcpy(p, v[i], k);
		p += k;
	}
	return s;
}

static char *
str_cut(struct arena *a, const char *from, const char *to)
{
	while (from < to && str_is_space(*from))
		from++;
	while (from < to && str_is_space(to[-1]))
		to--;
	return arena_strndup(a, from, (size_t)(to - from));
}

char *
str_trim(struct arena *a, const char *s)
{
	return str_cut(a, s, s + strlen(s));
}

char **
str_split(struct arena *a, const char *s, char sep, size_t *n_out)
{
	size_t n = *s != '\0';
	char **v;

	for (const char *p = s; *p != '\0'; p++)
		n += *p == sep;
	v = arena_array_of(a, n + 1, char *);
	for (size_t i = 0; i < n; i++) {
		const char *end = strchr(s, sep);

		if (end == NULL)
			end = s + strlen(s);
		v[i] = str_cut(a, s, end);
		s = end + 1;
	}
	*n_out = n;
	return v;
}

char *
str_lower(struct arena *a, const char *s)
{
	char *t = arena_strdup(a, s);

	for (char *p = t; *p != '\0'; p++)
		*p = str_lower_char(*p);
	return t;
}

size_t
str_control_len(const char *s)
{
	const unsigned char *u = (const unsigned char *)s;

	if (u[0] == '\0')
		return 0;
	if (u[0] < 0x20 || u[0] == 0x7f)
		return 1;
	if (u[0] == 0xc2 && u[1] >= 0x80 && u[1] <= 0x9f)
		return 2;
	if (u[0] != 0xe2 || u[1] == '\0')
		return 0;
	return (u[1] == 0x80 && u[2] >= 0xaa && u[2] <= 0xae) ||
		       (u[1] == 0x81 && u[2] >= 0xa6 && u[2] <= 0xa9)
		   ? 3
		   : 0;
}

bool
str_copy(char *dst, size_t size, const char *s)
{
	size_t n = strlen(s), keep;

	if (n < size) {
		memcpy(dst, s, n + 1);
		return true;
	}
	if (size == 0)
		return false;
	keep = size - 1;
	while (keep > 0 && ((unsigned char)s[keep] & 0xc0) == 0x80)
		keep--;
	memcpy(dst, s, keep);
	dst[keep] = '\0';
	return false;
}

#define STR_EDIT_MAX 64

static int
str_min3(int a, int b, int c)
{
	int m = a < b ? a : b;

	return m < c ? m : c;
}

/* Optimal string alignment distance; rows of the table are kept three at a time. */
int
str_distance(const char *a, const char *b)
{
	int rows[3][STR_EDIT_MAX + 1];
	int n = (int)strnlen(a, STR_EDIT_MAX), m = (int)strnlen(b, STR_EDIT_MAX);

	for (int j = 0; j <= m; j++)
		rows[0][j] = j;
	for (int i = 1; i <= n; i++) {
		int *row = rows[i % 3], *up = rows[(i + 2) % 3], *up2 = rows[(i + 1) % 3];

		row[0] = i;
		for (int j = 1; j <= m; j++) {
			char x = str_lower_char(a[i - 1]), y = str_lower_char(b[j - 1]);

			row[j] = str_min3(up[j] + 1, row[j - 1] + 1, up[j - 1] + (x != y));
			if (i > 1 && j > 1 && x == str_lower_char(b[j - 2]) &&
			    y == str_lower_char(a[i - 2]) && up2[j - 2] + 1 < row[j])
				row[j] = up2[j - 2] + 1;
		}
	}
	return rows[n % 3][m];
}

const char *
str_suggest(const char *word, const char *const *list)
{
	const char *best = NULL, *longer = NULL;
	int len = (int)strlen(word), best_d = 0;

	for (; *list != NULL; list++) {
		int m = (int)strlen(*list), most = (len > m ? len : m) / 3;
		int d = str_distance(word, *list);

		if (most < 1)
			most = 1;
		if (d <= most && d < len && (best == NULL || d < best_d)) {
			best = *list;
			best_d = d;
		}
		if (longer == NULL && len >= 2 && str_istarts(*list, word))
			longer = *list;
	}
	return best != NULL ? best : longer;
}

int32_t
str_utf8_next(const char *s, size_t n, size_t *len_out)
{
	static const int32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	unsigned char c = (unsigned char)s[0];
	size_t len = c < 0x80 ? 1 : c < 0xc2 ? 0 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : c < 0xf5 ? 4 : 0;
	int32_t v;

	*len_out = 1;
	if (len == 1)
		return c;
	if (len == 0 || len > n)
		return -1;
	v = c & (0x7f >> len);
	for (size_t i = 1; i < len; i++) {
		if (((unsigned char)s[i] & 0xc0) != 0x80)
			return -1;
		v = v * 64 + ((unsigned char)s[i] & 0x3f);
	}
	if (v < least[len] || v > 0x10ffff || (v >= 0xd800 && v <= 0xdfff))
		return -1;
	*len_out = len;
	return v;
}

bool
str_utf8_valid(const char *s, size_t n)
{
	size_t len;

	for (; n > 0; s += len, n -= len) {
		if (str_utf8_next(s, n, &len) < 0)
			return false;
	}
	return true;
}

ptrdiff_t
str_control(const char *s)
{
	for (size_t i = 0; s[i] != '\0'; i++)
		if ((unsigned char)s[i] < 0x20 || s[i] == 0x7f)
			return (ptrdiff_t)i;
	return -1;
}

bool
str_hide_password(char *s)
{
	bool found = false;

	while ((s = strstr(s, "://")) != NULL) {
		size_t n, at = 0, colon;

		s += 3;
		n = strcspn(s, "/?# \t\n");
		for (size_t i = 0; i < n;
		     i++) /* a password may hold an @ of its own: the last one counts */
			at = s[i] == '@' ? i : at;
		colon = strcspn(s, ":");
		if (colon + 1 >= at)
			continue;
		memset(s + colon + 1, '*', at - colon - 1);
		found = true;
	}
	return found;
}
