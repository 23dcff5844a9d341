/* src/cmd/plan_schedule_lp.c - the integer program of schedules in the CPLEX LP format.  Floor:
 * cmd. */
#include "config.h"

#include <math.h>

#include "cmd/cmd.h"
#include "cmd/plan_join.h"
#include "util/arena.h"
#include "util/buf.h"

/*
 * x_s_j: machines of purchase j of series s. Of one series without quotas and prices of use z_t_k
 * are GPUs that nothing reserved carries in stretch t, by runs of levels of one price. Else, in
 * each hour h (of one series: level of demand in a stretch), y_s_i_h are GPUs of line i in use,
 * o_s_i_h those of something owned that asks for its use, and u_s_h what nothing serves; c_s_i_t
 * machines of a line that run in a stretch, b_q_t what all that is bought takes of a quota, v_s_i_t
 * GPUs on demand at the peak.
 */
struct slp {
	struct buf *b;
	const struct plan_series **of; /* [n] series that are one program */
	size_t *id, n;                 /* [n] their numbers */
	double *demand;                /* [n] of an hour */
	size_t hour;                   /* number of the next */
};

static const struct schedule_form *
slp_form(const struct slp *f, size_t s)
{
	return &f->of[s]->schedule->form;
}

static size_t
slp_stretches(const struct slp *f)
{
	return slp_form(f, 0)->rest->n;
}

static bool
slp_runs(const struct schedule_form *f, size_t j, size_t t)
{
	return f->offers[j].from <= t && t < f->offers[j].to;
}

static bool
slp_holds(const struct slp *f, size_t s, size_t i, size_t t)
{
	const struct schedule_form *g = slp_form(f, s);
	const struct plan_series *ps = f->of[s];

	return plan_schedule_step(ps, ps->owned[i].from) <= g->border[t] &&
	       g->border[t + 1] <= plan_schedule_step(ps, ps->owned[i].to);
}

/* What a series owns in a stretch: GPUs, or (quota) what they take of it. */
static double
slp_owned(const struct slp *f, size_t s, size_t t, size_t quota)
{
	const struct plan_series *ps = f->of[s];
	double sum = 0;

	for (size_t i = 0; i < ps->n_owned; i++)
		if (slp_holds(f, s, i, t))
			sum += quota == SIZE_MAX ? ps->owned[i].gpus : ps->owned[i].weight[quota];
	return sum;
}

/* GPUs owned whose use costs nothing. */
static double
slp_free(const struct slp *f, size_t s, size_t t)
{
	double sum = 0;

	for (size_t i = 0; i < f->of[s]->n_owned; i++)
		if (f->of[s]->owned[i].usage == 0 && slp_holds(f, s, i, t))
			sum += f->of[s]->owned[i].gpus;
	return sum;
}

/* What is not owned of a quota. */
static double
slp_left(const struct slp *f, size_t q, size_t t)
{
	double left = f->of[0]->shares.quota[q].limit;

	for (size_t s = 0; s < f->n; s++)
		left -= slp_owned(f, s, t, q);
	return fmax(0, left);
}

/* A run of levels with one slope that nothing reserved carries; the rest's cost is their sum. */
static void
slp_rest(const struct slp *f, bool objective, size_t t)
{
	const struct terms_rest *r = slp_form(f, 0)->rest;
	const double *v = r->usd + t * ((size_t)r->levels + 1);

	for (int64_t k = 0; k < r->levels;) {
		double slope = v[k] - v[k + 1];
		int64_t n = 1;

		while (k + n < r->levels && v[k + n] - v[k + n + 1] == slope)
			n++;
		if (objective)
			buf_printf(
			    f->b, " + %.17g z%zu_%zu_%lld\n", slope, f->id[0], t, (long long)k);
		else
			buf_printf(f->b, " z%zu_%zu_%lld <= %lld\n", f->id[0], t, (long long)k,
			    (long long)n);
		k += n;
	}
}

