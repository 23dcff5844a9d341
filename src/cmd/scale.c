#include <math.h>
#include <string.h>

#include "broker/broker.h"
#include "broker/scaling.h"
#include "cmd/cmd.h"
#include "cmd/progpath.h"
#include "model/jobspec.h"
#include "providers/net.h"
#include "util/arena.h"
#include "util/json.h"
#include "util/str.h"

static enum berth_code scale_run(struct cmd_ctx *ctx, struct berth_err *err);

const struct cmd cmd_scale = {
	.name = "scale",
	.summary = "decide how many replicas each fleet should have",
	.args = "[FLEET ...]",
	.flags = CMD_STORE_RW | CMD_NET | CMD_SPENDS | CMD_DRY_OWN,
	.args_max = -1,
	.run = scale_run,
};

/* The fleets that were named, in the config's order; all without a name. */
static enum berth_code
scale_fleets(struct cmd_ctx *ctx, struct broker *b, struct berth_err *err)
{
	bool *wanted = arena_array_of(ctx->arena, b->n_fleets + 1, bool);
	size_t kept = 0;

	for (size_t i = 0; i < ctx->n_args; i++) {
		size_t k = 0;

		while (k < b->n_fleets && !str_eq(b->fleets[k].name, ctx->args[i]))
			k++;
		if (k == b->n_fleets) {
			const char *known = "";

			for (k = 0; k < b->n_fleets; k++)
				known = arena_printf(ctx->arena, "%s%s%s", known, k > 0 ? ", " : "",
				    b->fleets[k].name);
			return err_set(err, BERTH_ENOTFOUND, "no fleet '%.80s'; there %s",
			    ctx->args[i],
			    b->n_fleets > 0 ? arena_printf(ctx->arena, "are %s", known)
					    : "is none");
		}
		wanted[k] = true;
	}
	for (size_t k = 0; k < b->n_fleets; k++)
		if (ctx->n_args == 0 || wanted[k])
			b->fleets[kept++] = b->fleets[k];
	b->n_fleets = kept;
	return BERTH_OK;
}

/* As much of a broker as scaling needs: no account is opened. */
static enum berth_code
scale_open(struct cmd_ctx *ctx, struct broker *b, struct berth_err *err)
{
	const struct config *config;
	const char *dir;
	enum berth_code rc;

	*b = (struct broker){ .store = ctx->store,
		.log = ctx->log,
		.arena = ctx->arena,
		.tick_arena = ctx->arena,
		.now = ctx->now,
		.offline = ctx->offline };
	rc = cmd_config(ctx, &config, err);
	if (rc == BERTH_OK)
		rc = cmd_accels(ctx, &b->accels, err);
	if (rc != BERTH_OK)
		return rc;
	dir = progpath_dir(ctx->arena, config->path);
	rc = scaling_read(config->root, dir, ctx->arena, &b->fleets, &b->n_fleets, err);
	if (rc == BERTH_OK && b->n_fleets > 0 && !ctx->offline)
		rc = prov_net_open(config->root, dir, &b->net, err);
	return rc;
}

static enum berth_code
scale_left_behind(struct cmd_ctx *ctx, struct broker *b, struct berth_err *err)
{
	const char *const *names;
	size_t n;
	enum berth_code rc = scaling_left(b, b->fleets, b->n_fleets, &names, &n, err);

	for (size_t i = 0; rc == BERTH_OK && i < n; i++)
		cmd_warn(ctx,
		    "fleet %s is not in the config any more, and has replicas that nobody scales: "
		    "berth jobs lists them, berth job cancel ends them",
		    names[i]);
	return rc;
}

/* A job file that cannot be read is told of now, not when the load rises. */
static enum berth_code
scale_job(struct cmd_ctx *ctx, const struct broker *b, const struct scaling_fleet *f,
    struct berth_err *err)
{
	struct job_spec spec;
	enum berth_code rc = jobspec_load(f->job, b->accels, ctx->now, ctx->arena, &spec, err);

	if (rc == BERTH_OK)
		rc = job_defaults_fill(&b->job_defaults, f->job, ctx->arena, &spec, err);
	return rc == BERTH_OK ? rc : err_ctx(err, "fleet %s", f->name);
}

static enum berth_code
scale_json(struct cmd_ctx *ctx, const struct scaling_view *v, size_t n, struct berth_err *err)
{
	struct jsonw *w = cmd_json_begin(ctx, "berth.scale/1");

	jsonw_time(w, "time", ctx->now);
	jsonw_bool(w, "dry_run", ctx->dry_run);
	jsonw_begin_array(w, "fleets");
	for (size_t i = 0; i < n; i++) {
		jsonw_begin_object(w, NULL);
		scaling_json(w, &v[i]);
		jsonw_end_object(w);
	}
	jsonw_end_array(w);
	return cmd_json_end(ctx, err);
}

