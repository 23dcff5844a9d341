/*
 * The machines of one job that spans several: rented, started and given back as one. Each has an
 * intent (which carries gang and rank), an instance and an attempt of its own; the attempts of a
 * job end in one transaction, so that no machine is ever held by a gang that is no more.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "broker/gang.h"
#include "broker/runner.h"
#include "store/job_rows.h"

bool
gang_may(const struct job *job)
{
	for (size_t i = 0; i < job->spec.n_variants; i++)
		if (job->spec.variants[i].nodes > 1)
			return true;
	return false;
}

static enum berth_code
gang_fill(struct broker *b, struct gang_member *m, const struct attempt *ats, size_t n_ats,
    struct berth_err *err)
{
	enum berth_code rc;

	if (m->it.instance_id == 0)
		return BERTH_OK;
	rc = store_instance_get(b->store, m->it.instance_id, b->tick_arena, &m->in, err);
	if (rc != BERTH_OK)
		return rc;
	m->made = true;
	for (size_t i = n_ats; i-- > 0 && !m->open;) {
		if (ats[i].instance_id == m->in.id && ats[i].ended == 0) {
			m->at = ats[i];
			m->open = true;
		}
	}
	return BERTH_OK;
}

/* Of a rank that was asked for again the newest create stands that did not fail. */
static void
gang_ranks(struct broker *b, const struct intent *its, struct gang *out)
{
	size_t n = 0;

	out->m = arena_array(b->tick_arena, out->n, sizeof(*out->m));
	for (size_t i = 0; i < out->n; i++) { /* by rank, then in order */
		if (n == 0 || out->m[n - 1].it.rank != its[i].rank) {
			out->m[n++].it = its[i];
			continue;
		}
		out->m[n - 1].asked++;
		if (its[i].state != INTENT_FAILED)
			out->m[n - 1].it = its[i];
	}
	out->n = n;
}

enum berth_code
gang_load(struct broker *b, int64_t intent_id, const char *job_id, struct gang *out,
    struct berth_err *err)
{
	struct attempt *ats = NULL;
	struct intent *its = NULL;
	size_t n_ats = 0;
	enum berth_code rc;

	memset(out, 0, sizeof(*out));
	rc = store_intent_gang(b->store, intent_id, b->tick_arena, &its, &out->n, err);
	if (rc == BERTH_OK && out->n > 0)
		rc = store_attempt_list(b->store, job_id, b->tick_arena, &ats, &n_ats, err);
	if (rc != BERTH_OK || out->n == 0)
		return rc;
	gang_ranks(b, its, out);
	for (size_t i = 0; i < out->n && rc == BERTH_OK; i++) {
		struct gang_member *m = &out->m[i];

		rc = gang_fill(b, m, ats, n_ats, err);
		m->lost = m->made && !m->open;
		out->open += m->open;
		out->lost += m->lost;
		out->pending += m->it.state == INTENT_PENDING;
		out->refused = out->refused || m->it.state == INTENT_FAILED;
	}
	out->broken = out->refused || out->lost > 0;
	return rc;
}

bool
gang_ready(const struct gang *g)
{
	for (size_t i = 0; i < g->n; i++)
		if (!g->m[i].open || g->m[i].in.state != INSTANCE_READY ||
		    g->m[i].in.verdict[0] == '\0' || g->m[i].at.state == ATTEMPT_PROVISIONING)
			return false;
	return g->n > 0;
}

const char **
gang_hosts(const struct gang *g, struct arena *a)
{
	const char **hosts = arena_array_of(a, g->n, const char *);

	for (size_t i = 0; i < g->n; i++) {
		const char *at = strrchr(g->m[i].in.address, '@');

		hosts[i] = at != NULL ? at + 1 : g->m[i].in.address;
	}
	return hosts;
}

bool
gang_waits(const struct job *job, const struct gang *g)
{
	return job->spec.replace_lost_s > 0 && g->lost > 0 && g->open > 0 && !g->refused;
}

enum berth_code
gang_give_back(struct broker *b, const struct job *job, const struct gang *g,
    const struct attempt_end *end, struct berth_err *err)
{
	enum berth_code rc = BERTH_OK;
	struct instance in;

	for (size_t i = 0; i < g->n && rc == BERTH_OK; i++)
		if (g->m[i].open)
			rc = job_attempt_end(b, job->id, g->m[i].in.id, end, err);
	for (size_t i = 0; i < g->n && rc == BERTH_OK; i++) {
		if (!g->m[i].made)
			continue;
		rc = store_instance_get(b->store, g->m[i].in.id, b->tick_arena, &in, err);
		if (rc == BERTH_OK && in.state != INSTANCE_GONE)
			rc = broker_give_back(b, &in, "released", err);
	}
	return rc;
}

/* The least of those that tell any progress; done, failed or lost where one is. */
static void
gang_join(struct prov_run *all, const struct prov_run *one, bool *told)
{
	if (one->silent)
		return;
	if (!*told || one->progress < all->progress)
		all->progress = one->progress;
	if (!*told || one->safe_progress < all->safe_progress)
		all->safe_progress = one->safe_progress;
	*told = true;
}

/* Idle are all only if each is that has not ended: the busiest counts, and one that says nothing
 * hides it. */
static void
gang_busy(struct prov_run *sum, const struct prov_run *one, bool *any)
{
	if (one->state == PROV_RUN_DONE)
		return;
	sum->busy_known = one->busy_known && (sum->busy_known || !*any);
	sum->busy = sum->busy_known ? fmax(sum->busy, one->busy) : 0;
	*any = true;
}