/* A provider's part of what runs in stretch t, with what is owned on the right. */
static void
slp_share(const struct slp *f, size_t s, size_t k, bool most, size_t t)
{
	const struct schedule_form *g = slp_form(f, s);
	const struct plan_series *ps = f->of[s];
	double part = most ? ps->shares.share[k].max : ps->shares.share[k].min, owned = 0;

	buf_printf(f->b, " s%zu_%zu_%zu_%d: 0 one", f->id[s], t, k, most);
	for (size_t j = 0; j < g->n_offers; j++)
		if (slp_runs(g, j, t))
			buf_printf(f->b, "\n %+.17g x%zu_%zu",
			    ((ps->shares.group[g->line[j]] == k + 1) - part) *
				(double)ps->lines[g->line[j]].gpus,
			    f->id[s], j);
	for (size_t i = 0; i < ps->n_owned; i++)
		if (slp_holds(f, s, i, t))
			owned += ((ps->owned[i].group == k + 1) - part) * ps->owned[i].gpus;
	buf_printf(f->b, " %s= %.17g\n", most ? "<" : ">", -owned);
}

static void
slp_gpus(const struct slp *f, size_t s, size_t t)
{
	const struct schedule_form *g = slp_form(f, s);

	for (size_t j = 0; j < g->n_offers; j++)
		if (slp_runs(g, j, t))
			buf_printf(f->b, "\n + %lld x%zu_%zu",
			    (long long)f->of[s]->lines[g->line[j]].gpus, f->id[s], j);
}

static void
slp_rest_rows(const struct slp *f, size_t t)
{
	const struct terms_rest *r = slp_form(f, 0)->rest;
	const double *v = r->usd + t * ((size_t)r->levels + 1);

	buf_printf(f->b, " d%zu_%zu: 0 one", f->id[0], t);
	slp_gpus(f, 0, t);
	for (int64_t k = 0; k < r->levels; k++)
		if (k == 0 || v[k] - v[k + 1] != v[k - 1] - v[k])
			buf_printf(f->b, "\n + z%zu_%zu_%lld", f->id[0], t, (long long)k);
	buf_printf(f->b, " >= %lld\n", (long long)r->levels);
	if (r->least == NULL || r->least[t] == 0)
		return;
	buf_printf(f->b, " p%zu_%zu: 0 one", f->id[0], t);
	slp_gpus(f, 0, t);
	buf_printf(f->b, " >= %lld\n", (long long)r->least[t]);
}

/* Machines of a line that run, and what all take of a quota. */
static void
slp_running(const struct slp *f, size_t t)
{
	for (size_t s = 0; s < f->n; s++)
		for (size_t i = 0; i < f->of[s]->n_lines; i++) {
			const struct schedule_form *g = slp_form(f, s);

			if (f->of[s]->lines[i].kind != COMMIT_RESERVED)
				continue;
			buf_printf(
			    f->b, " c%zu_%zu_%zu: - c%zu_%zu_%zu", f->id[s], i, t, f->id[s], i, t);
			for (size_t j = 0; j < g->n_offers; j++)
				if (g->line[j] == i && slp_runs(g, j, t))
					buf_printf(f->b, "\n + x%zu_%zu", f->id[s], j);
			buf_printf(f->b, " = 0\n");
		}
	for (size_t q = 0; q < f->of[0]->shares.n_quotas; q++) {
		buf_printf(f->b, " b%zu_%zu_%zu: - b%zu_%zu_%zu", f->id[0], q, t, f->id[0], q, t);
		for (size_t s = 0; s < f->n; s++)
			for (size_t i = 0; i < f->of[s]->n_lines; i++)
				if (f->of[s]->lines[i].kind == COMMIT_RESERVED &&
				    f->of[s]->shares.quota[q].weight[i] > 0)
					buf_printf(f->b, "\n + %.17g c%zu_%zu_%zu",
					    f->of[s]->shares.quota[q].weight[i] *
						(double)f->of[s]->lines[i].gpus,
					    f->id[s], i, t);
		buf_printf(f->b, " = 0\n");
	}
}

