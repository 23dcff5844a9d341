#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "broker/placing_facts.h"
#include "cmd/plan_lines.h"
#include "model/block.h"
#include "util/arena.h"
#include "util/glob.h"
#include "util/json.h"
#include "util/str.h"
#include "util/vec.h"

#define PLAN_NOISE                                                                                 \
	0.03 /* speeds closer to the rated one count as it: machines alike differ by so much */

const struct accel *
plan_accel(const struct accel_table *accels, const struct series *s, const char *gpu,
    struct arena *a, const char **name_out)
{
	struct berth_err ignored;
	const char *name = s->name;
	json_t *root = NULL;

	if (gpu != NULL) {
		name = gpu;
	} else if (jsonr_parse(s->labels, strlen(s->labels), s->name, &root, &ignored) ==
		   BERTH_OK) {
		struct jsonr r = jsonr_root(root, s->name);
		const char *label = NULL;

		if (jsonr_str(&r, "accelerator", &label, &ignored) == BERTH_OK && label != NULL &&
		    label[0] != '\0')
			name = arena_strdup(a, label);
		json_decref(root);
	}
	*name_out = name;
	return accel_find(accels, name);
}

/* Paths that lie below all that was used; what the roadmap or past growth takes away stays away. */
static void
plan_level(struct plan_series *ps, double *use, struct arena *a)
{
	const struct fc_result *f = &ps->forecast;
	size_t n = f->n_paths * f->horizon;
	double *peaks;

	if (ps->n_events > 0 || f->growth.kind != FC_GROWTH_NONE || f->step_s > PLAN_WEEK_S)
		return;
	ps->raised = commit_level(ps->history.mean, ps->history.n,
	    (size_t)(PLAN_WEEK_S / f->step_s), use, f->n_paths, f->horizon);
	if (!(ps->raised > 1))
		return;
	peaks = arena_memdup(a, f->paths, n * sizeof(*peaks));
	for (size_t i = 0; i < n; i++)
		peaks[i] = fmax(peaks[i], use[i]);
	ps->peaks.gpus = peaks;
}

/* Paths carry the peak of each step; what is used and paid is its mean: each step's paths are
 * scaled to the expected mean. */
static void
plan_paths(struct plan_series *ps, struct arena *a)
{
	const struct fc_result *f = &ps->forecast;
	double *use = arena_array(a, f->n_paths * f->horizon, sizeof(*use));

	for (size_t t = 0; t < f->horizon; t++) {
		double sum = 0, scale;

		for (size_t p = 0; p < f->n_paths; p++)
			sum += f->paths[p * f->horizon + t];
		scale = sum > 0 ? fmin(1, fc_expected(f, t) * (double)f->n_paths / sum) : 1;
		for (size_t p = 0; p < f->n_paths; p++)
			use[p * f->horizon + t] = f->paths[p * f->horizon + t] * scale;
	}
	ps->demand = (struct commit_demand){ use, f->n_paths, f->horizon, NULL,
		(double)f->step_s / 3600, ps->uncut };
	ps->peaks = ps->demand;
	ps->peaks.gpus = f->paths;
	plan_level(ps, use, a);
}

double
plan_measured(const struct offer *x)
{
	return isfinite(x->measured) && x->measured > 0 && fabs(x->measured - 1) >= PLAN_NOISE
		   ? x->measured
		   : 1;
}

/* The rated part of plan_speed(). */
static double
plan_rated(const struct plan_options *o, const struct accel *accel, const struct plan_series *ps)
{
	double ratio = accel_work_ratio(accel, ps->counted_in, o->precision);

	if (accel_is(accel, ps->accel))
		return ratio > 0 ? ratio : 1; /* a card whose rates nobody knows is what it says */
	for (size_t i = 0; i < o->n_also; i++)
		if (accel_is(accel, o->also[i]) && ratio > 0)
			return ratio;
	return 0;
}

double
plan_speed(const struct plan_options *o, const struct accel_table *accels,
    const struct plan_series *ps, const struct offer *x)
{
	return plan_rated(
		   o, accel_find_sized(accels, x->accelerator, x->accelerator_memory_gib), ps) *
	       plan_measured(x);
}

