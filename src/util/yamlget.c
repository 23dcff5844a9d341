#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "util/str.h"
#include "util/time.h"
#include "util/yaml.h"

static size_t
yaml_path_add(const struct yaml_node *n, char *dst, size_t size)
{
	size_t len;
	int put;

	if (n->up == NULL)
		return 0;
	len = yaml_path_add(n->up, dst, size);
	if (n->key != NULL)
		put = snprintf(dst + len, size - len, "%s%.60s", len > 0 ? "." : "", n->key);
	else
		put = snprintf(dst + len, size - len, "[%zu]", n->index);
	len += put > 0 ? (size_t)put : 0;
	return len < size ? len : size - 1;
}

char *
yaml_path(const struct yaml_node *n, char *dst, size_t size)
{
	dst[0] = '\0';
	yaml_path_add(n, dst, size);
	return dst;
}

enum berth_code
yaml_err(const struct yaml_node *n, struct berth_err *err, const char *fmt, ...)
{
	char path[256], text[256];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	yaml_path(n, path, sizeof(path));
	if (path[0] != '\0')
		err_set(err, BERTH_EINVAL, "key '%s': %s", path, text);
	else
		err_set(err, BERTH_EINVAL, "%s", text);
	err_at(err, "%s:%d:%d", n->file, n->line, n->col);
	return BERTH_EINVAL;
}

static const char *
yaml_kind_name(const struct yaml_node *n)
{
	switch (n->kind) {
	case YAML_KIND_LIST:
		return "a list";
	case YAML_KIND_MAP:
		return "a map";
	case YAML_KIND_SCALAR:
		break;
	}
	return yaml_is_null(n) ? "nothing" : "a single value";
}

enum berth_code
yaml_need_kind(const struct yaml_node *n, enum yaml_kind kind, struct berth_err *err)
{
	static const char *const wanted[] = {
		[YAML_KIND_SCALAR] = "a single value",
		[YAML_KIND_LIST] = "a list",
		[YAML_KIND_MAP] = "a map of keys",
	};

	if (n->kind == kind)
		return BERTH_OK;
	return yaml_err(n, err, "%s is needed here, not %s", wanted[kind], yaml_kind_name(n));
}

enum berth_code
yaml_check_keys(const struct yaml_node *map, const char *const *allowed, struct berth_err *err)
{
	enum berth_code rc = yaml_need_kind(map, YAML_KIND_MAP, err);

	if (rc != BERTH_OK)
		return rc;
	for (size_t i = 0; i < map->n; i++) {
		const char *hint;

		if (str_index(map->keys[i], allowed) >= 0)
			continue;
		hint = str_suggest(map->keys[i], allowed);
		if (hint != NULL)
			return yaml_err(map->key_nodes[i], err,
			    "there is no such key; did you mean '%s'?", hint);
		return yaml_err(map->key_nodes[i], err, "there is no such key");
	}
	return BERTH_OK;
}

enum berth_code
yaml_need_keys(const struct yaml_node *map, const char *const *needed, struct berth_err *err)
{
	enum berth_code rc = yaml_need_kind(map, YAML_KIND_MAP, err);

	if (rc != BERTH_OK)
		return rc;
	for (; *needed != NULL; needed++) {
		if (yaml_get(map, *needed) == NULL)
			return yaml_err(map, err, "the key '%s' is missing", *needed);
	}
	return BERTH_OK;
}

bool
yaml_is_null(const struct yaml_node *n)
{
	static const char *const words[] = { "", "~", "null", "Null", "NULL", NULL };

	return n->kind == YAML_KIND_SCALAR && !n->quoted && str_index(n->text, words) >= 0;
}

const struct yaml_node *
yaml_get(const struct yaml_node *map, const char *key)
{
	if (map == NULL || map->kind != YAML_KIND_MAP)
		return NULL;
	for (size_t i = 0; i < map->n; i++) {
		if (strcmp(map->keys[i], key) == 0)
			return yaml_is_null(map->items[i]) ? NULL : map->items[i];
	}
	return NULL;
}

/* The text of a scalar that is not a string in quotes: numbers and booleans. */
static enum berth_code
yaml_plain(
    const struct yaml_node *n, const char *wanted, const char **text_out, struct berth_err *err)
{
	enum berth_code rc = yaml_need_kind(n, YAML_KIND_SCALAR, err);

	if (rc != BERTH_OK)
		return rc;
	if (yaml_is_null(n))
		return yaml_err(n, err, "%s is needed here, not nothing", wanted);
	if (n->quoted)
		return yaml_err(n, err, "%s is needed here, without quotes", wanted);
	*text_out = n->text;
	return BERTH_OK;
}

static enum berth_code
yaml_value(const struct yaml_node *n, enum berth_code rc, const struct berth_err *why,
    struct berth_err *err)
{
	return rc == BERTH_OK ? rc : yaml_err(n, err, "%s", why->msg);
}

enum berth_code
yaml_as_str(const struct yaml_node *n, const char **out, struct berth_err *err)
{
	enum berth_code rc = yaml_need_kind(n, YAML_KIND_SCALAR, err);

	if (rc != BERTH_OK)
		return rc;
	if (yaml_is_null(n))
		return yaml_err(n, err, "a text is needed here, not nothing");
	*out = n->text;
	return BERTH_OK;
}

