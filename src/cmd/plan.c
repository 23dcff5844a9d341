#include "config.h"

#include <math.h>
#include <string.h>

#include "broker/broker.h"
#include "cmd/calendar.h"
#include "cmd/cmd.h"
#include "cmd/forecast.h"
#include "cmd/line.h"
#include "cmd/plan_inputs.h"
#include "cmd/plan_join.h"
#include "cmd/prices.h"
#include "cmd/series_waste.h"
#include "model/block.h"
#include "store/money_rows.h"
#include "store/offer_rows.h"
#include "store/plan_rows.h"
#include "store/store.h"
#include "util/arena.h"
#include "util/json.h"
#include "util/str.h"

struct plan_opts {
	struct opt_list series, by, providers, regions, also, shares;
	int64_t horizon_s, at, paths, seed, max_term, price_age_s, spot_age_s, on_demand_gpus,
	    replay, ladder, ladder_every_s, starts_s;
	double service_level, spot_share;
	struct usd_micro budget;
	const char *gpu, *events, *precision, *reconcile, *lp, *demand;
	bool no_spot, list_prices, brief, no_events, total, requested, sparse, keep_spikes;
};

static const struct plan_opts plan_defaults = {
	.horizon_s = INT64_C(52) * 7 * 86400,
	.paths = 200,
	.seed = 1,
	.service_level = 0,
	.spot_share = 0.2,
	.max_term = 36,
	.budget = { INT64_MIN },
	.precision = "bf16",
	.reconcile = "structural",
	.ladder_every_s = INT64_C(28) * 86400,
};

