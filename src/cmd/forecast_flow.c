#include "config.h"

#include <string.h>

#include "cmd/forecast.h"
#include "util/arena.h"

#define FLOW_HELD                                                                                  \
	((size_t)64 << 20) /* bytes of leaves that are held between the two looks at a hierarchy,  \
			      and not made twice */

/* One run for each step length; results come in the order of the series all the same. */
struct flow {
	struct cmd_ctx *ctx;
	struct forecast_set *f;
	struct fc_run **run;           /* [n_runs] */
	size_t n_runs, *group, *place; /* [n] run of each series, and which of it */
	size_t first;                  /* series that place[first] of the run under way is */
	struct fc_adder *adder;        /* NULL: no hierarchy */
	struct arena **held; /* [n] what f->out[i] of a hierarchy lies in; NULL: it is not held */
	size_t n_held;       /* leaves, from the first; and all sums, if any */
	struct forecast_view view;
	struct forecast_kept *kept;
};

static enum berth_code
flow_open(struct flow *w, int64_t horizon_s, struct berth_err *err)
{
	struct forecast_set *f = w->f;
	struct arena *a = w->ctx->arena;
	enum berth_code rc = BERTH_OK;

	w->run = arena_array(a, f->n, sizeof(struct fc_run *));
	w->group = arena_array(a, f->n, sizeof(*w->group));
	w->place = arena_array(a, f->n, sizeof(*w->place));
	for (size_t first = 0; first < f->n && rc == BERTH_OK; first++) {
		struct fc_options o;
		struct fc_series *in;
		double *caps;
		size_t m = 0;

		if (w->group[first] != 0)
			continue;
		in = arena_array(a, f->n, sizeof(*in));
		caps = arena_array(a, f->n, sizeof(*caps));
		for (size_t i = first; i < f->n; i++)
			if (f->in[i].step_s == f->in[first].step_s) {
				w->group[i] = w->n_runs + 1;
				w->place[i] = m;
				caps[m] = f->caps[i];
				in[m++] = f->in[i];
			}
		rc = forecast_options(w->ctx, f->in[first].step_s, horizon_s, &o, err);
		o.caps = caps;
		if (rc == BERTH_OK)
			rc = fc_run_open(in, m, &o, &w->run[w->n_runs], err);
		if (rc == BERTH_OK)
			w->n_runs++;
	}
	return rc;
}

/* What events add, put on the forecast; base is what it was without. */
static void
flow_events(struct flow *w, size_t i, struct arena *a)
{
	const struct forecast_opts *o = w->ctx->opts;
	struct forecast_set *f = w->f;

	f->base[i] = arena_memdup(a, f->out[i].mean, f->out[i].horizon * sizeof(double));
	fc_events_apply(&f->out[i], f->uses[i], f->map.n, (uint64_t)o->seed, f->caps[i]);
	if (w->adder == NULL)
		return;
	fc_adder_events(w->adder, i, &f->out[i]);
	if (i >= f->tree.n_leaves)
		forecast_tree_uses(f, i - f->tree.n_leaves);
}

/* What is shown and drawn of one series is gone with it. */
static enum berth_code
flow_show(struct flow *w, size_t i, struct arena *a, struct berth_err *err)
{
	const struct forecast_opts *o = w->ctx->opts;
	struct arena *whole = w->ctx->arena;
	enum berth_code rc = BERTH_OK;

	w->ctx->arena = a;
	if (o->svg != NULL)
		rc = forecast_svg(w->ctx, w->f, i, err);
	if (rc == BERTH_OK)
		rc = forecast_show(w->ctx, w->f, i, &w->view, err);
	w->ctx->arena = whole;
	return rc;
}

