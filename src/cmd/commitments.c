#include <math.h>
#include <stddef.h>
#include <string.h>

#include "cmd/cmd.h"
#include "cmd/commitments.h"
#include "model/accel.h"
#include "store/money_rows.h"
#include "util/arena.h"
#include "util/csv.h"
#include "util/json.h"
#include "util/str.h"
#include "util/time.h"
#include "util/vec.h"

struct commitments_opts {
	bool all;
};

static const struct commitments_opts commitments_defaults = { .all = false };

static const struct opt_row commitments_rows[] = {
	{ "all", 'a', OPT_FLAG, NULL, "also those that have ended or begin later",
	    offsetof(struct commitments_opts, all), 0, 0, NULL },
	{ 0 },
};

static enum berth_code commitments_run(struct cmd_ctx *ctx, struct berth_err *err);
static enum berth_code commitments_run_import(struct cmd_ctx *ctx, struct berth_err *err);
static enum berth_code commitments_run_delete(struct cmd_ctx *ctx, struct berth_err *err);

static const struct cmd commitments_subs[] = {
	{ .name = "coverage",
	    .summary = "what was used of what is owned, and what it did not cover, by the hour",
	    .args = "[SERIES ...]",
	    .opts = coverage_rows,
	    .opts_default = &coverage_defaults,
	    .opts_size = sizeof(struct coverage_opts),
	    .flags = CMD_STORE_RO,
	    .args_max = -1,
	    .run = commitments_run_coverage },
	{ .name = "import",
	    .summary = "take in a CSV of what is owned",
	    .args = "FILE",
	    .flags = CMD_STORE_RW,
	    .args_min = 1,
	    .args_max = 1,
	    .run = commitments_run_import },
	{ .name = "delete",
	    .summary = "forget commitments",
	    .args = "ID ...",
	    .flags = CMD_STORE_RW,
	    .args_min = 1,
	    .args_max = -1,
	    .run = commitments_run_delete },
	{ 0 },
};

const struct cmd cmd_commitments = {
	.name = "commitments",
	.summary = "say what is reserved already, and list it",
	.args = "",
	.opts = commitments_rows,
	.opts_default = &commitments_defaults,
	.opts_size = sizeof(commitments_defaults),
	.flags = CMD_STORE_RO,
	.run = commitments_run,
	.subs = commitments_subs,
};

enum commitments_col {
	C_PROVIDER,
	C_ACCELERATOR,
	C_COUNT,
	C_FROM,
	C_TO,
	C_NEEDED,
	C_GPUS = C_NEEDED,
	C_ACCOUNT,
	C_REGION,
	C_ZONE,
	C_TYPE,
	C_MEMORY,
	C_TERM,
	C_PAYMENT,
	C_UPFRONT,
	C_PRICE,
	C_USAGE,
	C_NOTE,
	C_COLUMNS
};

static const char *const commitments_names[C_COLUMNS] = { "provider", "accelerator", "count",
	"from", "to", "accelerator_count", "account", "region", "zone", "instance_type",
	"accelerator_memory_gib", "term_months", "payment", "upfront", "price_per_hour",
	"usage_price_per_hour", "note" };

struct commitments_file {
	struct cmd_ctx *ctx;
	const struct accel_table *accels;
	struct csv *csv;
	int at[C_COLUMNS];
	const struct csv_row *row;
};

/* "" where the file has no such column. */
static const char *
commitments_text(const struct commitments_file *f, enum commitments_col c)
{
	return f->at[c] < 0 ? "" : str_trim(f->ctx->arena, f->row->field[f->at[c]]);
}

static enum berth_code
commitments_int(const struct commitments_file *f, enum commitments_col c, int64_t least,
    int64_t most, int *out, struct berth_err *err)
{
	const char *text = commitments_text(f, c);
	int64_t v = *out;

	if (text[0] != '\0' && str_to_i64(text, least, most, &v, err) != BERTH_OK)
		return csv_err(f->csv, err, commitments_names[c]);
	*out = (int)v;
	return BERTH_OK;
}

static enum berth_code
commitments_money(const struct commitments_file *f, enum commitments_col c, struct usd_micro *out,
    struct berth_err *err)
{
	const char *text = commitments_text(f, c);

	if (text[0] == '\0')
		return BERTH_OK;
	if (usd_parse(text, out, err) != BERTH_OK)
		return csv_err(f->csv, err, commitments_names[c]);
	if (out->v < 0) {
		err_set(err, BERTH_EINVAL, "%s is less than nothing", text);
		return csv_err(f->csv, err, commitments_names[c]);
	}
	return BERTH_OK;
}

