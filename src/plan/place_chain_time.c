/* When jobs start that wait for one another: the ends that each may have, for the tables. */
#include <stdlib.h>
#include <string.h>

#include "plan/place_chain_impl.h"
#include "util/arena.h"

#define CHAIN_SLOTS ((size_t)64) /* ends of a job that are told apart */
#define CHAIN_SLOTS_LEAST ((size_t)4)
#define CHAIN_TABLE ((size_t)20000000) /* steps of a table up to which there are so many */

int64_t
chain_start(const struct chain *h, const size_t *chosen, size_t i)
{
	int64_t s = 0;

	for (size_t before = h->after[i]; before != PLACE_NONE && chosen[before] != PLACE_NONE;
	     before = h->after[i]) {
		s += h->c->lasts[chosen[before]];
		i = before;
	}
	return s + h->c->early[i];
}

bool
chain_late(const struct chain *h, const size_t *chosen, size_t i)
{
	return h->c->early != NULL && chosen[i] != PLACE_NONE &&
	       h->c->latest[chosen[i]] != PLACE_NO_LIMIT &&
	       chain_start(h, chosen, i) > h->c->latest[chosen[i]];
}

/* Which of the ends of job i that is: the next later one, or for bounds the last before. */
static size_t
chain_slot(const struct chain *h, size_t i, int64_t end)
{
	const int64_t *t = h->ends[i];
	size_t from = 0, to = h->n_ends[i]; /* of the first that is not before it */

	while (from < to) {
		size_t mid = from + (to - from) / 2;

		if (t[mid] < end)
			from = mid + 1;
		else
			to = mid;
	}
	if (from == h->n_ends[i] || (h->down && t[from] > end && from > 0))
		from--;
	return from;
}

size_t
chain_from(const struct chain *h, const size_t *chosen, size_t i)
{
	size_t before = h->after[i], k = before == PLACE_NONE ? PLACE_NONE : chosen[before];

	if (k == PLACE_NONE)
		return h->nowhere;
	return h->c->place[h->p->offer[k]] * h->slots +
	       (h->ends == NULL
		       ? 0
		       : chain_slot(h, before, chain_start(h, chosen, before) + h->c->lasts[k]));
}

size_t
chain_to(const struct chain *h, size_t i, size_t k, int64_t start)
{
	size_t at = h->c->place[h->p->offer[k]] * h->slots;

	if (h->ends == NULL)
		return at;
	if (h->c->latest[k] != PLACE_NO_LIMIT && start > h->c->latest[k])
		return PLACE_NONE;
	return at + chain_slot(h, i, start + h->c->lasts[k]);
}

static int
chain_cmp_time(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

/*
 * The last end of each job that is of use to any that waits for it; INT64_MIN: they all are alike.
 * What comes later is too late for all.
 */
static int64_t *
chain_useful(const struct chain *h)
{
	const struct place_problem *p = h->p;
	int64_t *useful = arena_array(h->a, p->n_jobs, sizeof(*useful));

	for (size_t i = 0; i < p->n_jobs; i++)
		useful[i] = INT64_MIN;
	for (size_t x = p->n_jobs; x-- > 0;) {
		size_t i = h->order[x], before = h->after[i];
		int64_t last = useful[i];
		bool limited = false, free = false;

		if (before == PLACE_NONE)
			continue;
		for (size_t k = p->cand_start[i]; k < p->cand_start[i + 1]; k++) {
			int64_t by = h->c->latest[k];

			limited = limited || by != PLACE_NO_LIMIT;
			free = free || by == PLACE_NO_LIMIT;
			if (by != PLACE_NO_LIMIT && by > last)
				last = by;
		}
		if (useful[i] != INT64_MIN && free) /* later starts matter to those behind it */
			last = INT64_MAX;
		if ((limited || useful[i] != INT64_MIN) && last > useful[before])
			useful[before] = last;
	}
	return useful;
}

/* Rising and different; of what is too late for all only the first and the last, and of too many
 * every so-and-so-manieth. */
static size_t
chain_thin(struct chain *h, int64_t *t, size_t n, int64_t useful, size_t most)
{
	size_t to = 0;

	if (n > 1)
		qsort(t, n, sizeof(*t), chain_cmp_time);
	for (size_t x = 0; x < n; x++) {
		if (to > 0 && t[x] == t[to - 1])
			continue;
		if (to > 1 && t[to - 2] > useful)
			to--;
		t[to++] = t[x];
	}
	if (to <= most)
		return to;
	h->thinned = true;
	for (size_t x = 0; x < most; x++)
		t[x] = t[x * (to - 1) / (most - 1)];
	return most;
}

void
chain_ends(struct chain *h)
{
	const struct place_problem *p = h->p;
	size_t n_cand = p->n_jobs > 0 ? p->cand_start[p->n_jobs] : 0,
	       most = CHAIN_TABLE / (n_cand * h->c->n_places + 1);
	int64_t *useful;

	most = most > CHAIN_SLOTS         ? CHAIN_SLOTS
	       : most < CHAIN_SLOTS_LEAST ? CHAIN_SLOTS_LEAST
					  : most;
	h->n_ends = arena_array(h->a, p->n_jobs, sizeof(*h->n_ends));
	h->slots = 1;
	for (size_t i = 0; i < p->n_jobs; i++)
		h->n_ends[i] = 1;
	if (h->c->early != NULL) {
		h->ends = arena_array(h->a, p->n_jobs, sizeof(*h->ends));
		useful = chain_useful(h);
		for (size_t x = 0; x < p->n_jobs; x++) {
			size_t i = h->order[x], before = h->after[i],
			       starts = before == PLACE_NONE ? 0 : h->n_ends[before],
			       cands = p->cand_start[i + 1] - p->cand_start[i], n = 0;
			int64_t *t = arena_array(h->a, (starts + 1) * cands + 1, sizeof(*t));

			h->ends[i] = t;
			if (useful[i] == INT64_MIN || cands == 0)
				continue; /* one, of which nobody asks */
			for (size_t s = 0; s <= starts; s++)
				for (size_t k = p->cand_start[i]; k < p->cand_start[i + 1]; k++)
					t[n++] =
					    h->c->lasts[k] +
					    (s == starts ? h->c->early[i] : h->ends[before][s]);
			h->n_ends[i] = chain_thin(h, t, n, useful[i], most);
			h->slots = h->n_ends[i] > h->slots ? h->n_ends[i] : h->slots;
		}
	}
	h->nowhere = h->c->n_places * h->slots;
	h->width = h->nowhere + 1;
}
