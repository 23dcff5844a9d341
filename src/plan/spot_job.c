#include <math.h>
#include <string.h>

#include "plan/spot_job.h"
#include "util/arena.h"

#define SPOT_JOB_TICKS 512
#define SPOT_JOB_TICK_S 60.0
#define SPOT_JOB_SPARE 16
#define SPOT_JOB_REACH 4.0 /* times the work: a deadline beyond it is as good as that */
#define SPOT_JOB_DEAREST 10.0
#define SPOT_JOB_BYTES ((size_t)64 << 20) /* of tables kept */
#define SPOT_JOB_OLD_S 1e8                /* older is a clock that jumped, and no calmer */

struct spot_tables_entry {
	struct spot_tables_entry *next;
	struct spot_setting s;
	struct spot_hazard up, down;
	struct spot_table *table;
};

/* In steps of 2.5 %, so that evidence that grows by a tick needs no new table. */
static double
spot_job_step(double hazard)
{
	return hazard > 0 ? exp(round(log(hazard) * 40) / 40) : 0;
}

/* Chances a tick in such steps; without the counts behind them, in which two tables that are the
 * same may differ. */
static void
spot_job_chances(const struct spot_job *j, const struct spot_evidence *e, bool up, double tick_s,
    struct spot_hazard *out)
{
	spot_chances(e, up, (int)tick_s, j->rate, j->zones, SPOT_PESSIMISM, out);
	for (size_t b = 0; b < SPOT_AGES; b++) {
		out->leave[b] = fmin(0.9, spot_job_step(out->leave[b]));
		out->events[b] = 0;
	}
}

void
spot_tables_free(struct spot_tables *t)
{
	if (t->a != NULL)
		arena_free(t->a);
	*t = (struct spot_tables){ 0 };
}

/* One that holds for that setting: of the same work, and as much time over it. */
static const struct spot_table *
spot_job_kept(const struct spot_tables *tables, const struct spot_setting *s,
    const struct spot_hazard *up, const struct spot_hazard *down)
{
	for (const struct spot_tables_entry *x = tables->first; x != NULL; x = x->next)
		if (x->s.work == s->work && x->s.changeover == s->changeover &&
		    x->s.price == s->price && x->s.deadline >= s->deadline &&
		    memcmp(&x->up, up, sizeof(*up)) == 0 &&
		    memcmp(&x->down, down, sizeof(*down)) == 0)
			return x->table;
	return NULL;
}

static enum berth_code
spot_job_table(const struct spot_setting *s, const struct spot_hazard *up,
    const struct spot_hazard *down, struct spot_tables *tables, const struct spot_table **table_out,
    struct berth_err *err)
{
	struct spot_tables_entry *x;
	enum berth_code rc;

	*table_out = spot_job_kept(tables, s, up, down);
	if (*table_out != NULL)
		return BERTH_OK;
	if (tables->bytes > SPOT_JOB_BYTES) {
		arena_reset(tables->a);
		tables->first = NULL;
		tables->bytes = 0;
	}
	if (tables->a == NULL)
		tables->a = arena_new();
	x = arena_alloc(tables->a, sizeof(*x));
	*x = (struct spot_tables_entry){ .next = tables->first, .s = *s, .up = *up, .down = *down };
	rc = spot_table_solve(s, up, down, tables->a, &x->table, err);
	if (rc != BERTH_OK)
		return rc;
	tables->first = x;
	tables->bytes += spot_table_bytes(x->table);
	*table_out = x->table;
	return BERTH_OK;
}

double
spot_job_slack_s(const struct spot_job *j)
{
	return j->left_s - j->work_s - j->changeover_s;
}

static int
spot_job_ticks(double s, double tick)
{
	return (int)(fmin(fmax(0, s), SPOT_JOB_OLD_S) / tick);
}

/* A job in ticks, and its table; NULL where it needs none: on demand. */
struct spot_asked {
	const struct spot_table *table;
	struct spot_now now;
	struct spot_setting s;
	struct spot_hazard up, down;
	double tick;
	bool clamped; /* the deadline is farther than the table reaches */
};

/* A table for so much time over the work; in steps, so that what a tick or two takes of it needs no
 * new one. */
static enum berth_code
spot_asked_table(struct spot_asked *q, int spare, struct spot_tables *tables, struct berth_err *err)
{
	q->s.deadline = q->s.work + (spare + SPOT_JOB_SPARE) / SPOT_JOB_SPARE * SPOT_JOB_SPARE - 1;
	return spot_job_table(&q->s, &q->up, &q->down, tables, &q->table, err);
}

static enum berth_code
spot_job_ask(const struct spot_job *j, const struct spot_evidence *e, struct spot_tables *tables,
    struct spot_asked *q, struct berth_err *err)
{
	double reach;
	int left, work;

