#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "broker/usage_bill.h"
#include "cmd/record.h"
#include "ingest/focus.h"
#include "ingest/zin.h"
#include "model/datapath.h"
#include "store/offer_rows.h"
#include "util/arena.h"
#include "util/csv.h"
#include "util/str.h"

const struct record_focus_opts record_focus_defaults = { 0 };

#define OFF(field) offsetof(struct record_focus_opts, field)
const struct opt_row record_focus_rows[] = {
	{ "by", 'b', OPT_LIST, "LABEL",
	    "one series per value of these: provider, region, sku, account ...", OFF(by), 0, 0,
	    NULL },
	{ "step", 0, OPT_DURATION, "DUR", "step of new series (1h)", OFF(step_s), 60, 31 * 86400,
	    NULL },
	{ "replace", 0, OPT_FLAG, NULL,
	    "the files are all of their bills: rows that they lack are gone", OFF(replace), 0, 0,
	    NULL },
	{ 0 },
};
#undef OFF

struct focus_machine {
	const char *accelerator;
	double count;
};

/* What is known of instance types: offers of the store, then the bundled list. */
struct focus_types {
	struct arena *a;
	struct strmap by_name;
	VEC(struct focus_machine) v;
};

static void
focus_learn(struct focus_types *t, const char *instance, const char *accelerator, double count)
{
	int added;

	if (*instance == '\0' || count <= 0)
		return;
	strmap_add(t->a, &t->by_name, str_lower(t->a, instance), t->v.n, &added);
	if (added)
		VEC_PUSH(
		    t->a, &t->v, (struct focus_machine){ arena_strdup(t->a, accelerator), count });
}

static bool
focus_known(void *arg, const char *instance, const char **accelerator_out, double *count_out)
{
	struct focus_types *t = arg;
	const size_t *at = strmap_get(&t->by_name, str_lower(t->a, instance));

	if (at == NULL)
		return false;
	*accelerator_out = t->v.v[*at].accelerator;
	*count_out = t->v.v[*at].count;
	return true;
}

static enum berth_code
focus_bundled(struct focus_types *t, struct berth_err *err)
{
	const struct csv_row *row;
	struct csv *c = NULL;
	const char *path;
	int type = 0, accel = 0, count = 0;
	enum berth_code rc = data_path(t->a, "offers.csv", &path, err);

	if (rc == BERTH_OK)
		rc = csv_open(path, &c, err);
	if (rc == BERTH_OK)
		rc = csv_need(c, "instance_type", &type, err);
	if (rc == BERTH_OK)
		rc = csv_need(c, "accelerator", &accel, err);
	if (rc == BERTH_OK)
		rc = csv_need(c, "accelerator_count", &count, err);
	while (rc == BERTH_OK && (rc = csv_next(c, &row, err)) == BERTH_OK && row != NULL) {
		int64_t n;

		if (str_to_i64(row->field[count], 1, 1000, &n, NULL) == BERTH_OK)
			focus_learn(t, row->field[type], row->field[accel], (double)n);
	}
	csv_close(c);
	return rc;
}

static enum berth_code
focus_types(struct cmd_ctx *ctx, struct focus_types *t, struct berth_err *err)
{
	struct offer *offers;
	size_t n;
	enum berth_code rc = store_offer_list(ctx->store, NULL, ctx->arena, &offers, &n, err);

	t->a = ctx->arena;
	for (size_t i = 0; rc == BERTH_OK && i < n; i++)
		focus_learn(t, offers[i].instance_type, offers[i].accelerator,
		    (double)offers[i].accelerator_count);
	return rc == BERTH_OK ? focus_bundled(t, err) : rc;
}

struct focus_load {
	struct focus_types types;
	struct usage_bill_parts parts;
};

/* A sink has one arg: rows go to the bill, what is said to the report. */
struct focus_reading {
	struct record *r;
	struct usage_bill *bill;
};