static enum berth_code
commitments_time(
    const struct commitments_file *f, enum commitments_col c, int64_t *out, struct berth_err *err)
{
	const char *text = commitments_text(f, c);
	enum berth_code rc;

	if (strlen(text) == 10 && text[4] == '-')
		text = arena_printf(f->ctx->arena, "%sT00:00:00Z", text);
	rc = time_parse(text, f->ctx->now, NULL, TIME_EPOCH | TIME_ABSOLUTE, out, err);
	return rc == BERTH_OK ? rc : csv_err(f->csv, err, commitments_names[c]);
}

static enum berth_code
commitments_accel(const struct commitments_file *f, struct offer *o, struct berth_err *err)
{
	const char *name = commitments_text(f, C_ACCELERATOR), *near[3];
	const struct accel *x = accel_find(f->accels, name);
	size_t n;

	if (x != NULL) {
		o->accelerator = x->name;
		o->accelerator_known = true;
		return BERTH_OK;
	}
	n = accel_suggest(f->accels, name, near, 3);
	err_set(err, BERTH_EINVAL, "no accelerator called '%s' is known%s%s", name,
	    n > 0 ? "; did you mean " : "", n > 0 ? str_join(f->ctx->arena, near, n, ", ") : "");
	return csv_err(f->csv, err, "accelerator");
}

/* What all of it costs is an amount that reports can tell. */
static enum berth_code
commitments_sum(const struct commitments_file *f, const struct commitment *c, struct berth_err *err)
{
	struct usd_micro hourly, upfront, sum;
	enum berth_code rc =
	    usd_mul_ratio(c->offer.price, c->count * (c->to - c->from), 3600, &hourly, err);

	if (rc == BERTH_OK)
		rc = usd_mul_ratio(c->offer.upfront, c->count, 1, &upfront, err);
	if (rc == BERTH_OK)
		rc = usd_add(hourly, upfront, &sum, err);
	if (rc == BERTH_OK)
		return rc;
	err_set(err, BERTH_EINVAL, "these machines would cost more than 9.2e12 USD in their time");
	return csv_err(f->csv, err, "count");
}

static enum berth_code
commitments_row(const struct commitments_file *f, struct commitment *c, struct berth_err *err)
{
	struct offer *o = &c->offer;
	const char *payment = commitments_text(f, C_PAYMENT),
		   *memory = commitments_text(f, C_MEMORY);
	enum berth_code rc;

	*c = (struct commitment){
		.count = 0, .source = "import", .note = commitments_text(f, C_NOTE)
	};
	*o = (struct offer){ .provider = commitments_text(f, C_PROVIDER),
		.account = commitments_text(f, C_ACCOUNT),
		.region = commitments_text(f, C_REGION),
		.zone = commitments_text(f, C_ZONE),
		.instance_type = commitments_text(f, C_TYPE),
		.accelerator_count = 1,
		.purchase = PURCHASE_RESERVED,
		.upfront = USD_ZERO,
		.price = USD_ZERO,
		.currency = "USD",
		.available = AVAIL_UNKNOWN,
		.interruption_rate = NAN,
		.measured = NAN,
		.as_of = f->ctx->now,
		.source = "import",
		.vcpus = NAN,
		.memory_gib = NAN,
		.accelerator_memory_gib = NAN };
	if (o->provider[0] == '\0') {
		err_set(err, BERTH_EINVAL, "no provider");
		return csv_err(f->csv, err, "provider");
	}
	if (payment[0] != '\0' && !payment_parse(payment, &o->payment)) {
		err_set(err, BERTH_EINVAL, "'%s' is none of none, partial and all", payment);
		return csv_err(f->csv, err, "payment");
	}
	if (memory[0] != '\0' &&
	    str_to_double(memory, 0, 1e6, &o->accelerator_memory_gib, err) != BERTH_OK)
		return csv_err(f->csv, err, "accelerator_memory_gib");
	rc = commitments_accel(f, o, err);
	if (rc == BERTH_OK)
		rc = commitments_int(f, C_COUNT, 1, 1000000, &c->count, err);
	if (rc == BERTH_OK && c->count == 0) {
		err_set(err, BERTH_EINVAL, "how many machines?");
		return csv_err(f->csv, err, "count");
	}
	if (rc == BERTH_OK)
		rc = commitments_int(f, C_GPUS, 1, 1024, &o->accelerator_count, err);
	if (rc == BERTH_OK)
		rc = commitments_int(f, C_TERM, 0, 1200, &o->term_months, err);
	if (rc == BERTH_OK)
		rc = commitments_money(f, C_UPFRONT, &o->upfront, err);
	if (rc == BERTH_OK)
		rc = commitments_money(f, C_PRICE, &o->price, err);
	if (commitments_text(f, C_UPFRONT)[0] == '\0' && commitments_text(f, C_PRICE)[0] == '\0')
		o->price = USD_UNKNOWN;
	if (rc == BERTH_OK)
		rc = commitments_money(f, C_USAGE, &o->usage, err);
	if (rc == BERTH_OK)
		rc = commitments_time(f, C_FROM, &c->from, err);
	if (rc == BERTH_OK)
		rc = commitments_time(f, C_TO, &c->to, err);
	if (rc == BERTH_OK && c->to <= c->from) {
		err_set(err, BERTH_EINVAL, "it ends before it begins");
		return csv_err(f->csv, err, "to");
	}
	return rc == BERTH_OK ? commitments_sum(f, c, err) : rc;
}

