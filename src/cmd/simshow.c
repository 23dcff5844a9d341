#include "config.h"

#include <math.h>
#include <string.h>

#include "cmd/cmd.h"
#include "cmd/simcommit.h"
#include "cmd/simshow.h"
#include "cmd/simspot.h"
#include "util/arena.h"
#include "util/buf.h"
#include "util/json.h"
#include "util/svg.h"

enum berth_code
simshow_bars(struct cmd_ctx *ctx, const char *title, const char *const *name, const double *v,
    size_t n, struct berth_err *err)
{
	int columns = ctx->columns > 0 ? ctx->columns : 80, width = columns - 26;
	double most = 1;
	enum berth_code rc;
	struct buf b;

	width = width < 10 ? 10 : width > 60 ? 60 : width;
	for (size_t i = 0; i < n; i++)
		most = fmax(most, isfinite(v[i]) ? v[i] : 0);
	buf_init(&b, 65536);
	buf_printf(&b, "\n%s\n", title);
	for (size_t i = 0; i < n; i++) {
		int filled = isfinite(v[i]) ? (int)lrint(v[i] / most * width) : 0,
		    mark = (int)lrint(1 / most * width);

		buf_printf(&b, "%-17s", name[i]);
		for (int x = 0; x < width || x <= mark; x++)
			buf_printf(&b, "%s",
			    x == mark      ? "|"
			    : x >= filled  ? " "
			    : ctx->unicode ? "\xe2\x96\x88"
					   : "#");
		if (isfinite(v[i]))
			buf_printf(&b, " %.4f", v[i]);
		buf_printf(&b, "\n");
	}
	rc = buf_check(&b, "the plot", err);
	if (rc == BERTH_OK)
		cmd_say(ctx, "%s", b.p);
	buf_free(&b);
	return rc;
}

enum berth_code
simshow_svg(struct cmd_ctx *ctx, const char *path, const struct svg_chart *c, struct berth_err *err)
{
	enum berth_code rc;
	struct buf b;

	if (path == NULL)
		return BERTH_OK;
	buf_init(&b, 1U << 20);
	svg_chart_write(c, true, &b);
	rc = buf_check(&b, "the chart", err);
	if (rc == BERTH_OK)
		rc = cmd_write_file(ctx, path, b.p, b.len, err);
	if (rc == BERTH_OK && !ctx->dry_run)
		cmd_note(ctx, "%s: written", path);
	buf_free(&b);
	return rc;
}

static double
simshow_mean(const struct simspot_result *r, size_t p)
{
	double sum = 0;

	for (size_t i = 0; i < r->n_runs; i++)
		sum += r->cost[p][i];
	return sum / (double)r->n_runs;
}

/* 95 % quantile, between the two nearest runs. */
static double
simshow_p95(const struct simspot_result *r, size_t p)
{
	double at = 0.95 * (double)(r->n_runs - 1);
	size_t k = (size_t)at;

	return k + 1 < r->n_runs
		   ? r->cost[p][k] + (at - (double)k) * (r->cost[p][k + 1] - r->cost[p][k])
		   : r->cost[p][k];
}

void
simshow_spot_json(struct jsonw *w, const struct simspot_result *r)
{
	jsonw_begin_array(w, "policies");
	for (size_t p = 0; p < SIMSPOT_POLICIES; p++) {
		if (r->cost[p] == NULL)
			continue;
		jsonw_begin_object(w, NULL);
		jsonw_str(w, "name", simspot_policy_name(p));
		jsonw_int(w, "runs", (int64_t)r->n_runs);
		jsonw_fixed(w, "mean", simshow_mean(r, p), 6);
		jsonw_fixed(w, "p95", simshow_p95(r, p), 6);
		jsonw_fixed(w, "max", r->cost[p][r->n_runs - 1], 6);
		jsonw_int(w, "misses", (int64_t)r->misses[p]);
		if (p != SIMSPOT_OMNISCIENT) {
			jsonw_fixed(w, "waited_hours", r->waited_hours[p] / (double)r->n_runs, 3);
			jsonw_fixed(
			    w, "preemptions", (double)r->preemptions[p] / (double)r->n_runs, 3);
		}
		jsonw_end_object(w);
	}
	jsonw_end_array(w);
	jsonw_begin_array(w, "by");
	for (size_t i = 0; i < r->n_cells; i++)
		for (size_t p = 0; p < SIMSPOT_POLICIES; p++) {
			if (r->cost[p] == NULL)
				continue;
			jsonw_begin_object(w, NULL);
			jsonw_str(w, "zone", r->cell[i].zone);
			jsonw_int(w, "half", r->cell[i].half);
			jsonw_double(w, "slack", r->cell[i].slack);
			jsonw_double(w, "changeover", r->cell[i].changeover_s);
			jsonw_str(w, "policy", simspot_policy_name(p));
			jsonw_fixed(w, "mean", r->cell[i].mean[p], 6);
			jsonw_end_object(w);
		}
	jsonw_end_array(w);
}

