#include <math.h>
#include <string.h>

#include "plan/commit_joint.h"
#include "plan/schedule_impl.h"
#include "util/arena.h"

#define RULES_NODES 20000
#define RULES_WORK 2e9		/* cells of the tableau touched: some seconds */
#define RULES_PROVEN 5e-10
#define RULES_TIGHT 1e-11
#define RULES_WHOLE 1e-7
#define RULES_ROOM 1e-9		/* GPUs by which a rounded rule may be off */
#define RULES_CELLS_MAX 4e7
#define RULES_MOVES 60000	/* stretches looked at by moves of single purchases */

struct rules {
	struct schedule_work *w;
	struct arena *a;
	const struct commit_shares *rules;
	struct linear lp;		/* purchases, what is on demand at a peak, then USD of each stretch */
	struct commit_member member;
	struct commit_recourse *r;	/* [stretches] */
	struct commit_server *server;	/* one list; its first is what is owned */
	struct commit_column *column;	/* [n_columns] lines that are bought */
	size_t *column_of;		/* [lines] */
	size_t n_columns, n_offers, n_peaks, first_usd, budget_row, rows;	/* rows: without tangents */
	size_t moves;
	VEC(double *) *cut;		/* [stretches] tangents: slope by each column, then the right-hand side */
	VEC(size_t) on_demand;		/* lines, of each stretch's peak */
	double *hours, *x, *best, *now;	/* [stretches], [offers], [offers], [columns] */
	struct commit_tangent at;
	double best_usd, lower, theta, work;
	double *node_lo, *node_hi, *most;	/* [offers] */
};

static double
rules_owned(const struct rules *s, size_t t, size_t group, size_t quota)
{
	const struct schedule_problem *p = s->w->p;
	double sum = 0;

	for (size_t i = 0; i < p->n_owned; i++) {
		const struct schedule_owned *o = &p->owned[i];

		if (o->from > s->w->border.v[t] || o->to < s->w->border.v[t + 1] || (group > 0 && o->group != group))
			continue;
		if (quota == SIZE_MAX)
			sum += (double)o->gpus;
		else if (o->weight != NULL)
			sum += o->weight[quota] * (double)o->gpus;
	}
	return sum;
}

bool
schedule_ruled(const struct schedule_work *w, size_t n_sizes)
{
	const struct commit_shares *r = w->p->rules;
	double cells = ((double)w->offer.n + (double)w->rest.n) * (double)w->rest.n * 8;
	bool limits = r != NULL && r->n + r->n_quotas > 0;

	for (size_t i = 0; i < w->p->n_lines && !limits; i++)
		limits = w->p->lines[i].kind == COMMIT_RESERVED && w->p->lines[i].max_count != COMMIT_NO_LIMIT;
	return limits || (n_sizes > 1 && cells < RULES_CELLS_MAX);
}

static void
rules_servers(struct rules *s)
{
	const struct schedule_problem *p = s->w->p;
	size_t n = 1;

	s->server = arena_array(s->a, p->n_lines + 1, sizeof(*s->server));
	s->column = arena_array(s->a, p->n_lines + 1, sizeof(*s->column));
	s->column_of = arena_array(s->a, p->n_lines + 1, sizeof(*s->column_of));
	for (size_t i = 0; i < p->n_lines; i++) {
		const struct commit_line *l = &p->lines[i];
		double cap = fmin(commit_stack_gpus(l, l->max_count), (double)s->w->rest.levels);

		if (l->kind == COMMIT_OWNED)
			continue;
		s->server[n] = (struct commit_server){ 0, i, COMMIT_NOT_BOUGHT, cap, l->usage };
		if (l->kind == COMMIT_RESERVED) {
			s->server[0] = (struct commit_server){ 0, i, COMMIT_NOT_BOUGHT, 0, 0 };	/* stands for what is owned */
			s->column_of[i] = s->server[n].column = s->n_columns;
			s->column[s->n_columns++] = (struct commit_column){ 0, i, 0, (double)l->gpus, 0, 0 };
		}
		if (l->kind == COMMIT_ON_DEMAND && !isnan(p->peak))
			VEC_PUSH(s->a, &s->on_demand, i);
		n++;
	}
	for (size_t t = 0; t < s->w->rest.n; t++) {
		struct commit_recourse *r = &s->r[t];
		struct commit_server *own = arena_memdup(s->a, s->server, n * sizeof(*own));
		double *quota = arena_array(s->a, s->rules->n_quotas + 1, sizeof(*quota));

		own[0].cap = rules_owned(s, t, 0, SIZE_MAX);
		for (size_t q = 0; q < s->rules->n_quotas; q++)
			quota[q] = fmax(0, s->rules->quota[q].limit - rules_owned(s, t, 0, q));
		*r = (struct commit_recourse){ .m = &s->member, .n = 1, .n_quotas = s->rules->n_quotas, .n_columns = s->n_columns,
			.n_servers = n, .column = s->column, .server = own, .quota = quota, .scratch = s->r[0].scratch };
	}
}

