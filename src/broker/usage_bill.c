#include "broker/usage_bill.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "store/bill_rows.h"
#include "util/buf.h"
#include "util/json.h"
#include "util/str.h"
#include "util/time.h"

#define BILL_DAY_S INT64_C(86400)

/* Sums of one series in one charge period. */
struct bill_total {
	uint32_t target;
	int64_t start, end;
	const char *form; /* of its GPUs; NULL: beside its labels nothing says it */
	double value;
};

struct usage_bill {
	struct store *s;
	struct usage_set *set;
	struct usage_bill_parts *parts;
	struct usage_bill_options o;
	usage_say_fn *say;
	void *arg;
	struct strmap labels; /* JSON -> id */
	bool open, added;     /* added: the grouping is new */
	int64_t from, to;     /* starts of rows that changed */
	struct usage_load_counts counts;
	/* While series are made. */
	struct bill_label_row *label_rows; /* [n_label_rows] by id */
	size_t n_label_rows;
	const char **views; /* [n_views] */
	size_t n_views;
	struct strmap by_key;
	VEC(struct bill_total) totals;
};

static const char *
bill_view(struct usage_bill *b)
{
	struct buf keys;
	const char *text;

	if (b->o.n_by == 0)
		return "provider,region,accelerator,purchase";
	buf_init(&keys, 4096);
	for (size_t i = 0; i < b->o.n_by; i++)
		buf_printf(&keys, "%s%s", i > 0 ? "," : "", b->o.by[i]);
	text = arena_strdup(b->set->a, keys.p);
	buf_free(&keys);
	return text;
}

enum berth_code
usage_bill_new(struct store *s, struct usage_set *set, struct usage_bill_parts *parts,
    const struct usage_bill_options *o, usage_say_fn *say, void *arg, struct usage_bill **b_out,
    struct berth_err *err)
{
	struct usage_bill *b = arena_new_of(set->a, struct usage_bill);
	enum berth_code rc = store_begin(s, err);

	*b = (struct usage_bill){ .s = s,
		.set = set,
		.parts = parts,
		.o = *o,
		.say = say,
		.arg = arg,
		.from = INT64_MAX,
		.to = INT64_MIN };
	*b_out = b;
	b->open = rc == BERTH_OK;
	return rc == BERTH_OK ? store_bill_view_put(s, bill_view(b), &b->added, err) : rc;
}

static void
bill_widen(struct usage_bill *b, int64_t from, int64_t to)
{
	b->from = from < b->from ? from : b->from;
	b->to = to > b->to ? to : b->to;
}

/* The first row of a scope in this command: what the store has of it is gone until it comes again.
 */
static enum berth_code
bill_scope(struct usage_bill *b, const struct focus_bill *row, struct berth_err *err)
{
	char key[32];
	int64_t from, to;
	int added;
	enum berth_code rc;

	if (!b->o.replace)
		return BERTH_OK;
	snprintf(key, sizeof(key), "%016llx", (unsigned long long)row->scope);
	strmap_add(b->parts->a, &b->parts->scopes, key, 1, &added);
	if (!added)
		return BERTH_OK;
	rc = store_bill_expect(b->s, (int64_t)row->scope, &from, &to, err);
	if (rc == BERTH_OK && from <= to)
		bill_widen(b, from, to);
	return rc;
}

/* The series with these labels, which are changed. */
static enum berth_code
bill_target(struct usage_bill *b, struct usage_label *labels, size_t n, const char *unit,
    uint32_t *target_out, struct berth_err *err)
{
	const char *name = usage_name(b->set->a, labels, n);
	enum berth_code rc = usage_target_put(
	    b->set, name, usage_labels_json(b->set->a, labels, n), target_out, err);

	if (rc == BERTH_OK)
		b->set->targets.v[*target_out].unit = unit;
	return rc;
}

/* The two series of a set of labels in one grouping: GPUs in use, and what they cost an hour. */
static enum berth_code
bill_pair(struct usage_bill *b, const json_t *tree, const char *view, const char *currency,
    uint32_t *gpus_out, uint32_t *cost_out, struct berth_err *err)
{
	struct usage_label labels[FOCUS_LABELS_MAX + 2], with[FOCUS_LABELS_MAX + 2];
	size_t n_keys, n = 0, m;
	char **keys = str_split(b->set->a, view, ',', &n_keys);
	enum berth_code rc = BERTH_OK;

	for (size_t i = 0; i < n_keys && n < FOCUS_LABELS_MAX; i++) {
		const char *v = json_string_value(json_object_get(tree, keys[i]));

		if (v != NULL)
			labels[n++] = (struct usage_label){ keys[i], arena_strdup(b->set->a, v) };
	}
	memcpy(with, labels, n * sizeof(*labels));
	m = n;
	with[m++] = (struct usage_label){ "metric", "cost" };
	if (!str_ieq(currency, "USD")) /* money of two kinds does not add up */
		with[m++] = (struct usage_label){ "currency", arena_strdup(b->set->a, currency) };
	if (gpus_out != NULL)
		rc = bill_target(b, labels, n, "gpu", gpus_out, err);
	if (rc == BERTH_OK && cost_out != NULL)
		rc = bill_target(b, with, m,
		    arena_printf(b->set->a, "%s_per_hour", str_lower(b->set->a, currency)),
		    cost_out, err);
	return rc;
}

