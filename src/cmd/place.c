#include "config.h"

#include <math.h>
#include <string.h>

#include "broker/broker.h"
#include "broker/placing.h"
#include "broker/placing_replay.h"
#include "broker/shares.h"
#include "cmd/cmd.h"
#include "cmd/prices.h"
#include "model/block.h"
#include "plan/explain.h"
#include "store/store.h"
#include "util/arena.h"
#include "util/json.h"
#include "util/strmap.h"
#include "util/time.h"

struct place_opts {
	bool explain, list_prices;
	int64_t seed, rounds, price_age_s, spot_age_s;
	const char *goal, *replay;
};

static const struct place_opts place_defaults = { .seed = 1, .rounds = 200 };

#define OFF(field) offsetof(struct place_opts, field)
static const struct opt_row place_rows[] = {
	{ "for", 0, OPT_CHOICE, "cost|finish",
	    "least cost, or the last job done as early as can be; default cost", OFF(goal), 0, 0,
	    NULL },
	{ "explain", 'e', OPT_FLAG, NULL,
	    "say for each job why: runner-up, what binds, who was refused", OFF(explain), 0, 0,
	    NULL },
	{ "list-prices", 0, OPT_FLAG, NULL, "also offers that no account of berth.yaml can create",
	    OFF(list_prices), 0, 0, NULL },
	{ "price-age", 0, OPT_DURATION, "DUR", "leave out prices older than this; default 52w",
	    OFF(price_age_s), 1, 1e10, NULL },
	{ "spot-age", 0, OPT_DURATION, "DUR", "leave out spot prices older than this; default 24h",
	    OFF(spot_age_s), 1, 1e10, NULL },
	{ "rounds", 0, OPT_INT, "N", "rounds of search and bound; default 200", OFF(rounds), 0,
	    100000, NULL },
	{ "replay", 0, OPT_STRING, "ID|JOB",
	    "make this placement, or the newest of this job, again from what the store held then, "
	    "and compare",
	    OFF(replay), 0, 0, NULL },
	{ "seed", 0, OPT_INT, "N", "of the search; default 1", OFF(seed), 0, 9e15, NULL },
	{ 0 },
};

static enum berth_code place_run(struct cmd_ctx *ctx, struct berth_err *err);

const struct cmd cmd_place = {
	.name = "place",
	.summary = "say where each queued job would go, and why",
	.args = "[JOB ...]",
	.opts = place_rows,
	.opts_default = &place_defaults,
	.opts_size = sizeof(place_defaults),
	.flags = CMD_STORE_RW,
	.args_max = -1,
	.run = place_run,
};

static void
place_json(struct jsonw *w, const struct placing *p)
{
	jsonw_begin_array(w, "jobs");
	for (size_t i = 0; i < p->n_jobs; i++) {
		jsonw_begin_object(w, NULL);
		placing_json_job(w, p, &p->jobs[i], 0);
		jsonw_end_object(w);
	}
	jsonw_end_array(w);
	placing_json_plan(w, p);
	jsonw_fixed(w, "solve_s", p->solve_s, 3);
}

static enum berth_code
place_store(
    struct cmd_ctx *ctx, const struct placing *p, const struct buf *inputs, struct berth_err *err)
{
	enum berth_code rc = store_begin(ctx->store, err);

	if (rc != BERTH_OK)
		return rc;
	for (size_t i = 0; i < p->n_jobs && rc == BERTH_OK; i++)
		rc = placing_keep(ctx->store, ctx->now, p, &p->jobs[i], 0, NULL, err);
	if (rc == BERTH_OK && p->n_jobs > 0)
		rc = placing_keep_inputs(ctx->store, ctx->now, p, inputs, NULL, err);
	if (rc != BERTH_OK) {
		store_rollback(ctx->store);
		return rc;
	}
	return store_commit(ctx->store, err);
}

