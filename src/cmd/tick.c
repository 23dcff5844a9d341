#include <stdlib.h>
#include <string.h>

#include "broker/broker.h"
#include "broker/shares.h"
#include "cmd/brokerset.h"
#include "cmd/cmd.h"
#include "cmd/prices.h"
#include "cmd/progpath.h"
#include "model/datapath.h"
#include "model/block.h"
#include "util/arena.h"
#include "util/duration.h"
#include "util/fileio.h"
#include "util/json.h"
#include "util/log.h"
#include "util/progress.h"
#include "util/time.h"

struct tick_opts {
	int64_t until, step_s, seed;
};

static const struct tick_opts tick_defaults = { .step_s = 60, .seed = 1 };

#define OFF(field) offsetof(struct tick_opts, field)
static const struct opt_row tick_rows[] = {
	{ "until", 0, OPT_TIME, "TIME",
	    "go on from --now to this time on a virtual clock (replayed clouds only)", OFF(until),
	    0, 0, NULL },
	{ "step", 0, OPT_DURATION, "DUR", "of the virtual clock", OFF(step_s), 1, 86400, NULL },
	{ "seed", 0, OPT_INT, "N", "for whatever is drawn by chance", OFF(seed), 0, 9e15, NULL },
	{ 0 },
};

static enum berth_code tick_run(struct cmd_ctx *ctx, struct berth_err *err);

const struct cmd cmd_tick = {
	.name = "tick",
	.summary = "do one pass over jobs and machines; for cron, each minute",
	.args = "",
	.opts = tick_rows,
	.opts_default = &tick_defaults,
	.opts_size = sizeof(tick_defaults),
	.flags = CMD_STORE_RW | CMD_NET | CMD_SPENDS | CMD_DRY_OWN | CMD_NO_ROWS,
	.run = tick_run,
};

static enum berth_code
tick_open(struct cmd_ctx *ctx, struct broker *b, struct berth_err *err)
{
	const struct tick_opts *o = ctx->opts;
	const struct config *config;
	enum berth_code rc;

	rc = cmd_config(ctx, &config, err);
	if (rc != BERTH_OK)
		return rc;
	if (config->n_accounts == 0)
		cmd_note(ctx, "no account in %s: nothing can be rented",
		    config->path[0] != '\0' ? config->path : "the config");
	rc = brokerset_open(ctx, (uint64_t)o->seed, b, err);
	if (rc == BERTH_OK && o->until != 0)
		b->tick_s = o->step_s;
	else if (rc == BERTH_OK &&
		 (rc = store_run_gap(ctx->store, "tick", &b->tick_s, err)) != BERTH_OK)
		broker_close(b);
	return rc;
}

/* A virtual clock must not drive a cloud that charges by the real one. */
static enum berth_code
tick_virtual_ok(const struct broker *b, struct berth_err *err)
{
	for (size_t i = 0; i < b->n_accounts; i++) {
		if (b->accounts[i].prov != NULL &&
		    !provider_is_local(prov_account_ops(b->accounts[i].prov)))
			return err_set(err, BERTH_EUSAGE,
			    "--until moves a virtual clock, and account %s is a real cloud; use a "
			    "config with replayed accounts only",
			    b->accounts[i].name);
	}
	return BERTH_OK;
}

static enum berth_code
tick_loop(struct cmd_ctx *ctx, struct broker *b, struct berth_err *err)
{
	const struct tick_opts *o = ctx->opts;
	int64_t end = o->until != 0 ? o->until : ctx->now;
	struct progress bar;
	enum berth_code rc;
	bool idle = false;

	if (end < ctx->now)
		return err_set(err, BERTH_EUSAGE, "--until lies before --now");
	if (o->until != 0) {
		rc = tick_virtual_ok(b, err);
		if (rc != BERTH_OK)
			return rc;
	}
	progress_start(&bar, o->until != 0 && cmd_progress(ctx), "replay", "s", end - ctx->now);
	for (int64_t t = ctx->now;; t += o->step_s) {
		if (t > end)
			t = end;
		broker_set_now(b, t);
		rc = broker_tick(b, err);
		if (rc == BERTH_OK && o->until != 0)
			rc = broker_idle(b, &idle, err);
		if (rc != BERTH_OK || idle || t >= end)
			break;
		progress_set(&bar, t - ctx->now);
	}
	progress_end(&bar);
	return rc;
}

