#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/cmd.h"
#include "cmd/prices.h"
#include "cmd/progpath.h"
#include "util/arena.h"
#include "util/glob.h"
#include "util/json.h"
#include "util/str.h"
#include "util/vec.h"

struct prices_list_opts {
	struct prices_filter filter;
	const char *sort;
	int64_t max_age_s, limit, at;
	bool available;
};

static const struct prices_list_opts prices_list_defaults = { .sort = "gpu", .limit = -1 };
static const struct prices_import_opts prices_import_defaults = { 0 };
static const struct prices_refresh_opts prices_refresh_defaults = { 0 };
static const struct prices_history_opts prices_history_defaults = { 0 };

#define OFF(field) offsetof(struct prices_list_opts, field)
static const struct opt_row prices_list_rows[] = {
	PRICES_FILTER_ROWS(OFF(filter)),
	{ "sort", 's', OPT_CHOICE, "gpu|machine|age|provider",
	    "order; gpu: effective price of one accelerator-hour", OFF(sort), 0, 0, NULL },
	{ "max-age", 0, OPT_DURATION, "DUR", "leave out prices that are older, or of unknown age",
	    OFF(max_age_s), 1, 3.2e9, NULL },
	{ "available", 'a', OPT_FLAG, NULL, "leave out what the provider says it does not have now",
	    OFF(available), 0, 0, NULL },
	{ "at", 0, OPT_TIME, "TIME", "as the lists were at that time", OFF(at), 0, 0, NULL },
	{ "limit", 'n', OPT_INT, "N", "at most so many rows; 0: all; a table shows 40 unless told",
	    OFF(limit), 0, 1e9, NULL },
	{ 0 },
};

static enum berth_code prices_list_run(struct cmd_ctx *ctx, struct berth_err *err);

static const struct cmd prices_subs[] = {
	{ .name = "list",
	    .summary = "list offers, cheapest accelerator-hour first",
	    .args = "",
	    .opts = prices_list_rows,
	    .opts_default = &prices_list_defaults,
	    .opts_size = sizeof(prices_list_defaults),
	    .flags = CMD_STORE_RO,
	    .run = prices_list_run },
	{ .name = "import",
	    .summary = "load price lists from files",
	    .args = "[FILE ...]",
	    .opts = prices_import_rows,
	    .opts_default = &prices_import_defaults,
	    .opts_size = sizeof(prices_import_defaults),
	    .flags = CMD_STORE_RW,
	    .args_max = -1,
	    .run = prices_import_run },
	{ .name = "refresh",
	    .summary = "ask every account for its offers",
	    .args = "",
	    .opts = prices_refresh_rows,
	    .opts_default = &prices_refresh_defaults,
	    .opts_size = sizeof(prices_refresh_defaults),
	    .flags = CMD_STORE_RW | CMD_NET,
	    .run = prices_refresh_run },
	{ .name = "drop",
	    .summary = "end price lists that are not wanted any more",
	    .args = "PROVIDER|SOURCE ...",
	    .flags = CMD_STORE_RW,
	    .args_min = 1,
	    .args_max = -1,
	    .run = prices_drop_run },
	{ .name = "quarantine",
	    .summary = "show lists that were not believed",
	    .args = "",
	    .flags = CMD_STORE_RO,
	    .run = prices_quarantine_run },
	{ .name = "accept",
	    .summary = "believe a list in quarantine after all",
	    .args = "NAME ...",
	    .flags = CMD_STORE_RW,
	    .args_min = 1,
	    .args_max = -1,
	    .run = prices_accept_run },
	{ .name = "reject",
	    .summary = "throw a list in quarantine away",
	    .args = "NAME ...",
	    .flags = CMD_STORE_RO,
	    .args_min = 1,
	    .args_max = -1,
	    .run = prices_reject_run },
	{ .name = "history",
	    .summary = "show how prices moved",
	    .args = "",
	    .opts = prices_history_rows,
	    .opts_default = &prices_history_defaults,
	    .opts_size = sizeof(prices_history_defaults),
	    .flags = CMD_STORE_RO,
	    .run = prices_history_run },
	{ .name = "diff",
	    .summary = "compare the offers of two times",
	    .args = "",
	    .opts = prices_diff_rows,
	    .opts_default = &prices_history_defaults,
	    .opts_size = sizeof(prices_history_defaults),
	    .flags = CMD_STORE_RO,
	    .run = prices_diff_run },
	{ 0 },
};

