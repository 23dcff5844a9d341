#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/forecast.h"
#include "util/arena.h"
#include "util/json.h"
#include "util/str.h"
#include "util/time.h"
#include "util/vec.h"

#define TREE_SILENT_S                                                                              \
	(72 * 3600) /* a series that ended so long before the others is no part of a sum any more  \
		     */

struct tree_sums {
	struct arena *a;
	VEC(struct fc_sum) v;
};

static int
tree_cmp_text(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* One sum for each value of the label, by value. */
static enum berth_code
tree_group(struct cmd_ctx *ctx, const struct forecast_set *f, const char *key, struct tree_sums *l,
    struct berth_err *err)
{
	const char **value = arena_array(ctx->arena, f->n, sizeof(*value)),
		   **sorted = arena_array(ctx->arena, f->n, sizeof(*sorted));
	size_t n = 0;

	for (size_t i = 0; i < f->n; i++) {
		value[i] = series_label(&f->rows[i], key, ctx->arena);
		if (value[i] != NULL)
			sorted[n++] = value[i];
	}
	if (n == 0)
		return err_set(
		    err, BERTH_ENOTFOUND, "--by: none of the series has a label '%s'", key);
	if (n < f->n)
		cmd_warn(ctx,
		    f->n - n == 1 ? "%zu series has no label '%s' and is in none of its sums"
				  : "%zu series have no label '%s' and are in none of its sums",
		    f->n - n, key);
	qsort(sorted, n, sizeof(*sorted), tree_cmp_text);
	for (size_t k = 0; k < n; k++) {
		size_t *leaf = arena_array(ctx->arena, f->n, sizeof(*leaf)), m = 0;

		if (k > 0 && str_eq(sorted[k], sorted[k - 1]))
			continue;
		for (size_t i = 0; i < f->n; i++)
			if (value[i] != NULL && str_eq(value[i], sorted[k]))
				leaf[m++] = i;
		VEC_PUSH(l->a, &l->v,
		    ((struct fc_sum){ arena_printf(l->a, "%s=%s", key, sorted[k]), leaf, m }));
	}
	return BERTH_OK;
}

void
forecast_place(struct forecast_set *f, size_t k, size_t i)
{
	f->rows[k] = f->rows[i];
	f->recorded[k] = f->recorded[i];
	f->in[k] = f->in[i];
	f->joined[k] = f->joined[i];
	f->queued[k] = f->queued[i];
	f->coarse[k] = f->coarse[i];
	if (f->unit != NULL)
		f->unit[k] = f->unit[i];
	if (f->uses != NULL)
		f->uses[k] = f->uses[i];
}

/*
 * Takes a recorded "total" and series that ended long ago out of the leaves; *total_out is the
 * place of the former behind them, SIZE_MAX: none.
 */
static enum berth_code
tree_leaves(struct cmd_ctx *ctx, struct forecast_set *f, struct fc_series *total_out,
    struct series *row_out, struct berth_err *err)
{
	const char *unit = series_unit(&f->rows[0]);
	int64_t last = 0;
	size_t kept = 0;

	*total_out = (struct fc_series){ 0 };
	for (size_t i = 0; i < f->n; i++) {
		int64_t end = f->recorded[i].t0 + (int64_t)f->recorded[i].n * f->recorded[i].step_s;

		last = end > last ? end : last;
		unit = series_is_gpus(&f->rows[i]) ? "GPUs" : unit;
	}
	for (size_t i = 0; i < f->n; i++) {
		int64_t end = f->recorded[i].t0 + (int64_t)f->recorded[i].n * f->recorded[i].step_s;
		char t[TIME_FMT_SIZE];

		if (strcmp(series_unit(&f->rows[i]), unit) != 0) {
			cmd_warn(ctx, "series %s counts %s, others %s: it is in no sum",
			    f->rows[i].name, series_unit(&f->rows[i]), unit);
			continue;
		}

		if (last - end > TREE_SILENT_S) {
			cmd_warn(ctx, "series %s has no samples since %s: it is in no sum",
			    f->rows[i].name, time_fmt(t, end));
			continue;
		}
		if (str_eq(f->rows[i].name, "total") && f->n > 1) {
			*total_out = f->recorded[i];
			*row_out = f->rows[i];
			continue;
		}
		forecast_place(f, kept++, i);
	}
	f->n = f->n_coarse = kept;
	if (kept == 0)
		return err_set(err, BERTH_EINVAL, "there is nothing to add up");
	return BERTH_OK;
}

/* Recorded history of the total, changed by what the events changed in its leaves. */
static void
tree_recorded_total(struct cmd_ctx *ctx, const struct fc_series *total,
    const struct fc_series *recorded, struct fc_series *sum)
{
	double *mean = arena_array(ctx->arena, sum->n, sizeof(*mean)),
	       *peak = arena_array(ctx->arena, sum->n, sizeof(*peak));

	for (size_t i = 0; i < sum->n; i++) {
		int64_t k = (sum->t0 - total->t0) / sum->step_s + (int64_t)i;
		double change = sum->mean[i] - recorded->mean[i], m = NAN, p = NAN;

		if (k >= 0 && k < (int64_t)total->n) {
			m = total->mean[k] + (isnan(change) ? 0 : change);
			p = total->peak != NULL ? total->peak[k] + (isnan(change) ? 0 : change) : m;
		}
		mean[i] = m > 0 || isnan(m) ? m : 0;
		peak[i] = p > mean[i] ? p : mean[i];
	}
	sum->mean = mean;
	sum->peak = peak;
}

/* Labels of a sum: the accelerator, where all its series have the same. */
static const char *
tree_common(const struct forecast_set *f, const struct fc_sum *sum, struct arena *a)
{
	const char *first = series_label(&f->rows[sum->leaf[0]], "accelerator", a);
	const char *labels = "{}";
	json_t *v;

	for (size_t i = 1; i < sum->n && first != NULL; i++) {
		const char *other = series_label(&f->rows[sum->leaf[i]], "accelerator", a);

		if (other == NULL || !str_eq(first, other))
			first = NULL;
	}
	if (first == NULL)
		return labels;
	v = json_pack("{s:s}", "accelerator", first);
	if (v != NULL) {
		char *text = json_dumps(v, JSON_COMPACT);

		labels = text != NULL ? arena_strdup(a, text) : labels;
		free(text);
		json_decref(v);
	}
	return labels;
}

/* The leaves as they are added up: single values far over all others of a leaf would else hide in a
 * sum. */
static struct fc_series *
tree_unspiked(struct cmd_ctx *ctx, struct fc_series *in, size_t n)
{
	const struct forecast_opts *o = ctx->opts;
	struct fc_series *out = in;

	if (!o->keep_spikes && !o->backtest && !o->compare)
		out = arena_array(ctx->arena, n, sizeof(*out));
	for (size_t i = 0; i < n && out != in; i++) {
		struct fc_spike ignored[FC_SPIKE_MAX];
		size_t n_ignored;

		fc_spikes(
		    &in[i], forecast_spike_times(o), ctx->arena, &out[i], ignored, &n_ignored);
	}
	return out;
}

/* Arrays of all nodes: leaves, aligned, then sums. */
static enum berth_code
tree_nodes(struct cmd_ctx *ctx, struct forecast_set *f, const struct fc_series *total,
    const struct series *total_row, struct berth_err *err)
{
	const struct fc_tree *t = &f->tree;
	size_t n = t->n_leaves + t->n_sums;
	struct fc_series *in = arena_array(ctx->arena, n, sizeof(*in)),
			 *recorded = arena_array(ctx->arena, n, sizeof(*recorded));
	struct fc_series *added;
	struct series *rows = arena_array(ctx->arena, n, sizeof(*rows));
	enum berth_code rc = fc_tree_align(f->in, t->n_leaves, ctx->arena, in, err);

	if (rc == BERTH_OK)
		rc = fc_tree_align(f->recorded, t->n_leaves, ctx->arena, recorded, err);
	if (rc != BERTH_OK)
		return rc;
	memcpy(rows, f->rows, t->n_leaves * sizeof(*rows));
	added = tree_unspiked(ctx, in, t->n_leaves);
	for (size_t k = 0; k < t->n_sums; k++) {
		size_t at = t->n_leaves + k;

		rows[at] = (struct series){ .name = t->sums[k].name,
			.labels = tree_common(f, &t->sums[k], ctx->arena),
			.unit = f->rows[0].unit,
			.step_s = in[0].step_s };
		fc_tree_history(added, &t->sums[k], ctx->arena, &in[at]);
		fc_tree_history(recorded, &t->sums[k], ctx->arena, &recorded[at]);
		if (k == 0 && total->n > 0 && total->step_s == in[0].step_s) {
			rows[at] = *total_row;
			tree_recorded_total(ctx, total, &recorded[at], &in[at]);
			recorded[at] = *total;
		}
	}
	f->joined = memcpy(arena_array(ctx->arena, n, sizeof(*f->joined)), f->joined,
	    t->n_leaves * sizeof(*f->joined));
	f->queued = memcpy(arena_array(ctx->arena, n, sizeof(*f->queued)), f->queued,
	    t->n_leaves * sizeof(*f->queued));
	for (size_t k = 0; k < t->n_sums; k++)
		for (size_t i = 0; i < t->sums[k].n; i++)
			f->queued[t->n_leaves + k] += f->queued[t->sums[k].leaf[i]];
	f->rows = rows;
	f->in = in;
	f->recorded = recorded;
	f->out = arena_array(ctx->arena, n, sizeof(*f->out));
	f->n = n;
	return BERTH_OK;
}

/* Sums have no events of their own: theirs are those of their leaves. */
static void
tree_uses(struct cmd_ctx *ctx, struct forecast_set *f)
{
	struct fc_event_use **uses = arena_array(ctx->arena, f->n, sizeof(*uses));

	for (size_t i = 0; i < f->n; i++) {
		uses[i] = i < f->tree.n_leaves ? f->uses[i]
					       : arena_array(ctx->arena, f->map.n, sizeof(**uses));
		for (size_t k = 0; k < f->map.n; k++)
			uses[i][k].event = &f->map.entries[k].event;
	}
	f->uses = uses;
	f->base = arena_array(ctx->arena, f->n, sizeof(*f->base));
}

enum berth_code
forecast_tree(struct cmd_ctx *ctx, struct forecast_set *f, struct berth_err *err)
{
	const struct forecast_opts *o = ctx->opts;
	struct tree_sums l = { .a = ctx->arena };
	struct fc_series total;
	struct series total_row = { 0 };
	size_t *all;
	enum berth_code rc = tree_leaves(ctx, f, &total, &total_row, err);

	if (rc != BERTH_OK)
		return rc;
	all = arena_array(ctx->arena, f->n, sizeof(*all));
	for (size_t i = 0; i < f->n; i++)
		all[i] = i;
	VEC_PUSH(l.a, &l.v, ((struct fc_sum){ "total", all, f->n }));
	for (size_t k = 0; k < o->by.n && rc == BERTH_OK; k++)
		rc = tree_group(ctx, f, o->by.v[k], &l, err);
	for (size_t k = 0; k < l.v.n && rc == BERTH_OK; k++)
		for (size_t i = 0; i < f->n; i++)
			if (str_eq(f->rows[i].name, l.v.v[k].name))
				rc = err_set(err, BERTH_EINVAL,
				    "a sum and a series are both called '%s'", l.v.v[k].name);
	if (rc != BERTH_OK)
		return rc;
	f->tree = (struct fc_tree){ f->n, l.v.n, l.v.v };
	rc = tree_nodes(ctx, f, &total, &total_row, err);
	if (rc == BERTH_OK && f->map.n > 0)
		tree_uses(ctx, f);
	return rc;
}

enum fc_reconcile
forecast_tree_how(const struct cmd_ctx *ctx)
{
	static const char *const words[] = { "structural", "mint", "bottom-up", "none", NULL };
	const struct forecast_opts *o = ctx->opts;

	return (enum fc_reconcile)str_index(o->reconcile, words);
}

void
forecast_tree_uses(struct forecast_set *f, size_t sum)
{
	for (size_t k = 0; k < f->map.n; k++) {
		struct fc_event_use *u = &f->uses[f->tree.n_leaves + sum][k];

		u->measured = u->at_peak = NAN;
		for (size_t i = 0; i < f->tree.sums[sum].n; i++) {
			const struct fc_event_use *leaf = &f->uses[f->tree.sums[sum].leaf[i]][k];

			if (leaf->share == 0)
				continue;
			u->share = u->event->kind == FC_EVENT_GPUS ? u->share + leaf->share : 1;
			u->state = leaf->state;
			u->happens = leaf->happens;
			u->mean += leaf->mean;
		}
	}
}

void
forecast_tree_reconcile(struct cmd_ctx *ctx, struct forecast_set *f)
{
	fc_tree_reconcile(&f->tree, forecast_tree_how(ctx), f->out);
}

void
forecast_tree_events(struct forecast_set *f)
{
	fc_tree_sum(&f->tree, f->out);
	for (size_t s = 0; s < f->tree.n_sums; s++)
		forecast_tree_uses(f, s);
}

void
forecast_json_sums(struct jsonw *w, const struct forecast_set *f)
{
	jsonw_begin_array(w, "sums");
	for (size_t s = 0; s < f->tree.n_sums; s++) {
		jsonw_begin_object(w, NULL);
		jsonw_str(w, "name", f->tree.sums[s].name);
		jsonw_begin_array(w, "of");
		for (size_t i = 0; i < f->tree.sums[s].n; i++)
			jsonw_str(w, NULL, f->rows[f->tree.sums[s].leaf[i]].name);
		jsonw_end_array(w);
		jsonw_end_object(w);
	}
	jsonw_end_array(w);
}
