#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "plan/spot_impl.h"
#include "util/arena.h"

#define SPOT_NEVER 1e12f
#define SPOT_VEC 4               /* floats that are reckoned at once ... */
#define SPOT_TILE (4 * SPOT_VEC) /* ... in rows of so many */
#define SPOT_TABLE_MAX ((size_t)1 << 30)
#define SPOT_HOPS_MAX 0.9995        /* a deadline is not to hang on another zone */
#define SPOT_LASTS 0.2              /* chance that a run must have to outlive a launch twice ... */
#define SPOT_ZONE_LASTS 0.6         /* ... where it is that of its own zone */
#define SPOT_STATES (2 * SPOT_AGES) /* up by age, then down by age */

/*
 * Whether to be on demand, for each time left and each time to spare, which is what is left beyond
 * the work. A tick that brings work leaves the time to spare as it is, any other takes one of it;
 * so a job stays within what it begins with, and only that is solved. A tile is SPOT_TILE times to
 * spare, a bit each, through all times left with 1 to s.work ticks of work.
 *
 * Rows: nothing [SPOT_STATES]; on spot by changeover ticks left [changeover][SPOT_AGES] (a job on
 * spot in a down state has nothing); on demand [changeover][SPOT_STATES]. A machine with its whole
 * changeover to come is as good as none.
 */
struct spot_table {
	struct spot_setting s;
	int edge_up[SPOT_AGES - 1], edge_down[SPOT_AGES - 1];
	int surprise;            /* age from which an up run is too old for what was learned */
	size_t calm;             /* bucket whose runs end least */
	double leave[SPOT_AGES]; /* of up runs, a tick */
	size_t rows, bytes;
	uint16_t **tile; /* [tiles][times left][rows] */
};

/* The first of a mode's rows. */
static inline size_t
spot_row(const struct spot_setting *s, enum spot_mode mode, size_t changeover_left)
{
	size_t d = (size_t)s->changeover;

	if (mode == SPOT_NOTHING || changeover_left >= d)
		return 0;
	return mode == SPOT_HAS_SPOT ? SPOT_STATES + changeover_left * SPOT_AGES
				     : SPOT_STATES + d * SPOT_AGES + changeover_left * SPOT_STATES;
}

typedef float spot_vec __attribute__((vector_size(SPOT_VEC * sizeof(float))));
typedef int32_t spot_mask __attribute__((vector_size(SPOT_VEC * sizeof(int32_t))));

/* Costs of the rest of the work in one row of a tile, from v[SPOT_VEC] on; before them that of one
 * less to spare. */
struct spot_cells {
	float v[SPOT_VEC + SPOT_TILE];
};

struct spot_odds {
	float stay, older, other;
};

struct spot_solver {
	struct spot_table *t;
	struct spot_odds odds[SPOT_STATES];
	float hop[SPOT_AGES], none;     /* what a loss leads to */
	struct spot_cells *now, *later; /* [rows] at this time left, at one less */
	struct spot_cells *lost;        /* [1 + changeover] later, where the zone is lost: with
					   nothing, on demand by changeover ticks left */
	float *edge;                    /* [times left][rows] the last cells of the tile before */
};

/* Where a tick leads: its price, and whether it brings work. */
struct spot_way {
	const float *stay, *older, *other;
	struct spot_odds odds;
	float price;
};

/* mode: the job's in this tick, with so many ticks of its changeover to come. */
static inline struct spot_way
spot_way(const struct spot_solver *x, size_t state, enum spot_mode mode, size_t changeover_left)
{
	const struct spot_setting *s = &x->t->s;
	bool works = mode != SPOT_NOTHING && changeover_left == 0, up = state < SPOT_AGES;
	size_t k = changeover_left > 0 ? changeover_left - 1 : 0,
	       at = works ? SPOT_VEC : SPOT_VEC - 1,
	       older = state % SPOT_AGES == SPOT_AGES - 1 ? state : state + 1;
	const struct spot_cells *row = x->later + spot_row(s, mode, k),
				*lost =
				    x->lost +
				    (mode == SPOT_HAS_ON_DEMAND && k < (size_t)s->changeover ? 1 + k
											     : 0);

	return (struct spot_way){ .stay = row[state].v + at,
		.older = row[older].v + at,
		.other = (up ? lost : row)->v + at,
		.odds = x->odds[state],
		.price = mode == SPOT_HAS_SPOT        ? (float)s->price
			 : mode == SPOT_HAS_ON_DEMAND ? 1
						      : 0 };
}

