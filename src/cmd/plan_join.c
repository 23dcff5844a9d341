#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "broker/placing_facts.h"
#include "cmd/plan_join.h"
#include "util/arena.h"
#include "util/glob.h"
#include "util/json.h"
#include "util/str.h"
#include "util/vec.h"

#define PLAN_UNSERVED 10.0		/* demand that nothing serves, in on-demand prices */
#define PLAN_OWNED_USE 0.999	/* of that: what is owned serves before nothing does, whatever its use costs */
#define PLAN_NOISE 0.03		/* speeds closer to the rated one count as it: machines alike differ by so much */
#define PLAN_OBTAIN 0.8			/* share of time in which spot can be had where nobody knows */
#define PLAN_CHECKPOINT_S 120.0		/* to write one, for the useful share of spot */
#define PLAN_RESTART_S 600.0
#define PLAN_ON_DEMAND_MAX 12
#define PLAN_SPOT_MAX 12

const struct accel *
plan_accel(const struct accel_table *accels, const struct series *s, const char *gpu, struct arena *a,
    const char **name_out)
{
	struct berth_err ignored;
	const char *name = s->name;
	json_t *root = NULL;

	if (gpu != NULL) {
		name = gpu;
	} else if (jsonr_parse(s->labels, strlen(s->labels), s->name, &root, &ignored) == BERTH_OK) {
		struct jsonr r = jsonr_root(root, s->name);
		const char *label = NULL;

		if (jsonr_str(&r, "accelerator", &label, &ignored) == BERTH_OK && label != NULL && label[0] != '\0')
			name = arena_strdup(a, label);
		json_decref(root);
	}
	*name_out = name;
	return accel_find(accels, name);
}

/* Paths carry the peak of each step; what is used and paid is its mean: each step's paths are scaled to the expected mean. */
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
	ps->demand = (struct commit_demand){ use, f->n_paths, f->horizon, NULL, (double)f->step_s / 3600, ps->uncut };
	ps->peaks = ps->demand;
	ps->peaks.gpus = f->paths;
}

double
plan_measured(const struct offer *x)
{
	return isfinite(x->measured) && x->measured > 0 && fabs(x->measured - 1) >= PLAN_NOISE ? x->measured : 1;
}

/* Ratio of rates; of a group that is compared with its fastest member, so that nothing is promised that one of it would break. */
static double
plan_ratio(const struct accel *a, const struct accel *own, enum accel_precision precision)
{
	double least = NAN;

	if (own->n_members == 0)
		return accel_speed_ratio(a, own, precision);
	for (size_t i = 0; i < own->n_members; i++)
		least = fmin(least, plan_ratio(a, own->members[i], precision));	/* fmin() leaves NaN out */
	return least;
}

/*
 * GPUs of the series' accelerator that one of this offer stands for: 1 for that accelerator, the ratio of rates for another
 * that was named, times what probes measured; 0: it cannot do the work.
 */
static double
plan_speed(const struct plan_options *o, const struct accel_table *accels, const struct plan_series *ps, const struct offer *x)
{
	const struct accel *accel = accel_find_sized(accels, x->accelerator, x->accelerator_memory_gib);
	double speed = 0;

	if (accel_is(accel, ps->accel)) {
		speed = 1;
	} else {
		for (size_t i = 0; i < o->n_also && speed <= 0; i++)
			if (accel_is(accel, o->also[i]))
				speed = plan_ratio(accel, ps->accel, o->precision);
	}
	if (!(speed > 0))
		return 0;
	return speed * plan_measured(x);
}

/* The same of one machine. Purchases at start dates are counted in whole GPUs: parts of one do not count there. */
static double
plan_carries(const struct plan_options *o, double speed, const struct offer *x)
{
	double gpus = speed * x->accelerator_count;

	return o->starts_s > 0 ? floor(gpus + 1e-9) : gpus;
}