/* What an earlier berth kept as 0 where nothing was said is the same. */
static bool
commitments_same_price(struct usd_micro x, struct usd_micro y)
{
	return (usd_known(x) ? x.v : 0) == (usd_known(y) ? y.v : 0);
}

static bool
commitments_same(const struct commitment *x, const struct commitment *y)
{
	const struct offer *a = &x->offer, *b = &y->offer;

	return x->count == y->count && x->from == y->from && x->to == y->to &&
	       str_eq(x->note, y->note) && str_eq(a->provider, b->provider) &&
	       str_eq(a->account, b->account) && str_eq(a->region, b->region) &&
	       str_eq(a->zone, b->zone) && str_eq(a->instance_type, b->instance_type) &&
	       str_eq(a->accelerator, b->accelerator) &&
	       a->accelerator_count == b->accelerator_count &&
	       commitments_same_price(a->price, b->price) && a->upfront.v == b->upfront.v &&
	       a->usage.v == b->usage.v;
}

static enum berth_code
commitments_print(struct cmd_ctx *ctx, const struct commitment *c, size_t n, struct berth_err *err)
{
	static const struct table_col cols[] = {
		{ "id", "ID", TABLE_INT, 0, 0 },
		{ "provider", NULL, TABLE_TEXT, 0, 0 },
		{ "region", NULL, TABLE_TEXT, 0, TABLE_CUT },
		{ "instance_type", "TYPE", TABLE_TEXT, 0, TABLE_CUT },
		{ "accelerator", NULL, TABLE_TEXT, 0, TABLE_SPARE },
		{ "count", NULL, TABLE_INT, 0, 0 },
		{ "gpus", "GPUS", TABLE_INT, 0, 0 },
		{ "term_months", "MONTHS", TABLE_INT, 0, TABLE_WIDE },
		{ "price_per_hour", "$/H", TABLE_MONEY, 4, TABLE_WIDE },
		{ "usage_price_per_hour", "USE $/H", TABLE_MONEY, 4, TABLE_WIDE },
		{ "from", NULL, TABLE_TIME, 0, 0 },
		{ "to", NULL, TABLE_TIME, 0, 0 },
		{ "note", NULL, TABLE_TEXT, 0, TABLE_WIDE },
	};
	struct table *t = table_new(ctx->arena, cols, sizeof(cols) / sizeof(cols[0]));

	for (size_t i = 0; i < n; i++) {
		table_row(t);
		table_int(t, c[i].id);
		table_text(t, c[i].offer.provider);
		table_text(t, c[i].offer.region);
		table_text(t, c[i].offer.instance_type);
		table_text(t, c[i].offer.accelerator);
		table_int(t, c[i].count);
		table_int(t, (int64_t)c[i].count * c[i].offer.accelerator_count);
		table_int(t, c[i].offer.term_months);
		table_money(t, c[i].offer.price);
		table_money(t, c[i].offer.usage);
		table_time(t, c[i].from);
		table_time(t, c[i].to);
		table_text(t, c[i].note);
	}
	return cmd_table_print(ctx, t, err);
}

