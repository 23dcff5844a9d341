/* What each amount on an offer takes of all limits, once, and the cuts that make the bound higher.
 */
#include <string.h>

#include "plan/place_impl.h"
#include "util/arena.h"
#include "util/vec.h"

#define SLOT_SIZES 12 /* different amounts of a resource that are kept apart for its cuts */

struct slot {
	size_t offer;
	int64_t need;
};

struct slots {
	struct place_work *w;
	VEC(struct slot) v;
	uint32_t *table;              /* number of a slot and 1, by its hash; 0: none */
	size_t room;                  /* power of 2 */
	int64_t (*sizes)[SLOT_SIZES]; /* [n_resources] amounts taken at once */
	uint8_t *n_sizes;             /* SLOT_SIZES + 1: too many */
	size_t *cut_first;            /* [n_resources + 1] */
	struct arena *a;
};

static size_t
slot_hash(const struct slots *s, struct slot x)
{
	uint64_t h = (uint64_t)x.offer * UINT64_C(0x9e3779b97f4a7c15) ^
		     (uint64_t)x.need * UINT64_C(0xc2b2ae3d27d4eb4f);

	return (size_t)(h ^ (h >> 29)) & (s->room - 1);
}

static void
slot_grow(struct slots *s)
{
	s->room = s->room == 0 ? 1024 : 4 * s->room;
	s->table = arena_array(s->a, s->room, sizeof(*s->table));
	for (size_t x = 0; x < s->v.n; x++) {
		size_t at = slot_hash(s, s->v.v[x]);

		while (s->table[at] != 0)
			at = (at + 1) & (s->room - 1);
		s->table[at] = (uint32_t)x + 1;
	}
}

static uint32_t
slot_of(struct slots *s, size_t offer, int64_t need)
{
	struct slot x = { offer, need };
	size_t at;

	if (2 * s->v.n >= s->room)
		slot_grow(s);
	for (at = slot_hash(s, x); s->table[at] != 0; at = (at + 1) & (s->room - 1)) {
		const struct slot *y = &s->v.v[s->table[at] - 1];

		if (y->offer == offer && y->need == need)
			return s->table[at] - 1;
	}
	VEC_PUSH(s->a, &s->v, x);
	s->table[at] = (uint32_t)s->v.n;
	return (uint32_t)s->v.n - 1;
}

static void
slot_size(struct slots *s, size_t r, int64_t units)
{
	for (uint8_t x = 0; x < s->n_sizes[r] && x < SLOT_SIZES; x++)
		if (s->sizes[r][x] == units)
			return;
	if (s->n_sizes[r] < SLOT_SIZES)
		s->sizes[r][s->n_sizes[r]++] = units;
	else
		s->n_sizes[r] = SLOT_SIZES + 1;
}

static void
slot_measure(struct slots *s)
{
	const struct place_problem *p = s->w->p;

	s->sizes = arena_array(s->a, p->n_resources, sizeof(*s->sizes));
	s->n_sizes = arena_array(s->a, p->n_resources, 1);
	for (size_t x = 0; x < s->v.n; x++) {
		size_t j = s->v.v[x].offer;

		for (size_t u = p->use_start[j]; u < p->use_start[j + 1]; u++)
			if (s->v.v[x].need * p->weight[u] <= p->limit[p->resource[u]])
				slot_size(s, p->resource[u], s->v.v[x].need * p->weight[u]);
	}
}

/* Divided by an amount that does not go into the limit, what is left over counts no more. */
static bool
slot_cuts(const struct slots *s, size_t r, size_t x)
{
	return s->n_sizes[r] <= SLOT_SIZES && s->w->p->limit[r] != PLACE_NO_LIMIT &&
	       s->sizes[r][x] > 1 && s->w->p->limit[r] % s->sizes[r][x] != 0;
}

static void
slot_make_cuts(struct slots *s)
{
	struct place_work *w = s->w;
	size_t n = w->p->n_resources, all = n;

	s->cut_first = arena_array(s->a, n + 1, sizeof(*s->cut_first));
	for (size_t r = 0; r < n; r++) {
		s->cut_first[r] = all;
		for (size_t x = 0; x < s->n_sizes[r] && x < SLOT_SIZES; x++)
			all += slot_cuts(s, r, x);
	}
	s->cut_first[n] = w->n_all = all;
	w->limit = arena_array(s->a, all, sizeof(*w->limit));
	w->cut_of = arena_array(s->a, all - n, sizeof(*w->cut_of));
	w->cut_by = arena_array(s->a, all - n, sizeof(*w->cut_by));
	memcpy(w->limit, w->p->limit, n * sizeof(*w->limit));
	all = n;
	for (size_t r = 0; r < n; r++)
		for (size_t x = 0; x < s->n_sizes[r] && x < SLOT_SIZES; x++)
			if (slot_cuts(s, r, x)) {
				w->cut_of[all - n] = r;
				w->cut_by[all - n] = s->sizes[r][x];
				w->limit[all++] = w->p->limit[r] / s->sizes[r][x];
			}
}

/* The uses of each slot; fill: write them, else count. Returns how many. */
static size_t
slot_uses(struct slots *s, bool fill)
{
	struct place_work *w = s->w;
	const struct place_problem *p = w->p;
	size_t n = 0;

	for (size_t x = 0; x < s->v.n; x++) {
		size_t j = s->v.v[x].offer, end = p->use_start[j + 1];

		w->use_start[x] = n;
		for (size_t u = p->use_start[j]; u < end; u++) {
			if (p->limit[p->resource[u]] == PLACE_NO_LIMIT)
				continue;
			if (fill) {
				w->use[n] = p->resource[u];
				w->units[n] = s->v.v[x].need * p->weight[u];
			}
			n++;
		}
		w->cut_start[x] = n;
		for (size_t u = p->use_start[j]; u < end; u++)
			for (size_t c = s->cut_first[p->resource[u]];
			     c < s->cut_first[p->resource[u] + 1]; c++) {
				int64_t units =
				    s->v.v[x].need * p->weight[u] / w->cut_by[c - p->n_resources];

				if (units == 0)
					continue;
				if (fill) {
					w->use[n] = c;
					w->units[n] = units;
				}
				n++;
			}
	}
	w->use_start[s->v.n] = n;
	return n;
}

void
place_slots_init(struct place_work *w, struct arena *a)
{
	const struct place_problem *p = w->p;
	struct slots s = { .w = w, .a = a };
	size_t n_cand = p->n_jobs > 0 ? p->cand_start[p->n_jobs] : 0, n;

	w->slot = arena_array(a, n_cand, sizeof(*w->slot));
	for (size_t k = 0; k < n_cand; k++)
		w->slot[k] = slot_of(&s, p->offer[k], p->need[k]);
	w->n_slots = s.v.n;
	slot_measure(&s);
	slot_make_cuts(&s);
	w->use_start = arena_array(a, w->n_slots + 1, sizeof(*w->use_start));
	w->cut_start = arena_array(a, w->n_slots, sizeof(*w->cut_start));
	n = slot_uses(&s, false);
	w->use = arena_array(a, n, sizeof(*w->use));
	w->units = arena_array(a, n, sizeof(*w->units));
	(void)slot_uses(&s, true);
}
