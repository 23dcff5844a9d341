#include <math.h>
#include <string.h>

#include "plan/schedule_tree.h"
#include "util/arena.h"

#define RULES_NODES 40000
#define RULES_TIGHT 1e-11
#define RULES_ROUND 20        /* nodes after which counts near the program's are tried */
#define RULES_CUT_ROUNDS 20   /* of cuts */
#define RULES_CUT_WORK 0.1    /* parts of the work for those */
#define RULES_CUT_STILL 3     /* rounds that hardly raise the bound, after which it ends */
#define RULES_CUT_LITTLE 0.02 /* of what the first raised the bound by */
#define RULES_LOOK                                                                                 \
	0.125 /* parts of the work after which it goes on only if the gap fell by one              \
	       */

bool
rules_better(const struct rules *s, double usd)
{
	return isinf(s->best_usd) || usd < s->best_usd - RULES_PROVEN * fabs(s->best_usd);
}

/* May there be something better, that is looked for, where nothing costs less than this? */
static bool
search_open(const struct rules *s, double usd)
{
	return rules_better(s, usd) && usd < s->enough;
}

/* The tangent of a piece of a stretch, of the last rules_at(). */
static void
search_note(struct rules *s, size_t t, size_t piece)
{
	const struct rules_piece *p = &s->piece[piece];
	size_t at = t * s->n_pieces + piece;
	struct rules_cut cut = { arena_array(s->a, s->n_columns + 1, sizeof(double)),
		arena_array(s->a, s->n_quotas + 1, sizeof(double)),
		arena_memdup(s->a, s->now, (s->n_columns + 1) * sizeof(double)), SIZE_MAX };
	double b = -s->piece_usd[piece];

	for (size_t c = 0; c < s->n_columns; c++) {
		if (p->member == s->n)
			cut.slope[c] = s->at.slope[c] * s->hours[t];
		else if (rules_serves(s, p, c))
			cut.slope[c] = s->piece_slope[piece] * s->column[c].gpus;
		b += cut.slope[c] * s->now[c];
	}
	cut.slope[s->n_columns] = b;
	for (size_t q = 0; q < s->n_quotas && p->member == s->n; q++)
		cut.saves[q] = s->at.saves[q] * s->hours[t];
	for (size_t k = 0; k < s->cut[at].n; k++) {
		const double *was = s->cut[at].v[k].slope;
		size_t c = 0;

		while (c <= s->n_columns &&
		       fabs(was[c] - cut.slope[c]) <= 1e-13 * (fabs(was[c]) + fabs(b)))
			c++;
		if (c > s->n_columns)
			return;
	}
	VEC_PUSH(s->a, &s->cut[at], cut);
}

void
rules_note(struct rules *s, size_t t)
{
	for (size_t k = 0; k < s->n_pieces; k++)
		search_note(s, t, k);
}

/* The known tangent of a piece of a stretch that says most at s->x, if that is more than the
 * program has. */
static bool
search_cut(struct rules *s, size_t t, size_t piece, double guess, double tight)
{
	size_t at = t * s->n_pieces + piece;
	struct rules_cut *best = NULL;
	double most = guess + tight, *row;

	memset(s->now, 0, (s->n_columns + 1) * sizeof(*s->now));
	for (size_t j = 0; j < s->n_offers; j++)
		if (s->x[j] != 0 && rules_runs(s, j, t))
			s->now[s->offer[j].column] += s->x[j];
	for (size_t k = 0; k < s->cut[at].n; k++) {
		struct rules_cut *cut = &s->cut[at].v[k];
		double usd = -cut->slope[s->n_columns];

		for (size_t c = 0; c < s->n_columns; c++)
			usd += cut->slope[c] * s->now[c];
		if (cut->row != SIZE_MAX || usd <= most)
			continue;
		most = usd;
		best = cut;
	}
	if (best == NULL)
		return false;
	row = rules_zeroes(s);
	for (size_t j = 0; j < s->n_offers; j++)
		row[j] = rules_runs(s, j, t) ? best->slope[s->offer[j].column] : 0;
	row[s->first_usd + at] = -1;
	best->row = linear_row(&s->lp, row, best->slope[s->n_columns]);
	s->in++;
	return true;
}

