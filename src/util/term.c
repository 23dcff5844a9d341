#include <errno.h>
#include <langinfo.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "util/buf.h"
#include "util/term.h"

enum { TERM_MIN = 20, TERM_MAX = 1000, TERM_DEFAULT = 80 };

bool
term_is_tty(FILE *f)
{
	int fd = fileno(f);

	return fd >= 0 && isatty(fd) == 1;
}

int
term_columns(FILE *f)
{
	const char *env = getenv("COLUMNS");
	struct winsize ws;
	char *end;
	long n;

	if (env != NULL && *env != '\0') {
		errno = 0;
		n = strtol(env, &end, 10);
		if (errno == 0 && *end == '\0' && n >= TERM_MIN && n <= TERM_MAX)
			return (int)n;
	}
	if (!term_is_tty(f))
		return 0;
	if (ioctl(fileno(f), TIOCGWINSZ, &ws) == 0 && ws.ws_col >= TERM_MIN &&
	    ws.ws_col <= TERM_MAX)
		return ws.ws_col;
	return TERM_DEFAULT;
}

bool
term_color(FILE *f)
{
	const char *no = getenv("NO_COLOR"), *term = getenv("TERM");

	if (no != NULL && *no != '\0')
		return false;
	if (term == NULL || *term == '\0' || strcmp(term, "dumb") == 0)
		return false;
	return term_is_tty(f);
}

bool
term_unicode(void)
{
	return strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
}

/* One character of s; *len_out its bytes. A byte that starts no valid sequence is a character of
 * its own. */
static uint32_t
term_decode(const char *s, size_t *len_out)
{
	const unsigned char *p = (const unsigned char *)s;
	size_t len = p[0] >= 0xf0 && p[0] < 0xf5 ? 4 : p[0] >= 0xe0 ? 3 : p[0] >= 0xc2 ? 2 : 1;
	uint32_t c;

	*len_out = 1;
	if (len == 1 || p[0] >= 0xf5)
		return p[0] < 0x80 ? p[0] : 0xfffd;
	c = p[0] & (0xffU >> (len + 1));
	for (size_t i = 1; i < len; i++) {
		if ((p[i] & 0xc0) != 0x80)
			return 0xfffd;
		c = c << 6 | (p[i] & 0x3fU);
	}
	*len_out = len;
	return c;
}

/*
 * Ranges from Unicode 15 EastAsianWidth.txt (W and F) and the common combining marks, merged where
 * only unassigned points lie between.
 */
static int
term_char_width(uint32_t c)
{
	static const struct {
		uint32_t from, to;
		int width;
	} rows[] = {
		{ 0x0300, 0x036f, 0 },
		{ 0x1100, 0x115f, 2 },
		{ 0x200b, 0x200f, 0 },
		{ 0x20d0, 0x20ff, 0 },
		{ 0x2e80, 0x303e, 2 },
		{ 0x3041, 0xa4cf, 2 },
		{ 0xa960, 0xa97f, 2 },
		{ 0xac00, 0xd7a3, 2 },
		{ 0xf900, 0xfaff, 2 },
		{ 0xfe00, 0xfe0f, 0 },
		{ 0xfe20, 0xfe2f, 0 },
		{ 0xfe30, 0xfe6f, 2 },
		{ 0xff00, 0xff60, 2 },
		{ 0xffe0, 0xffe6, 2 },
		{ 0x1f300, 0x1f64f, 2 },
		{ 0x1f680, 0x1f6ff, 2 },
		{ 0x1f900, 0x1f9ff, 2 },
		{ 0x20000, 0x3fffd, 2 },
	};

	if (c < 0x300)
		return 1;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (c >= rows[i].from && c <= rows[i].to)
			return rows[i].width;
	return 1;
}

static int
term_width_of(const char *s, size_t n)
{
	int width = 0;
	size_t len;

	for (const char *end = s + n; s < end && *s != '\0'; s += len)
		width += term_char_width(term_decode(s, &len));
	return width;
}

int
term_width(const char *s)
{
	return term_width_of(s, strlen(s));
}

size_t
term_fit(const char *s, int columns)
{
	size_t at = 0, len;

	while (s[at] != '\0') {
		int w = term_char_width(term_decode(s + at, &len));

		if (w > columns)
			break;
		columns -= w;
		at += len;
	}
	return at;
}

void
term_wrap(const char *text, size_t len, int used, int indent, int columns, struct buf *out)
{
	const char *end = text + len;
	bool first = true; /* of its line */
	int gap = 1;       /* spaces before the word, which stay inside a line */

	while (text < end) {
		const char *space = memchr(text, ' ', (size_t)(end - text));
		size_t n = space != NULL ? (size_t)(space - text) : (size_t)(end - text);
		int w = term_width_of(text, n);

		if (!first && used + gap + w > columns) {
			buf_printf(out, "\n%*s", indent, "");
			used = indent;
			first = true;
		}
		buf_printf(out, "%*s", first ? 0 : gap, "");
		buf_add(out, text, n);
		used += w + (first ? 0 : gap);
		first = false;
		for (text += n, gap = 0; text < end && *text == ' '; text++)
			gap++;
	}
}
