#include "cmd/series_waits.h"

#include <math.h>
#include <string.h>

#include "store/usage_rows.h"
#include "util/arena.h"
#include "util/glob.h"
#include "util/json.h"
#include "util/time.h"

#define WAITS_LAST_S (INT64_C(28) * 86400)
#define WAITS_STEP_S INT64_C(3600)
#define WAITS_STEPS_MAX INT64_C(1000000)

/* What is told, and how. */
struct series_wait {
	int64_t from, to, step_s;
	int64_t seen; /* of jobs that wait nothing is known behind this */
	bool steps;
	const struct usage_waits_row *rows;
	size_t n;
};

static int64_t
waits_round(double s)
{
	return isnan(s) ? -1 : (int64_t)floor(s + 0.5);
}

static bool
waits_wanted(const struct cmd_ctx *ctx, const char *name)
{
	for (size_t i = 0; i < ctx->n_args; i++)
		if (strcmp(ctx->args[i], name) == 0 || glob_match(ctx->args[i], name))
			return true;
	return ctx->n_args == 0;
}

static enum berth_code
waits_table(struct cmd_ctx *ctx, const struct series_wait *w, struct berth_err *err)
{
	static const struct table_col cols[] = {
		{ "series", NULL, TABLE_TEXT, 0, TABLE_NAME },
		{ "t", "FROM", TABLE_TIME, 0, 0 },
		{ "started", NULL, TABLE_INT, 0, 0 },
		{ "mean_s", "MEAN", TABLE_DURATION, 0, 0 },
		{ "p50_s", "P50", TABLE_DURATION, 0, 0 },
		{ "p95_s", "P95", TABLE_DURATION, 0, 0 },
		{ "longest_s", "LONGEST", TABLE_DURATION, 0, 0 },
		{ "waiting", "STILL WAIT", TABLE_INT, 0, 0 },
		{ "waiting_mean_s", "WAITED", TABLE_DURATION, 0, TABLE_WIDE },
		{ "oldest_s", "OLDEST", TABLE_DURATION, 0, 0 },
	};
	struct table *t = table_new(ctx->arena, cols, sizeof(cols) / sizeof(cols[0]));

	for (size_t i = 0; i < w->n; i++) {
		const struct waits_step *s = &w->rows[i].step;
		bool known = s->t + w->step_s <= w->seen;

		if (!waits_wanted(ctx, w->rows[i].name))
			continue;
		table_row(t);
		table_text(t, w->rows[i].name);
		table_time(t, s->t);
		table_int(t, s->started);
		table_time(t, waits_round(s->mean));
		table_time(t, waits_round(s->p50));
		table_time(t, waits_round(s->p95));
		table_time(t, waits_round(s->longest));
		if (known)
			table_int(t, s->waiting);
		else
			table_unknown(t);
		table_time(t, known ? waits_round(s->waiting_mean) : -1);
		table_time(t, known ? waits_round(s->oldest) : -1);
	}
	return cmd_table_print(ctx, t, err);
}

static enum berth_code
waits_json(struct cmd_ctx *ctx, const struct series_wait *w, struct berth_err *err)
{
	struct jsonw *j = cmd_json_begin(ctx, "berth.waits/1");

	jsonw_time(j, "from", w->from);
	jsonw_time(j, "to", w->to);
	jsonw_int(j, "step_s", w->step_s);
	jsonw_begin_array(j, "waits");
	for (size_t i = 0; i < w->n; i++) {
		const struct waits_step *s = &w->rows[i].step;
		bool known = s->t + w->step_s <= w->seen;

		if (!waits_wanted(ctx, w->rows[i].name))
			continue;
		jsonw_begin_object(j, NULL);
		jsonw_str(j, "series", w->rows[i].name);
		jsonw_time(j, "t", s->t);
		jsonw_int(j, "started", s->started);
		jsonw_fixed(j, "mean_s", s->mean, 3);
		jsonw_fixed(j, "p50_s", s->p50, 3);
		jsonw_fixed(j, "p95_s", s->p95, 3);
		jsonw_fixed(j, "longest_s", s->longest, 3);
		if (known)
			jsonw_int(j, "waiting", s->waiting);
		else
			jsonw_null(j, "waiting");
		jsonw_fixed(j, "waiting_mean_s", known ? s->waiting_mean : (double)NAN, 3);
		jsonw_fixed(j, "oldest_s", known ? s->oldest : (double)NAN, 3);
		jsonw_end_object(j);
	}
	jsonw_end_array(j);
	return cmd_json_end(ctx, err);
}

/* Fills in the window, and the step if it is 0: all of the window. */
static enum berth_code
waits_window(struct cmd_ctx *ctx, struct series_wait *w, struct berth_err *err)
{
	int64_t first = 0;
	enum berth_code rc = store_usage_bounds(ctx->store, &first, &w->seen, err);

	if (rc != BERTH_OK || w->seen == 0)
		return rc;
	if (w->to == 0 || w->to > w->seen)
		w->to = w->seen > w->from ? w->seen : w->from + 1;
	if (w->from == 0)
		w->from = w->to - WAITS_LAST_S > first ? w->to - WAITS_LAST_S : first;
	if (w->from >= w->to)
		return err_set(
		    err, BERTH_EUSAGE, "--from lies behind --to, or behind the last job");
	if (w->steps) {
		w->step_s = WAITS_STEP_S;
		w->from = time_floor(w->from, w->step_s);
		w->to = time_floor(w->to + w->step_s - 1, w->step_s);
		if ((w->to - w->from) / w->step_s > WAITS_STEPS_MAX)
			return err_set(err, BERTH_EUSAGE,
			    "more than %lld steps: choose with --from and --to",
			    (long long)WAITS_STEPS_MAX);
	} else {
		w->step_s = w->to - w->from;
	}
	return BERTH_OK;
}

static enum berth_code
waits_get(struct cmd_ctx *ctx, struct series_wait *w, struct berth_err *err)
{
	struct usage_waits_row *rows = NULL;
	enum berth_code rc = waits_window(ctx, w, err);

	if (rc == BERTH_OK && w->seen != 0)
		rc = usage_waits(
		    ctx->store, ctx->arena, w->step_s, w->from, w->to, &rows, &w->n, err);
	w->rows = rows;
	return rc;
}

enum berth_code
series_waits(struct cmd_ctx *ctx, bool steps, int64_t from, int64_t to, struct berth_err *err)
{
	struct series_wait w = { .from = from, .to = to, .steps = steps };
	enum berth_code rc = waits_get(ctx, &w, err);

	if (rc != BERTH_OK)
		return rc;
	if (cmd_wants_json(ctx))
		return waits_json(ctx, &w, err);
	if (w.n == 0 && ctx->format != CMD_CSV) {
		cmd_note(ctx, "no job is known that waited: `berth record sacct` and `berth record "
			      "slurm` tell of jobs");
		return BERTH_OK;
	}
	return waits_table(ctx, &w, err);
}

enum berth_code
series_waits_whole(struct cmd_ctx *ctx, int64_t from, int64_t to, struct usage_waits_row **rows_out,
    size_t *n_out, struct berth_err *err)
{
	struct series_wait w = { .from = from, .to = to };
	struct usage_waits_row *rows = NULL;
	enum berth_code rc = waits_window(ctx, &w, err);

	*n_out = 0;
	if (rc == BERTH_EUSAGE || (rc == BERTH_OK && w.seen == 0))
		return BERTH_OK;
	if (rc == BERTH_OK)
		rc = usage_waits(ctx->store, ctx->arena, w.step_s, w.from, w.to, &rows, n_out, err);
	*rows_out = rows;
	return rc;
}