static enum berth_code
tick_json(struct cmd_ctx *ctx, const struct broker *b, struct berth_err *err)
{
	const struct broker_counts *c = &b->counts;
	struct jsonw *w = cmd_json_begin(ctx, "berth.tick/1");

	jsonw_time(w, "from", ctx->now);
	jsonw_time(w, "to", b->now);
	jsonw_int(w, "ticks", c->ticks);
	jsonw_int(w, "placed", c->placed);
	jsonw_int(w, "created", c->created);
	jsonw_int(w, "adopted", c->adopted);
	jsonw_int(w, "refused", c->refused);
	jsonw_int(w, "probed", c->probed);
	jsonw_int(w, "rejected", c->rejected);
	jsonw_int(w, "started", c->started);
	jsonw_int(w, "finished", c->finished);
	jsonw_int(w, "failed", c->failed);
	jsonw_int(w, "preempted", c->preempted);
	jsonw_int(w, "lost", c->lost);
	jsonw_int(w, "released", c->released);
	jsonw_int(w, "idled", c->idled);
	jsonw_int(w, "scaled_up", c->scaled_up);
	jsonw_int(w, "scaled_down", c->scaled_down);
	jsonw_int(w, "events_sent", c->events_sent);
	jsonw_int(w, "rolled_up", c->rolled_up);
	jsonw_int(w, "errors", c->errors);
	jsonw_begin_array(w, "accounts");
	for (size_t i = 0; i < b->n_accounts; i++) {
		jsonw_begin_object(w, NULL);
		jsonw_str(w, "name", b->accounts[i].name);
		jsonw_str(w, "state",
		    b->accounts[i].down == BERTH_OK ? "ok" : err_name(b->accounts[i].down));
		jsonw_str_or_null(w, "error", b->accounts[i].why);
		jsonw_end_object(w);
	}
	jsonw_end_array(w);
	return cmd_json_end(ctx, err);
}

/* One line of what was done; from cron, a tick that did nothing says nothing. */
static void
tick_say(struct cmd_ctx *ctx, const struct broker *b)
{
	const struct broker_counts *c = &b->counts;
	const struct {
		int64_t n;
		const char *one, *many;
	} parts[] = {
		{ c->scaled_up, "replica added", "replicas added" },
		{ c->scaled_down, "replica taken away", "replicas taken away" },
		{ c->created, "machine rented", "machines rented" },
		{ c->adopted, "taken over", "taken over" },
		{ c->refused, "launch refused", "launches refused" },
		{ c->probed, "probed", "probed" },
		{ c->rejected, "rejected by the probe", "rejected by the probe" },
		{ c->started, "start", "starts" },
		{ c->preempted, "preemption", "preemptions" },
		{ c->finished, "job done", "jobs done" },
		{ c->failed, "job failed", "jobs failed" },
		{ c->idled, "idle job ended", "idle jobs ended" },
		{ c->lost, "machine lost", "machines lost" },
		{ c->released, "given back", "given back" },
		{ c->rolled_up, "sample rolled up", "samples rolled up" },
		{ c->errors, "error (see the log)", "errors (see the log)" },
	};
	const char *line = "";

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		if (parts[i].n > 0)
			line = arena_printf(ctx->arena, "%s%s%lld %s", line,
			    line[0] != '\0' ? ", " : "", (long long)parts[i].n,
			    parts[i].n == 1 ? parts[i].one : parts[i].many);
	}
	if (c->ticks > 1) {
		char from[TIME_FMT_SIZE], to[TIME_FMT_SIZE];

		cmd_say_hung(ctx, 4, "%lld ticks from %s to %s: %s", (long long)c->ticks,
		    time_fmt(from, ctx->now), time_fmt(to, b->now),
		    line[0] != '\0' ? line : "nothing to do");
	} else if (line[0] != '\0') {
		cmd_say_hung(ctx, 4, "%s", line);
	}
}

