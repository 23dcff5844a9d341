/* src/cmd/plan_demand.c - the demand that a plan is made on, picked, joined and forecast as `berth
 * forecast` does.  Floor: cmd. */
#include "config.h"

#include <math.h>
#include <string.h>

#include "cmd/forecast.h"
#include "cmd/plan_join.h"
#include "util/arena.h"
#include "util/str.h"
#include "util/vec.h"

/* The same run with the options of `berth forecast`. */
static struct cmd_ctx
demand_ctx(const struct cmd_ctx *ctx, const struct plan_options *o)
{
	struct cmd_ctx as = *ctx;
	struct forecast_opts *v = arena_array(ctx->arena, 1, sizeof(*v));

	*v = (struct forecast_opts){ .then = o->then,
		.series = *o->series,
		.by = *o->by,
		.at = o->at,
		.paths = o->paths,
		.seed = (int64_t)o->seed,
		.threads = 1,
		.gpus_per_node = 8,
		.reconcile = o->reconcile,
		.events = o->events,
		.no_events = o->no_events,
		.total = o->total,
		.sparse = o->sparse,
		.requested = o->requested,
		.keep_spikes = o->keep_spikes,
		.spike_times = FC_SPIKE_ONCE };
	as.opts = v;
	return as;
}

static bool
demand_sums(const struct plan_options *o)
{
	return o->total || o->by->n > 0;
}

static enum berth_code
demand_options(const struct plan_options *o, struct berth_err *err)
{
	if (o->by->n > 1 || (o->by->n > 0 && o->total)) {
		err_set(err, BERTH_EUSAGE,
		    "a plan is made for the sums of one label, or for the total: sums that share "
		    "series would be bought twice");
		return err_at(err, o->total ? "--total" : "--by");
	}
	return BERTH_OK;
}

/* Why a series cannot be planned: it counts no GPUs, or nobody knows its accelerator. next_out:
 * what to do. */
static enum berth_code
demand_accel(struct cmd_ctx *ctx, const struct accel_table *accels, const struct series *s,
    const char *gpu, const struct accel **accel_out, const char **next_out, struct berth_err *err)
{
	const char *near[3], *name;
	size_t n;

	*accel_out = NULL;
	if (!series_is_gpus(s)) {
		*next_out = arena_printf(ctx->arena, "berth forecast %s", s->name);
		return err_set(err, BERTH_EINFEASIBLE, "series %s counts %s: a plan buys GPUs",
		    s->name, series_unit(s));
	}
	*accel_out = plan_accel(accels, s, gpu, ctx->arena, &name);
	if (*accel_out != NULL)
		return BERTH_OK;
	n = accel_suggest(accels, name, near, 3);
	*next_out = arena_printf(ctx->arena, "name it: berth plan --series %s --gpu %s", s->name,
	    n > 0 ? near[0] : "H100");
	return err_set(err, BERTH_EINFEASIBLE,
	    "series %s: no accelerator called '%s' is known%s%s; --gpu names it", s->name, name,
	    n > 0 ? "; did you mean " : "", n > 0 ? str_join(ctx->arena, near, n, ", ") : "");
}

/* Leaves out what can not be planned: an error where it was named, or where nothing else is left.
 */
static enum berth_code
demand_known(struct cmd_ctx *ctx, const struct accel_table *accels, const struct plan_options *o,
    struct forecast_set *f, struct berth_err *err)
{
	bool named = o->series->n + ctx->n_args > 0, others = f->n > 1;
	size_t kept = 0, n = f->n;

	for (size_t i = 0; i < n; i++) {
		bool total = !named && others && str_eq(f->rows[i].name, "total");
		const struct accel *accel;
		const char *next;
		struct berth_err why;
		enum berth_code rc;

		if (total && !demand_sums(o))
			continue; /* the sum of the others */
		rc = total ? BERTH_OK
			   : demand_accel(ctx, accels, &f->rows[i], o->gpu, &accel, &next, &why);
		if (rc == BERTH_OK) {
			forecast_place(f, kept++, i);
			continue;
		}
		if (named || n == 1 || (kept == 0 && i + 1 == n)) {
			*err = why;
			cmd_next_step(ctx, "%s", next);
			return rc;
		}
		cmd_warn(ctx, "left out: %s", why.msg);
	}
	f->n = f->n_coarse = kept;
	return kept > 0 ? BERTH_OK
			: err_set(err, BERTH_EINFEASIBLE, "there is no series to plan for");
}