/* The hours of a stretch as levels and their shares of the time. */
static void
rules_levels(struct rules *s, size_t t, double cap)
{
	struct commit_recourse *r = &s->r[t];
	size_t levels = (size_t)ceil(cap);
	double *u = arena_array(s->a, levels + 1, sizeof(*u));

	schedule_busy(s->w->p->demand, s->w->border.v[t], s->w->border.v[t + 1], cap, u, levels);
	r->demand = arena_array(s->a, levels + 1, sizeof(double));
	r->weight = arena_array(s->a, levels + 1, sizeof(double));
	for (size_t l = 0; l <= levels; l++) {
		double w = (l == 0 ? 1 : u[l - 1]) - (l == levels ? 0 : u[l]);

		if (!(w > 0))
			continue;
		r->demand[r->n_atoms] = (double)l;
		r->weight[r->n_atoms++] = w;
	}
	s->hours[t] = (double)(s->w->border.v[t + 1] - s->w->border.v[t]) * s->w->p->demand->step_hours;
}

static const struct commit_line *
rules_line(const struct rules *s, size_t offer)
{
	return &s->w->p->lines[s->w->line.v[offer]];
}

static bool
rules_runs(const struct rules *s, size_t offer, size_t t)
{
	return s->w->offer.v[offer].from <= t && t < s->w->offer.v[offer].to;
}

static double *
rules_row(struct rules *s)
{
	return arena_array(s->a, s->first_usd + s->w->rest.n + 1, sizeof(double));
}

/* Machines of a line that run at once. */
static void
rules_limit_rows(struct rules *s, size_t t)
{
	const struct schedule_problem *p = s->w->p;

	for (size_t i = 0; i < p->n_lines; i++) {
		double *row;

		if (p->lines[i].kind != COMMIT_RESERVED || p->lines[i].max_count == COMMIT_NO_LIMIT)
			continue;
		row = rules_row(s);
		for (size_t j = 0; j < s->n_offers; j++)
			row[j] = s->w->line.v[j] == i && rules_runs(s, j, t);
		linear_row(&s->lp, row, (double)p->lines[i].max_count);
	}
}

static void
rules_quota_rows(struct rules *s, size_t t)
{
	for (size_t q = 0; q < s->rules->n_quotas; q++) {
		double *row = rules_row(s);
		bool any = false;

		for (size_t j = 0; j < s->n_offers; j++) {
			row[j] = rules_runs(s, j, t) ? s->rules->quota[q].weight[s->w->line.v[j]] * (double)rules_line(s, j)->gpus : 0;
			any = any || row[j] > 0;
		}
		for (size_t k = 0; k < s->on_demand.n; k++)
			row[s->n_offers + t * s->on_demand.n + k] = s->rules->quota[q].weight[s->on_demand.v[k]];
		if (any || s->on_demand.n > 0)
			linear_row(&s->lp, row, s->r[t].quota[q]);
	}
}

static void
rules_peak_row(struct rules *s, size_t t)
{
	double *row = rules_row(s), need = ceil(s->w->p->peak - 1e-9) - rules_owned(s, t, 0, SIZE_MAX);

	if (isnan(s->w->p->peak) || need <= 0)
		return;
	for (size_t j = 0; j < s->n_offers; j++)
		row[j] = rules_runs(s, j, t) ? -(double)rules_line(s, j)->gpus : 0;
	for (size_t k = 0; k < s->on_demand.n; k++)
		row[s->n_offers + t * s->on_demand.n + k] = -1;
	linear_row(&s->lp, row, -need + RULES_ROOM);
}

