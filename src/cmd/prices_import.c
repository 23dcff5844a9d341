#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/cmd.h"
#include "cmd/prices.h"
#include "ingest/zin.h"
#include "model/datapath.h"
#include "providers/import/import.h"
#include "util/arena.h"
#include "util/str.h"
#include "util/strmap.h"
#include "util/time.h"
#include "util/vec.h"

#define OFF(field) offsetof(struct prices_import_opts, field)
const struct opt_row prices_import_rows[] = {
	{ "bundled", 'b', OPT_FLAG, NULL, "the list that comes with berth", OFF(bundled), 0, 0,
	    NULL },
	{ "provider", 0, OPT_STRING, "PROVIDER", "who sells, for layouts that do not say it",
	    OFF(provider), 0, 0, NULL },
	{ "as-of", 0, OPT_TIME, "TIME", "date of rows that have none", OFF(as_of), 0, 0, NULL },
	{ "force", 'f', OPT_FLAG, NULL, "also a list that moved too far to be believed", OFF(force),
	    0, 0, NULL },
	{ 0 },
};

/* What an import adds up, over all its files: one result a provider. */
struct prices_import {
	struct cmd_ctx *ctx;
	struct pricelist_setup setup;
	const char *file;
	VEC(struct pricelist_result) results;
	struct strmap by_name;
	VEC(const char *) sources; /* read whole, of files that say themselves who sells */
};

static struct pricelist_result *
prices_import_result(struct prices_import *im, const char *name)
{
	struct arena *a = im->ctx->arena;
	int added;
	size_t *at = strmap_add(a, &im->by_name, name, im->results.n, &added);

	if (added)
		VEC_PUSH(
		    a, &im->results, (struct pricelist_result){ .name = arena_strdup(a, name) });
	return &im->results.v[*at];
}

static void
prices_import_note(void *arg, long line, const char *provider, bool refused, const char *message)
{
	struct prices_import *im = arg;

	if (refused)
		prices_import_result(im, provider[0] != '\0' ? provider : im->file)->refused++;
	cmd_warn(im->ctx, "%s:%ld: %s%s", im->file, line,
	    refused ? "refused: " : "price unknown: ", message);
}

/* The offers of one provider in a file: n of them from first on. */
struct prices_group {
	const char *provider;
	size_t first, n;
};

static int
prices_group_cmp(const void *a, const void *b)
{
	const struct prices_group *x = *(struct prices_group *const *)a,
				  *y = *(struct prices_group *const *)b;

	return strcmp(x->provider, y->provider);
}

/* v [n] provider by provider, each in the order of the file; groups_out [*n_out] by name. */
static struct offer *
prices_import_group(struct arena *a, const struct offer *v, size_t n,
    struct prices_group ***groups_out, size_t *n_out)
{
	struct offer *sorted = arena_array_of(a, n, struct offer);
	size_t *group = arena_array_of(a, n, size_t), at = 0;
	struct strmap by_name = { 0 };
	VEC(struct prices_group) g = { 0 };
	struct prices_group **order;
	int added;

	for (size_t i = 0; i < n; i++) {
		group[i] = *strmap_add(a, &by_name, v[i].provider, g.n, &added);
		if (added)
			VEC_PUSH(a, &g, (struct prices_group){ .provider = v[i].provider });
		g.v[group[i]].n++;
	}
	order = arena_array_of(a, g.n, struct prices_group *);
	for (size_t i = 0; i < g.n; i++)
		order[i] = &g.v[i];
	if (g.n > 1)
		qsort(order, g.n, sizeof(struct prices_group *), prices_group_cmp);
	for (size_t i = 0; i < g.n; at += order[i++]->n)
		order[i]->first = at;
	for (size_t i = 0; i < n; i++)
		sorted[g.v[group[i]].first++] = v[i];
	for (size_t i = 0; i < g.n; i++)
		g.v[i].first -= g.v[i].n;
	*groups_out = order;
	*n_out = g.n;
	return sorted;
}

/* The offers of one file, provider by provider. */
static enum berth_code
prices_import_put(struct prices_import *im, const char *source, const struct import_result *r,
    struct berth_err *err)
{
	struct prices_group **groups;
	size_t n;
	const struct offer *v =
	    prices_import_group(im->ctx->arena, r->offers.v, r->offers.n, &groups, &n);