static enum berth_code
scale_table(struct cmd_ctx *ctx, const struct scaling_view *v, size_t n, struct berth_err *err)
{
	static const struct table_col cols[] = {
		{ "fleet", NULL, TABLE_TEXT, 0, 0 },
		{ "load", NULL, TABLE_DOUBLE, 1, 0 },
		{ "forecast", NULL, TABLE_DOUBLE, 1, TABLE_SPARE },
		{ "ready", NULL, TABLE_INT, 0, 0 },
		{ "starting", NULL, TABLE_INT, 0, 0 },
		{ "min", NULL, TABLE_INT, 0, TABLE_SPARE },
		{ "max", NULL, TABLE_INT, 0, TABLE_SPARE },
		{ "headroom", NULL, TABLE_INT, 0, TABLE_SPARE },
		{ "want", NULL, TABLE_INT, 0, 0 },
		{ "target", NULL, TABLE_INT, 0, 0 },
		{ "change", NULL, TABLE_INT, 0, 0 },
		{ "rule", NULL, TABLE_TEXT, 0, 0 },
	};
	struct table *t = table_new(ctx->arena, cols, sizeof(cols) / sizeof(cols[0]));
	enum berth_code rc;

	for (size_t i = 0; i < n; i++) {
		table_row(t);
		table_text(t, v[i].fleet->name);
		table_double(t, v[i].in.load);
		table_double(t, v[i].in.forecast);
		table_int(t, v[i].in.ready);
		table_int(t, v[i].in.starting);
		table_int(t, v[i].rule.min);
		table_int(t, v[i].rule.max);
		if (v[i].d.asked >= 0)
			table_int(t, v[i].d.spare);
		else
			table_unknown(t);
		table_int(t, v[i].d.want);
		table_int(t, v[i].d.target);
		table_int(t, v[i].change);
		table_text(t, v[i].reason);
	}
	rc = cmd_table_print(ctx, t, err);
	for (size_t i = 0; rc == BERTH_OK && i < n; i++)
		cmd_say_items(
		    ctx, arena_printf(ctx->arena, "  - %s: %s.\n", v[i].fleet->name, v[i].why));
	if (rc == BERTH_OK && n == 0)
		cmd_note(ctx, "no fleet in the config: see FLEETS in berth.yaml(5)");
	return rc;
}

static enum berth_code
scale_all(struct cmd_ctx *ctx, struct broker *b, struct berth_err *err)
{
	struct scaling_view *v = arena_array_of(ctx->arena, b->n_fleets + 1, struct scaling_view);
	size_t missing = 0;
	enum berth_code rc = BERTH_OK;

	for (size_t i = 0; rc == BERTH_OK && i < b->n_fleets; i++) {
		rc = scale_job(ctx, b, &b->fleets[i], err);
		if (rc == BERTH_OK)
			rc = scaling_step(b, &b->fleets[i], !ctx->dry_run, &v[i], err);
		if (rc == BERTH_OK && v[i].note[0] != '\0')
			cmd_warn(ctx, "fleet %s: %s", v[i].fleet->name, v[i].note);
		missing += rc == BERTH_OK && v[i].missing[0] != '\0';
	}
	if (rc == BERTH_OK)
		rc = cmd_wants_json(ctx) ? scale_json(ctx, v, b->n_fleets, err)
					 : scale_table(ctx, v, b->n_fleets, err);
	if (rc == BERTH_OK && missing > 0)
		rc = err_set(err, BERTH_EPARTIAL, "the load of %zu of %zu fleet%s is not known",
		    missing, b->n_fleets, b->n_fleets == 1 ? "" : "s");
	return rc;
}

static enum berth_code
scale_run(struct cmd_ctx *ctx, struct berth_err *err)
{
	struct broker b = { 0 };
	bool locked = false;
	enum berth_code rc;

	if (ctx->store == NULL)
		return err_set(err, BERTH_ENOTFOUND, "there is no store yet: run `berth init`");
	rc = scale_open(ctx, &b, err);
	if (rc == BERTH_OK && !ctx->dry_run) { /* a tick scales too */
		rc = store_lock(ctx->store, "tick", err);
		locked = rc == BERTH_OK;
	}
	if (rc == BERTH_OK)
		rc = scale_left_behind(ctx, &b, err);
	if (rc == BERTH_OK)
		rc = scale_fleets(ctx, &b, err);
	if (rc == BERTH_OK)
		rc = scale_all(ctx, &b, err);
	if (locked)
		store_unlock(ctx->store);
	prov_net_free(b.net);
	return rc;
}