/* f->out[i] is what is said; a holds it and all that is made of it. */
static enum berth_code
flow_emit(struct flow *w, size_t i, struct arena *a, struct berth_err *err)
{
	struct forecast_set *f = w->f;
	enum berth_code rc;

	forecast_capacity(w->ctx, f, i, a);
	rc = forecast_keep(w->ctx, f, i, w->kept, err);
	if (rc == BERTH_OK)
		rc = flow_show(w, i, a, err);
	f->out[i] = (struct fc_result){ .name = NULL };
	f->capacity[i] = NULL;
	f->n_capacity[i] = 0;
	if (f->base != NULL)
		f->base[i] = NULL;
	return rc;
}

/* f->out[i] is what the library says. */
static enum berth_code
flow_finish(struct flow *w, size_t i, struct arena *a, struct berth_err *err)
{
	if (w->adder != NULL)
		fc_adder_node(w->adder, i, &w->f->out[i]);
	if (w->f->map.n > 0)
		flow_events(w, i, a);
	return flow_emit(w, i, a, err);
}

static enum berth_code
flow_take(void *arg, size_t place, struct fc_result *r, struct arena *a, struct berth_err *err)
{
	struct flow *w = arg;
	size_t i = w->first + (place - w->place[w->first]);

	w->f->out[i] = *r;
	return flow_finish(w, i, a, err);
}

/* Series [from, to), each stretch of one step length at once. */
static enum berth_code
flow_each(struct flow *w, size_t from, size_t to, struct berth_err *err)
{
	enum berth_code rc = BERTH_OK;

	while (from < to && rc == BERTH_OK) {
		size_t end = from;

		while (end < to && w->group[end] == w->group[from])
			end++;
		w->first = from;
		rc = fc_run_each(w->run[w->group[from] - 1], w->place + from, end - from, true,
		    flow_take, w, err);
		from = end;
	}
	return rc;
}

static enum berth_code
flow_look(void *arg, size_t i, struct fc_result *r, struct arena *a, struct berth_err *err)
{
	struct flow *w = arg;
	const struct fc_tree *t = &w->f->tree;

	(void)a;
	(void)err;
	fc_adder_look(w->adder, i, r);
	if (i >= t->n_leaves ? w->n_held > 0 : i < w->n_held) {
		w->held[i] = arena_new();
		fc_result_copy(r, w->held[i], &w->f->out[i]);
	}
	return BERTH_OK;
}

static enum berth_code
flow_held(struct flow *w, size_t from, size_t to, struct berth_err *err)
{
	enum berth_code rc = BERTH_OK;

	for (size_t i = from; i < to && rc == BERTH_OK; i++) {
		rc = flow_finish(w, i, w->held[i], err);
		arena_free(w->held[i]);
		w->held[i] = NULL;
	}
	return rc;
}

/* All nodes are looked at, sums first; then all are made to add up, as many as can be held not made
 * again. */
static enum berth_code
flow_twice(struct flow *w, size_t bytes, struct berth_err *err)
{
	const struct fc_tree *t = &w->f->tree;
	size_t n = w->f->n, room = FLOW_HELD / bytes, last;
	enum berth_code rc;

	w->held = arena_array(w->ctx->arena, n, sizeof(struct arena *));
	w->n_held = room > t->n_sums ? room - t->n_sums : 0;
	w->n_held = w->n_held < t->n_leaves ? w->n_held : t->n_leaves;
	last = w->n_held;
	rc = fc_run_each(w->run[0], w->place + t->n_leaves, t->n_sums, last > 0, flow_look, w, err);
	if (rc == BERTH_OK)
		rc = fc_run_each(w->run[0], w->place, last, true, flow_look, w, err);
	if (rc == BERTH_OK)
		rc = fc_run_each(
		    w->run[0], w->place + last, t->n_leaves - last, false, flow_look, w, err);
	if (rc == BERTH_OK)
		rc = flow_held(w, 0, last, err);
	if (rc == BERTH_OK)
		rc = flow_each(w, last, t->n_leaves, err);
	if (rc == BERTH_OK)
		rc = last > 0 ? flow_held(w, t->n_leaves, n, err)
			      : flow_each(w, t->n_leaves, n, err);
	for (size_t i = 0; i < n; i++)
		arena_free(w->held[i]);
	return rc;
}

