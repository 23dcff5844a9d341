#include <math.h>
#include <string.h>

#include "plan/commit_joint.h"
#include "util/arena.h"

#define JOINT_NODES 3000
#define JOINT_CUTS 600 /* at one node */
#define JOINT_TIGHT 1e-11
#define JOINT_ROOT 1e-9 /* of the cost, that the linear program may be off its hours */
#define JOINT_WHOLE 1e-7
#define JOINT_WORK                                                                                 \
	1.2e8 /* eight for each hour and member looked at, an eighth of a cell of the tableau:     \
		 some seconds */
#define JOINT_SOME 2e7    /* of a plan that is known within a bound */
#define JOINT_GPUS 1e7    /* on demand, where a quota alone says how many */
#define JOINT_TRIES 400   /* single steps tried on a plan that was found */
#define JOINT_GROUPS 2000 /* of hours, at first */
#define JOINT_ROUNDS 20
#define JOINT_ROWS 300 /* tangents in the program, from which on those that do not bind go */

static void
joint_cut_row(struct joint *j, struct joint_cut *cut)
{
	double *row = joint_row_new(j);

	memcpy(row, cut->slope, j->column.n * sizeof(*row));
	row[j->usd] = -1;
	cut->row = linear_row(&j->lp, row, cut->least - cut->rise * (j->scale - 1));
}

void
joint_cut(struct joint *j, const double *x)
{
	struct joint_cut cut = { 0,
		arena_memdup(j->a, j->at.slope, (j->column.n + 1) * sizeof(double)),
		j->at.with_demand / j->scale, -j->at.usd,
		arena_memdup(j->a, j->at.saves, (j->r.n_quotas + 1) * sizeof(double)) };

	for (size_t c = 0; c < j->column.n; c++)
		cut.least += j->at.slope[c] * x[c];
	cut.least += cut.rise * (j->scale - 1);
	joint_cut_row(j, &cut);
	VEC_PUSH(j->a, &j->cut, cut);
}

void
joint_again(struct joint *j)
{
	joint_master(j);
	for (size_t k = 0; k < j->cut.n; k++)
		joint_cut_row(j, &j->cut.v[k]);
}

/* Tangents that do not bind go out of the program, when they are many. */
static void
joint_drop(struct joint *j)
{
	size_t *now;

	if (j->lp.m - j->rows < JOINT_ROWS)
		return;
	now = arena_array(j->a, j->lp.m, sizeof(*now));
	linear_drop(&j->lp, j->rows, now);
	for (size_t k = 0; k < j->cut.n; k++)
		if (j->cut.v[k].row != SIZE_MAX)
			j->cut.v[k].row = now[j->cut.v[k].row];
}

static enum linear_end
joint_lp(struct joint *j)
{
	size_t was = j->lp.pivots;
	enum linear_end end = linear_solve(&j->lp);

	j->work += (double)(1 + (j->lp.pivots >= was ? j->lp.pivots - was : j->lp.pivots)) *
		   (double)(j->lp.m * j->lp.n) / 8;
	return end;
}

double
joint_fixed(const struct joint *j, const double *x)
{
	double sum = 0;

	for (size_t c = 0; c < j->column.n; c++)
		sum += j->price_factor * j->column.v[c].fixed * x[c];
	return sum;
}

void
joint_at(struct joint *j, const double *x)
{
	commit_recourse_at(&j->r, x, &j->at);
	j->work += 8 * (double)(j->r.n_atoms * j->r.n);
}

/* The tangent at whole counts, which are the best so far or not. True: they are. */
static bool
joint_take(struct joint *j, const double *x)
{
	double usd;

	joint_at(j, x);
	usd = joint_fixed(j, x) + j->at.usd;
	if (!(usd < j->best_usd))
		return false;
	j->best_usd = usd;
	memcpy(j->best, x, j->column.n * sizeof(*x));
	return true;
}