static void
slp_limits(const struct slp *f, size_t t)
{
	for (size_t q = 0; q < f->of[0]->shares.n_quotas; q++)
		buf_printf(f->b, " b%zu_%zu_%zu <= %.17g\n", f->id[0], q, t, slp_left(f, q, t));
	for (size_t s = 0; s < f->n; s++)
		for (size_t i = 0; i < f->of[s]->n_lines; i++) {
			const struct commit_line *l = &f->of[s]->lines[i];

			if (l->max_count == COMMIT_NO_LIMIT)
				continue;
			if (l->kind == COMMIT_RESERVED)
				buf_printf(f->b, " c%zu_%zu_%zu <= %lld\n", f->id[s], i, t,
				    (long long)l->max_count);
			else if (l->kind == COMMIT_ON_DEMAND && !isnan(f->of[s]->peak))
				buf_printf(f->b, " v%zu_%zu_%zu <= %lld\n", f->id[s], i, t,
				    (long long)l->max_count);
		}
}

/* The peak is carried by what is owned, bought and on demand, within the quotas beside all that is
 * bought. */
static void
slp_peak(const struct slp *f, size_t s, size_t t)
{
	const struct plan_series *ps = f->of[s];
	double need = ceil(ps->peak - 1e-9) - slp_owned(f, s, t, SIZE_MAX);

	if (isnan(ps->peak) || need <= 0)
		return;
	buf_printf(f->b, " p%zu_%zu: 0 one", f->id[s], t);
	slp_gpus(f, s, t);
	for (size_t i = 0; i < ps->n_lines; i++)
		if (ps->lines[i].kind == COMMIT_ON_DEMAND)
			buf_printf(f->b, "\n + v%zu_%zu_%zu", f->id[s], i, t);
	buf_printf(f->b, " >= %.17g\n", need);
	for (size_t q = 0; q < ps->shares.n_quotas; q++) {
		buf_printf(f->b, " m%zu_%zu_%zu: b%zu_%zu_%zu", q, f->id[s], t, f->id[0], q, t);
		for (size_t i = 0; i < ps->n_lines; i++)
			if (ps->lines[i].kind == COMMIT_ON_DEMAND &&
			    ps->shares.quota[q].weight[i] > 0)
				buf_printf(f->b, "\n + %.17g v%zu_%zu_%zu",
				    ps->shares.quota[q].weight[i], f->id[s], i, t);
		buf_printf(f->b, " <= %.17g\n", slp_left(f, q, t));
	}
}

/* The hours of a stretch, or of one series its levels, are called one by one with what each series
 * asks. */
typedef void slp_hour_fn(const struct slp *f, size_t t, double hours, const double *demand);

static void
slp_hours(struct slp *f, size_t t, slp_hour_fn *fn)
{
	const struct schedule_form *g = slp_form(f, 0);
	double step_hours = (double)f->of[0]->schedule_step_s / 3600,
	       all = (double)(g->border[t + 1] - g->border[t]) * step_hours;
	double *demand = f->demand;
	size_t paths = 0;

	if (f->n == 1) {
		const double *use = g->use + t * (g->levels + 1);

		for (size_t l = 0; l <= g->levels; l++) {
			double share = (l == 0 ? 1 : use[l - 1]) - (l == g->levels ? 0 : use[l]);

			demand[0] = (double)l;
			if (share > 0)
				fn(f, t, share * all, demand);
			f->hour += share > 0;
		}
		return;
	}
	for (size_t s = 0; s < f->n; s++)
		paths = f->of[s]->demand.n_paths > paths ? f->of[s]->demand.n_paths : paths;
	for (size_t p = 0; p < paths; p++)
		for (int64_t step = g->border[t]; step < g->border[t + 1] && f->b->code == BERTH_OK;
		     step++) {
			for (size_t s = 0; s < f->n; s++) {
				const struct commit_demand *d = &f->of[s]->demand;
				size_t at =
				    (size_t)step * d->n_steps / (size_t)f->of[s]->schedule_steps;

				demand[s] = fmin(d->gpus[p % d->n_paths * d->n_steps + at],
				    f->of[s]->curve.peak);
			}
			fn(f, t, step_hours / (double)paths, demand);
			f->hour++;
		}
}