static enum berth_code
commitments_json(struct cmd_ctx *ctx, const struct commitment *c, size_t n, struct berth_err *err)
{
	struct jsonw *w = cmd_json_begin(ctx, "berth.commitments/1");

	jsonw_begin_array(w, "commitments");
	for (size_t i = 0; i < n; i++) {
		const struct offer *o = &c[i].offer;

		jsonw_begin_object(w, NULL);
		jsonw_int(w, "id", c[i].id);
		jsonw_str(w, "provider", o->provider);
		jsonw_str_or_null(w, "account", o->account);
		jsonw_str_or_null(w, "region", o->region);
		jsonw_str_or_null(w, "zone", o->zone);
		jsonw_str_or_null(w, "instance_type", o->instance_type);
		jsonw_str(w, "accelerator", o->accelerator);
		jsonw_int(w, "accelerator_count", o->accelerator_count);
		jsonw_int(w, "count", c[i].count);
		jsonw_int(w, "gpus", (int64_t)c[i].count * o->accelerator_count);
		jsonw_int(w, "term_months", o->term_months);
		jsonw_str(w, "payment", payment_name(o->payment));
		jsonw_money(w, "upfront", o->upfront);
		jsonw_money(w, "price_per_hour", o->price);
		jsonw_money(w, "usage_price_per_hour", o->usage);
		jsonw_time(w, "from", c[i].from);
		jsonw_time(w, "to", c[i].to);
		jsonw_str(w, "source", c[i].source);
		jsonw_str(w, "note", c[i].note);
		jsonw_end_object(w);
	}
	jsonw_end_array(w);
	return cmd_json_end(ctx, err);
}

static enum berth_code
commitments_show(struct cmd_ctx *ctx, int64_t at, struct berth_err *err)
{
	struct commitment *c;
	size_t n;
	enum berth_code rc = store_commitment_list(ctx->store, at, ctx->arena, &c, &n, err);

	if (rc != BERTH_OK)
		return rc;
	if (cmd_wants_json(ctx))
		return commitments_json(ctx, c, n, err);
	if (n == 0 && ctx->format != CMD_CSV) {
		cmd_note(ctx, "nothing is reserved%s: `berth commitments import FILE` says what is",
		    at > 0 ? " now" : "");
		return BERTH_OK;
	}
	return commitments_print(ctx, c, n, err);
}

static enum berth_code
commitments_run(struct cmd_ctx *ctx, struct berth_err *err)
{
	const struct commitments_opts *o = ctx->opts;

	return commitments_show(ctx, o->all ? 0 : ctx->now, err);
}

/* All rows are read before any is kept: a file with a fault changes nothing. */
static enum berth_code
commitments_read(struct commitments_file *f, const char *path, struct commitment **out,
    size_t *n_out, struct berth_err *err)
{
	VEC(struct commitment) v = { 0 };
	enum berth_code rc = cmd_accels(f->ctx, &f->accels, err);

	if (rc == BERTH_OK)
		rc = csv_open(path, &f->csv, err);
	if (rc != BERTH_OK)
		return rc;
	for (int c = 0; c < C_COLUMNS && rc == BERTH_OK; c++) {
		f->at[c] = csv_column(f->csv, commitments_names[c]);
		if (c < C_NEEDED)
			rc = csv_need(f->csv, commitments_names[c], &f->at[c], err);
	}
	while (
	    rc == BERTH_OK && (rc = csv_next(f->csv, &f->row, err)) == BERTH_OK && f->row != NULL)
		rc = commitments_row(f, VEC_ADD(f->ctx->arena, &v), err);
	csv_close(f->csv);
	*out = v.v;
	*n_out = v.n;
	return rc;
}

static enum berth_code
commitments_run_import(struct cmd_ctx *ctx, struct berth_err *err)
{
	struct commitments_file f = { .ctx = ctx };
	struct commitment *c, *have;
	size_t n, n_have, known = 0;
	enum berth_code rc = commitments_read(&f, ctx->args[0], &c, &n, err);

	if (rc == BERTH_OK)
		rc = store_commitment_list(ctx->store, 0, ctx->arena, &have, &n_have, err);
	for (size_t i = 0; i < n && rc == BERTH_OK; i++) {
		bool twice = false;

		for (size_t k = 0; k < n_have && !twice; k++)
			twice = commitments_same(&c[i], &have[k]);
		known += twice;
		if (!twice)
			rc = store_commitment_insert(ctx->store, &c[i], &c[i].id, err);
	}
	if (rc != BERTH_OK)
		return rc;
	if (known > 0)
		cmd_note(ctx, "%zu of %zu were known already", known, n);
	return commitments_show(ctx, 0, err);
}

static enum berth_code
commitments_run_delete(struct cmd_ctx *ctx, struct berth_err *err)
{
	enum berth_code rc = BERTH_OK;

	for (size_t i = 0; i < ctx->n_args && rc == BERTH_OK; i++) {
		int64_t id;

		if (str_to_i64(ctx->args[i], 1, INT64_MAX, &id, err) != BERTH_OK)
			return err_set(err, BERTH_EUSAGE,
			    "'%s' is no number of a commitment: `berth commitments --all` lists "
			    "them",
			    ctx->args[i]);
		rc = store_commitment_delete(ctx->store, id, err);
	}
	return rc;
}
