/* Jobs that have begun and can keep their deadline no more: they go on, as late. */
#include "config.h"

#include "broker/placing_impl.h"
#include "util/arena.h"
#include "util/time.h"

#define OVERDUE_SLACK                                                                              \
	10 /* the least cost is looked for up to a tenth of the time beyond the first end */

/* Without a deadline: the first end of all that the job may have some day, and now. */
static void
overdue_ends(struct placing_work_space *w, size_t i, struct cost_estimate *e, int64_t *ever_out,
    int64_t *now_out)
{
	struct job job = w->jobs[i].job;
	struct cost_job c = w->costs[i];

	*ever_out = *now_out = INT64_MAX;
	job.spec.deadline = 0;
	c.job = &job;
	placing_estimate(w, &c, w->early[i], false, e);
	for (size_t j = 0; j < w->facts.n_offers; j++) {
		if (!placing_spot_soon(e[j].refuse) ||
		    w->facts.offers[j].machines < e[j].machines ||
		    placing_never_fits(w, j, e[j].machines, true))
			continue;
		if (e[j].finish < *ever_out)
			*ever_out = e[j].finish;
		if (e[j].refuse == REFUSE_NOT && e[j].finish < *now_out &&
		    !placing_never_fits(w, j, e[j].machines, false))
			*now_out = e[j].finish;
	}
}

void
placing_overdue(struct placing_work_space *w, size_t i, struct cost_estimate *e)
{
	struct placing_job *pj = &w->jobs[i];
	int64_t by = pj->job.spec.deadline,
		begin = w->early[i] > w->o->now ? w->early[i] : w->o->now;
	int64_t ever, now;

	if (by <= 0 || !placing_begun(&pj->job))
		return;
	overdue_ends(w, i, e, &ever, &now);
	if (ever == INT64_MAX || ever <= by)
		return;
	if (now != INT64_MAX)
		ever = now;
	pj->overdue = by;
	pj->job.spec.deadline = ever + (ever - begin) / OVERDUE_SLACK;
}

bool
placing_spot_steers(const struct placing_work_space *w, size_t i)
{
	return w->jobs[i].overdue == 0 && placing_spot_job(&w->jobs[i].job, placing_due(w, i));
}

const char *
placing_overdue_text(const struct placing_work_space *w, size_t i)
{
	char t[TIME_FMT_SIZE];

	if (w->jobs[i].overdue == 0)
		return NULL;
	return arena_printf(w->a,
	    "late: it has begun, and nothing ends it by its deadline of %s any more, so it goes on "
	    "at "
	    "the least cost near the first end",
	    time_fmt(t, w->jobs[i].overdue));
}
