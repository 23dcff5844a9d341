#include "ingest/lines.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "ingest/zin.h"

#define LINES_PAGE ((size_t)4096)
#define LINES_READ ((size_t)256 * 1024)

struct lines {
	FILE *f; /* NULL: from z */
	struct zin *z;
	char *p;               /* [size + 1] */
	size_t size, from, to; /* unread bytes lie in [from, to) */
	bool ended;
	long number;
};

static enum berth_code
lines_open(FILE *f, struct zin *z, struct lines **l_out, struct berth_err *err)
{
	struct lines *l = calloc(1, sizeof(*l));

	if (l != NULL)
		l->p = malloc(LINES_READ + 1);
	if (l == NULL || l->p == NULL) {
		free(l);
		return err_set(err, BERTH_ENOMEM, "out of memory");
	}
	l->f = f;
	l->z = z;
	l->size = LINES_READ;
	*l_out = l;
	return BERTH_OK;
}

enum berth_code
lines_new(FILE *f, struct lines **l_out, struct berth_err *err)
{
	return lines_open(f, NULL, l_out, err);
}

enum berth_code
lines_new_zin(struct zin *z, struct lines **l_out, struct berth_err *err)
{
	return lines_open(NULL, z, l_out, err);
}

void
lines_free(struct lines *l)
{
	if (l != NULL)
		free(l->p);
	free(l);
}

long
lines_number(const struct lines *l)
{
	return l->number;
}

/* Up to room bytes to the end of those that are there; false: reading failed. */
static bool
lines_read(struct lines *l, size_t room, size_t *got_out)
{
	ssize_t n;

	if (l->f != NULL) {
		*got_out = fread(l->p + l->to, 1, room, l->f);
		return *got_out > 0 || !ferror(l->f);
	}
	if (room > LINES_PAGE) /* whole pages are copied fastest */
		room -= room % LINES_PAGE;
	n = zin_read(l->z, l->p + l->to, room);
	*got_out = n > 0 ? (size_t)n : 0;
	return n >= 0;
}

/* More bytes behind those that are there; moves them to the front, and grows for a line that fills
 * all. */
static enum berth_code
lines_fill(struct lines *l, struct berth_err *err)
{
	const char *nul;
	size_t got;

	memmove(l->p, l->p + l->from, l->to - l->from);
	l->to -= l->from;
	l->from = 0;
	if (l->to == l->size) {
		char *p;

		if (l->size >= LINES_MAX)
			return err_set(err, BERTH_EINVAL, "line %ld: more than %zu bytes",
			    l->number + 1, LINES_MAX);
		p = realloc(l->p, 2 * l->size + 1);
		if (p == NULL)
			return err_set(err, BERTH_ENOMEM, "line %ld: out of memory", l->number + 1);
		l->p = p;
		l->size *= 2;
	}
	if (!lines_read(l, l->size - l->to, &got))
		return err_set(err, BERTH_EIO, "reading failed behind line %ld", l->number);
	if (l->number == 0 && l->to == 0 && got >= 2 &&
	    (memcmp(l->p, "\xff\xfe", 2) == 0 || memcmp(l->p, "\xfe\xff", 2) == 0))
		return err_set(err, BERTH_EINVAL,
		    "this is UTF-16: save it as UTF-8 (iconv -f UTF-16 -t UTF-8)");
	nul = memchr(l->p + l->to, '\0', got);
	if (nul != NULL) {
		long line = l->number + 1;

		for (const char *p = l->p; p < nul; p++)
			line += *p == '\n';
		return err_set(err, BERTH_EINVAL, "line %ld: a NUL byte: this is no text", line);
	}
	l->ended = got == 0;
	l->to += got;
	return BERTH_OK;
}

enum berth_code
lines_next(struct lines *l, char **line_out, size_t *len_out, struct berth_err *err)
{
	size_t looked = 0;

	for (;;) {
		char *from = l->p + l->from;
		char *end = memchr(from + looked, '\n', l->to - l->from - looked);
		enum berth_code rc;

		if (end == NULL && !l->ended) {
			looked = l->to - l->from;
			rc = lines_fill(l, err);
			if (rc != BERTH_OK)
				return rc;
			continue;
		}
		*line_out = end == NULL && l->from == l->to ? NULL : from;
		*len_out = end != NULL ? (size_t)(end - from) : l->to - l->from;
		from[*len_out] = '\0';
		l->from += *len_out + (end != NULL);
		l->number += *line_out != NULL;
		return BERTH_OK;
	}
}
