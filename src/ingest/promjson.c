#include "ingest/promjson.h"

#include <string.h>

#include "ingest/expo.h"
#include "util/json.h"
#include "util/time.h"

/* The labels of one series, by key, without its name. */
static enum berth_code
promjson_labels(const struct jsonr *series, struct usage_label *labels, size_t *n_out,
    const char **metric, struct berth_err *err)
{
	struct jsonr m;
	enum berth_code rc = jsonr_object(series, "metric", &m, err);
	const char *key;
	json_t *v;
	size_t n = 0;

	if (rc != BERTH_OK || m.v == NULL)
		return rc;
	json_object_foreach((json_t *)(uintptr_t)m.v, key, v)
	{
		size_t i;

		if (!json_is_string(v))
			return jsonr_err(&m, BERTH_EINVAL, err, "label %s is no string", key);
		if (strcmp(key, "__name__") == 0) {
			*metric = json_string_value(v);
			continue;
		}
		if (n == INGEST_LABELS_MAX)
			return jsonr_err(
			    &m, BERTH_EINVAL, err, "more than %d labels", INGEST_LABELS_MAX);
		for (i = n++; i > 0 && strcmp(labels[i - 1].key, key) > 0; i--)
			labels[i] = labels[i - 1];
		labels[i] = (struct usage_label){ key, json_string_value(v) };
	}
	*n_out = n;
	return BERTH_OK;
}

/* [1780272000.123, "97"] */
static enum berth_code
promjson_point(const struct jsonr *pair, struct ingest_point *p, struct berth_err *err)
{
	const json_t *t = json_array_get(pair->v, 0), *v = json_array_get(pair->v, 1);

	if (json_array_size(pair->v) != 2 || !json_is_number(t) || !json_is_string(v))
		return jsonr_err(pair, BERTH_EINVAL, err, "not a time and a value in quotes");
	if (json_number_value(t) < 1 || json_number_value(t) > (double)TIME_MAX)
		return jsonr_err(pair, BERTH_EINVAL, err, "a time outside 1970 to 2199");
	p->t = (int64_t)json_number_value(t);
	if (!expo_value(json_string_value(v), &p->value))
		return jsonr_err(pair, BERTH_EINVAL, err, "a value that is no number: '%.60s'",
		    json_string_value(v));
	return BERTH_OK;
}

static enum berth_code
promjson_series(const struct jsonr *series, const char *metric, const struct ingest_sink *sink,
    int64_t *points, struct berth_err *err)
{
	struct usage_label labels[INGEST_LABELS_MAX];
	struct ingest_point p = { .metric = metric, .labels = labels };
	struct jsonr values, one;
	enum berth_code rc;

	rc = promjson_labels(series, labels, &p.n_labels, &p.metric, err);
	if (rc == BERTH_OK)
		rc = jsonr_array(series, "values", &values, err);
	if (rc != BERTH_OK)
		return rc;
	one = jsonr_get(series, "value");
	if (values.v == NULL && one.v == NULL)
		return jsonr_err(
		    series, BERTH_EINVAL, err, "no values: native histograms cannot be read");
	for (size_t i = 0; rc == BERTH_OK && i < (values.v != NULL ? jsonr_len(&values) : 1); i++) {
		struct jsonr pair = values.v != NULL ? jsonr_at(&values, i) : one;

		rc = promjson_point(&pair, &p, err);
		(*points)++;
		if (rc == BERTH_OK)
			rc = sink->point(sink->arg, &p, err);
	}
	return rc;
}

static enum berth_code
promjson_status(const struct jsonr *root, const struct ingest_sink *sink, struct berth_err *err)
{
	const char *status = "", *kind = "", *text = "";
	struct jsonr warnings;
	enum berth_code rc = jsonr_str(root, "status", &status, err);

	if (rc == BERTH_OK)
		rc = jsonr_str(root, "errorType", &kind, err);
	if (rc == BERTH_OK)
		rc = jsonr_str(root, "error", &text, err);
	if (rc == BERTH_OK)
		rc = jsonr_array(root, "warnings", &warnings, err);
	if (rc != BERTH_OK)
		return rc;
	if (strcmp(status, "success") != 0)
		return err_set(err, BERTH_EINVAL, "the server says %s: %s",
		    *kind != '\0' ? kind : "no success", text);
	for (size_t i = 0; i < jsonr_len(&warnings); i++)
		if (json_is_string(jsonr_at(&warnings, i).v))
			sink->say(sink->arg, USAGE_REMARK, 0,
			    json_string_value(jsonr_at(&warnings, i).v));
	return BERTH_OK;
}

enum berth_code
promjson_read(const char *bytes, size_t n, const char *name, const char *metric,
    const struct ingest_sink *sink, int64_t *points_out, struct berth_err *err)
{
	struct jsonr root, data, result;
	const char *type = "";
	json_t *tree = NULL;
	enum berth_code rc = jsonr_parse(bytes, n, name, &tree, err);

	*points_out = 0;
	if (rc != BERTH_OK)
		return rc;
	root = jsonr_root(tree, name);
	rc = promjson_status(&root, sink, err);
	if (rc == BERTH_OK)
		rc = jsonr_object(&root, "data", &data, err);
	if (rc == BERTH_OK)
		rc = jsonr_str(&data, "resultType", &type, err);
	if (rc == BERTH_OK && strcmp(type, "matrix") != 0 && strcmp(type, "vector") != 0)
		rc = jsonr_err(&root, BERTH_EINVAL, err,
		    "a result of type '%s': matrix or vector is needed", type);
	if (rc == BERTH_OK)
		rc = jsonr_array(&data, "result", &result, err);
	for (size_t i = 0; rc == BERTH_OK && i < jsonr_len(&result); i++) {
		struct jsonr series = jsonr_at(&result, i);

		rc = promjson_series(&series, metric, sink, points_out, err);
	}
	json_decref(tree);
	return rc;
}

bool
promjson_range(int64_t from, int64_t to, int64_t resolution_s, int64_t points, int64_t *start_out,
    int64_t *end_out)
{
	int64_t start = time_floor(from + resolution_s - 1, resolution_s);

	if (points > PROMJSON_POINTS_MAX)
		points = PROMJSON_POINTS_MAX;
	if (start > to)
		return false;
	*start_out = start;
	*end_out = start + (points - 1) * resolution_s < to ? start + (points - 1) * resolution_s
							    : time_floor(to, resolution_s);
	return true;
}