/* gpus and speed of a line for one machine. */
static int64_t
plan_units(double carries, double *speed_out)
{
	int64_t units = (int64_t)fmax(1, rint(carries));

	*speed_out = fabs(carries - (double)units) < 1e-9 ? 0 : carries / (double)units;
	return units;
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
	return was->ids.n > 0 && bsearch(&x->id, was->ids.v, was->ids.n, sizeof(*was->ids.v), plan_id_cmp) != NULL;
}

static enum refuse_code
plan_check_offer(const struct plan_options *o, const struct accel_table *accels, const struct plan_series *ps,
    const struct offer *x)
{
	if (x->accelerator_count < 1 || plan_speed(o, accels, ps, x) <= 0)
		return REFUSE_ACCELERATOR;
	if (!glob_match_any(o->regions, o->n_regions, x->region))
		return REFUSE_RESIDENCY;
	if (!glob_match_any(o->providers, o->n_providers, x->provider))
		return REFUSE_PROVIDER;
	if (!usd_known(offer_effective_hour(x)) || offer_effective_hour(x).v < 0 || !str_eq(x->currency, "USD"))
		return REFUSE_PRICE_UNKNOWN;
	if (o->need_account && !ps->list_prices && x->account[0] == '\0')
		return REFUSE_NO_ACCOUNT;
	if (x->purchase == PURCHASE_SPOT && (o->no_spot || o->spot_share <= 0))
		return REFUSE_PURCHASE;
	if (plan_sold_out(o, x))
		return REFUSE_UNAVAILABLE;
	return plan_price_stale(o, x) ? REFUSE_PRICE_STALE : REFUSE_NOT;
}

/* USD of a machine-hour whether it is used or not, with the upfront payment spread over the term: not rounded. */
static double
plan_hour(const struct offer *o)
{
	double term = offer_term_hours(o);

	return usd_to_double(o->price) + (term > 0 && usd_known(o->upfront) ? usd_to_double(o->upfront) / term : 0);
}

/* USD of an hour of use besides. */
static double
plan_use_hour(const struct offer *o)
{
	return o->purchase == PURCHASE_RESERVED && usd_known(o->usage) ? usd_to_double(o->usage) : 0;
}

/* USD for the work that one GPU of the series' accelerator does in an hour. */
double
plan_gpu_hour(const struct offer *o, double speed)
{
	return (plan_hour(o) + plan_use_hour(o)) / (o->accelerator_count * speed);
}

static const char *
plan_name(const struct offer *o, struct arena *a)
{
	const char *term = o->purchase == PURCHASE_RESERVED && o->term_months > 0 ?
	    arena_printf(a, " %d month%s, %s upfront", o->term_months, o->term_months == 1 ? "" : "s", o->payment == PAYMENT_ALL ? "all" :
	    o->payment == PAYMENT_PARTIAL ? "part" : "nothing") : "";

	return arena_printf(a, "%s%s%s%s%s %s%s%s", o->provider, o->region[0] != '\0' ? " " : "", o->region,
	    o->instance_type[0] != '\0' ? " " : "", o->instance_type, purchase_name(o->purchase), term,
	    plan_use_hour(o) > 0 ? ", use besides" : "");
}

struct plan_lines {
	struct arena *a;
	VEC(struct commit_line) line;
	VEC(const struct offer *) offer;
	VEC(const char *) name;
	VEC(double) carries;
};

static void
plan_add_line(struct plan_lines *l, struct commit_line line, double carries, const struct offer *o, const char *note)
{
	VEC_PUSH(l->a, &l->carries, carries);
	line.ref = l->line.n;
	VEC_PUSH(l->a, &l->line, line);
	VEC_PUSH(l->a, &l->offer, o);
	VEC_PUSH(l->a, &l->name, arena_printf(l->a, "%s%s", plan_name(o, l->a), note));
}