/* Rows that do not bind, but for those of the rules and the cuts that are held, go out of the
 * program. */
static void
search_drop(struct rules *s)
{
	size_t *now = arena_array(s->a, s->lp.m, sizeof(*now));

	linear_drop(&s->lp, s->held, now);
	s->in = 0;
	for (size_t t = 0; t < s->stretches * s->n_pieces; t++)
		for (size_t k = 0; k < s->cut[t].n; k++) {
			struct rules_cut *cut = &s->cut[t].v[k];

			if (cut->row != SIZE_MAX)
				cut->row = now[cut->row];
			s->in += cut->row != SIZE_MAX;
		}
	for (size_t k = 0; k < s->n_sums; k++)
		if (s->sum[k].row != SIZE_MAX)
			s->sum[k].row = now[s->sum[k].row];
}

/* ... when they are many. */
static void
search_slim(struct rules *s)
{
	if (s->in >= 4 * s->stretches * s->n_pieces + 60)
		search_drop(s);
}

/* Cost of whole purchases, with tangents there; kept if it is the least. */
static bool
search_take(struct rules *s, const double *x)
{
	double usd = 0;

	for (size_t j = 0; j < s->n_offers; j++)
		usd += x[j] * s->lp.cost[j];
	for (size_t t = 0; t < s->stretches; t++) {
		usd += rules_at(s, t, x);
		rules_note(s, t);
	}
	if (!(usd < s->best_usd))
		return false;
	s->best_usd = usd;
	memcpy(s->best, x, s->n_offers * sizeof(*x));
	return true;
}

/* What cannot be part of anything better is out: by the bound of the first program and its slopes.
 */
static void
search_tighten(struct rules *s)
{
	double room = s->best_usd - s->root_usd;

	for (size_t j = 0; j < s->n_offers && isfinite(room) && room >= 0; j++) {
		double slope = s->root_slope[j],
		       by = fabs(slope) > 0 ? floor(room / fabs(slope) + 1e-6) : INFINITY;

		if (slope > 0)
			s->most[j] = fmin(s->most[j], by);
	}
}

bool
rules_try(struct rules *s, const double *x)
{
	for (size_t j = 0; j < s->n_offers; j++)
		if (x[j] < s->least[j] || x[j] > s->most[j])
			return false;
	return rules_keep(s, x) && search_take(s, x);
}

/* What the program says of a piece's cost. */
static double
search_guess(const struct rules *s, size_t t, size_t piece)
{
	return linear_value(&s->lp, s->first_usd + t * s->n_pieces + piece);
}

/* Tangents of what guides, where that says more than the program does of what it guides. */
static bool
search_guided(struct rules *s, size_t t, double scale)
{
	double sum = s->n_hours > 1 ? rules_guides(s, t, s->x) : 0, guess = 0;
	bool any = false;

	for (size_t k = 0; k < s->n_pieces; k++)
		guess += s->piece[k].member == s->n ? search_guess(s, t, k) : 0;
	for (size_t k = 0; k < s->n_pieces && sum > guess + RULES_TIGHT * (guess + scale); k++) {
		double is = search_guess(s, t, k), tight = RULES_TIGHT * (fabs(is) + scale);

		if (!s->piece[k].guide || s->piece_usd[k] <= is + tight)
			continue;
		search_note(s, t, k);
		any = search_cut(s, t, k, is, tight / 2) || any;
	}
	return any;
}

/* Tangents for one stretch at s->x, those that are known first. *off: by how much its cost is more
 * than the program says. True: there are some. */