enum berth_code
simshow_spot(struct cmd_ctx *ctx, const struct simspot_result *r, struct berth_err *err)
{
	static const struct table_col cols[] = {
		{ "policy", NULL, TABLE_TEXT, 0, 0 },
		{ "runs", NULL, TABLE_INT, 0, 0 },
		{ "mean", NULL, TABLE_DOUBLE, 4, 0 },
		{ "p95", "P95", TABLE_DOUBLE, 4, 0 },
		{ "max", NULL, TABLE_DOUBLE, 4, 0 },
		{ "waited_hours", "WAITED H", TABLE_DOUBLE, 2, 0 },
		{ "preemptions", NULL, TABLE_DOUBLE, 2, 0 },
		{ "misses", NULL, TABLE_INT, 0, 0 },
	};
	struct table *t = table_new(ctx->arena, cols, sizeof(cols) / sizeof(cols[0]));
	const char *name[SIMSPOT_POLICIES];
	double mean[SIMSPOT_POLICIES];
	enum berth_code rc;
	size_t n = 0;

	for (size_t p = 0; p < SIMSPOT_POLICIES; p++) {
		if (r->cost[p] == NULL)
			continue;
		name[n] = simspot_policy_name(p);
		mean[n++] = simshow_mean(r, p);
		table_row(t);
		table_text(t, simspot_policy_name(p));
		table_int(t, (int64_t)r->n_runs);
		table_double(t, simshow_mean(r, p));
		table_double(t, simshow_p95(r, p));
		table_double(t, r->cost[p][r->n_runs - 1]);
		table_double(
		    t, p == SIMSPOT_OMNISCIENT ? NAN : r->waited_hours[p] / (double)r->n_runs);
		table_double(t,
		    p == SIMSPOT_OMNISCIENT ? NAN : (double)r->preemptions[p] / (double)r->n_runs);
		table_int(t, (int64_t)r->misses[p]);
	}
	cmd_say(ctx,
	    "Cost over always on demand. Waited, from submission to the end, less the work,\n"
	    "and preemptions are means of a job.\n");
	rc = cmd_table_print(ctx, t, err);
	return rc == BERTH_OK
		   ? simshow_bars(ctx, "Mean cost; | is on demand alone", name, mean, n, err)
		   : rc;
}

/* Mean of a policy over cells that had something to pay for, and the worst; how many those are. */
static size_t
simshow_over(const struct simcommit_cell *c, size_t n, enum simcommit_policy p,
    enum simcommit_policy base, double *mean_out, double *worst_out)
{
	double sum = 0;
	size_t runs = 0;

	*worst_out = 0;
	for (size_t i = 0; i < n; i++) {
		double over = simcommit_over(&c[i], p, base);

		if (isnan(over))
			continue;
		sum += over;
		runs++;
		*worst_out = fmax(*worst_out, over);
	}
	*mean_out = runs > 0 ? sum / (double)runs : NAN;
	*worst_out = runs > 0 ? *worst_out : NAN;
	return runs;
}

void
simshow_commit_left(struct cmd_ctx *ctx, const struct simcommit_cell *c, size_t n)
{
	static const char *const why[SIMCOMMIT_LEFT_COUNT] = {
		[SIMCOMMIT_NO_DATA] = "no hour behind the split has data",
		[SIMCOMMIT_NO_DEMAND] = "there was no demand behind the split",
		[SIMCOMMIT_OWNED] = "what is owned serves all of it",
	};

	for (size_t i = 0; i < n; i++) {
		if (c[i].left == SIMCOMMIT_COUNTED ||
		    (i > 0 && c[i - 1].left == c[i].left &&
			strcmp(c[i - 1].series, c[i].series) == 0))
			continue;
		if (c[i].left == SIMCOMMIT_TOO_LARGE)
			cmd_warn(ctx, "left out: series %s: %s", c[i].series, c[i].why);
		else
			cmd_note(ctx, "series %s is in no mean: %s", c[i].series, why[c[i].left]);
	}
}

static void
simshow_commit_by(struct jsonw *w, const struct simcommit_cell *c, enum simcommit_policy p)
{
	jsonw_begin_object(w, NULL);
	jsonw_str(w, "series", c->series);
	jsonw_double(w, "reserved", c->reserved);
	jsonw_str(w, "policy", simcommit_name(p));
	jsonw_fixed(w, "mean", simcommit_over(c, p, SIMCOMMIT_ON_DEMAND), 6);
	jsonw_fixed(w, "over_hindsight", simcommit_over(c, p, SIMCOMMIT_HINDSIGHT), 6);
	jsonw_fixed(w, "cost", c->cost[p], 3);
	jsonw_fixed(w, "reserved_gpus", c->gpus[p], 3);
	jsonw_fixed(w, "owned_gpus", c->owned, 3);
	jsonw_str(w, "left_out", simcommit_left_name(c->left));
	jsonw_end_object(w);
}