static enum berth_code
place_table(struct cmd_ctx *ctx, const struct placing *p, struct berth_err *err)
{
	static const struct table_col cols[] = {
		{ "id", "JOB", TABLE_TEXT, 0, 0 },
		{ "name", NULL, TABLE_TEXT, 0, TABLE_CUT },
		{ "provider", NULL, TABLE_TEXT, 0, 0 },
		{ "region", NULL, TABLE_TEXT, 0, TABLE_SPARE },
		{ "instance_type", "TYPE", TABLE_TEXT, 0, TABLE_CUT },
		{ "accelerator", "GPU", TABLE_TEXT, 0, TABLE_SPARE },
		{ "accelerator_count", "N", TABLE_INT, 0, 0 },
		{ "purchase", NULL, TABLE_TEXT, 0, 0 },
		{ "price_per_hour", "$/H", TABLE_MONEY, 4, TABLE_WIDE },
		{ "expected_cost", "COST $", TABLE_MONEY, 2, 0 },
		{ "expected_finish", "DONE BY", TABLE_TIME, 0, 0 },
		{ "candidates_seen", "SEEN", TABLE_INT, 0, TABLE_WIDE },
	};
	struct table *t = table_new(ctx->arena, cols, sizeof(cols) / sizeof(cols[0]));

	bool paid = false;
	enum berth_code rc;

	for (size_t i = 0; i < p->n_jobs; i++) {
		const struct placing_job *j = &p->jobs[i];
		const struct placing_try *c = j->n_tries > 0 ? &j->tries[0] : NULL;
		struct usd_micro cost = USD_UNKNOWN;

		paid |= c != NULL && c->paid;
		if (c == NULL || usd_from_double(c->cost.total_usd, &cost, NULL) != BERTH_OK)
			cost = USD_UNKNOWN;
		table_row(t);
		table_text(t, j->job.id);
		table_text(t, j->job.spec.name);
		table_text(t, c == NULL ? "" : c->offer->provider);
		table_text(t, c == NULL ? "" : c->offer->region);
		table_text(t, c == NULL ? "" : c->offer->instance_type);
		table_text(t, c == NULL ? "" : c->offer->accelerator);
		if (c != NULL)
			table_int(t, (int64_t)c->offer->accelerator_count * c->cost.machines);
		else
			table_unknown(t);
		table_text(t, c == NULL ? ""
			      : c->paid && ctx->format != CMD_CSV
				  ? "reserved*"
				  : purchase_name(c->offer->purchase));
		table_money(t, c == NULL ? USD_UNKNOWN : c->offer->price);
		table_money(t, cost);
		table_time(t, c == NULL ? 0 : c->cost.finish);
		table_int(t, (int64_t)j->seen);
	}
	rc = cmd_table_print(ctx, t, err);
	if (rc == BERTH_OK && paid)
		cmd_say_hung(ctx, 2,
		    "* on a machine of an owned commitment: it costs its price of use, if it has "
		    "one");
	return rc;
}

/* Why jobs are not placed. What more than PLACE_ALIKE of them have in common is said once, or a
 * queue of thousands would be told in thousands of equal paragraphs. */
enum { PLACE_ALIKE = 3 };

static void
place_say_waiting(struct cmd_ctx *ctx, const struct placing *p)
{
	struct strmap alike = { 0 };

	for (size_t i = 0; i < p->n_jobs; i++)
		if (p->jobs[i].n_tries == 0)
			++*strmap_add(ctx->arena, &alike, p->jobs[i].reason, 0, NULL);
	for (size_t i = 0; i < p->n_jobs; i++) {
		const struct placing_job *j = &p->jobs[i];
		size_t *n = j->n_tries > 0 ? NULL : strmap_get(&alike, j->reason);

		if (n == NULL || *n == 0)
			continue;
		if (*n <= PLACE_ALIKE) {
			cmd_say_hung(ctx, 4, "%s %s: %s", j->job.id, j->job.spec.name, j->reason);
			continue;
		}
		cmd_say_hung(ctx, 4, "%s %s and %zu more: %s", j->job.id, j->job.spec.name, *n - 1,
		    j->reason);
		*n = 0;
	}
}

static void
place_say(struct cmd_ctx *ctx, const struct placing *p)
{
	const struct place_opts *o = ctx->opts;
	char by[TIME_FMT_SIZE];
	double gap = p->bound_usd > 0 ? 100 * (p->total_usd / p->bound_usd - 1) : 0;

	cmd_say(ctx, "\n");
	cmd_say_hung(ctx, 4, "%zu job%s, %zu offer%s: %.2f USD, %s", p->n_jobs,
	    p->n_jobs == 1 ? "" : "s", p->n_offers, p->n_offers == 1 ? "" : "s", p->total_usd,
	    p->by > 0 ? arena_printf(
			    ctx->arena, "all done by %s, as early as can be", time_fmt(by, p->by))
	    : p->optimal ? p->placed < p->n_jobs
			       ? "optimal: no other placement of these jobs costs less"
			       : "optimal: no other placement costs less"
	    : gap > 0 && isfinite(gap)
		? arena_printf(ctx->arena, "at most %.2f %% above any possible placement", gap)
		: "no bound is known");
	if (!o->explain) {
		place_say_waiting(ctx, p);
		return;
	}
	for (size_t i = 0; i < p->n_jobs; i++) {
		const struct placing_job *j = &p->jobs[i];
		const char *refusals = explain_refusals(j->refused, ctx->arena);

		cmd_say_hung(ctx, 4, "%s %s: %s", j->job.id, j->job.spec.name, j->reason);
		if (j->n_tries > 0)
			cmd_say_hung(ctx, 6, "    %zu offer%s seen%s%s", j->seen,
			    j->seen == 1 ? "" : "s", refusals[0] == '\0' ? "" : "; ", refusals);
		for (size_t c = 0; c < j->n_changes; c++)
			cmd_say_hung(ctx, 6, "    %s %s", c == 0 ? "what would change it:" : "or",
			    j->changes[c].text);
	}
}

