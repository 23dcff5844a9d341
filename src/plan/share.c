#include "plan/share.h"

#include <math.h>
#include <string.h>

#include "util/arena.h"

#define SHARE_ALIKE                                                                                \
	1e-9 /* levels closer than this share of one another are alike: the queue decides */

double
share_weight_of(const struct share_policy *p, const char *name)
{
	for (size_t i = 0; i < p->n_weights; i++)
		if (strcmp(p->weights[i].name, name) == 0)
			return p->weights[i].weight;
	return 1;
}

double
share_faded_hours(int64_t from, int64_t to, int64_t now, double half_life_s)
{
	double end = (double)(to < now ? to : now), rate = log(2) / half_life_s;

	if (from >= now || end <= (double)from)
		return 0;
	if (isinf(half_life_s))
		return (end - (double)from) / 3600;
	/* expm1: a short stay long ago is no difference of two like numbers */
	return exp(-rate * ((double)now - end)) * -expm1(-rate * (end - (double)from)) / rate /
	       3600;
}

double
share_level(const struct share_owner *o, double more)
{
	return o->weight > 0 ? (o->used + o->coming + more) / o->weight : INFINITY;
}

/* What share_order() keeps of an owner: where its jobs of this priority begin, and what was added
 * to it. */
struct share_turn {
	size_t next; /* job, or SIZE_MAX */
	double added;
};

struct share_run {
	const struct share_owner *owners, *groups;
	size_t n_owners, n_groups;
	struct share_turn *group_turns; /* [n_groups] */
	const struct share_job *jobs;
	struct share_turn *turns; /* [n_owners] */
	size_t *after;            /* [n] next job of the same owner */
	share_admit_fn *admit;
	void *arg;
	struct share_rank *ranks;
	size_t rank;
};

static void
share_take(struct share_run *r, size_t i)
{
	struct share_turn *t = &r->turns[r->jobs[i].owner];
	const struct share_owner *o = &r->owners[r->jobs[i].owner];

	r->ranks[i] = (struct share_rank){ r->rank++, r->admit == NULL || r->admit(r->arg, i),
		o->used + o->coming + t->added, 0 };
	if (r->n_groups > 0)
		r->ranks[i].group_counted = r->groups[o->group].used + r->groups[o->group].coming +
					    r->group_turns[o->group].added;
	if (!r->ranks[i].in)
		return;
	t->added += fmax(0, r->jobs[i].gpu_hours);
	if (r->n_groups > 0)
		r->group_turns[o->group].added += fmax(0, r->jobs[i].gpu_hours);
}

/* Does x go before y, both of which have a job? */
static bool
share_before(const struct share_owner *x, const struct share_turn *tx, const struct share_owner *y,
    const struct share_turn *ty)
{
	double lx = share_level(x, tx->added), ly = share_level(y, ty->added);

	if (isinf(lx) && isinf(ly)) {
		lx = x->used + x->coming + tx->added;
		ly = y->used + y->coming + ty->added;
	}
	if (isinf(lx) != isinf(ly))
		return isinf(ly);
	if (fabs(lx - ly) > SHARE_ALIKE * fmax(fabs(lx), fabs(ly)))
		return lx < ly;
	return tx->next < ty->next;
}

/* Of those with a job who goes first; group SIZE_MAX: of all. SIZE_MAX: nobody has one. */
static size_t
share_first(const struct share_owner *v, const struct share_turn *turns, size_t n, size_t group)
{
	size_t first = SIZE_MAX;

	for (size_t o = 0; o < n; o++)
		if (turns[o].next != SIZE_MAX && (group == SIZE_MAX || v[o].group == group) &&
		    (first == SIZE_MAX || share_before(&v[o], &turns[o], &v[first], &turns[first])))
			first = o;
	return first;
}

/* The owner whose turn is next, in the group whose turn is next; SIZE_MAX: no job is left. */
static size_t
share_next(struct share_run *r)
{
	size_t group;

	if (r->n_groups == 0)
		return share_first(r->owners, r->turns, r->n_owners, SIZE_MAX);
	for (size_t g = 0; g < r->n_groups; g++)
		r->group_turns[g].next = SIZE_MAX;
	for (size_t o = 0; o < r->n_owners; o++) {
		size_t *next = &r->group_turns[r->owners[o].group].next;

		if (r->turns[o].next < *next)
			*next = r->turns[o].next;
	}
	group = share_first(r->groups, r->group_turns, r->n_groups, SIZE_MAX);
	return group == SIZE_MAX ? SIZE_MAX : share_first(r->owners, r->turns, r->n_owners, group);
}

/* All jobs of one priority. */
static void
share_priority(struct share_run *r, const struct share_job *jobs, size_t n, int priority)
{
	for (size_t i = 0; i < n; i++)
		if (jobs[i].priority == priority && jobs[i].urgent)
			share_take(r, i);
	for (size_t o = 0; o < r->n_owners; o++)
		r->turns[o].next = SIZE_MAX;
	for (size_t i = n; i-- > 0;)
		if (jobs[i].priority == priority && !jobs[i].urgent) {
			r->after[i] = r->turns[jobs[i].owner].next;
			r->turns[jobs[i].owner].next = i;
		}
	for (;;) {
		size_t first = share_next(r), i;

		if (first == SIZE_MAX)
			return;
		i = r->turns[first].next;
		r->turns[first].next = r->after[i];
		share_take(r, i);
	}
}

void
share_order(const struct share_owner *owners, size_t n_owners, const struct share_job *jobs,
    size_t n, share_admit_fn *admit, void *arg, struct arena *a, struct share_rank *ranks_out)
{
	share_order_in(NULL, 0, owners, n_owners, jobs, n, admit, arg, a, ranks_out);
}

void
share_order_in(const struct share_owner *groups, size_t n_groups, const struct share_owner *owners,
    size_t n_owners, const struct share_job *jobs, size_t n, share_admit_fn *admit, void *arg,
    struct arena *a, struct share_rank *ranks_out)
{
	struct share_run r = { .owners = owners,
		.n_owners = n_owners,
		.groups = groups,
		.n_groups = n_groups,
		.group_turns = arena_array_of(a, n_groups, struct share_turn),
		.jobs = jobs,
		.admit = admit,
		.arg = arg,
		.ranks = ranks_out,
		.turns = arena_array_of(a, n_owners, struct share_turn),
		.after = arena_array_of(a, n, size_t) };
	bool more = n > 0;
	int above = INT32_MAX;

	for (bool first = true; more; first = false) {
		int top = INT32_MIN;

		more = false;
		for (size_t i = 0; i < n; i++)
			if ((first || jobs[i].priority < above) &&
			    (!more || jobs[i].priority > top)) {
				top = jobs[i].priority;
				more = true;
			}
		if (more)
			share_priority(&r, jobs, n, top);
		above = top;
	}
}