	for (size_t i = 0; i < n; i++) {
		const struct prices_group *g = groups[i];
		struct pricelist_result one, *sum;
		enum berth_code rc = pricelist_put(&im->setup, g->provider, "", source,
		    v + g->first, g->n, im->ctx->arena, &one, err);

		if (rc != BERTH_OK)
			return rc;
		sum = prices_import_result(im, g->provider);
		sum->offers += one.code == BERTH_OK ? one.offers : 0;
		if (one.code != BERTH_OK) {
			sum->stale = true;
			sum->code = one.code;
			str_copy(sum->error, sizeof(sum->error), one.error);
		}
	}
	return BERTH_OK;
}

static void
prices_import_say_names(struct cmd_ctx *ctx, const char *file, const struct import_result *r)
{
	for (size_t i = 0; i < r->n_unknown_names; i++)
		cmd_warn(ctx,
		    "%s: accelerator '%s' is not in the table: kept as it stands, not ranked", file,
		    r->unknown_names[i]);
	for (size_t i = 0; i < r->unknown_places.n; i++)
		cmd_warn(ctx,
		    "%s: '%s' is no region of AWS that berth knows: kept as it stands, so no "
		    "--region finds it by its code",
		    file, r->unknown_places.v[i]);
}

/* Unpacked into a file without a name: a list may be read twice. */
static enum berth_code
prices_import_spool(struct zin *z, const char *name, FILE **f_out, struct berth_err *err)
{
	FILE *f = tmpfile();
	enum berth_code rc = BERTH_OK;
	char part[32768];
	ssize_t n = 0;

	if (f == NULL)
		return err_sys(
		    err, BERTH_EIO, errno, "%s: no temporary file to unpack it into", name);
	while (rc == BERTH_OK && (n = zin_read(z, part, sizeof(part))) > 0)
		if (fwrite(part, 1, (size_t)n, f) != (size_t)n)
			rc = err_sys(err, BERTH_EIO, errno,
			    "%s: the temporary file that it is unpacked into", name);
	if (n < 0)
		rc = zin_fault(z) != NULL ? err_set(err, BERTH_EINVAL, "%s: %s", name, zin_fault(z))
					  : err_sys(err, BERTH_EIO, errno, "%s", name);
	if (rc == BERTH_OK && fseek(f, 0, SEEK_SET) != 0)
		rc = err_sys(
		    err, BERTH_EIO, errno, "%s: the temporary file that it is unpacked into", name);
	if (rc == BERTH_OK)
		*f_out = f;
	else
		fclose(f);
	return rc;
}

/* A plain file as it lies there, anything else through a copy. */
static enum berth_code
prices_import_open(const char *path, const char *name, FILE **f_out, struct berth_err *err)
{
	struct zin *z = NULL;
	enum berth_code rc = zin_open(path, &z, err);

	if (rc != BERTH_OK)
		return rc;
	if (zin_packed(z) || isnan(zin_share(z)) || str_eq(path, "-"))
		rc = prices_import_spool(z, name, f_out, err);
	else if ((*f_out = fopen(path, "rbe")) == NULL)
		rc = err_sys(err, BERTH_EIO, errno, "%s", path);
	zin_close(z);
	return rc;
}

static enum berth_code
prices_import_file(struct prices_import *im, const char *path, const char *source,
    const char *provider, int64_t as_of, struct berth_err *err)
{
	struct import_opts o = { .provider = provider,
		.source = source,
		.now = im->ctx->now,
		.as_of = as_of,
		.note = prices_import_note,
		.note_arg = im };
	const char *name = str_eq(path, "-") ? "stdin" : path;
	struct import_result r;
	enum berth_code rc = cmd_accels(im->ctx, &o.accels, err);
	FILE *f = NULL;

	im->file = name;
	if (rc == BERTH_OK)
		rc = prices_import_open(path, name, &f, err);
	if (rc != BERTH_OK)
		return rc;
	rc = import_file(f, name, &o, im->ctx->arena, &r, err);
	fclose(f);
	if (rc != BERTH_OK)
		return rc;
	prices_import_say_names(im->ctx, name, &r);
	if (r.skipped > 0)
		cmd_note(im->ctx, "%s: %ld machine%s without an accelerator left out", name,
		    r.skipped, r.skipped == 1 ? "" : "s");
	if (r.offers.n == 0 && r.refused == 0 && r.skipped == 0)
		return err_set(err, BERTH_EINVAL,
		    "%s: no row of prices in it; what was imported from it before stands", name);
	if (provider == NULL && !str_eq(source, "-"))
		VEC_PUSH(im->ctx->arena, &im->sources, source);
	return prices_import_put(im, source, &r, err);
}

