#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/jsonr.h"
#include "util/str.h"
#include "util/time.h"

/* Line and column of a byte. */
static enum berth_code
jsonr_refuse(const char *bytes, size_t at, const char *name, struct berth_err *err, const char *why)
{
	long line = 1, col = 1;

	for (size_t i = 0; i < at; i++) {
		col = bytes[i] == '\n' ? 1 : col + 1;
		line += bytes[i] == '\n';
	}
	err_set(err, BERTH_EINVAL, "%s", why);
	err_at(err, "%s:%ld:%ld", name, line, col);
	return BERTH_EINVAL;
}

/* Brackets outside strings: jansson recurses over them, 2048 deep. */
static enum berth_code
jsonr_check_depth(const char *bytes, size_t n, const char *name, struct berth_err *err)
{
	bool string = false;
	int depth = 0;

	for (size_t i = 0; i < n; i++) {
		char c = bytes[i];

		if (string && c == '\\')
			i++;
		else if (c == '"')
			string = !string;
		else if (!string && (c == '{' || c == '['))
			depth++;
		else if (!string && (c == '}' || c == ']'))
			depth--;
		if (depth > JSONR_DEPTH_MAX)
			return jsonr_refuse(bytes, i, name, err, "nested deeper than 64 levels");
	}
	return BERTH_OK;
}

/* Whether the digits from i up to k are a whole number that 64 bits do not hold. */
static bool
jsonr_is_beyond(const char *s, size_t i, size_t k, size_t n)
{
	static const char most[] = "9223372036854775807";
	size_t digits = k - i, limit = sizeof(most) - 1;

	if (digits < limit || (digits == limit && memcmp(s + i, most, limit) <= 0))
		return false;
	return (k == n || strchr(".eE", s[k]) == NULL) &&
	       (i == 0 || strchr(".eE+", s[i - 1]) == NULL);
}

/*
 * A whole number beyond 64 bits stands in some field that nobody needs, and jansson would refuse
 * all of the text for it: its last two digits become "e2", so that it is read as a double, and
 * every place stays where it was. NULL: no memory.
 */
static char *
jsonr_wide(const char *bytes, size_t n)
{
	char *copy = malloc(n + 1);
	bool string = false;
	size_t i = 0, k;

	if (copy == NULL)
		return NULL;
	memcpy(copy, bytes, n);
	while (i < n) {
		for (k = i; !string && k < n && str_is_digit(copy[k]); k++)
			;
		if (jsonr_is_beyond(copy, i, k, n))
			memcpy(copy + k - 2, "e2", 2);
		if (k > i) {
			i = k;
			continue;
		}
		if (string && copy[i] == '\\')
			i++;
		else if (copy[i] == '"')
			string = !string;
		i++;
	}
	copy[n] = '\0';
	return copy;
}

static json_t *
jsonr_load(const char *bytes, size_t n, json_error_t *e)
{
	json_t *v = json_loadb(bytes, n, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, e);
	char *wide;

	if (v != NULL || json_error_code(e) != json_error_numeric_overflow)
		return v;
	if ((wide = jsonr_wide(bytes, n)) == NULL)
		return NULL;
	v = json_loadb(wide, n, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, e);
	free(wide);
	return v;
}

enum berth_code
jsonr_parse(const char *bytes, size_t n, const char *name, json_t **root_out, struct berth_err *err)
{
	enum berth_code rc;
	json_error_t e;
	json_t *v;

	if (n > JSONR_BYTES_MAX)
		return err_set(err, BERTH_EINVAL, "%s: more than %zu bytes", name, JSONR_BYTES_MAX);
	if (n >= 3 &&
	    memcmp(bytes, "\xef\xbb\xbf", 3) == 0) { /* a byte order mark is no part of the text */
		bytes += 3;
		n -= 3;
	}
	rc = jsonr_check_depth(bytes, n, name, err);
	if (rc != BERTH_OK)
		return rc;
	v = jsonr_load(bytes, n, &e);
	if (v == NULL && json_error_code(&e) == json_error_out_of_memory)
		return err_set(err, BERTH_ENOMEM, "%s: out of memory", name);
	if (v == NULL) {
		err_set(err, BERTH_EINVAL, "%s", e.text);
		err_at(err, "%s:%d:%d", name, e.line, e.column);
		return BERTH_EINVAL;
	}
	*root_out = v;
	return BERTH_OK;
}

struct jsonr
jsonr_root(const json_t *v, const char *name)
{
	return (struct jsonr){ .v = v, .name = name };
}