static enum berth_code
bill_label(
    struct usage_bill *b, const struct focus_bill *row, int64_t *id_out, struct berth_err *err)
{
	struct usage_label labels[FOCUS_LABELS_MAX];
	enum berth_code rc = BERTH_OK;
	const char *json;
	size_t *at;
	int added;

	memcpy(labels, row->labels, row->n_labels * sizeof(*labels));
	(void)usage_name(b->set->a, labels, row->n_labels); /* sorts them */
	json = usage_labels_json(b->set->a, labels, row->n_labels);
	at = strmap_add(b->set->a, &b->labels, json, 0, &added);
	if (added) {
		uint32_t gpus, cost;
		json_t *tree = NULL;

		rc = store_bill_label(b->s, json, id_out, err);
		*at = (size_t)*id_out;
		if (rc ==
		    BERTH_OK) /* the series are named, whether something of them changes or not */
			rc = jsonr_parse(json, strlen(json), "labels of a bill", &tree, err);
		if (rc == BERTH_OK)
			rc = bill_pair(b, tree, bill_view(b), row->currency,
			    row->used ? &gpus : NULL, isnan(row->cost) ? NULL : &cost, err);
		json_decref(tree);
	}
	*id_out = (int64_t)*at;
	return rc;
}

enum berth_code
usage_bill_take(void *arg, const struct focus_bill *row, struct berth_err *err)
{
	struct usage_bill *b = arg;
	struct bill_row r = { .start = row->start,
		.end = row->end,
		.key_hi = (int64_t)row->key[0],
		.key_lo = (int64_t)row->key[1],
		.scope = (int64_t)row->scope,
		.used = row->used,
		.gpu_hours = row->gpu_hours,
		.cost = row->cost,
		.currency = row->currency };
	enum put_fate fate = PUT_DUPLICATE;
	enum berth_code rc = bill_scope(b, row, err);
	char key[80];
	size_t *seen;

	snprintf(key, sizeof(key), "%016llx%016llx %lld", (unsigned long long)row->key[0],
	    (unsigned long long)row->key[1], (long long)row->start);
	seen = strmap_add(b->parts->a, &b->parts->rows, key, 0, NULL);
	r.n = (int64_t)(*seen)++;
	if (rc == BERTH_OK)
		rc = bill_label(b, row, &r.label, err);
	if (rc == BERTH_OK)
		rc = store_bill_put(b->s, &r, &fate, err);
	if (rc != BERTH_OK)
		return rc == BERTH_EINVAL ? BERTH_EFAIL
					  : rc; /* the store's trouble is not the row's */
	b->counts.stored += fate != PUT_DUPLICATE;
	b->counts.duplicate += fate == PUT_DUPLICATE;
	b->counts.replaced += fate == PUT_REPLACED;
	b->counts.gpu_seconds += row->gpu_hours * 3600;
	if (fate != PUT_DUPLICATE)
		bill_widen(b, row->start, row->start);
	return BERTH_OK;
}

static void
bill_add(struct usage_bill *b, uint32_t target, const char *form, const struct bill_sum *sum,
    double value)
{
	int added;
	size_t *at = strmap_add(b->set->a, &b->by_key,
	    arena_printf(b->set->a, "%u %lld %lld %s", target, (long long)sum->start,
		(long long)sum->end, form != NULL ? form : "-"),
	    b->totals.n, &added);

	if (added)
		VEC_PUSH(b->set->a, &b->totals,
		    ((struct bill_total){ target, sum->start, sum->end,
			form != NULL ? arena_strdup(b->set->a, form) : NULL, 0 }));
	b->totals.v[*at].value += value;
}