/* How much one rank's state decides for all: the first of the greatest does. */
static int
gang_weight(enum prov_run_state s)
{
	switch (s) {
	case PROV_RUN_FAILED:
		return 5;
	case PROV_RUN_LOST:
		return 4;
	case PROV_RUN_STOPPED:
		return 3;
	case PROV_RUN_WAITING:
		return 2;
	case PROV_RUN_RUNNING:
		return 1;
	case PROV_RUN_DONE:
	case PROV_RUN_STATE_COUNT:
		break;
	}
	return 0;
}

static bool
gang_ends(enum prov_run_state s)
{
	return s == PROV_RUN_FAILED || s == PROV_RUN_LOST || s == PROV_RUN_STOPPED;
}

enum berth_code
gang_poll(struct broker *b, const struct job *job, const struct gang *g, struct prov_run *run_out,
    size_t *who_out, struct berth_err *err)
{
	struct prov_run all = { .state = PROV_RUN_DONE }, sum = { .busy = 0 }, one;
	enum berth_code rc, silent = BERTH_OK;
	struct berth_err why = { 0 };
	int64_t interval, reclaim = 0;
	size_t who = 0, noticed = 0;
	bool told = false, any = false;

	for (size_t i = 0; i < g->n; i++) {
		const struct instance *in = &g->m[i].in;

		rc = broker_interval(b, job, in, (int)g->n, &interval, err);
		if (rc != BERTH_OK)
			return rc;
		rc = watch_poll(b, job, in, (int)i, interval, &one, &why);
		if (rc == BERTH_OK && i == 0)
			rc = broker_interval_keep(b, job, in, (int)g->n, interval, &why);
		if (rc != BERTH_OK) {
			*who_out = i;
			*err = why;
			if (rc == BERTH_ENOTFOUND)
				return rc;
			silent = rc;
			continue;
		}
		if (i == 0 || gang_weight(one.state) > gang_weight(all.state)) {
			struct prov_run had = all;

			all = one;
			all.progress = had.progress;
			all.safe_progress = had.safe_progress;
			who = i;
		}
		gang_join(&all, &one, &told);
		gang_busy(&sum, &one, &any);
		if (one.reclaim_at != 0 && (reclaim == 0 || one.reclaim_at < reclaim)) {
			reclaim = one.reclaim_at;
			noticed = i;
		}
	}
	if (!told)
		all.progress = all.safe_progress = all.state == PROV_RUN_DONE ? 1 : 0;
	if (silent != BERTH_OK && !gang_ends(all.state))
		return silent;
	if (silent != BERTH_OK) /* what the silent one has kept is not known */
		all.safe_progress = 0;
	all.reclaim_at = reclaim;
	all.busy_known = sum.busy_known;
	all.busy = sum.busy;
	*who_out = gang_ends(all.state) || reclaim == 0 ? who : noticed;
	*run_out = all;
	return BERTH_OK;
}

enum berth_code
gang_stop(struct broker *b, const struct job *job, const struct gang *g, struct prov_run *run_out,
    struct berth_err *err)
{
	struct prov_run all = { .state = PROV_RUN_STOPPED }, one;
	enum berth_code rc, out = BERTH_OK;
	struct berth_err why;
	bool told = false;

	for (size_t i = 0; i < g->n; i++) {
		rc = runner_stop(b, &g->m[i].in, job, (int)i, &one, &why);
		if (rc == BERTH_OK) {
			gang_join(&all, &one, &told);
		} else {
			out = BERTH_ETRANSIENT;
			*err = why;
			err->code = out;
		}
	}
	*run_out = all;
	return out;
}

enum berth_code
gang_held(struct broker *b, const char *job_id, struct gang *out, struct berth_err *err)
{
	struct attempt *ats;
	struct instance in;
	enum berth_code rc;
	size_t n, at = SIZE_MAX;

	memset(out, 0, sizeof(*out));
	rc = store_attempt_list(b->store, job_id, b->tick_arena, &ats, &n, err);
	for (size_t i = 0; rc == BERTH_OK && i < n; i++)
		at = ats[i].ended == 0 ? i : at;
	if (rc != BERTH_OK || at == SIZE_MAX)
		return rc;
	rc = store_instance_get(b->store, ats[at].instance_id, b->tick_arena, &in, err);
	return rc == BERTH_OK ? gang_load(b, in.intent_id, job_id, out, err) : rc;
}

/* A job that waits for machines of which one is not to come. */
static enum berth_code
gang_repair_job(struct broker *b, const struct job *job, struct berth_err *err)
{
	struct attempt_end end = { .state = ATTEMPT_NO_CAPACITY, .progress = job->progress };
	const struct offer *o;
	enum berth_code rc;
	struct gang g;

	rc = gang_held(b, job->id, &g, err);
	if (rc != BERTH_OK || g.n == 0 || !g.broken || gang_waits(job, &g))
		return rc;
	o = &g.m[0].it.offer;
	end.reason = arena_printf(b->tick_arena,
	    "%zu of the %zu machines of %s in %s could be had: they are given back, as a gang "
	    "starts whole or not at all",
	    g.open, g.n, o->instance_type, o->zone[0] != '\0' ? o->zone : o->region);
	return gang_give_back(b, job, &g, &end, err);
}

enum berth_code
gang_repair(struct broker *b, struct berth_err *err)
{
	struct job_query q = { .states = JOB_BIT(JOB_PLACED) };
	struct job *jobs;
	enum berth_code rc;
	size_t n;

	rc = store_job_list(b->store, &q, b->tick_arena, &jobs, &n, err);
	for (size_t i = 0; rc == BERTH_OK && i < n; i++)
		if (gang_may(&jobs[i]))
			rc = gang_repair_job(b, &jobs[i], err);
	return rc;
}