/* SPOT_TILE cells; by name, as compilers keep those in registers. */
struct spot_costs {
	spot_vec a, b, c, d;
};

static inline spot_vec
spot_expect_at(const struct spot_way *y, size_t i)
{
	spot_vec stay, older, other;

	memcpy(&stay, y->stay + i, sizeof(stay));
	memcpy(&older, y->older + i, sizeof(older));
	memcpy(&other, y->other + i, sizeof(other));
	return y->odds.stay * stay + y->odds.older * older + y->odds.other * other + y->price;
}

static inline void
spot_expect(const struct spot_way *y, struct spot_costs *out)
{
	out->a = spot_expect_at(y, 0);
	out->b = spot_expect_at(y, SPOT_VEC);
	out->c = spot_expect_at(y, 2 * SPOT_VEC);
	out->d = spot_expect_at(y, 3 * SPOT_VEC);
}

/* Returns bit << 4 * lane where the first is less. */
static inline spot_mask
spot_lesser(spot_vec x, spot_vec y, float *out, int32_t bit)
{
	spot_mask less = x < y, v = ((spot_mask)x & less) | ((spot_mask)y & ~less);
	const spot_mask bits = { bit, bit << 4, bit << 8, bit << 12 };

	memcpy(out, &v, sizeof(v));
	return less & bits;
}

/* The lesser; returns a bit for each cell where that is on demand: see spot_bit(). */
static inline uint16_t
spot_choose(
    const struct spot_costs *on_demand, const struct spot_costs *instead, struct spot_cells *out)
{
	float *v = out->v + SPOT_VEC;
	spot_mask bits = spot_lesser(on_demand->a, instead->a, v, 1) |
			 spot_lesser(on_demand->b, instead->b, v + SPOT_VEC, 2) |
			 spot_lesser(on_demand->c, instead->c, v + 2 * SPOT_VEC, 4) |
			 spot_lesser(on_demand->d, instead->d, v + 3 * SPOT_VEC, 8);
	uint64_t half[2];

	memcpy(half, &bits, sizeof(bits));
	half[0] |= half[1];
	return (uint16_t)(half[0] | half[0] >> 32);
}

static size_t
spot_bit(size_t cell)
{
	return cell % SPOT_VEC * 4 + cell / SPOT_VEC;
}

/* One state at one time left, in all modes. */
static void
spot_step_state(struct spot_solver *x, size_t state, uint16_t *act)
{
	const struct spot_setting *s = &x->t->s;
	size_t d = (size_t)s->changeover, row;
	bool up = state < SPOT_AGES;
	struct spot_way way = spot_way(x, state, SPOT_HAS_ON_DEMAND, d);
	struct spot_costs launch, instead, keep;

	spot_expect(&way, &launch);
	way = spot_way(x, state, up ? SPOT_HAS_SPOT : SPOT_NOTHING, d); /* never waits while up */
	spot_expect(&way, &instead);
	act[state] = spot_choose(&launch, &instead, &x->now[state]);
	for (size_t k = 0; k < d; k++) {
		if (up) {
			row = spot_row(s, SPOT_HAS_SPOT, k) + state;
			way = spot_way(x, state, SPOT_HAS_SPOT, k);
			spot_expect(&way, &keep);
			act[row] = spot_choose(&launch, &keep, &x->now[row]);
		}
		row = spot_row(s, SPOT_HAS_ON_DEMAND, k) + state;
		way = spot_way(x, state, SPOT_HAS_ON_DEMAND, k);
		spot_expect(&way, &keep);
		act[row] = spot_choose(&keep, &instead, &x->now[row]);
	}
}

