#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "util/buf.h"
#include "util/jsonw.h"
#include "util/log.h"
#include "util/str.h"

#define LOG_TEXT_MAX 2048

/* Appends s to line [size] at n with control bytes and bad UTF-8 as \xHH; returns the new length.
 */
static size_t
log_escape(char *line, size_t size, size_t n, const char *s)
{
	size_t left = strlen(s), len;

	for (; left > 0 && n + 8 < size; s += len, left -= len) {
		int32_t c = str_utf8_next(s, left, &len);

		if (c < 0x20 || (c >= 0x7f && c < 0xa0)) {
			for (size_t i = 0; i < len; i++)
				n += (size_t)snprintf(
				    line + n, size - n, "\\x%02X", (unsigned char)s[i]);
		} else {
			memcpy(line + n, s, len);
			n += len;
		}
	}
	return n;
}

void
log_json(FILE *f, const char *level, const char *verb, const char *message)
{
	struct berth_err ignored;
	struct jsonw w;
	struct buf b;

	buf_init(&b, LOG_TEXT_MAX * 8);
	jsonw_init_buf(&w, &b, JSONW_COMPACT);
	jsonw_begin_object(&w, NULL);
	jsonw_str(&w, "level", level);
	jsonw_str_or_null(&w, "verb", verb);
	jsonw_str(&w, "message", message);
	jsonw_end_object(&w);
	if (jsonw_finish(&w, &ignored) == BERTH_OK && buf_add_char(&b, '\n') == BERTH_OK) {
		fwrite(b.p, 1, b.len, f);
		fflush(f);
	}
	buf_free(&b);
}

static void
log_line(const struct log *l, enum log_level level, const char *prefix, const char *text)
{
	char line[LOG_TEXT_MAX * 2];
	FILE *f = l != NULL ? l->f : stderr;
	size_t n = strlen(prefix);

	if (level > (l != NULL ? l->level : LOG_WARN))
		return;
	if (l != NULL && l->json) {
		static const char *const names[] = { "error", "warning", "info", "debug" };

		log_json(f, names[level], l->verb, text);
		return;
	}
	memcpy(line, prefix, n);
	n = log_escape(line, sizeof(line) - 1, n, text);
	line[n++] = '\n';
	fwrite(line, 1, n, f);
	fflush(f);
}

static void log_vline(const struct log *l, enum log_level level, const char *prefix,
    const char *fmt, va_list ap) BERTH_PRINTF(4, 0);

static void
log_vline(
    const struct log *l, enum log_level level, const char *prefix, const char *fmt, va_list ap)
{
	char text[LOG_TEXT_MAX];

	vsnprintf(text, sizeof(text), fmt, ap);
	log_line(l, level, prefix, text);
}

#define LOG_FUNCTION(name, level, prefix)                                                          \
	void name(const struct log *l, const char *fmt, ...)                                       \
	{                                                                                          \
		va_list ap;                                                                        \
		va_start(ap, fmt);                                                                 \
		log_vline(l, level, prefix, fmt, ap);                                              \
		va_end(ap);                                                                        \
	}

LOG_FUNCTION(log_error, LOG_ERROR, "berth: ")
LOG_FUNCTION(log_warn, LOG_WARN, "berth: warning: ")
LOG_FUNCTION(log_info, LOG_INFO, "berth: ")
LOG_FUNCTION(log_debug, LOG_DEBUG, "berth: debug: ")

void
log_err(const struct log *l, const struct berth_err *err)
{
	if (err->where[0] != '\0')
		log_error(l, "%s: %s", err->where, err->msg);
	else
		log_error(l, "%s", err->msg);
}
