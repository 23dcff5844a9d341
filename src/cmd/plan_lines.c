#include "config.h"

#include <math.h>
#include <string.h>

#include "broker/placing_facts.h"
#include "cmd/plan_lines.h"
#include "util/arena.h"
#include "util/glob.h"
#include "util/vec.h"

#define PLAN_UNSERVED 10.0      /* demand that nothing serves, in on-demand prices */
#define PLAN_OBTAIN 0.8         /* share of time in which spot can be had where nobody knows */
#define PLAN_CHECKPOINT_S 120.0 /* to write one, for the useful share of spot */
#define PLAN_RESTART_S 600.0
#define PLAN_ON_DEMAND_MAX 12
#define PLAN_SPOT_MAX 12

double
plan_carries(const struct plan_options *o, double speed, const struct offer *x)
{
	double gpus = speed * x->accelerator_count;

	return o->starts_s > 0 ? floor(gpus + 1e-9) : gpus;
}

int64_t
plan_units(double carries, double *speed_out)
{
	int64_t units = (int64_t)fmax(1, rint(carries));

	*speed_out = fabs(carries - (double)units) < 1e-9 ? 0 : carries / (double)units;
	return units;
}

/* USD of a machine-hour whether it is used or not, with the upfront payment spread over the term:
 * not rounded. */
static double
plan_hour(const struct offer *o)
{
	double term = offer_term_hours(o);

	return usd_to_double(o->price) +
	       (term > 0 && usd_known(o->upfront) ? usd_to_double(o->upfront) / term : 0);
}

/* USD of an hour of use besides. */
double
plan_use_hour(const struct offer *o)
{
	return o->purchase == PURCHASE_RESERVED && usd_known(o->usage) ? usd_to_double(o->usage)
								       : 0;
}

double
plan_gpu_hour(const struct offer *o, double speed)
{
	return (plan_hour(o) + plan_use_hour(o)) / (o->accelerator_count * speed);
}

const char *
plan_name(const struct offer *o, struct arena *a)
{
	const char *term = o->purchase == PURCHASE_RESERVED && o->term_months > 0
			       ? arena_printf(a, " %d month%s, %s upfront", o->term_months,
				     o->term_months == 1 ? "" : "s",
				     o->payment == PAYMENT_ALL       ? "all"
				     : o->payment == PAYMENT_PARTIAL ? "part"
								     : "nothing")
			       : "";

	return arena_printf(a, "%s%s%s%s%s %s%s%s", o->provider, o->region[0] != '\0' ? " " : "",
	    o->region, o->instance_type[0] != '\0' ? " " : "", o->instance_type,
	    purchase_name(o->purchase), term, plan_use_hour(o) > 0 ? ", use besides" : "");
}

void
plan_add_line(struct plan_lines *l, struct commit_line line, double carries, const struct offer *o,
    const char *note)
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

double
plan_unserved(const struct plan_series *ps)
{
	double on_demand = 0;

	for (size_t i = 0; i < ps->n_market; i++)
		if (ps->market[i]->purchase == PURCHASE_ON_DEMAND)
			on_demand = fmax(on_demand, plan_gpu_hour(ps->market[i], ps->speed[i]));
	return on_demand > 0 ? PLAN_UNSERVED * on_demand : INFINITY;
}

const char *
plan_note(const struct plan_series *ps, double speed, struct arena *a)
{
	return fabs(speed - 1) < PLAN_AS_FAST
		   ? ""
		   : arena_printf(a, ", each %.2f %s", speed, ps->counted_in->name);
}

