/* What the owned commitments cover of a step's use: against the least cut, over all sets of series. */
#include <math.h>

#include "plan/cover.h"
#include "tests/tap.h"
#include "util/rng.h"

#define MOST 6

struct world {
	size_t n_owned, n_needs;
	bool serves[MOST * MOST];
	double usage[MOST], have[MOST], need[MOST];
};

/* Most GPUs that can be covered: the least, over every set of series, of what is owned and may serve
 * one of them and the use of the others. */
static double
least_cut(const struct world *w)
{
	double least = INFINITY;

	for (unsigned set = 0; set < 1u << w->n_needs; set++) {
		double cut = 0;

		for (size_t d = 0; d < w->n_needs; d++)
			cut += (set >> d & 1) ? 0 : w->need[d];
		for (size_t o = 0; o < w->n_owned; o++) {
			bool reached = false;

			for (size_t d = 0; d < w->n_needs; d++)
				reached |= (set >> d & 1) && w->serves[d * w->n_owned + o];
			cut += reached ? w->have[o] : 0;
		}
		least = fmin(least, cut);
	}
	return least;
}

static void
draw(struct rng *r, struct world *w)
{
	w->n_owned = (size_t)rng_below(r, MOST + 1);
	w->n_needs = (size_t)rng_below(r, MOST + 1);
	for (size_t i = 0; i < MOST; i++) {
		w->have[i] = (double)rng_below(r, 9) * (rng_below(r, 3) == 0 ? 0.37 : 1);
		w->need[i] = (double)rng_below(r, 9) * (rng_below(r, 3) == 0 ? 0.41 : 1);
		w->usage[i] = (double)rng_below(r, 3);
	}
	for (size_t i = 0; i < MOST * MOST; i++)
		w->serves[i] = rng_below(r, 2) == 0;
}

static bool
step_is_right(struct cover *c, const struct world *w)
{
	double used[MOST] = { 0 }, covered[MOST] = { 0 }, in = 0, out = 0;
	bool right = true;

	cover_step(c, w->have, w->need, used, covered);
	for (size_t o = 0; o < w->n_owned; o++) {
		right = right && used[o] >= 0 && used[o] <= w->have[o] + 1e-9;
		in += used[o];
	}
	for (size_t d = 0; d < w->n_needs; d++) {
		right = right && covered[d] >= 0 && covered[d] <= w->need[d] + 1e-9;
		out += covered[d];
	}
	return right && fabs(in - out) < 1e-6 && fabs(out - least_cut(w)) < 1e-6;
}

static void
random_worlds(void)
{
	struct arena *a = arena_new();
	struct rng r;
	int wrong = 0;

	rng_seed(&r, 7);
	for (int i = 0; i < 4000; i++) {
		struct world w;
		struct cover *c;

		draw(&r, &w);
		c = cover_new(a, w.n_owned, w.n_needs, w.serves, w.usage);
		for (int k = 0; k < 3; k++) { /* a step leaves nothing behind for the next */
			for (size_t d = 0; d < MOST; d++)
				w.need[d] = (double)rng_below(&r, 9);
			wrong += !step_is_right(c, &w);
		}
	}
	tap_ok(wrong == 0, "as much as can be is covered: 12,000 random steps against the least cut");
	arena_free(a);
}

static void
cheap_first(void)
{
	static const bool serves[] = { true, true };
	static const double usage[] = { 2, 0.5 }, have[] = { 4, 4 }, need[] = { 6 };
	struct arena *a = arena_new();
	struct cover *c = cover_new(a, 2, 1, serves, usage);
	double used[2], covered[1];

	cover_step(c, have, need, used, covered);
	tap_ok(fabs(used[1] - 4) < 1e-9 && fabs(used[0] - 2) < 1e-9,
	    "what asks least for its use serves first: %g of the dear, %g of the cheap", used[0],
	    used[1]);
	arena_free(a);
}

int
main(void)
{
	random_worlds();
	cheap_first();
	return tap_done();
}
