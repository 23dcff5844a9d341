/* Fair shares between users or projects: the order of the jobs, and who gave way to whom. */
#include "config.h"

#include <math.h>
#include <stdlib.h>

#include "broker/placing_impl.h"
#include "util/arena.h"
#include "util/str.h"

#define PLACING_TOLD 25 /* jobs named in a record */

enum berth_code
placing_share_load(struct placing_work_space *w, struct store *store, struct berth_err *err)
{
	const struct job **queued;

	if (w->o->shares == NULL)
		return BERTH_OK;
	queued = arena_array(w->a, w->n_own, sizeof(*queued));
	for (size_t i = 0; i < w->n_own; i++)
		queued[i] = &w->jobs[i].job;
	return shares_load(store, w->o->shares, w->o->now, queued, w->n_own, w->running,
	    w->n_running, w->a, &w->shares, err);
}

struct placing_admit {
	const struct placing_work_space *w;
	const size_t *start;
	int64_t *left; /* [n_resources] */
};

/* Is there room for candidate k under every limit? take: and takes it, which is for one that has
 * room. */
static bool
placing_takes(const struct placing_work_space *w, int64_t *left, size_t k, bool take)
{
	const struct place_problem *p = &w->p;
	size_t j = p->offer[k];

	for (size_t u = p->use_start[j]; u < p->use_start[j + 1]; u++) {
		int64_t *have = &left[p->resource[u]], need = p->need[k] * p->weight[u];

		if (*have == PLACE_NO_LIMIT)
			continue;
		if (*have < need)
			return false;
		*have -= take ? need : 0;
	}
	for (size_t u = p->more == NULL ? 0 : p->more->start[k];
	     p->more != NULL && u < p->more->start[k + 1]; u++) {
		int64_t *have = &left[p->more->resource[u]];

		if (*have < p->more->units[u])
			return false;
		*have -= take ? p->more->units[u] : 0;
	}
	return true;
}

size_t
placing_take_cheapest(
    const struct placing_work_space *w, size_t i, const size_t *start, int64_t *left)
{
	size_t best = PLACE_NONE;

	for (size_t k = start[i]; k < start[i + 1]; k++)
		if ((best == PLACE_NONE || w->p.cost[k] < w->p.cost[best]) &&
		    placing_takes(w, left, k, false))
			best = k;
	return best != PLACE_NONE && placing_takes(w, left, best, true) ? best : PLACE_NONE;
}

/* What cannot go now is tried by the search all the same, behind these. */
static bool
placing_admits(void *arg, size_t job)
{
	struct placing_admit *x = arg;

	return placing_take_cheapest(x->w, job, x->start, x->left) != PLACE_NONE;
}

/* Hours that the job takes on its fastest offer; NaN: it has none. */
static double
placing_fastest(const struct placing_work_space *w, const size_t *start, size_t i)
{
	double least = NAN;

	for (size_t k = start[i]; k < start[i + 1]; k++)
		least = fmin(least, w->estimate.v[k].expected_hours);
	return least;
}

/*
 * A job is urgent where what starts in its place would still run when it must: its deadline goes
 * before shares. How long that is, is told by the longest job of the queue that can go; an hour at
 * least.
 */
static void
placing_urgent(struct placing_work_space *w, const size_t *start)
{
	double *hours = arena_array(w->a, w->n_own, sizeof(*hours)), longest = 1;

	for (size_t i = 0; i < w->n_own; i++) {
		hours[i] = placing_fastest(w, start, i);
		longest = fmax(longest, hours[i]);
	}
	for (size_t i = 0; i < w->n_own; i++) {
		const struct job *j = &w->jobs[i].job;

		w->jobs[i].turn.urgent =
		    j->spec.deadline > 0 && isfinite(hours[i]) &&
		    (double)(j->spec.deadline - w->early[i]) / 3600 - hours[i] < longest;
	}
}

void
placing_share_order(struct placing_work_space *w, const size_t *start)
{
	struct share_job *jobs = arena_array(w->a, w->n_own, sizeof(*jobs));
	struct placing_admit x = { w, start,
		arena_memdup(w->a, w->p.limit, w->p.n_resources * sizeof(*x.left)) };

	placing_urgent(w, start);
	for (size_t i = 0; i < w->n_own; i++)
		jobs[i] = (struct share_job){ shares_owner(&w->shares, &w->jobs[i].job),
			w->jobs[i].job.spec.priority, shares_gpu_hours(&w->jobs[i].job),
			w->jobs[i].turn.urgent };
	w->ranks = arena_array(w->a, w->n_jobs, sizeof(*w->ranks));
	share_order_in(w->shares.groups, w->shares.n_groups, w->shares.owners, w->shares.n, jobs,
	    w->n_own, placing_admits, &x, w->a, w->ranks);
	for (size_t i = w->n_own; i < w->n_jobs; i++) /* behind all, and out of nobody's way */
		w->ranks[i] = (struct share_rank){ .rank = i, .in = true };
}

