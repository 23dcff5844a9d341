#include <math.h>
#include <string.h>

#include "plan/commit_joint.h"
#include "util/arena.h"

#define HOURS_FEW 16 /* that are not taken together any further */

/* Hours of a member that shares no quota are the levels of its curve, while the others have no
 * demand. */
void
joint_levels(struct joint *j)
{
	size_t n = 0, levels = 0;

	for (size_t k = 0; k < j->r.n; k++)
		levels += j->r.m[k].problem->curve->levels + 1;
	j->r.demand = arena_array(j->a, levels * j->r.n, sizeof(double));
	j->r.weight = arena_array(j->a, levels, sizeof(double));
	for (size_t k = 0; k < j->r.n; k++) {
		const struct commit_curve *c = j->r.m[k].problem->curve;

		for (size_t l = 0; l <= c->levels; l++) {
			double w = (l == 0 ? 1 : c->use[l - 1]) - (l == c->levels ? 0 : c->use[l]);

			if (!(w > 0))
				continue;
			j->r.demand[n * j->r.n + k] = (double)l;
			j->r.weight[n++] = w;
		}
	}
	j->r.n_atoms = n;
}

/* Steps of the member that has the shortest. */
static void
hours_all(struct joint *j)
{
	size_t n = j->r.n, steps = 0, paths = 0;
	struct joint_hours *all = &j->hours;
	double total = 0, *cap;

	all->a = arena_new();
	cap = arena_array(all->a, n, sizeof(*cap));
	for (size_t k = 0; k < n; k++) {
		const struct commit_demand *d = j->r.m[k].demand;

		steps = d->n_steps > steps ? d->n_steps : steps;
		paths = d->n_paths > paths ? d->n_paths : paths;
		cap[k] = commit_cap(d, all->a, NULL);
	}
	all->n = paths * steps;
	all->demand = arena_array(all->a, all->n * n, sizeof(double));
	all->weight = arena_array(all->a, all->n, sizeof(double));
	all->group = arena_array(all->a, all->n, sizeof(*all->group));
	for (size_t p = 0; p < paths; p++) {
		const struct commit_demand *first = j->r.m[0].demand;
		double w = first->weight == NULL ? 1 : first->weight[p % first->n_paths];

		for (size_t t = 0; t < steps; t++)
			all->weight[p * steps + t] = w;
		total += w * (double)steps;
		for (size_t k = 0; k < n; k++) {
			const struct commit_demand *d = j->r.m[k].demand;
			const double *gpus = d->gpus + p % d->n_paths * d->n_steps;

			for (size_t t = 0; t < steps; t++)
				all->demand[(p * steps + t) * n + k] =
				    fmin(gpus[t * d->n_steps / steps], cap[k]);
		}
	}
	for (size_t h = 0; h < all->n; h++)
		all->weight[h] /= total;
}

/* Means of the groups. */
static void
hours_mean(struct joint *j)
{
	struct joint_hours *all = &j->hours;
	size_t n = j->r.n;

	all->mean = arena_array(all->a, all->n_groups * n + 1, sizeof(double));
	all->part = arena_array(all->a, all->n_groups + 1, sizeof(double));
	for (size_t h = 0; h < all->n; h++) {
		size_t g = all->group[h];

		all->part[g] += all->weight[h];
		for (size_t k = 0; k < n; k++)
			all->mean[g * n + k] += all->weight[h] * all->demand[h * n + k];
	}
	for (size_t g = 0; g < all->n_groups; g++)
		for (size_t k = 0; k < n; k++)
			all->mean[g * n + k] /= all->part[g];
}

/*
 * Hours in one box of a grid over all members' demand are one: the grid has about `most` boxes,
 * those of members beyond what that allows are not divided. Numbers in order of boxes, so that
 * neighbours follow each other.
 */