bool
joint_keeps(struct joint *j, const double *x)
{
	bool kept;

	for (size_t c = 0; c < j->column.n; c++)
		if (x[c] < j->column.v[c].least || x[c] > j->column.v[c].most)
			return false;
	for (size_t c = 0; c < j->column.n; c++)
		linear_bound(&j->lp, c, x[c], x[c]);
	kept = joint_lp(j) == LINEAR_SOLVED && linear_cost(&j->lp) < j->best_usd;
	for (size_t c = 0; c < j->column.n; c++)
		linear_bound(&j->lp, c, j->column.v[c].least, j->column.v[c].most);
	return kept;
}

/* Counts near those of the linear program, then single purchases more, fewer, or in another's
 * place. */
static void
joint_round(struct joint *j, const double *from)
{
	double *x = arena_array(j->a, j->column.n + 1, sizeof(*x));
	bool better = true;

	for (int way = 0; way < 3; way++) {
		for (size_t c = 0; c < j->column.n; c++)
			x[c] = way == 0   ? round(from[c])
			       : way == 1 ? floor(from[c] + JOINT_WHOLE)
					  : ceil(from[c] - JOINT_WHOLE);
		if (joint_keeps(j, x))
			joint_take(j, x);
	}
	while (better && isfinite(j->best_usd) && j->tries < JOINT_TRIES &&
	       j->work < j->work_max / 3) {
		better = false;
		for (size_t c = 0; c < j->column.n && !better; c++)
			for (size_t o = 0; o <= j->column.n && !better; o++) {
				if (o == c)
					continue;
				for (int by = -1; by <= 1 && !better; by += 2) {
					memcpy(x, j->best, j->column.n * sizeof(*x));
					x[c] += by;
					if (o < j->column.n)
						x[o] -= by;
					better = joint_keeps(j, x) && j->tries++ < JOINT_TRIES &&
						 joint_take(j, x);
				}
			}
	}
}

/*
 * Tangents until the program stands on the hours' cost, or cannot be better than what is known.
 * *usd: no counts within the bounds cost less. False: nothing is there.
 */
static bool
joint_converge(struct joint *j, double *usd)
{
	*usd = -INFINITY;
	for (size_t k = 0; k < JOINT_CUTS && j->work < j->work_max; k++) {
		enum linear_end end = joint_lp(j);
		double guess;

		if (end != LINEAR_SOLVED)
			return end != LINEAR_EMPTY;
		*usd = fmax(*usd, linear_lower(&j->lp));
		if (*usd >= j->best_usd - j->proven * fabs(j->best_usd))
			return true;
		for (size_t c = 0; c < j->column.n; c++)
			j->x[c] = linear_value(&j->lp, c);
		guess = linear_value(&j->lp, j->usd);
		joint_at(j, j->x);
		if (j->at.usd <= guess + fmax(j->loose, JOINT_TIGHT * fabs(*usd)))
			return true;
		joint_cut(j, j->x);
	}
	return true;
}

static size_t
joint_broken(const struct joint *j)
{
	size_t best = j->column.n;
	double most = JOINT_WHOLE;

	for (size_t c = 0; c < j->column.n; c++) {
		double off = fabs(j->x[c] - round(j->x[c]));

		if (off > most) {
			most = off;
			best = c;
		}
	}
	return best;
}

struct joint_node {
	double *lo, *hi; /* [columns] */
	double usd;      /* of the node that it came from */
};

/* The node's better half is looked at first. */
static void
joint_branch(struct joint *j, const struct joint_node *node, size_t c, double usd,
    struct joint_node *stack, size_t *n)
{
	size_t bytes = (j->column.n + 1) * sizeof(double);
	double at = floor(j->x[c]);
	bool up_first = j->x[c] - at > 0.5;

	for (int k = 0; k < 2; k++) {
		struct joint_node kid = { arena_memdup(j->a, node->lo, bytes),
			arena_memdup(j->a, node->hi, bytes), usd };

		if ((k == 1) == up_first)
			kid.lo[c] = at + 1;
		else
			kid.hi[c] = at;
		stack[(*n)++] = kid;
	}
}