const char *
plan_market_name(const struct plan_series *ps, size_t i, struct arena *a)
{
	return arena_printf(a, "%s%s", plan_name(ps->market[i], a), plan_note(ps, ps->speed[i], a));
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

void
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

/* Whatever x does, does the line as well: it is no dearer, and takes no more of a quota for a GPU.
 */
static bool
plan_covers(const struct plan_options *o, const struct plan_lines *l, size_t i,
    const struct offer *x, double carries)
{
	double times = carries / l->carries.v[i];

	for (size_t q = 0; q < o->n_limits; q++)
		if ((double)placing_quota_weight(&o->limits[q], l->offer.v[i]) * times >
		    (double)placing_quota_weight(&o->limits[q], x) * (1 + 1e-12))
			return false;
	if (l->line.v[i].kind == COMMIT_ON_DEMAND && o->on_demand_gpus >= 0 &&
	    l->offer.v[i]->accelerator_count * times > x->accelerator_count * (1 + 1e-12))
		return false;
	return fabs(times - rint(times)) < 1e-9;
}

/*
 * Reserved offers, cheapest per GPU first (offers are sorted): one that is no cheaper, used or not,
 * whose machines are whole numbers of a cheaper one's and take no less of any quota, is never
 * taken, among those whose share is limited together.
 */
static void
plan_reserved(const struct plan_series *ps, const struct plan_options *o, struct plan_lines *l)
{
	const struct offer *const *x = ps->market;
	double unserved = plan_unserved(ps);

	for (size_t i = 0; i < ps->n_market; i++) {
		double carries = plan_carries(o, ps->speed[i], x[i]),
		       fixed = plan_hour(x[i]) / carries;
		double use = plan_use_hour(x[i]) / carries;
		struct commit_line line = { .kind = COMMIT_RESERVED,
			.fixed = fixed,
			.usage = use,
			.max_count = plan_quota(o, x[i]) };
		bool covered = false;

		if (x[i]->purchase != PURCHASE_RESERVED || carries <= 0 || use >= unserved)
			continue;
		for (size_t k = 0; k < l->line.n && !covered; k++)
			covered = l->line.v[k].kind == COMMIT_RESERVED &&
				  l->line.v[k].fixed <= fixed * (1 + 1e-12) &&
				  l->line.v[k].usage <= use * (1 + 1e-12) &&
				  plan_group(o, l->offer.v[k]) == plan_group(o, x[i]) &&
				  plan_covers(o, l, k, x[i], carries) &&
				  (o->starts_s == 0 ||
				      offer_term_hours(l->offer.v[k]) <= offer_term_hours(x[i]));
		if (covered)
			continue;
		line.gpus = plan_units(carries, &line.speed);
		plan_add_line(l, line, carries, x[i], plan_note(ps, ps->speed[i], l->a));
	}
}

static double
plan_spot_useful(const struct offer *o)
{
	double hazard = isnan(o->interruption_rate) ? COST_HAZARD_DEFAULT : o->interruption_rate;

	if (!(hazard > 0))
		return 1;
	return cost_useful_share(cost_checkpoint_s(PLAN_CHECKPOINT_S, hazard), PLAN_CHECKPOINT_S,
	    PLAN_RESTART_S, hazard);
}

/* GPUs of the series' own accelerator that the quotas leave of an offer. */
static int64_t
plan_quota_gpus(const struct plan_options *o, const struct offer *x, double carries)
{
	int64_t machines = plan_quota(o, x);
	double gpus = machines == COMMIT_NO_LIMIT ? INFINITY : (double)machines * carries;

	if (x->purchase == PURCHASE_ON_DEMAND && o->on_demand_gpus >= 0)
		gpus = fmin(gpus, (double)o->on_demand_gpus * carries / x->accelerator_count);
	return isinf(gpus) ? COMMIT_NO_LIMIT : (int64_t)floor(gpus + 1e-9);
}

/* On demand, the cheapest first, until one has no quota: further ones take up what the quotas of
 * the cheaper leave. */
static void
plan_on_demand(const struct plan_series *ps, const struct plan_options *o, struct plan_lines *l)
{
	const struct offer *const *x = ps->market;
	int64_t quota = 0;
	size_t n = 0;

	for (size_t i = 0; i < ps->n_market && quota != COMMIT_NO_LIMIT && n < PLAN_ON_DEMAND_MAX;
	     i++) {
		double carries = ps->speed[i] * x[i]->accelerator_count;
		bool covered = false;

		if (x[i]->purchase != PURCHASE_ON_DEMAND)
			continue;
		for (size_t k = 0; k < l->line.n && !covered; k++)
			covered = l->line.v[k].kind == COMMIT_ON_DEMAND &&
				  plan_covers(o, l, k, x[i], carries);
		quota = plan_quota_gpus(o, x[i], carries);
		if (covered || (quota == 0 && n > 0))
			continue;
		plan_add_line(l,
		    (struct commit_line){ .kind = COMMIT_ON_DEMAND,
			.usage = plan_gpu_hour(x[i], ps->speed[i]),
			.gpus = 1,
			.max_count = quota },
		    carries, x[i], plan_note(ps, ps->speed[i], l->a));
		n++;
	}
}

/* No use of spot at a price from which on demand is never dearer: that of the first that has no
 * limit, else of what nothing serves. */
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
 * Spot, cheapest useful hour first, until one that no quota counts: all together carry
 * ps->spot_gpus, so that further ones only take up what the quotas of the cheaper leave. od: USD of
 * a GPU-hour on demand, which serves when spot cannot be had; where none can be had on demand
 * either, what is reserved for the peak stands idle then and serves, and spot is taken at its own
 * price.
 */
static void
plan_spot(
    const struct plan_series *ps, const struct plan_options *o, double od, struct plan_lines *l)
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
			usage = commit_spot_usage(plan_gpu_hour(x[i], ps->speed[i]),
			    plan_spot_useful(x[i]), ps->no_on_demand ? 1 : PLAN_OBTAIN, od);
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
		plan_add_line(l,
		    (struct commit_line){ .kind = COMMIT_SPOT,
			.usage = least,
			.gpus = 1,
			.max_count = quota < ps->spot_gpus ? quota : ps->spot_gpus },
		    ps->speed[spot] * x[spot]->accelerator_count, x[spot],
		    plan_note(ps, ps->speed[spot], l->a));
	}
}