static void
rules_share_rows(struct rules *s, size_t t)
{
	double all = rules_owned(s, t, 0, SIZE_MAX);

	for (size_t k = 0; k < s->rules->n; k++) {
		const struct commit_share *sh = &s->rules->share[k];
		double *most = rules_row(s), *least = rules_row(s), own = rules_owned(s, t, sh->group, SIZE_MAX);

		for (size_t j = 0; j < s->n_offers; j++) {
			double g = rules_runs(s, j, t) ? (double)rules_line(s, j)->gpus : 0;
			bool in = s->rules->group[s->w->line.v[j]] == sh->group;

			most[j] = g * (in - sh->max);
			least[j] = g * (sh->min - in);
		}
		if (sh->max < 1)
			linear_row(&s->lp, most, sh->max * all - own + RULES_ROOM);
		if (sh->min > 0)
			linear_row(&s->lp, least, own - sh->min * all + RULES_ROOM);
	}
}

static void
rules_master(struct rules *s)
{
	const struct schedule_problem *p = s->w->p;
	size_t stretches = s->w->rest.n, n;
	double *cost, *lo, *hi;

	s->n_offers = s->w->offer.n;
	s->n_peaks = s->on_demand.n * stretches;
	s->first_usd = s->n_offers + s->n_peaks;
	n = s->first_usd + stretches;
	cost = rules_row(s);
	lo = rules_row(s);
	hi = rules_row(s);
	for (size_t j = 0; j < s->n_offers; j++) {
		const struct terms_offer *o = &s->w->offer.v[j];
		double most = ceil((double)s->w->rest.levels / (double)rules_line(s, j)->gpus);

		cost[j] = usd_to_double(o->cost) * (1 + p->theta);
		hi[j] = o->max == COMMIT_NO_LIMIT ? most : fmin(most, (double)o->max);
	}
	for (size_t k = 0; k < s->n_peaks; k++) {
		const struct commit_line *l = &p->lines[s->on_demand.v[k % s->on_demand.n]];

		hi[s->n_offers + k] = fmin(commit_stack_gpus(l, l->max_count), (double)s->w->rest.levels + fmax(0, ceil(p->peak)));
	}
	for (size_t t = 0; t < stretches; t++) {
		cost[s->first_usd + t] = 1;
		hi[s->first_usd + t] = s->hours[t] * p->unserved * ((double)s->w->rest.levels + 1);
	}
	s->most = hi;
	linear_init(&s->lp, n, cost, lo, hi, s->a);
	for (size_t t = 0; t < stretches; t++) {
		rules_limit_rows(s, t);
		rules_quota_rows(s, t);
		rules_peak_row(s, t);
		rules_share_rows(s, t);
	}
	if (!isnan(p->budget)) {
		double *row = rules_row(s);

		for (size_t j = 0; j < s->n_offers; j++)
			row[j] = usd_to_double(s->w->offer.v[j].cost);
		s->budget_row = linear_row(&s->lp, row, p->budget * (1 + 1e-12));
	}
	s->rows = s->lp.m;
}

/* The hours of one stretch with purchases x; into s->at. */
static double
rules_at(struct rules *s, size_t t, const double *x)
{
	memset(s->now, 0, (s->n_columns + 1) * sizeof(*s->now));
	for (size_t j = 0; j < s->n_offers; j++)
		if (x[j] != 0 && rules_runs(s, j, t))
			s->now[s->column_of[s->w->line.v[j]]] += x[j];
	commit_recourse_at(&s->r[t], s->now, &s->at);
	return s->at.usd * s->hours[t];
}

/* The tangent of rules_at(), unless it is there. */
static bool
rules_cut(struct rules *s, size_t t)
{
	double b = -s->at.usd * s->hours[t], *slope = arena_array(s->a, s->n_columns + 1, sizeof(*slope)), *row;

	for (size_t c = 0; c < s->n_columns; c++) {
		slope[c] = s->at.slope[c] * s->hours[t];
		b += slope[c] * s->now[c];
	}
	slope[s->n_columns] = b;
	for (size_t k = 0; k < s->cut[t].n; k++) {
		const double *was = s->cut[t].v[k];
		size_t c = 0;

		while (c <= s->n_columns && fabs(was[c] - slope[c]) <= 1e-13 * (fabs(was[c]) + fabs(b)))
			c++;
		if (c > s->n_columns)
			return false;
	}
	VEC_PUSH(s->a, &s->cut[t], slope);
	row = rules_row(s);
	for (size_t j = 0; j < s->n_offers; j++)
		row[j] = rules_runs(s, j, t) ? slope[s->column_of[s->w->line.v[j]]] : 0;
	row[s->first_usd + t] = -1;
	linear_row(&s->lp, row, b);
	return true;
}