/* What one more of each quota saves: of the rows that it stands in itself, and of the tangents. */
static void
joint_prices(struct joint *j)
{
	j->priced = true;
	memset(j->price, 0, j->r.n_quotas * sizeof(*j->price));
	for (size_t k = 0; k < j->quota_row.n; k++)
		j->price[j->quota_row.v[k].quota] += linear_price(&j->lp, j->quota_row.v[k].row);
	if (!isnan(j->budget))
		j->budget_price =
		    linear_price(&j->lp, j->budget_row) * j->r.m[0].problem->curve->hours;
	for (size_t k = 0; k < j->cut.n; k++)
		for (size_t q = 0; q < j->r.n_quotas; q++)
			j->price[q] +=
			    j->cut.v[k].row == SIZE_MAX
				? 0
				: linear_price(&j->lp, j->cut.v[k].row) * j->cut.v[k].saves[q];
}

/* A node whose counts are whole: done, if they cost what its program says. */
static void
joint_whole(struct joint *j, double usd)
{
	for (size_t i = 0; i < j->column.n; i++)
		j->x[i] = round(j->x[i]);
	joint_take(j, j->x);
	if (usd < j->best_usd - j->proven * fabs(j->best_usd))
		j->lower = fmin(j->lower, usd);
}

void
joint_search(struct joint *j)
{
	struct joint_node *stack = arena_array(j->a, 2 * JOINT_NODES + 4, sizeof(*stack));
	size_t n = 0, width = j->column.n + 1;
	double usd = 0;

	j->lower = INFINITY;
	stack[n++] = (struct joint_node){ arena_array(j->a, width, sizeof(double)),
		arena_array(j->a, width, sizeof(double)), -INFINITY };
	for (size_t c = 0; c < j->column.n; c++) {
		stack[0].lo[c] = j->column.v[c].least;
		stack[0].hi[c] = j->column.v[c].most;
	}
	for (size_t k = 0; n > 0 && k < JOINT_NODES; k++) {
		struct joint_node node = stack[--n];
		size_t c;

		if (node.usd >= j->best_usd - j->proven * fabs(j->best_usd))
			continue;
		for (size_t i = 0; i < j->column.n; i++)
			linear_bound(&j->lp, i, node.lo[i], node.hi[i]);
		if (!joint_converge(j, &usd))
			continue;
		if (k == 0) {
			if (!j->priced)
				joint_prices(j);
			if (isinf(j->best_usd))
				joint_round(j, j->x);
			for (size_t i = 0; i < j->column.n; i++)
				linear_bound(&j->lp, i, node.lo[i], node.hi[i]);
			if (!joint_converge(j, &usd))
				continue;
		}
		if (usd >= j->best_usd - j->proven * fabs(j->best_usd))
			continue;
		usd = fmax(node.usd, usd);
		joint_drop(j);
		if (j->work >= j->work_max) {
			node.usd = usd;
			stack[n++] = node;
			break;
		}
		c = joint_broken(j);
		if (c < j->column.n) {
			joint_branch(j, &node, c, usd, stack, &n);
			continue;
		}
		joint_whole(j, usd);
	}
	j->lower = fmin(j->lower, j->best_usd);
	for (size_t k = 0; k < n; k++)
		j->lower = fmin(j->lower, stack[k].usd);
	j->lower = fmax(j->lower, 0); /* no price is less */
}

/* Counts of a member's lines as commit_report() wants them. */
static int64_t *
joint_counts(const struct joint *j, size_t member, const double *x)
{
	const struct commit_problem *p = j->r.m[member].problem;
	int64_t *count = arena_array(j->a, p->n_lines + 1, sizeof(*count));

	for (size_t i = 0; i < p->n_lines; i++)
		count[i] = p->lines[i].kind == COMMIT_RESERVED ? 0 : p->lines[i].max_count;
	for (size_t c = 0; c < j->column.n; c++)
		if (j->column.v[c].member == member)
			count[j->column.v[c].line] = (int64_t)x[c];
	return count;
}