static const char *
placing_owner(const struct placing_work_space *w, size_t i)
{
	const struct job *j = &w->jobs[i].job;

	return w->o->shares == NULL ? j->spec.user
				    : w->shares.owners[shares_owner(&w->shares, j)].name;
}

/* Did job i, which has no place, give way to job k, which has one and stands behind it in the
 * queue? */
static bool
placing_gave_way(const struct placing_work_space *w, size_t i, size_t k)
{
	const struct placing_turn *ti = &w->jobs[i].turn, *tk = &w->jobs[k].turn;

	if (w->jobs[i].job.spec.priority != w->jobs[k].job.spec.priority ||
	    str_eq(placing_owner(w, i), placing_owner(w, k)))
		return false;
	return w->ranks != NULL ? tk->rank < ti->rank : tk->counted < ti->counted;
}

/* What the jobs that job i gave way to hold of each limit. */
static void
placing_given(
    const struct placing_work_space *w, size_t i, const struct place_plan *plan, int64_t *given)
{
	const struct place_problem *p = &w->p;

	for (size_t k = i + 1; k < w->n_own; k++) {
		size_t c = plan->chosen[k];

		if (c == PLACE_NONE || !placing_gave_way(w, i, k))
			continue;
		for (size_t u = p->use_start[p->offer[c]]; u < p->use_start[p->offer[c] + 1]; u++)
			given[p->resource[u]] += p->need[c] * p->weight[u];
		for (size_t u = p->more == NULL ? 0 : p->more->start[c];
		     p->more != NULL && u < p->more->start[c + 1]; u++)
			given[p->more->resource[u]] += p->more->units[u];
	}
}

/* Limits that candidate k is short of, where what was given away would be enough of each: what is
 * kept out by another limit as well gave way to nobody. */
static void
placing_wants_for(
    const struct place_problem *p, size_t k, const int64_t *left, const int64_t *given, bool *wants)
{
	size_t j = p->offer[k], n_more = p->more == NULL ? 0 : p->more->start[k + 1];

	for (int mark = 0; mark < 2; mark++) {
		for (size_t u = p->use_start[j]; u < p->use_start[j + 1]; u++) {
			size_t r = p->resource[u];
			int64_t need = p->need[k] * p->weight[u];

			if (left[r] == PLACE_NO_LIMIT || left[r] >= need)
				continue;
			if (left[r] + given[r] < need)
				return;
			wants[r] = wants[r] || mark == 1;
		}
		for (size_t u = p->more == NULL ? 0 : p->more->start[k]; u < n_more; u++) {
			size_t r = p->more->resource[u];

			if (left[r] >= p->more->units[u])
				continue;
			if (left[r] + given[r] < p->more->units[u])
				return;
			wants[r] = wants[r] || mark == 1;
		}
	}
}

/* wants, given [n_resources] */
static void
placing_wants(const struct placing_work_space *w, size_t i, const struct place_plan *plan,
    const int64_t *left, int64_t *given, bool *wants)
{
	for (size_t r = 0; r < w->p.n_resources; r++) {
		given[r] = 0;
		wants[r] = false;
	}
	placing_given(w, i, plan, given);
	for (size_t k = w->p.cand_start[i]; k < w->p.cand_start[i + 1]; k++)
		placing_wants_for(&w->p, k, left, given, wants);
}

static bool
placing_draws(const struct place_problem *p, size_t k, const bool *wants)
{
	for (size_t u = p->use_start[p->offer[k]]; u < p->use_start[p->offer[k] + 1]; u++)
		if (wants[p->resource[u]])
			return true;
	for (size_t u = p->more == NULL ? 0 : p->more->start[k];
	     p->more != NULL && u < p->more->start[k + 1]; u++)
		if (wants[p->more->resource[u]])
			return true;
	return false;
}

static void
placing_name(const char ***list, size_t *n, const char *id, struct arena *a)
{
	if (*list == NULL)
		*list = arena_array(a, PLACING_TOLD, sizeof(**list));
	if (*n < PLACING_TOLD)
		(*list)[(*n)++] = id;
}

