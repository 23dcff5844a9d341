/* By when a job must end for the sake of those that wait for it. */
#include "config.h"

#include "broker/placing_impl.h"
#include "store/job_rows.h"
#include "util/arena.h"
#include "util/str.h"
#include "util/strmap.h"

/*
 * The least time from the start of job i to its end, s: on demand where it may, as a deadline is
 * kept by that; -1: it can go nowhere. What holds only now is no matter. e [n_offers] is scratch.
 */
static int64_t
due_lasts(struct placing_work_space *w, size_t i, struct cost_estimate *e)
{
	struct job job = w->jobs[i].job;
	struct cost_job c = w->costs[i];
	int64_t least = -1, spot = -1;

	job.spec.deadline = 0;
	c.job = &job;
	placing_estimate(w, &c, w->early[i], false, e);
	for (size_t j = 0; j < w->facts.n_offers; j++) {
		const struct placing_offer *po = &w->facts.offers[j];
		int64_t *best = po->offer->purchase == PURCHASE_SPOT ? &spot : &least,
			s = e[j].finish - w->early[i];

		if (placing_spot_soon(e[j].refuse) && po->machines >= e[j].machines &&
		    !placing_never_fits(w, j, e[j].machines, true) && (*best < 0 || s < *best))
			*best = s;
	}
	return least < 0 ? spot : least;
}

/* What must end by `by` lets the job before it end so late; of deadlines that the soonest start
 * does not keep nothing is asked. */
static void
due_pass_on(struct placing_work_space *w, size_t i, int64_t by, size_t of, int64_t lasts)
{
	size_t before = w->after[i];

	if (by <= 0 || by - lasts < w->early[i] ||
	    (w->due[before] > 0 && w->due[before] <= by - lasts))
		return;
	w->due[before] = by - lasts;
	w->due_of[before] = of;
}

void
placing_due_load(struct placing_work_space *w)
{
	struct cost_estimate *e;
	bool matters = false;
	size_t *order, n;

	for (size_t i = 0; i < w->n_jobs; i++)
		matters |= w->after[i] != PLACE_NONE && w->jobs[i].job.spec.deadline > 0;
	if (!matters)
		return;
	order = placing_order(w, &n);
	if (n < w->n_jobs)
		return;
	w->due = arena_array(w->a, w->n_jobs, sizeof(*w->due));
	w->due_of = arena_array(w->a, w->n_jobs, sizeof(*w->due_of));
	e = arena_array(w->a, w->facts.n_offers, sizeof(*e));
	for (size_t x = w->n_jobs; x-- > 0;) {
		size_t i = order[x];
		int64_t own = w->jobs[i].job.spec.deadline, lasts;

		if (w->after[i] == PLACE_NONE || (own <= 0 && w->due[i] <= 0))
			continue;
		lasts = due_lasts(w, i, e);
		if (lasts < 0)
			continue;
		due_pass_on(w, i, own, i, lasts);
		due_pass_on(w, i, w->due[i], w->due_of[i], lasts);
	}
}

bool
placing_due_binds(const struct placing_work_space *w, size_t i)
{
	int64_t own = w->jobs[i].job.spec.deadline;

	return w->due != NULL && w->due[i] > 0 && (own <= 0 || w->due[i] < own);
}

int64_t
placing_due(const struct placing_work_space *w, size_t i)
{
	return placing_due_binds(w, i) ? w->due[i] : w->jobs[i].job.spec.deadline;
}

const char *
placing_due_text(const struct placing_work_space *w, size_t i)
{
	const struct job *j;

	if (!placing_due_binds(w, i))
		return "the deadline";
	j = &w->jobs[w->due_of[i]].job;
	return arena_printf(w->a, "the deadline of %s (%s)", j->spec.name, j->id);
}

/* The jobs that move, then those behind them: at = indices into queued [n]. */
static void
due_jobs(struct placing_work_space *w, const struct placing_move *moves, size_t n_moves,
    const struct job *queued, const size_t *at, size_t n)
{
	struct strmap ids = { 0 };

	w->n_jobs = n_moves + n;
	w->n_own = n_moves;
	w->jobs = arena_array(w->a, w->n_jobs, sizeof(*w->jobs));
	w->costs = arena_array(w->a, w->n_jobs, sizeof(*w->costs));
	w->after = arena_array(w->a, w->n_jobs, sizeof(*w->after));
	w->early = arena_array(w->a, w->n_jobs, sizeof(*w->early));
	w->before = arena_array(w->a, w->n_jobs, sizeof(*w->before));
	for (size_t i = 0; i < w->n_jobs; i++) {
		struct job *j = &w->jobs[i].job;

		*j = i < n_moves ? *moves[i].job : queued[at[i - n_moves]];
		placing_drop_unknown(w, j);
		placing_want(w, j, &w->costs[i]);
		strmap_add(w->a, &ids, j->id, i, NULL);
		w->early[i] = w->o->now;
	}
	for (size_t i = 0; i < w->n_jobs; i++) {
		const size_t *before =
		    i < n_moves ? NULL : strmap_get(&ids, w->jobs[i].job.spec.after);

		w->after[i] = before == NULL ? PLACE_NONE : *before;
	}
	w->chained = true;
}

void
placing_due_moves(struct placing_work_space *w, struct placing_move *moves, size_t n_moves,
    const struct job *queued, const size_t *at, size_t n)
{
	if (n == 0)
		return;
	due_jobs(w, moves, n_moves, queued, at, n);
	placing_late_early(w);
	placing_due_load(w);
	for (size_t i = 0; i < n_moves; i++) {
		if (!placing_due_binds(w, i))
			continue;
		moves[i].by = w->due[i];
		moves[i].by_of = w->jobs[w->due_of[i]].job.id;
		moves[i].by_text = placing_due_text(w, i);
	}
}
