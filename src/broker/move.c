/* move: running jobs with a deadline, or one behind them, that should leave their machine, for on
 * demand in time or for spot that is back. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "broker/broker.h"
#include "broker/gang.h"
#include "broker/placing_spot.h"
#include "broker/runner.h"
#include "store/job_rows.h"
#include "store/money_rows.h"
#include "store/plan_rows.h"
#include "util/buf.h"
#include "util/json.h"
#include "util/vec.h"

static enum berth_code
move_decide(struct broker *b, const struct placing_move *m, struct berth_err *err)
{
	struct decision d = { .t = b->now, .kind = "move", .subject = m->job->id };
	enum berth_code rc;
	struct buf text;
	struct jsonw w;

	buf_init(&text, 65536);
	jsonw_init_buf(&w, &text, JSONW_COMPACT);
	placing_json_move(&w, m);
	rc = jsonw_finish(&w, err);
	if (rc == BERTH_OK) {
		d.json = text.p;
		rc = store_decision_insert(b->store, &d, &d.id, err);
	}
	buf_free(&text);
	return rc;
}

/* The work is stopped with a last checkpoint; a machine that does not answer keeps its job. */
static enum berth_code
move_job(struct broker *b, const struct placing_move *m, struct instance *in, struct berth_err *err)
{
	struct attempt_end end = {
		.state = ATTEMPT_MOVED, .progress = m->job->progress, .reason = m->why
	};
	struct prov_run stopped = { 0 };
	struct berth_err why;
	struct gang g = { .n = 0 };
	enum berth_code rc = BERTH_OK;

	if (gang_may(m->job))
		rc = gang_load(b, in->intent_id, m->job->id, &g, err);
	if (rc != BERTH_OK)
		return rc;
	rc = g.n > 0 ? gang_stop(b, m->job, &g, &stopped, &why)
		     : runner_stop(b, in, m->job, 0, &stopped, &why);
	if (rc != BERTH_OK) {
		b->counts.errors++;
		log_warn(b->log, "%s stays where it is: %s", m->job->id, why.msg);
		return BERTH_OK;
	}
	end.progress = fmin(1, fmax(end.progress, stopped.safe_progress));
	rc = move_decide(b, m, err);
	if (rc == BERTH_OK)
		rc = job_attempt_end(b, m->job->id, in->id, &end, err);
	return rc == BERTH_OK ? machine_release(b, in, "moved", err) : rc;
}

/* The part of one machine, and the hour of it that is not paid yet. */
static enum berth_code
move_reserve_machine(struct broker *b, int64_t intent_id, const struct offer *o,
    struct usd_micro least, struct berth_err *err)
{
	struct usd_micro most;
	enum berth_code rc = usd_add(least, offer_hour(o, b->now), &most, err);

	if (rc == BERTH_OK)
		rc = store_budget_hold(b->store, intent_id, least, err);
	return rc == BERTH_OK ? store_budget_yield(b->store, intent_id, most, err) : rc;
}

/* What is kept for on demand, should spot fail, falls with the work that is left; of a gang each
 * machine has an equal part, as when it was reserved. */
static enum berth_code
move_reserve(struct broker *b, const struct placing_move *m, struct berth_err *err)
{
	struct usd_micro all, part;
	struct gang g = { .n = 0 };
	enum berth_code rc;

	if (isnan(m->reserve_usd))
		return BERTH_OK;
	rc = usd_from_double(m->reserve_usd, &all, err);
	if (rc == BERTH_OK && gang_may(m->job))
		rc = gang_load(b, m->in->intent_id, m->job->id, &g, err);
	if (rc != BERTH_OK || g.n < 2)
		return rc == BERTH_OK
			   ? move_reserve_machine(b, m->in->intent_id, &m->in->offer, all, err)
			   : rc;
	for (size_t i = 0; i < g.n && rc == BERTH_OK; i++) { /* the last has what division leaves */
		part.v = i + 1 < g.n ? all.v / (int64_t)g.n
				     : all.v - all.v / (int64_t)g.n * (int64_t)(g.n - 1);
		rc = move_reserve_machine(b, g.m[i].it.id, &m->in->offer, part, err);
	}
	return rc;
}

enum berth_code
pass_move(struct broker *b, struct berth_err *err)
{
	struct placing_options o = { .now = b->now,
		.seed = b->seed,
		.tick_s = b->tick_s,
		.limits = b->limits,
		.n_limits = b->n_limits,
		.quota_age_s = b->quotas.age_s,
		.block = b->block,
		.n_block = b->n_block,
		.tables = &b->spot_tables,
		.ages = b->prices.ages,
		.need_account = true };
	VEC(struct placing_move) moves = { 0 };
	struct instance *ins;
	enum berth_code rc;
	size_t n;

	rc = store_instance_list(
	    b->store, INSTANCE_BIT(INSTANCE_READY), b->tick_arena, &ins, &n, err);
	for (size_t i = 0; rc == BERTH_OK && i < n; i++) {
		struct job *job = arena_alloc(b->tick_arena, sizeof(*job));
		struct gang g = { .n = 0 };

		if (ins[i].job_id[0] == '\0')
			continue;
		rc = store_job_get(b->store, ins[i].job_id, b->tick_arena, job, err);
		if (rc == BERTH_OK && gang_may(job)) /* a gang moves with its first machine */
			rc = gang_load(b, ins[i].intent_id, job->id, &g, err);
		if (rc == BERTH_OK && job->state == JOB_RUNNING && placing_spot_may(job) &&
		    (g.n == 0 || g.m[0].in.id == ins[i].id))
			VEC_PUSH(b->tick_arena, &moves,
			    (struct placing_move){ .job = job, .in = &ins[i] });
	}
	if (rc == BERTH_OK && moves.n > 0)
		rc = placing_moves(b->store, b->accels, &o, moves.v, moves.n, b->tick_arena, err);
	for (size_t i = 0; rc == BERTH_OK && i < moves.n; i++)
		rc = moves.v[i].move ? move_job(b, &moves.v[i], &ins[moves.v[i].in - ins], err)
				     : move_reserve(b, &moves.v[i], err);
	return rc;
}
