#include <stddef.h>
#include <string.h>

#include "cmd/cmd.h"
#include "store/money_rows.h"
#include "util/arena.h"
#include "util/json.h"
#include "util/time.h"

struct budget_set_opts {
	struct usd_micro cap;
	const char *period, *name;
};

static const struct budget_set_opts budget_set_defaults = { .cap = { INT64_MIN },
	.period = "month" };

#define OFF(field) offsetof(struct budget_set_opts, field)
static const struct opt_row budget_set_rows[] = {
	{ "cap", 'c', OPT_MONEY, "USD", "the most that may be spent in the period", OFF(cap), 0,
	    9e12, NULL },
	{ "period", 'p', OPT_CHOICE, "hour|day|week|month|total",
	    "what the cap is for; hour caps what runs may ask an hour; default month", OFF(period),
	    0, 0, NULL },
	{ "name", 'n', OPT_STRING, "NAME", "name of the budget; default SCOPE/PERIOD", OFF(name), 0,
	    0, NULL },
	{ 0 },
};
#undef OFF

struct budget_ledger_opts {
	int64_t from, to, instance;
	const char *job, *account, *project, *user;
};

static const struct budget_ledger_opts budget_ledger_defaults = { .from = 0 };

#define OFF(field) offsetof(struct budget_ledger_opts, field)
static const struct opt_row budget_ledger_rows[] = {
	{ "from", 0, OPT_TIME, "TIME", "at or after this time", OFF(from), 0, 0, NULL },
	{ "to", 0, OPT_TIME, "TIME", "before this time", OFF(to), 0, 0, NULL },
	{ "job", 'j', OPT_STRING, "JOB", "of this job", OFF(job), 0, 0, NULL },
	{ "instance", 'i', OPT_INT, "ID", "of this machine", OFF(instance), 1, 9e15, NULL },
	{ "account", 0, OPT_STRING, "ACCOUNT", "of this account", OFF(account), 0, 0, NULL },
	{ "project", 0, OPT_STRING, "TEXT", "of this project", OFF(project), 0, 0, NULL },
	{ "user", 'u', OPT_STRING, "TEXT", "of this user", OFF(user), 0, 0, NULL },
	{ 0 },
};
#undef OFF

static enum berth_code budget_run(struct cmd_ctx *ctx, struct berth_err *err);
static enum berth_code budget_run_set(struct cmd_ctx *ctx, struct berth_err *err);
static enum berth_code budget_run_delete(struct cmd_ctx *ctx, struct berth_err *err);
static enum berth_code budget_run_ledger(struct cmd_ctx *ctx, struct berth_err *err);

static const struct cmd budget_subs[] = {
	{ .name = "set",
	    .summary = "make or change a budget",
	    .args = "SCOPE",
	    .opts = budget_set_rows,
	    .opts_default = &budget_set_defaults,
	    .opts_size = sizeof(budget_set_defaults),
	    .flags = CMD_STORE_RW,
	    .args_min = 1,
	    .args_max = 1,
	    .run = budget_run_set },
	{ .name = "delete",
	    .summary = "take a budget away; what was spent stays in the ledger",
	    .args = "NAME ...",
	    .flags = CMD_STORE_RW,
	    .args_min = 1,
	    .args_max = -1,
	    .run = budget_run_delete },
	{ .name = "ledger",
	    .summary = "list what was spent, row by row",
	    .args = "",
	    .opts = budget_ledger_rows,
	    .opts_default = &budget_ledger_defaults,
	    .opts_size = sizeof(budget_ledger_defaults),
	    .flags = CMD_STORE_RO,
	    .run = budget_run_ledger },
	{ 0 },
};

const struct cmd cmd_budget = {
	.name = "budget",
	.summary = "cap spending, and show what was spent",
	.args = "",
	.flags = CMD_STORE_RO,
	.run = budget_run,
	.subs = budget_subs,
};

/* What was spent by kind, in the month of now and in all. */
struct budget_sums {
	struct usd_micro month[LEDGER_KIND_COUNT], total[LEDGER_KIND_COUNT];
	struct usd_micro month_all, total_all;
	int64_t from, to; /* the month */
};

static enum berth_code
budget_add(struct usd_micro *sum, struct usd_micro amount, struct berth_err *err)
{
	return usd_add(*sum, amount, sum, err);
}