/* GPUs that the quotas leave of this offer; COMMIT_NO_LIMIT: none counts it. */
static int64_t
plan_quota(const struct plan_options *o, const struct offer *x)
{
	int64_t least = COMMIT_NO_LIMIT;

	for (size_t q = 0; q < o->n_limits; q++) {
		int64_t weight = placing_quota_weight(&o->limits[q], x);
		int64_t machines = weight > 0 ? o->limits[q].limit / weight : COMMIT_NO_LIMIT;

		least = machines < least ? machines : least;
	}
	return least;
}

/* USD of a GPU-hour that nothing serves; INFINITY: nothing is on demand. */
static double
plan_unserved(const struct plan_series *ps)
{
	double on_demand = 0;

	for (size_t i = 0; i < ps->n_market; i++)
		if (ps->market[i]->purchase == PURCHASE_ON_DEMAND)
			on_demand = fmax(on_demand, plan_gpu_hour(ps->market[i], ps->speed[i]));
	return on_demand > 0 ? PLAN_UNSERVED * on_demand : INFINITY;
}

/* Owned commitments that hold for at least half of the horizon: their money is sunk. */
static void
plan_owned(const struct commitment *c, size_t n, const struct plan_options *o, const struct accel_table *accels,
    struct plan_series *ps, struct plan_lines *l)
{
	int64_t from = ps->forecast.t0, to = from + (int64_t)ps->forecast.horizon * ps->forecast.step_s;

	ps->owned = arena_array(l->a, n + 1, sizeof(*ps->owned));
	ps->owned_name = arena_array(l->a, n + 1, sizeof(*ps->owned_name));
	ps->owned_count = arena_array(l->a, n + 1, sizeof(*ps->owned_count));
	ps->owned_offer = arena_array(l->a, n + 1, sizeof(*ps->owned_offer));
	for (size_t i = 0; i < n; i++) {
		const struct offer *x = &c[i].offer;
		int64_t lo = c[i].from > from ? c[i].from : from, hi = c[i].to < to ? c[i].to : to;

		double speed = plan_speed(o, accels, ps, x), carries = plan_carries(o, speed, x);
		struct commit_line line = { .kind = COMMIT_OWNED, .min_count = c[i].count, .max_count = c[i].count };

		if (x->accelerator_count < 1 || hi <= lo || carries <= 0)
			continue;
		line.gpus = plan_units(carries, &line.speed);
		line.usage = fmin(plan_use_hour(x) / carries, PLAN_OWNED_USE * plan_unserved(ps));
		ps->owned_name[ps->n_owned] = plan_name(x, l->a);
		ps->owned_offer[ps->n_owned] = x;
		ps->owned_count[ps->n_owned] = c[i].count;
		ps->owned[ps->n_owned++] = (struct schedule_owned){ (lo - from) / ps->forecast.step_s,
			hi == to ? INT64_MAX : (hi - from) / ps->forecast.step_s, (int64_t)fmax(1, floor((double)c[i].count * carries + 1e-9)), 0, NULL };
		if ((hi - lo) * 2 < to - from)
			continue;
		plan_add_line(l, line, carries, x, ", owned");
	}
}

/* Said of an offer that is not as fast, GPU for GPU, as the series' own accelerator is rated. */
static const char *
plan_note(const struct plan_series *ps, size_t i, struct arena *a)
{
	return fabs(ps->speed[i] - 1) < 0.005 ? "" : arena_printf(a, ", each %.2f %s", ps->speed[i], ps->accel->name);
}

const char *
plan_market_name(const struct plan_series *ps, size_t i, struct arena *a)
{
	return arena_printf(a, "%s%s", plan_name(ps->market[i], a), plan_note(ps, i, a));
}

/* Which share counts this offer: its number from 1; 0: none. */
static size_t
plan_group(const struct plan_options *o, const struct offer *x)
{
	for (size_t k = 0; k < o->n_shares; k++)
		if (glob_match(o->shares[k].provider, x->provider))
			return k + 1;
	return 0;
}