#define OFF(field) offsetof(struct plan_opts, field)
static const struct opt_row plan_rows[] = {
	{ "series", 's', OPT_LIST, "SERIES",
	    "plan for these series (names or globs); default: all whose accelerator is known",
	    OFF(series), 0, 0, NULL },
	{ "by", 0, OPT_LIST, "LABEL", "plan for the sums by the values of this label, such as team",
	    OFF(by), 0, 0, NULL },
	{ "total", 0, OPT_FLAG, NULL, "plan for the sum of the series", OFF(total), 0, 0, NULL },
	{ "reconcile", 0, OPT_CHOICE, "structural|mint|bottom-up|none",
	    "how sums and series are brought together; default structural", OFF(reconcile), 0, 0,
	    NULL },
	{ "requested", 0, OPT_FLAG, NULL, "what was waited for counts as demand too",
	    OFF(requested), 0, 0, NULL },
	{ "sparse", 0, OPT_FLAG, NULL,
	    "also series of two weeks or more with more than half of it missing", OFF(sparse), 0, 0,
	    NULL },
	{ "keep-spikes", 0, OPT_FLAG, NULL, "take single values far over all others as they are",
	    OFF(keep_spikes), 0, 0, NULL },
	{ "horizon", 0, OPT_DURATION, "DUR", "how far ahead to plan; default 52w", OFF(horizon_s),
	    3600, 5.0 * 366 * 86400, NULL },
	{ "service-level", 0, OPT_DOUBLE, "SHARE",
	    "chance with which the peak is to be carried; default 0.95", OFF(service_level), 0.01,
	    0.9999, NULL },
	{ "budget", 0, OPT_MONEY, "USD", "most that new commitments may bind over the horizon",
	    OFF(budget), 0, 9e12, NULL },
	{ "gpu", 'g', OPT_STRING, "GPU", "the accelerator of every series, whatever its label says",
	    OFF(gpu), 0, 0, NULL },
	{ "also", 0, OPT_LIST, "GPU",
	    "other accelerators that can do the same work, at their rated or measured speed",
	    OFF(also), 0, 0, NULL },
	{ "precision", 0, OPT_STRING, "NAME", "whose rates compare accelerators; default bf16",
	    OFF(precision), 0, 0, NULL },
	{ "share", 0, OPT_LIST, "PROVIDER=MIN..MAX",
	    "least and greatest share of a provider (glob) in what is owned and bought",
	    OFF(shares), 0, 0, NULL },
	{ "provider", 'p', OPT_LIST, "PROVIDER", "only offers of these providers (globs)",
	    OFF(providers), 0, 0, NULL },
	{ "region", 'r', OPT_LIST, "REGION",
	    "only offers in these regions (globs, also as aws/us-*)", OFF(regions), 0, 0, NULL },
	{ "max-term", 0, OPT_INT, "MONTHS", "longest term to commit to; default 36", OFF(max_term),
	    1, 120, NULL },
	{ "spot-share", 0, OPT_DOUBLE, "SHARE",
	    "share of the median peak that spot may carry; default 0.2", OFF(spot_share), 0, 1,
	    NULL },
	{ "brief", 'b', OPT_FLAG, NULL, "leave the reasons out of the table", OFF(brief), 0, 0,
	    NULL },
	{ "ladder", 0, OPT_INT, "N", "buy in so many steps, planning again before each",
	    OFF(ladder), 2, 60, NULL },
	{ "ladder-every", 0, OPT_DURATION, "DUR", "time between the steps; default 4w",
	    OFF(ladder_every_s), 86400, 1e8, NULL },
	{ "starts", 0, OPT_DURATION, "DUR", "also say what to buy later: start dates so far apart",
	    OFF(starts_s), 86400, 1e8, NULL },
	{ "write-lp", 0, OPT_PATH, "FILE",
	    "write the integer program, so that a solver can check it", OFF(lp), 0, 0, NULL },
	{ "write-demand", 0, OPT_PATH, "FILE",
	    "write the sample paths of demand that the plan was made on", OFF(demand), 0, 0, NULL },
	{ "no-spot", 0, OPT_FLAG, NULL, "leave spot offers out", OFF(no_spot), 0, 0, NULL },
	{ "list-prices", 0, OPT_FLAG, NULL, "also offers that no account of berth.yaml can create",
	    OFF(list_prices), 0, 0, NULL },
	{ "on-demand-limit", 0, OPT_INT, "GPUS", "GPUs that can be had on demand",
	    OFF(on_demand_gpus), 1, 1e6, NULL },
	{ "price-age", 0, OPT_DURATION, "DUR", "leave out prices older than this; default 52w",
	    OFF(price_age_s), 1, 1e10, NULL },
	{ "spot-age", 0, OPT_DURATION, "DUR", "leave out spot prices older than this; default 24h",
	    OFF(spot_age_s), 1, 1e10, NULL },
	{ "events", 0, OPT_PATH, "FILE",
	    "the roadmap: what history can not know; default: roadmap of berth.yaml", OFF(events),
	    0, 0, NULL },
	{ "no-events", 0, OPT_FLAG, NULL, "leave the roadmap of berth.yaml out", OFF(no_events), 0,
	    0, NULL },
	{ "at", 0, OPT_TIME, "TIME", "plan as of this time: history ends before it", OFF(at), 0, 0,
	    NULL },
	{ "paths", 0, OPT_INT, "N", "sample paths of the forecast; default 200", OFF(paths), 1,
	    10000, NULL },
	{ "seed", 0, OPT_INT, "N", "of the sample paths; default 1", OFF(seed), 0, 9e15, NULL },
	{ "replay", 0, OPT_INT, "ID",
	    "make this plan again from what the store held then, and compare", OFF(replay), 1, 9e15,
	    NULL },
	{ 0 },
};

static enum berth_code plan_run(struct cmd_ctx *ctx, struct berth_err *err);

const struct cmd cmd_plan = {
	.name = "plan",
	.summary = "say what to reserve, and what to leave on demand or spot",
	.args = "[SERIES ...]",
	.opts = plan_rows,
	.opts_default = &plan_defaults,
	.opts_size = sizeof(plan_defaults),
	.flags = CMD_STORE_RW,
	.args_max = -1,
	.run = plan_run,
};