static enum berth_code
budget_sum(struct cmd_ctx *ctx, struct budget_sums *s, struct berth_err *err)
{
	struct ledger_row *rows;
	enum berth_code rc;
	size_t n;

	*s = (struct budget_sums){ .from = 0 };
	budget_period_span(BUDGET_MONTH, ctx->now, &s->from, &s->to);
	rc = store_ledger_list(ctx->store, NULL, ctx->arena, &rows, &n, err);
	for (size_t i = 0; rc == BERTH_OK && i < n; i++) {
		rc = budget_add(&s->total[rows[i].kind], rows[i].amount, err);
		if (rc == BERTH_OK)
			rc = budget_add(&s->total_all, rows[i].amount, err);
		if (rc == BERTH_OK && rows[i].t >= s->from && rows[i].t < s->to) {
			rc = budget_add(&s->month[rows[i].kind], rows[i].amount, err);
			if (rc == BERTH_OK)
				rc = budget_add(&s->month_all, rows[i].amount, err);
		}
	}
	return rc;
}

static struct usd_micro
budget_left(const struct budget *b)
{
	struct usd_micro left;

	if (usd_sub(b->cap, b->spent, &left, NULL) != BERTH_OK ||
	    usd_sub(left, b->reserved, &left, NULL) != BERTH_OK)
		return USD_UNKNOWN;
	return left;
}

/* Of no two instants: of all time, or of now. */
static bool
budget_open(const struct budget *b)
{
	return b->period == BUDGET_TOTAL || b->period == BUDGET_HOUR;
}

static void
budget_json_kinds(
    struct jsonw *w, const char *key, const struct usd_micro *kinds, struct usd_micro all)
{
	jsonw_begin_object(w, key);
	for (int k = 0; k < LEDGER_KIND_COUNT; k++)
		jsonw_money(w, ledger_kind_name((enum ledger_kind)k), kinds[k]);
	jsonw_money(w, "total", all);
	jsonw_end_object(w);
}

static enum berth_code
budget_json(struct cmd_ctx *ctx, const struct budget *bs, size_t n, const struct budget_sums *s,
    struct berth_err *err)
{
	struct jsonw *w = cmd_json_begin(ctx, "berth.budget/1");

	jsonw_begin_array(w, "budgets");
	for (size_t i = 0; i < n; i++) {
		bool open = budget_open(&bs[i]);

		jsonw_begin_object(w, NULL);
		jsonw_str(w, "name", bs[i].name);
		jsonw_str(w, "scope", bs[i].scope);
		jsonw_str(w, "period", budget_period_name(bs[i].period));
		jsonw_time_or_null(w, "from", open ? 0 : bs[i].from);
		jsonw_time_or_null(w, "to", open ? 0 : bs[i].to);
		jsonw_money(w, "cap", bs[i].cap);
		jsonw_money(w, "spent", bs[i].spent);
		jsonw_money(w, "reserved", bs[i].reserved);
		jsonw_money(w, "left", budget_left(&bs[i]));
		jsonw_end_object(w);
	}
	jsonw_end_array(w);
	jsonw_begin_object(w, "spent");
	jsonw_time(w, "month", s->from);
	budget_json_kinds(w, "in_month", s->month, s->month_all);
	budget_json_kinds(w, "in_all", s->total, s->total_all);
	jsonw_end_object(w);
	return cmd_json_end(ctx, err);
}

static enum berth_code
budget_table(struct cmd_ctx *ctx, const struct budget *bs, size_t n, struct berth_err *err)
{
	static const struct table_col cols[] = {
		{ "name", "BUDGET", TABLE_TEXT, 0, TABLE_CUT },
		{ "scope", NULL, TABLE_TEXT, 0, TABLE_NAME },
		{ "period", NULL, TABLE_TEXT, 0, 0 },
		{ "cap", "CAP $", TABLE_MONEY, 2, 0 },
		{ "spent", "SPENT $", TABLE_MONEY, 2, 0 },
		{ "reserved", "RESERVED $", TABLE_MONEY, 2, 0 },
		{ "left", "LEFT $", TABLE_MONEY, 2, 0 },
		{ "from", NULL, TABLE_TIME, 0, TABLE_WIDE },
		{ "to", NULL, TABLE_TIME, 0, TABLE_WIDE },
	};
	struct table *t = table_new(ctx->arena, cols, sizeof(cols) / sizeof(cols[0]));

	for (size_t i = 0; i < n; i++) {
		struct usd_micro left = budget_left(&bs[i]);
		bool open = budget_open(&bs[i]);

		table_row(t);
		table_text(t, bs[i].name);
		table_text(t, bs[i].scope);
		table_text(t, budget_period_name(bs[i].period));
		table_money(t, bs[i].cap);
		table_money(t, bs[i].spent);
		table_money(t, bs[i].reserved);
		table_money(t, left);
		table_time(t, open ? 0 : bs[i].from);
		table_time(t, open ? 0 : bs[i].to);
		if (usd_known(left) && left.v <= 0)
			table_mark(t, TABLE_RED);
	}
	return cmd_table_print(ctx, t, err);
}

