/* src/cmd/plan_approve_rest.c - is what a kept plan buys still the better one, at what is asked on
 * demand by now?  Floor: cmd. */
#include "config.h"

#include <math.h>
#include <string.h>

#include "cmd/plan_approve.h"
#include "util/arena.h"
#include "util/json.h"
#include "util/str.h"

#define REST_SAME 1e-5 /* prices are kept with six digits */
#define REST_REACH 4   /* plans look no farther for a turn than at four times the price */

/* The cheapest that the plan could have on demand, USD for an hour of one GPU of its reference. */
struct rest_price {
	const char *accelerator;
	double speed, usd;
};

static enum berth_code
rest_then(
    const struct jsonr *series, struct arena *a, struct rest_price *out, struct berth_err *err)
{
	struct jsonr list = jsonr_get(series, "rest");
	enum berth_code rc = BERTH_OK;

	*out = (struct rest_price){ "", 1, INFINITY };
	for (size_t i = 0; i < jsonr_len(&list) && rc == BERTH_OK; i++) {
		struct jsonr r = jsonr_at(&list, i);
		const char *purchase = "", *accelerator = "";
		double speed = 1, usd = INFINITY;

		rc = jsonr_str(&r, "purchase", &purchase, err);
		if (rc == BERTH_OK)
			rc = jsonr_str(&r, "accelerator", &accelerator, err);
		if (rc == BERTH_OK)
			rc = jsonr_double(&r, "speed", &speed, err);
		if (rc == BERTH_OK)
			rc = jsonr_double(&r, "price_per_gpu_hour", &usd, err);
		if (rc == BERTH_OK && str_eq(purchase, "on_demand") && usd < out->usd && speed > 0)
			*out = (struct rest_price){ arena_strdup(a, accelerator), speed, usd };
	}
	return rc;
}

static double
rest_hour(const struct rest_price *p, const struct offer *o)
{
	return usd_known(o->price) && o->accelerator_count > 0
		   ? usd_to_double(o->price) / (o->accelerator_count * p->speed)
		   : NAN;
}

/* The cheapest now of what was no cheaper then: what was could not be had. NULL: none of it. */
static const struct offer *
rest_now(const struct approve_offers *x, const struct rest_price *was, double *usd_out)
{
	const struct offer *best = NULL;

	*usd_out = INFINITY;
	for (size_t i = 0; i < x->n_then; i++) {
		const struct offer *o = &x->then[i], *is;

		if (o->purchase != PURCHASE_ON_DEMAND ||
		    !str_eq(o->accelerator, was->accelerator) ||
		    !(rest_hour(was, o) >= was->usd * (1 - REST_SAME)))
			continue;
		is = plan_approve_current(x, o);
		if (is == NULL || !(rest_hour(was, is) < *usd_out))
			continue;
		best = is;
		*usd_out = rest_hour(was, is);
	}
	return best;
}

/* Reserved prices may be so many times what they are until the plan buys another number. */
static enum berth_code
rest_factor(const struct jsonr *plan, double *out, struct berth_err *err)
{
	struct jsonr change = jsonr_get(plan, "what_changes_it"), up;
	enum berth_code rc = BERTH_OK;

	*out = REST_REACH;
	if (!jsonr_none(&change)) {
		up = jsonr_get(&change, "reserved_price_up");
		if (!jsonr_none(&up))
			rc = jsonr_double(&up, "factor", out, err);
	}
	return rc;
}

/* On demand below this one of the purchases costs more than all that it serves would. 0: none. */
static enum berth_code
rest_even(const struct jsonr *series, double was, double *out, struct berth_err *err)
{
	struct jsonr list = jsonr_get(series, "buys");
	enum berth_code rc = BERTH_OK;

	*out = 0;
	for (size_t i = 0; i < jsonr_len(&list) && rc == BERTH_OK; i++) {
		struct jsonr b = jsonr_at(&list, i);
		double even = NAN, busy = NAN, use = 0, gpus = 0, count = 0;

		rc = jsonr_double(&b, "break_even_utilisation", &even, err);
		if (rc == BERTH_OK)
			rc = jsonr_double(&b, "utilisation", &busy, err);
		if (rc == BERTH_OK)
			rc = jsonr_double(&b, "usage_price_per_hour", &use, err);
		if (rc == BERTH_OK)
			rc = jsonr_double(&b, "gpus", &gpus, err);
		if (rc == BERTH_OK)
			rc = jsonr_double(&b, "count", &count, err);
		if (rc != BERTH_OK || !(gpus > 0) || !(even < busy)) /* else it is for the peak */
			continue;
		use *= count / gpus;
		*out = fmax(*out, use + even * (was - use) / busy);
	}
	return rc;
}

/*
 * The USD of a GPU-hour on demand below which less would be bought: the same as reserved prices
 * that rise so much against it.
 */
static enum berth_code
rest_least(const struct jsonr *series, bool budget, double was, double *out, struct berth_err *err)
{
	struct jsonr schedule = jsonr_get(series, "schedule");
	bool dated = !jsonr_none(&schedule);
	double factor = REST_REACH, even = 0;
	enum berth_code rc = BERTH_OK;

	if (!budget) /* else what turns it may be the budget */
		rc = rest_factor(dated ? &schedule : series, &factor, err);
	if (rc == BERTH_OK && !dated)
		rc = rest_even(series, was, &even, err);
	*out = fmax(was / factor, even);
	return rc;
}

enum berth_code
plan_approve_rest(struct cmd_ctx *ctx, int64_t plan, const struct approve_offers *x,
    const struct jsonr *series, bool budget, struct berth_err *err)
{
	struct rest_price was;
	const struct offer *is;
	const char *name = "";
	double least, usd;
	enum berth_code rc = rest_then(series, ctx->arena, &was, err);

	if (rc != BERTH_OK || isinf(was.usd) || was.usd <= 0)
		return rc;
	is = rest_now(x, &was, &usd);
	if (is == NULL)
		return BERTH_OK;
	rc = rest_least(series, budget, was.usd, &least, err);
	if (rc == BERTH_OK)
		rc = jsonr_str(series, "name", &name, err);
	if (rc != BERTH_OK || !(usd < least * (1 - REST_SAME)))
		return rc;
	cmd_next_step(ctx, "`berth plan` makes a plan of the prices of now");
	return err_set(err, BERTH_EPRICE,
	    "plan %lld: on demand %s%s%s %s is %.4f USD a GPU-hour now, it was %.4f at the "
	    "cheapest "
	    "(%+.1f %%): below %.4f less would be bought for series %s",
	    (long long)plan, is->provider, is->region[0] != '\0' ? " " : "", is->region,
	    is->instance_type[0] != '\0' ? is->instance_type : is->accelerator, usd, was.usd,
	    100 * (usd - was.usd) / was.usd, least, name);
}