/* One sum in the series of one grouping. */
static enum berth_code
bill_sum_view(struct usage_bill *b, const json_t *tree, const char *view,
    const struct bill_sum *sum, struct berth_err *err)
{
	double hours = (double)(sum->end - sum->start) / 3600;
	const char *form = json_string_value(json_object_get(tree, "form"));
	uint32_t gpus, cost;
	enum berth_code rc = bill_pair(b, tree, view, sum->currency, sum->used ? &gpus : NULL,
	    isnan(sum->cost) ? NULL : &cost, err);

	/* A source that says no form has a row wherever one with a form has: what an older berth
	 * left of it in a step that was not full is not counted beside. */
	if (rc == BERTH_OK && sum->used) {
		bill_add(b, gpus, form, sum, sum->gpu_hours / hours);
		if (form != NULL)
			bill_add(b, gpus, NULL, sum, 0);
	}
	if (rc == BERTH_OK && !isnan(sum->cost))
		bill_add(b, cost, NULL, sum, sum->cost / hours);
	return rc;
}

static int
bill_cmp_label(const void *key, const void *row)
{
	int64_t id = *(const int64_t *)key, have = ((const struct bill_label_row *)row)->id;

	return id < have ? -1 : id > have;
}

static enum berth_code
bill_sum(void *arg, const struct bill_sum *sum, struct berth_err *err)
{
	struct usage_bill *b = arg;
	const struct bill_label_row *l =
	    bsearch(&sum->label, b->label_rows, b->n_label_rows, sizeof(*l), bill_cmp_label);
	json_t *tree = NULL;
	enum berth_code rc;

	if (l == NULL)
		return err_set(err, BERTH_EINVAL,
		    "a bill has labels that do not exist: run `berth store check`");
	rc = jsonr_parse(l->labels, strlen(l->labels), "labels of a bill", &tree, err);
	for (size_t v = 0; rc == BERTH_OK && v < b->n_views; v++)
		rc = bill_sum_view(b, tree, b->views[v], sum, err);
	json_decref(tree);
	return rc;
}

/* The sums as rows that know their end. */
static enum berth_code
bill_emit(struct usage_bill *b, struct spool *sp, struct berth_err *err)
{
	enum berth_code rc = BERTH_OK;

	for (size_t i = 0; rc == BERTH_OK && i < b->totals.n; i++) {
		const struct bill_total *t = &b->totals.v[i];
		double v = t->value;
		uint32_t source;
		struct usage_row row;

		if (v < -1e-9)
			b->say(b->arg, USAGE_REMARK, 0,
			    arena_printf(b->set->a,
				"series %s: corrections take more than there was; 0 is kept",
				b->set->targets.v[t->target].name));
		v = v > 0 ? v : 0;
		source = usage_source_put(b->set,
		    arena_printf(b->set->a, "%s\n%lld%s%s", b->set->targets.v[t->target].name,
			(long long)(t->end - t->start), t->form != NULL ? "\n" : "",
			t->form != NULL ? t->form : ""),
		    t->target);
		b->set->sources.v[source].form = t->form;
		row = (struct usage_row){
			.source = source, .t = t->start, .end = t->end, .value = v, .peak = v
		};
		usage_seen(b->set, source, t->start);
		rc = spool_add(sp, &row, err);
	}
	return rc;
}

static enum berth_code
bill_series(struct usage_bill *b, const struct usage_counts *read, struct berth_err *err)
{
	struct usage_load_counts made = { 0 };
	struct spool *sp = NULL;
	enum berth_code rc =
	    store_bill_labels(b->s, b->set->a, &b->label_rows, &b->n_label_rows, err);

	if (rc == BERTH_OK && b->added) /* from the first row on */
		rc = store_bill_bounds(b->s, &b->from, &b->to, err);
	if (rc == BERTH_OK)
		rc = store_bill_view_list(b->s, b->set->a, &b->views, &b->n_views, err);
	if (rc == BERTH_OK)
		rc = spool_new(SPOOL_ROWS, NULL, &sp, err);
	/* Whole days: what is rolled up to a day is made again as one. */
	if (rc == BERTH_OK && b->from <= b->to)
		rc = store_bill_sums(b->s, time_floor(b->from, BILL_DAY_S),
		    time_floor(b->to, BILL_DAY_S) + BILL_DAY_S - 1, bill_sum, b, err);
	if (rc == BERTH_OK)
		rc = bill_emit(b, sp, err);
	if (rc == BERTH_OK)
		rc = usage_load(b->s, b->set, sp, &b->o.load, read, &made, b->say, b->arg, err);
	b->counts.before = made.before;
	b->counts.refused = made.refused;
	spool_free(sp);
	return rc;
}

enum berth_code
usage_bill_end(struct usage_bill *b, enum berth_code rc, const struct usage_counts *read,
    struct usage_load_counts *counts_out, struct berth_err *err)
{
	if (b == NULL || !b->open)
		return rc;
	if (rc == BERTH_OK)
		rc = bill_series(b, read, err);
	b->open = false;
	if (rc != BERTH_OK) {
		store_rollback(b->s);
		return rc;
	}
	rc = store_commit(b->s, err);
	if (rc == BERTH_OK)
		*counts_out = b->counts;
	return rc;
}
