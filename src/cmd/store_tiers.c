#include <stddef.h>

#include "cmd/store_tiers.h"
#include "store/prune.h"
#include "store/tier_rows.h"
#include "util/arena.h"
#include "util/duration.h"
#include "util/json.h"
#include "util/progress.h"

const struct store_tier_opts store_tier_defaults = { 0, 0, 0 };

#define OFF(field) offsetof(struct store_tier_opts, field)
const struct opt_row store_tier_rows[] = {
	{ "raw", 0, OPT_DURATION, "DUR",
	    "keep steps of less than an hour so long; default retention.raw", OFF(raw_s), 86400,
	    1e10, NULL },
	{ "hourly", 0, OPT_DURATION, "DUR", "keep hours so long; default retention.hourly",
	    OFF(hourly_s), 86400, 1e10, NULL },
	{ "records", 0, OPT_DURATION, "DUR",
	    "keep decisions and events so long; default retention.records", OFF(records_s), 86400,
	    1e10, NULL },
	{ 0 },
};

static void
store_tiers_progress(void *arg, int64_t done, int64_t all)
{
	struct progress *p = arg;

	p->total = all;
	progress_set(p, done);
}

static enum berth_code
store_tiers_policy(
    struct cmd_ctx *ctx, struct tier_policy *p, int64_t *records_out, struct berth_err *err)
{
	const struct store_tier_opts *o = ctx->opts;
	const struct config *config;
	enum berth_code rc = cmd_config(ctx, &config, err);

	if (rc != BERTH_OK)
		return rc;
	*records_out = o->records_s != 0 ? o->records_s : config->retention.records_s;
	p->raw_s = o->raw_s != 0 ? o->raw_s : config->retention.raw_s;
	p->hourly_s = o->hourly_s != 0 ? o->hourly_s : config->retention.hourly_s;
	if (p->hourly_s != 0 && (p->raw_s == 0 || p->raw_s > p->hourly_s))
		return err_set(err, BERTH_EUSAGE,
		    "hours cannot be kept for less time than the steps that they are made of: "
		    "--hourly must be at least --raw");
	return BERTH_OK;
}

static const char *
store_tiers_kept(struct cmd_ctx *ctx, int64_t s)
{
	char text[DURATION_FMT_SIZE];

	return s == 0 ? "for ever" : arena_strdup(ctx->arena, duration_fmt(text, s));
}

static const char *
store_tiers_count(struct cmd_ctx *ctx, int64_t n, const char *one, const char *many)
{
	return arena_printf(ctx->arena, "%lld %s", (long long)n, n == 1 ? one : many);
}

static void
store_tiers_seconds(struct jsonw *w, const char *key, int64_t s)
{
	if (s != 0)
		jsonw_int(w, key, s);
	else
		jsonw_null(w, key);
}

static enum berth_code
store_tiers_show(struct cmd_ctx *ctx, const struct tier_policy *p, const struct tier_moved *m,
    int64_t records_s, const struct prune_counts *gone, int64_t before, int64_t after,
    struct berth_err *err)
{
	struct jsonw *w;

	if (!cmd_wants_json(ctx)) {
		cmd_say(ctx,
		    "%s%lld steps of %lld series rolled up to %lld hours, %lld hours to %lld days "
		    "in all\n",
		    ctx->dry_run ? "dry run: " : "", (long long)m->steps, (long long)m->series,
		    (long long)m->hours_made, (long long)m->hours, (long long)m->days_made);
		cmd_say(ctx,
		    "steps of less than an hour are kept %s, hours %s, days for ever; %.1f MiB\n",
		    store_tiers_kept(ctx, p->raw_s), store_tiers_kept(ctx, p->hourly_s),
		    (double)after / 1048576);
		cmd_say(ctx, "%s%s, %s, %s and %s deleted; they are kept %s\n",
		    ctx->dry_run ? "dry run: " : "",
		    store_tiers_count(ctx, gone->decisions, "decision", "decisions"),
		    store_tiers_count(ctx, gone->events, "event", "events"),
		    store_tiers_count(ctx, gone->intents, "refused launch", "refused launches"),
		    store_tiers_count(ctx, gone->runs, "run of ticks", "runs of ticks"),
		    store_tiers_kept(ctx, records_s));
		return BERTH_OK;
	}
	w = cmd_json_begin(ctx, "berth.store-rollup/1");
	jsonw_bool(w, "dry_run", ctx->dry_run);
	jsonw_int(w, "series", m->series);
	jsonw_int(w, "steps", m->steps);
	jsonw_int(w, "hours", m->hours);
	jsonw_int(w, "hours_made", m->hours_made);
	jsonw_int(w, "days_made", m->days_made);
	store_tiers_seconds(w, "raw_s", p->raw_s);
	store_tiers_seconds(w, "hourly_s", p->hourly_s);
	jsonw_int(w, "decisions", gone->decisions);
	jsonw_int(w, "events", gone->events);
	jsonw_int(w, "intents", gone->intents);
	jsonw_int(w, "runs", gone->runs);
	store_tiers_seconds(w, "records_s", records_s);
	jsonw_int(w, "bytes_before", before);
	jsonw_int(w, "bytes", after);
	return cmd_json_end(ctx, err);
}

enum berth_code
store_tiers_run(struct cmd_ctx *ctx, bool compact, struct berth_err *err)
{
	struct tier_policy policy;
	struct tier_moved moved = { 0 };
	struct prune_counts gone;
	struct progress bar;
	int64_t before, records_s = 0;
	enum berth_code rc = store_tiers_policy(ctx, &policy, &records_s, err);

	if (rc != BERTH_OK)
		return rc;
	if (ctx->store == NULL)
		return err_set(err, BERTH_ENOTFOUND,
		    "store %s: there is none; `berth init` makes it", ctx->store_path);
	before = store_bytes(ctx);
	progress_start(&bar, cmd_progress(ctx), "rollup", "steps", 0);
	rc = ctx->dry_run ? store_rollup_due(ctx->store, &policy, ctx->now, &moved, err)
			  : store_rollup(ctx->store, &policy, ctx->now, 0, store_tiers_progress,
				&bar, &moved, err);
	progress_end(&bar);
	if (rc == BERTH_OK)
		rc = ctx->dry_run ? store_prune_due(ctx->store, records_s, ctx->now, &gone, err)
				  : store_prune(ctx->store, records_s, ctx->now, 0, &gone, err);
	if (rc == BERTH_OK && compact && !ctx->dry_run)
		rc = store_compact(ctx->store, err);
	return rc == BERTH_OK ? store_tiers_show(ctx, &policy, &moved, records_s, &gone, before,
				    store_bytes(ctx), err)
			      : rc;
}
