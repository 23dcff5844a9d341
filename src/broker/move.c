/* move: jobs with a deadline, or one behind them, that should leave their machine, for on demand in
 * time, for spot that is back, or as it is too slow. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "broker/broker.h"
#include "broker/gang.h"
#include "broker/late.h"
#include "broker/runner.h"
#include "store/job_rows.h"
#include "store/money_rows.h"
#include "store/plan_rows.h"
#include "util/buf.h"
#include "util/json.h"
#include "util/vec.h"

struct placing_move_vec {
	VEC(struct placing_move) v;
};

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
	if (m->runs)
		rc = g.n > 0 ? gang_stop(b, m->job, &g, &stopped, &why)
			     : runner_stop(b, in, m->job, 0, &stopped, &why);
	if (rc != BERTH_OK) {
		b->counts.errors++;
		log_warn(b->log, "%s stays where it is: %s", m->job->id, why.msg);
		return BERTH_OK;
	}
	end.progress =
	    m->job->spec.can_resume ? fmin(1, fmax(end.progress, stopped.safe_progress)) : 0;
	if (m->slow) /* what it does at least is known of it, and not forgotten */
		in->speed = fmin(isnan(in->speed) ? 1 : in->speed, m->speed);
	rc = move_decide(b, m, err);
	if (rc == BERTH_OK)
		rc = job_attempt_end(b, m->job->id, in->id, &end, err);
	return rc == BERTH_OK ? machine_release(b, in, m->slow ? INSTANCE_TOO_SLOW : "moved", err)
			      : rc;
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

/* Who may leave its machine: jobs that run, or those whose machines have just passed the probe. */
static enum berth_code
move_list(struct broker *b, bool runs, struct instance *ins, size_t n, struct placing_move_vec *out,
    struct berth_err *err)
{
	enum berth_code rc = BERTH_OK;

	for (size_t i = 0; rc == BERTH_OK && i < n; i++) {
		struct job *job = arena_alloc(b->tick_arena, sizeof(*job));
		struct gang g = { .n = 0 };
		struct placing_move m;

		if (ins[i].job_id[0] == '\0' || (!runs && ins[i].verdict[0] == '\0'))
			continue;
		rc = store_job_get(b->store, ins[i].job_id, b->tick_arena, job, err);
		if (rc == BERTH_OK && job->state != (runs ? JOB_RUNNING : JOB_PLACED))
			continue;
		if (rc == BERTH_OK && gang_may(job)) /* a gang moves with its first machine */
			rc = gang_load(b, ins[i].intent_id, job->id, &g, err);
		if (rc != BERTH_OK ||
		    (g.n > 0 && (g.m[0].in.id != ins[i].id || !(runs || gang_ready(&g)))))
			continue;
		late_move(b, job, &ins[i], &g, runs, &m);
		VEC_PUSH(b->tick_arena, &out->v, m);
	}
	return rc;
}

/* One that would be late leaves as often as it may, or tells. */
static enum berth_code
move_one(struct broker *b, struct placing_move *m, struct instance *in, struct berth_err *err)
{
	enum berth_code rc = m->slow ? late_cap(b, m, err) : BERTH_OK;

	if (rc == BERTH_OK && m->late && !m->move)
		rc = late_tell(b, m, err);
	if (rc != BERTH_OK)
		return rc;
	return m->move ? move_job(b, m, in, err) : m->runs ? move_reserve(b, m, err) : BERTH_OK;
}

static enum berth_code
move_all(struct broker *b, bool runs, struct berth_err *err)
{
	struct placing_options o = broker_placing_options(b);
	struct placing_move_vec moves = { 0 };
	struct instance *ins;
	enum berth_code rc;
	size_t n;

	rc = store_instance_list(
	    b->store, INSTANCE_BIT(INSTANCE_READY), b->tick_arena, &ins, &n, err);
	if (rc == BERTH_OK)
		rc = move_list(b, runs, ins, n, &moves, err);
	if (rc == BERTH_OK && moves.v.n > 0)
		rc = placing_moves(
		    b->store, b->accels, &o, moves.v.v, moves.v.n, b->tick_arena, err);
	for (size_t i = 0; rc == BERTH_OK && i < moves.v.n; i++)
		rc = move_one(b, &moves.v.v[i], &ins[moves.v.v[i].in - ins], err);
	return rc;
}

enum berth_code
pass_move(struct broker *b, struct berth_err *err)
{
	return move_all(b, true, err);
}

enum berth_code
move_before_start(struct broker *b, struct berth_err *err)
{
	return move_all(b, false, err);
}