/* Of offers that a job could have had but for their age. */
static void
place_say_stale(struct cmd_ctx *ctx, const struct placing *p)
{
	size_t most = 0;

	for (size_t i = 0; i < p->n_jobs; i++)
		if (p->jobs[i].refused[REFUSE_PRICE_STALE] > most)
			most = p->jobs[i].refused[REFUSE_PRICE_STALE];
	if (most > 0)
		cmd_note(ctx,
		    "%zu offer%s left out, the price is too old: `berth prices refresh` asks for "
		    "newer ones, --spot-age and --price-age take older ones",
		    most, most == 1 ? "" : "s");
}

/* A quota with a name that nothing has holds nothing back: that is to be seen. */
static void
place_say_limits(struct cmd_ctx *ctx, const struct placing *p)
{
	for (size_t q = 0; q < p->n_quotas && p->n_offers > 0; q++)
		if (p->limits[q].offers == 0)
			cmd_note(ctx,
			    "limit '%s' of berth.yaml counts none of the %zu offers: look at its "
			    "names, as `berth prices list` has them",
			    p->limits[q].name, p->n_offers);
}

/* The first of the jobs whose data lie where nobody knows. */
static void
place_say_astray(struct cmd_ctx *ctx, const struct placing *p)
{
	for (size_t i = 0; i < p->n_jobs; i++)
		if (p->jobs[i].astray != NULL) {
			cmd_note(ctx, "job %s: %s", p->jobs[i].job.id, p->jobs[i].astray);
			return;
		}
}

/* A weight that is meant for somebody whose name is spelt otherwise has no effect: that is to be
 * seen. */
static void
place_say_shares(struct cmd_ctx *ctx, const struct placing *p)
{
	const char *near = NULL,
		   *name = p->shares == NULL ? NULL : shares_misspelt(p->shares, ctx->arena, &near);

	if (name != NULL)
		cmd_note(ctx,
		    "fair_share of berth.yaml gives a weight to '%s', who has no job: did you mean "
		    "'%s'?",
		    name, near);
}

static enum berth_code
place_result(const struct placing *p, struct berth_err *err)
{
	const struct placing_job *first = NULL;
	bool money = true;
	size_t n = 0;

	for (size_t i = 0; i < p->n_jobs; i++) {
		if (p->jobs[i].n_tries > 0)
			continue;
		first = first == NULL ? &p->jobs[i] : first;
		money = money && placing_lacks_money(&p->jobs[i]);
		n++;
	}
	if (n == 0)
		return BERTH_OK;
	if (n == 1)
		return err_set(err, money ? BERTH_EBUDGET : BERTH_EINFEASIBLE, "job %s %s",
		    first->job.id, first->reason);
	return err_set(err, money ? BERTH_EBUDGET : BERTH_EINFEASIBLE,
	    "%zu of %zu jobs are not placed; the first is %s: %s", n, p->n_jobs, first->job.id,
	    first->reason);
}

static enum berth_code
place_replay(
    struct cmd_ctx *ctx, const struct accel_table *accels, const char *what, struct berth_err *err)
{
	struct placing_replay r;
	int64_t id = 0;
	enum berth_code rc;
	struct jsonw *w;