/* What all members' purchases leave of the quotas. */
static double *
joint_left(const struct joint *j, const double *x)
{
	double *left = arena_memdup(j->a, j->r.quota, (j->r.n_quotas + 1) * sizeof(*left));

	for (size_t q = 0; q < j->r.n_quotas; q++)
		for (size_t c = 0; c < j->column.n; c++) {
			const struct commit_column *b = &j->column.v[c];

			left[q] -=
			    j->r.m[b->member].rules->quota[q].weight[b->line] * b->gpus * x[c];
		}
	return left;
}

/* Use and money of the lines as the hours have it. */
static void
joint_served(const struct joint *j, size_t member, struct commit_plan *plan)
{
	const struct commit_problem *p = j->r.m[member].problem;
	double served = 0, mean = 0, usd = plan->bound_usd, hours = p->curve->hours;

	for (size_t h = 0; h < j->r.n_atoms; h++)
		mean += j->r.weight[h] * j->r.demand[h * j->r.n + member];
	for (size_t s = 0; s < j->server.n; s++) {
		const struct commit_server *v = &j->server.v[s];
		struct commit_use *u;

		if (v->member != member)
			continue;
		u = &plan->use[v->line];
		u->gpu_hours = j->at.served[s] * hours;
		u->cost_usd = u->bound_usd + v->usage * u->gpu_hours;
		usd += v->usage * u->gpu_hours;
		served += j->at.served[s];
		if (p->lines[v->line].kind == COMMIT_SPOT ||
		    p->lines[v->line].kind == COMMIT_ON_DEMAND) {
			u->gpus = ceil(j->at.most[s] - JOINT_WHOLE);
			u->count = (int64_t)ceil(
			    u->gpus / commit_line_gpus(&p->lines[v->line]) - JOINT_WHOLE);
		}
		u->utilisation = u->gpus > 0 ? j->at.served[s] / u->gpus : NAN;
	}
	plan->unserved_gpu_hours = fmax(0, mean - served) * hours;
	if (plan->unserved_gpu_hours < 1e-9 * mean * hours)
		plan->unserved_gpu_hours = 0;
	plan->cost_usd = usd + p->unserved * plan->unserved_gpu_hours;
}

/* USD of use by whole GPUs of the one member's demand: between those that have an hour, in a line.
 */
static double *
joint_hourly(const struct joint *j)
{
	size_t levels = j->r.m[0].problem->curve->levels, at = 0;
	double *usd = arena_array(j->a, levels + 1, sizeof(*usd));

	for (size_t l = 0; l <= levels; l++) {
		double d0, d1, part;

		while (at + 2 < j->r.n_atoms && j->r.demand[at + 1] <= (double)l)
			at++;
		if (j->r.n_atoms < 2) {
			usd[l] = j->r.n_atoms == 0 ? 0 : j->at.each[0];
			continue;
		}
		d0 = j->r.demand[at];
		d1 = j->r.demand[at + 1];
		part = ((double)l - d0) / (d1 - d0);
		usd[l] = fmax(0, j->at.each[at] + part * (j->at.each[at + 1] - j->at.each[at]));
	}
	return usd;
}

/* GPUs that are owned, bought, or left on demand by the quotas when spot takes nothing of them: a
 * linear program. */
