#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/simjobs.h"
#include "plan/spot_job.h"
#include "util/arena.h"
#include "util/rng.h"
#include "util/vec.h"

#define SIMJOBS_PAST_S (30 * 86400)
#define SIMJOBS_WEEK_S (7 * 86400)
#define SIMJOBS_SPREAD 0.4 /* of the zones' hazards: standard deviation of their logarithm */

const char *
simjobs_policy_name(size_t p)
{
	return p == SIMJOBS_RESERVE_MEAN ? "reserve_mean" : spot_policy_name((enum spot_policy)p);
}

struct simjobs_job {
	size_t at;          /* tick of submission */
	int work, deadline; /* ticks */
};

struct simjobs_world {
	const struct simjobs_grid *g;
	struct spot_zone *zones, any;
	struct spot_promise promise;
	struct spot_world world;
	double (*score)[SPOT_AGES];
	int edge[SPOT_AGES - 1];
	size_t ticks;
	VEC(struct simjobs_job) jobs, past; /* past: of the 30 days before, which are known */
	struct arena *a, *learned;
	struct spot_table *table;
	struct spot_setting s; /* the longest job and deadline */
};

/* One zone: in each tick the state ends with the chance of its age. */
static void
simjobs_zone(struct simjobs_world *w, size_t z, struct rng *r)
{
	double scale[2] = { w->g->churn * exp(SIMJOBS_SPREAD * rng_normal(r)),
		w->g->churn * exp(SIMJOBS_SPREAD * rng_normal(r)) };
	uint8_t *up = arena_alloc(w->a, w->ticks);
	int32_t *age = arena_array(w->a, w->ticks, sizeof(*age));
	double leave[2][SPOT_AGES];
	int state = rng_unit(r) < 0.5, since = 0;

	for (size_t b = 0; b < SPOT_AGES; b++)
		for (int s = 0; s < 2; s++)
			leave[s][b] =
			    -expm1(-scale[s] * spot_evidence_hazard(NULL, s == 1, b, NAN, 1, 0) *
				   (double)w->g->tick_s / 3600);
	for (size_t t = 0; t < w->ticks; t++) {
		size_t b = 0;

		up[t] = (uint8_t)state;
		while (b < SPOT_AGES - 1 && since >= w->edge[b])
			b++;
		since++;
		if (rng_unit(r) < leave[state][b]) {
			state = !state;
			since = 0;
		}
	}
	spot_ages(up, w->ticks, age);
	w->zones[z] = (struct spot_zone){ up, age, w->ticks };
}

static bool
simjobs_next(
    struct rng *r, const struct simjobs_grid *g, double until, double *t, struct simjobs_job *j)
{
	int changeover = (int)ceil(g->changeover_s / (double)g->tick_s);
	double work, slack;

	*t += rng_exp(r) / g->per_day * 86400;
	if (*t >= until)
		return false;
	work = g->work_min_s * pow(g->work_max_s / g->work_min_s, rng_unit(r));
	slack = g->slack_min + (g->slack_max - g->slack_min) * rng_unit(r);
	*j = (struct simjobs_job){ (size_t)(*t / (double)g->tick_s),
		(int)ceil(work / (double)g->tick_s), 0 };
	j->deadline = (int)fmax(ceil(j->work * slack), j->work + 2 * changeover + 1);
	return true;
}