static enum berth_code
plan_also(struct cmd_ctx *ctx, struct plan_options *o, struct berth_err *err)
{
	const struct plan_opts *v = ctx->opts;
	const struct accel_table *accels;
	const struct accel **also = arena_array(ctx->arena, v->also.n, sizeof(*also));
	enum berth_code rc = cmd_accels(ctx, &accels, err);

	if (rc != BERTH_OK)
		return rc;
	if (!accel_precision_parse(v->precision, &o->precision)) {
		err_set(err, BERTH_EUSAGE,
		    "'%s' is no precision: bf16, fp16, fp8, int8, tf32, fp32, fp64 ...",
		    v->precision);
		return err_at(err, "--precision");
	}
	for (size_t i = 0; i < v->also.n; i++) {
		const char *near[3];
		size_t n;

		also[i] = accel_find(accels, v->also.v[i]);
		if (also[i] != NULL)
			continue;
		n = accel_suggest(accels, v->also.v[i], near, 3);
		err_set(err, BERTH_EUSAGE, "no accelerator called '%s' is known%s%s", v->also.v[i],
		    n > 0 ? "; did you mean " : "",
		    n > 0 ? str_join(ctx->arena, near, n, ", ") : "");
		return err_at(err, "--also");
	}
	o->also = also;
	o->n_also = v->also.n;
	return BERTH_OK;
}

/* "aws=..0.6", "lambda*=0.1..", "aws=0.2..0.6" */
static enum berth_code
plan_shares_read(struct cmd_ctx *ctx, struct plan_options *o, struct berth_err *err)
{
	const struct plan_opts *v = ctx->opts;
	struct plan_share *s = arena_array(ctx->arena, v->shares.n, sizeof(*s));
	double least = 0;

	for (size_t i = 0; i < v->shares.n; i++) {
		const char *text = v->shares.v[i], *eq = strchr(text, '='),
			   *dots = eq == NULL ? NULL : strstr(eq, "..");
		struct berth_err ignored;

		s[i] = (struct plan_share){
			eq == NULL ? "" : arena_strndup(ctx->arena, text, (size_t)(eq - text)), 0, 1
		};
		if (eq == NULL || eq == text || dots == NULL ||
		    (dots > eq + 1 &&
			str_to_double(arena_strndup(ctx->arena, eq + 1, (size_t)(dots - eq - 1)), 0,
			    1, &s[i].min, &ignored) != BERTH_OK) ||
		    (dots[2] != '\0' &&
			str_to_double(dots + 2, 0, 1, &s[i].max, &ignored) != BERTH_OK) ||
		    s[i].min > s[i].max) {
			err_set(err, BERTH_EUSAGE,
			    "'%s' is no share: write PROVIDER=MIN..MAX with shares of 0 to 1, as "
			    "aws=0.2..0.6",
			    text);
			return err_at(err, "--share");
		}
		least += s[i].min;
	}
	if (least > 1 + 1e-9) {
		err_set(err, BERTH_EUSAGE, "the least shares add up to %g", least);
		return err_at(err, "--share");
	}
	o->shares = s;
	o->n_shares = v->shares.n;
	return BERTH_OK;
}

