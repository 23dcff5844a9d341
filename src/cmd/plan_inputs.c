#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/cmd.h"
#include "cmd/line.h"
#include "cmd/plan_inputs.h"
#include "store/offer_rows.h"
#include "util/arena.h"
#include "util/json.h"

static void
plan_inputs_words(struct jsonw *w, const char *key, const char *const *words, size_t n)
{
	jsonw_begin_array(w, key);
	for (size_t i = 0; i < n; i++)
		jsonw_str(w, NULL, words[i]);
	jsonw_end_array(w);
}

void
plan_read_end(struct plan_read *r, size_t n_offers)
{
	size_t n = 0;

	if (r->ids.n > 1)
		qsort(r->ids.v, r->ids.n, sizeof(*r->ids.v), plan_id_cmp);
	for (size_t i = 0; i < r->ids.n; i++)
		if (n == 0 || r->ids.v[i] != r->ids.v[n - 1])
			r->ids.v[n++] = r->ids.v[i];
	r->ids.n = n;
	r->others = (int64_t)(n_offers - n);
}

/* Numbers as what they grow by: offers are read together. */
static void
plan_read_json(struct jsonw *w, const struct plan_read *r)
{
	jsonw_begin_array(w, "offers");
	for (size_t i = 0; i < r->ids.n; i++)
		jsonw_int(w, NULL, r->ids.v[i] - (i > 0 ? r->ids.v[i - 1] : 0));
	jsonw_end_array(w);
	jsonw_int(w, "other_offers", r->others);
}

static void
plan_read_again(struct cmd_ctx *ctx, const struct jsonr *root, struct plan_then *then)
{
	struct jsonr offers = jsonr_get(root, "offers");
	int64_t id = 0;

	then->has_read = json_is_array(offers.v);
	for (size_t i = 0; i < jsonr_len(&offers); i++) {
		id += json_integer_value(jsonr_at(&offers, i).v);
		VEC_PUSH(ctx->arena, &then->read.ids, id);
	}
	then->read.others = json_integer_value(jsonr_get(root, "other_offers").v);
}

enum berth_code
plan_then_offers(struct cmd_ctx *ctx, const struct plan_then *then, int64_t made,
    struct offer **offers_out, size_t *n_out, struct berth_err *err)
{
	const struct offer_query q = {
		.at = made,
		.by_ids = then->has_read,
		.ids = then->read.ids.v,
		.n_ids = then->read.ids.n,
	};

	return store_offer_list(ctx->store, &q, ctx->arena, offers_out, n_out, err);
}

enum berth_code
plan_inputs_offers(struct cmd_ctx *ctx, const struct plan_row *row, struct offer **offers_out,
    size_t *n_out, struct berth_err *err)
{
	struct plan_then then = { .n_oldest = 0 };
	struct jsonr root;
	json_t *v = NULL;
	enum berth_code rc =
	    jsonr_parse(row->inputs, strlen(row->inputs), "inputs of the plan", &v, err);

	if (rc != BERTH_OK)
		return rc;
	root = jsonr_root(v, "inputs of the plan");
	plan_read_again(ctx, &root, &then);
	json_decref(v);
	return plan_then_offers(ctx, &then, row->made, offers_out, n_out, err);
}

static void
plan_inputs_ids(struct jsonw *w, const char *key, const int64_t *ids, size_t n)
{
	jsonw_begin_array(w, key);
	for (size_t i = 0; i < n; i++)
		jsonw_int(w, NULL, ids[i]);
	jsonw_end_array(w);
}

/* Series and how far their history went, and what was owned. */
static void
plan_inputs_demand(
    struct jsonw *w, const struct plan_series *ps, size_t n, const struct plan_then *then)
{
	jsonw_begin_array(w, "series");
	for (size_t i = 0; i < n; i++)
		jsonw_str(w, NULL, ps[i].series.name);
	jsonw_end_array(w);
	jsonw_begin_array(w, "picked");
	for (size_t i = 0; i < then->demand.n; i++) {
		jsonw_begin_object(w, NULL);
		jsonw_str(w, "name", then->demand.series[i]);
		jsonw_int(w, "until", then->demand.at[i]);
		jsonw_int(w, "rolled_up", then->rolled[i]);
		jsonw_end_object(w);
	}
	jsonw_end_array(w);
	plan_inputs_ids(w, "owned", then->owned, then->n_owned);
}

/* What was asked for. */
static void
plan_inputs_asked(struct jsonw *w, const struct plan_options *o)
{
	jsonw_time(w, "now", o->now);
	jsonw_int(w, "horizon_s", o->horizon_s);
	jsonw_double(w, "service_level", o->service_level);
	jsonw_double(w, "budget", o->budget_usd);
	plan_money_json(w, o);
	jsonw_int(w, "paths", o->paths);
	jsonw_int(w, "seed", (int64_t)o->seed);
	jsonw_int(w, "max_term_months", o->max_term_months);
	jsonw_double(w, "spot_share", o->no_spot ? 0 : o->spot_share);
	if (o->on_demand_gpus >= 0)
		jsonw_int(w, "on_demand_limit", o->on_demand_gpus);
	else
		jsonw_null(w, "on_demand_limit");
	jsonw_int(w, "starts_s", o->starts_s);
	jsonw_str(w, "gpu", o->gpu);
	jsonw_str(w, "events", o->roadmap);
	jsonw_bool(w, "forms", !o->no_forms);
}