static void
slp_hour_cost(const struct slp *f, size_t t, double hours, const double *demand)
{
	(void)demand;
	for (size_t s = 0; s < f->n; s++) {
		for (size_t i = 0; i < f->of[s]->n_owned; i++)
			if (f->of[s]->owned[i].usage > 0 && slp_holds(f, s, i, t))
				buf_printf(f->b, " + %.17g o%zu_%zu_%zu\n",
				    hours * f->of[s]->owned[i].usage, f->id[s], i, f->hour);
		for (size_t i = 0; i < f->of[s]->n_lines; i++)
			if (f->of[s]->lines[i].usage > 0 && f->of[s]->lines[i].kind != COMMIT_OWNED)
				buf_printf(f->b, " + %.17g y%zu_%zu_%zu\n",
				    hours * f->of[s]->lines[i].usage, f->id[s], i, f->hour);
		buf_printf(f->b, " + %.17g u%zu_%zu\n", hours * f->of[s]->problem.unserved,
		    f->id[s], f->hour);
	}
}

/* Does a quota count what serves by the hour? */
static bool
slp_hourly(const struct slp *f, size_t q)
{
	for (size_t s = 0; s < f->n; s++)
		for (size_t i = 0; i < f->of[s]->n_lines; i++)
			if ((f->of[s]->lines[i].kind == COMMIT_SPOT ||
				f->of[s]->lines[i].kind == COMMIT_ON_DEMAND) &&
			    f->of[s]->shares.quota[q].weight[i] > 0)
				return true;
	return false;
}

static void
slp_hour_rows(const struct slp *f, size_t t, double hours, const double *demand)
{
	(void)hours;
	for (size_t s = 0; s < f->n; s++) {
		buf_printf(f->b, " h%zu_%zu: u%zu_%zu", f->id[s], f->hour, f->id[s], f->hour);
		for (size_t i = 0; i < f->of[s]->n_owned; i++)
			if (f->of[s]->owned[i].usage > 0 && slp_holds(f, s, i, t))
				buf_printf(f->b, "\n + o%zu_%zu_%zu", f->id[s], i, f->hour);
		for (size_t i = 0; i < f->of[s]->n_lines; i++)
			if (f->of[s]->lines[i].kind != COMMIT_OWNED)
				buf_printf(f->b, "\n + y%zu_%zu_%zu", f->id[s], i, f->hour);
		buf_printf(f->b, " >= %.17g\n", fmax(0, demand[s] - slp_free(f, s, t)));
		for (size_t i = 0; i < f->of[s]->n_lines; i++)
			if (f->of[s]->lines[i].kind == COMMIT_RESERVED)
				buf_printf(f->b,
				    " k%zu_%zu_%zu: y%zu_%zu_%zu - %lld c%zu_%zu_%zu <= 0\n",
				    f->id[s], i, f->hour, f->id[s], i, f->hour,
				    (long long)f->of[s]->lines[i].gpus, f->id[s], i, t);
	}
	for (size_t q = 0; q < f->of[0]->shares.n_quotas; q++) {
		if (!slp_hourly(f, q))
			continue; /* what is bought of it is bounded */
		buf_printf(f->b, " q%zu_%zu: b%zu_%zu_%zu", q, f->hour, f->id[0], q, t);
		for (size_t s = 0; s < f->n; s++)
			for (size_t i = 0; i < f->of[s]->n_lines; i++) {
				enum commit_kind kind = f->of[s]->lines[i].kind;

				if ((kind == COMMIT_SPOT || kind == COMMIT_ON_DEMAND) &&
				    f->of[s]->shares.quota[q].weight[i] > 0)
					buf_printf(f->b, "\n + %.17g y%zu_%zu_%zu",
					    f->of[s]->shares.quota[q].weight[i], f->id[s], i,
					    f->hour);
			}
		buf_printf(f->b, " <= %.17g\n", slp_left(f, q, t));
	}
}