static enum berth_code
tick_done(struct cmd_ctx *ctx, const struct broker *b, struct berth_err *err)
{
	size_t down = 0;

	if (cmd_wants_json(ctx)) {
		enum berth_code rc = tick_json(ctx, b, err);

		if (rc != BERTH_OK)
			return rc;
	} else {
		tick_say(ctx, b);
	}
	for (size_t i = 0; i < b->n_accounts; i++)
		down += b->accounts[i].down != BERTH_OK;
	if (down == 0 && b->counts.unplaced > 0)
		return err_set(err, BERTH_ETRANSIENT,
		    "%lld job%s found no machine now: every launch was refused, or did not answer; "
		    "a later tick asks again (berth jobs -o wide says why)",
		    (long long)b->counts.unplaced, b->counts.unplaced == 1 ? "" : "s");
	if (down == 0 && b->counts.unpaid > 0)
		return err_set(err, BERTH_EBUDGET,
		    "%lld job%s wait%s for money of a budget, or of %s own max_cost; what runs "
		    "goes on (berth budget shows what is left, berth jobs -o wide what each "
		    "needs)",
		    (long long)b->counts.unpaid, b->counts.unpaid == 1 ? "" : "s",
		    b->counts.unpaid == 1 ? "s" : "", b->counts.unpaid == 1 ? "its" : "their");
	if (down == 0)
		return BERTH_OK;
	for (size_t i = 0; i < b->n_accounts; i++) {
		if (b->accounts[i].down != BERTH_OK)
			return err_set(err, BERTH_EPARTIAL,
			    "%zu of %zu accounts did not answer; the first is %s: %s", down,
			    b->n_accounts, b->accounts[i].name, b->accounts[i].why);
	}
	return BERTH_OK;
}

/* What the queue would do now, with nothing asked of any cloud. */
static enum berth_code
tick_dry(struct cmd_ctx *ctx, struct berth_err *err)
{
	struct placing_options o = { .now = ctx->now, .need_account = true, .rounds = 100 };
	const struct accel_table *accels;
	const struct config *config;
	struct placing p = { 0 };
	enum berth_code rc;
	struct jsonw *w;

	rc = cmd_config(ctx, &config, err);
	if (rc == BERTH_OK)
		rc = cmd_accels(ctx, &accels, err);
	if (rc == BERTH_OK)
		rc = prices_ages(ctx, 0, 0, &o.ages, err);
	if (rc == BERTH_OK && config->root != NULL) {
		struct quota_policy quotas = { 0 };
		struct placing_limit *limits;

		rc =
		    broker_limits_read(config->root, accels, ctx->arena, &limits, &o.n_limits, err);
		o.limits = limits;
		if (rc == BERTH_OK)
			rc = quotas_policy_read(config->root, &quotas, err);
		o.quota_age_s = quotas.age_s;
		if (rc == BERTH_OK)
			rc = shares_read(config->root, ctx->arena, &o.shares, err);
		if (rc == BERTH_OK)
			rc = block_rules_read(
			    config->root, "block", ctx->arena, &o.block, &o.n_block, err);
	}
	if (rc == BERTH_OK && ctx->store != NULL)
		rc = store_run_gap(ctx->store, "tick", &o.tick_s, err);
	if (rc == BERTH_OK && ctx->store != NULL)
		rc = placing_run(ctx->store, accels, &o, NULL, 0, ctx->arena, &p, err);
	if (rc != BERTH_OK)
		return rc;
	if (!cmd_wants_json(ctx)) {
		for (size_t i = 0; i < p.n_jobs; i++)
			cmd_say_hung(ctx, 4, "%s  %s: %s", p.jobs[i].job.id,
			    p.jobs[i].n_tries > 0 ? "would be placed" : "would wait",
			    p.jobs[i].reason);
		if (p.n_jobs == 0)
			cmd_say(ctx, "the queue is empty\n");
		return BERTH_OK;
	}
	w = cmd_json_begin(ctx, "berth.tick/1");
	jsonw_bool(w, "dry_run", true);
	jsonw_begin_array(w, "jobs");
	for (size_t i = 0; i < p.n_jobs; i++) {
		jsonw_begin_object(w, NULL);
		jsonw_str(w, "id", p.jobs[i].job.id);
		jsonw_bool(w, "placed", p.jobs[i].n_tries > 0);
		jsonw_str(w, "reason", p.jobs[i].reason);
		jsonw_end_object(w);
	}
	jsonw_end_array(w);
	return cmd_json_end(ctx, err);
}

static enum berth_code
tick_run(struct cmd_ctx *ctx, struct berth_err *err)
{
	struct broker b;
	enum berth_code rc;

	if (ctx->dry_run)
		return tick_dry(ctx, err);
	rc = store_lock(ctx->store, "tick", err);
	if (rc != BERTH_OK)
		return rc;
	rc = tick_open(ctx, &b, err);
	if (rc == BERTH_OK) {
		rc = tick_loop(ctx, &b, err);
		if (rc == BERTH_OK)
			rc = tick_done(ctx, &b, err);
		broker_close(&b);
	}
	store_unlock(ctx->store);
	return rc;
}
