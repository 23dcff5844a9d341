/* forecast/walk.c - how the level of demand goes on moving over weeks and months.  Floor: domain.
 *
 * Rolling origins see some weeks ahead, and on a short history all of them the same few weeks, so
 * that their errors alone are too sure of the level further on. Each path therefore walks: week by
 * week its level changes as the mean of a past week did from the one before, at the same past
 * instant in all series, and up as likely as down.
 */
#include "forecast/fc.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define WALK_MOST                                                                                  \
	0.69314718055994531 /* log: no week changes the level by more than a factor of 2 */
#define WALK_LEAST 0.02     /* of the mean level: weeks of less count as so much */
#define WALK_MEANS                                                                                 \
	1.2247448713915890 /* sqrt(3/2): means of neighbouring weeks of a random walk vary by 2/3  \
			      of what it does in one */
enum {
	WALK_CHANGES = 7
}; /* of a week, a day apart: with fewer, which is less than three weeks of history, the pool's */

void
fc_moves(struct fc_job *j)
{
	size_t week = j->cycle, apart = week >= 7 ? week / 7 : 1;
	double *cum = arena_array(j->tmp, j->n + 1, sizeof(*cum)),
	       least = WALK_LEAST * j->level * (double)week, sum = 0;

	j->move = arena_array(j->a, j->n / apart + 1, sizeof(*j->move));
	for (size_t i = 0; i < j->n; i++)
		cum[i + 1] = cum[i] + j->y[i];
	for (size_t end = j->n; end >= 2 * week && least > 0; end -= apart) {
		double now = cum[end] - cum[end - week],
		       before = cum[end - week] - cum[end - 2 * week], change;

		change = log(fmax(now, least) / fmax(before, least));
		change = fmax(-WALK_MOST, fmin(WALK_MOST, change));
		j->move[j->n_move++] = change;
		sum += change * change;
	}
	if (j->n_move > 0)
		j->move_rms = sqrt(sum / (double)j->n_move);
}

size_t
fc_walk_weeks(const struct fc_job *j)
{
	return (j->h + j->cycle - 1) / j->cycle;
}

/* What the changes of past weeks are multiplied by: their size becomes the geometric mean of the
 * series' own and the pool's. */
static double
walk_scale(const struct fc_job *j, const struct fc_pool *pool)
{
	size_t a_week = j->cycle < WALK_CHANGES ? j->cycle : WALK_CHANGES;
	double weeks = (double)j->n_move / (double)a_week;

	if (!(j->move_rms > 0))
		return 1;
	return pow(pool->move / j->move_rms, fc_tuning.move_own / (weeks + fc_tuning.move_own));
}

void
fc_walk(const struct fc_job *j, const struct fc_pool *pool, struct rng *shared, struct rng *own,
    double *out)
{
	bool known = j->n_move >= WALK_CHANGES;
	double at = 0, scale = WALK_MEANS * (known ? walk_scale(j, pool) : pool->move),
	       power = 2 * fc_tuning.move_grow;

	for (size_t w = 0; w < fc_walk_weeks(j); w++) {
		double u = rng_unit(shared), side = rng_unit(shared) < 0.5 ? -1 : 1,
		       change = rng_normal(own);

		if (known)
			change = side * j->move[(size_t)(u * (double)j->n_move)];
		at += scale * sqrt(pow((double)(w + 1), power) - pow((double)w, power)) * change;
		out[w] = at;
	}
}