/* Providers that an earlier file of the same name sold, and this one does not: nobody else would
 * tell. */
static enum berth_code
prices_import_say_gone(struct prices_import *im, struct berth_err *err)
{
	struct arena *a = im->ctx->arena;
	struct price_list *lists;
	size_t n;
	enum berth_code rc = store_price_list_list(im->setup.store, a, &lists, &n, err);

	for (size_t i = 0; rc == BERTH_OK && i < n; i++) {
		const struct price_list *l = &lists[i];
		char day[TIME_FMT_SIZE];

		if (l->account[0] != '\0' || l->offers == 0 ||
		    strmap_get(&im->by_name, l->provider) != NULL)
			continue;
		for (size_t j = 0; j < im->sources.n; j++)
			if (str_eq(im->sources.v[j], l->source))
				cmd_warn(im->ctx,
				    "%s: nothing of %s in it any more: the list that came from a "
				    "file of this name on %s stands as it is",
				    l->source, l->provider, time_fmt_date(day, l->fetched));
	}
	return rc;
}

static enum berth_code
prices_bundled(struct prices_import *im, struct berth_err *err)
{
	const char *path = NULL;
	enum berth_code rc = data_path(im->ctx->arena, "offers.csv", &path, err);

	im->setup.force = true; /* it came with the program: there is nothing to doubt it by */
	return rc == BERTH_OK ? prices_import_file(im, path, "bundled", NULL, 0, err) : rc;
}

enum berth_code
prices_import_bundled(struct cmd_ctx *ctx, size_t *offers_out, struct berth_err *err)
{
	struct prices_import im = { .ctx = ctx };
	enum berth_code rc = prices_setup(ctx, true, &im.setup, err);

	if (rc == BERTH_OK)
		rc = prices_bundled(&im, err);

	*offers_out = 0;
	for (size_t i = 0; i < im.results.n; i++)
		*offers_out += im.results.v[i].offers;
	return rc;
}

/* The file's name, packed or not. */
static const char *
prices_base(struct arena *a, const char *path)
{
	static const char *const packed[] = { ".gz", ".zst", NULL };
	const char *slash = strrchr(path, '/'),
		   *base = slash != NULL && slash[1] != '\0' ? slash + 1 : path;
	size_t n = strlen(base);

	for (size_t i = 0; packed[i] != NULL; i++) {
		size_t end = strlen(packed[i]);

		if (n > end && str_eq(base + n - end, packed[i]))
			return arena_printf(a, "%.*s", (int)(n - end), base);
	}
	return base;
}

enum berth_code
prices_import_run(struct cmd_ctx *ctx, struct berth_err *err)
{
	const struct prices_import_opts *o = ctx->opts;
	struct prices_import im = { .ctx = ctx };
	struct berth_err own = { 0 };
	size_t unread = 0;
	enum berth_code rc = BERTH_OK;

	if (ctx->n_args == 0 && !o->bundled)
		return err_set(err, BERTH_EUSAGE, "name a file, or --bundled");
	if ((rc = prices_setup(ctx, o->force, &im.setup, err)) != BERTH_OK)
		return rc;
	if (o->bundled && (rc = prices_bundled(&im, err)) != BERTH_OK)
		return rc;
	im.setup.force = o->force;
	for (size_t i = 0; i < ctx->n_args; i++) {
		rc = prices_import_file(&im, ctx->args[i], prices_base(ctx->arena, ctx->args[i]),
		    o->provider, o->as_of, &own);
		if (rc == BERTH_OK)
			continue;
		if (ctx->n_args == 1 || (rc != BERTH_EINVAL && rc != BERTH_ENOTFOUND)) {
			*err = own;
			return rc;
		}
		/* one file that cannot be read does not keep the others out */
		cmd_warn(ctx, "%s: %s", own.where[0] != '\0' ? own.where : ctx->args[i], own.msg);
		unread++;
		struct pricelist_result *r = prices_import_result(&im, ctx->args[i]);

		r->code = rc;
		str_copy(r->error, sizeof(r->error), own.msg);
	}
	if (unread == ctx->n_args && unread > 0)
		cmd_next_step(ctx, "berth-prices(1) shows the layouts that can be read");
	if ((rc = prices_import_say_gone(&im, err)) != BERTH_OK)
		return rc;
	return prices_print_results(ctx, im.results.v, im.results.n, err);
}