static bool
search_stretch(struct rules *s, size_t t, double usd, double *off)
{
	double scale = fabs(usd) / (double)(s->stretches * s->n_pieces);
	bool any = search_guided(s, t, scale);

	for (size_t k = 0; k < s->n_pieces; k++) {
		double guess = search_guess(s, t, k);

		if (s->piece[k].guide)
			continue;
		any = search_cut(s, t, k, guess, 1000 * RULES_TIGHT * (fabs(guess) + scale)) || any;
	}
	if (any) {
		*off = INFINITY;
		return true;
	}
	rules_at(s, t, s->x);
	for (size_t k = 0; k < s->n_pieces; k++) {
		double guess = search_guess(s, t, k), tight = RULES_TIGHT * (fabs(guess) + scale);

		if (s->piece[k].guide)
			continue;
		*off += fmax(0, s->piece_usd[k] - guess);
		if (s->piece_usd[k] <= guess + tight)
			continue;
		search_note(s, t, k);
		any = search_cut(s, t, k, guess, tight / 2) || any;
	}
	return any;
}

enum search_end {
	SEARCH_EMPTY,
	SEARCH_SOLVED, /* or cut short, by what is known or by the work */
	SEARCH_STUCK   /* the program could not be solved, and s->x is of none */
};

/*
 * Tangents until the program stands on the hours' cost, or cannot be better than what is known.
 * *usd: no counts within the bounds cost less.
 */
static enum search_end
search_converge(struct rules *s, double *usd)
{
	*usd = -INFINITY;
	while (s->work < s->work_max) {
		size_t pivots = s->lp.all_pivots;
		double off = 0;
		bool any = false;
		enum linear_end end = linear_solve(&s->lp);

		s->work +=
		    (double)(s->lp.all_pivots - pivots + 1) * (double)s->lp.m * (double)s->lp.n;
		if (end != LINEAR_SOLVED)
			return end == LINEAR_EMPTY ? SEARCH_EMPTY : SEARCH_STUCK;
		*usd = fmax(*usd, linear_lower(&s->lp));
		for (size_t j = 0; j < s->n_offers; j++)
			s->x[j] = linear_value(&s->lp, j);
		if (!search_open(s, *usd))
			return SEARCH_SOLVED;
		for (size_t t = 0; t < s->stretches; t++)
			any = search_stretch(s, t, *usd, &off) || any;
		if (!any || off <= RULES_TIGHT * fabs(*usd))
			return SEARCH_SOLVED;
	}
	return SEARCH_SOLVED;
}

static void
search_round(struct rules *s)
{
	double *x = arena_array(s->a, s->n_offers + 1, sizeof(*x)),
	       *from = arena_memdup(s->a, s->x, (s->n_offers + 1) * sizeof(*x));

	for (int way = 0; way < 3; way++) {
		for (size_t j = 0; j < s->n_offers; j++)
			x[j] = way == 0   ? round(from[j])
			       : way == 1 ? floor(from[j] + RULES_WHOLE)
					  : ceil(from[j] - RULES_WHOLE);
		rules_try(s, x);
	}
	rules_polish(s);
}

/* The purchase whose count may still be most; n_offers: all are held. */
static size_t
search_widest(const struct rules *s)
{
	size_t best = s->n_offers;
	double most = 0;

	for (size_t j = 0; j < s->n_offers; j++) {
		if (s->node_hi[j] - s->node_lo[j] <= most)
			continue;
		most = s->node_hi[j] - s->node_lo[j];
		best = j;
	}
	return best;
}

/* The bound of the program as it is now, for all nodes, and its slopes. */
static void
search_root(struct rules *s, double usd)
{
	double least = linear_lower(&s->lp); /* leaves the slopes in lp.sum */

	s->root_usd = fmin(usd, least);
	for (size_t j = 0; j < s->n_offers; j++)
		s->root_slope[j] = s->lp.sum[j];
}