static void
simjobs_make(struct simjobs_world *w)
{
	const struct simjobs_grid *g = w->g;
	int changeover = (int)ceil(g->changeover_s / (double)g->tick_s), longest = 0, most = 0;
	size_t past = (size_t)(SIMJOBS_PAST_S / g->tick_s), span = (size_t)(g->span_s / g->tick_s);
	struct simjobs_job j;
	struct rng r;
	uint8_t *up;
	int32_t *age;
	double t = 0;

	rng_seed_stream(&r, g->seed, 1);
	while (simjobs_next(&r, g, (double)g->span_s, &t, &j)) {
		j.at += past;
		longest = j.deadline > longest ? j.deadline : longest;
		most = j.work > most ? j.work : most;
		VEC_PUSH(w->a, &w->jobs, j);
	}
	rng_seed_stream(&r, g->seed, 0);
	for (t = 0; simjobs_next(&r, g, SIMJOBS_PAST_S, &t, &j);)
		VEC_PUSH(w->a, &w->past, j);
	w->s = (struct spot_setting){ most, longest, changeover, g->price };
	w->ticks = past + span + (size_t)longest + 2;
	spot_edges((int)g->tick_s, w->edge);
	w->zones = arena_array(w->a, g->zones, sizeof(*w->zones));
	w->score = arena_array(w->a, g->zones, sizeof(*w->score));
	for (size_t z = 0; z < g->zones; z++) {
		struct rng zr;

		rng_seed_stream(&zr, g->seed, 2 + z);
		simjobs_zone(w, z, &zr);
	}
	up = arena_alloc(w->a, w->ticks);
	age = arena_array(w->a, w->ticks, sizeof(*age));
	spot_union(w->zones, g->zones, w->ticks, up);
	spot_ages(up, w->ticks, age);
	w->any = (struct spot_zone){ up, age, w->ticks };
	w->world = (struct spot_world){ w->zones, g->zones, &w->any,
		(const double(*)[SPOT_AGES])w->score, w->edge, NULL, false, NULL };
}

/* From the 30 days before tick `at`. */
static enum berth_code
simjobs_learn(struct simjobs_world *w, size_t at, struct berth_err *err)
{
	size_t back = (size_t)(SIMJOBS_PAST_S / w->g->tick_s), from = at > back ? at - back : 0;
	struct spot_hazard up, down;
	enum berth_code rc;

	arena_reset(w->learned);
	for (size_t z = 0; z < w->g->zones; z++) {
		struct spot_hazard h;

		spot_learn(&w->zones[z], from, at, 1, (int)w->g->tick_s, 0, &h);
		spot_remaining(&h, w->score[z]);
	}
	spot_promise_learn(&w->world, from, at, (int)w->g->tick_s, &w->s, w->learned, &w->promise);
	spot_learn_pool(&w->world, from, at, (int)w->g->tick_s, SPOT_PESSIMISM, &up, &down);
	rc = spot_table_solve(&w->s, &up, &down, w->learned, &w->table, err);
	if (rc == BERTH_OK && spot_misled(&w->world, from, at, &w->s, w->table))
		w->table = NULL;
	return rc;
}

static void
simjobs_job(struct simjobs_world *w, const struct simjobs_job *j, enum spot_policy p,
    struct simjobs_result *r, double *waited)
{
	struct spot_setting s = { j->work, j->deadline, w->s.changeover, w->s.price };
	double h = (double)w->g->tick_s / 3600;
	struct spot_world world = w->world;
	struct spot_run run;

	if (p != SPOT_POLICY_BERTH) {
		world.score = NULL;
		world.promise = NULL;
	}
	spot_replay(p, &world, j->at, &s, w->table, &run);
	r->jobs++;
	r->misses += run.missed;
	r->preemptions += (size_t)run.lost;
	r->work += j->work * h;
	r->cost += run.cost * h;
	r->spot_hours += run.spot * h;
	r->on_demand_hours += run.on_demand * h;
	*waited = (run.finish - j->work) * h;
	r->waited += *waited;
	r->weekly[(size_t)((double)(j->at - (size_t)(SIMJOBS_PAST_S / w->g->tick_s)) *
			   (double)w->g->tick_s / SIMJOBS_WEEK_S)] += run.cost * h;
}

/* Each job runs from its submission on; reserved is what was busy in the mean of the 30 days
 * before. */