static void
slp_hour_bounds(const struct slp *f, size_t t, double hours, const double *demand)
{
	(void)hours;
	(void)demand;
	for (size_t s = 0; s < f->n; s++) {
		for (size_t i = 0; i < f->of[s]->n_owned; i++)
			if (f->of[s]->owned[i].usage > 0 && slp_holds(f, s, i, t))
				buf_printf(f->b, " o%zu_%zu_%zu <= %.17g\n", f->id[s], i, f->hour,
				    f->of[s]->owned[i].gpus);
		for (size_t i = 0; i < f->of[s]->n_lines; i++) {
			const struct commit_line *l = &f->of[s]->lines[i];

			if ((l->kind == COMMIT_SPOT || l->kind == COMMIT_ON_DEMAND) &&
			    l->max_count != COMMIT_NO_LIMIT)
				buf_printf(f->b, " y%zu_%zu_%zu <= %lld\n", f->id[s], i, f->hour,
				    (long long)(l->max_count * l->gpus));
		}
	}
}

static bool
slp_by_rest(const struct slp *f)
{
	const struct plan_series *ps = f->of[0];

	for (size_t i = 0; i < ps->n_lines; i++)
		if ((ps->lines[i].kind == COMMIT_RESERVED || ps->lines[i].kind == COMMIT_OWNED) &&
		    ps->lines[i].usage > 0)
			return false;
	for (size_t i = 0; i < ps->n_owned; i++)
		if (ps->owned[i].usage > 0)
			return false;
	return f->n == 1 && ps->shares.n_quotas == 0;
}

static void
slp_each(struct slp *f, slp_hour_fn *fn)
{
	for (size_t t = 0; t < slp_stretches(f); t++)
		slp_hours(f, t, fn);
}

static void
slp_money(struct slp *f)
{
	for (size_t s = 0; s < f->n; s++)
		for (size_t j = 0; j < slp_form(f, s)->n_offers; j++)
			buf_printf(f->b, "\n + %.17g x%zu_%zu",
			    usd_to_double(slp_form(f, s)->offers[j].cost), f->id[s], j);
}

static void
slp_cost(struct slp *f)
{
	const struct terms_rest *r = slp_form(f, 0)->rest;
	double rest = 0;

	slp_money(f);
	buf_printf(f->b, "\n");
	if (!slp_by_rest(f)) {
		slp_each(f, slp_hour_cost);
		return;
	}
	for (size_t t = 0; t < r->n; t++) {
		rest += r->usd[t * ((size_t)r->levels + 1) + (size_t)r->levels];
		slp_rest(f, true, t);
	}
	buf_printf(f->b, " + %.17g one%zu\n", rest, f->id[0]);
}

static void
slp_rows(struct slp *f)
{
	for (size_t t = 0; t < slp_stretches(f); t++) {
		if (slp_by_rest(f))
			slp_rest_rows(f, t);
		else
			slp_running(f, t);
		for (size_t s = 0; s < f->n; s++) {
			if (!slp_by_rest(f))
				slp_peak(f, s, t);
			for (size_t k = 0; k < 2 * f->of[s]->shares.n; k++)
				slp_share(f, s, k / 2, k % 2 == 0, t);
		}
	}
	if (!slp_by_rest(f))
		slp_each(f, slp_hour_rows);
}