static void
plan_shares(const struct plan_options *o, struct plan_series *ps, struct arena *a)
{
	struct commit_share *share = arena_array(a, o->n_shares, sizeof(*share));
	size_t *group = arena_array(a, ps->n_lines, sizeof(*group));

	for (size_t k = 0; k < o->n_shares; k++)
		share[k] = (struct commit_share){ k + 1, o->shares[k].min, o->shares[k].max };
	for (size_t i = 0; i < ps->n_lines; i++)
		group[i] = plan_group(o, ps->offers[i]);
	for (size_t i = 0; i < ps->n_owned; i++)
		ps->owned[i].group = plan_group(o, ps->owned_offer[i]);
	ps->shares = (struct commit_shares){ .share = share, .n = o->n_shares, .group = group };
}

/* Whatever x does, does the line as well: it is no dearer, and takes no more of a quota for a GPU. */
static bool
plan_covers(const struct plan_options *o, const struct plan_lines *l, size_t i, const struct offer *x, double carries)
{
	double times = carries / l->carries.v[i];

	for (size_t q = 0; q < o->n_limits; q++)
		if ((double)placing_quota_weight(&o->limits[q], l->offer.v[i]) * times >
		    (double)placing_quota_weight(&o->limits[q], x) * (1 + 1e-12))
			return false;
	if (l->line.v[i].kind == COMMIT_ON_DEMAND && o->on_demand_gpus > 0 &&
	    l->offer.v[i]->accelerator_count * times > x->accelerator_count * (1 + 1e-12))
		return false;
	return fabs(times - rint(times)) < 1e-9;
}

/*
 * Reserved offers, cheapest per GPU first (offers are sorted): one that is no cheaper, used or not, whose machines are whole numbers of a
 * cheaper one's and take no less of any quota, is never taken, among those whose share is limited together.
 */
static void
plan_reserved(const struct plan_series *ps, const struct plan_options *o, struct plan_lines *l)
{
	const struct offer *const *x = ps->market;
	double unserved = plan_unserved(ps);

	for (size_t i = 0; i < ps->n_market; i++) {
		double carries = plan_carries(o, ps->speed[i], x[i]), fixed = plan_hour(x[i]) / carries, use = plan_use_hour(x[i]) / carries;
		struct commit_line line = { .kind = COMMIT_RESERVED, .fixed = fixed, .usage = use, .max_count = plan_quota(o, x[i]) };
		bool covered = false;

		if (x[i]->purchase != PURCHASE_RESERVED || carries <= 0 || use >= unserved)
			continue;
		for (size_t k = 0; k < l->line.n && !covered; k++)
			covered = l->line.v[k].kind == COMMIT_RESERVED && l->line.v[k].fixed <= fixed * (1 + 1e-12) &&
			    l->line.v[k].usage <= use * (1 + 1e-12) &&
			    plan_group(o, l->offer.v[k]) == plan_group(o, x[i]) && plan_covers(o, l, k, x[i], carries) &&
			    (o->starts_s == 0 || offer_term_hours(l->offer.v[k]) <= offer_term_hours(x[i]));
		if (covered)
			continue;
		line.gpus = plan_units(carries, &line.speed);
		plan_add_line(l, line, carries, x[i], plan_note(ps, i, l->a));
	}
}

static double
plan_spot_useful(const struct offer *o)
{
	double hazard = isnan(o->interruption_rate) ? COST_HAZARD_DEFAULT : o->interruption_rate;

	if (!(hazard > 0))
		return 1;
	return cost_useful_share(cost_checkpoint_s(PLAN_CHECKPOINT_S, hazard), PLAN_CHECKPOINT_S, PLAN_RESTART_S, hazard);
}

/* GPUs of the series' own accelerator that the quotas leave of an offer. */
static int64_t
plan_quota_gpus(const struct plan_options *o, const struct offer *x, double carries)
{
	int64_t machines = plan_quota(o, x);
	double gpus = machines == COMMIT_NO_LIMIT ? INFINITY : (double)machines * carries;

	if (x->purchase == PURCHASE_ON_DEMAND && o->on_demand_gpus > 0)
		gpus = fmin(gpus, (double)o->on_demand_gpus * carries / x->accelerator_count);
	return isinf(gpus) ? COMMIT_NO_LIMIT : (int64_t)floor(gpus + 1e-9);
}

