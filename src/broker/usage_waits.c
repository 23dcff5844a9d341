#include "broker/usage_waits.h"

#include <stdlib.h>
#include <string.h>

#include "ingest/ingest.h"
#include "store/usage_rows.h"
#include "util/json.h"
#include "util/str.h"
#include "util/strmap.h"
#include "util/vec.h"

struct waits_name {
	const char *name, *accelerator;
};

struct waits_of {
	struct arena *a;
	struct waits *waits;
	struct usage_label_row *labels; /* [n_labels] by id */
	size_t n_labels;
	struct waits_label *groups; /* [n_labels] */
	struct strmap by_name;
	VEC(struct waits_name) names;
	VEC(struct usage_waits_row) rows;
};

static uint32_t
waits_group(struct waits_of *w, struct usage_label *labels, size_t n)
{
	const char *accelerator = NULL, *name = usage_name(w->a, labels, n);
	int added;
	size_t *at = strmap_add(w->a, &w->by_name, name, w->names.n, &added);

	for (size_t i = 0; i < n; i++)
		if (str_eq(labels[i].key, "accelerator"))
			accelerator = arena_strdup(w->a, labels[i].value);
	if (added)
		VEC_PUSH(w->a, &w->names, (struct waits_name){ name, accelerator });
	return (uint32_t)*at;
}

/* The series that a set of labels counts in: one of each grouping, and the total. */
static enum berth_code
waits_groups(struct waits_of *w, const char *json, const struct usage_view *views, size_t n_views,
    struct waits_label *out, struct berth_err *err)
{
	uint32_t *groups = arena_array_of(w->a, n_views + 1, uint32_t);
	json_t *tree = NULL;
	enum berth_code rc = jsonr_parse(json, strlen(json), "labels of jobs", &tree, err);

	for (size_t v = 0; rc == BERTH_OK && v < n_views; v++) {
		struct usage_label labels[INGEST_LABELS_MAX];
		size_t n;
		char **keys = str_split(w->a, views[v].keys, ',', &n);

		n = n < INGEST_LABELS_MAX ? n : INGEST_LABELS_MAX;
		for (size_t i = 0; i < n; i++) {
			const char *value = json_string_value(json_object_get(tree, keys[i]));

			if (value == NULL && str_eq(keys[i], "team"))
				value = json_string_value(json_object_get(tree, "account"));
			labels[i] =
			    (struct usage_label){ keys[i], value != NULL ? value : "unknown" };
		}
		groups[v] = waits_group(w, labels, n);
	}
	groups[n_views] = waits_group(w, NULL, 0);
	*out = (struct waits_label){ groups, n_views + 1 };
	json_decref(tree);
	return rc;
}

static int
waits_cmp_id(const void *key, const void *row)
{
	int64_t id = *(const int64_t *)key, have = ((const struct usage_label_row *)row)->id;

	return id < have ? -1 : id > have;
}

static enum berth_code
waits_job(void *arg, const struct usage_job *j, struct berth_err *err)
{
	struct waits_of *w = arg;
	const struct usage_label_row *l =
	    bsearch(&j->label, w->labels, w->n_labels, sizeof(*l), waits_cmp_id);

	if (j->part != 0)
		return BERTH_OK;
	if (l == NULL)
		return err_set(err, BERTH_EINVAL,
		    "a job has labels that do not exist: run `berth store check`");
	return waits_add(w->waits, (uint32_t)(l - w->labels), j->submit,
	    j->start != 0 ? j->start : j->until, j->start != 0, err);
}

static enum berth_code
waits_row(void *arg, uint32_t group, const struct waits_step *step, struct berth_err *err)
{
	struct waits_of *w = arg;

	(void)err;
	VEC_PUSH(w->a, &w->rows,
	    (struct usage_waits_row){
		w->names.v[group].name, w->names.v[group].accelerator, *step });
	return BERTH_OK;
}

static int
waits_cmp_row(const void *a, const void *b)
{
	const struct usage_waits_row *x = a, *y = b;
	int c = strcmp(x->name, y->name);

	if (c != 0)
		return c;
	return x->step.t < y->step.t ? -1 : x->step.t > y->step.t;
}

enum berth_code
usage_waits(struct store *s, struct arena *a, int64_t step_s, int64_t from, int64_t to,
    struct usage_waits_row **rows_out, size_t *n_out, struct berth_err *err)
{
	struct waits_of w = { .a = a };
	struct usage_view *views;
	size_t n_views;
	enum berth_code rc = store_usage_view_list(s, a, &views, &n_views, err);

	if (rc == BERTH_OK && to - from > INT64_C(0xffffffff) / 2)
		rc = err_set(err, BERTH_EINVAL, "more than 68 years at once");
	if (rc == BERTH_OK)
		rc = store_usage_labels(s, a, &w.labels, &w.n_labels, err);
	if (rc == BERTH_OK)
		w.groups = arena_array_of(a, w.n_labels, struct waits_label);
	for (size_t i = 0; rc == BERTH_OK && i < w.n_labels; i++)
		rc = waits_groups(&w, w.labels[i].labels, views, n_views, &w.groups[i], err);
	if (rc == BERTH_OK)
		rc = waits_new(step_s, from, to, &w.waits, err);
	if (rc == BERTH_OK)
		rc = store_usage_each(s, from, to + 1, waits_job, &w, err);
	if (rc == BERTH_OK)
		rc = waits_run(w.waits, w.groups, w.names.n, waits_row, &w, err);
	waits_free(w.waits);
	if (rc == BERTH_OK && w.rows.n > 0)
		qsort(w.rows.v, w.rows.n, sizeof(*w.rows.v), waits_cmp_row);
	*rows_out = w.rows.v;
	*n_out = w.rows.n;
	return rc;
}