static enum berth_code
plan_options(struct cmd_ctx *ctx, struct plan_options *o, struct berth_err *err)
{
	const struct plan_opts *v = ctx->opts;
	const struct accel_table *accels;
	const struct config *config;
	struct placing_limit *limits;
	enum berth_code rc = cmd_config(ctx, &config, err);

	if (rc == BERTH_OK)
		rc = cmd_accels(ctx, &accels, err);
	if (rc == BERTH_OK)
		rc = broker_limits_read(
		    config->root, accels, ctx->arena, &limits, &o->n_limits, err);
	if (rc == BERTH_OK && config->root != NULL)
		rc = block_rules_read(
		    config->root, "block", ctx->arena, &o->block, &o->n_block, err);
	if (rc != BERTH_OK)
		return rc;
	fc_options_init(&o->calendar);
	rc = calendar_options(ctx, NULL, NULL, &o->calendar, err);
	if (rc != BERTH_OK)
		return rc;
	o->series = &v->series;
	o->by = &v->by;
	o->total = v->total;
	o->requested = v->requested;
	o->sparse = v->sparse;
	o->keep_spikes = v->keep_spikes;
	o->reconcile = v->reconcile;
	o->events = v->events;
	o->no_events = v->no_events;
	o->limits = limits;
	o->now = ctx->now;
	o->at = v->at;
	o->horizon_s = v->horizon_s;
	o->service_level = v->service_level > 0 ? v->service_level : config->defaults.service_level;
	o->budget_usd = usd_known(v->budget) ? usd_to_double(v->budget) : NAN;
	o->paths = v->paths;
	o->seed = (uint64_t)v->seed;
	o->max_term_months = v->max_term;
	o->gpu = v->gpu;
	rc = prices_ages(ctx, v->price_age_s, v->spot_age_s, &o->ages, err);
	if (rc == BERTH_OK)
		rc = plan_also(ctx, o, err);
	if (rc == BERTH_OK)
		rc = plan_shares_read(ctx, o, err);
	o->providers = v->providers.v;
	o->n_providers = v->providers.n;
	o->regions = v->regions.v;
	o->n_regions = v->regions.n;
	o->no_spot = v->no_spot;
	o->brief = v->brief;
	o->need_account = config->n_accounts > 0 && !v->list_prices;
	o->spot_share = v->spot_share;
	o->on_demand_gpus = v->on_demand_gpus;
	o->ladder = v->ladder;
	o->ladder_every_s = v->ladder_every_s;
	o->starts_s = v->starts_s;
	return rc;
}

/* A series that cannot be planned is named and left out; the first one's error is kept for when
 * none is left. */
struct plan_left {
	size_t n;
	struct berth_err first;
};

static void
plan_keep(struct cmd_ctx *ctx, struct plan_series *ps, size_t *n, const struct berth_err *why,
    struct plan_left *left)
{
	size_t kept = 0;

	for (size_t i = 0; i < *n; i++) {
		if (why[i].code == BERTH_OK) {
			ps[kept++] = ps[i];
			continue;
		}
		left->n++;
		if (left->first.code == BERTH_OK)
			left->first = why[i];
		cmd_warn(ctx, "left out: %s", why[i].msg);
	}
	*n = kept;
}

/* Store faults end the plan; what a series says of itself does not. */
static bool
plan_own_fault(enum berth_code rc)
{
	return rc == BERTH_EINFEASIBLE || rc == BERTH_EINVAL;
}

static enum berth_code
plan_market_all(struct cmd_ctx *ctx, const struct accel_table *accels, const struct offer *offers,
    size_t n_offers, const struct plan_options *o, struct plan_series *ps, size_t *n,
    struct plan_left *left, struct berth_err *err)
{
	struct berth_err *why = arena_array(ctx->arena, *n, sizeof(*why));

	for (size_t i = 0; i < *n; i++) {
		enum berth_code rc =
		    plan_market(accels, offers, n_offers, o, ctx->arena, &ps[i], err);

		if (rc != BERTH_OK && (*n == 1 || !plan_own_fault(rc)))
			return rc;
		if (rc != BERTH_OK)
			why[i] = *err;
	}
	plan_keep(ctx, ps, n, why, left);
	return BERTH_OK;
}

/* Each series is used or built; those that cannot be are left out. only: none is to be. */
static enum berth_code
plan_each(struct cmd_ctx *ctx, const struct accel_table *accels, const struct commitment *owned,
    size_t n_owned, bool use, bool only, const struct plan_options *o, struct plan_series *ps,
    size_t *n, struct plan_left *left, struct berth_err *err)
{
	struct berth_err *why = arena_array(ctx->arena, *n + 1, sizeof(*why));

	for (size_t i = 0; i < *n; i++) {
		enum berth_code rc;

		if (!use)
			plan_build(accels, owned, n_owned, o, ctx->arena, &ps[i]);
		rc = use ? plan_use(o, ctx->arena, &ps[i], err)
			 : plan_feasible(&ps[i], ctx->arena, err);
		if (rc != BERTH_OK && (only || !plan_own_fault(rc)))
			return rc;
		if (rc != BERTH_OK)
			why[i] = *err;
	}
	plan_keep(ctx, ps, n, why, left);
	return BERTH_OK;
}