int
plan_id_cmp(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

void
plan_stale_sort(struct plan_stale *s)
{
	if (s->ids.n > 1)
		qsort(s->ids.v, s->ids.n, sizeof(*s->ids.v), plan_id_cmp);
}

/* The date of an offer moves on while its price stands: a replay goes by what was noted. */
static bool
plan_price_stale(const struct plan_options *o, const struct offer *x)
{
	const struct plan_stale *was = o->was_stale;

	if (was == NULL)
		return cost_price_stale(x, &o->ages, o->now);
	return was->ids.n > 0 &&
	       bsearch(&x->id, was->ids.v, was->ids.n, sizeof(*was->ids.v), plan_id_cmp) != NULL;
}

static enum refuse_code
plan_check_offer(const struct plan_options *o, const struct accel_table *accels,
    const struct plan_series *ps, const struct offer *x)
{
	if (x->accelerator_count < 1 || plan_speed(o, accels, ps, x) <= 0)
		return REFUSE_ACCELERATOR;
	if (!offer_region_hits_any(o->regions, o->n_regions, x) ||
	    (o->n_regions == 0 && o->rails.region != NULL &&
		!offer_region_hits(o->rails.region, x)))
		return REFUSE_RESIDENCY;
	if (!glob_match_any(o->providers, o->n_providers, x->provider))
		return REFUSE_PROVIDER;
	if (block_rules_hit(o->block, o->n_block, x) != NULL)
		return REFUSE_BLOCKED;
	if (!usd_known(offer_effective_hour(x)) || offer_effective_hour(x).v < 0 ||
	    !str_eq(x->currency, "USD"))
		return REFUSE_PRICE_UNKNOWN;
	if (o->need_account && !ps->list_prices && x->account[0] == '\0')
		return REFUSE_NO_ACCOUNT;
	if ((x->purchase == PURCHASE_SPOT && (o->no_spot || o->spot_share <= 0)) ||
	    (o->rails.purchase_said && !o->rails.purchase_ok[x->purchase]))
		return REFUSE_PURCHASE;
	if (usd_cmp(offer_effective_hour(x), o->rails.max_price) > 0)
		return REFUSE_MAX_PRICE;
	if (plan_sold_out(o, x))
		return REFUSE_UNAVAILABLE;
	return plan_price_stale(o, x) ? REFUSE_PRICE_STALE : REFUSE_NOT;
}

struct plan_ranked {
	const struct offer *o;
	double speed, hour;
};

static int
plan_cmp_ranked(const void *a, const void *b)
{
	const struct plan_ranked *x = a, *y = b;

	if (fabs(x->hour - y->hour) > 1e-9 * fmax(x->hour, y->hour))
		return x->hour < y->hour ? -1 : 1;
	return offer_cmp(x->o, y->o);
}

/* Notes a card of the series' own group that counts for less, or more, than one. */
static void
plan_form_note(const struct plan_options *o, const struct accel_table *accels,
    const struct offer *x, struct plan_series *ps, struct arena *a)
{
	const struct accel *have =
	    accel_find_sized(accels, x->accelerator, x->accelerator_memory_gib);
	double rated = plan_rated(o, have, ps);

	if (!accel_is(have, ps->accel) || fabs(rated - 1) < PLAN_AS_FAST)
		return;
	for (size_t i = 0; i < ps->forms.n; i++)
		if (ps->forms.v[i].accel == have)
			return;
	VEC_PUSH(a, &ps->forms, ((struct plan_form){ have, rated }));
}

/* The market by what an hour of the series' own accelerator costs there. */
static void
plan_rank(const struct plan_options *o, const struct accel_table *accels, struct plan_series *ps,
    struct arena *a)
{
	struct plan_ranked *r = arena_array(a, ps->n_market, sizeof(*r));

	ps->speed = arena_array(a, ps->n_market, sizeof(*ps->speed));
	ps->forms.n = 0;
	for (size_t i = 0; i < ps->n_market; i++) {
		double speed = plan_speed(o, accels, ps, ps->market[i]);

		r[i] = (struct plan_ranked){ ps->market[i], speed,
			plan_gpu_hour(ps->market[i], speed) };
		plan_form_note(o, accels, ps->market[i], ps, a);
	}
	qsort(r, ps->n_market, sizeof(*r), plan_cmp_ranked);
	for (size_t i = 0; i < ps->n_market; i++) {
		ps->market[i] = r[i].o;
		ps->speed[i] = r[i].speed;
	}
}

static size_t
plan_filter(const struct accel_table *accels, const struct offer *offers, size_t n_offers,
    const struct plan_options *o, struct arena *a, struct plan_series *ps, const struct offer **x)
{
	size_t n = 0;

	memset(ps->refused, 0, sizeof(ps->refused));
	ps->refused[REFUSE_ACCELERATOR] = (size_t)o->n_others;
	ps->refused_term = 0;
	for (size_t i = 0; i < n_offers; i++) {
		enum refuse_code why = plan_check_offer(o, accels, ps, &offers[i]);

		if (why == REFUSE_NOT && offers[i].purchase == PURCHASE_RESERVED &&
		    offers[i].term_months > o->max_term_months)
			ps->refused_term++;
		else if (why == REFUSE_NOT)
			x[n++] = &offers[i];
		else
			ps->refused[why]++;
		if (why != REFUSE_ACCELERATOR && o->read != NULL)
			VEC_PUSH(a, &o->read->ids, offers[i].id);
		if (why == REFUSE_PRICE_STALE && o->stale != NULL)
			VEC_PUSH(a, &o->stale->ids, offers[i].id);
		if (why == REFUSE_UNAVAILABLE && o->gone != NULL)
			VEC_PUSH(a, &o->gone->ids, offers[i].id);
	}
	return n;
}

/* What to do where the market is empty: options that keep all out are not mended by new prices. */
static const char *
plan_none_next(const struct plan_series *ps, struct arena *a)
{
	bool provider = ps->refused[REFUSE_PROVIDER] > 0,
	     region = ps->refused[REFUSE_RESIDENCY] > 0,
	     stale = ps->refused[REFUSE_PRICE_STALE] > 0;

	if (!provider && !region)
		return "run `berth prices refresh` or `berth prices import`";
	return arena_printf(a, "allow more by %s%s%s%s", region ? "--region" : "",
	    region && provider ? " or " : "", provider ? "--provider" : "",
	    stale ? ", run `berth prices refresh`" : "");
}

enum berth_code
plan_market(const struct accel_table *accels, const struct offer *offers, size_t n_offers,
    const struct plan_options *o, struct arena *a, struct plan_series *ps, struct berth_err *err)
{
	ps->market = arena_array(a, n_offers, sizeof(*ps->market));
	ps->n_market = plan_filter(accels, offers, n_offers, o, a, ps, ps->market);
	if (ps->n_market == 0 && ps->refused[REFUSE_NO_ACCOUNT] > 0) {
		ps->list_prices = true;
		ps->n_market = plan_filter(accels, offers, n_offers, o, a, ps, ps->market);
	}
	if (ps->n_market == 0)
		return err_set(err, BERTH_EINFEASIBLE,
		    "series %s: none of %zu offers serves %s%s%s; %s, or see `berth prices list "
		    "--gpu %s`",
		    ps->series.name, n_offers, ps->accel->name, n_offers > 0 ? ": " : "",
		    n_offers > 0 ? explain_refusals(ps->refused, a) : "", plan_none_next(ps, a),
		    ps->accel->name);
	plan_rank(o, accels, ps, a);
	return BERTH_OK;
}

enum berth_code
plan_use(
    const struct plan_options *o, struct arena *a, struct plan_series *ps, struct berth_err *err)
{
	enum berth_code rc;

	plan_paths(ps, a);
	rc = commit_curve_build(&ps->demand, a, &ps->curve, ps->uncut ? NULL : &ps->cut_paths, err);
	if (rc == BERTH_OK)
		rc = commit_peak(&ps->peaks, o->service_level, a, &ps->peak, &ps->peak_enough, err);
	return rc == BERTH_OK ? rc : err_ctx(err, "series %s", ps->series.name);
}

void
plan_build(const struct accel_table *accels, const struct commitment *owned, size_t n_owned,
    const struct plan_options *o, struct arena *a, struct plan_series *ps)
{
	plan_lines_of(owned, n_owned, accels, o, ps, a);
	plan_shares(o, ps, a);
	plan_quotas(ps, 1, o, a);
	plan_quota_runway(ps, 1, false, o, a);
}