static double
joint_capacity(const struct joint *j, size_t member, const double *left)
{
	const struct commit_member *m = &j->r.m[member];
	const struct commit_problem *p = m->problem;
	int64_t *count = joint_counts(j, member, j->best);
	double *cost = arena_array(j->a, p->n_lines + 1, sizeof(*cost)),
	       *lo = arena_array(j->a, p->n_lines + 1, sizeof(*lo));
	double *hi = arena_array(j->a, p->n_lines + 1, sizeof(*hi)), sum = 0;
	struct linear lp;

	for (size_t i = 0; i < p->n_lines; i++) {
		bool counted = false;

		if (p->lines[i].kind == COMMIT_SPOT)
			count[i] = 0;
		if (p->lines[i].kind != COMMIT_ON_DEMAND)
			continue;
		for (size_t q = 0; q < j->r.n_quotas; q++)
			counted = counted || m->rules->quota[q].weight[i] > 0;
		if (!counted && count[i] == COMMIT_NO_LIMIT)
			return INFINITY;
		cost[i] = -1;
		hi[i] = fmin(commit_stack_gpus(&p->lines[i], count[i]), JOINT_GPUS);
		count[i] = 0;
	}
	sum = commit_capacity(p, count);
	linear_init(&lp, p->n_lines, cost, lo, hi, j->a);
	for (size_t q = 0; q < j->r.n_quotas; q++) {
		double *row = arena_array(j->a, p->n_lines + 1, sizeof(*row));

		for (size_t i = 0; i < p->n_lines; i++)
			row[i] =
			    p->lines[i].kind == COMMIT_ON_DEMAND ? m->rules->quota[q].weight[i] : 0;
		linear_row(&lp, row, fmax(0, left[q]));
	}
	return linear_solve(&lp) == LINEAR_SOLVED ? sum - linear_cost(&lp) : sum;
}

static void
joint_report(struct joint *j)
{
	double *left = joint_left(j, j->best), gap;

	gap = j->best_usd > 0 ? (j->best_usd - j->lower) / j->best_usd : 0;
	for (size_t k = 0; k < j->r.n; k++) {
		const struct commit_member *m = &j->r.m[k];
		struct commit_work w = { .p = m->problem, .shares = m->rules };
		double hours = m->problem->curve->hours;

		commit_stack_init(m->problem, j->a, &w.st);
		*m->plan = (struct commit_plan){ .theta = 0 };
		w.count = joint_counts(j, k, j->best);
		commit_quota_caps(&w.st, m->rules, left, w.count);
		commit_report(&w, j->a, m->plan);
		m->plan->capacity_gpus = joint_capacity(j, k, left);
		m->plan->hourly = j->r.n == 1 ? joint_hourly(j) : NULL;
		joint_served(j, k, m->plan);
		m->plan->lower_bound_usd = m->plan->cost_usd * (1 - gap);
		m->plan->optimal = gap <= 1e-9;
		m->plan->theta = j->budget_price;
		m->plan->quota_price = arena_array(j->a, j->r.n_quotas + 1, sizeof(double));
		for (size_t q = 0; q < j->r.n_quotas; q++)
			m->plan->quota_price[q] = j->price[q] * hours;
	}
}

double
joint_exact(struct joint *j, const double *x)
{
	uint32_t *basis = arena_array(j->hours.a, j->hours.n + 1, sizeof(*basis));

	joint_hours_each(j);
	j->r.basis = basis;
	joint_at(j, x);
	j->r.basis = NULL;
	joint_cut(j, x);
	joint_hours_part(j, basis);
	joint_hours_means(j);
	return joint_fixed(j, x) + j->at.usd;
}

/* The linear program by all hours: its prices are those of the quotas, and the groups are parted as
 * it uses them. */
static void
joint_root(struct joint *j)
{
	double usd;

	for (size_t k = 0; k < JOINT_ROUNDS && j->work < j->work_max / 3; k++) {
		double guess;

		if (!joint_converge(j, &usd) || !isfinite(usd))
			break;
		joint_prices(j);
		guess = linear_value(&j->lp, j->usd);
		joint_exact(j, j->x);
		if (j->at.usd <= guess + JOINT_ROOT * fabs(usd))
			break;
		j->loose = 0.1 * (j->at.usd - guess); /* groups say no more than that */
	}
	j->loose = 0;
}

/*
 * Means of several hours cost no more than the hours, so that tangents and bounds of theirs hold
 * for the hours too, and where all hours of a group are used alike they cost the same: groups are
 * searched, then parted as the best counts use their hours, until those cost what the groups say.
 */
