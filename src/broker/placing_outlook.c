/* Of jobs that wait for others: can their deadlines be kept, as those are expected to end? */
#include "config.h"

#include <math.h>

#include "broker/placing_impl.h"
#include "store/job_rows.h"
#include "util/arena.h"

int64_t
placing_work_soonest(const struct placing_work_space *w, const struct instance *in,
    const struct job *job, const struct attempt_use *use)
{
	double speed = isfinite(in->speed) && in->speed > 0 ? in->speed : 1;
	double from = use == NULL ? 0 : use->progress_start, ran, left;
	int64_t now = w->o->now, began = in->ready > 0 ? in->ready : in->created;
	struct placing_work work;

	placing_work(w->accels, &job->spec, &in->offer, &work);
	if (!isfinite(work.hours))
		return now;
	ran = fmax(0, (double)(now - began));
	left = work.hours / speed * (1 - from) * 3600 - ran;
	if (job->progress > from)
		left = fmin(left, (1 - job->progress) * ran / (job->progress - from));
	return now + (int64_t)fmax(0, fmin(left, 1e12));
}

/* Its first end on any offer, looked for until one keeps the deadline. */
static void
outlook_ends(struct placing_work_space *w, struct placing_outlook *v)
{
	struct job job = *v->job;
	int64_t by = job.spec.deadline;
	size_t first = SIZE_MAX;
	struct cost_estimate e, best = { .finish = INT64_MAX };
	struct placing_asks asks;
	struct cost_job c;

	job.spec.deadline = 0;
	placing_drop_unknown(w, &job);
	placing_want(w, &job, &c);
	placing_asks(w, &c, v->starts, false, &asks);
	for (size_t j = 0; j < w->facts.n_offers && best.finish > by; j++) {
		placing_estimate_at(w, &c, &asks, j, &e);
		if (!placing_spot_soon(e.refuse) || w->facts.offers[j].machines < e.machines ||
		    placing_never_fits(w, j, e.machines, true) || e.finish >= best.finish)
			continue;
		best = e;
		first = j;
	}
	if (first == SIZE_MAX)
		return;
	v->ends = best.finish;
	v->late = best.finish > by;
	v->by = by - (best.finish - v->starts);
	v->offer = placing_label(&w->facts.offers[first], best.machines, w->a);
}

enum berth_code
placing_outlooks(struct store *store, const struct accel_table *accels,
    const struct placing_options *o, struct placing_outlook *v, size_t n, struct arena *a,
    struct berth_err *err)
{
	struct placing_work_space w = {
		.o = o, .accels = accels, .a = a, .outside = { .soonest = true }
	};
	enum berth_code rc = placing_facts_load(store, accels, o, NULL, 0, a, &w.facts, err);

	for (size_t i = 0; rc == BERTH_OK && i < n; i++) {
		const struct placing_outside *x;

		rc = placing_late_outside(&w, store, v[i].job->spec.after, 0, &x, err);
		if (rc != BERTH_OK)
			break;
		v[i] = (struct placing_outlook){ .job = v[i].job,
			.before = x->name == NULL ? "" : x->name,
			.starts = x->ends,
			.offer = "",
			.never = x->never };
		if (!x->never)
			outlook_ends(&w, &v[i]);
	}
	return rc;
}
