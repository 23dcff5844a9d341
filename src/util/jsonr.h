/* src/util/jsonr.h - reading JSON through jansson, with paths in the errors.  Floor: util. */
#ifndef BERTH_UTIL_JSONR_H
#define BERTH_UTIL_JSONR_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/err.h"
#include "util/money.h"

#define JSONR_BYTES_MAX ((size_t)256 * 1024 * 1024)
#define JSONR_DEPTH_MAX 64

/*
 * Outside bytes -> tree, a byte order mark before them skipped; name (a file, a URL) stands in
 * messages. Refused with where = "name:line:col": bad syntax, bad UTF-8, NUL, duplicate keys,
 * deeper than JSONR_DEPTH_MAX, over JSONR_BYTES_MAX, integers over 64 bits, reals that overflow,
 * bytes behind the value. The caller's to json_decref().
 */
BERTH_MUST_CHECK enum berth_code jsonr_parse(
    const char *bytes, size_t n, const char *name, json_t **root_out, struct berth_err *err);

/*
 * A value and how it was reached: where = "name", message "$.items[3].price: ...". Cursors live
 * on the caller's stack; a cursor keeps a pointer to the one it came from, which must live as
 * long. v is NULL where nothing is; a cursor on nothing or on null gives nothing for every key.
 */
struct jsonr {
	const json_t *v;
	const struct jsonr *up;
	const char *key; /* of the object, or NULL: index */
	size_t index;
	const char *name; /* root only */
};

struct jsonr jsonr_root(const json_t *v, const char *name);
struct jsonr jsonr_get(const struct jsonr *obj, const char *key); /* nothing: v == NULL */
struct jsonr jsonr_at(const struct jsonr *arr, size_t i);
size_t jsonr_len(const struct jsonr *arr); /* 0 if it is not an array */
bool jsonr_none(const struct jsonr *c);    /* absent or null */

/* Refuses at a cursor: where = "name", message "$.path: ...". Returns code. */
enum berth_code jsonr_err(const struct jsonr *c, enum berth_code code, struct berth_err *err,
    const char *fmt, ...) BERTH_PRINTF(4, 5);
/* Every key of the NULL-terminated list is there and not null, else BERTH_EINVAL. */
BERTH_MUST_CHECK enum berth_code jsonr_need(
    const struct jsonr *obj, const char *const *keys, struct berth_err *err);

/*
 * Getters by key. Absent or null: *out stays as it was and BERTH_OK. Of another type:
 * BERTH_EINVAL at its path.
 */
BERTH_MUST_CHECK enum berth_code jsonr_str(const struct jsonr *obj, const char *key,
    const char **out, struct berth_err *err); /* borrowed from the tree */
BERTH_MUST_CHECK enum berth_code jsonr_int(const struct jsonr *obj, const char *key, int64_t min,
    int64_t max, int64_t *out,
    struct berth_err *err); /* an integer, a real that is whole, or a string of one */
BERTH_MUST_CHECK enum berth_code jsonr_double(const struct jsonr *obj, const char *key, double *out,
    struct berth_err *err); /* a number or a string of one, as many APIs send it; finite */
BERTH_MUST_CHECK enum berth_code jsonr_bool(
    const struct jsonr *obj, const char *key, bool *out, struct berth_err *err);
BERTH_MUST_CHECK enum berth_code jsonr_money(const struct jsonr *obj, const char *key,
    struct usd_micro *out, struct berth_err *err); /* USD, a number or a string of one */
/* The same of a price: 0, less, and a number that is more than any money are unknown. */
BERTH_MUST_CHECK enum berth_code jsonr_price(
    const struct jsonr *obj, const char *key, struct usd_micro *out, struct berth_err *err);
BERTH_MUST_CHECK enum berth_code jsonr_time(const struct jsonr *obj, const char *key,
    int64_t *t_out, struct berth_err *err); /* RFC 3339 string with zone, or epoch s or ms */
/* An object or an array at key; v == NULL if absent or null. */
BERTH_MUST_CHECK enum berth_code jsonr_object(
    const struct jsonr *obj, const char *key, struct jsonr *out, struct berth_err *err);
BERTH_MUST_CHECK enum berth_code jsonr_array(
    const struct jsonr *obj, const char *key, struct jsonr *out, struct berth_err *err);

#endif