/* What a loss leads to in a mode without spot: another zone at an age of its own, or none. */
static void
spot_step_lost(struct spot_solver *x, const struct spot_cells *row, struct spot_cells *out)
{
	const size_t n = SPOT_VEC + SPOT_TILE;

	for (size_t i = SPOT_VEC - 1; i < n; i++)
		out->v[i] = x->none * row[SPOT_AGES].v[i];
	for (size_t b = 0; b < SPOT_AGES; b++)
		for (size_t i = SPOT_VEC - 1; i < n && x->hop[b] > 0; i++)
			out->v[i] += x->hop[b] * row[b].v[i];
}

static void
spot_step(struct spot_solver *x, uint16_t *act)
{
	struct spot_cells *later = x->now;

	x->now = x->later;
	x->later = later;
	spot_step_lost(x, later, &x->lost[0]);
	for (size_t k = 0; k < (size_t)x->t->s.changeover; k++)
		spot_step_lost(
		    x, later + spot_row(&x->t->s, SPOT_HAS_ON_DEMAND, k), &x->lost[1 + k]);
	for (size_t state = 0; state < SPOT_STATES; state++)
		spot_step_state(x, state, act);
}

/* Times left of a tile: from one more than its first time to spare to this. */
static size_t
spot_tile_last(const struct spot_setting *s, size_t first)
{
	size_t last = first + SPOT_TILE - 1 + (size_t)s->work;

	return last < (size_t)s->deadline ? last : (size_t)s->deadline;
}