/* Cost of whole purchases, with tangents there; kept if it is the least. */
static bool
rules_take(struct rules *s, const double *x)
{
	double usd = 0;

	for (size_t j = 0; j < s->n_offers; j++)
		usd += x[j] * s->lp.cost[j];
	for (size_t t = 0; t < s->w->rest.n; t++) {
		usd += rules_at(s, t, x);
		rules_cut(s, t);
	}
	if (!(usd < s->best_usd))
		return false;
	s->best_usd = usd;
	memcpy(s->best, x, s->n_offers * sizeof(*x));
	return true;
}

static bool
rules_try(struct rules *s, const double *x)
{
	bool kept;
	double *hi = arena_memdup(s->a, s->lp.hi, s->n_offers * sizeof(*hi) + 1);
	double *lo = arena_memdup(s->a, s->lp.lo, s->n_offers * sizeof(*lo) + 1);

	for (size_t j = 0; j < s->n_offers; j++)
		if (x[j] < 0 || x[j] > s->most[j])
			return false;
	for (size_t j = 0; j < s->n_offers; j++)
		linear_bound(&s->lp, j, x[j], x[j]);
	kept = linear_solve(&s->lp) == LINEAR_SOLVED;
	for (size_t j = 0; j < s->n_offers; j++)
		linear_bound(&s->lp, j, lo[j], hi[j]);
	return kept && rules_take(s, x);
}

static bool
rules_better(const struct rules *s, double usd)
{
	return isinf(s->best_usd) || usd < s->best_usd - RULES_PROVEN * fabs(s->best_usd);
}

/* Could x keep the rows, with all or nothing on demand at the peak? */
static bool
rules_may(const struct rules *s, const double *x)
{
	for (size_t r = 0; r < s->rows; r++) {
		double sum = -s->lp.b[r];

		for (size_t j = 0; j < s->first_usd; j++)
			sum += s->lp.a[r][j] * (j < s->n_offers ? x[j] : s->lp.a[r][j] < 0 ? s->lp.hi[j] : 0);
		if (sum > RULES_ROOM * (1 + fabs(s->lp.b[r])))
			return false;
	}
	return true;
}

/* Cost of the best purchases with dj more of j and dk more of k, given that of each stretch. */
static double
rules_moved(struct rules *s, size_t j, double dj, size_t k, double dk, double *x, const double *usd)
{
	double sum = s->best_usd + dj * s->lp.cost[j] + dk * s->lp.cost[k];

	memcpy(x, s->best, s->n_offers * sizeof(*x));
	x[j] += dj;
	x[k] += dk;
	if (x[j] < 0 || x[k] < 0 || x[j] > s->most[j] || x[k] > s->most[k] || !rules_may(s, x))
		return INFINITY;
	for (size_t t = 0; t < s->w->rest.n; t++)
		if (rules_runs(s, j, t) || rules_runs(s, k, t)) {
			s->moves++;
			sum += rules_at(s, t, x) - usd[t];
		}
	return sum;
}

/* Single purchases more or fewer, and pairs that begin together or are of one line, as long as that helps. */
static void
rules_polish(struct rules *s)
{
	static const double by[4][2] = { { 1, -1 }, { -1, 1 }, { 1, 1 }, { -1, -1 } };
	double *x = arena_array(s->a, s->n_offers + 1, sizeof(*x)), *usd = arena_array(s->a, s->w->rest.n, sizeof(*usd));
	bool better = isfinite(s->best_usd);

	while (better && s->moves < RULES_MOVES) {
		better = false;
		for (size_t t = 0; t < s->w->rest.n; t++)
			usd[t] = rules_at(s, t, s->best);
		for (size_t j = 0; j < s->n_offers && !better; j++)
			for (size_t k = j; k < s->n_offers && !better; k++) {
				if (k != j && s->w->offer.v[j].from != s->w->offer.v[k].from && s->w->line.v[j] != s->w->line.v[k])
					continue;
				for (int m = 0; m < 4 && !better && s->moves < RULES_MOVES; m++) {
					if (k == j && m < 2)
						continue;
					better = rules_better(s, rules_moved(s, j, by[m][0] / (k == j ? 2 : 1), k, by[m][1] / (k == j ? 2 : 1), x,
					    usd)) && rules_try(s, x);
				}
			}
	}
}