/* What one more of each limit would save, by the first program. */
static void
search_prices(struct rules *s)
{
	if (!isnan(s->budget))
		s->budget_price = linear_price(&s->lp, s->budget_row);
	memset(s->price, 0, s->n_quotas * sizeof(*s->price));
	for (size_t r = 0; r < s->rows; r++)
		if (s->row.v[r].quota != SIZE_MAX)
			s->price[s->row.v[r].quota] += linear_price(&s->lp, r);
	for (size_t t = 0; t < s->stretches * s->n_pieces; t++)
		for (size_t k = 0; k < s->cut[t].n; k++)
			for (size_t q = 0; q < s->n_quotas && s->cut[t].v[k].row != SIZE_MAX; q++)
				s->price[q] += linear_price(&s->lp, s->cut[t].v[k].row) *
					       s->cut[t].v[k].saves[q];
}

/* Cuts, for as long as they raise the bound, which all nodes have then. */
static enum search_end
search_cuts(struct rules *s, double *usd)
{
	enum search_end end = SEARCH_SOLVED;
	double first = 0, until = s->work + RULES_CUT_WORK * s->work_max;
	int still = 0;

	for (int k = 0; k < RULES_CUT_ROUNDS && still < RULES_CUT_STILL && end == SEARCH_SOLVED &&
			search_open(s, *usd) && s->work < fmin(until, s->work_max);
	     k++) {
		double now;

		if (rules_cuts(s) == 0)
			break;
		end = search_converge(s, &now);
		if (end != SEARCH_SOLVED)
			break;
		first = fmax(first, now - *usd);
		still = now - *usd > RULES_CUT_LITTLE * first ? 0 : still + 1;
		if (now > *usd)
			search_root(s, now);
		search_drop(s);
		*usd = fmax(*usd, now);
	}
	s->held = s->lp.m;
	return end;
}

/* A program that could not be solved begins again, without its cuts and tangents. */
static enum search_end
search_again(struct rules *s, const struct rules_node *node, double *usd)
{
	linear_cut_back(&s->lp, s->rows);
	s->held = s->rows;
	s->in = 0;
	for (size_t t = 0; t < s->stretches * s->n_pieces; t++)
		for (size_t k = 0; k < s->cut[t].n; k++)
			s->cut[t].v[k].row = SIZE_MAX;
	for (size_t k = 0; k < s->n_sums; k++)
		s->sum[k].row = SIZE_MAX;
	return rules_bounds(s, node) ? search_converge(s, usd) : SEARCH_EMPTY;
}

/* Purchases that are held: what they are is all that there is in the node. */
static bool
search_held(struct rules *s)
{
	memcpy(s->x, s->node_lo, s->n_offers * sizeof(*s->x));
	if (rules_keep(s, s->x))
		search_take(s, s->x);
	return false;
}

/* A node whose program could not be solved is halved. True: it was. */
static bool
search_halve(struct rules *s, struct rules_node *node, struct rules_stack *stack)
{
	size_t j = search_widest(s);

	if (j == s->n_offers)
		return search_held(s);
	rules_branch(s, node, j, floor((s->node_lo[j] + s->node_hi[j]) / 2), false, stack);
	return true;
}

/*
 * A node whose counts are whole, or nearly: done if, as whole numbers, they keep the rows and cost
 * what its program says. Where they do not, by what they were off, there may be others. True: it
 * was parted for those.
 */
static bool
search_whole(struct rules *s, struct rules_node *node, struct rules_stack *stack)
{
	size_t off = search_widest(s);
	double most = 0, at;

	if (off == s->n_offers)
		return search_held(s);
	for (size_t j = 0; j < s->n_offers; j++) {
		at = round(s->x[j]);
		if (fabs(s->x[j] - at) > most && s->node_hi[j] > s->node_lo[j]) {
			most = fabs(s->x[j] - at);
			off = j;
		}
		s->x[j] = at;
	}
	if (rules_keep(s, s->x) && search_take(s, s->x))
		rules_polish(s);
	if (!search_open(s, node->usd))
		return false;
	at = fmin(fmax(s->x[off], s->node_lo[off] + 1), s->node_hi[off]);
	rules_branch(s, node, off, at - 1, true, stack);
	return true;
}

