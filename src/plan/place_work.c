/* The orders and indexes that the steps of a placement need. */
#include <math.h>
#include <string.h>

#include "plan/place_impl.h"
#include "util/arena.h"

/* Cost, then risk, then the lower offer, then the earlier candidate. */
static bool
place_before(const struct place_problem *p, size_t x, size_t y)
{
	if (p->cost[x] != p->cost[y])
		return p->cost[x] < p->cost[y];
	if (p->risk != NULL && p->risk[x] != p->risk[y])
		return p->risk[x] < p->risk[y];
	if (p->offer[x] != p->offer[y])
		return p->offer[x] < p->offer[y];
	return x < y;
}

/* Heap sort of the candidates [n]: no recursion, no extra room. */
static void
place_sift(const struct place_problem *p, size_t *v, size_t top, size_t n)
{
	for (size_t kid; (kid = 2 * top + 1) < n; top = kid) {
		size_t t = v[top];

		if (kid + 1 < n && place_before(p, v[kid], v[kid + 1]))
			kid++;
		if (!place_before(p, t, v[kid]))
			return;
		v[top] = v[kid];
		v[kid] = t;
	}
}

static void
place_sort(const struct place_problem *p, size_t *v, size_t n)
{
	for (size_t k = n / 2; k > 0; k--)
		place_sift(p, v, k - 1, n);
	for (size_t k = n; k > 1; k--) {
		size_t t = v[0];

		v[0] = v[k - 1];
		v[k - 1] = t;
		place_sift(p, v, 0, k - 1);
	}
}

/* The mean amount as the scale of each resource: steps on micro-USD, on GPUs and on machines then
 * weigh alike. */
static void
place_index_scales(struct place_work *w, struct arena *a)
{
	const struct place_problem *p = w->p;
	size_t n_cand = p->n_jobs > 0 ? p->cand_start[p->n_jobs] : 0;
	size_t *n = arena_array(a, w->n_all, sizeof(*n));

	w->scale = arena_array(a, w->n_all, sizeof(*w->scale));
	for (size_t u = 0; p->more != NULL && u < p->more->start[n_cand]; u++) {
		w->scale[p->more->resource[u]] += (double)p->more->units[u];
		n[p->more->resource[u]]++;
	}
	for (size_t u = 0; u < w->use_start[w->n_slots]; u++) {
		w->scale[w->use[u]] += (double)w->units[u];
		n[w->use[u]]++;
	}
	for (size_t r = 0; r < w->n_all; r++)
		w->scale[r] = n[r] == 0 ? 1 : w->scale[r] / (double)n[r];
}

/* Jobs with a candidate that takes more of a resource: counted (mate NULL), then written. */
static void
place_list_mates(const struct place_problem *p, size_t *last, size_t *at, size_t *mate)
{
	for (size_t i = 0; p->more != NULL && i < p->n_jobs; i++)
		for (size_t u = p->more->start[p->cand_start[i]];
		     u < p->more->start[p->cand_start[i + 1]]; u++) {
			size_t r = p->more->resource[u];

			if (last[r] == i + 1)
				continue;
			last[r] = i + 1;
			if (mate != NULL)
				mate[at[r]] = i;
			at[r]++;
		}
}

static void
place_index_mates(struct place_work *w, struct arena *a)
{
	size_t n = w->p->n_resources, *last = arena_array(a, n, sizeof(*last));
	size_t *fill = arena_array(a, n + 1, sizeof(*fill));

	w->mate_start = arena_array(a, n + 1, sizeof(*w->mate_start));
	place_list_mates(w->p, last, w->mate_start + 1, NULL);
	for (size_t r = 0; r < n; r++)
		w->mate_start[r + 1] += w->mate_start[r];
	w->mate = arena_array(a, w->mate_start[n], sizeof(*w->mate));
	memcpy(fill, w->mate_start, (n + 1) * sizeof(*fill));
	memset(last, 0, n * sizeof(*last));
	place_list_mates(w->p, last, fill, w->mate);
}

static void
place_index_resources(struct place_work *w, struct arena *a)
{
	const struct place_problem *p = w->p;
	size_t uses = p->n_offers > 0 ? p->use_start[p->n_offers] : 0, *fill;

	w->at_start = arena_array(a, p->n_resources + 1, sizeof(*w->at_start));
	fill = arena_array(a, p->n_resources + 1, sizeof(*fill));
	for (size_t u = 0; u < uses; u++)
		w->at_start[p->resource[u] + 1]++;
	for (size_t r = 0; r < p->n_resources; r++)
		w->at_start[r + 1] += w->at_start[r];
	w->at_offer = arena_array(a, w->at_start[p->n_resources], sizeof(*w->at_offer));
	memcpy(fill, w->at_start, (p->n_resources + 1) * sizeof(*fill));
	for (size_t j = 0; j < p->n_offers; j++)
		for (size_t u = p->use_start[j]; u < p->use_start[j + 1]; u++)
			w->at_offer[fill[p->resource[u]]++] = j;
}

void
place_reorder(struct place_work *w)
{
	const struct place_problem *p = w->p;

	for (size_t i = 0; i < p->n_jobs; i++) {
		size_t n = p->cand_start[i];

		place_sort(
		    p, w->sorted + p->cand_start[i], p->cand_start[i + 1] - p->cand_start[i]);

		for (size_t c = p->cand_start[i]; c < p->cand_start[i + 1]; c++) {
			size_t k = w->sorted[c];

			if (place_never_fits(p, k) == PLACE_NONE)
				w->lean[n++] =
				    (struct place_lean){ p->cost[k], w->slot[k], (uint32_t)k };
		}
		w->lean_end[i] = n;
	}
}

void
place_work_init(const struct place_problem *p, uint64_t seed, struct arena *a, struct place_work *w)
{
	size_t n_cand = p->n_jobs > 0 ? p->cand_start[p->n_jobs] : 0;

	memset(w, 0, sizeof(*w));
	w->p = p;
	w->sorted = arena_array(a, n_cand, sizeof(*w->sorted));
	w->lean = arena_array(a, n_cand, sizeof(*w->lean));
	w->lean_end = arena_array(a, p->n_jobs, sizeof(*w->lean_end));
	w->chosen = arena_array(a, p->n_jobs, sizeof(*w->chosen));
	w->head = arena_array(a, p->n_offers, sizeof(*w->head));
	w->next = arena_array(a, p->n_jobs, sizeof(*w->next));
	w->prev = arena_array(a, p->n_jobs, sizeof(*w->prev));
	w->regret = arena_array(a, p->n_jobs, sizeof(*w->regret));
	w->size = arena_array(a, p->n_jobs, sizeof(*w->size));
	w->key = arena_array(a, p->n_jobs, sizeof(*w->key));
	w->order = arena_array(a, p->n_jobs, sizeof(*w->order));
	place_slots_init(w, a);
	w->left = arena_array(a, w->n_all, sizeof(*w->left));
	w->mu = arena_array(a, w->n_all, sizeof(*w->mu));
	w->price = arena_array(a, w->n_slots, sizeof(*w->price));
	rng_seed(&w->rng, seed);
	for (size_t k = 0; k < n_cand; k++)
		w->sorted[k] = k;
	place_reorder(w);
	place_index_scales(w, a);
	place_index_resources(w, a);
	place_index_mates(w, a);
	for (size_t r = 0; r < p->n_resources; r++)
		w->mu[r] = p->warm != NULL && p->limit[r] != PLACE_NO_LIMIT && isfinite(p->warm[r])
			       ? fmax(0, p->warm[r])
			       : 0;
}