	if (ctx->n_args > 0)
		return err_set(err, BERTH_EUSAGE,
		    "--replay makes one placement again, with all its jobs: leave out '%s', or say "
		    "--replay %s",
		    ctx->args[0], ctx->args[0]);
	rc = placing_replay_id(ctx->store, what, ctx->arena, &id, err);
	if (rc == BERTH_OK)
		rc = placing_replay(ctx->store, accels, id, ctx->arena, &r, err);
	if (rc != BERTH_OK)
		return rc;
	if (!cmd_wants_json(ctx)) {
		cmd_say_hung(ctx, 4,
		    "Placement %lld comes out the same, byte for byte (%zu job%s, %zu of %s "
		    "wait%s, %zu bytes).",
		    (long long)r.id, r.jobs, r.jobs == 1 ? "" : "s", r.waits,
		    r.jobs == 1 ? "which" : "them", r.waits == 1 ? "s" : "", r.bytes);
		return BERTH_OK;
	}
	w = cmd_json_begin(ctx, "berth.placement-replay/1");
	jsonw_int(w, "id", r.id);
	jsonw_bool(w, "same", true);
	jsonw_int(w, "jobs", (int64_t)r.jobs);
	jsonw_int(w, "waits", (int64_t)r.waits);
	jsonw_int(w, "bytes", (int64_t)r.bytes);
	jsonw_int(w, "inputs_bytes", (int64_t)r.inputs);
	return cmd_json_end(ctx, err);
}

static enum berth_code
place_run(struct cmd_ctx *ctx, struct berth_err *err)
{
	const struct place_opts *v = ctx->opts;
	struct placing_options o = { .now = ctx->now,
		.seed = (uint64_t)v->seed,
		.rounds = (unsigned)v->rounds,
		.finish = v->goal != NULL && strcmp(v->goal, "finish") == 0 };
	const struct accel_table *accels;
	const struct config *config;
	struct placing_limit *limits;
	struct quota_policy quotas;
	struct placing p;
	struct buf inputs = { 0 };
	enum berth_code rc = cmd_config(ctx, &config, err);

	if (rc == BERTH_OK)
		rc = cmd_accels(ctx, &accels, err);
	if (rc == BERTH_OK && v->replay != NULL)
		return place_replay(ctx, accels, v->replay, err);
	if (rc == BERTH_OK)
		rc =
		    broker_limits_read(config->root, accels, ctx->arena, &limits, &o.n_limits, err);
	if (rc == BERTH_OK)
		rc = quotas_policy_read(config->root, &quotas, err);
	if (rc == BERTH_OK)
		rc = shares_read(config->root, ctx->arena, &o.shares, err);
	if (rc == BERTH_OK)
		rc = block_rules_read(config->root, "block", ctx->arena, &o.block, &o.n_block, err);
	if (rc == BERTH_OK)
		rc = prices_ages(ctx, v->price_age_s, v->spot_age_s, &o.ages, err);
	if (rc != BERTH_OK)
		return rc;
	o.limits = limits;
	o.quota_age_s = quotas.age_s;
	o.need_account = config->n_accounts > 0 && !v->list_prices;
	o.inputs = &inputs;
	rc = store_run_gap(ctx->store, "tick", &o.tick_s, err);
	if (rc == BERTH_OK && ctx->n_args > 0 && !o.finish)
		rc = placing_view_named(ctx->store, ctx->args, ctx->n_args, ctx->arena, &o, err);
	if (rc == BERTH_OK)
		rc = placing_run(
		    ctx->store, accels, &o, ctx->args, ctx->n_args, ctx->arena, &p, err);
	if (rc == BERTH_OK)
		rc = place_store(ctx, &p, &inputs, err);
	buf_free(&inputs);
	if (rc != BERTH_OK)
		return rc;
	if (cmd_wants_json(ctx)) {
		place_json(cmd_json_begin(ctx, "berth.placement/1"), &p);
		rc = cmd_json_end(ctx, err);
	} else {
		rc = place_table(ctx, &p, err);
		if (rc == BERTH_OK)
			place_say(ctx, &p);
	}
	if (rc == BERTH_OK)
		place_say_stale(ctx, &p);
	if (rc == BERTH_OK && p.n_jobs > 0)
		place_say_limits(ctx, &p);
	if (rc == BERTH_OK)
		place_say_shares(ctx, &p);
	if (rc == BERTH_OK)
		place_say_astray(ctx, &p);
	if (rc == BERTH_OK && p.vain != NULL && p.n_offers > 0)
		cmd_note(ctx,
		    "'%s' under block of berth.yaml hits none of the %zu offers: look at its "
		    "names, as `berth prices list` has them",
		    p.vain, p.n_offers);
	if (rc == BERTH_OK && p.n_jobs == 0)
		cmd_note(ctx, "the queue is empty: `berth submit FILE` puts a job into it");
	return rc == BERTH_OK ? place_result(&p, err) : rc;
}
