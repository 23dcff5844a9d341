#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "util/csv.h"
#include "util/str.h"

#define CSV_CHUNK ((size_t)64 * 1024)

struct csv {
	FILE *f; /* NULL: bytes */
	bool own;
	bool eof;
	const char *bytes;
	size_t bytes_left;
	char *name;
	char *buf;             /* [size + 1]: room for the NUL of a last field */
	size_t size, pos, end; /* the next record starts at pos; bytes up to end are there */
	char sep;
	long line; /* of buf[pos] */
	long record_line;
	char *head; /* text of the header's names */
	char **names;
	size_t n_names;
	struct csv_row row; /* field [n_names] */
};

/* A record in the buffer, still as it came. */
struct csv_span {
	size_t len;  /* without the line end */
	size_t skip; /* to the next record */
	long lines;
	bool quotes;
	const char *bad; /* why it is refused, or NULL */
};

static enum berth_code
csv_read(struct csv *c, struct berth_err *err)
{
	size_t room = c->size - c->end, got;

	if (c->f == NULL) {
		got = c->bytes_left < room ? c->bytes_left : room;
		if (got > 0)
			memcpy(c->buf + c->end, c->bytes, got);
		c->bytes += got;
		c->bytes_left -= got;
	} else {
		errno = 0;
		got = fread(c->buf + c->end, 1, room, c->f);
		if (got < room && ferror(c->f))
			return err_sys(err, BERTH_EIO, errno != 0 ? errno : EIO, "%s", c->name);
	}
	c->end += got;
	c->eof = got < room;
	return BERTH_OK;
}

/* More bytes behind end: moves what is left to the front, and grows while the record is under the
 * cap. */
static enum berth_code
csv_fill(struct csv *c, struct berth_err *err)
{
	if (c->pos > 0) {
		memmove(c->buf, c->buf + c->pos, c->end - c->pos);
		c->end -= c->pos;
		c->pos = 0;
	}
	if (c->size - c->end < CSV_CHUNK) {
		size_t size = c->size * 2 + CSV_CHUNK;
		char *p = realloc(c->buf, size + 1);

		if (p == NULL)
			return err_set(err, BERTH_ENOMEM, "%s: out of memory", c->name);
		c->buf = p;
		c->size = size;
	}
	return csv_read(c, err);
}

/* Behind the quoted field that starts at p (on its quote); NULL: it does not end before end. */
static const char *
csv_quoted_end(const char *p, const char *end, long *lines)
{
	const char *from = ++p;

	for (;;) {
		p = memchr(p, '"', (size_t)(end - p));
		if (p == NULL)
			return NULL;
		if (p + 1 == end || p[1] != '"')
			break;
		p += 2;
	}
	while ((from = memchr(from, '\n', (size_t)(p - from))) != NULL) {
		from++;
		(*lines)++;
	}
	return p + 1;
}

/* Finds the line end of a record with quotes in it; false: not before end. */
static bool
csv_find_quoted(const struct csv *c, struct csv_span *s)
{
	const char *start = c->buf + c->pos, *p = start, *end = c->buf + c->end;

	s->lines = 1;
	for (;;) {
		const char *nl, *next;

		if (p < end && *p == '"') {
			p = csv_quoted_end(p, end, &s->lines);
			if (p == NULL || (p == end && !c->eof)) /* the next byte may be a quote */
				return false;
		}
		nl = memchr(p, '\n', (size_t)(end - p));
		if (nl == NULL && !c->eof)
			return false;
		next = memchr(p, c->sep, (size_t)((nl != NULL ? nl : end) - p));
		if (next != NULL) {
			p = next + 1;
			continue;
		}
		s->len = (size_t)((nl != NULL ? nl : end) - start);
		s->skip = s->len + (nl != NULL);
		return true;
	}
}

/* Finds the record at pos, in what is there; false: more bytes are needed. */
static bool
csv_find(const struct csv *c, struct csv_span *s)
{
	const char *start = c->buf + c->pos, *nl;
	size_t left = c->end - c->pos;

	nl = memchr(start, '\n', left);
	if (nl == NULL && !c->eof && left <= CSV_RECORD_MAX)
		return false;
	*s = (struct csv_span){ .len = nl != NULL ? (size_t)(nl - start) : left, .lines = 1 };
	s->skip = s->len + (nl != NULL);
	if (s->len <= CSV_RECORD_MAX && memchr(start, '"', s->len) != NULL) {
		struct csv_span quoted = { .quotes = true };

		if (csv_find_quoted(c, &quoted))
			*s = quoted;
		else if (c->eof || left > CSV_RECORD_MAX)
			s->bad = c->eof ? "a quote is never closed"
					: "a quote is not closed within 1 MiB";
		else
			return false;
	}
	if (s->len > CSV_RECORD_MAX)
		s->bad = "the record is longer than 1 MiB";
	else if (s->bad == NULL && memchr(start, '\0', s->len) != NULL)
		s->bad = "a NUL byte: this is not text";
	return true;
}