/* The accelerator that all of a sum's series have. */
static enum berth_code
demand_sum_accel(struct cmd_ctx *ctx, const struct accel_table *accels,
    const struct plan_options *o, const struct forecast_set *f, struct plan_series *ps,
    const struct fc_sum *sum, struct berth_err *err)
{
	const char **of = arena_array(ctx->arena, sum->n, sizeof(*of)), *next;
	const struct unit **u = arena_array(ctx->arena, sum->n + 1, sizeof(*u));
	enum berth_code rc = BERTH_OK;

	for (size_t k = 0; k < sum->n && rc == BERTH_OK; k++) {
		const struct accel *accel;

		of[k] = f->rows[sum->leaf[k]].name;
		u[k] = &f->unit[sum->leaf[k]];
		ps->queued += f->queued[sum->leaf[k]];
		rc = demand_accel(ctx, accels, &f->rows[sum->leaf[k]], o->gpu, &accel, &next, err);
		if (rc == BERTH_OK && ps->accel != NULL && ps->accel != accel)
			rc = err_set(err, BERTH_EINFEASIBLE,
			    "%s adds up %s and %s, and each is bought by itself: plan --by "
			    "accelerator, or name one for all with --gpu",
			    sum->name, ps->accel->name, accel->name);
		ps->accel = accel;
	}
	ps->unit = unit_sum(u, sum->n, ctx->arena);
	ps->counted_in = ps->unit.in;
	ps->of = of;
	ps->n_of = sum->n;
	return rc;
}

/* The sums of the one label, or the total. */
static enum berth_code
demand_of_sums(struct cmd_ctx *ctx, const struct accel_table *accels, const struct plan_options *o,
    struct forecast_set *f, struct plan_series *ps, size_t *n_out, struct berth_err *err)
{
	size_t first = o->total ? 0 : 1, end = o->total ? 1 : f->tree.n_sums, n = 0;

	for (size_t k = first; k < end; k++) {
		struct plan_series *one = &ps[n];
		enum berth_code rc;

		*one = (struct plan_series){ .series = f->rows[f->tree.n_leaves + k],
			.node = f->tree.n_leaves + k };
		rc = demand_sum_accel(ctx, accels, o, f, one, &f->tree.sums[k], err);
		if (rc == BERTH_OK)
			n++;
		else if (n == 0 && k + 1 == end)
			return rc;
		else {
			cmd_warn(ctx, "left out: %s", err->msg);
			f->n_left++;
		}
	}
	*n_out = n;
	return BERTH_OK;
}

/* Series of one accelerator are counted in one unit where they are added up, else each in its own;
 * their histories are brought to it. */
static void
demand_units_choose(const struct plan_options *o, struct forecast_set *f,
    const struct accel *const *accel, struct arena *a)
{
	struct unit **u = arena_array(a, f->n + 1, sizeof(*u));

	for (size_t i = 0; i < f->n; i++) {
		size_t n = 0;

		if (f->unit[i].in != NULL)
			continue;
		for (size_t k = i; k < f->n; k++)
			if (k == i || (demand_sums(o) && accel[k] == accel[i]))
				u[n++] = &f->unit[k];
		unit_choose(u, n, accel[i], o->precision);
	}
	for (size_t i = 0; i < f->n; i++) {
		unit_apply(&f->unit[i], &f->recorded[i], a);
		f->in[i] = f->recorded[i];
	}
}

/* What each series ran on, and the unit that makes of it; a recorded total has that of the others.
 */
static enum berth_code
demand_units(struct cmd_ctx *ctx, const struct accel_table *accels, const struct plan_options *o,
    struct forecast_set *f, struct berth_err *err)
{
	const struct accel **accel = arena_array(ctx->arena, f->n + 1, sizeof(*accel));
	enum berth_code rc = BERTH_OK;

