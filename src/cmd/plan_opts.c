/* src/cmd/plan_opts.c - the options of `berth plan`, and what berth.yaml says besides.  Floor: cmd.
 */
#include "config.h"

#include <math.h>
#include <string.h>

#include "broker/broker.h"
#include "cmd/calendar.h"
#include "cmd/plan_opts.h"
#include "cmd/prices.h"
#include "model/block.h"
#include "util/arena.h"
#include "util/str.h"

const struct plan_opts plan_defaults = {
	.paths = 200,
	.seed = 1,
	.service_level = 0,
	.spot_share = 0.2,
	.max_term = 36,
	.budget = { INT64_MIN },
	.precision = "bf16",
	.reconcile = "structural",
	.ladder_every_s = INT64_C(28) * 86400,
	.on_demand_gpus = -1,
	.plan_age_s = INT64_C(7) * 86400,
};

#define OFF(field) offsetof(struct plan_opts, field)
const struct opt_row plan_rows[] = {
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
	{ "horizon", 0, OPT_DURATION, "DUR",
	    "how far ahead to plan; default 52w, or horizon of berth.yaml", OFF(horizon_s), 3600,
	    261.0 * 7 * 86400, NULL },
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
	    OFF(ladder_every_s), 86400, 157.0 * 7 * 86400, NULL },
	{ "starts", 0, OPT_DURATION, "DUR", "also say what to buy later: start dates so far apart",
	    OFF(starts_s), 86400, 157.0 * 7 * 86400, NULL },
	{ "write-lp", 0, OPT_PATH, "FILE",
	    "write the integer program, so that a solver can check it", OFF(lp), 0, 0, NULL },
	{ "write-demand", 0, OPT_PATH, "FILE",
	    "write the sample paths of demand that the plan was made on", OFF(demand), 0, 0, NULL },
	{ "no-spot", 0, OPT_FLAG, NULL, "leave spot offers out", OFF(no_spot), 0, 0, NULL },
	{ "list-prices", 0, OPT_FLAG, NULL, "also offers that no account of berth.yaml can create",
	    OFF(list_prices), 0, 0, NULL },
	{ "on-demand-limit", 0, OPT_INT, "GPUS", "GPUs that can be had on demand",
	    OFF(on_demand_gpus), 0, 1e6, NULL },
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
	{ "approve", 0, OPT_INT, "ID",
	    "say what to order for this plan, and record it as commitments", OFF(approve), 1, 9e15,
	    NULL },
	{ "later", 0, OPT_FLAG, NULL, "with --approve: also its purchases of later dates",
	    OFF(later), 0, 0, NULL },
	{ "plan-age", 0, OPT_DURATION, "DUR",
	    "with --approve: how old what the plan knows may be; default 1w", OFF(plan_age_s), 1,
	    1e10, NULL },
	{ "replay", 0, OPT_INT, "ID",
	    "make this plan again from what the store held then, and compare", OFF(replay), 1, 9e15,
	    NULL },
	{ 0 },
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
		err_set(err, BERTH_EUSAGE,
		    "the least shares add up to %g: all of them together can be 1 at most, so "
		    "lower one",
		    least);
		return err_at(err, "--share");
	}
	o->shares = s;
	o->n_shares = v->shares.n;
	return BERTH_OK;
}

enum berth_code
plan_options(struct cmd_ctx *ctx, struct plan_options *o, struct berth_err *err)
{
	const struct plan_opts *v = ctx->opts;
	const struct accel_table *accels;
	const struct config *config;
	struct placing_limit *limits;
	struct quota_policy quotas;
	enum berth_code rc = cmd_config(ctx, &config, err);

	if (rc == BERTH_OK)
		rc = cmd_accels(ctx, &accels, err);
	if (rc == BERTH_OK)
		rc = broker_limits_read(
		    config->root, accels, ctx->arena, &limits, &o->n_limits, err);
	if (rc == BERTH_OK)
		rc = quotas_policy_read(config->root, &quotas, err);
	if (rc == BERTH_OK)
		rc = quotas_limits_load(ctx->store, ctx->now, quotas.age_s, limits, o->n_limits,
		    ctx->arena, &limits, &o->n_limits, err);
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
	o->horizon_s = v->horizon_s > 0                 ? v->horizon_s
		       : config->defaults.horizon_s > 0 ? config->defaults.horizon_s
							: PLAN_HORIZON_S;
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
	o->rails = config->defaults.job;
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