/* What the first node is asked beside its own bound. */
static enum search_end
search_first(struct rules *s, double *usd)
{
	search_root(s, *usd);
	search_prices(s);
	if (s->n_hours > 1 && !s->given)
		s->first = fmax(s->first, rules_price_single(s, s->x, true));
	return search_cuts(s, usd);
}

/* One node: its program, then its two branches. True: it was branched. */
static bool
search_node(struct rules *s, struct rules_node *node, size_t count, struct rules_stack *stack)
{
	double usd, at = 0;
	size_t what;
	bool up = false;
	enum search_end end;

	if (!search_open(s, node->usd) || !rules_bounds(s, node))
		return false;
	end = search_converge(s, &usd);
	if (count == 0 && end == SEARCH_SOLVED)
		end = search_first(s, &usd);
	if (end == SEARCH_SOLVED && search_open(s, usd) && count % RULES_ROUND == 0 &&
	    s->work < s->work_max) {
		search_round(s);
		search_tighten(s);
		if (!rules_bounds(s, node))
			return false;
		end = search_converge(s, &usd);
	}
	if (end == SEARCH_STUCK && s->lp.m > s->rows)
		end = search_again(s, node, &usd);
	if (end == SEARCH_EMPTY || !search_open(s, usd))
		return false;
	search_slim(s);
	node->usd = fmax(node->usd, usd);
	if (s->work >= s->work_max) {
		stack->v[stack->n++] = node;
		return false;
	}
	if (end == SEARCH_STUCK)
		return search_halve(s, node, stack);
	what = rules_broken(s, &at, &up);
	if (what == s->n_offers + s->n_sums)
		return search_whole(s, node, stack);
	rules_branch(s, node, what, floor(at), up, stack);
	return true;
}

/* USD that the best may be off what is known: by the nodes that are left, or before them. */
static double
search_gap(const struct rules *s, const struct rules_stack *stack)
{
	double low = fmin(s->lower, s->best_usd);

	for (size_t k = 0; k < stack->n; k++)
		low = fmin(low, stack->v[k]->usd);
	return s->best_usd - fmax(low, s->first);
}

/* Hours of several members together: it ends where their prices have said more than it can. */
static void
search_look(struct rules *s, const struct rules_stack *stack, double *at, double *gap)
{
	double now;

	if (s->n_hours < 2 || s->given || s->work < *at || isinf(s->best_usd))
		return;
	now = search_gap(s, stack);
	if (now > (1 - RULES_LOOK) * *gap)
		s->work_max = fmin(s->work_max, s->work);
	*at = s->work + RULES_LOOK * s->work_max;
	*gap = now;
}

void
rules_search(struct rules *s)
{
	struct rules_node root = { .usd = -INFINITY };
	struct rules_stack stack = { arena_array(s->a, 2 * RULES_NODES + 4, sizeof(*stack.v)), 0 };
	double at = s->work + RULES_LOOK * s->work_max, gap = s->best_usd - s->first;
	bool branched = true;

	s->lower = INFINITY;
	s->held = s->rows;
	rules_sums(s);
	stack.v[stack.n++] = &root;
	for (size_t k = 0; stack.n > 0 && k < RULES_NODES && s->work < s->work_max; k++) {
		if (!branched)
			rules_lowest(&stack);
		branched = search_node(s, stack.v[--stack.n], k, &stack);
		search_look(s, &stack, &at, &gap);
	}
	s->lower = fmin(s->lower, fmin(s->best_usd, s->enough));
	for (size_t k = 0; k < stack.n; k++)
		s->lower = fmin(s->lower, stack.v[k]->usd);
	s->lower = fmax(s->lower, 0); /* no price is less */
}
