/* src/cmd/plan_lp.c - the integer program of a plan in the CPLEX LP format, hour by hour or level
 * by level.  Floor: cmd. */
#include "config.h"

#include <math.h>

#include "cmd/cmd.h"
#include "cmd/plan_deal.h"
#include "cmd/plan_join.h"
#include "util/arena.h"
#include "util/buf.h"

struct lp_file {
	struct buf *b;
	const struct plan_series *ps;
	const struct plan_options *o;
	size_t n, hours; /* hours of all paths, or the levels of one series */
};

static bool
lp_bought(const struct lp_file *f, size_t s, size_t i)
{
	return f->ps[s].lines[i].kind == COMMIT_RESERVED;
}

/* Of the busiest hour of a peak, and of what is used by the hour. */
static bool
lp_limits(const struct lp_file *f, size_t s, size_t i, bool peak)
{
	enum commit_kind k = f->ps[s].lines[i].kind;

	return k == COMMIT_ON_DEMAND || (!peak && k == COMMIT_SPOT);
}

/* Demand and share of time of an hour; of one series a level of its curve. */
static double
lp_demand(const struct lp_file *f, size_t s, size_t h, double *share)
{
	const struct commit_demand *d = &f->ps[s].demand;
	const struct commit_curve *c = &f->ps[s].curve;
	size_t steps = f->hours / f->ps[0].demand.n_paths;

	if (f->n > 1) {
		*share = 1 / (double)f->hours;
		return fmin(
		    d->gpus[h / steps * d->n_steps + h % steps * d->n_steps / steps], c->peak);
	}
	*share = (h == 0 ? 1 : c->use[h - 1]) - (h == c->levels ? 0 : c->use[h]);
	return (double)h;
}

static void
lp_cost(struct lp_file *f)
{
	double share;

	buf_printf(f->b, "Minimize\n cost: 0 one");
	for (size_t s = 0; s < f->n; s++) {
		const struct plan_series *p = &f->ps[s];
		double hours = p->curve.hours;

		for (size_t i = 0; i < p->n_lines; i++)
			if (lp_bought(f, s, i))
				buf_printf(f->b, "\n + %.17g x%zu_%zu",
				    p->lines[i].fixed * commit_line_gpus(&p->lines[i]) * hours, s,
				    i);
		for (size_t h = 0; h < f->hours; h++) {
			lp_demand(f, s, h, &share);
			if (!(share > 0))
				continue;
			buf_printf(
			    f->b, "\n + %.17g u%zu_%zu", share * hours * p->problem.unserved, s, h);
			for (size_t i = 0; i < p->n_lines; i++)
				buf_printf(f->b, "\n + %.17g y%zu_%zu_%zu",
				    share * hours * p->lines[i].usage, s, i, h);
		}
	}
	buf_printf(f->b, "\nSubject To\n");
}

/* What is owned or bought of a quota; the owned part is returned. */
static double
lp_quota_held(struct lp_file *f, size_t q)
{
	double owned = 0;

	for (size_t s = 0; s < f->n; s++)
		for (size_t i = 0; i < f->ps[s].n_lines; i++) {
			double w = f->ps[s].shares.quota[q].weight[i] *
				   commit_line_gpus(&f->ps[s].lines[i]);

			if (w > 0 && lp_bought(f, s, i))
				buf_printf(f->b, "\n + %.17g x%zu_%zu", w, s, i);
			if (f->ps[s].lines[i].kind == COMMIT_OWNED)
				owned += w * (double)f->ps[s].lines[i].max_count;
		}
	return owned;
}

static void
lp_quota(struct lp_file *f, const char *name, size_t q, size_t from, size_t to, char var, size_t h)
{
	double owned;

	buf_printf(f->b, " %s%zu_%zu_%zu: 0 one", name, q, from, h);
	owned = lp_quota_held(f, q);
	for (size_t s = from; s < to; s++)
		for (size_t i = 0; i < f->ps[s].n_lines; i++) {
			double w = f->ps[s].shares.quota[q].weight[i];

			if (w > 0 && lp_limits(f, s, i, var == 'v') && var == 'v')
				buf_printf(f->b, "\n + %.17g v%zu_%zu", w, s, i);
			else if (w > 0 && lp_limits(f, s, i, var == 'v'))
				buf_printf(f->b, "\n + %.17g y%zu_%zu_%zu", w, s, i, h);
		}
	buf_printf(f->b, " <= %.17g\n", fmax(0, f->ps[0].shares.quota[q].limit - owned));
}