/* Drops the rest of a line that is longer than the cap. */
static enum berth_code
csv_skip_line(struct csv *c, struct berth_err *err)
{
	for (;;) {
		char *nl = memchr(c->buf + c->pos, '\n', c->end - c->pos);
		enum berth_code rc;

		c->pos = nl != NULL ? (size_t)(nl - c->buf) + 1 : c->end;
		if (nl != NULL || c->eof)
			return BERTH_OK;
		rc = csv_fill(c, err);
		if (rc != BERTH_OK)
			return rc;
	}
}

/*
 * Undoes the quotes of the field at *p and moves *p to its end (a separator, or end); end is the
 * record's. False: there is text behind the closing quote.
 */
static bool
csv_unquote(char **p, const char *end, char sep)
{
	char *to = *p, *from = *p + 1;

	for (;;) {
		char *quote = memchr(from, '"', (size_t)(end - from));
		size_t n = (size_t)(quote - from);

		memmove(to, from, n);
		to += n;
		from = quote + 1;
		if (from == end || *from != '"')
			break;
		*to++ = *from++;
	}
	*p = from;
	if (from != end && *from != sep)
		return false;
	if (to < from)
		*to = '\0';
	return true;
}

/*
 * Splits the record p [len], whose next byte may be overwritten, into field [most]; *n_out counts
 * all fields but empty ones behind the most-th. NULL, or why it is refused.
 */
static const char *
csv_split(char *p, const struct csv_span *s, char sep, char **field, size_t most, size_t *n_out)
{
	char *end = p + s->len;
	size_t n = 0, filled = 0;

	*end = '\0';
	for (;;) {
		char *from = p, *next;

		if (n < most)
			field[n] = p;
		n++;
		if (s->quotes && p < end && *p == '"' && !csv_unquote(&p, end, sep))
			return "text behind a closing quote: double the quotes within a field";
		next = memchr(p, sep, (size_t)(end - p));
		if (next != from)
			filled = next != NULL || from != end ? n : filled;
		if (next == NULL)
			break;
		*next = '\0';
		p = next + 1;
	}
	*n_out = n > most && filled <= most ? most : n;
	return NULL;
}

static enum berth_code
csv_refuse(const struct csv *c, struct berth_err *err, const char *why)
{
	err_set(err, BERTH_EINVAL, "%s", why);
	err_at(err, "%s:%ld", c->name, c->record_line);
	return BERTH_EINVAL;
}

/* The next record that is not an empty line; span.len 0: the end. */
static enum berth_code
csv_take(struct csv *c, struct csv_span *s, struct berth_err *err)
{
	enum berth_code rc;

	for (;;) {
		const char *start;

		while (c->pos == c->end || !csv_find(c, s)) {
			if (c->eof) {
				*s = (struct csv_span){ 0 };
				return BERTH_OK;
			}
			rc = csv_fill(c, err);
			if (rc != BERTH_OK)
				return rc;
		}
		c->record_line = c->line;
		start = c->buf + c->pos;
		if (s->bad == NULL && s->len > 0 && start[s->len - 1] == '\r')
			s->len--;
		if (s->len > 0)
			return BERTH_OK;
		c->pos += s->skip;
		c->line++;
	}
}

static enum berth_code
csv_pass(struct csv *c, const struct csv_span *s, struct berth_err *err)
{
	bool cut = s->bad != NULL && s->len > CSV_RECORD_MAX && s->skip == s->len;

	c->pos += s->skip;
	c->line += s->lines;
	return cut ? csv_skip_line(c, err) : BERTH_OK;
}

enum berth_code
csv_next(struct csv *c, const struct csv_row **row_out, struct berth_err *err)
{
	struct csv_span s;
	enum berth_code rc;
	const char *bad;
	size_t n = 0;

	*row_out = NULL;
	rc = csv_take(c, &s, err);
	if (rc != BERTH_OK || s.len == 0)
		return rc;
	bad = s.bad;
	if (bad == NULL)
		bad = csv_split(c->buf + c->pos, &s, c->sep, c->row.field, c->n_names, &n);
	rc = csv_pass(c, &s, err);
	if (rc != BERTH_OK)
		return rc;
	if (bad != NULL)
		return csv_refuse(c, err, bad);
	if (n != c->n_names) {
		err_set(err, BERTH_EINVAL, "%zu field%s, but the header has %zu", n,
		    n == 1 ? "" : "s", c->n_names);
		err_at(err, "%s:%ld", c->name, c->record_line);
		return BERTH_EINVAL;
	}
	c->row.n = n;
	c->row.line = c->record_line;
	*row_out = &c->row;
	return BERTH_OK;
}

