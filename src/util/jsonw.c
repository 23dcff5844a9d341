#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "util/jsonr.h"
#include "util/jsonw.h"
#include "util/str.h"
#include "util/time.h"

void
jsonw_init(struct jsonw *w, FILE *f, enum jsonw_format format)
{
	*w = (struct jsonw){ .f = f, .format = format };
}

void
jsonw_init_buf(struct jsonw *w, struct buf *b, enum jsonw_format format)
{
	*w = (struct jsonw){ .b = b, .format = format };
}

static void
jsonw_put(struct jsonw *w, const char *s, size_t n)
{
	if (w->f == NULL)
		buf_add(w->b, s, n);
	else if (fwrite(s, 1, n, w->f) < n && w->failed == 0)
		w->failed = errno != 0 ? errno : EIO;
}

static void
jsonw_puts(struct jsonw *w, const char *s)
{
	jsonw_put(w, s, strlen(s));
}

static void
jsonw_newline(struct jsonw *w, int level)
{
	static const char blanks[] =
	    "\n                                                                    ";

	jsonw_put(w, blanks, 1 + 2 * (size_t)level);
}

/* Code points that terminals, YAML readers or HTML would take for more than text. */
static bool
jsonw_must_escape(int32_t c)
{
	return c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0x2028 || c == 0x2029 || c == 0xfeff ||
	       c == 0xfffe || c == 0xffff;
}

static void
jsonw_escape(struct jsonw *w, int32_t c)
{
	static const char *const names[0x20] = {
		['\b'] = "\\b", ['\t'] = "\\t", ['\n'] = "\\n", ['\f'] = "\\f", ['\r'] = "\\r"
	};
	char text[12];

	if (c < 0x20 && names[c] != NULL) {
		jsonw_puts(w, names[c]);
		return;
	}
	snprintf(text, sizeof(text), "\\u%04x", (unsigned)c);
	jsonw_puts(w, text);
}

static void
jsonw_quote(struct jsonw *w, const char *s, size_t n)
{
	size_t from = 0, i = 0, len;

	jsonw_put(w, "\"", 1);
	for (; i < n; i += len) {
		int32_t c = str_utf8_next(s + i, n - i, &len);

		if (c >= 0 && c != '"' && c != '\\' && !jsonw_must_escape(c))
			continue;
		jsonw_put(w, s + from, i - from);
		from = i + len;
		if (c < 0)
			jsonw_puts(w, "\xef\xbf\xbd");
		else if (c == '"' || c == '\\')
			jsonw_puts(w, c == '"' ? "\\\"" : "\\\\");
		else
			jsonw_escape(w, c);
	}
	jsonw_put(w, s + from, n - from);
	jsonw_put(w, "\"", 1);
}

/*
 * Whether YAML takes s for a string without quotes: a letter first, no indicator in it, no word
 * of another type.
 */
static bool
jsonw_is_plain(const char *s, size_t n)
{
	static const char *const taken[] = { "null", "true", "false", "yes", "no", "on", "off", "y",
		"n", NULL };

	if (n == 0 || n > 200 || !str_is_alnum(s[0]) || str_is_digit(s[0]) || s[n - 1] == ' ')
		return false;
	for (size_t i = 1; i < n; i++) {
		if (!str_is_alnum(s[i]) && strchr(" _./@+-", s[i]) == NULL)
			return false;
	}
	for (size_t i = 0; taken[i] != NULL; i++) {
		if (n == strlen(taken[i]) && str_istarts(s, taken[i]))
			return false;
	}
	return true;
}

static void
jsonw_text(struct jsonw *w, const char *s, size_t n)
{
	if (w->format == JSONW_YAML && jsonw_is_plain(s, n))
		jsonw_put(w, s, n);
	else
		jsonw_quote(w, s, n);
}

/* What stands in front of a value: comma, line, dash and key; scalar: a blank follows them in YAML.
 */
static void
jsonw_lead(struct jsonw *w, const char *key, bool scalar)
{
	int d = w->depth;
	bool first = w->is_empty[d], yaml = w->format == JSONW_YAML;

	assert((key != NULL) == (d > 0 && !w->is_array[d]));
	w->is_empty[d] = false;
	if (d == 0)
		return;
	if (!yaml && !first)
		jsonw_put(w, ",", 1);
	if (w->format == JSONW_PRETTY)
		jsonw_newline(w, d);
	if (yaml && first && d > 1 && w->is_array[d - 1])
		jsonw_put(w, " ", 1); /* the first key of an item stands behind its dash */
	else if (yaml && !(first && d == 1))
		jsonw_newline(w, d - 1);
	if (yaml && w->is_array[d])
		jsonw_put(w, "-", 1);
	if (key != NULL) {
		jsonw_text(w, key, strlen(key));
		jsonw_put(w, ":", 1);
	}
	if (yaml ? scalar : key != NULL && w->format == JSONW_PRETTY)
		jsonw_put(w, " ", 1);
}

static void
jsonw_begin(struct jsonw *w, const char *key, bool is_array)
{
	jsonw_lead(w, key, false);
	assert(w->depth < JSONW_DEPTH_MAX);
	w->depth++;
	w->is_array[w->depth] = is_array;
	w->is_empty[w->depth] = true;
	if (w->format != JSONW_YAML)
		jsonw_put(w, is_array ? "[" : "{", 1);
}

static void
jsonw_end(struct jsonw *w, bool is_array)
{
	bool empty = w->is_empty[w->depth];

	assert(w->depth > 0 && w->is_array[w->depth] == is_array);
	w->depth--;
	if (w->format == JSONW_YAML) {
		if (empty)
			jsonw_puts(w, &(is_array ? " []" : " {}")[w->depth == 0]);
		return;
	}
	if (w->format == JSONW_PRETTY && !empty)
		jsonw_newline(w, w->depth);
	jsonw_put(w, is_array ? "]" : "}", 1);
}