/* What is owned is dealt anew where a series drops out: its part goes to the others. */
static enum berth_code
plan_build_all(struct cmd_ctx *ctx, const struct accel_table *accels,
    const struct commitment *owned, size_t n_owned, const struct plan_options *o,
    struct plan_series *ps, size_t *n, struct plan_left *left, struct berth_err *err)
{
	bool only = *n + left->n == 1;
	enum berth_code rc =
	    plan_each(ctx, accels, owned, n_owned, true, only, o, ps, n, left, err);

	for (size_t was = *n + 1; rc == BERTH_OK && was > *n;) {
		was = *n;
		plan_owned_part(owned, n_owned, o, accels, ps, *n, ctx->arena);
		rc = plan_each(ctx, accels, owned, n_owned, false, only, o, ps, n, left, err);
	}
	if (rc == BERTH_OK)
		plan_quota_runway(ps, *n, o, ctx->arena);
	return rc;
}

/* A plan in the making: what plan_run() prints, or a replay compares. */
struct plan_made {
	struct plan_then then;
	struct plan_options o;
	struct plan_series *ps;
	size_t n;
	struct plan_left left;
};

/* Of a replay only what was there when the plan was made. */
static void
plan_own(struct cmd_ctx *ctx, const struct plan_then *then, struct plan_made *m,
    struct commitment *owned, size_t *n)
{
	size_t kept = 0;

	m->then.owned = arena_array(ctx->arena, *n + 1, sizeof(*m->then.owned));
	for (size_t i = 0; i < *n; i++) {
		bool was = then == NULL;

		for (size_t k = 0; then != NULL && k < then->n_owned; k++)
			was = was || then->owned[k] == owned[i].id;
		if (!was)
			continue;
		m->then.owned[kept] = owned[i].id;
		owned[kept++] = owned[i];
	}
	*n = m->then.n_owned = kept;
}

/* Which series there were, and how far their history went. */
static void
plan_note_picked(struct cmd_ctx *ctx, const struct forecast_set *f, struct plan_made *m)
{
	const char **name = arena_array(ctx->arena, f->n_coarse + 1, sizeof(*name));
	int64_t *at = arena_array(ctx->arena, f->n_coarse + 1, sizeof(*at));

	for (size_t i = 0; i < f->n_coarse; i++) {
		name[i] = f->rows[i].name;
		at[i] = m->o.at != 0 ? m->o.at : f->rows[i].to + f->rows[i].step_s;
	}
	m->then.demand = (struct forecast_was){ name, at, f->n_coarse };
}

/* at: offers as they were then, and `then` what else there was; 0 and NULL: those of now. */
static enum berth_code
plan_make(struct cmd_ctx *ctx, int64_t at, const struct plan_then *then, struct plan_made *m,
    struct berth_err *err)
{
	const struct offer_query q = { .at = at };
	const struct accel_table *accels;
	struct forecast_set f = { 0 };
	struct offer *offers;
	struct offer_gap *gaps = NULL;
	struct commitment *owned;
	size_t n_offers, n_owned;
	enum berth_code rc = plan_options(ctx, &m->o, err);