/* "sep=;", a first line that tells spreadsheets how to read the others. */
static bool
csv_says_separator(const char *p, size_t n, char *sep_out)
{
	char line[8];

	if (n > 0 && p[n - 1] == '\r')
		n--;
	if (n > 1 && p[0] == '"' && p[n - 1] == '"') {
		p++;
		n -= 2;
	}
	if (n != 5)
		return false;
	memcpy(line, p, 4);
	line[4] = '\0';
	*sep_out = p[4];
	return str_ieq(line, "sep=") && strchr(",;\t|", p[4]) != NULL;
}

static char
csv_sniff(const char *p, size_t n)
{
	static const char seps[] = { ',', ';', '\t' };
	size_t count[sizeof(seps)] = { 0 }, best = 0;
	bool quoted = false;

	for (size_t i = 0; i < n; i++) {
		quoted = quoted != (p[i] == '"');
		for (size_t k = 0; k < sizeof(seps) && !quoted; k++)
			count[k] += p[i] == seps[k];
	}
	for (size_t k = 1; k < sizeof(seps); k++) {
		if (count[k] > count[best])
			best = k;
	}
	return seps[best];
}

/*
 * What the first bytes say against this being CSV in UTF-8; NULL: nothing. Takes a UTF-8 byte
 * order mark off.
 */
static const char *
csv_foreign(struct csv *c)
{
	size_t n = c->end - c->pos;
	const char *p = c->buf + c->pos;

	if (n >= 3 && memcmp(p, "\xef\xbb\xbf", 3) == 0)
		c->pos += 3;
	else if (n >= 2 && (memcmp(p, "\xff\xfe", 2) == 0 || memcmp(p, "\xfe\xff", 2) == 0))
		return "this is UTF-16: save it as UTF-8 (iconv -f UTF-16 -t UTF-8)";
	else if (n >= 2 && memcmp(p, "\x1f\x8b", 2) == 0)
		return "this is compressed: give zcat's output on stdin, with - as the file";
	else if (n >= 4 && memcmp(p, "PK\x03\x04", 4) == 0)
		return "this is a zip archive or a spreadsheet: export it as CSV";
	else if (n > 0 && memchr(p, '\n', n) == NULL && memchr(p, '\r', n - 1) != NULL)
		return "its lines end in CR alone: give it LF (tr '\\r' '\\n')";
	return NULL;
}

static enum berth_code
csv_check_names(struct csv *c, struct berth_err *err)
{
	for (size_t i = 0; i < c->n_names; i++) {
		char *s = c->names[i], *e = s + strlen(s);

		while (str_is_space(*s))
			s++;
		while (e > s && str_is_space(e[-1]))
			*--e = '\0';
		c->names[i] = s;
		for (size_t j = 0; j < i; j++) {
			if (*s == '\0' || !str_ieq(s, c->names[j]))
				continue;
			err_set(
			    err, BERTH_EINVAL, "the column '%.60s' stands twice in the header", s);
			err_at(err, "%s:%ld", c->name, c->record_line);
			return BERTH_EINVAL;
		}
	}
	return BERTH_OK;
}

/* Keeps a copy of the header's text, split into names. */
static enum berth_code
csv_keep_header(struct csv *c, const struct csv_span *s, struct berth_err *err)
{
	const char *start = c->buf + c->pos, *bad;
	size_t most = 1;

	for (size_t i = 0; i < s->len; i++)
		most += start[i] == c->sep;
	if (most > CSV_FIELDS_MAX)
		return csv_refuse(c, err, "the header has more than 4096 columns");
	c->head = malloc(s->len + 1);
	c->names = calloc(most, sizeof(*c->names));
	c->row.field = calloc(most, sizeof(*c->row.field));
	if (c->head == NULL || c->names == NULL || c->row.field == NULL)
		return err_set(err, BERTH_ENOMEM, "%s: out of memory", c->name);
	memcpy(c->head, start, s->len);
	bad = csv_split(c->head, s, c->sep, c->names, most, &c->n_names);
	if (bad != NULL)
		return csv_refuse(c, err, bad);
	return csv_check_names(c, err);
}

