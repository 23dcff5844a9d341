#include <math.h>
#include <string.h>

#include "plan/commit_joint.h"
#include "util/arena.h"

#define JOINT_ROOM 1e-9

/* What the quotas let a line have at most, in GPUs. */
static double
joint_quota_cap(const struct joint *j, size_t member, size_t line)
{
	double most = INFINITY;

	for (size_t q = 0; q < j->r.n_quotas; q++)
		if (j->r.m[member].rules->quota[q].weight[line] > 0)
			most = fmin(most, j->r.m[member].rules->quota[q].limit /
					      j->r.m[member].rules->quota[q].weight[line]);
	return most;
}

/* A limit of its own, which the quotas do not say as well: then their price would be hidden in it.
 */
static double
joint_cap(const struct joint *j, size_t member, size_t line)
{
	const struct commit_line *l = &j->r.m[member].problem->lines[line];
	double gpus = commit_stack_gpus(l, l->max_count);

	return gpus < joint_quota_cap(j, member, line) - JOINT_ROOM ? gpus : INFINITY;
}

static void
joint_lines(struct joint *j)
{
	for (size_t k = 0; k < j->r.n; k++) {
		const struct commit_problem *p = j->r.m[k].problem;
		double need = j->scale_max *
			      ((double)p->curve->levels + (isnan(p->peak) ? 0 : fmax(0, p->peak)));

		for (size_t i = 0; i < p->n_lines; i++) {
			const struct commit_line *l = &p->lines[i];
			struct commit_server s = { k, i, COMMIT_NOT_BOUGHT,
				fmin(joint_cap(j, k, i), ceil(need)), l->usage };

			if (l->kind == COMMIT_OWNED) {
				s.cap = commit_stack_gpus(l, l->max_count);
				j->owned[k] += s.cap;
			}
			if (l->kind == COMMIT_RESERVED) {
				double g = commit_line_gpus(l),
				       most = fmin(joint_cap(j, k, i), joint_quota_cap(j, k, i));

				most = fmin(floor(most / g + JOINT_ROOM),
				    ceil(need / g) + (double)l->min_count);
				s.column = j->column.n;
				VEC_PUSH(j->a, &j->column,
				    (struct commit_column){ k, i, l->fixed * g, g,
					(double)l->min_count, fmax(most, (double)l->min_count) });
			}
			VEC_PUSH(j->a, &j->server, s);
		}
	}
	j->r.column = j->column.v;
	j->r.n_columns = j->column.n;
	j->r.server = j->server.v;
	j->r.n_servers = j->server.n;
}

double *
joint_row_new(struct joint *j)
{
	return arena_array(j->a, j->usd + 1, sizeof(double));
}

/* What is bought, and what a member has on demand at its peak, keep a quota together; member n:
 * what is bought alone. */
static void
joint_quota_rows(struct joint *j, size_t member)
{
	for (size_t q = 0; q < j->r.n_quotas; q++) {
		double *row = joint_row_new(j);
		bool any = false;

		for (size_t c = 0; c < j->column.n; c++) {
			const struct commit_column *x = &j->column.v[c];

			row[c] = j->r.m[x->member].rules->quota[q].weight[x->line] * x->gpus;
			any = any || (row[c] > 0 && member == j->r.n);
		}
		for (size_t k = 0; k < j->peak.n; k++) {
			const struct commit_server *s = &j->server.v[j->peak.v[k]];

			if (s->member != member)
				continue;
			row[j->column.n + k] = j->r.m[member].rules->quota[q].weight[s->line];
			any = any || row[j->column.n + k] > 0;
		}
		if (any)
			VEC_PUSH(j->a, &j->quota_row,
			    (struct joint_row){ linear_row(&j->lp, row, j->r.quota[q]), q });
	}
}

static void
joint_peak_row(struct joint *j, size_t member)
{
	const struct commit_problem *p = j->r.m[member].problem;
	double *row = joint_row_new(j), need = ceil(p->peak * j->scale - 1e-9) - j->owned[member];

	if (isnan(p->peak) || need <= 0)
		return;
	for (size_t c = 0; c < j->column.n; c++)
		row[c] = j->column.v[c].member == member ? -j->column.v[c].gpus : 0;
	for (size_t k = 0; k < j->peak.n; k++)
		row[j->column.n + k] = j->server.v[j->peak.v[k]].member == member ? -1 : 0;
	linear_row(&j->lp, row, -need + JOINT_ROOM);
	joint_quota_rows(j, member);
}