/* What counted of job i's owner beside that of job k: of their projects, where these differ. first:
 * of the two in the sentence. */
static const char *
placing_counts(const struct placing_work_space *w, size_t i, size_t k, bool first)
{
	const struct placing_turn *t = &w->jobs[i].turn;
	const char *name = placing_owner(w, i);
	double counted = t->counted, weight = t->weight;

	if (w->ranks != NULL && w->shares.n_groups > 0) {
		const struct share_owner *x =
		    shares_top(&w->shares, shares_owner(&w->shares, &w->jobs[i].job));

		if (x != shares_top(&w->shares, shares_owner(&w->shares, &w->jobs[k].job))) {
			name = x->name;
			counted = w->ranks[i].group_counted;
			weight = x->weight;
		}
	}
	if (name[0] == '\0')
		name = "who has no name";
	if (w->ranks != NULL)
		return arena_printf(w->a, "%s%s %.1f GPU-hours for a weight of %.6g", name,
		    first ? " counts" : "", counted, weight);
	return first ? arena_printf(
			   w->a, "%s would hold %.6g GPU%s", name, counted, counted == 1 ? "" : "s")
		     : arena_printf(w->a, "%s %.6g", name, counted);
}

/* "gave way by fair share to bob's j-1 and 2 more jobs, ..." */
static void
placing_turn_text(struct placing_work_space *w, size_t i, size_t k, size_t n, bool gave)
{
	struct placing_job *pj = &w->jobs[gave ? i : k], *other = &w->jobs[gave ? k : i];
	const char *owner = placing_owner(w, gave ? k : i);
	const char *whose = arena_printf(w->a, "%s%s%s%s", owner, owner[0] == '\0' ? "" : "'s ",
	    other->job.id, n < 2 ? "" : arena_printf(w->a, " and %zu more", n - 1));

	if (w->jobs[k].turn.urgent && w->ranks != NULL)
		pj->reason = arena_printf(w->a,
		    gave ? "%s; gave way to %s, whose deadline leaves no time to wait"
			 : "%s; goes before %s, as its deadline leaves no time to wait",
		    pj->reason, whose);
	else
		pj->reason = arena_printf(w->a, "%s; %s %s by fair share: %s %s, %s", pj->reason,
		    gave ? "gave way to" : "goes before", whose,
		    w->ranks == NULL ? "with it" : "until then", placing_counts(w, k, i, true),
		    placing_counts(w, i, k, false));
}

void
placing_share_tell(struct placing_work_space *w, const struct place_plan *plan, const int64_t *left)
{
	size_t *first = arena_array(
	    w->a, w->n_jobs, sizeof(*first)); /* by job that went before: the first that gave way */
	bool *wants = arena_array(w->a, w->p.n_resources, sizeof(*wants));
	int64_t *given = arena_array(w->a, w->p.n_resources, sizeof(*given));

	for (size_t i = 0; i < w->n_own; i++) {
		size_t to = PLACE_NONE;
		bool known = false;

		if (plan->chosen[i] != PLACE_NONE || w->p.cand_start[i] == w->p.cand_start[i + 1])
			continue;
		for (size_t k = i + 1; k < w->n_own; k++) {
			if (plan->chosen[k] == PLACE_NONE || !placing_gave_way(w, i, k))
				continue;
			if (!known)
				placing_wants(w, i, plan, left, given, wants);
			known = true;
			if (!placing_draws(&w->p, plan->chosen[k], wants))
				continue;
			if (to == PLACE_NONE ||
			    (w->ranks != NULL && w->jobs[k].turn.rank < w->jobs[to].turn.rank))
				to = k;
			placing_name(&w->jobs[i].turn.gave_way_to, &w->jobs[i].turn.n_gave_way_to,
			    w->jobs[k].job.id, w->a);
			if (w->jobs[k].turn.n_went_before == 0)
				first[k] = i;
			placing_name(&w->jobs[k].turn.went_before, &w->jobs[k].turn.n_went_before,
			    w->jobs[i].job.id, w->a);
		}
		if (to != PLACE_NONE)
			placing_turn_text(w, i, to, w->jobs[i].turn.n_gave_way_to, true);
	}
	for (size_t k = 0; k < w->n_own; k++)
		if (w->jobs[k].turn.n_went_before > 0)
			placing_turn_text(w, first[k], k, w->jobs[k].turn.n_went_before, false);
}