/* Does a quota count what serves by the hour? */
static bool
lp_hourly(const struct lp_file *f, size_t q)
{
	for (size_t s = 0; s < f->n; s++)
		for (size_t i = 0; i < f->ps[s].n_lines; i++)
			if (lp_limits(f, s, i, false) && f->ps[s].shares.quota[q].weight[i] > 0)
				return true;
	return false;
}

static void
lp_hour(struct lp_file *f, size_t h)
{
	double share = 0, demand;

	for (size_t s = 0; s < f->n; s++) {
		const struct plan_series *p = &f->ps[s];

		demand = lp_demand(f, s, h, &share);
		if (!(share > 0))
			return;
		buf_printf(f->b, " d%zu_%zu: u%zu_%zu", s, h, s, h);
		for (size_t i = 0; i < p->n_lines; i++)
			buf_printf(f->b, "\n + y%zu_%zu_%zu", s, i, h);
		buf_printf(f->b, " >= %.17g\n", demand);
		for (size_t i = 0; i < p->n_lines; i++) {
			const struct commit_line *l = &p->lines[i];

			if (lp_bought(f, s, i))
				buf_printf(f->b,
				    " k%zu_%zu_%zu: y%zu_%zu_%zu - %.17g x%zu_%zu <= 0\n", s, i, h,
				    s, i, h, commit_line_gpus(l), s, i);
			else if (l->max_count != COMMIT_NO_LIMIT)
				buf_printf(f->b, " k%zu_%zu_%zu: y%zu_%zu_%zu <= %.17g\n", s, i, h,
				    s, i, h, (double)l->max_count * commit_line_gpus(l));
		}
	}
	for (size_t q = 0; q < f->ps[0].shares.n_quotas; q++)
		if (f->n == 1 || h == 0 || lp_hourly(f, q))
			lp_quota(f, "q", q, 0, f->n, 'y', h);
}

/* The peak is carried by what is owned, bought and to be had on demand. */
static void
lp_peak(struct lp_file *f, size_t s)
{
	const struct plan_series *p = &f->ps[s];
	double owned = 0;

	buf_printf(f->b, " p%zu: 0 one", s);
	for (size_t i = 0; i < p->n_lines; i++) {
		const struct commit_line *l = &p->lines[i];

		if (l->kind == COMMIT_OWNED)
			owned += (double)l->max_count * commit_line_gpus(l);
		else if (l->kind == COMMIT_RESERVED)
			buf_printf(f->b, "\n + %.17g x%zu_%zu", commit_line_gpus(l), s, i);
		else if (l->kind == COMMIT_ON_DEMAND)
			buf_printf(f->b, "\n + v%zu_%zu", s, i);
	}
	buf_printf(f->b, " >= %.17g\n", ceil(p->peak - 1e-9) - owned);
	for (size_t i = 0; i < p->n_lines; i++)
		if (p->lines[i].kind == COMMIT_ON_DEMAND &&
		    p->lines[i].max_count != COMMIT_NO_LIMIT)
			buf_printf(f->b, " l%zu_%zu: v%zu_%zu <= %lld\n", s, i, s, i,
			    (long long)p->lines[i].max_count);
	for (size_t q = 0; q < p->shares.n_quotas; q++)
		lp_quota(f, "m", q, s, s + 1, 'v', 0);
}

/* A provider's GPUs less its share of all are at most, or at least, nothing; what is owned is on
 * the right. */