const struct cmd cmd_prices = {
	.name = "prices",
	.summary =
	    "prices of every provider: list, import, refresh, drop, history, diff, quarantine",
	.args = "",
	.subs = prices_subs,
};

enum berth_code
prices_match_init(struct cmd_ctx *ctx, const struct prices_filter *f, struct prices_match *m,
    struct berth_err *err)
{
	enum berth_code rc;
	enum offer_kind k;
	enum purchase p;

	*m = (struct prices_match){ .f = f, .kind = { [OFFER_PLAIN] = f->kind.n == 0 } };
	if ((rc = cmd_accels(ctx, &m->accels, err)) != BERTH_OK)
		return rc;
	m->specs = arena_array_of(ctx->arena, f->gpu.n, struct accel_spec);
	for (size_t i = 0; i < f->gpu.n; i++)
		if ((rc = cmd_accel_next(ctx, accel_spec_parse(m->accels, ctx->arena, f->gpu.v[i],
						  &m->specs[i], err))) != BERTH_OK)
			return rc;
	for (int i = 0; i < PURCHASE_COUNT; i++)
		m->purchase[i] = f->purchase.n == 0;
	for (size_t i = 0; i < f->purchase.n; i++) {
		if (!purchase_parse(f->purchase.v[i], &p)) {
			err_set(err, BERTH_EUSAGE,
			    "'%s' is no way to buy: on_demand, spot or reserved", f->purchase.v[i]);
			return err_at(err, "--purchase");
		}
		m->purchase[p] = true;
	}
	for (size_t i = 0; i < f->kind.n; i++) {
		if (!offer_kind_parse(f->kind.v[i], &k)) {
			err_set(err, BERTH_EUSAGE,
			    "'%s' is no kind: plain, windows, licensed, dedicated or block",
			    f->kind.v[i]);
			return err_at(err, "--kind");
		}
		m->kind[k] = true;
	}
	return BERTH_OK;
}

struct offer_query
prices_match_query(const struct prices_match *m)
{
	struct offer_query q = { .account = m->f->account, .every_kind = m->f->kind.n > 0 };

	if (m->f->region.n == 1)
		q.region = m->f->region.v[0];
	if (m->f->provider.n == 1)
		q.provider = m->f->provider.v[0];
	return q;
}

bool
prices_match_fits(const struct prices_match *m, const struct offer *o)
{
	bool gpu = m->f->gpu.n == 0;

	for (size_t i = 0; i < m->f->gpu.n && !gpu; i++)
		gpu = accel_spec_match(&m->specs[i], m->accels, o->accelerator,
		    o->accelerator_memory_gib, o->accelerator_count);
	return gpu && m->kind[o->kind] && m->purchase[o->purchase] &&
	       offer_region_hits_any(m->f->region.v, m->f->region.n, o) &&
	       glob_match_any(m->f->provider.v, m->f->provider.n, o->provider) &&
	       (m->f->type == NULL || glob_match(m->f->type, o->instance_type));
}