static void
budget_say_spent(
    struct cmd_ctx *ctx, const char *when, const struct usd_micro *kinds, struct usd_micro all)
{
	char sum[USD_FMT_SIZE], part[USD_FMT_SIZE];
	const char *sep = " (";

	cmd_say(ctx, "spent %s: $%s", when, usd_fmt(sum, sizeof(sum), all, 2));
	for (int k = 0; k < LEDGER_KIND_COUNT; k++) {
		if (kinds[k].v == 0)
			continue;
		cmd_say(ctx, "%s%s $%s", sep, ledger_kind_name((enum ledger_kind)k),
		    usd_fmt(part, sizeof(part), kinds[k], 2));
		sep = ", ";
	}
	cmd_say(ctx, "%s\n", sep[0] == ',' ? ")" : "");
}

static enum berth_code
budget_run(struct cmd_ctx *ctx, struct berth_err *err)
{
	char month[TIME_FMT_SIZE];
	struct budget_sums s;
	struct budget *bs;
	enum berth_code rc;
	size_t n;

	rc = store_budget_list(ctx->store, ctx->now, ctx->arena, &bs, &n, err);
	if (rc == BERTH_OK)
		rc = budget_sum(ctx, &s, err);
	if (rc != BERTH_OK)
		return rc;
	if (cmd_wants_json(ctx))
		return budget_json(ctx, bs, n, &s, err);
	if (n > 0 || ctx->format == CMD_CSV)
		rc = budget_table(ctx, bs, n, err);
	else
		cmd_note(ctx, "no caps: `berth budget set all --cap 1000` sets one");
	time_fmt_date(month, s.from);
	month[7] = '\0';
	budget_say_spent(ctx, arena_printf(ctx->arena, "in %s", month), s.month, s.month_all);
	budget_say_spent(ctx, "in all", s.total, s.total_all);
	return rc;
}

static enum berth_code
budget_run_set(struct cmd_ctx *ctx, struct berth_err *err)
{
	const struct budget_set_opts *o = ctx->opts;
	struct budget b = {
		.name = o->name != NULL ? o->name : "", .scope = ctx->args[0], .cap = o->cap
	};
	struct budget *bs;
	enum berth_code rc;
	size_t n;

	if (!usd_known(o->cap))
		return err_set(err, BERTH_EUSAGE, "a budget needs its --cap");
	if (!budget_period_parse(o->period, &b.period))
		return err_set(err, BERTH_EUSAGE,
		    "'%s' is no period: hour, day, week, month or total", o->period);
	rc = store_budget_set(ctx->store, &b, ctx->now, err);
	if (rc == BERTH_EINVAL)
		rc = err->code = BERTH_EUSAGE;
	if (rc == BERTH_OK)
		rc = store_budget_list(ctx->store, ctx->now, ctx->arena, &bs, &n, err);
	for (size_t i = 0; rc == BERTH_OK && i < n; i++) {
		const char *name = b.name[0] != '\0'
				       ? b.name
				       : arena_printf(ctx->arena, "%s/%s", b.scope, o->period);
		struct budget_sums s;

		if (strcmp(bs[i].name, name) != 0)
			continue;
		rc = cmd_wants_json(ctx) ? budget_sum(ctx, &s, err)
					 : budget_table(ctx, &bs[i], 1, err);
		if (rc == BERTH_OK && cmd_wants_json(ctx))
			rc = budget_json(ctx, &bs[i], 1, &s, err);
	}
	return rc;
}