static enum berth_code
csv_read_header(struct csv *c, struct berth_err *err)
{
	enum berth_code rc = csv_fill(c, err);
	const char *foreign, *nl;
	struct csv_span s;

	if (rc != BERTH_OK)
		return rc;
	foreign = csv_foreign(c);
	if (foreign != NULL)
		return err_set(err, BERTH_EINVAL, "%s: %s", c->name, foreign);
	nl = memchr(c->buf + c->pos, '\n', c->end - c->pos);
	if (nl != NULL &&
	    csv_says_separator(c->buf + c->pos, (size_t)(nl - c->buf) - c->pos, &c->sep)) {
		c->pos = (size_t)(nl - c->buf) + 1;
		c->line++;
	} else {
		c->sep = csv_sniff(
		    c->buf + c->pos, nl != NULL ? (size_t)(nl - c->buf) - c->pos : c->end - c->pos);
	}
	rc = csv_take(c, &s, err);
	if (rc != BERTH_OK)
		return rc;
	if (s.len == 0)
		return err_set(err, BERTH_EINVAL,
		    "%s: empty: a header line with the names of the columns is needed", c->name);
	if (s.bad != NULL)
		return csv_refuse(c, err, s.bad);
	rc = csv_keep_header(c, &s, err);
	return rc != BERTH_OK ? rc : csv_pass(c, &s, err);
}

static enum berth_code
csv_start(const struct csv *from, const char *name, struct csv **csv_out, struct berth_err *err)
{
	struct csv *c = malloc(sizeof(*c));
	enum berth_code rc;

	if (c == NULL) {
		if (from->own)
			fclose(from->f);
		return err_set(err, BERTH_ENOMEM, "%s: out of memory", name);
	}
	*c = *from;
	c->line = c->record_line = 1;
	c->name = strdup(name);
	rc = c->name != NULL ? csv_read_header(c, err)
			     : err_set(err, BERTH_ENOMEM, "%s: out of memory", name);
	if (rc != BERTH_OK) {
		csv_close(c);
		return rc;
	}
	*csv_out = c;
	return BERTH_OK;
}

enum berth_code
csv_open(const char *path, struct csv **csv_out, struct berth_err *err)
{
	struct csv from = { .own = true };

	if (strcmp(path, "-") == 0)
		return csv_open_stream(stdin, "stdin", csv_out, err);
	from.f = fopen(path, "rbe");
	if (from.f == NULL)
		return err_sys(err,
		    errno == ENOENT || errno == ENOTDIR ? BERTH_ENOTFOUND : BERTH_EIO, errno, "%s",
		    path);
	return csv_start(&from, path, csv_out, err);
}

enum berth_code
csv_open_stream(FILE *f, const char *name, struct csv **csv_out, struct berth_err *err)
{
	return csv_start(&(struct csv){ .f = f }, name, csv_out, err);
}

enum berth_code
csv_open_bytes(
    const void *bytes, size_t n, const char *name, struct csv **csv_out, struct berth_err *err)
{
	return csv_start(&(struct csv){ .bytes = bytes, .bytes_left = n }, name, csv_out, err);
}

void
csv_close(struct csv *c)
{
	if (c == NULL)
		return;
	if (c->own)
		fclose(c->f);
	free(c->name);
	free(c->buf);
	free(c->head);
	free(c->names);
	free(c->row.field);
	free(c);
}

const char *
csv_name(const struct csv *c)
{
	return c->name;
}

char
csv_separator(const struct csv *c)
{
	return c->sep;
}

size_t
csv_columns(const struct csv *c)
{
	return c->n_names;
}

const char *
csv_header(const struct csv *c, size_t i)
{
	return i < c->n_names ? c->names[i] : "";
}

int
csv_column(const struct csv *c, const char *name)
{
	for (size_t i = 0; i < c->n_names; i++) {
		if (str_ieq(c->names[i], name))
			return (int)i;
	}
	return -1;
}

enum berth_code
csv_need(const struct csv *c, const char *name, int *i_out, struct berth_err *err)
{
	char have[300] = "";
	size_t n = 0;
	int i = csv_column(c, name);

	if (i >= 0) {
		*i_out = i;
		return BERTH_OK;
	}
	for (size_t k = 0; k < c->n_names && n + 1 < sizeof(have); k++) {
		n += (size_t)snprintf(
		    have + n, sizeof(have) - n, "%s%s", k > 0 ? ", " : "", c->names[k]);
	}
	return err_set(err, BERTH_EINVAL, "%s: there is no column '%s'; the header has: %s",
	    c->name, name, have);
}

long
csv_line(const struct csv *c)
{
	return c->record_line;
}

enum berth_code
csv_err(const struct csv *c, struct berth_err *err, const char *column)
{
	if (column != NULL)
		err_ctx(err, "column %s", column);
	return err_at(err, "%s:%ld", c->name, c->record_line);
}

void
csv_put(FILE *f, const char *s, char sep)
{
	size_t n = strlen(s);
	bool quote = n > 0 && (str_is_space(s[0]) || str_is_space(s[n - 1]));

	for (const char *p = s; *p != '\0' && !quote; p++)
		quote = *p == sep || *p == '"' || *p == '\n' || *p == '\r';
	if (!quote) {
		fputs(s, f);
		return;
	}
	putc('"', f);
	for (; *s != '\0'; s++) {
		if (*s == '"')
			putc('"', f);
		putc(*s, f);
	}
	putc('"', f);
}