static void
joint_share_rows(struct joint *j, size_t member)
{
	const struct commit_shares *s = j->r.m[member].rules;
	const struct commit_problem *p = j->r.m[member].problem;

	for (size_t k = 0; k < s->n; k++) {
		double *most = joint_row_new(j), *least = joint_row_new(j), own = 0;

		for (size_t i = 0; i < p->n_lines; i++)
			if (p->lines[i].kind == COMMIT_OWNED && s->group[i] == s->share[k].group)
				own += commit_stack_gpus(&p->lines[i], p->lines[i].max_count);
		for (size_t c = 0; c < j->column.n; c++) {
			const struct commit_column *x = &j->column.v[c];
			bool in = x->member == member && s->group[x->line] == s->share[k].group;

			most[c] = x->member == member ? x->gpus * (in - s->share[k].max) : 0;
			least[c] = x->member == member ? x->gpus * (s->share[k].min - in) : 0;
		}
		if (s->share[k].max < 1)
			linear_row(
			    &j->lp, most, s->share[k].max * j->owned[member] - own + JOINT_ROOM);
		if (s->share[k].min > 0)
			linear_row(
			    &j->lp, least, own - s->share[k].min * j->owned[member] + JOINT_ROOM);
	}
}

void
joint_master(struct joint *j)
{
	double *cost, *lo, *hi, most = 1;

	j->peak.n = j->quota_row.n = 0;
	for (size_t s = 0; s < j->server.n; s++) {
		const struct commit_problem *p = j->r.m[j->server.v[s].member].problem;

		if (p->lines[j->server.v[s].line].kind == COMMIT_ON_DEMAND && !isnan(p->peak))
			VEC_PUSH(j->a, &j->peak, s);
	}
	j->usd = j->column.n + j->peak.n;
	cost = joint_row_new(j);
	lo = joint_row_new(j);
	hi = joint_row_new(j);
	for (size_t c = 0; c < j->column.n; c++) {
		cost[c] = j->price_factor * j->column.v[c].fixed;
		lo[c] = j->column.v[c].least;
		hi[c] = j->column.v[c].most;
	}
	for (size_t k = 0; k < j->peak.n; k++)
		hi[j->column.n + k] = j->server.v[j->peak.v[k]].cap;
	for (size_t k = 0; k < j->r.n; k++)
		most += j->r.m[k].problem->unserved * j->scale_max *
			(j->r.m[k].problem->curve->peak + 1);
	cost[j->usd] = 1;
	hi[j->usd] = most;
	linear_init(&j->lp, j->usd + 1, cost, lo, hi, j->a);
	joint_quota_rows(j, j->r.n);
	for (size_t k = 0; k < j->r.n; k++) {
		joint_peak_row(j, k);
		joint_share_rows(j, k);
	}
	if (!isnan(j->budget)) {
		double *row = joint_row_new(j);

		for (size_t c = 0; c < j->column.n; c++)
			row[c] = j->price_factor * j->column.v[c].fixed *
				 j->r.m[j->column.v[c].member].problem->curve->hours;
		j->budget_row = linear_row(&j->lp, row, j->budget * (1 + 1e-12));
	}
	j->rows = j->lp.m;
}

struct joint
joint_new(const struct commit_member *m, size_t n, double budget, struct arena *a)
{
	return (struct joint){ .r = { .m = m,
				   .n = n,
				   .n_quotas = m[0].rules == NULL ? 0 : m[0].rules->n_quotas,
				   .scratch = arena_new() },
		.a = a,
		.budget = budget,
		.best_usd = INFINITY,
		.price_factor = 1,
		.scale = 1,
		.scale_max = 1,
		.proven = 5e-10 };
}

void
joint_init(struct joint *j)
{
	size_t q = j->r.n_quotas;
	double *limit = arena_array(j->a, q + 1, sizeof(*limit));

	j->owned = arena_array(j->a, j->r.n, sizeof(*j->owned));
	joint_lines(j);
	for (size_t k = 0; k < q; k++) {
		limit[k] = j->r.m[0].rules->quota[k].limit;
		for (size_t s = 0; s < j->server.n; s++) {
			const struct commit_server *v = &j->server.v[s];

			if (j->r.m[v->member].problem->lines[v->line].kind == COMMIT_OWNED)
				limit[k] -=
				    j->r.m[v->member].rules->quota[k].weight[v->line] * v->cap;
		}
		limit[k] = fmax(0, limit[k]);
	}
	j->r.quota = limit;
	j->price = arena_array(j->a, q + 1, sizeof(*j->price));
	j->x = arena_array(j->a, j->column.n + 1, sizeof(*j->x));
	j->best = arena_array(j->a, j->column.n + 1, sizeof(*j->best));
	j->at.slope = arena_array(j->a, j->column.n + 1, sizeof(double));
	j->at.saves = arena_array(j->a, q + 1, sizeof(double));
}