static enum berth_code
budget_run_delete(struct cmd_ctx *ctx, struct berth_err *err)
{
	enum berth_code rc = store_begin(ctx->store, err);
	struct jsonw *w;

	if (rc != BERTH_OK)
		return rc;
	for (size_t i = 0; rc == BERTH_OK && i < ctx->n_args; i++)
		rc = store_budget_delete(ctx->store, ctx->args[i], err);
	if (rc != BERTH_OK) {
		store_rollback(ctx->store);
		return rc;
	}
	rc = store_commit(ctx->store, err);
	if (rc != BERTH_OK)
		return rc;
	if (!cmd_wants_json(ctx)) {
		cmd_say(ctx, "%s%zu deleted\n", ctx->dry_run ? "dry run: " : "", ctx->n_args);
		return BERTH_OK;
	}
	w = cmd_json_begin(ctx, "berth.budget-delete/1");
	jsonw_begin_array(w, "deleted");
	for (size_t i = 0; i < ctx->n_args; i++)
		jsonw_str(w, NULL, ctx->args[i]);
	jsonw_end_array(w);
	return cmd_json_end(ctx, err);
}

static enum berth_code
budget_ledger_json(
    struct cmd_ctx *ctx, const struct ledger_row *rows, size_t n, struct berth_err *err)
{
	struct jsonw *w = cmd_json_begin(ctx, "berth.ledger/1");

	jsonw_begin_array(w, "rows");
	for (size_t i = 0; i < n; i++) {
		jsonw_begin_object(w, NULL);
		jsonw_int(w, "id", rows[i].id);
		jsonw_time(w, "t", rows[i].t);
		jsonw_str(w, "kind", ledger_kind_name(rows[i].kind));
		jsonw_str_or_null(w, "account", rows[i].account);
		jsonw_str_or_null(w, "project", rows[i].project);
		jsonw_str_or_null(w, "user", rows[i].user);
		jsonw_str_or_null(w, "job", rows[i].job_id);
		if (rows[i].instance_id != 0)
			jsonw_int(w, "instance", rows[i].instance_id);
		else
			jsonw_null(w, "instance");
		jsonw_money(w, "amount", rows[i].amount);
		jsonw_str_or_null(w, "note", rows[i].note);
		jsonw_end_object(w);
	}
	jsonw_end_array(w);
	return cmd_json_end(ctx, err);
}

static enum berth_code
budget_run_ledger(struct cmd_ctx *ctx, struct berth_err *err)
{
	static const struct table_col cols[] = {
		{ "id", NULL, TABLE_INT, 0, TABLE_WIDE },
		{ "t", "TIME", TABLE_TIME, 0, 0 },
		{ "kind", NULL, TABLE_TEXT, 0, 0 },
		{ "account", NULL, TABLE_TEXT, 0, TABLE_CUT },
		{ "project", NULL, TABLE_TEXT, 0, TABLE_CUT },
		{ "user", NULL, TABLE_TEXT, 0, TABLE_WIDE },
		{ "job", NULL, TABLE_TEXT, 0, 0 },
		{ "instance", NULL, TABLE_INT, 0, TABLE_SPARE },
		{ "amount", "AMOUNT $", TABLE_MONEY, 2, 0 },
		{ "note", NULL, TABLE_TEXT, 0, TABLE_CUT },
	};
	const struct budget_ledger_opts *o = ctx->opts;
	const struct ledger_query q = { .from = o->from,
		.to = o->to,
		.instance_id = o->instance,
		.job_id = o->job,
		.account = o->account,
		.project = o->project,
		.user = o->user };
	struct table *t = table_new(ctx->arena, cols, sizeof(cols) / sizeof(cols[0]));
	struct ledger_row *rows;
	enum berth_code rc;
	size_t n;

	rc = store_ledger_list(ctx->store, &q, ctx->arena, &rows, &n, err);
	if (rc != BERTH_OK)
		return rc;
	if (cmd_wants_json(ctx))
		return budget_ledger_json(ctx, rows, n, err);
	for (size_t i = 0; i < n; i++) {
		table_row(t);
		table_int(t, rows[i].id);
		table_time(t, rows[i].t);
		table_text(t, ledger_kind_name(rows[i].kind));
		table_text(t, rows[i].account);
		table_text(t, rows[i].project);
		table_text(t, rows[i].user);
		table_text(t, rows[i].job_id);
		if (rows[i].instance_id != 0)
			table_int(t, rows[i].instance_id);
		else
			table_unknown(t);
		table_money(t, rows[i].amount);
		table_text(t, rows[i].note);
	}
	return cmd_table_print(ctx, t, err);
}