void
prices_offer_keys(struct jsonw *w, const struct offer *o)
{
	jsonw_str(w, "provider", o->provider);
	jsonw_str_or_null(w, "region", o->region);
	jsonw_str_or_null(w, "zone", o->zone);
	jsonw_str(w, "instance_type", o->instance_type);
	jsonw_str(w, "accelerator", o->accelerator);
	jsonw_int(w, "accelerator_count", o->accelerator_count);
	jsonw_double(w, "accelerator_memory_gib", o->accelerator_memory_gib);
	jsonw_double(w, "vcpus", o->vcpus);
	jsonw_double(w, "memory_gib", o->memory_gib);
	jsonw_str(w, "purchase", purchase_name(o->purchase));
	if (o->purchase == PURCHASE_RESERVED)
		jsonw_int(w, "term_months", o->term_months);
	else
		jsonw_null(w, "term_months");
	jsonw_money(w, "upfront", o->purchase == PURCHASE_RESERVED ? o->upfront : USD_UNKNOWN);
	jsonw_money(w, "price_per_hour", o->price);
	jsonw_money(w, "price_per_gpu_hour", offer_effective_gpu_hour(o));
	jsonw_str(w, "currency", o->currency);
	if (o->available == AVAIL_UNKNOWN)
		jsonw_null(w, "available");
	else
		jsonw_bool(w, "available", o->available == AVAIL_YES);
	jsonw_double(w, "interruption_rate", o->interruption_rate);
	jsonw_double(w, "measured", o->measured);
	jsonw_time_or_null(w, "as_of", o->as_of);
	jsonw_str_or_null(w, "source", o->source);
	jsonw_str(w, "kind", offer_kind_name(o->kind));
	jsonw_time_or_null(w, "starts_at", o->starts_at);
	jsonw_time_or_null(w, "ends_at", o->ends_at);
	jsonw_money(
	    w, "usage_price_per_hour", o->purchase == PURCHASE_RESERVED ? o->usage : USD_UNKNOWN);
}

const char *
prices_accelerator(const struct cmd_ctx *ctx, const struct offer *o)
{
	return o->accelerator_known ? o->accelerator
				    : arena_printf(ctx->arena, "%s (unknown)", o->accelerator);
}

const char *
prices_purchase(const struct cmd_ctx *ctx, const struct offer *o)
{
	const char *way = purchase_name(o->purchase);

	return o->purchase == PURCHASE_RESERVED && ctx->format == CMD_TABLE && o->term_months > 0
		   ? arena_printf(ctx->arena, "%s %dm", way, o->term_months)
		   : way;
}

/* The short table has no column that would say that it is not in dollars. */
struct usd_micro
prices_shown(const struct cmd_ctx *ctx, const struct offer *o)
{
	return ctx->format == CMD_TABLE && !str_eq(o->currency, "USD") ? USD_UNKNOWN : o->price;
}

/* Names the table lacks go behind the others, whatever they cost. */
static void
prices_sort_gpu(struct offer *v, size_t n, bool sorted, struct arena *a)
{
	VEC(struct offer) behind = { 0 };
	size_t known = 0;

	if (!sorted)
		offer_sort(v, n, a);
	for (size_t i = 0; i < n; i++)
		if (!v[i].accelerator_known)
			VEC_PUSH(a, &behind, v[i]);
		else if (known++ != i)
			v[known - 1] = v[i];
	if (behind.n > 0)
		memcpy(v + known, behind.v, behind.n * sizeof(*v));
}

static int
prices_by_machine(const void *a, const void *b)
{
	const struct offer *x = a, *y = b;
	int c = usd_cmp(offer_effective_hour(x), offer_effective_hour(y));

	return c != 0 ? c : offer_cmp(x, y);
}

static int
prices_by_age(const void *a, const void *b)
{
	const struct offer *x = a, *y = b;

	return x->as_of != y->as_of ? (x->as_of > y->as_of ? -1 : 1) : offer_cmp(x, y);
}

static int
prices_by_provider(const void *a, const void *b)
{
	const struct offer *x = a, *y = b;
	int c = strcmp(x->provider, y->provider);

	return c != 0 ? c : offer_cmp(x, y);
}