/* The offers that were read, by the ages of their prices and what was left out. */
static void
plan_inputs_prices(
    struct jsonw *w, const struct plan_series *ps, size_t n, const struct plan_then *then)
{
	jsonw_begin_array(w, "prices_as_of");
	for (size_t i = 0; i < n; i++)
		jsonw_int(w, NULL, ps[i].price_oldest);
	jsonw_end_array(w);
	plan_inputs_ids(w, "prices_too_old", then->stale.ids.v, then->stale.ids.n);
	plan_inputs_ids(w, "sold_out", then->gone.ids.v, then->gone.ids.n);
	plan_read_json(w, &then->read);
}

/* Nothing where nothing is said. */
static void
plan_rails_json(struct jsonw *w, const struct job_defaults *r)
{
	if (r->region == NULL && !r->purchase_said && !usd_known(r->max_price))
		return;
	jsonw_begin_object(w, "defaults");
	if (r->region != NULL)
		jsonw_str(w, "region", r->region);
	if (r->purchase_said) {
		jsonw_begin_array(w, "purchase");
		for (int p = 0; p < 3; p++)
			if (r->purchase_ok[p])
				jsonw_str(w, NULL, purchase_name((enum purchase)p));
		jsonw_end_array(w);
	}
	if (usd_known(r->max_price))
		jsonw_money(w, "max_price", r->max_price);
	jsonw_end_object(w);
}

static void
plan_rails_again(struct cmd_ctx *ctx, const struct jsonr *root, struct job_defaults *r)
{
	struct jsonr d = jsonr_get(root, "defaults"), list;
	const json_t *region, *price;

	*r = JOB_DEFAULTS_NONE;
	if (!json_is_object(d.v))
		return;
	region = jsonr_get(&d, "region").v;
	price = jsonr_get(&d, "max_price").v;
	list = jsonr_get(&d, "purchase");
	if (json_is_string(region))
		r->region = arena_strdup(ctx->arena, json_string_value(region));
	if (json_is_number(price) &&
	    usd_from_double(json_number_value(price), &r->max_price, NULL) != BERTH_OK)
		r->max_price = USD_UNKNOWN;
	r->purchase_said = json_is_array(list.v);
	for (size_t i = 0; i < jsonr_len(&list); i++) {
		const char *name = json_string_value(jsonr_at(&list, i).v);
		enum purchase p;

		if (name != NULL && purchase_parse(name, &p))
			r->purchase_ok[p] = true;
	}
}

/* What may serve, and how much of it. */
static void
plan_inputs_rules(struct jsonw *w, const struct plan_options *o)
{
	plan_inputs_words(w, "block", o->block, o->n_block);
	plan_rails_json(w, &o->rails);
	jsonw_begin_array(w, "also");
	for (size_t i = 0; i < o->n_also; i++)
		jsonw_str(w, NULL, o->also[i]->name);
	jsonw_end_array(w);
	jsonw_str(w, "precision", accel_precision_name(o->precision));
	jsonw_begin_array(w, "shares");
	for (size_t i = 0; i < o->n_shares; i++) {
		jsonw_begin_object(w, NULL);
		jsonw_str(w, "provider", o->shares[i].provider);
		jsonw_double(w, "min", o->shares[i].min);
		jsonw_double(w, "max", o->shares[i].max);
		jsonw_end_object(w);
	}
	jsonw_end_array(w);
}

/* What would have to be given to make the same plan again. */
enum berth_code
plan_inputs_write(struct cmd_ctx *ctx, const struct plan_series *ps, size_t n,
    const struct plan_options *o, const struct plan_then *then, const char **text_out,
    struct berth_err *err)
{
	const char *const *raw;
	struct buf b;
	struct jsonw w;
	enum berth_code rc;
	size_t n_raw;

	buf_init(&b, JSONR_BYTES_MAX);
	jsonw_init_buf(&w, &b, JSONW_COMPACT);
	jsonw_begin_object(&w, NULL);
	plan_inputs_demand(&w, ps, n, then);
	jsonw_time(&w, "at", n > 0 ? ps[0].forecast.t0 : o->now);
	plan_inputs_asked(&w, o);
	raw = cmd_raw(ctx, &n_raw);
	plan_inputs_words(&w, "command", raw, n_raw);
	plan_inputs_prices(&w, ps, n, then);
	plan_inputs_rules(&w, o);
	jsonw_end_object(&w);
	rc = jsonw_finish(&w, err);
	if (rc == BERTH_OK)
		*text_out = arena_strdup(ctx->arena, b.p);
	buf_free(&b);
	return rc;
}

