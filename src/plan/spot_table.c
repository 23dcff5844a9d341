#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "plan/spot_impl.h"
#include "util/arena.h"

#define SPOT_NEVER 1e12f
#define SPOT_BLOCK                                                                                 \
	16 /* loops run over whole blocks, so that the compiler makes vectors of them              \
	    */
#define SPOT_TABLE_MAX ((size_t)1 << 30)
#define SPOT_SURPRISE 0.05
#define SPOT_HOPS_MAX 0.9995        /* a deadline is not to hang on another zone */
#define SPOT_LASTS 0.2              /* chance that a run must have to outlive a launch twice */
#define SPOT_STATES (2 * SPOT_AGES) /* up by age, then down by age */

/*
 * Rows of actions over the work left, two bits each. Modes: 0 nothing; 1 + k spot with k changeover
 * ticks left; 1 + K + k on demand, K = changeover + 1. A job on spot in a down state has nothing.
 */
struct spot_table {
	struct spot_setting s;
	int modes, edge_up[SPOT_AGES - 1], edge_down[SPOT_AGES - 1];
	int surprise;            /* age from which an up run is too old for what was learned */
	size_t calm;             /* bucket whose runs end least */
	double leave[SPOT_AGES]; /* of up runs, a tick */
	size_t row_bytes, bytes;
	uint8_t *act; /* [deadline][modes][SPOT_STATES][row_bytes] */
};

/* Values of one time left; each row is [SPOT_BLOCK guard cells][work + 1, in whole blocks]. */
struct spot_values {
	float *v;
	size_t stride;
};

static float *
spot_row(const struct spot_values *x, int mode, size_t state)
{
	return x->v + ((size_t)mode * SPOT_STATES + state) * x->stride + SPOT_BLOCK;
}

static void
spot_expect(float *restrict e, const float *restrict stay, const float *restrict older,
    const float *restrict other, float c0, float c1, float c2, size_t blocks)
{
	for (size_t b = 0; b < blocks; b++)
		for (size_t i = 0; i < SPOT_BLOCK; i++) {
			size_t w = b * SPOT_BLOCK + i;

			e[w] = c0 * stay[w] + c1 * older[w] + c2 * other[w];
		}
}

/* Best of three; q: spot and on-demand values with their price added here. */
static void
spot_choose(float *restrict v, uint8_t *restrict act, const float *restrict wait,
    const float *restrict spot, const float *restrict on_demand, float price, bool up,
    size_t blocks)
{
	float wait_add = up ? 2 * SPOT_NEVER : 0, spot_add = up ? price : 2 * SPOT_NEVER;
	float best[SPOT_BLOCK];
	int32_t what[SPOT_BLOCK];

	for (size_t b = 0; b < blocks; b++) {
		for (size_t i = 0; i < SPOT_BLOCK; i++) {
			size_t w = b * SPOT_BLOCK + i;
			float qw = wait[w] + wait_add, qs = spot[w] + spot_add,
			      qo = on_demand[w] + 1;
			float m = qs <= qw ? qs : qw;

			what[i] = qo < m ? SPOT_ON_DEMAND : qs <= qw ? SPOT_TAKE : SPOT_WAIT;
			m = qo < m ? qo : m;
			best[i] = m < SPOT_NEVER ? m : SPOT_NEVER;
		}
		memcpy(v + b * SPOT_BLOCK, best, sizeof(best));
		for (size_t i = 0; i < SPOT_BLOCK / 4; i++)
			act[b * (SPOT_BLOCK / 4) + i] =
			    (uint8_t)(what[4 * i] | what[4 * i + 1] << 2 | what[4 * i + 2] << 4 |
				      what[4 * i + 3] << 6);
	}
}

struct spot_solver {
	struct spot_table *t;
	const struct spot_hazard *up, *down;
	struct spot_values v, e;
	struct spot_values lost; /* state 0 alone: next tick's value when the zone is lost, another
				    being up or none */
	size_t blocks; /* that matter at this time left: more work than time cannot be done */
};

static bool
spot_is_spot(const struct spot_table *t, int mode)
{
	return mode >= 1 && mode <= t->s.changeover + 1;
}

/* What a loss leads to in a mode without spot: another zone at an age of its own, or none. */
static void
spot_step_lost(struct spot_solver *x, int mode)
{
	float none = 1, *restrict out = spot_row(&x->lost, mode, 0);
	const float *restrict down = spot_row(&x->v, mode, SPOT_AGES);
	size_t n = x->blocks * SPOT_BLOCK;

	for (size_t b = 0; b < SPOT_AGES; b++)
		none -= (float)x->up->hop[b];
	for (size_t w = 0; w < n; w++)
		out[w] = none * down[w];
	for (size_t b = 0; b < SPOT_AGES; b++) {
		const float *restrict up = spot_row(&x->v, mode, b);
		float c = (float)x->up->hop[b];

		for (size_t w = 0; w < n && c > 0; w++)
			out[w] += c * up[w];
	}
}