/* As joint_converge(), with a tangent for each stretch that needs one. */
static bool
rules_converge(struct rules *s, double *usd)
{
	*usd = -INFINITY;
	while (s->work < RULES_WORK) {
		size_t pivots = s->lp.pivots;
		double off = 0;
		bool any = false;
		enum linear_end end = linear_solve(&s->lp);

		pivots = s->lp.pivots >= pivots ? s->lp.pivots - pivots : s->lp.pivots;
		s->work += (double)(pivots + 1) * (double)s->lp.m * (double)s->lp.n;
		if (end != LINEAR_SOLVED)
			return end != LINEAR_EMPTY;
		*usd = fmax(*usd, linear_lower(&s->lp));
		if (!rules_better(s, *usd))
			return true;
		for (size_t j = 0; j < s->n_offers; j++)
			s->x[j] = linear_value(&s->lp, j);
		for (size_t t = 0; t < s->w->rest.n; t++) {
			double guess = linear_value(&s->lp, s->first_usd + t), is = rules_at(s, t, s->x);

			off += fmax(0, is - guess);
			if (is > guess + RULES_TIGHT * (fabs(is) + fabs(*usd) / (double)s->w->rest.n)) {
				any = rules_cut(s, t) || any;
			}
		}
		if (!any || off <= RULES_TIGHT * fabs(*usd))
			return true;
	}
	return true;
}

static size_t
rules_broken(const struct rules *s)
{
	size_t best = s->n_offers;
	double most = RULES_WHOLE;

	for (size_t j = 0; j < s->n_offers; j++) {
		double off = fabs(s->x[j] - round(s->x[j]));

		if (off > most) {
			most = off;
			best = j;
		}
	}
	return best;
}