	f->unit = arena_array(ctx->arena, f->n + 1, sizeof(*f->unit));
	f->precision = o->precision;
	for (size_t i = 0; i < f->n; i++) {
		const char *name;

		accel[i] = plan_accel(accels, &f->rows[i], o->gpu, ctx->arena, &name);
	}
	for (size_t i = 0; i < f->n && rc == BERTH_OK; i++) {
		for (size_t k = 0; k < f->n && accel[i] == NULL; k++)
			accel[i] = accel[k];
		if (accel[i] != NULL && !o->no_forms)
			rc = unit_read(ctx->store, accels, &f->joins, &f->rows[i], accel[i],
			    &f->recorded[i], f->joined[i], ctx->arena, &f->unit[i], err);
	}
	if (rc == BERTH_OK)
		demand_units_choose(o, f, accel, ctx->arena);
	return rc;
}

enum berth_code
plan_demand_load(struct cmd_ctx *ctx, const struct accel_table *accels,
    const struct plan_options *o, struct forecast_set *f, struct plan_series **ps_out,
    size_t *n_out, struct berth_err *err)
{
	struct cmd_ctx as = demand_ctx(ctx, o);
	enum berth_code rc = demand_options(o, err);

	if (rc == BERTH_OK)
		rc = forecast_load(&as, f, err);
	if (rc == BERTH_ENOTFOUND &&
	    (f->rows != NULL ||
		f->n_all == 0)) { /* not a name that is wrong: there is nothing to plan on */
		err->code = BERTH_EINFEASIBLE;
		return err->code;
	}
	if (rc == BERTH_OK)
		rc = demand_known(ctx, accels, o, f, err);
	if (rc == BERTH_OK)
		rc = demand_units(ctx, accels, o, f, err);
	if (rc == BERTH_OK)
		rc = forecast_roadmap(&as, f, err);
	if (rc == BERTH_OK && demand_sums(o))
		rc = forecast_tree(&as, f, err);
	if (rc != BERTH_OK)
		return rc;
	*ps_out = arena_array(ctx->arena, f->n, sizeof(**ps_out));
	*n_out = 0;
	if (demand_sums(o))
		return demand_of_sums(ctx, accels, o, f, *ps_out, n_out, err);
	for (size_t i = 0; i < f->n && rc == BERTH_OK; i++) {
		struct plan_series *ps = &(*ps_out)[i];
		const char *next;

		*ps =
		    (struct plan_series){ .series = f->rows[i], .node = i, .queued = f->queued[i] };
		rc = demand_accel(ctx, accels, &ps->series, o->gpu, &ps->accel, &next, err);
		ps->unit = f->unit[i];
		ps->counted_in = ps->unit.in;
	}
	*n_out = f->n;
	return rc;
}

/* All series of one step together: they share the pool of past errors. */
static enum berth_code
demand_step(const struct plan_options *o, struct forecast_set *f, const bool *wanted, size_t first,
    struct arena *a, struct berth_err *err)
{
	int64_t step_s = f->in[first].step_s;
	struct fc_series *in = arena_array(a, f->n, sizeof(*in));
	struct fc_result *out = arena_array(a, f->n, sizeof(*out));
	size_t *index = arena_array(a, f->n, sizeof(*index)), m = 0;
	struct fc_options fo = o->calendar;
	enum berth_code rc;

	for (size_t i = first; i < f->n; i++)
		if (wanted[i] && f->in[i].step_s == step_s) {
			index[m] = i;
			in[m++] = f->in[i];
		}
	fo.horizon = (size_t)((o->horizon_s + step_s - 1) / step_s);
	fo.n_paths = (size_t)o->paths;
	fo.seed = o->seed;
	fo.spike_times = o->keep_spikes ? INFINITY : FC_SPIKE_ONCE;
	fo.errors = demand_sums(o) && str_eq(o->reconcile, "mint");
	rc = fc_run_many(in, m, &fo, a, out, err);
	for (size_t k = 0; k < m && rc == BERTH_OK; k++)
		f->out[index[k]] = out[k];
	return rc == BERTH_OK ? rc : err_ctx(err, "forecast");
}