/* Do quotas let none at all be had on demand? */
static bool
plan_none_on_demand(const struct plan_series *ps, const struct plan_options *o)
{
	for (size_t i = 0; i < ps->n_market; i++)
		if (ps->market[i]->purchase == PURCHASE_ON_DEMAND &&
		    plan_quota_gpus(
			o, ps->market[i], ps->speed[i] * ps->market[i]->accelerator_count) > 0)
			return false;
	return true;
}

static void
plan_rest(struct plan_series *ps, const struct plan_options *o, struct plan_lines *l)
{
	ps->no_on_demand = plan_none_on_demand(ps, o);
	for (size_t i = 0; i < ps->n_market; i++)
		if (ps->market[i]->purchase == PURCHASE_ON_DEMAND) {
			plan_spot(ps, o, plan_gpu_hour(ps->market[i], ps->speed[i]), l);
			break;
		}
	plan_on_demand(ps, o, l);
}

double
plan_spot_gpus(const struct plan_series *ps, const struct plan_options *o)
{
	return o->spot_share * ps->forecast.peak[FC_PEAK50];
}

void
plan_lines_of(const struct commitment *owned, size_t n_owned, const struct accel_table *accels,
    const struct plan_options *o, struct plan_series *ps, struct arena *a)
{
	struct plan_lines l = { .a = a };
	double most = 0, unserved = plan_unserved(ps);

	plan_owned(owned, n_owned, o, accels, ps, &l);
	plan_reserved(ps, o, &l);
	ps->spot_gpus = (int64_t)floor(plan_spot_gpus(ps, o));
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
	ps->problem = (struct commit_problem){ &ps->curve, ps->lines, ps->n_lines,
		isinf(unserved) ? PLAN_UNSERVED * fmax(most, 1e-6) : unserved, ps->peak, NAN, 0 };
}

void
plan_without(const struct plan_series *ps, const struct offer *drop, const struct plan_options *o,
    struct arena *a, struct plan_series *out)
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
			if (rest ? ps->lines[i].kind > COMMIT_RESERVED
				 : ps->lines[i].kind < COMMIT_RESERVED) {
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
