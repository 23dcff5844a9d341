/* Price lists that were not believed: what lies there, and taking or leaving it. */
#include <string.h>

#include "broker/quarantine.h"
#include "cmd/cmd.h"
#include "cmd/prices.h"
#include "providers/import/import.h"
#include "util/arena.h"
#include "util/csv.h"
#include "util/json.h"
#include "util/str.h"
#include "util/vec.h"

static enum berth_code
prices_quarantine_print(
    struct cmd_ctx *ctx, const struct quarantine *v, size_t n, struct berth_err *err)
{
	static const struct table_col cols[] = {
		{ "name", NULL, TABLE_TEXT, 0, 0 },
		{ "offers", NULL, TABLE_INT, 0, 0 },
		{ "age", NULL, TABLE_AGE, 0, 0 },
		{ "why", NULL, TABLE_TEXT, 0, TABLE_CUT },
		{ "path", NULL, TABLE_TEXT, 0, TABLE_WIDE },
	};
	struct table *t = table_new(ctx->arena, cols, sizeof(cols) / sizeof(cols[0]));
	enum berth_code rc;

	for (size_t i = 0; i < n; i++) {
		table_row(t);
		table_text(t, v[i].name);
		table_int(t, (int64_t)v[i].offers);
		table_time(t, ctx->now - v[i].at);
		table_text(t, v[i].why);
		table_text(t, v[i].path);
	}
	rc = cmd_table_print(ctx, t, err);
	if (rc == BERTH_OK && n > 0)
		cmd_next_step(ctx, "look at the file (-o wide names it); then berth prices accept "
				   "NAME, or berth prices reject NAME");
	return rc;
}

enum berth_code
prices_quarantine_run(struct cmd_ctx *ctx, struct berth_err *err)
{
	struct pricelist_setup setup;
	struct quarantine *v;
	struct jsonw *w;
	enum berth_code rc;
	size_t n;

	if ((rc = prices_setup(ctx, false, &setup, err)) != BERTH_OK ||
	    (rc = quarantine_list(setup.quarantine_dir, ctx->arena, &v, &n, err)) != BERTH_OK)
		return rc;
	if (!cmd_wants_json(ctx))
		return prices_quarantine_print(ctx, v, n, err);
	w = cmd_json_begin(ctx, "berth.quarantine/1");
	jsonw_begin_array(w, "lists");
	for (size_t i = 0; i < n; i++) {
		jsonw_begin_object(w, NULL);
		jsonw_str(w, "name", v[i].name);
		jsonw_str_or_null(w, "provider", v[i].provider);
		jsonw_str_or_null(w, "account", v[i].account);
		jsonw_str(w, "source", v[i].source);
		jsonw_int(w, "offers", (int64_t)v[i].offers);
		jsonw_time(w, "at", v[i].at);
		jsonw_str(w, "why", v[i].why);
		jsonw_str(w, "path", v[i].path);
		jsonw_end_object(w);
	}
	jsonw_end_array(w);
	return cmd_json_end(ctx, err);
}

/* The lists that were named, in the order of the names; each must be there. */
static enum berth_code
prices_quarantine_named(struct cmd_ctx *ctx, const struct pricelist_setup *setup,
    const struct quarantine ***v_out, struct berth_err *err)
{
	const struct quarantine **named =
	    arena_array_of(ctx->arena, ctx->n_args, const struct quarantine *);
	const char **names;
	struct quarantine *all;
	enum berth_code rc;
	size_t n;

	rc = quarantine_list(setup->quarantine_dir, ctx->arena, &all, &n, err);
	if (rc != BERTH_OK)
		return rc;
	names = arena_array_of(ctx->arena, n + 1, const char *);
	for (size_t i = 0; i < n; i++)
		names[i] = all[i].name;
	for (size_t k = 0; k < ctx->n_args; k++) {
		int at = str_index(ctx->args[k], names);

		if (at < 0)
			return err_set(err, BERTH_ENOTFOUND,
			    "no list '%s' in quarantine: berth prices quarantine names them",
			    ctx->args[k]);
		named[k] = &all[at];
	}
	*v_out = named;
	return BERTH_OK;
}

static void
prices_accept_note(void *arg, long line, const char *provider, bool refused, const char *message)
{
	(void)provider;
	(void)refused;
	cmd_warn(arg, "line %ld: %s", line, message);
}

static enum berth_code
prices_accept_one(struct cmd_ctx *ctx, const struct pricelist_setup *setup,
    const struct quarantine *q, struct pricelist_result *r, struct berth_err *err)
{
	struct import_opts o = { .source = q->source,
		.now = ctx->now,
		.as_of = q->at,
		.note = prices_accept_note,
		.note_arg = ctx };
	struct import_result got;
	struct csv *csv = NULL;
	enum berth_code rc;

	if ((rc = cmd_accels(ctx, &o.accels, err)) != BERTH_OK ||
	    (rc = csv_open(q->path, &csv, err)) != BERTH_OK)
		return rc;
	rc = import_read(csv, &o, ctx->arena, &got, err);
	csv_close(csv);
	if (rc == BERTH_OK)
		rc = pricelist_accept(setup, q, got.offers.v, got.offers.n, ctx->arena, r, err);
	if (rc == BERTH_OK)
		r->refused = (size_t)got.refused;
	return rc;
}

enum berth_code
prices_accept_run(struct cmd_ctx *ctx, struct berth_err *err)
{
	struct pricelist_result *r =
	    arena_array_of(ctx->arena, ctx->n_args, struct pricelist_result);
	const struct quarantine **named;
	struct pricelist_setup setup;
	enum berth_code rc;

	if ((rc = prices_setup(ctx, true, &setup, err)) != BERTH_OK ||
	    (rc = prices_quarantine_named(ctx, &setup, &named, err)) != BERTH_OK)
		return rc;
	for (size_t i = 0; rc == BERTH_OK && i < ctx->n_args; i++)
		rc = prices_accept_one(ctx, &setup, named[i], &r[i], err);
	return rc == BERTH_OK ? prices_print_results(ctx, r, ctx->n_args, err) : rc;
}

enum berth_code
prices_reject_run(struct cmd_ctx *ctx, struct berth_err *err)
{
	const struct quarantine **named;
	struct pricelist_setup setup;
	enum berth_code rc;

	if ((rc = prices_setup(ctx, false, &setup, err)) != BERTH_OK ||
	    (rc = prices_quarantine_named(ctx, &setup, &named, err)) != BERTH_OK)
		return rc;
	for (size_t i = 0; i < ctx->n_args && !ctx->dry_run; i++)
		quarantine_drop(setup.quarantine_dir, named[i], ctx->arena);
	cmd_note(ctx, "%s%zu %s away; the old prices stand", ctx->dry_run ? "dry run: " : "",
	    ctx->n_args, ctx->n_args == 1 ? "list is" : "lists are");
	return BERTH_OK;
}