	if (rc == BERTH_OK)
		rc = cmd_accels(ctx, &accels, err);
	m->o.then = then == NULL ? NULL : &then->demand;
	if (rc == BERTH_OK && then == NULL) {
		rc = plan_money_read(ctx, accels, &m->o, err);
	} else if (rc == BERTH_OK) {
		m->o.money = then->money;
		m->o.n_money = then->n_money;
	}
	plan_money_apply(&m->o);
	m->o.was_stale = then == NULL || !then->has_stale ? NULL : &then->stale;
	m->o.stale = &m->then.stale;
	if (then != NULL && then->block != NULL) {
		m->o.block = then->block;
		m->o.n_block = then->n_block;
	}
	m->o.was_gone = then == NULL || !then->has_gone ? NULL : &then->gone;
	m->o.gone = &m->then.gone;
	if (rc == BERTH_OK)
		rc = plan_demand_load(ctx, accels, &m->o, &f, &m->ps, &m->n, err);
	m->left.n = f.n_left;
	if (rc == BERTH_OK)
		plan_note_picked(ctx, &f, m);
	if (rc == BERTH_OK)
		rc = store_offer_list(
		    ctx->store, at == 0 ? NULL : &q, ctx->arena, &offers, &n_offers, err);
	if (rc == BERTH_OK && then == NULL)
		rc = store_offer_gaps(
		    ctx->store, ctx->now - PLAN_IDLE_S, ctx->arena, &gaps, &m->o.n_gaps, err);
	m->o.gaps = gaps;
	if (rc == BERTH_OK)
		rc = store_commitment_list(ctx->store, 0, ctx->arena, &owned, &n_owned, err);
	if (rc == BERTH_OK)
		plan_own(ctx, then, m, owned, &n_owned);
	if (rc == BERTH_OK)
		plan_names_check(
		    ctx, &m->o, &(struct plan_sellers){ offers, n_offers, owned, n_owned });
	if (rc == BERTH_OK)
		rc = plan_market_all(
		    ctx, accels, offers, n_offers, &m->o, m->ps, &m->n, &m->left, err);
	if (rc == BERTH_OK)
		rc = plan_demand_forecast(ctx, &m->o, &f, m->ps, m->n, err);
	if (rc == BERTH_OK)
		rc =
		    plan_build_all(ctx, accels, owned, n_owned, &m->o, m->ps, &m->n, &m->left, err);
	if (rc == BERTH_OK && m->n == 0) {
		*err = m->left.first;
		return err->code;
	}
	return rc;
}

static enum berth_code
plan_finish(struct cmd_ctx *ctx, struct plan_made *m, struct berth_err *err)
{
	enum berth_code rc = BERTH_OK;
	struct plan_progress told = { .done = 0 };

	progress_start(&told.bar, cmd_progress(ctx), "plan", "steps", 1 + 3 * (int64_t)m->n);
	m->o.progress = &told;
	for (size_t i = 0; i < m->n && rc == BERTH_OK; i++)
		rc = series_idle_hours(ctx, m->ps[i].accel, ctx->now - PLAN_IDLE_S, ctx->now,
		    &m->ps[i].idle_gpu_hours, err);
	if (rc == BERTH_OK)
		rc = plan_solve_all(m->ps, m->n, &m->o, ctx->arena, err);
	progress_end(&told.bar);
	m->o.progress = NULL;
	if (rc == BERTH_OK) {
		plan_demand_explain(m->ps, m->n, ctx->arena);
		plan_events_explain(m->ps, m->n, ctx->arena);
		plan_money_explain(m->ps, m->n, &m->o, ctx->arena);
	}
	return rc;
}

/* The plan as it is kept. The caller frees b. */
static enum berth_code
plan_text(const struct plan_made *m, struct buf *b, struct berth_err *err)
{
	struct jsonw w;
	enum berth_code rc;

	buf_init(b, JSONR_BYTES_MAX);
	jsonw_init_buf(&w, b, JSONW_COMPACT);
	jsonw_begin_object(&w, NULL);
	jsonw_str(&w, "schema", "berth.plan/1");
	plan_json(&w, 0, m->ps, m->n, &m->o);
	jsonw_end_object(&w);
	rc = jsonw_finish(&w, err);
	if (rc != BERTH_OK)
		buf_free(b);
	return rc;
}

static enum berth_code
plan_store(struct cmd_ctx *ctx, const struct plan_made *m, int64_t *id_out, struct berth_err *err)
{
	struct plan_row row = { .made = ctx->now };
	struct buf b;
	enum berth_code rc = plan_inputs_write(ctx, m->ps, m->n, &m->o, &m->then, &row.inputs, err);

	if (rc == BERTH_OK)
		rc = plan_text(m, &b, err);
	if (rc != BERTH_OK)
		return rc;
	row.json = b.p;
	rc = store_plan_insert(ctx->store, &row, id_out, err);
	buf_free(&b);
	return rc;
}