static void
spot_solve_tile(struct spot_solver *x, size_t first, uint16_t *act)
{
	size_t rows = x->t->rows, last = spot_tile_last(&x->t->s, first);

	memset(x->now, 0, rows * sizeof(*x->now)); /* no work is left */
	for (size_t r = 0; r < rows; r++)
		x->now[r].v[SPOT_VEC - 1] = x->edge[first * rows + r];
	for (size_t left = first + 1; left <= last; left++, act += rows) {
		float *edge = x->edge + left * rows;

		spot_step(x, act);
		for (size_t r = 0; r < rows; r++) {
			float *v = x->now[r].v;

			for (size_t u = left - first; u < SPOT_TILE; u++)
				v[SPOT_VEC + u] = 0;
			v[SPOT_VEC - 1] = edge[r];
			edge[r] = v[SPOT_VEC + SPOT_TILE - 1];
		}
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

/* The chances of the next tick by state. */
static void
spot_find_odds(struct spot_solver *x, const struct spot_hazard *up, const struct spot_hazard *down)
{
	x->none = 1;
	for (size_t s = 0; s < SPOT_STATES; s++) {
		const struct spot_hazard *h = s < SPOT_AGES ? up : down;
		size_t b = s % SPOT_AGES;
		float leave = (float)h->leave[b], on = (float)((1 - h->leave[b]) * h->older[b]);

		x->odds[s] = (struct spot_odds){ 1 - leave - on, on, leave };
	}
	for (size_t b = 0; b < SPOT_AGES; b++) {
		x->hop[b] = (float)up->hop[b];
		x->none -= x->hop[b];
	}
}

/* Room for the actions, tile by tile. */
static enum berth_code
spot_table_room(struct spot_table *t, struct arena *a, struct berth_err *err)
{
	size_t spare = (size_t)(t->s.deadline - t->s.work), tiles = spare / SPOT_TILE + 1;

	t->rows = SPOT_STATES + (size_t)t->s.changeover * (SPOT_AGES + SPOT_STATES);
	for (size_t i = 0; i < tiles; i++)
		t->bytes += (spot_tile_last(&t->s, i * SPOT_TILE) - i * SPOT_TILE) * t->rows *
			    sizeof(**t->tile);
	if (t->bytes > SPOT_TABLE_MAX)
		return err_set(err, BERTH_EINVAL,
		    "spot policy: a table of %zu MiB; take a longer tick", t->bytes >> 20);
	t->tile = arena_array(a, tiles, sizeof(*t->tile));
	for (size_t i = 0; i < tiles; i++)
		t->tile[i] = arena_array(a, spot_tile_last(&t->s, i * SPOT_TILE) - i * SPOT_TILE,
		    t->rows * sizeof(**t->tile));
	return BERTH_OK;
}

static void
spot_solve(struct spot_solver *x)
{
	const struct spot_setting *s = &x->t->s;
	struct arena *scratch = arena_new();
	size_t rows = x->t->rows, edges = ((size_t)s->deadline + 1) * rows,
	       spare = (size_t)(s->deadline - s->work);

	x->now = arena_array(scratch, rows, sizeof(*x->now));
	x->later = arena_array(scratch, rows, sizeof(*x->later));
	x->lost = arena_array(scratch, 1 + (size_t)s->changeover, sizeof(*x->lost));
	x->edge = arena_array(scratch, edges, sizeof(*x->edge));
	for (size_t i = 0; i < edges; i++)
		x->edge[i] = SPOT_NEVER; /* more work than time */
	for (size_t first = 0; first <= spare; first += SPOT_TILE)
		spot_solve_tile(x, first, x->t->tile[first / SPOT_TILE]);
	arena_free(scratch);
}

enum berth_code
spot_table_solve(const struct spot_setting *s, const struct spot_hazard *up,
    const struct spot_hazard *down, struct arena *a, struct spot_table **table_out,
    struct berth_err *err)
{
	struct spot_solver x = { 0 };
	struct spot_table *t;
	double hops = 0;
	enum berth_code rc;

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
	t->s = *s;
	if (t->s.deadline < s->work)
		t->s.deadline = s->work;
	rc = spot_table_room(t, a, err);
	if (rc != BERTH_OK)
		return rc;
	memcpy(t->edge_up, up->edge, sizeof(t->edge_up));
	memcpy(t->edge_down, down->edge, sizeof(t->edge_down));
	memcpy(t->leave, up->leave, sizeof(t->leave));
	spot_find_surprise(t, up);
	x.t = t;
	spot_find_odds(&x, up, down);
	spot_solve(&x);
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
	size_t state = is_up ? spot_bucket(age, t->edge_up)
			     : SPOT_AGES + spot_bucket(age, t->edge_down),
	       row, spare, at;

	if (is_up && age >= t->surprise && t->calm > state)
		state = t->calm;
	if (work <= 0)
		return SPOT_WAIT;
	if (work > t->s.work || work > left)
		return SPOT_ON_DEMAND; /* beyond the table, or too late: the best that can be done
					*/
	if (mode == SPOT_HAS_SPOT && !is_up)
		mode = SPOT_NOTHING;
	spare = (size_t)(left - work);
	if (spare > (size_t)(t->s.deadline - t->s.work))
		spare = (size_t)(t->s.deadline - t->s.work);
	at = spare + (size_t)work - spare / SPOT_TILE * SPOT_TILE - 1;
	row = spot_row(&t->s, mode, changeover_left < 0 ? 0 : (size_t)changeover_left) + state;
	if (t->tile[spare / SPOT_TILE][at * t->rows + row] >> spot_bit(spare % SPOT_TILE) & 1)
		return SPOT_ON_DEMAND;
	return is_up ? SPOT_TAKE : SPOT_WAIT;
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
			(!(n->stand > 0) || n->mode == SPOT_HAS_SPOT ||
			    (n->lasts > 0 ? n->lasts >= SPOT_ZONE_LASTS : spot_lasts(t, n->stood)));

	return spot_decide(t, n->left, n->work, n->mode, n->changeover_left,
	    believed || n->mode == SPOT_HAS_SPOT, n->age);
}