static void
prices_sort(const char *how, struct offer *v, size_t n, bool sorted, struct arena *a)
{
	static const struct {
		const char *name;
		int (*cmp)(const void *, const void *);
	} orders[] = {
		{ "machine", prices_by_machine },
		{ "age", prices_by_age },
		{ "provider", prices_by_provider },
	};

	if (str_eq(how, "gpu"))
		prices_sort_gpu(v, n, sorted, a);
	for (size_t i = 0; i < sizeof(orders) / sizeof(orders[0]) && n > 0; i++)
		if (str_eq(orders[i].name, how))
			qsort(v, n, sizeof(*v), orders[i].cmp);
}

static enum berth_code
prices_table(struct cmd_ctx *ctx, const struct offer *v, size_t n, struct berth_err *err)
{
	static const struct table_col cols[] = {
		{ "provider", NULL, TABLE_TEXT, 0, 0 },
		{ "region", NULL, TABLE_TEXT, 0, TABLE_CUT },
		{ "zone", NULL, TABLE_TEXT, 0, TABLE_WIDE },
		{ "instance_type", "TYPE", TABLE_TEXT, 0, TABLE_CUT },
		{ "accelerator", NULL, TABLE_TEXT, 0, TABLE_CUT },
		{ "accelerator_count", "N", TABLE_INT, 0, 0 },
		{ "accelerator_memory_gib", "GIB", TABLE_DOUBLE, 0, TABLE_WIDE },
		{ "vcpus", NULL, TABLE_DOUBLE, 0, TABLE_WIDE },
		{ "memory_gib", "RAM-GIB", TABLE_DOUBLE, 0, TABLE_WIDE },
		{ "kind", NULL, TABLE_TEXT, 0, TABLE_WIDE },
		{ "purchase", NULL, TABLE_TEXT, 0, 0 },
		{ "term_months", "MONTHS", TABLE_INT, 0, TABLE_WIDE },
		{ "payment", NULL, TABLE_TEXT, 0, TABLE_WIDE },
		{ "upfront", "UPFRONT $", TABLE_MONEY, 0, TABLE_WIDE },
		{ "price_per_hour", "$/H", TABLE_MONEY, 4, 0 },
		{ "usage_price_per_hour", "USE $/H", TABLE_MONEY, 4, TABLE_WIDE },
		{ "price_per_gpu_hour", "$/GPU-H", TABLE_MONEY, 4, 0 },
		{ "currency", NULL, TABLE_TEXT, 0, TABLE_WIDE },
		{ "available", "FREE", TABLE_TEXT, 0, TABLE_WIDE },
		{ "interruption_rate", "INTR/H", TABLE_DOUBLE, 4, TABLE_WIDE },
		{ "measured", "SPEED", TABLE_DOUBLE, 2, TABLE_WIDE },
		{ "age", NULL, TABLE_AGE, 0, 0 },
		{ "as_of", NULL, TABLE_TIME, 0, TABLE_WIDE },
		{ "starts_at", NULL, TABLE_TIME, 0, TABLE_WIDE },
		{ "ends_at", NULL, TABLE_TIME, 0, TABLE_WIDE },
		{ "source", NULL, TABLE_TEXT, 0, TABLE_CUT | TABLE_SPARE },
	};
	struct table *t = table_new(ctx->arena, cols, sizeof(cols) / sizeof(cols[0]));

	for (size_t i = 0; i < n; i++) {
		const struct offer *o = &v[i];
		bool reserved = o->purchase == PURCHASE_RESERVED;

		table_row(t);
		table_text(t, o->provider);
		table_text(t, o->region);
		table_text(t, o->zone);
		table_text(t, o->instance_type);
		table_text(t, ctx->format == CMD_CSV ? o->accelerator : prices_accelerator(ctx, o));
		table_int(t, o->accelerator_count);
		table_double(t, o->accelerator_memory_gib);
		table_double(t, o->vcpus);
		table_double(t, o->memory_gib);
		table_text(t, offer_kind_name(o->kind));
		table_text(t, prices_purchase(ctx, o));
		if (reserved && o->term_months > 0)
			table_int(t, o->term_months);
		else
			table_unknown(t);
		table_text(t, reserved ? payment_name(o->payment) : "");
		table_money(t, reserved ? o->upfront : USD_UNKNOWN);
		table_money(t, prices_shown(ctx, o));
		table_money(t, reserved && (o->usage.v != 0 || ctx->format == CMD_CSV)
				   ? o->usage
				   : USD_UNKNOWN);
		table_money(t, offer_effective_gpu_hour(o));
		table_text(t, o->currency);
		table_text(t, o->available == AVAIL_UNKNOWN ? "" : availability_name(o->available));
		table_double(t, o->interruption_rate);
		table_double(t, o->measured);
		table_time(t, o->as_of != 0 ? ctx->now - o->as_of : -1);
		table_time(t, o->as_of);
		table_time(t, o->starts_at);
		table_time(t, o->ends_at);
		table_text(t, o->source);
	}
	return cmd_table_print(ctx, t, err);
}