/* e = expected value of the next tick, for each mode and state. */
static void
spot_step_expect(struct spot_solver *x)
{
	for (int m = 0; m < x->t->modes; m++)
		if (!spot_is_spot(x->t, m))
			spot_step_lost(x, m);
	for (int m = 0; m < x->t->modes; m++)
		for (size_t s = 0; s < SPOT_STATES; s++) {
			bool up = s < SPOT_AGES;
			const struct spot_hazard *h = up ? x->up : x->down;
			size_t b = up ? s : s - SPOT_AGES, older = b == SPOT_AGES - 1 ? s : s + 1;
			float leave = (float)h->leave[b],
			      on = (float)((1 - h->leave[b]) * h->older[b]);

			/* Spot is lost when its zone goes down: the job then has nothing. */
			if (!up && spot_is_spot(x->t, m))
				continue;
			spot_expect(spot_row(&x->e, m, s), spot_row(&x->v, m, s),
			    spot_row(&x->v, m, older),
			    up ? spot_row(&x->lost, spot_is_spot(x->t, m) ? 0 : m, 0)
			       : spot_row(&x->v, m, 0),
			    1 - leave - on, on, leave, x->blocks);
		}
}

static void
spot_step_choose(struct spot_solver *x, uint8_t *act)
{
	const struct spot_table *t = x->t;
	int od = t->s.changeover + 2; /* first on-demand mode */

	for (int m = 0; m < t->modes; m++)
		for (size_t s = 0; s < SPOT_STATES; s++) {
			bool up = s < SPOT_AGES, spot = spot_is_spot(t, m);
			int ks = spot ? m - 1 : t->s.changeover,
			    ko = m >= od ? m - od : t->s.changeover;
			const float *es = spot_row(&x->e, 1 + (ks > 0 ? ks - 1 : 0), up ? s : 0) -
					  (ks > 0 ? 0 : 1);
			const float *eo =
			    spot_row(&x->e, od + (ko > 0 ? ko - 1 : 0), s) - (ko > 0 ? 0 : 1);
			float *v = spot_row(&x->v, m, s);

			if (!up && spot)
				continue;
			spot_choose(v, act + ((size_t)m * SPOT_STATES + s) * t->row_bytes,
			    spot_row(&x->e, 0, s), es, eo, (float)t->s.price, up, x->blocks);
			v[0] = 0;
		}
}

/* A run that hardly one in twenty would have reached tells that times have changed: it counts as
 * the calmest there is. */
static void
spot_find_surprise(struct spot_table *t, const struct spot_hazard *up)
{
	double alive = 1;

	for (size_t b = 1; b < SPOT_AGES; b++)
		if (up->leave[b] <= up->leave[t->calm])
			t->calm = b;
	for (t->surprise = 0; alive > SPOT_SURPRISE && t->surprise < up->edge[SPOT_AGES - 2];
	     t->surprise++)
		alive *= 1 - up->leave[spot_bucket(t->surprise, up->edge)];
}

enum berth_code
spot_table_solve(const struct spot_setting *s, const struct spot_hazard *up,
    const struct spot_hazard *down, struct arena *a, struct spot_table **table_out,
    struct berth_err *err)
{
	struct spot_solver x = { .up = up, .down = down };
	struct spot_table *t;
	size_t rows, cells, blocks;
	double hops = 0;

