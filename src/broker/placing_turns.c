/* What more of a limit brings to one job when those have taken of it that go before. */
#include "config.h"

#include <math.h>
#include <stdlib.h>

#include "broker/placing_raise.h"
#include "util/arena.h"

struct placing_wish { /* a job without a place that more of the limit alone would place */
	size_t job;
	int64_t units; /* of it, in all */
};

struct placing_wishes {
	bool known;
	double *holds;              /* [n_jobs] GPUs of its user with it, were all of them placed */
	VEC(struct placing_wish) v; /* the least first */
};

static int
placing_cmp_wish(const void *a, const void *b)
{
	const struct placing_wish *x = a, *y = b;

	if (x->units != y->units)
		return x->units < y->units ? -1 : 1;
	return (x->job > y->job) - (x->job < y->job);
}

/* The least of limit r, by more of which alone job i would have a place; 0: there is none. */
static int64_t
placing_wish_of(const struct placing_work_space *w, size_t i, size_t r, const int64_t *left)
{
	const struct placing_hint *h = &w->hints[i];
	int64_t least = 0, more = 0;
	size_t q = PLACE_NONE;

	for (size_t k = w->p.cand_start[i]; k < w->p.cand_start[i + 1]; k++)
		if (placing_lacks(w, left, PLACE_NONE, k, &q, &more) == 1 && q == r &&
		    (least == 0 || left[r] + more < least))
			least = left[r] + more;
	for (size_t x = 0; x < h->over.n; x++)
		if (placing_short(w, i, PLACE_NONE, &h->over.v[x], left, &more) == r &&
		    (least == 0 || left[r] + more < least))
			least = left[r] + more;
	for (size_t x = 0; x < h->away.n; x++) {
		const struct placing_near *n = &h->away.v[x].near;

		if (h->away.v[x].rule == REFUSE_NO_CAPACITY && placing_pool(w, n->offer) == r &&
		    (least == 0 || n->machines < least))
			least = n->machines;
	}
	return least;
}

static double *
placing_wish_holds(struct placing_work_space *w, const struct placing_wishes *x)
{
	size_t *start = arena_array(w->a, w->n_jobs + 1, sizeof(*start));
	bool *in = arena_array(w->a, w->n_jobs, sizeof(*in));

	for (size_t c = 0; c < x->v.n; c++)
		in[x->v.v[c].job] = true;
	for (size_t i = 0; i < w->n_jobs; i++)
		start[i + 1] = start[i] + (in[i] || w->p.cand_start[i] < w->p.cand_start[i + 1]);
	return placing_holds(w, start);
}

static const struct placing_wishes *
placing_wishes(struct placing_change_list *l, size_t r)
{
	struct placing_work_space *w = l->w;
	struct placing_wishes *x;

	if (w->wishes == NULL)
		w->wishes = arena_array(w->a, w->p.n_resources, sizeof(*w->wishes));
	x = &w->wishes[r];
	for (size_t i = 0; !x->known && i < w->n_own; i++) {
		int64_t units = l->plan->chosen[i] != PLACE_NONE || placing_later(w, i)
				    ? 0
				    : placing_wish_of(w, i, r, l->left);

		if (units > 0)
			VEC_PUSH(w->a, &x->v, ((struct placing_wish){ i, units }));
	}
	if (!x->known && x->v.n > 1)
		qsort(x->v.v, x->v.n, sizeof(*x->v.v), placing_cmp_wish);
	if (!x->known)
		x->holds = placing_wish_holds(w, x);
	x->known = true;
	return x;
}

/* Do two at the level of job i fit in what it needs? As many are placed as can be. */
static bool
placing_two_for(
    const struct placing_work_space *w, const struct placing_wishes *x, size_t i, int64_t units)
{
	int64_t sum = 0;
	size_t n = 0;

	for (size_t c = 0; c < x->v.n && n < 2; c++)
		if (x->v.v[c].job != i && placing_level(w, x->v.v[c].job) == placing_level(w, i)) {
			sum += x->v.v[c].units;
			n++;
		}
	return n == 2 && sum <= units;
}

/* Does job a, which has no place, take what fits it before job i does? two: as in
 * placing_two_for(); else at one level it is who holds less. */
static bool
placing_goes_before(const struct placing_work_space *w, const struct placing_wishes *x,
    const struct placing_wish *a, size_t i, bool two, int64_t units)
{
	int64_t la = placing_level(w, a->job), li = placing_level(w, i);
	double ha = x->holds[a->job], hi = x->holds[i];

	if (la != li)
		return la > li;
	if (w->ranks != NULL)
		return w->ranks[a->job].rank < w->ranks[i].rank;
	if (a->units > units || (a->units < units && two))
		return a->units < units;
	return ha != hi ? ha < hi : a->job < i;
}

int64_t
placing_more_in_turn(
    struct placing_change_list *l, size_t i, size_t k, size_t r, int64_t more, const char **who_out)
{
	struct placing_work_space *w = l->w;
	int64_t has = l->left[r] + placing_own(w, k, r), all = has + more;
	const struct placing_wishes *x;
	size_t n = 0, first = PLACE_NONE;
	bool *in, again = true, two;

	*who_out = "";
	if (placing_later(w, i))
		return more;
	x = placing_wishes(l, r);
	in = arena_array(w->a, x->v.n, sizeof(*in));
	two = placing_two_for(w, x, i, has + more);
	while (again) {
		again = false;
		for (size_t c = 0; c < x->v.n && x->v.v[c].units <= all; c++) {
			if (in[c] || x->v.v[c].job == i ||
			    (k == PLACE_NONE &&
				!placing_goes_before(w, x, &x->v.v[c], i, two, has + more)))
				continue;
			in[c] = again = true;
			all += x->v.v[c].units;
			first = n++ == 0 ? x->v.v[c].job : first;
		}
	}
	if (n == 1)
		*who_out =
		    arena_printf(w->a, " (%s takes a part of it first)", w->jobs[first].job.id);
	else if (n > 1)
		*who_out = arena_printf(w->a, " (%s and %zu more take a part of it first)",
		    w->jobs[first].job.id, n - 1);
	return all - has;
}
