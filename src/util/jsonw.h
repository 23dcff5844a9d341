/* src/util/jsonw.h - a streaming writer of JSON, and of the same tree as YAML.  Floor: util. */
#ifndef BERTH_UTIL_JSONW_H
#define BERTH_UTIL_JSONW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "util/buf.h"
#include "util/err.h"
#include "util/money.h"

enum jsonw_format {
	JSONW_PRETTY,  /* indented by 2, newline at the end */
	JSONW_COMPACT, /* one line without blanks or newline: for stored columns and requests */
	JSONW_YAML
};

#define JSONW_DEPTH_MAX 32

/*
 *	jsonw_init(&w, out, JSONW_PRETTY);
 *	jsonw_begin_object(&w, NULL);
 *	jsonw_str(&w, "schema", "berth.jobs/1");
 *	jsonw_begin_array(&w, "jobs");
 *	...
 *	jsonw_end_array(&w);
 *	jsonw_end_object(&w);
 *	rc = jsonw_finish(&w, err);
 *
 * key is NULL inside an array and at the root, and never NULL inside an object (asserted). Keys
 * stand in the order of the calls. Bytes that are not UTF-8 are written as U+FFFD. Numbers do not
 * depend on the locale.
 */
struct jsonw {
	FILE *f;       /* either f */
	struct buf *b; /* or b */
	enum jsonw_format format;
	int depth;
	bool is_array[JSONW_DEPTH_MAX + 1];
	bool is_empty[JSONW_DEPTH_MAX + 1];
	int failed; /* errno of the first write to f that failed */
};

void jsonw_init(struct jsonw *w, FILE *f, enum jsonw_format format);
void jsonw_init_buf(struct jsonw *w, struct buf *b, enum jsonw_format format);

void jsonw_begin_object(struct jsonw *w, const char *key);
void jsonw_end_object(struct jsonw *w);
void jsonw_begin_array(struct jsonw *w, const char *key);
void jsonw_end_array(struct jsonw *w);

void jsonw_str(struct jsonw *w, const char *key, const char *s); /* NULL: null */
void jsonw_strn(struct jsonw *w, const char *key, const char *s, size_t n);
/* "" is null as well: for rows whose "" means "not said". */
void jsonw_str_or_null(struct jsonw *w, const char *key, const char *s);
void jsonw_int(struct jsonw *w, const char *key, int64_t v);
/* The shortest text that reads back, or rounded to so many decimals; NaN and infinite: null. */
void jsonw_double(struct jsonw *w, const char *key, double v);
void jsonw_fixed(struct jsonw *w, const char *key, double v, int decimals);
void jsonw_bool(struct jsonw *w, const char *key, bool v);
void jsonw_null(struct jsonw *w, const char *key);
/* USD with six decimals; unknown: null. */
void jsonw_money(struct jsonw *w, const char *key, struct usd_micro v);
void jsonw_time(struct jsonw *w, const char *key, int64_t t); /* RFC 3339 UTC string */
void jsonw_time_or_null(
    struct jsonw *w, const char *key, int64_t t); /* 0 (not yet, not said): null */
/* A value that is JSON text already, as the store keeps labels; text that is not JSON becomes a
 * string. */
void jsonw_raw(struct jsonw *w, const char *key, const char *json);

/*
 * Ends the text; BERTH_EIO if a write failed, BERTH_EINVAL or BERTH_ENOMEM from the buffer.
 * Flushes, closes nothing.
 */
BERTH_MUST_CHECK enum berth_code jsonw_finish(struct jsonw *w, struct berth_err *err);

#endif