static void
simjobs_reserve(const struct simjobs_world *w, size_t weeks, struct simjobs_result *r)
{
	size_t past = (size_t)(SIMJOBS_PAST_S / w->g->tick_s),
	       span = (size_t)(w->g->span_s / w->g->tick_s);
	double h = (double)w->g->tick_s / 3600, sum = 0, reserved;
	int *busy = arena_array_of(w->a, w->ticks + 1, int), now = 0;

	for (size_t i = 0; i < w->jobs.n; i++) {
		const struct simjobs_job *j = &w->jobs.v[i];
		size_t end = j->at + (size_t)(j->work + w->s.changeover);

		busy[j->at]++;
		busy[end < w->ticks ? end : w->ticks]--;
		r->work += j->work * h;
	}
	for (size_t i = 0; i < w->past.n; i++)
		sum += w->past.v[i].work + w->s.changeover;
	reserved = rint(sum / (double)past);
	for (size_t t = 0; t < w->ticks; t++) {
		size_t week = t < past ? 0 : (t - past) * (size_t)w->g->tick_s / SIMJOBS_WEEK_S;
		double held = t >= past && t < past + span ? reserved : 0, more;

		now += busy[t];
		more = fmax(0, now - held);
		r->on_demand_hours += more * h;
		r->reserved_hours += held * h;
		r->weekly[week < weeks ? week : weeks - 1] += (held * w->g->reserved + more) * h;
	}
	r->cost = r->on_demand_hours + r->reserved_hours * w->g->reserved;
	r->jobs = w->jobs.n;
	r->waited = r->waited_p95 = w->s.changeover * h;
}

static int
simjobs_cmp(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

enum berth_code
simjobs_run(const struct simjobs_grid *g, simjobs_progress_fn *progress, void *arg, struct arena *a,
    struct simjobs_result out[SIMJOBS_POLICIES], size_t *weeks_out, struct berth_err *err)
{
	struct simjobs_world w = { .g = g, .a = a, .learned = arena_new() };
	double *waited[SPOT_POLICY_COUNT];
	size_t week = SIZE_MAX, weeks = (size_t)((g->span_s + SIMJOBS_WEEK_S - 1) / SIMJOBS_WEEK_S);
	enum berth_code rc = BERTH_OK;

	memset(out, 0, SIMJOBS_POLICIES * sizeof(*out));
	simjobs_make(&w);
	if (w.jobs.n == 0)
		rc = err_set(err, BERTH_EINFEASIBLE,
		    "no job falls into that time: take more a day, or a longer time");
	for (size_t p = 0; p < SPOT_POLICY_COUNT; p++)
		waited[p] = arena_array(a, w.jobs.n, sizeof(double));
	for (size_t i = 0; i < w.jobs.n && rc == BERTH_OK; i++) {
		const struct simjobs_job *j = &w.jobs.v[i];
		size_t now = (j->at * (size_t)g->tick_s - SIMJOBS_PAST_S) / SIMJOBS_WEEK_S;

		if (now != week && g->policy[SPOT_POLICY_BERTH])
			rc = simjobs_learn(&w, j->at, err);
		week = now;
		for (size_t p = 0; p < SPOT_POLICY_COUNT && rc == BERTH_OK; p++)
			if (g->policy[p])
				simjobs_job(&w, j, (enum spot_policy)p, &out[p], &waited[p][i]);
		progress(arg, i + 1, w.jobs.n);
	}
	for (size_t p = 0; p < SPOT_POLICY_COUNT && rc == BERTH_OK; p++) {
		if (!g->policy[p])
			continue;
		qsort(waited[p], w.jobs.n, sizeof(double), simjobs_cmp);
		out[p].waited /= (double)w.jobs.n;
		out[p].waited_p95 = waited[p][(size_t)(0.95 * (double)(w.jobs.n - 1))];
	}
	if (rc == BERTH_OK && g->policy[SIMJOBS_RESERVE_MEAN])
		simjobs_reserve(&w, weeks, &out[SIMJOBS_RESERVE_MEAN]);
	*weeks_out = weeks;
	arena_free(w.learned);
	return rc;
}