static void
hours_grid(struct joint *j, size_t most)
{
	struct joint_hours *all = &j->hours;
	size_t n = j->r.n, boxes = 1, sides, *side = arena_array(all->a, n, sizeof(*side));
	double *lo = arena_array(all->a, 2 * n, sizeof(*lo)), *hi = lo + n;
	uint32_t *number;

	sides = (size_t)floor(pow((double)most, 1 / (double)n) + 1e-9);
	for (size_t k = 0; k < n; k++) {
		side[k] = sides > 1 ? sides : boxes * 2 <= most ? 2 : 1;
		boxes *= side[k];
		lo[k] = INFINITY;
		hi[k] = -INFINITY;
	}
	for (size_t h = 0; h < all->n; h++)
		for (size_t k = 0; k < n; k++) {
			lo[k] = fmin(lo[k], all->demand[h * n + k]);
			hi[k] = fmax(hi[k], all->demand[h * n + k]);
		}
	number = arena_array(all->a, boxes + 1, sizeof(*number));
	for (size_t h = 0; h < all->n; h++) {
		size_t box = 0;

		for (size_t k = 0; k < n; k++) {
			double at =
			    hi[k] > lo[k] ? (all->demand[h * n + k] - lo[k]) / (hi[k] - lo[k]) : 0;
			size_t i = (size_t)(at * (double)side[k]);

			box = box * side[k] + (i < side[k] ? i : side[k] - 1);
		}
		all->group[h] = (uint32_t)box;
		number[box] = 1;
	}
	all->n_groups = 0;
	for (size_t b = 0; b < boxes; b++)
		number[b] = number[b] != 0 ? (uint32_t)all->n_groups++ : 0;
	for (size_t h = 0; h < all->n; h++)
		all->group[h] = number[all->group[h]];
}

void
joint_steps(struct joint *j, size_t most)
{
	hours_all(j);
	most = most > j->hours.n / 4 ? j->hours.n / 4 : most;
	hours_grid(j, most > HOURS_FEW ? most : HOURS_FEW);
	hours_mean(j);
	joint_hours_means(j);
}

void
joint_hours_end(struct joint *j)
{
	arena_free(j->hours.a);
	j->hours = (struct joint_hours){ 0 };
}

void
joint_hours_means(struct joint *j)
{
	struct joint_hours *all = &j->hours;
	size_t cells = all->n_groups * j->r.n;

	j->r.demand = all->mean;
	j->r.weight = all->part;
	j->r.n_atoms = all->n_groups;
	j->r.group = NULL;
	if (j->scale == 1)
		return;
	j->r.demand = arena_array(all->a, cells + 1, sizeof(double));
	for (size_t i = 0; i < cells; i++)
		j->r.demand[i] = j->scale * all->mean[i];
}

void
joint_hours_each(struct joint *j)
{
	j->r.demand = j->hours.demand;
	j->r.weight = j->hours.weight;
	j->r.n_atoms = j->hours.n;
	j->r.group = j->hours.group;
	j->r.n_groups = j->hours.n_groups;
}

void
joint_hours_part(struct joint *j, const uint32_t *basis)
{
	struct joint_hours *all = &j->hours;
	struct arena *a = arena_new();
	uint32_t *order = arena_array(a, all->n + 1, sizeof(*order)), *seen, *number, most = 0;
	size_t *first = arena_array(a, all->n_groups + 2, sizeof(*first)), n = 0;

	for (size_t h = 0; h < all->n; h++) {
		first[all->group[h] + 1]++;
		most = basis[h] > most ? basis[h] : most;
	}
	for (size_t g = 0; g < all->n_groups; g++)
		first[g + 1] += first[g];
	for (size_t h = 0; h < all->n; h++)
		order[first[all->group[h]]++] = (uint32_t)h;
	seen = arena_array(
	    a, (size_t)most + 1, sizeof(*seen)); /* the group + 1 that last had this basis */
	number = arena_array(a, (size_t)most + 1, sizeof(*number));
	for (size_t i = 0, g = 0; i < all->n; i++) {
		size_t h = order[i];

		while (i >= first[g])
			g++;
		if (seen[basis[h]] != g + 1) {
			seen[basis[h]] = (uint32_t)g + 1;
			number[basis[h]] = (uint32_t)n++;
		}
		all->group[h] = number[basis[h]];
	}
	all->n_groups = n;
	arena_free(a);
	hours_mean(j);
}