/* On demand, the cheapest first, until one has no quota: further ones take up what the quotas of the cheaper leave. */
static void
plan_on_demand(const struct plan_series *ps, const struct plan_options *o, struct plan_lines *l)
{
	const struct offer *const *x = ps->market;
	int64_t quota = 0;
	size_t n = 0;

	for (size_t i = 0; i < ps->n_market && quota != COMMIT_NO_LIMIT && n < PLAN_ON_DEMAND_MAX; i++) {
		double carries = ps->speed[i] * x[i]->accelerator_count;
		bool covered = false;

		if (x[i]->purchase != PURCHASE_ON_DEMAND)
			continue;
		for (size_t k = 0; k < l->line.n && !covered; k++)
			covered = l->line.v[k].kind == COMMIT_ON_DEMAND && plan_covers(o, l, k, x[i], carries);
		quota = plan_quota_gpus(o, x[i], carries);
		if (covered || (quota == 0 && n > 0))
			continue;
		plan_add_line(l, (struct commit_line){ .kind = COMMIT_ON_DEMAND, .usage = plan_gpu_hour(x[i], ps->speed[i]), .gpus = 1,
			.max_count = quota }, carries, x[i], plan_note(ps, i, l->a));
		n++;
	}
}

/* No use of spot at a price from which on demand is never dearer: that of the first that has no limit, else of what nothing serves. */
static double
plan_spot_most(const struct plan_series *ps, const struct plan_options *o)
{
	double dearest = 0;

	for (size_t i = 0; i < ps->n_market; i++) {
		const struct offer *x = ps->market[i];

		if (x->purchase != PURCHASE_ON_DEMAND)
			continue;
		dearest = plan_gpu_hour(x, ps->speed[i]);
		if (plan_quota_gpus(o, x, ps->speed[i] * x->accelerator_count) == COMMIT_NO_LIMIT)
			return dearest;
	}
	return PLAN_UNSERVED * dearest;
}

static bool
plan_counted(const struct plan_options *o, const struct offer *x)
{
	for (size_t q = 0; q < o->n_limits; q++)
		if (placing_quota_weight(&o->limits[q], x) > 0)
			return true;
	return false;
}

/*
 * Spot, cheapest useful hour first, until one that no quota counts: all together carry ps->spot_gpus, so that further ones only
 * take up what the quotas of the cheaper leave. od: USD of a GPU-hour on demand, which serves when spot cannot be had.
 */
static void
plan_spot(const struct plan_series *ps, const struct plan_options *o, double od, struct plan_lines *l)
{
	const struct offer *const *x = ps->market;
	bool *used = arena_array(l->a, ps->n_market + 1, sizeof(*used)), more = ps->spot_gpus > 0;
	double most = plan_spot_most(ps, o);

	for (size_t n = 0; more && n < PLAN_SPOT_MAX;) {
		size_t spot = ps->n_market;
		double least = most;
		int64_t quota;

		for (size_t i = 0; i < ps->n_market; i++) {
			double usage;

			if (x[i]->purchase != PURCHASE_SPOT || used[i])
				continue;
			usage = commit_spot_usage(plan_gpu_hour(x[i], ps->speed[i]), plan_spot_useful(x[i]), PLAN_OBTAIN, od);
			if (usage < least) {
				least = usage;
				spot = i;
			}
		}
		if (spot == ps->n_market)
			return;
		used[spot] = true;
		quota = plan_quota_gpus(o, x[spot], ps->speed[spot] * x[spot]->accelerator_count);
		if (quota < 1)
			continue;
		n++;
		more = plan_counted(o, x[spot]);
		plan_add_line(l, (struct commit_line){ .kind = COMMIT_SPOT, .usage = least, .gpus = 1,
			.max_count = quota < ps->spot_gpus ? quota : ps->spot_gpus }, ps->speed[spot] * x[spot]->accelerator_count, x[spot],
			plan_note(ps, spot, l->a));
	}
}