	*q = (struct spot_asked){ 0 };
	if (!isfinite(j->work_s) || j->work_s < 0 || !isfinite(j->left_s) ||
	    !isfinite(j->changeover_s) || j->changeover_s < 0 || !isfinite(j->price) ||
	    j->price < 0)
		return err_set(err, BERTH_EINVAL,
		    "spot policy: work %g s, left %g s, changeover %g s, price %g", j->work_s,
		    j->left_s, j->changeover_s, j->price);
	/* What cannot be late any more than it is, and spot that is no cheaper, need no table. */
	if (j->left_s <= 0 || (j->price >= 1 && j->mode != SPOT_HAS_SPOT))
		return BERTH_OK;
	reach = fmin(j->left_s, SPOT_JOB_REACH * (j->work_s + j->changeover_s) + 3600);
	q->clamped = reach < j->left_s;
	q->tick = fmax(SPOT_JOB_TICK_S, 60 * ceil(reach / SPOT_JOB_TICKS / 60));
	left = (int)fmin(floor(j->left_s / q->tick), SPOT_JOB_TICKS);
	work = (int)ceil(j->work_s / q->tick);
	if (work < 1)
		work = 1;
	q->s.changeover = (int)ceil(j->changeover_s / q->tick);
	/* A machine that has become dearer than on demand is left where the work that is left pays
	 * for the change. */
	q->s.price = round(fmin(j->price, SPOT_JOB_DEAREST) * 50) / 50;
	/* In steps, and for any work, so that a job needs no new table at each tick of its life. */
	q->s.work = (left + 63) / 64 * 64;
	if (left < 1 || work > left)
		return BERTH_OK;
	q->now = (struct spot_now){ .left = left,
		.work = work,
		.mode = j->mode,
		.changeover_left = (int)ceil(j->changeover_left_s / q->tick),
		.up = j->is_up,
		.age = spot_job_ticks(j->age_s, q->tick),
		.stood = spot_job_ticks(j->stood_s, q->tick),
		.stand = j->stand_s / q->tick };
	spot_job_chances(j, e, true, q->tick, &q->up);
	spot_job_chances(j, e, false, q->tick, &q->down);
	return spot_asked_table(q, left - work, tables, err);
}

/* The same job with so much work left, ticks. */
static enum spot_action
spot_asked_action(const struct spot_asked *q, int work)
{
	struct spot_now n = q->now;

	n.work = work;
	/* Past saving by these margins: nothing is then so early as on demand, asked for now or
	 * kept. */
	if (work > n.left || (n.mode == SPOT_NOTHING && work + q->s.changeover > n.left) ||
	    (n.mode == SPOT_HAS_ON_DEMAND && work + n.changeover_left > n.left))
		return SPOT_ON_DEMAND;
	return spot_rule(q->table, &n);
}

enum berth_code
spot_job_decide(const struct spot_job *j, const struct spot_evidence *e, struct spot_tables *tables,
    enum spot_action *action_out, struct berth_err *err)
{
	struct spot_asked q;
	enum berth_code rc = spot_job_ask(j, e, tables, &q, err);

	if (rc == BERTH_OK)
		*action_out = q.table == NULL ? SPOT_ON_DEMAND : spot_asked_action(&q, q.now.work);
	return rc;
}

enum berth_code
spot_job_turn(const struct spot_job *j, const struct spot_evidence *e, struct spot_tables *tables,
    double *work_s_out, struct berth_err *err)
{
	struct spot_asked q;
	enum berth_code rc = spot_job_ask(j, e, tables, &q, err);
	int work;

	*work_s_out = NAN;
	if (rc != BERTH_OK || q.table == NULL || q.clamped)
		return rc;
	work = q.now.work;
	if (spot_asked_action(&q, work) == SPOT_ON_DEMAND) {
		while (work > 0 && spot_asked_action(&q, work) == SPOT_ON_DEMAND) {
			work--;
			/* The less work, the more time over it; and doubled, the tables sum up to
			 * twice the last. */
			if (q.now.left - work <= q.s.deadline - q.s.work)
				continue;
			rc = spot_asked_table(&q, 2 * (q.now.left - work), tables, err);
			if (rc != BERTH_OK)
				return rc;
		}
		if (work == 0 ||
		    SPOT_JOB_REACH * (work * q.tick + j->changeover_s) + 3600 < j->left_s)
			return BERTH_OK; /* at any work, or so little that the table would be
					    another one */
	} else
		while (spot_asked_action(&q, work + 1) != SPOT_ON_DEMAND)
			work++;
	*work_s_out = work * q.tick;
	return BERTH_OK;
}
