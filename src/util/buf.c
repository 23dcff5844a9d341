#include "config.h"

#include <openssl/crypto.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/buf.h"

static char buf_none[1]; /* p of a buffer without memory; never written */

void
buf_init(struct buf *b, size_t cap)
{
	*b = (struct buf){ .p = buf_none, .cap = cap, .code = BERTH_OK };
}

void
buf_free(struct buf *b)
{
	if (b->size > 0)
		free(b->p);
	buf_init(b, b->cap);
}

void
buf_wipe(struct buf *b)
{
	if (b->size > 0)
		OPENSSL_cleanse(b->p, b->size);
	buf_free(b);
}

void
buf_clear(struct buf *b)
{
	b->len = 0;
	b->code = BERTH_OK;
	if (b->size > 0)
		b->p[0] = '\0';
}

char *
buf_reserve(struct buf *b, size_t n)
{
	size_t size = b->size < 64 ? 64 : b->size;
	char *p;

	if (b->code != BERTH_OK)
		return NULL;
	if (n > b->cap - b->len) {
		b->code = BERTH_EINVAL;
		return NULL;
	}
	if (b->size > 0 && b->size - b->len > n)
		return b->p + b->len;
	while (size <= b->len + n)
		size = size > (size_t)-1 / 2 ? b->len + n + 1 : size * 2;
	p = realloc(b->size > 0 ? b->p : NULL, size);
	if (p == NULL) {
		b->code = BERTH_ENOMEM;
		return NULL;
	}
	if (b->size == 0)
		p[0] = '\0';
	b->p = p;
	b->size = size;
	return p + b->len;
}

void
buf_commit(struct buf *b, size_t n)
{
	if (n == 0)
		return;
	b->len += n;
	b->p[b->len] = '\0';
}

enum berth_code
buf_add(struct buf *b, const void *bytes, size_t n)
{
	char *p;

	if (n == 0)
		return b->code;
	p = buf_reserve(b, n);
	if (p == NULL)
		return b->code;
	memcpy(p, bytes, n);
	buf_commit(b, n);
	return BERTH_OK;
}

enum berth_code
buf_add_str(struct buf *b, const char *s)
{
	return buf_add(b, s, strlen(s));
}

enum berth_code
buf_add_char(struct buf *b, char c)
{
	return buf_add(b, &c, 1);
}

enum berth_code
buf_vprintf(struct buf *b, const char *fmt, va_list ap)
{
	va_list again;
	char *p;
	int n;

	va_copy(again, ap);
	n = vsnprintf(NULL, 0, fmt, again);
	va_end(again);
	if (n <= 0)
		return b->code;
	p = buf_reserve(b, (size_t)n);
	if (p == NULL)
		return b->code;
	vsnprintf(p, (size_t)n + 1, fmt, ap);
	buf_commit(b, (size_t)n);
	return BERTH_OK;
}

enum berth_code
buf_printf(struct buf *b, const char *fmt, ...)
{
	enum berth_code rc;
	va_list ap;

	va_start(ap, fmt);
	rc = buf_vprintf(b, fmt, ap);
	va_end(ap);
	return rc;
}

enum berth_code
buf_check(const struct buf *b, const char *what, struct berth_err *err)
{
	if (b->code == BERTH_EINVAL)
		return err_set(err, BERTH_EINVAL, "%s: more than %zu bytes", what, b->cap);
	if (b->code != BERTH_OK)
		return err_set(err, b->code, "%s: out of memory", what);
	return BERTH_OK;
}