static void
plan_rest(const struct plan_series *ps, const struct plan_options *o, struct plan_lines *l)
{
	for (size_t i = 0; i < ps->n_market; i++)
		if (ps->market[i]->purchase == PURCHASE_ON_DEMAND) {
			plan_spot(ps, o, plan_gpu_hour(ps->market[i], ps->speed[i]), l);
			break;
		}
	plan_on_demand(ps, o, l);
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

/* The market by what an hour of the series' own accelerator costs there. */
static void
plan_rank(const struct plan_options *o, const struct accel_table *accels, struct plan_series *ps, struct arena *a)
{
	struct plan_ranked *r = arena_array(a, ps->n_market, sizeof(*r));

	ps->speed = arena_array(a, ps->n_market, sizeof(*ps->speed));
	for (size_t i = 0; i < ps->n_market; i++) {
		double speed = plan_speed(o, accels, ps, ps->market[i]);

		r[i] = (struct plan_ranked){ ps->market[i], speed, plan_gpu_hour(ps->market[i], speed) };
	}
	qsort(r, ps->n_market, sizeof(*r), plan_cmp_ranked);
	for (size_t i = 0; i < ps->n_market; i++) {
		ps->market[i] = r[i].o;
		ps->speed[i] = r[i].speed;
	}
}

static void
plan_lines_of(const struct commitment *owned, size_t n_owned, const struct accel_table *accels, const struct plan_options *o, struct plan_series *ps, struct arena *a)
{
	struct plan_lines l = { .a = a };
	double most = 0, unserved = plan_unserved(ps);

	plan_owned(owned, n_owned, o, accels, ps, &l);
	plan_reserved(ps, o, &l);
	ps->spot_gpus = (int64_t)floor(o->spot_share * ps->forecast.peak[FC_PEAK50]);
	plan_rest(ps, o, &l);
	ps->lines = l.line.v;
	ps->offers = l.offer.v;
	ps->names = l.name.v;
	ps->carries = l.carries.v;
	ps->n_lines = l.line.n;
	for (size_t i = 0; i < l.line.n; i++) {
		int64_t as_of = l.offer.v[i]->as_of;

		most = fmax(most, l.line.v[i].fixed + l.line.v[i].usage);
		if (as_of > 0 && (ps->price_oldest == 0 || as_of < ps->price_oldest))
			ps->price_oldest = as_of;
	}
	ps->problem = (struct commit_problem){ &ps->curve, ps->lines, ps->n_lines, isinf(unserved) ? PLAN_UNSERVED * fmax(most, 1e-6) : unserved, ps->peak,
		NAN, 0 };
}

void
plan_without(const struct plan_series *ps, const struct offer *drop, const struct plan_options *o, struct arena *a,
    struct plan_series *out)
{
	const struct offer **market = arena_array(a, ps->n_market + 1, sizeof(*market));
	double *speed = arena_array(a, ps->n_market + 1, sizeof(*speed));
	struct plan_lines l = { .a = a };

	*out = *ps;
	out->n_market = 0;
	for (size_t i = 0; i < ps->n_market; i++)
		if (ps->market[i] != drop) {
			market[out->n_market] = ps->market[i];
			speed[out->n_market++] = ps->speed[i];
		}
	out->market = market;
	out->speed = speed;
	for (int rest = 0; rest < 2; rest++) {
		for (size_t i = 0; i < ps->n_lines; i++)
			if (rest ? ps->lines[i].kind > COMMIT_RESERVED : ps->lines[i].kind < COMMIT_RESERVED) {
				VEC_PUSH(a, &l.line, ps->lines[i]);
				l.line.v[l.line.n - 1].ref = l.line.n - 1;
				VEC_PUSH(a, &l.offer, ps->offers[i]);
				VEC_PUSH(a, &l.name, ps->names[i]);
				VEC_PUSH(a, &l.carries, ps->carries[i]);
			}
		if (!rest)
			plan_reserved(out, o, &l);
	}
	out->lines = l.line.v;
	out->offers = l.offer.v;
	out->names = l.name.v;
	out->carries = l.carries.v;
	out->n_lines = l.line.n;
	plan_shares(o, out, a);
	plan_quotas(out, 1, o, a);
	out->alone = out->shares;
	out->problem.lines = out->lines;
	out->problem.n_lines = out->n_lines;
}

static size_t
plan_filter(const struct accel_table *accels, const struct offer *offers, size_t n_offers, const struct plan_options *o,
    struct arena *a, struct plan_series *ps, const struct offer **x)
{
	size_t n = 0;

	memset(ps->refused, 0, sizeof(ps->refused));
	ps->refused_term = ps->refused_use = 0;
	for (size_t i = 0; i < n_offers; i++) {
		enum refuse_code why = plan_check_offer(o, accels, ps, &offers[i]);

		if (why == REFUSE_NOT && o->starts_s > 0 && plan_use_hour(&offers[i]) > 0)
			ps->refused_use++;	/* a schedule counts what is reserved as paid, used or not */
		else if (why == REFUSE_NOT && offers[i].purchase == PURCHASE_RESERVED &&
		    offers[i].term_months > o->max_term_months)
			ps->refused_term++;
		else if (why == REFUSE_NOT)
			x[n++] = &offers[i];
		else
			ps->refused[why]++;
		if (why == REFUSE_PRICE_STALE && o->stale != NULL)
			VEC_PUSH(a, &o->stale->ids, offers[i].id);
		if (why == REFUSE_UNAVAILABLE && o->gone != NULL)
			VEC_PUSH(a, &o->gone->ids, offers[i].id);
	}
	return n;
}

enum berth_code
plan_market(const struct accel_table *accels, const struct offer *offers, size_t n_offers, const struct plan_options *o,
    struct arena *a, struct plan_series *ps, struct berth_err *err)
{
	ps->market = arena_array(a, n_offers, sizeof(*ps->market));
	ps->n_market = plan_filter(accels, offers, n_offers, o, a, ps, ps->market);
	if (ps->n_market == 0 && ps->refused[REFUSE_NO_ACCOUNT] > 0) {
		ps->list_prices = true;
		ps->n_market = plan_filter(accels, offers, n_offers, o, a, ps, ps->market);
	}
	if (ps->n_market == 0)
		return err_set(err, BERTH_EINFEASIBLE, "series %s: none of %zu offers serves %s%s%s; run `berth prices refresh` or "
		    "`berth prices import`, or see `berth prices list --gpu %s`", ps->series.name, n_offers, ps->accel->name,
		    n_offers > 0 ? ": " : "", n_offers > 0 ? explain_refusals(ps->refused, a) : "", ps->accel->name);
	plan_rank(o, accels, ps, a);
	return BERTH_OK;
}

enum berth_code
plan_build(const struct accel_table *accels, const struct commitment *owned, size_t n_owned, const struct plan_options *o,
    struct arena *a, struct plan_series *ps, struct berth_err *err)
{
	enum berth_code rc;

	plan_paths(ps, a);
	rc = commit_curve_build(&ps->demand, a, &ps->curve, ps->uncut ? NULL : &ps->cut_paths, err);
	if (rc == BERTH_OK)
		rc = commit_peak(&ps->peaks, o->service_level, a, &ps->peak, &ps->peak_enough, err);
	if (rc != BERTH_OK)
		return err_ctx(err, "series %s", ps->series.name);
	plan_lines_of(owned, n_owned, accels, o, ps, a);
	plan_shares(o, ps, a);
	plan_quotas(ps, 1, o, a);
	plan_quota_runway(ps, 1, o, a);
	return BERTH_OK;
}
