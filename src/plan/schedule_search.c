#include <math.h>
#include <string.h>

#include "plan/schedule_rules.h"
#include "util/arena.h"

#define RULES_NODES 40000
#define RULES_TIGHT 1e-11
#define RULES_ROUND 20 /* nodes after which counts near the program's are tried */
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

/* Tangents that do not bind go out of the program, when they are many. */
static void
search_drop(struct rules *s)
{
	size_t *now;

	if (s->in < 4 * s->stretches * s->n_pieces + 60)
		return;
	now = arena_array(s->a, s->lp.m, sizeof(*now));
	linear_drop(&s->lp, s->rows, now);
	s->in = 0;
	for (size_t t = 0; t < s->stretches * s->n_pieces; t++)
		for (size_t k = 0; k < s->cut[t].n; k++) {
			struct rules_cut *cut = &s->cut[t].v[k];

			if (cut->row != SIZE_MAX)
				cut->row = now[cut->row];
			s->in += cut->row != SIZE_MAX;
		}
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
		size_t pivots = s->lp.pivots;
		double off = 0;
		bool any = false;
		enum linear_end end = linear_solve(&s->lp);

		pivots = s->lp.pivots >= pivots ? s->lp.pivots - pivots : s->lp.pivots;
		s->work += (double)(pivots + 1) * (double)s->lp.m * (double)s->lp.n;
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

/* The purchase to branch on: where both ways raise the bound most; n_offers: all are whole. *up:
 * the way that raises it less. */
static size_t
search_broken(const struct rules *s, bool *up)
{
	double most = -1;
	size_t best = s->n_offers;

	for (size_t j = 0; j < s->n_offers; j++) {
		double off = fabs(s->x[j] - round(s->x[j])), down, rise, score;

		if (off <= RULES_WHOLE)
			continue;
		down = linear_forced(&s->lp, j, false);
		rise = linear_forced(&s->lp, j, true);
		score = fmin(1e12, fmax(down, 1e-6)) * fmin(1e12, fmax(rise, 1e-6)) + 1e-13 * off;
		if (score <= most)
			continue;
		most = score;
		best = j;
		*up = rise < down || (rise == down && s->x[j] - floor(s->x[j]) > 0.5);
	}
	return best;
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

/* One bound that a node changes, beside those of the node that it came from. */
struct rules_node {
	const struct rules_node *from;
	size_t offer;
	double lo, hi, usd;
};

struct rules_stack {
	struct rules_node **v;
	size_t n;
};

/* False: the bounds leave nothing. */
static bool
search_bounds(struct rules *s, const struct rules_node *node)
{
	double *l = s->node_lo, *h = s->node_hi;

	memcpy(l, s->least, (s->n_offers + 1) * sizeof(*l));
	memcpy(h, s->most, (s->n_offers + 1) * sizeof(*h));
	for (const struct rules_node *n = node; n != NULL && n->from != NULL; n = n->from) {
		l[n->offer] = fmax(l[n->offer], n->lo);
		h[n->offer] = fmin(h[n->offer], n->hi);
	}
	for (size_t j = 0; j < s->n_offers; j++)
		if (l[j] > h[j])
			return false;
	for (size_t j = 0; j < s->n_offers; j++)
		if (s->lp.lo[j] != l[j] || s->lp.hi[j] != h[j])
			linear_bound(&s->lp, j, l[j], h[j]);
	return true;
}

/* Counts of a purchase up to `at`, and those above. */
static void
search_part(struct rules *s, const struct rules_node *node, size_t j, double at, bool up_first,
    struct rules_stack *stack)
{
	for (int k = 0; k < 2; k++) {
		bool up = (k == 1) == up_first;
		struct rules_node kid = { node, j, up ? at + 1 : 0, up ? INFINITY : at, node->usd };

		stack->v[stack->n++] = arena_memdup(s->a, &kid, sizeof(kid));
	}
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

/* Where a branch ends, the node of the lowest bound is next: it holds the bound of all down. */
static void
search_lowest(struct rules_stack *stack)
{
	struct rules_node *last;
	size_t low = 0;

	for (size_t k = 1; k < stack->n; k++)
		if (stack->v[k]->usd <= stack->v[low]->usd)
			low = k;
	if (stack->n == 0)
		return;
	last = stack->v[stack->n - 1];
	stack->v[stack->n - 1] = stack->v[low];
	stack->v[low] = last;
}

/* The first program: its bound, slopes, and what one more of each limit would save. */
static void
search_root(struct rules *s, double usd)
{
	double least = linear_lower(&s->lp); /* leaves the slopes in lp.sum */

	s->root_usd = fmin(usd, least);
	for (size_t j = 0; j < s->n_offers; j++)
		s->root_slope[j] = s->lp.sum[j];
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
	search_part(s, node, j, floor((s->node_lo[j] + s->node_hi[j]) / 2), false, stack);
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
	search_part(s, node, off, at - 1, true, stack);
	return true;
}

/* What the first node is asked beside its own bound. */
static void
search_first(struct rules *s, double usd)
{
	search_root(s, usd);
	if (s->n_hours > 1 && !s->given)
		s->first = fmax(s->first, rules_price_single(s, s->x, true));
}

/* One node: its program, then its two branches. True: it was branched. */
static bool
search_node(struct rules *s, struct rules_node *node, size_t count, struct rules_stack *stack)
{
	double usd;
	size_t j;
	bool up = false;
	enum search_end end;

	if (!search_open(s, node->usd) || !search_bounds(s, node))
		return false;
	end = search_converge(s, &usd);
	if (count == 0 && end == SEARCH_SOLVED)
		search_first(s, usd);
	if (end == SEARCH_SOLVED && search_open(s, usd) && count % RULES_ROUND == 0 &&
	    s->work < s->work_max) {
		search_round(s);
		search_tighten(s);
		if (!search_bounds(s, node))
			return false;
		end = search_converge(s, &usd);
	}
	if (end == SEARCH_EMPTY || !search_open(s, usd))
		return false;
	search_drop(s);
	node->usd = fmax(node->usd, usd);
	if (s->work >= s->work_max) {
		stack->v[stack->n++] = node;
		return false;
	}
	if (end == SEARCH_STUCK)
		return search_halve(s, node, stack);
	j = search_broken(s, &up);
	if (j == s->n_offers)
		return search_whole(s, node, stack);
	search_part(s, node, j, floor(s->x[j]), up, stack);
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
	stack.v[stack.n++] = &root;
	for (size_t k = 0; stack.n > 0 && k < RULES_NODES && s->work < s->work_max; k++) {
		if (!branched)
			search_lowest(&stack);
		branched = search_node(s, stack.v[--stack.n], k, &stack);
		search_look(s, &stack, &at, &gap);
	}
	s->lower = fmin(s->lower, fmin(s->best_usd, s->enough));
	for (size_t k = 0; k < stack.n; k++)
		s->lower = fmin(s->lower, stack.v[k]->usd);
	s->lower = fmax(s->lower, 0); /* no price is less */
}