static enum berth_code
focus_take(void *arg, const struct focus_bill *row, struct berth_err *err)
{
	struct focus_reading *f = arg;
	const char *fault = usage_time_fault(row->start, f->r->ctx->now);
	const char *label = usage_label_fault(row->labels, row->n_labels);

	if (fault != NULL)
		return err_set(err, BERTH_EINVAL, "ChargePeriodStart %s", fault);
	if (label != NULL)
		return err_set(err, BERTH_EINVAL,
		    "%s is no UTF-8: convert the file (iconv -f ISO-8859-1 -t UTF-8)", label);
	return usage_bill_take(f->bill, row, err);
}

static void
focus_say(void *arg, enum usage_say kind, long line, const char *message)
{
	record_say(((struct focus_reading *)arg)->r, kind, line, message);
}

static void
focus_progress(void *arg, int64_t rows)
{
	record_progress(((struct focus_reading *)arg)->r, rows);
}

static enum berth_code
focus_rows(struct record *r, struct zin *z, struct usage_set *set, struct focus_counts *counts,
    struct usage_load_counts *load, struct berth_err *err)
{
	static const char *const labels[] = { "provider", "region", "zone", "account",
		"accelerator", "instance_type", "purchase", "sku", "commitment", NULL };
	const struct record_focus_opts *opts = r->ctx->opts;
	struct focus_load *own = r->own;
	char digest[HASH_DIGEST_SIZE] = "";
	struct usage_bill_options o = { .by = opts->by.v,
		.n_by = opts->by.n,
		.replace = opts->replace,
		.load = { .step_s = opts->step_s,
		    .unit = "gpu",
		    .format = "focus",
		    .source = r->file,
		    .digest = digest,
		    .options = record_options(r->ctx),
		    .now = r->ctx->now } };
	struct focus_options fo = { .machine = focus_known, .machine_arg = &own->types };
	struct focus_reading reading = { .r = r };
	const struct focus_sink sink = { &reading, focus_take, focus_say, focus_progress };
	enum berth_code rc = record_check_by(&opts->by, labels, "bills", err);

	if (rc == BERTH_OK)
		rc = cmd_accels(r->ctx, &fo.accels, err);
	if (rc == BERTH_OK)
		rc = usage_bill_new(
		    r->ctx->store, set, &own->parts, &o, record_say, r, &reading.bill, err);
	r->zin = z;
	if (rc == BERTH_OK)
		rc = focus_read(zin_file(z), r->file, &fo, set->a, &sink, counts, err);
	r->zin = NULL;
	zin_digest(z, digest);
	return usage_bill_end(reading.bill, rc, &counts->rows, load, err);
}

static enum berth_code
focus_file(struct record *r, const char *path, struct berth_err *err)
{
	struct usage_load_counts load = { 0 };
	struct focus_counts counts = { 0 };
	struct arena *a = arena_new();
	struct zin *z = NULL;
	struct usage_set set;
	enum berth_code rc = zin_open(path, &z, err);

	usage_set_init(&set, a);
	if (rc == BERTH_OK)
		rc = focus_rows(r, z, &set, &counts, &load, err);
	if (rc == BERTH_EIO && zin_fault(z) != NULL)
		rc = err_set(
		    err, BERTH_EINVAL, "%s: %s; nothing of it was stored", r->file, zin_fault(z));
	if (rc == BERTH_OK) {
		record_touch(r, &set);
		record_count(r, &counts.rows, &load);
		record_extra(r, "rows_without_gpus", counts.without_gpus);
		record_sum(r, "gpu_hours", counts.gpu_hours);
		record_sum(r, "effective_cost", counts.cost);
	}
	zin_close(z);
	arena_free(a);
	return rc;
}

enum berth_code
record_focus(struct cmd_ctx *ctx, struct berth_err *err)
{
	struct focus_load own = { .parts = { .a = ctx->arena } };
	struct record r = { .ctx = ctx, .own = &own };
	enum berth_code rc = focus_types(ctx, &own.types, err);

	return rc == BERTH_OK ? record_files(&r, focus_file, err) : rc;
}
