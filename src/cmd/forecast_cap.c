/* src/cmd/forecast_cap.c - --cap: what the demand of a series or of a sum can not pass.  Floor:
 * cmd. */
#include "config.h"

#include <math.h>
#include <string.h>

#include "cmd/forecast.h"
#include "util/arena.h"
#include "util/glob.h"
#include "util/json.h"
#include "util/str.h"

#define CAP_MAX 1e18

static bool
cap_is_for(const char *who, const char *name)
{
	return who == NULL || str_eq(who, name) || glob_match(who, name);
}

/* Records what was asked for, not what ran: no fleet bounds it. */
static bool
cap_is_request(const struct series *s)
{
	struct berth_err ignored;
	const char *state = NULL;
	json_t *root = NULL;
	bool request = false;

	if (jsonr_parse(s->labels, strlen(s->labels), s->name, &root, &ignored) == BERTH_OK) {
		struct jsonr r = jsonr_root(root, s->name);

		request = jsonr_str(&r, "state", &state, &ignored) == BERTH_OK && state != NULL &&
			  (str_eq(state, "requested") || str_eq(state, "queued"));
	}
	json_decref(root);
	return request;
}

static double
cap_known(const struct forecast_set *f, size_t i, struct arena *a)
{
	int64_t gpus = cap_is_request(&f->rows[i]) ? -1 : forecast_known_size(f, &f->rows[i], a);

	return gpus > 0 ? (double)gpus : NAN;
}

/* One word of --cap on all series and sums that it names; the least of several counts. */
static enum berth_code
cap_put(struct cmd_ctx *ctx, struct forecast_set *f, const char *text, struct berth_err *err)
{
	const char *eq = strrchr(text, '='), *size = eq != NULL ? eq + 1 : text;
	const char *who = eq != NULL ? arena_strndup(ctx->arena, text, (size_t)(eq - text)) : NULL;
	bool quota = str_eq(size, "quota"), found = false;
	double given = NAN;
	struct berth_err ignored;

	if (!quota &&
	    (str_to_double(size, 0, CAP_MAX, &given, &ignored) != BERTH_OK || !(given > 0))) {
		err_set(err, BERTH_EUSAGE,
		    "'%s' is no size: write 512, SERIES=512, or quota for the quotas of berth.yaml "
		    "and your own machines",
		    text);
		return err_at(err, "--cap");
	}
	for (size_t i = 0; i < f->n; i++) {
		double cap;

		if (!cap_is_for(who, f->rows[i].name))
			continue;
		found = true;
		cap = quota ? cap_known(f, i, ctx->arena) : given;
		if (quota && isnan(cap) && who != NULL)
			cmd_warn(ctx,
			    "--cap: no quota or machine is known for series %s: it is not capped",
			    f->rows[i].name);
		f->caps[i] = fmin(f->caps[i], cap); /* fmin() leaves NaN out */
	}
	if (!found)
		cmd_warn(ctx, "--cap: '%s' is none of the series", who);
	return BERTH_OK;
}

enum berth_code
forecast_caps(struct cmd_ctx *ctx, struct forecast_set *f, struct berth_err *err)
{
	const struct forecast_opts *o = ctx->opts;
	enum berth_code rc = BERTH_OK;

	f->caps = arena_array(ctx->arena, f->n, sizeof(*f->caps));
	for (size_t i = 0; i < f->n; i++)
		f->caps[i] = NAN;
	if (o->requested && o->cap.n > 0) {
		err_set(err, BERTH_EUSAGE,
		    "a fleet or a quota bounds what runs, not what is asked for: leave out --cap "
		    "or --requested");
		return err_at(err, "--cap");
	}
	f->cap_words = forecast_words(&o->cap, true, f->rows, f->n, ctx->arena);
	for (size_t k = 0; k < f->cap_words.n && rc == BERTH_OK; k++)
		rc = cap_put(ctx, f, f->cap_words.v[k], err);
	for (size_t i = f->tree.n_leaves; f->tree.n_sums > 0 && i < f->n; i++)
		f->sum_capped = f->sum_capped || !isnan(f->caps[i]);
	return rc;
}