struct jsonr
jsonr_get(const struct jsonr *obj, const char *key)
{
	return (struct jsonr){ .v = json_object_get(obj->v, key), .up = obj, .key = key };
}

struct jsonr
jsonr_at(const struct jsonr *arr, size_t i)
{
	return (struct jsonr){ .v = json_array_get(arr->v, i), .up = arr, .index = i };
}

size_t
jsonr_len(const struct jsonr *arr)
{
	return json_array_size(arr->v);
}

bool
jsonr_none(const struct jsonr *c)
{
	return c->v == NULL || json_is_null(c->v);
}

/* Writes the path of c to dst [size]; returns its length. */
static size_t
jsonr_path(const struct jsonr *c, char *dst, size_t size)
{
	size_t n = c->up != NULL ? jsonr_path(c->up, dst, size) : 0;
	int put;

	if (c->up == NULL)
		put = snprintf(dst, size, "$");
	else if (c->key != NULL)
		put = snprintf(dst + n, size - n, ".%.60s", c->key);
	else
		put = snprintf(dst + n, size - n, "[%zu]", c->index);
	n += put > 0 ? (size_t)put : 0;
	return n < size ? n : size - 1;
}

enum berth_code
jsonr_err(const struct jsonr *c, enum berth_code code, struct berth_err *err, const char *fmt, ...)
{
	const struct jsonr *root = c;
	char path[256], text[256];
	va_list ap;

	while (root->up != NULL)
		root = root->up;
	jsonr_path(c, path, sizeof(path));
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	err_set(err, code, "%s: %s", path, text);
	if (root->name != NULL)
		err_at(err, "%s", root->name);
	return code;
}

enum berth_code
jsonr_need(const struct jsonr *obj, const char *const *keys, struct berth_err *err)
{
	for (; *keys != NULL; keys++) {
		struct jsonr c = jsonr_get(obj, *keys);

		if (jsonr_none(&c))
			return jsonr_err(&c, BERTH_EINVAL, err, "missing");
	}
	return BERTH_OK;
}

static const char *
jsonr_type(const json_t *v)
{
	switch (json_typeof(v)) {
	case JSON_OBJECT:
		return "an object";
	case JSON_ARRAY:
		return "an array";
	case JSON_STRING:
		return "a string";
	case JSON_INTEGER:
	case JSON_REAL:
		return "a number";
	case JSON_TRUE:
	case JSON_FALSE:
		return "a boolean";
	case JSON_NULL:
		break;
	}
	return "null";
}

static enum berth_code
jsonr_not(const struct jsonr *c, const char *wanted, struct berth_err *err)
{
	return jsonr_err(
	    c, BERTH_EINVAL, err, "%s is needed here, not %s", wanted, jsonr_type(c->v));
}

/* The message of a refused value, with its path in front. */
static enum berth_code
jsonr_value(
    const struct jsonr *c, enum berth_code rc, const struct berth_err *why, struct berth_err *err)
{
	return rc == BERTH_OK ? rc : jsonr_err(c, rc, err, "%s", why->msg);
}

enum berth_code
jsonr_str(const struct jsonr *obj, const char *key, const char **out, struct berth_err *err)
{
	struct jsonr c = jsonr_get(obj, key);

	if (jsonr_none(&c))
		return BERTH_OK;
	if (!json_is_string(c.v))
		return jsonr_not(&c, "a string", err);
	*out = json_string_value(c.v);
	return BERTH_OK;
}

enum berth_code
jsonr_int(const struct jsonr *obj, const char *key, int64_t min, int64_t max, int64_t *out,
    struct berth_err *err)
{
	struct jsonr c = jsonr_get(obj, key);
	struct berth_err why = { 0 };
	int64_t v;
	double x;

	if (jsonr_none(&c))
		return BERTH_OK;
	if (json_is_string(c.v))
		return jsonr_value(
		    &c, str_to_i64(json_string_value(c.v), min, max, out, &why), &why, err);
	if (json_is_integer(c.v)) {
		v = json_integer_value(c.v);
	} else if (json_is_real(c.v)) {
		x = json_real_value(c.v);
		if (!(fabs(x) <= 0x1p53) || x != floor(x))
			return jsonr_err(&c, BERTH_EINVAL, err, "%g is not a whole number", x);
		v = (int64_t)x;
	} else {
		return jsonr_not(&c, "a whole number", err);
	}
	if (v < min || v > max)
		return jsonr_err(&c, BERTH_EINVAL, err,
		    "%" PRId64 " is not in %" PRId64 "..%" PRId64, v, min, max);
	*out = v;
	return BERTH_OK;
}

