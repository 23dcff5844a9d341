/* src/cmd/simchart.c - what spot and commitment simulations came to, as charts.  Floor: cmd. */
#include "config.h"

#include <math.h>
#include <stdlib.h>

#include "cmd/cmd.h"
#include "cmd/simcommit.h"
#include "cmd/simshow.h"
#include "cmd/simspot.h"
#include "util/arena.h"
#include "util/svg.h"

/* Means of many results by what they were run for, a line for each policy; a point where there is
 * but one. */
struct simchart {
	double *x; /* [n] ascending */
	size_t n;
	double *sum, *weight; /* [n] of the policy that is added up */
};

static int
simchart_cmp(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* x [n] is sorted, and each value kept once. */
static void
simchart_init(struct simchart *c, struct arena *a, double *x, size_t n)
{
	*c = (struct simchart){ .x = x,
		.sum = arena_array(a, n, sizeof(double)),
		.weight = arena_array(a, n, sizeof(double)) };
	qsort(x, n, sizeof(*x), simchart_cmp);
	for (size_t i = 0; i < n; i++)
		if (c->n == 0 || x[i] != x[c->n - 1])
			x[c->n++] = x[i];
}

static void
simchart_add(struct simchart *c, double x, double value, double weight)
{
	size_t i = 0;

	while (i < c->n && c->x[i] != x)
		i++;
	if (i == c->n || !(weight > 0) || isnan(value))
		return;
	c->sum[i] += value * weight;
	c->weight[i] += weight;
}

/* The line of what was added; sums start anew. */
static struct svg_series
simchart_line(struct simchart *c, struct arena *a, const char *label, int color)
{
	double *y = arena_array(a, c->n, sizeof(*y));

	for (size_t i = 0; i < c->n; i++) {
		y[i] = c->weight[i] > 0 ? c->sum[i] / c->weight[i] : NAN;
		c->sum[i] = c->weight[i] = 0;
	}
	return (struct svg_series){ .kind = c->n > 1 ? SVG_LINE : SVG_POINTS,
		.label = label,
		.x = c->x,
		.y = y,
		.n = c->n,
		.color = color };
}

enum berth_code
simshow_spot_svg(
    struct cmd_ctx *ctx, const char *path, const struct simspot_result *r, struct berth_err *err)
{
	struct svg_series v[SIMSPOT_POLICIES];
	struct svg_chart chart = { .title = "Mean cost by slack",
		.x_label = "deadline over work",
		.y_label = "cost over always on demand",
		.series = v };
	double *x;
	struct simchart c;

	if (path == NULL)
		return BERTH_OK;
	x = arena_array(ctx->arena, r->n_cells, sizeof(*x));
	for (size_t i = 0; i < r->n_cells; i++)
		x[i] = r->cell[i].slack;
	simchart_init(&c, ctx->arena, x, r->n_cells);
	for (size_t p = 0; p < SIMSPOT_POLICIES; p++) {
		if (r->cost[p] == NULL)
			continue;
		for (size_t i = 0; i < r->n_cells; i++)
			simchart_add(
			    &c, r->cell[i].slack, r->cell[i].mean[p], (double)r->cell[i].runs);
		v[chart.n_series++] = simchart_line(&c, ctx->arena, simspot_policy_name(p), (int)p);
	}
	return simshow_svg(ctx, path, &chart, err);
}

enum berth_code
simshow_commit_svg(struct cmd_ctx *ctx, const char *path, const struct simcommit_cell *cell,
    size_t n, struct berth_err *err)
{
	struct svg_series v[SIMCOMMIT_POLICIES];
	struct svg_chart chart = { .title = "Mean cost by the price of reserved machines",
		.x_label = "reserved over on-demand price",
		.y_label = "cost over on demand only",
		.series = v };
	double *x;
	struct simchart c;

	if (path == NULL)
		return BERTH_OK;
	x = arena_array(ctx->arena, n, sizeof(*x));
	for (size_t i = 0; i < n; i++)
		x[i] = cell[i].reserved;
	simchart_init(&c, ctx->arena, x, n);
	for (size_t p = 0; p < SIMCOMMIT_POLICIES; p++) {
		for (size_t i = 0; i < n; i++)
			simchart_add(&c, cell[i].reserved,
			    simcommit_over(&cell[i], (enum simcommit_policy)p, SIMCOMMIT_ON_DEMAND),
			    1);
		v[chart.n_series++] = simchart_line(&c, ctx->arena, simcommit_name(p), (int)p);
	}
	return simshow_svg(ctx, path, &chart, err);
}