static void
joint_rounds(struct joint *j)
{
	double *best = arena_array(j->a, j->column.n + 1, sizeof(*best)), usd = INFINITY, lower = 0;

	joint_steps(j, JOINT_GROUPS);
	joint_root(j);
	for (size_t k = 0; k < JOINT_ROUNDS && j->work < j->work_max; k++) {
		double is;

		j->best_usd = INFINITY;
		if (isfinite(usd))
			joint_take(j, best);
		joint_search(j);
		if (isinf(j->best_usd))
			break;
		lower = fmax(lower, j->lower);
		is = joint_exact(j, j->best);
		if (is < usd) {
			usd = is;
			memcpy(best, j->best, j->column.n * sizeof(*best));
		}
		if (usd - lower <= j->proven * usd)
			break;
	}
	j->best_usd = usd;
	j->lower = fmin(lower, usd);
	memcpy(j->best, best, j->column.n * sizeof(*best));
	joint_hours_each(j);
}

static void
joint_solve(struct joint *j)
{
	if (j->r.n == 1 || j->r.n_quotas == 0) {
		joint_levels(j);
		joint_search(j);
	} else {
		joint_rounds(j);
	}
	if (!isfinite(j->best_usd))
		return;
	j->at.served = arena_array(j->a, j->server.n + 1, sizeof(double));
	j->at.most = arena_array(j->a, j->server.n + 1, sizeof(double));
	j->at.each = j->r.n == 1 ? arena_array(j->a, j->r.n_atoms + 1, sizeof(double)) : NULL;
	joint_at(j, j->best);
	joint_report(j);
}

void
commit_joint_improve(struct commit_work *w, double *lower_io, double *theta_io)
{
	struct commit_member m = { w->p, w->shares, NULL, NULL };
	struct joint j = joint_new(&m, 1, w->p->budget, arena_new());
	double *x;

	j.r.n_quotas = 0;
	j.work_max = JOINT_SOME;
	joint_init(&j);
	joint_master(&j);
	joint_levels(&j);
	x = arena_array(j.a, j.column.n + 1, sizeof(*x));
	for (size_t c = 0; c < j.column.n; c++)
		x[c] = (double)w->count[j.column.v[c].line];
	joint_take(&j, x);
	joint_cut(&j, x);
	joint_search(&j);
	if (!j.r.failed) {
		for (size_t c = 0; c < j.column.n; c++)
			w->count[j.column.v[c].line] = (int64_t)j.best[c];
		*lower_io = fmax(*lower_io, j.lower);
		*theta_io = j.budget_price > 0 ? j.budget_price : *theta_io;
	}
	arena_free(j.r.scratch);
	arena_free(j.a);
}

enum berth_code
commit_solve_joint(
    const struct commit_member *m, size_t n, double budget, struct arena *a, struct berth_err *err)
{
	struct joint j = joint_new(m, n, budget, a);
	double peak = 0;

	j.work_max = JOINT_WORK;
	joint_init(&j);
	joint_master(&j);
	joint_solve(&j);
	joint_hours_end(&j);
	arena_free(j.r.scratch);
	if (j.r.failed)
		return err_set(err, BERTH_EFAIL, "the hours under the quotas could not be solved");
	if (isfinite(j.best_usd))
		return BERTH_OK;
	for (size_t i = 0; i < n; i++)
		peak += isnan(m[i].problem->peak) ? 0 : m[i].problem->peak;
	err_set(err, BERTH_EINFEASIBLE,
	    "no purchases carry the peak%s of %.0f GPUs%s within the quotas%s: raise a quota, or "
	    "plan for a lower service level",
	    n > 1 ? "s" : "", peak, n > 1 ? " in all" : "",
	    m[0].rules->n > 0 ? " and the shares" : "");
	if (!isnan(budget))
		err_set(err, BERTH_EINFEASIBLE, "%s; the budget is %.2f USD",
		    arena_strdup(a, err->msg), budget);
	return BERTH_EINFEASIBLE;
}