/* Series, how far their history went, what was owned, and how old the prices were. */
static void
plan_then_read(struct cmd_ctx *ctx, struct jsonr *root, struct plan_then *then)
{
	const char **series;
	int64_t *at;
	struct jsonr picked = jsonr_get(root, "picked"), ages = jsonr_get(root, "prices_as_of"),
		     owned = jsonr_get(root, "owned"), stale = jsonr_get(root, "prices_too_old"),
		     gone = jsonr_get(root, "sold_out"), block = jsonr_get(root, "block");

	*then = (struct plan_then){ .n_oldest = jsonr_len(&ages), .n_owned = jsonr_len(&owned) };
	series = arena_array(ctx->arena, jsonr_len(&picked) + 1, sizeof(*series));
	at = arena_array(ctx->arena, jsonr_len(&picked) + 1, sizeof(*at));
	then->demand = (struct forecast_was){ series, at, jsonr_len(&picked) };
	then->rolled = arena_array(ctx->arena, then->demand.n + 1, sizeof(*then->rolled));
	then->oldest = arena_array(ctx->arena, then->n_oldest + 1, sizeof(*then->oldest));
	then->owned = arena_array(ctx->arena, then->n_owned + 1, sizeof(*then->owned));
	for (size_t i = 0; i < then->demand.n; i++) {
		struct jsonr p = jsonr_at(&picked, i);
		const json_t *name = jsonr_get(&p, "name").v;

		series[i] =
		    arena_strdup(ctx->arena, json_is_string(name) ? json_string_value(name) : "");
		at[i] = json_integer_value(jsonr_get(&p, "until").v);
		then->rolled[i] = json_integer_value(jsonr_get(&p, "rolled_up").v);
	}
	for (size_t i = 0; i < then->n_oldest; i++)
		then->oldest[i] = json_integer_value(jsonr_at(&ages, i).v);
	for (size_t i = 0; i < then->n_owned; i++)
		then->owned[i] = json_integer_value(jsonr_at(&owned, i).v);
	then->has_stale = json_is_array(stale.v);
	for (size_t i = 0; i < jsonr_len(&stale); i++)
		VEC_PUSH(ctx->arena, &then->stale.ids, json_integer_value(jsonr_at(&stale, i).v));
	plan_stale_sort(&then->stale);
	if (json_is_array(block.v))
		then->block = arena_array(ctx->arena, jsonr_len(&block) + 1, sizeof(*then->block));
	for (size_t i = 0; i < jsonr_len(&block); i++) {
		const json_t *rule = jsonr_at(&block, i).v;

		if (json_is_string(rule))
			then->block[then->n_block++] =
			    arena_strdup(ctx->arena, json_string_value(rule));
	}
	plan_read_again(ctx, root, then);
	plan_rails_again(ctx, root, &then->rails);
	then->horizon_s = json_integer_value(jsonr_get(root, "horizon_s").v);
	then->service_level = json_number_value(jsonr_get(root, "service_level").v);
	then->has_gone = json_is_array(gone.v);
	then->has_forms = json_is_true(jsonr_get(root, "forms").v);
	for (size_t i = 0; i < jsonr_len(&gone); i++)
		VEC_PUSH(ctx->arena, &then->gone.ids, json_integer_value(jsonr_at(&gone, i).v));
	plan_stale_sort(&then->gone);
}

/* The command line and the price ages that a plan was made with. */
enum berth_code
plan_inputs_read(struct cmd_ctx *ctx, const struct plan_row *row, struct line *line,
    struct plan_then *then, struct berth_err *err)
{
	char name[64];
	struct jsonr root, args;
	const char **argv = NULL;
	json_t *v = NULL;
	enum berth_code rc;
	size_t n;

	snprintf(name, sizeof(name), "inputs of plan %lld", (long long)row->id);
	rc = jsonr_parse(row->inputs, strlen(row->inputs), name, &v, err);
	if (rc != BERTH_OK)
		return rc;
	root = jsonr_root(v, name);
	args = jsonr_get(&root, "command");
	n = jsonr_len(&args);
	if (n == 0 || !json_is_array(jsonr_get(&root, "picked").v)) {
		json_decref(v);
		return err_set(err, BERTH_ENOTFOUND,
		    "plan %lld was made by a version that did not keep all that it was made from",
		    (long long)row->id);
	}
	argv = arena_array(ctx->arena, n + 1, sizeof(*argv));
	for (size_t i = 0; i < n; i++)
		argv[i] = arena_strdup(ctx->arena, json_is_string(jsonr_at(&args, i).v)
						       ? json_string_value(jsonr_at(&args, i).v)
						       : "");
	plan_then_read(ctx, &root, then);
	plan_money_again(&root, ctx->arena, &then->money, &then->n_money);
	json_decref(v);
	return line_parse(ctx->arena, row->made, (int)n, (char *const *)(void *)argv, line, err);
}