/* Lists that could not be refreshed: their prices are shown, and said to be old. */
static enum berth_code
prices_say_stale(struct cmd_ctx *ctx, struct berth_err *err)
{
	struct price_list *lists;
	size_t n;
	enum berth_code rc = store_price_list_stale(ctx->store, ctx->arena, &lists, &n, err);

	for (size_t i = 0; rc == BERTH_OK && i < n; i++)
		cmd_note(ctx, "stale: %s%s%s (%s): %s", lists[i].provider,
		    lists[i].account[0] != '\0' ? " of account " : "", lists[i].account,
		    lists[i].source, lists[i].reason);
	return rc;
}

/* What is not in USD has no place in the order. */
static void
prices_say_currency(struct cmd_ctx *ctx, const struct offer *v, size_t n)
{
	size_t other = 0;

	for (size_t i = 0; i < n; i++)
		other += !str_eq(v[i].currency, "USD");
	if (other > 0)
		cmd_note(ctx,
		    "%zu of them %s not in USD and not ranked: -o wide shows the currency; prices: "
		    "{rates: FILE} in berth.yaml makes them comparable",
		    other, other == 1 ? "is" : "are");
}

static bool
prices_list_wants(const struct cmd_ctx *ctx, const struct prices_match *m, const struct offer *o)
{
	const struct prices_list_opts *opts = ctx->opts;

	if (!prices_match_fits(m, o) || (opts->available && o->available == AVAIL_NO))
		return false;
	return opts->max_age_s == 0 || (o->as_of != 0 && ctx->now - o->as_of <= opts->max_age_s);
}

/* Whether an offer of that accelerator, of any memory and count, might fit. */
static bool
prices_match_name(const struct prices_match *m, const char *accelerator)
{
	for (size_t i = 0; i < m->f->gpu.n; i++)
		if (m->specs[i].accel == NULL ||
		    accel_is(accel_find(m->accels, accelerator), m->specs[i].accel))
			return true;
	return false;
}

/* The current offers. With --gpu they are asked for by the accelerators that can fit, which is much
 * less than all. */
static enum berth_code
prices_list_offers(struct cmd_ctx *ctx, const struct prices_match *m, struct offer_query *q,
    struct offer **v_out, size_t *n_out, bool *sorted_out, struct berth_err *err)
{
	VEC(struct offer) all = { 0 };
	const char **names;
	enum berth_code rc;
	size_t n_names;