enum berth_code
jsonr_double(const struct jsonr *obj, const char *key, double *out, struct berth_err *err)
{
	struct jsonr c = jsonr_get(obj, key);
	struct berth_err why = { 0 };

	if (jsonr_none(&c))
		return BERTH_OK;
	if (json_is_string(c.v))
		return jsonr_value(&c,
		    str_to_double(json_string_value(c.v), -DBL_MAX, DBL_MAX, out, &why), &why, err);
	if (!json_is_number(c.v))
		return jsonr_not(&c, "a number", err);
	*out = json_number_value(c.v);
	return BERTH_OK;
}

enum berth_code
jsonr_bool(const struct jsonr *obj, const char *key, bool *out, struct berth_err *err)
{
	struct jsonr c = jsonr_get(obj, key);

	if (jsonr_none(&c))
		return BERTH_OK;
	if (!json_is_boolean(c.v))
		return jsonr_not(&c, "true or false", err);
	*out = json_is_true(c.v);
	return BERTH_OK;
}

enum berth_code
jsonr_money(const struct jsonr *obj, const char *key, struct usd_micro *out, struct berth_err *err)
{
	struct jsonr c = jsonr_get(obj, key);
	struct usd_micro one = { 1000000 };
	struct berth_err why = { 0 };
	enum berth_code rc;

	if (jsonr_none(&c))
		return BERTH_OK;
	if (json_is_string(c.v))
		rc = usd_parse(json_string_value(c.v), out, &why);
	else if (json_is_integer(c.v))
		rc = usd_mul_i64(one, json_integer_value(c.v), out, &why);
	else if (json_is_real(c.v))
		rc = usd_from_double(json_real_value(c.v), out, &why);
	else
		return jsonr_not(&c, "an amount of USD", err);
	return jsonr_value(&c, rc, &why, err);
}

enum berth_code
jsonr_price(const struct jsonr *obj, const char *key, struct usd_micro *out, struct berth_err *err)
{
	struct jsonr c = jsonr_get(obj, key);
	struct usd_micro v = *out;
	enum berth_code rc = jsonr_money(obj, key, &v, err);

	/* more than any money: no reason to refuse a whole list */
	if (rc != BERTH_OK && json_is_number(c.v)) {
		v = USD_UNKNOWN;
		rc = BERTH_OK;
	}
	if (rc == BERTH_OK)
		*out = usd_known(v) && v.v <= 0 ? USD_UNKNOWN : v;
	return rc;
}

enum berth_code
jsonr_time(const struct jsonr *obj, const char *key, int64_t *t_out, struct berth_err *err)
{
	struct jsonr c = jsonr_get(obj, key);
	struct berth_err why = { 0 };
	char text[32];
	double x;

	if (jsonr_none(&c))
		return BERTH_OK;
	if (json_is_string(c.v))
		return jsonr_value(&c,
		    time_parse(
			json_string_value(c.v), 0, NULL, TIME_ABSOLUTE | TIME_EPOCH, t_out, &why),
		    &why, err);
	if (!json_is_number(c.v))
		return jsonr_not(&c, "a time", err);
	x = json_number_value(c.v);
	if (!(x >= 0 && x < 1e15))
		return jsonr_err(&c, BERTH_EINVAL, err, "%g is not a time", x);
	snprintf(text, sizeof(text), "%" PRId64, (int64_t)x);
	return jsonr_value(
	    &c, time_parse(text, 0, NULL, TIME_ABSOLUTE | TIME_EPOCH, t_out, &why), &why, err);
}

enum berth_code
jsonr_object(const struct jsonr *obj, const char *key, struct jsonr *out, struct berth_err *err)
{
	*out = jsonr_get(obj, key);
	if (jsonr_none(out)) {
		out->v = NULL;
		return BERTH_OK;
	}
	return json_is_object(out->v) ? BERTH_OK : jsonr_not(out, "an object", err);
}

enum berth_code
jsonr_array(const struct jsonr *obj, const char *key, struct jsonr *out, struct berth_err *err)
{
	*out = jsonr_get(obj, key);
	if (jsonr_none(out)) {
		out->v = NULL;
		return BERTH_OK;
	}
	return json_is_array(out->v) ? BERTH_OK : jsonr_not(out, "an array", err);
}