static void
rules_round(struct rules *s)
{
	double *x = arena_array(s->a, s->n_offers + 1, sizeof(*x));

	for (int way = 0; way < 3; way++) {
		for (size_t j = 0; j < s->n_offers; j++)
			x[j] = way == 0 ? round(s->x[j]) : way == 1 ? floor(s->x[j] + RULES_WHOLE) : ceil(s->x[j] - RULES_WHOLE);
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

static void
rules_bounds(struct rules *s, const struct rules_node *node, const double *hi)
{
	double *l = s->node_lo, *h = s->node_hi;

	memset(l, 0, (s->n_offers + 1) * sizeof(*l));
	memcpy(h, hi, (s->n_offers + 1) * sizeof(*h));
	for (const struct rules_node *n = node; n != NULL && n->from != NULL; n = n->from) {
		l[n->offer] = fmax(l[n->offer], n->lo);
		h[n->offer] = fmin(h[n->offer], n->hi);
	}
	for (size_t j = 0; j < s->n_offers; j++)
		if (s->lp.lo[j] != l[j] || s->lp.hi[j] != h[j])
			linear_bound(&s->lp, j, l[j], h[j]);
}

static void
rules_branch(struct rules *s, const struct rules_node *node, size_t j, double usd, struct rules_node **stack, size_t *n)
{
	double at = floor(s->x[j]);
	bool up_first = s->x[j] - at > 0.5;

	for (int k = 0; k < 2; k++) {
		bool up = (k == 1) == up_first;
		struct rules_node kid = { node, j, up ? at + 1 : 0, up ? INFINITY : at, usd };

		stack[*n] = arena_memdup(s->a, &kid, sizeof(kid));
		++*n;
	}
}

/* Where a branch ends, the node of the lowest bound is next: it holds the bound of all down. */
static void
rules_lowest(struct rules_node **stack, size_t n)
{
	struct rules_node *last;
	size_t low = 0;

	for (size_t k = 1; k < n; k++)
		if (stack[k]->usd <= stack[low]->usd)
			low = k;
	if (n == 0)
		return;
	last = stack[n - 1];
	stack[n - 1] = stack[low];
	stack[low] = last;
}

static void
rules_search(struct rules *s)
{
	struct rules_node root = { .usd = -INFINITY }, **stack = arena_array(s->a, 2 * RULES_NODES + 4, sizeof(*stack));
	double *hi = arena_memdup(s->a, s->lp.hi, (s->n_offers + 1) * sizeof(*hi)), usd;
	size_t n = 0, j;
	bool branched = true;

	stack[n++] = &root;
	for (size_t k = 0; n > 0 && k < RULES_NODES; k++) {
		struct rules_node *node;

		if (!branched)
			rules_lowest(stack, n);
		branched = false;
		node = stack[--n];

		if (!rules_better(s, node->usd))
			continue;
		rules_bounds(s, node, hi);
		if (!rules_converge(s, &usd))
			continue;
		if (k == 0 && !isnan(s->w->p->budget))
			s->theta = linear_price(&s->lp, s->budget_row);
		if (k % 20 == 0 && s->work < RULES_WORK) {
			rules_round(s);
			if (!rules_converge(s, &usd))
				continue;
		}
		if (!rules_better(s, usd))
			continue;
		usd = fmax(node->usd, usd);
		if (s->work >= RULES_WORK) {
			node->usd = usd;
			stack[n++] = node;
			break;
		}
		j = rules_broken(s);
		if (j < s->n_offers) {
			rules_branch(s, node, j, usd, stack, &n);
			branched = true;
			continue;
		}
		for (size_t i = 0; i < s->n_offers; i++)
			s->x[i] = round(s->x[i]);
		if (rules_take(s, s->x))
			rules_polish(s);
		if (rules_better(s, usd))	/* the node's program was not that of its counts */
			s->lower = fmin(s->lower, usd);
	}
	s->lower = fmin(s->lower, s->best_usd);
	for (size_t k = 0; k < n; k++)
		s->lower = fmin(s->lower, stack[k]->usd);
	s->lower = fmax(s->lower, 0);		/* no price is less */
}

static void
rules_init(struct rules *s, struct schedule_work *w)
{
	static const struct commit_shares none = { .n = 0 };
	struct commit_problem *p = arena_array(w->a, 1, sizeof(*p));
	struct arena *scratch = arena_new();

	*s = (struct rules){ .w = w, .a = w->a, .rules = w->p->rules != NULL ? w->p->rules : &none, .best_usd = INFINITY, .lower = INFINITY };
	*p = (struct commit_problem){ NULL, w->p->lines, w->p->n_lines, w->p->unserved, NAN, NAN, 0 };
	s->member = (struct commit_member){ p, s->rules, NULL, NULL };
	s->r = arena_array(w->a, w->rest.n, sizeof(*s->r));
	s->r[0].scratch = scratch;
	s->hours = arena_array(w->a, w->rest.n, sizeof(*s->hours));
	s->cut = arena_array(w->a, w->rest.n, sizeof(*s->cut));
	rules_servers(s);
	for (size_t t = 0; t < w->rest.n; t++)
		rules_levels(s, t, commit_cap(w->p->demand, w->a, NULL));
	s->x = arena_array(w->a, w->offer.n + 1, sizeof(*s->x));
	s->best = arena_array(w->a, w->offer.n + 1, sizeof(*s->best));
	s->node_lo = arena_array(w->a, w->offer.n + 1, sizeof(*s->node_lo));
	s->node_hi = arena_array(w->a, w->offer.n + 1, sizeof(*s->node_hi));
	s->now = arena_array(w->a, s->n_columns + 1, sizeof(*s->now));
	s->at.slope = arena_array(w->a, s->n_columns + 1, sizeof(double));
	s->at.saves = arena_array(w->a, s->rules->n_quotas + 1, sizeof(double));
	rules_master(s);
}

enum berth_code
schedule_rules_solve(struct schedule_work *w, struct schedule *out, struct berth_err *err)
{
	struct rules s;
	double bound = 0, first = w->p->theta > 0 ? -INFINITY : out->lower_bound_usd;	/* of money as it is */

	rules_init(&s, w);
	for (size_t j = 0; j < w->offer.n; j++)
		s.x[j] = (double)w->count[j];
	if (!rules_try(&s, s.x) || rules_better(&s, first))
		rules_search(&s);
	else
		s.lower = s.best_usd;
	for (size_t t = 0; t < w->rest.n; t++)
		bound = bound != 0 || s.r[t].failed;
	arena_free(s.r[0].scratch);
	if (bound != 0)
		return err_set(err, BERTH_EFAIL, "the hours under the quotas could not be solved");
	if (isinf(s.best_usd))
		return err_set(err, BERTH_EINFEASIBLE, "no purchases keep peak, quotas and shares at all times%s",
		    isnan(w->p->budget) ? "" : " within the budget");
	for (size_t j = 0; j < w->offer.n; j++) {
		w->count[j] = (int64_t)s.best[j];
		bound += s.best[j] * usd_to_double(w->offer.v[j].cost);
	}
	out->cost_usd = s.best_usd - w->p->theta * bound;
	out->lower_bound_usd = fmax(first, s.lower);
	if (s.theta > 0)
		out->theta = s.theta;
	return BERTH_OK;
}