	*sorted_out = true; /* as the store gives them */
	if (m->f->gpu.n == 0 || q->at != 0)
		return store_offer_list(ctx->store, q, ctx->arena, v_out, n_out, err);
	if (m->f->gpu.n == 1) {
		q->count_min = m->specs[0].count_min;
		q->count_max = m->specs[0].count_max < INT_MAX ? m->specs[0].count_max : 0;
	}
	rc = store_offer_accelerators(ctx->store, ctx->arena, &names, &n_names, err);
	for (size_t i = 0; rc == BERTH_OK && i < n_names; i++) {
		struct offer *part;
		size_t n;

		q->accelerator = names[i];
		if (!prices_match_name(m, names[i]) ||
		    (rc = store_offer_list(ctx->store, q, ctx->arena, &part, &n, err)) != BERTH_OK)
			continue;
		*sorted_out = all.n == 0;
		if (all.n == 0) {
			all.v = part; /* the only one, most often */
			all.n = all.cap = n;
			continue;
		}
		for (size_t k = 0; k < n; k++)
			VEC_PUSH(ctx->arena, &all, part[k]);
	}
	*v_out = all.v;
	*n_out = all.n;
	return rc;
}

static enum berth_code
prices_list_print(
    struct cmd_ctx *ctx, const struct offer *v, size_t n, size_t shown, struct berth_err *err)
{
	enum berth_code rc;
	struct jsonw *w;

	if (cmd_wants_json(ctx)) {
		w = cmd_json_begin(ctx, "berth.offers/1");
		jsonw_begin_array(w, "offers");
		for (size_t i = 0; i < shown; i++) {
			jsonw_begin_object(w, NULL);
			prices_offer_keys(w, &v[i]);
			jsonw_end_object(w);
		}
		jsonw_end_array(w);
		return cmd_json_end(ctx, err);
	}
	if ((rc = prices_table(ctx, v, shown, err)) != BERTH_OK || ctx->format == CMD_CSV)
		return rc;
	cmd_note(ctx, "shown %zu of %zu%s", shown, n,
	    n == 0      ? ": no offer fits; berth prices import --bundled loads a list"
	    : shown < n ? "; --limit 0 shows all"
			: "");
	prices_say_currency(ctx, v, n);
	return prices_say_stale(ctx, err);
}

/* Asked for something that nobody offers: the list is printed, empty, and the status says it. */
static enum berth_code
prices_list_run(struct cmd_ctx *ctx, struct berth_err *err)
{
	static const struct prices_filter nothing = { 0 };
	const struct prices_list_opts *o = ctx->opts;
	bool sorted = false;
	size_t n = 0, all = 0, limit;
	struct offer_query q;
	struct prices_match m;
	enum berth_code rc;
	struct offer *v;

	if ((rc = prices_match_init(ctx, &o->filter, &m, err)) != BERTH_OK)
		return rc;
	q = prices_match_query(&m);
	q.at = o->at;
	if ((rc = prices_list_offers(ctx, &m, &q, &v, &all, &sorted, err)) != BERTH_OK)
		return rc;
	for (size_t i = 0; i < all; i++)
		if (prices_list_wants(ctx, &m, &v[i]))
			v[n++] = v[i];
	prices_sort(o->sort, v, n, sorted, ctx->arena);
	limit = o->limit >= 0                                         ? (size_t)o->limit
		: ctx->format == CMD_TABLE || ctx->format == CMD_WIDE ? 40
								      : 0;
	rc = prices_list_print(ctx, v, n, limit > 0 && n > limit ? limit : n, err);
	if (rc == BERTH_OK && n == 0 && memcmp(&o->filter, &nothing, sizeof(nothing)) != 0)
		rc = err_set(err, BERTH_EINFEASIBLE, "no offer fits what was asked for");
	return rc;
}

enum berth_code
prices_print_results(
    struct cmd_ctx *ctx, const struct pricelist_result *r, size_t n, struct berth_err *err)
{
	static const struct table_col cols[] = {
		{ "name", NULL, TABLE_TEXT, 0, 0 },
		{ "offers", NULL, TABLE_INT, 0, 0 },
		{ "refused", NULL, TABLE_INT, 0, 0 },
		{ "stale", NULL, TABLE_BOOL, 0, 0 },
		{ "error", NULL, TABLE_TEXT, 0, TABLE_CUT },
	};
	struct table *t = table_new(ctx->arena, cols, sizeof(cols) / sizeof(cols[0]));
	size_t failed = 0, refused = 0, first = n;
	enum berth_code rc;
	struct jsonw *w;