void
simshow_commit_json(struct jsonw *w, const struct simcommit_cell *c, size_t n)
{
	jsonw_begin_array(w, "policies");
	for (int p = 0; p < SIMCOMMIT_POLICIES; p++) {
		double mean, best, worst, ignored;
		size_t runs = simshow_over(
		    c, n, (enum simcommit_policy)p, SIMCOMMIT_ON_DEMAND, &mean, &ignored);

		simshow_over(c, n, (enum simcommit_policy)p, SIMCOMMIT_HINDSIGHT, &best, &worst);
		jsonw_begin_object(w, NULL);
		jsonw_str(w, "name", simcommit_name((size_t)p));
		jsonw_int(w, "runs", (int64_t)runs);
		jsonw_fixed(w, "mean", mean, 6);
		jsonw_fixed(w, "over_hindsight", best, 6);
		jsonw_fixed(w, "worst_over_hindsight", worst, 6);
		jsonw_end_object(w);
	}
	jsonw_end_array(w);
	jsonw_begin_array(w, "by");
	for (size_t i = 0; i < n; i++)
		for (int p = 0; p < SIMCOMMIT_POLICIES; p++)
			simshow_commit_by(w, &c[i], (enum simcommit_policy)p);
	jsonw_end_array(w);
}

enum berth_code
simshow_commit(struct cmd_ctx *ctx, const struct simcommit_cell *c, size_t n, struct berth_err *err)
{
	static const struct table_col cols[] = {
		{ "series", NULL, TABLE_TEXT, 0, TABLE_NAME },
		{ "reserved", NULL, TABLE_DOUBLE, 2, 0 },
		{ "policy", NULL, TABLE_TEXT, 0, 0 },
		{ "reserved_gpus", "GPUS", TABLE_DOUBLE, 1, 0 },
		{ "mean", "COST", TABLE_DOUBLE, 4, 0 },
		{ "over_hindsight", "OVER BEST", TABLE_DOUBLE, 4, 0 },
		{ "owned_gpus", "OWNED", TABLE_DOUBLE, 1, 0 }, /* these only where there is any */
		{ "left_out", "LEFT OUT", TABLE_TEXT, 0, TABLE_CUT },
	};
	struct table_col some[sizeof(cols) / sizeof(cols[0])];
	size_t n_some = sizeof(cols) / sizeof(cols[0]), left = 0;
	double mean[SIMCOMMIT_POLICIES] = { 0 }, ignored, owned = 0;
	const char *name[SIMCOMMIT_POLICIES];
	struct table *t;
	enum berth_code rc;

	for (size_t i = 0; i < n; i++) {
		owned += c[i].owned;
		left += c[i].left != SIMCOMMIT_COUNTED;
	}
	memcpy(some, cols, sizeof(cols));
	if (owned <= 0)
		some[n_some - 2] = cols[n_some - 1];
	t = table_new(ctx->arena, some, n_some - (owned <= 0) - (left == 0));
	for (size_t i = 0; i < n; i++)
		for (int p = 0; p < SIMCOMMIT_POLICIES; p++) {
			enum simcommit_policy q = (enum simcommit_policy)p;

			table_row(t);
			table_text(t, c[i].series);
			table_double(t, c[i].reserved);
			table_text(t, simcommit_name(q));
			table_double(t, c[i].gpus[q]);
			table_double(t, simcommit_over(&c[i], q, SIMCOMMIT_ON_DEMAND));
			table_double(t, simcommit_over(&c[i], q, SIMCOMMIT_HINDSIGHT));
			if (owned > 0)
				table_double(t, c[i].owned);
			if (left > 0)
				table_text(t, simcommit_left_name(c[i].left));
		}
	for (int p = 0; p < SIMCOMMIT_POLICIES; p++) {
		name[p] = simcommit_name((size_t)p);
		simshow_over(
		    c, n, (enum simcommit_policy)p, SIMCOMMIT_ON_DEMAND, &mean[p], &ignored);
	}
	cmd_say(ctx, "Cost over on demand only, and over the best that could have been reserved\n");
	rc = cmd_table_print(ctx, t, err);
	return rc == BERTH_OK ? simshow_bars(ctx, "Mean cost; | is on demand alone", name, mean,
				    SIMCOMMIT_POLICIES, err)
			      : rc;
}