static void
lp_share(struct lp_file *f, size_t s, size_t k, bool most)
{
	const struct plan_series *p = &f->ps[s];
	double part = most ? p->shares.share[k].max : p->shares.share[k].min, owned = 0;

	buf_printf(f->b, " s%zu_%zu_%d: 0 one", s, k, most);
	for (size_t i = 0; i < p->n_lines; i++) {
		double w = ((p->shares.group[i] == k + 1) - part) * commit_line_gpus(&p->lines[i]);

		if (lp_bought(f, s, i))
			buf_printf(f->b, "\n %+.17g x%zu_%zu", w, s, i);
		if (p->lines[i].kind == COMMIT_OWNED)
			owned += w * (double)p->lines[i].max_count;
	}
	buf_printf(f->b, " %s= %.17g\n", most ? "<" : ">", -owned);
}

static void
lp_budget(struct lp_file *f)
{
	if (isnan(f->o->budget_usd))
		return;
	buf_printf(f->b, " budget: 0 one");
	for (size_t s = 0; s < f->n; s++)
		for (size_t i = 0; i < f->ps[s].n_lines; i++)
			if (lp_bought(f, s, i))
				buf_printf(f->b, "\n + %.17g x%zu_%zu",
				    f->ps[s].lines[i].fixed * commit_line_gpus(&f->ps[s].lines[i]) *
					f->ps[s].curve.hours,
				    s, i);
	buf_printf(f->b, " <= %.17g\n", f->o->budget_usd);
}

static void
lp_write(struct lp_file *f)
{
	buf_printf(f->b, "\\ berth plan: x = machines bought, y = GPUs in use, u = GPUs that "
			 "nothing serves, v = on demand at the peak\n");
	lp_cost(f);
	for (size_t h = 0; h < f->hours && f->b->code == BERTH_OK; h++)
		lp_hour(f, h);
	for (size_t s = 0; s < f->n; s++) {
		lp_peak(f, s);
		for (size_t k = 0; k < f->ps[s].shares.n; k++) {
			lp_share(f, s, k, true);
			lp_share(f, s, k, false);
		}
	}
	lp_budget(f);
	buf_printf(f->b, "Bounds\n one = 1\n");
	for (size_t s = 0; s < f->n; s++)
		for (size_t i = 0; i < f->ps[s].n_lines; i++)
			if (lp_bought(f, s, i) && f->ps[s].lines[i].max_count != COMMIT_NO_LIMIT)
				buf_printf(f->b, " x%zu_%zu <= %lld\n", s, i,
				    (long long)f->ps[s].lines[i].max_count);
	buf_printf(f->b, "General\n");
	for (size_t s = 0; s < f->n; s++)
		for (size_t i = 0; i < f->ps[s].n_lines; i++)
			if (lp_bought(f, s, i))
				buf_printf(f->b, " x%zu_%zu\n", s, i);
	buf_printf(f->b, "End\n");
}

enum berth_code
plan_lp_save(struct cmd_ctx *ctx, struct buf *b, const char *path, struct berth_err *err)
{
	enum berth_code rc = buf_check(b, path, err);

	if (rc == BERTH_OK)
		rc = cmd_write_file(ctx, path, b->p, b->len, err);
	else
		err_ctx(err, "the program of every hour on every path is too large for a file: "
			     "take fewer --paths or a shorter --horizon");
	buf_free(b);
	return rc;
}

enum berth_code
plan_lp(struct cmd_ctx *ctx, const struct plan_series *ps, size_t n, const struct plan_options *o,
    const char *path, struct berth_err *err)
{
	struct buf b;
	struct lp_file f = { &b, ps, o, n, n == 1 ? ps[0].curve.levels + 1 : 0 };
	const struct plan_open *d = NULL;

	for (size_t s = 0; s < n && n > 1; s++) {
		size_t hours = ps[0].demand.n_paths * ps[s].demand.n_steps;

		f.hours = hours > f.hours ? hours : f.hours;
	}
	if (n > 1)
		d = plan_deal_open(ps, n, false, NULL, o, ctx->arena);
	if (d != NULL)
		f.ps = d->ps;
	buf_init(&b, PLAN_LP_BYTES);
	lp_write(&f);
	return plan_lp_save(ctx, &b, path, err);
}