enum berth_code
yaml_as_int(
    const struct yaml_node *n, int64_t min, int64_t max, int64_t *out, struct berth_err *err)
{
	struct berth_err why = { 0 };
	const char *text = "";
	enum berth_code rc = yaml_plain(n, "a whole number", &text, err);

	if (rc != BERTH_OK)
		return rc;
	return yaml_value(n, str_to_i64(text, min, max, out, &why), &why, err);
}

enum berth_code
yaml_as_double(
    const struct yaml_node *n, double min, double max, double *out, struct berth_err *err)
{
	struct berth_err why = { 0 };
	const char *text = "";
	enum berth_code rc = yaml_plain(n, "a number", &text, err);

	if (rc != BERTH_OK)
		return rc;
	return yaml_value(n, str_to_double(text, min, max, out, &why), &why, err);
}

enum berth_code
yaml_as_bool(const struct yaml_node *n, bool *out, struct berth_err *err)
{
	struct berth_err why = { 0 };
	const char *text = "";
	enum berth_code rc = yaml_plain(n, "true or false", &text, err);

	if (rc != BERTH_OK)
		return rc;
	return yaml_value(n, str_to_bool(text, out, &why), &why, err);
}

enum berth_code
yaml_str(const struct yaml_node *map, const char *key, const char **out, struct berth_err *err)
{
	const struct yaml_node *n = yaml_get(map, key);

	return n != NULL ? yaml_as_str(n, out, err) : BERTH_OK;
}

enum berth_code
yaml_int(const struct yaml_node *map, const char *key, int64_t min, int64_t max, int64_t *out,
    struct berth_err *err)
{
	const struct yaml_node *n = yaml_get(map, key);

	return n != NULL ? yaml_as_int(n, min, max, out, err) : BERTH_OK;
}

enum berth_code
yaml_double(const struct yaml_node *map, const char *key, double min, double max, double *out,
    struct berth_err *err)
{
	const struct yaml_node *n = yaml_get(map, key);

	return n != NULL ? yaml_as_double(n, min, max, out, err) : BERTH_OK;
}

enum berth_code
yaml_bool(const struct yaml_node *map, const char *key, bool *out, struct berth_err *err)
{
	const struct yaml_node *n = yaml_get(map, key);

	return n != NULL ? yaml_as_bool(n, out, err) : BERTH_OK;
}

enum berth_code
yaml_duration(const struct yaml_node *map, const char *key, int64_t *s_out, struct berth_err *err)
{
	const struct yaml_node *n = yaml_get(map, key);
	struct berth_err why = { 0 };
	const char *text = "";
	enum berth_code rc;

	if (n == NULL)
		return BERTH_OK;
	rc = yaml_as_str(n, &text, err);
	return rc != BERTH_OK ? rc : yaml_value(n, duration_parse(text, s_out, &why), &why, err);
}

enum berth_code
yaml_time(const struct yaml_node *map, const char *key, int64_t now, const struct tz *tz,
    int64_t *t_out, struct berth_err *err)
{
	const struct yaml_node *n = yaml_get(map, key);
	struct berth_err why = { 0 };
	const char *text = "";
	enum berth_code rc;

	if (n == NULL)
		return BERTH_OK;
	rc = yaml_as_str(n, &text, err);
	return rc != BERTH_OK ? rc
			      : yaml_value(n, time_parse(text, now, tz, 0, t_out, &why), &why, err);
}

enum berth_code
yaml_money(
    const struct yaml_node *map, const char *key, struct usd_micro *out, struct berth_err *err)
{
	const struct yaml_node *n = yaml_get(map, key);
	struct usd_micro v = USD_ZERO;
	struct berth_err why = { 0 };
	const char *text = "";
	enum berth_code rc;

	if (n == NULL)
		return BERTH_OK;
	rc = yaml_as_str(n, &text, err);
	if (rc == BERTH_OK)
		rc = yaml_value(n, usd_parse(text, &v, &why), &why, err);
	if (rc == BERTH_OK && v.v < 0)
		rc = yaml_err(n, err, "an amount of money must not be negative");
	if (rc == BERTH_OK)
		*out = v;
	return rc;
}

enum berth_code
yaml_map(const struct yaml_node *map, const char *key, const struct yaml_node **out,
    struct berth_err *err)
{
	*out = yaml_get(map, key);
	return *out != NULL ? yaml_need_kind(*out, YAML_KIND_MAP, err) : BERTH_OK;
}

enum berth_code
yaml_list(const struct yaml_node *map, const char *key, const struct yaml_node **out,
    struct berth_err *err)
{
	*out = yaml_get(map, key);
	return *out != NULL ? yaml_need_kind(*out, YAML_KIND_LIST, err) : BERTH_OK;
}

enum berth_code
yaml_str_list(struct arena *a, const struct yaml_node *map, const char *key, const char ***out,
    size_t *n_out, struct berth_err *err)
{
	const struct yaml_node *n = yaml_get(map, key);
	enum berth_code rc = BERTH_OK;
	size_t count;
	const char **v;

	if (n == NULL)
		return BERTH_OK;
	count = n->kind == YAML_KIND_LIST ? n->n : 1;
	v = arena_array_of(a, count + 1, const char *);
	for (size_t i = 0; i < count && rc == BERTH_OK; i++)
		rc = yaml_as_str(n->kind == YAML_KIND_LIST ? n->items[i] : n, &v[i], err);
	if (rc != BERTH_OK)
		return rc;
	*out = v;
	*n_out = count;
	return BERTH_OK;
}