	for (size_t i = 0; i < n; i++) {
		table_row(t);
		table_text(t, r[i].name);
		table_int(t, (int64_t)r[i].offers);
		table_int(t, (int64_t)r[i].refused);
		table_bool(t, r[i].stale);
		table_text(t, r[i].error);
		refused += r[i].refused;
		if (r[i].code != BERTH_OK && failed++ == 0)
			first = i;
	}
	if (cmd_wants_json(ctx)) {
		w = cmd_json_begin(ctx, "berth.prices/1");
		jsonw_begin_array(w, "providers");
		for (size_t i = 0; i < n; i++) {
			jsonw_begin_object(w, NULL);
			jsonw_str(w, "name", r[i].name);
			jsonw_int(w, "offers", (int64_t)r[i].offers);
			jsonw_int(w, "refused", (int64_t)r[i].refused);
			jsonw_bool(w, "stale", r[i].stale);
			jsonw_str_or_null(w, "error", r[i].error);
			jsonw_end_object(w);
		}
		jsonw_end_array(w);
		rc = cmd_json_end(ctx, err);
	} else {
		rc = cmd_table_print(ctx, t, err);
	}
	if (rc != BERTH_OK)
		return rc;
	if (failed == n && failed > 0)
		return err_set(err, r[first].code, "%s: %s", r[first].name, r[first].error);
	if (failed > 0)
		return err_set(err, BERTH_EPARTIAL,
		    "%zu of %zu kept their old prices; the first: %s: %s", failed, n, r[first].name,
		    r[first].error);
	return refused == 0 ? BERTH_OK
			    : err_set(err, BERTH_EPARTIAL,
				  refused == 1 ? "%zu row was refused, it is named above"
					       : "%zu rows were refused, each is named above",
				  refused);
}

enum berth_code
prices_setup(struct cmd_ctx *ctx, bool force, struct pricelist_setup *setup, struct berth_err *err)
{
	struct pricelist_policy *policy = arena_new_of(ctx->arena, struct pricelist_policy);
	const struct config *config;
	enum berth_code rc;

	*setup = (struct pricelist_setup){ .store = ctx->store,
		.now = ctx->now,
		.force = force,
		.dry_run = ctx->dry_run,
		.quarantine_dir = arena_printf(
		    ctx->arena, "%s/quarantine", progpath_dir(ctx->arena, ctx->store_path)),
		.policy = policy };
	if ((rc = cmd_config(ctx, &config, err)) != BERTH_OK)
		return rc;
	return pricelist_policy_read(config->root, progpath_dir(ctx->arena, config->path), ctx->now,
	    ctx->arena, policy, err);
}

enum berth_code
prices_ages(struct cmd_ctx *ctx, int64_t price_age_s, int64_t spot_age_s,
    struct cost_ages *ages_out, struct berth_err *err)
{
	struct pricelist_policy policy;
	const struct config *config;
	enum berth_code rc = cmd_config(ctx, &config, err);

	if (rc == BERTH_OK)
		rc = pricelist_policy_read(config->root, progpath_dir(ctx->arena, config->path),
		    ctx->now, ctx->arena, &policy, err);
	if (rc != BERTH_OK)
		return rc;
	*ages_out = policy.ages;
	if (price_age_s > 0) {
		ages_out->list_s = price_age_s;
		if (price_age_s < ages_out->spot_s)
			ages_out->spot_s = price_age_s;
	}
	if (spot_age_s > 0)
		ages_out->spot_s = spot_age_s;
	return BERTH_OK;
}