static enum berth_code
flow_emit_held(struct flow *w, struct berth_err *err)
{
	enum berth_code rc = BERTH_OK;

	for (size_t i = 0; i < w->f->n && rc == BERTH_OK; i++) {
		rc = flow_emit(w, i, w->held[i], err);
		arena_free(w->held[i]);
		w->held[i] = NULL;
	}
	return rc;
}

static enum berth_code
flow_hold(void *arg, size_t i, struct fc_result *r, struct arena *a, struct berth_err *err)
{
	struct flow *w = arg;

	(void)a;
	(void)err;
	w->held[i] = arena_new();
	fc_result_copy(r, w->held[i], &w->f->out[i]);
	return BERTH_OK;
}

/* A cap on a sum asks all of its leaves at once, with their events: all are held. */
static enum berth_code
flow_capped(struct flow *w, struct berth_err *err)
{
	struct forecast_set *f = w->f;
	size_t n = f->n;
	enum berth_code rc;

	w->held = arena_array(w->ctx->arena, n, sizeof(struct arena *));
	rc = fc_run_each(w->run[0], w->place, n, true, flow_hold, w, err);
	if (rc == BERTH_OK) {
		forecast_tree_reconcile(w->ctx, f);
		for (size_t i = 0; i < n && f->map.n > 0; i++)
			if (i < f->tree.n_leaves)
				flow_events(w, i, w->held[i]);
			else
				f->base[i] = arena_memdup(
				    w->held[i], f->out[i].mean, f->out[i].horizon * sizeof(double));
		if (f->map.n > 0)
			forecast_tree_events(f);
		fc_tree_cap(&f->tree, f->caps,
		    forecast_tree_how(w->ctx) != FC_RECONCILE_NONE || f->map.n > 0, f->out);
		rc = flow_emit_held(w, err);
	}
	for (size_t i = 0; i < n; i++)
		arena_free(w->held[i]);
	return rc;
}

static enum berth_code
flow_run(struct flow *w, int64_t horizon_s, struct berth_err *err)
{
	const struct forecast_opts *o = w->ctx->opts;
	const struct fc_tree *t = &w->f->tree;
	size_t step = (size_t)w->f->in[0].step_s, horizon = ((size_t)horizon_s + step - 1) / step;
	enum fc_reconcile how = FC_RECONCILE_NONE;

	if (t->n_sums == 0)
		return flow_each(w, 0, w->f->n, err);
	if (w->f->sum_capped)
		return flow_capped(w, err);
	how = forecast_tree_how(w->ctx);
	w->adder = fc_adder_new(t, how, horizon, (size_t)o->paths, w->f->map.n > 0);
	if (!fc_adder_looks(how))
		return flow_each(w, 0, w->f->n, err);
	return flow_twice(
	    w, horizon * ((size_t)o->paths + FC_LEVEL_COUNT + 1) * sizeof(double), err);
}

enum berth_code
forecast_flow(struct cmd_ctx *ctx, struct forecast_set *f, int64_t horizon_s, struct berth_err *err)
{
	struct flow w = { .ctx = ctx, .f = f };
	enum berth_code rc = flow_open(&w, horizon_s, err);

	if (rc == BERTH_OK) {
		w.kept = forecast_keep_begin(ctx);
		rc = forecast_show_begin(ctx, f, &w.view, err);
		if (rc == BERTH_OK)
			rc = flow_run(&w, horizon_s, err);
		rc = forecast_keep_end(ctx, w.kept, rc, err);
		rc = forecast_show_end(ctx, &w.view, rc, err);
	}
	fc_adder_free(w.adder);
	for (size_t k = 0; k < w.n_runs; k++)
		fc_run_close(w.run[k]);
	return rc;
}