/* Nodes that are forecast: those of the plan, and with sums all of them. */
static bool *
demand_wanted(const struct plan_options *o, const struct forecast_set *f,
    const struct plan_series *ps, size_t n, struct arena *a)
{
	bool *wanted = arena_array(a, f->n, sizeof(*wanted));

	for (size_t i = 0; i < f->n; i++)
		wanted[i] = demand_sums(o);
	for (size_t i = 0; i < n; i++)
		wanted[ps[i].node] = true;
	return wanted;
}

enum berth_code
plan_demand_forecast(struct cmd_ctx *ctx, struct plan_options *o, struct forecast_set *f,
    struct plan_series *ps, size_t n, struct berth_err *err)
{
	struct cmd_ctx as = demand_ctx(ctx, o);
	bool *wanted = demand_wanted(o, f, ps, n, ctx->arena),
	     *done = arena_array(ctx->arena, f->n, sizeof(*done));
	size_t leaves = demand_sums(o) ? f->tree.n_leaves : f->n,
	       *cut = arena_array(ctx->arena, f->n, sizeof(*cut));
	enum berth_code rc = BERTH_OK;

	o->roadmap = f->map.path;
	for (size_t i = 0; i < f->n && rc == BERTH_OK; i++) {
		if (!wanted[i] || done[i])
			continue;
		rc = demand_step(o, f, wanted, i, ctx->arena, err);
		for (size_t k = i; k < f->n; k++)
			done[k] = done[k] || f->in[k].step_s == f->in[i].step_s;
	}
	if (rc != BERTH_OK)
		return rc;
	if (demand_sums(o))
		forecast_tree_reconcile(&as, f);
	for (size_t i = 0; i < f->n && f->map.n > 0; i++)
		if (wanted[i])
			cut[i] = commit_winsorise(
			    f->out[i].paths, f->out[i].n_paths, f->out[i].horizon, ctx->arena);
	for (size_t i = 0; i < leaves && f->map.n > 0; i++)
		if (wanted[i])
			fc_events_apply(&f->out[i], f->uses[i], f->map.n, o->seed, NAN);
	if (demand_sums(o) && f->map.n > 0)
		forecast_tree_events(f);
	for (size_t i = 0; i < n; i++) {
		ps[i].history = f->in[ps[i].node];
		ps[i].history_warning = ps[i].node < f->n_coarse ? f->coarse[ps[i].node] : NULL;
		ps[i].forecast = f->out[ps[i].node];
		ps[i].events = f->map.n > 0 ? f->uses[ps[i].node] : NULL;
		ps[i].n_events = f->map.n;
		ps[i].uncut = f->map.n > 0;
		ps[i].cut_paths = cut[ps[i].node];
		ps[i].requested = o->requested;
	}
	return BERTH_OK;
}

void
plan_demand_explain(struct plan_series *ps, size_t n, struct arena *a)
{
	for (size_t i = 0; i < n; i++) {
		VEC(const char *) line = { 0 };

		for (size_t k = 0; k < ps[i].because.n; k++)
			VEC_PUSH(a, &line, ps[i].because.line[k]);
		if (ps[i].n_of > 0)
			VEC_PUSH(a, &line,
			    arena_printf(a,
				"demand is the sum of %s, forecast so that all of them add up",
				str_join(a, ps[i].of, ps[i].n_of, ", ")));
		if (ps[i].queued > 0)
			VEC_PUSH(a, &line,
			    ps[i].requested
				? arena_printf(a,
				      "demand is what ran and what waited: %.1f GPUs of it waited, "
				      "mean of four weeks",
				      ps[i].queued)
				: arena_printf(a,
				      "demand is what ran; %.1f GPUs more were waited for, mean of "
				      "four weeks: --requested plans for them too",
				      ps[i].queued));
		if (ps[i].raised > 1)
			VEC_PUSH(a, &line,
			    arena_printf(a,
				"the sample paths lay more than a tenth below the last week, the "
				"last four weeks and all of the history: they are raised by %s",
				plan_percent(ps[i].raised, a)));
		ps[i].because.line = line.v;
		ps[i].because.n = line.n;
	}
}