	if (s->work < 1 || s->deadline < 1 || s->changeover < 0 || s->work > 1 << 20 ||
	    s->deadline > 1 << 20 || s->changeover > 1 << 12 || !(s->price >= 0) ||
	    !isfinite(s->price))
		return err_set(err, BERTH_EINVAL,
		    "spot policy: %d ticks of work, deadline %d, changeover %d, price %g", s->work,
		    s->deadline, s->changeover, s->price);
	for (size_t b = 0; b < SPOT_AGES; b++)
		hops += up->hop[b];
	if (!(hops <= SPOT_HOPS_MAX))
		return err_set(err, BERTH_EINVAL,
		    "spot policy: another zone is up with a chance of %g when one is lost", hops);
	t = arena_alloc(a, sizeof(*t));
	blocks = ((size_t)s->work + SPOT_BLOCK) / SPOT_BLOCK;
	t->s = *s;
	t->modes = 1 + 2 * (s->changeover + 1);
	t->row_bytes = blocks * (SPOT_BLOCK / 4);
	rows = (size_t)t->modes * SPOT_STATES;
	t->bytes = (size_t)s->deadline * rows * t->row_bytes;
	if (t->bytes > SPOT_TABLE_MAX)
		return err_set(err, BERTH_EINVAL,
		    "spot policy: a table of %zu MiB; take a longer tick", t->bytes >> 20);
	memcpy(t->edge_up, up->edge, sizeof(t->edge_up));
	memcpy(t->edge_down, down->edge, sizeof(t->edge_down));
	memcpy(t->leave, up->leave, sizeof(t->leave));
	t->act = arena_array(a, t->bytes, 1);
	x.t = t;
	x.v.stride = x.e.stride = (blocks + 1) * SPOT_BLOCK;
	cells = rows * x.v.stride;
	x.v.v = arena_array(a, cells, sizeof(float));
	x.e.v = arena_array(a, cells, sizeof(float));
	x.lost.stride = x.v.stride;
	x.lost.v = arena_array(a, cells, sizeof(float));
	for (size_t i = 0; i < cells; i++)
		x.v.v[i] = x.e.v[i] = SPOT_NEVER;
	for (int m = 0; m < t->modes; m++)
		for (size_t k = 0; k < SPOT_STATES; k++)
			spot_row(&x.v, m, k)[0] = 0;
	for (int left = 1; left <= s->deadline; left++) {
		size_t reach = ((size_t)left + 1 + SPOT_BLOCK) / SPOT_BLOCK;

		x.blocks = reach < blocks ? reach : blocks;
		spot_step_expect(&x);
		spot_step_choose(&x, t->act + (size_t)(left - 1) * rows * t->row_bytes);
	}
	spot_find_surprise(t, up);
	*table_out = t;
	return BERTH_OK;
}

size_t
spot_table_bytes(const struct spot_table *t)
{
	return t->bytes;
}

enum spot_action
spot_decide(const struct spot_table *t, int left, int work, enum spot_mode mode,
    int changeover_left, bool is_up, int age)
{
	int k = changeover_left < 0                 ? 0
		: changeover_left > t->s.changeover ? t->s.changeover
						    : changeover_left,
	    m = 0;
	size_t state = is_up ? spot_bucket(age, t->edge_up)
			     : SPOT_AGES + spot_bucket(age, t->edge_down),
	       row;

	if (is_up && age >= t->surprise && t->calm > state)
		state = t->calm;

	if (work <= 0)
		return SPOT_WAIT;
	if (left > t->s.deadline)
		left = t->s.deadline;
	if (work > t->s.work || work > left || left < 1)
		return SPOT_ON_DEMAND; /* beyond the table, or too late: the best that can be done
					*/
	if (mode == SPOT_HAS_SPOT && is_up)
		m = 1 + k;
	else if (mode == SPOT_HAS_ON_DEMAND)
		m = t->s.changeover + 2 + k;
	row = (((size_t)(left - 1) * (size_t)t->modes + (size_t)m) * SPOT_STATES + state) *
	      t->row_bytes;
	return (enum spot_action)(t->act[row + (size_t)work / 4] >> 2 * (work % 4) & 3);
}

double
spot_stand(double changeover, double price, bool on_demand, int vain, double owed)
{
	double over = owed + price * changeover + (on_demand ? changeover : 0) - changeover;

	/* More than what this launch itself would cost: earlier ones were lost. */
	if (over > (price + 1e-9) * changeover)
		return 2 * (changeover + over);
	return over > 1e-9 * changeover || vain >= SPOT_VAIN ? changeover : 0;
}

/* Is a run of this age likely to go on for a changeover, and as long again to pay for it? */
static bool
spot_lasts(const struct spot_table *t, int age)
{
	double alive = 1;

	for (int k = 0; k < 2 * t->s.changeover && alive >= SPOT_LASTS; k++)
		alive *= 1 - t->leave[spot_bucket(age + k, t->edge_up)];
	return alive >= SPOT_LASTS;
}

enum spot_action
spot_rule(const struct spot_table *t, const struct spot_now *n)
{
	bool believed = n->up && n->stood >= n->stand &&
			(!(n->stand > 0) || n->mode == SPOT_HAS_SPOT || spot_lasts(t, n->stood));

	return spot_decide(t, n->left, n->work, n->mode, n->changeover_left,
	    believed || n->mode == SPOT_HAS_SPOT, n->age);
}