void
jsonw_begin_object(struct jsonw *w, const char *key)
{
	jsonw_begin(w, key, false);
}

void
jsonw_end_object(struct jsonw *w)
{
	jsonw_end(w, false);
}

void
jsonw_begin_array(struct jsonw *w, const char *key)
{
	jsonw_begin(w, key, true);
}

void
jsonw_end_array(struct jsonw *w)
{
	jsonw_end(w, true);
}

static void
jsonw_word(struct jsonw *w, const char *key, const char *word)
{
	jsonw_lead(w, key, true);
	jsonw_puts(w, word);
}

void
jsonw_null(struct jsonw *w, const char *key)
{
	jsonw_word(w, key, "null");
}

void
jsonw_bool(struct jsonw *w, const char *key, bool v)
{
	jsonw_word(w, key, v ? "true" : "false");
}

void
jsonw_strn(struct jsonw *w, const char *key, const char *s, size_t n)
{
	jsonw_lead(w, key, true);
	jsonw_text(w, s, n);
}

void
jsonw_str(struct jsonw *w, const char *key, const char *s)
{
	if (s == NULL)
		jsonw_null(w, key);
	else
		jsonw_strn(w, key, s, strlen(s));
}

void
jsonw_str_or_null(struct jsonw *w, const char *key, const char *s)
{
	jsonw_str(w, key, s != NULL && *s != '\0' ? s : NULL);
}

void
jsonw_int(struct jsonw *w, const char *key, int64_t v)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRId64, v);
	jsonw_word(w, key, text);
}

void
jsonw_double(struct jsonw *w, const char *key, double v)
{
	char text[STR_DOUBLE_SIZE];

	jsonw_word(w, key, isfinite(v) ? str_from_double(text, v) : "null");
}

void
jsonw_fixed(struct jsonw *w, const char *key, double v, int decimals)
{
	char text[400];

	if (!isfinite(v)) {
		jsonw_null(w, key);
		return;
	}
	snprintf(text, sizeof(text), "%.*f", decimals < 0 ? 0 : decimals > 20 ? 20 : decimals, v);
	/* -0.00 says nothing that 0.00 does not */
	if (text[0] == '-' && strspn(text, "-0.") == strlen(text))
		jsonw_word(w, key, text + 1);
	else
		jsonw_word(w, key, text);
}

void
jsonw_money(struct jsonw *w, const char *key, struct usd_micro v)
{
	char text[USD_FMT_SIZE];

	jsonw_word(w, key, usd_known(v) ? usd_fmt(text, sizeof(text), v, 6) : "null");
}

void
jsonw_time(struct jsonw *w, const char *key, int64_t t)
{
	char text[TIME_FMT_SIZE];

	jsonw_str(w, key, time_fmt(text, t));
}

void
jsonw_time_or_null(struct jsonw *w, const char *key, int64_t t)
{
	if (t == 0)
		jsonw_null(w, key);
	else
		jsonw_time(w, key, t);
}

static void
jsonw_tree(struct jsonw *w, const char *key, const json_t *v)
{
	const char *name;
	json_t *child;
	size_t i;

	switch (json_typeof(v)) {
	case JSON_OBJECT:
		jsonw_begin_object(w, key);
		json_object_foreach((json_t *)(uintptr_t)v, name, child) jsonw_tree(w, name, child);
		jsonw_end_object(w);
		return;
	case JSON_ARRAY:
		jsonw_begin_array(w, key);
		json_array_foreach(v, i, child) jsonw_tree(w, NULL, child);
		jsonw_end_array(w);
		return;
	case JSON_STRING:
		jsonw_strn(w, key, json_string_value(v), json_string_length(v));
		return;
	case JSON_INTEGER:
		jsonw_int(w, key, json_integer_value(v));
		return;
	case JSON_REAL:
		jsonw_double(w, key, json_real_value(v));
		return;
	case JSON_TRUE:
	case JSON_FALSE:
		jsonw_bool(w, key, json_is_true(v));
		return;
	case JSON_NULL:
		break;
	}
	jsonw_null(w, key);
}

static int
jsonw_tree_depth(const json_t *v)
{
	const char *name;
	json_t *child;
	size_t i;
	int deepest = 0, d;

	json_object_foreach((json_t *)(uintptr_t)v, name, child)
	{
		d = jsonw_tree_depth(child);
		deepest = d > deepest ? d : deepest;
	}
	json_array_foreach(v, i, child)
	{
		d = jsonw_tree_depth(child);
		deepest = d > deepest ? d : deepest;
	}
	return deepest + 1;
}

void
jsonw_raw(struct jsonw *w, const char *key, const char *json)
{
	json_t *v = NULL;

	if (jsonr_parse(json, strlen(json), "raw", &v, NULL) == BERTH_OK &&
	    w->depth + jsonw_tree_depth(v) <= JSONW_DEPTH_MAX)
		jsonw_tree(w, key, v);
	else
		jsonw_str(w, key, json);
	json_decref(v);
}

enum berth_code
jsonw_finish(struct jsonw *w, struct berth_err *err)
{
	assert(w->depth == 0);
	if (w->format != JSONW_COMPACT)
		jsonw_put(w, "\n", 1);
	if (w->f == NULL)
		return buf_check(w->b, "output", err);
	if (w->failed == 0 && fflush(w->f) != 0)
		w->failed = errno != 0 ? errno : EIO;
	return w->failed != 0 ? err_sys(err, BERTH_EIO, w->failed, "writing the output") : BERTH_OK;
}