static void
slp_bounds(struct slp *f)
{
	if (slp_by_rest(f))
		buf_printf(f->b, " one%zu = 1\n", f->id[0]);
	for (size_t s = 0; s < f->n; s++)
		for (size_t j = 0; j < slp_form(f, s)->n_offers; j++)
			if (slp_form(f, s)->offers[j].max < INT64_MAX)
				buf_printf(f->b, " x%zu_%zu <= %lld\n", f->id[s], j,
				    (long long)slp_form(f, s)->offers[j].max);
	for (size_t t = 0; t < slp_stretches(f); t++) {
		if (slp_by_rest(f))
			slp_rest(f, false, t);
		else
			slp_limits(f, t);
	}
	if (!slp_by_rest(f))
		slp_each(f, slp_hour_bounds);
}

static void
slp_whole(struct slp *f)
{
	for (size_t s = 0; s < f->n; s++)
		for (size_t j = 0; j < slp_form(f, s)->n_offers; j++)
			buf_printf(f->b, " x%zu_%zu\n", f->id[s], j);
}

/* What is said of each program: series that were planned together have the same borders. */
static void
slp_programs(struct buf *b, const struct plan_series *ps, size_t n, struct arena *a,
    void (*fn)(struct slp *f))
{
	struct slp f = { .b = b,
		.of = arena_array(a, n, sizeof(*f.of)),
		.id = arena_array(a, n, sizeof(*f.id)),
		.demand = arena_array(a, n, sizeof(*f.demand)) };

	for (size_t i = 0; i < n; i++) {
		bool said = false;

		for (size_t k = 0; k < i; k++)
			said = said || ps[k].schedule->form.border == ps[i].schedule->form.border;
		f.n = 0;
		for (size_t k = i; k < n && !said; k++)
			if (ps[k].schedule->form.border == ps[i].schedule->form.border) {
				f.of[f.n] = ps[k].open != NULL ? ps[k].open : &ps[k];
				f.id[f.n++] = k;
			}
		if (f.n > 0)
			fn(&f);
	}
}

static void
slp_write(struct buf *b, const struct plan_series *ps, size_t n, double budget, struct arena *a)
{
	buf_printf(b,
	    "\\ berth plan --starts: x = machines bought, z = GPUs that nothing reserved carries, "
	    "y = GPUs in use, u = GPUs that nothing serves,\n\\ o = owned GPUs in use that ask for "
	    "it, v = on demand at the peak, c = machines that run, b = what is bought of a quota\n"
	    "Minimize\n cost: 0 one");
	slp_programs(b, ps, n, a, slp_cost);
	buf_printf(b, "Subject To\n");
	slp_programs(b, ps, n, a, slp_rows);
	if (!isnan(budget)) {
		buf_printf(b, " budget: 0 one");
		slp_programs(b, ps, n, a, slp_money);
		buf_printf(b, " <= %.17g\n", budget);
	}
	buf_printf(b, "Bounds\n one = 1\n");
	slp_programs(b, ps, n, a, slp_bounds);
	buf_printf(b, "General\n");
	slp_programs(b, ps, n, a, slp_whole);
	buf_printf(b, "End\n");
}

enum berth_code
plan_schedule_lp(struct cmd_ctx *ctx, const struct plan_series *ps, size_t n,
    const struct plan_options *o, const char *path, struct berth_err *err)
{
	struct buf b;

	for (size_t i = 0; i < n; i++)
		if (ps[i].allotted)
			return err_set(err, BERTH_EFAIL,
			    "the program of %zu series is too large: take later dates (--starts), "
			    "fewer series (--series) or a shorter --horizon",
			    n);
	buf_init(&b, PLAN_LP_BYTES);
	slp_write(&b, ps, n, o->budget_usd, ctx->arena);
	return plan_lp_save(ctx, &b, path, err);
}