/* Where two texts part, with what stands around it. */
static enum berth_code
plan_differs(const char *was, const char *is, int64_t id, struct berth_err *err)
{
	size_t k = 0, from;

	while (was[k] != '\0' && was[k] == is[k])
		k++;
	from = k > 40 ? k - 40 : 0;
	return err_set(err, BERTH_EFAIL,
	    "plan %lld comes out otherwise now, from byte %zu on: it was ...%.80s..., it is "
	    "...%.80s...: history, commitments, config or measured speeds have changed since",
	    (long long)id, k, was + from, is + from);
}

static enum berth_code
plan_replay(struct cmd_ctx *ctx, int64_t id, struct berth_err *err)
{
	struct cmd_ctx then = *ctx;
	struct plan_made m = { 0 };
	struct plan_row row;
	struct line line;
	struct plan_then was;
	struct buf b;
	enum berth_code rc = store_plan_get(ctx->store, id, ctx->arena, &row, err);

	if (rc == BERTH_OK)
		rc = plan_inputs_read(ctx, &row, &line, &was, err);
	if (rc != BERTH_OK)
		return rc;
	then.opts = line.opts;
	then.args = line.words;
	then.n_args = line.n_words;
	then.now = row.made;
	rc = plan_make(&then, row.made, &was, &m, err);
	for (size_t i = 0; i < m.n && i < was.n_oldest && rc == BERTH_OK; i++)
		m.ps[i].price_oldest = was.oldest[i]; /* an offer that goes on unchanged is looked
							 at again and again */
	if (rc == BERTH_OK)
		rc = plan_finish(&then, &m, err);
	if (rc != BERTH_OK)
		return rc;
	rc = plan_text(&m, &b, err);
	if (rc == BERTH_OK && strcmp(b.p, row.json) != 0)
		rc = plan_differs(row.json, b.p, id, err);
	if (rc == BERTH_OK && cmd_wants_json(ctx)) {
		struct jsonw *w = cmd_json_begin(ctx, "berth.plan-replay/1");

		jsonw_int(w, "id", id);
		jsonw_bool(w, "same", true);
		jsonw_int(w, "bytes", (int64_t)strlen(row.json));
		rc = cmd_json_end(ctx, err);
	} else if (rc == BERTH_OK) {
		cmd_say(ctx, "Plan %lld comes out the same, byte for byte (%zu bytes).\n",
		    (long long)id, strlen(row.json));
	}
	buf_free(&b);
	return rc;
}

static enum berth_code
plan_run(struct cmd_ctx *ctx, struct berth_err *err)
{
	const struct plan_opts *v = ctx->opts;
	struct plan_made m = { 0 };
	int64_t id = 0;
	enum berth_code rc;

	if (v->replay > 0)
		return plan_replay(ctx, v->replay, err);
	rc = plan_make(ctx, 0, NULL, &m, err);
	if (rc == BERTH_OK)
		rc = plan_finish(ctx, &m, err);
	if (rc == BERTH_OK && v->lp != NULL)
		rc = m.o.starts_s > 0 ? plan_schedule_lp(m.ps, m.n, &m.o, v->lp, ctx->arena, err)
				      : plan_lp(m.ps, m.n, &m.o, v->lp, err);
	if (rc == BERTH_OK && v->demand != NULL)
		rc = plan_paths_write(m.ps, m.n, v->demand, err);
	if (rc == BERTH_OK)
		rc = plan_store(ctx, &m, &id, err);
	if (rc != BERTH_OK)
		return rc;
	if (!cmd_wants_json(ctx)) {
		rc = plan_table(ctx, m.ps, m.n, &m.o, err);
	} else {
		plan_json(cmd_json_begin(ctx, "berth.plan/1"), id, m.ps, m.n, &m.o);
		rc = cmd_json_end(ctx, err);
	}
	if (rc == BERTH_OK && m.left.n > 0)
		rc = err_set(err, BERTH_EPARTIAL,
		    "%zu of %zu series could not be planned; each is named above", m.left.n,
		    m.n + m.left.n);
	return rc;
}
