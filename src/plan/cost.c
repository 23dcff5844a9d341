#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/block.h"
#include "plan/checkpoint.h"
#include "plan/cost.h"
#include "plan/latency.h"
#include "util/glob.h"
#include "util/str.h"

#define COST_RETRY_S 300.0     /* between two launch attempts */
#define COST_MEMORY_SLACK 0.97 /* 79.6 GiB are sold, and asked for, as 80 */

static const struct refuse_row {
	const char *name, *text;
} refuse_rows[REFUSE_COUNT] = {
	[REFUSE_NOT] = { "none", "may be taken" },
	[REFUSE_ACCELERATOR] = { "accelerator", "another accelerator than the job asks for" },
	[REFUSE_GANG] = { "gang", "too few accelerators on one machine for the gang" },
	[REFUSE_MEMORY] = { "memory", "the memory per accelerator does not fit" },
	[REFUSE_FABRIC] = { "fabric",
	    "accelerators linked too slowly for the gang, or nobody knows how fast" },
	[REFUSE_RESIDENCY] = { "residency", "region not among the job's" },
	[REFUSE_LATENCY] = { "latency",
	    "too far from where it must answer, or nobody knows how far" },
	[REFUSE_PROVIDER] = { "provider", "provider not among the job's" },
	[REFUSE_BLOCKED] = { "blocked", "on a block list" },
	[REFUSE_PURCHASE] = { "purchase", "purchase not allowed by the job" },
	[REFUSE_NO_ACCOUNT] = { "no_account", "no account can create it: a list price only" },
	[REFUSE_PRICE_UNKNOWN] = { "price_unknown", "no price in USD" },
	[REFUSE_PRICE_STALE] = { "price_stale", "price too old" },
	[REFUSE_MAX_PRICE] = { "max_price", "price over the job's max_price" },
	[REFUSE_SPEED_UNKNOWN] = { "speed_unknown", "no known speed for this accelerator" },
	[REFUSE_CANNOT_RESUME] = { "cannot_resume", "spot, and the job would likely be lost" },
	[REFUSE_DEADLINE] = { "deadline", "would end after the deadline" },
	[REFUSE_OVER_BUDGET] = { "over_budget", "costs more than is left" },
	[REFUSE_PROBE_FAILED] = { "probe_failed",
	    "on hold after a probe rejected one of its machines" },
	[REFUSE_UNAVAILABLE] = { "unavailable", "the provider says that it has none" },
	[REFUSE_BLOCKED_UNTIL] = { "blocked_until", "on hold after a refusal" },
	[REFUSE_NO_QUOTA] = { "no_quota", "over a quota by itself" },
	[REFUSE_NO_CAPACITY] = { "no_capacity", "other jobs take what is left" },
	[REFUSE_SPOT_LATE] = { "spot_late", "spot, and a loss of it could break the deadline" },
	[REFUSE_SPOT_VAIN] = { "spot_vain",
	    "spot that was lost too often, and has not been up for long" },
	[REFUSE_WAIT_SPOT] = { "wait_spot",
	    "on demand, while waiting for spot is cheaper and safe" },
	[REFUSE_RESERVED] = { "reserved", "a place is kept there for a job that goes before" },
	[REFUSE_LATER] = { "later", "may be taken, but ends after all others can be done" },
	[REFUSE_DEARER] = { "dearer", "may be taken, but costs more" },
};

const char *
refuse_name(enum refuse_code c)
{
	return c < REFUSE_COUNT ? refuse_rows[c].name : "unknown";
}

const char *
refuse_text(enum refuse_code c)
{
	return c < REFUSE_COUNT ? refuse_rows[c].text : "unknown";
}

bool
refuse_parse(const char *s, enum refuse_code *c_out)
{
	for (size_t i = 0; i < REFUSE_COUNT; i++)
		if (strcmp(s, refuse_rows[i].name) == 0) {
			*c_out = (enum refuse_code)i;
			return true;
		}
	return false;
}

double
cost_checkpoint_s(double write_s, double hazard_per_hour)
{
	double lambda = hazard_per_hour / 3600, a = lambda * write_s, y = fmin(0.9, sqrt(2 * a));

	if (!(hazard_per_hour > 0))
		return INFINITY;
	/* y = lambda tau solves 1 - y = exp(-y - a); W0 near its branch point would lose half the
	 * digits. */
	for (int k = 0; k < 100 && a > 0; k++) {
		double step = (-expm1(-y - a) - y) / (exp(-y - a) - 1);

		y = fmin(1, fmax(y / 8, y - step));
		if (fabs(step) < 1e-15 * y)
			break;
	}
	return fmax(1, y / lambda);
}

double
cost_useful_share(double interval_s, double write_s, double restart_s, double hazard_per_hour)
{
	double lambda = hazard_per_hour / 3600;

	if (!(hazard_per_hour > 0))
		return 1;
	return interval_s / ((1 / lambda + restart_s) * expm1(lambda * (interval_s + write_s)));
}

/* Expected billed hours of run hours of work at a hazard an hour; times in hours. */
static double
cost_interrupted(double run, double segment, double write, double restart, double hazard)
{
	double full = floor(run / segment * (1 - 1e-12)), last = run - full * segment;

	return (1 / hazard + restart) *
	       (full * expm1(hazard * (segment + write)) + expm1(hazard * last));
}

/* Rules on what the offer is. */
static enum refuse_code
cost_check_machine(
    const struct cost_job *j, size_t v, const struct offer *o, const struct cost_facts *f)
{
	const struct job_variant *var = &j->job->spec.variants[v];
	double memory = o->accelerator_memory_gib;

	if (isnan(memory) && f->accel != NULL)
		memory = f->accel->memory_gib;
	if (!accel_is(f->accel, j->want[v]))
		return REFUSE_ACCELERATOR;
	if (o->accelerator_count < var->count_min || o->accelerator_count < 1)
		return REFUSE_GANG;
	if (var->memory_gib > 0 && !(memory >= var->memory_gib * COST_MEMORY_SLACK))
		return REFUSE_MEMORY;
	if (var->memory_max_gib > 0 && !(memory <= var->memory_max_gib / COST_MEMORY_SLACK))
		return REFUSE_MEMORY;
	/* A gang of one has nobody to talk to. */
	if (j->job->spec.link_gb_s > 0 && var->count_min > 1 &&
	    !(f->accel != NULL && f->accel->link_gb_s >= j->job->spec.link_gb_s))
		return REFUSE_FABRIC;
	return REFUSE_NOT;
}

static bool
cost_near(const struct job_spec *s, const struct offer *o)
{
	char place[256];

	if (s->latency_to == NULL || s->latency_to[0] == '\0')
		return true;
	if ((size_t)snprintf(place, sizeof(place), "%s/%s", o->provider, o->region) >=
	    sizeof(place))
		return false;
	return latency_ms(place, s->latency_to) <= s->latency_max_ms ||
	       (str_ieq(o->region, s->latency_to) && !latency_known(s->latency_to));
}

bool
cost_price_stale(const struct offer *o, const struct cost_ages *ages, int64_t now)
{
	int64_t list_s = ages->list_s > 0 ? ages->list_s : COST_LIST_AGE_S,
		spot_s = ages->spot_s > 0 ? ages->spot_s : COST_SPOT_AGE_S;

	return o->as_of > 0 && now - o->as_of > (o->purchase == PURCHASE_SPOT ? spot_s : list_s);
}

/* A reservation is bought by a plan, never by a job; a machine of one that is owned is launched on
 * demand and paid: who may have either of the two may have it. */
static bool
cost_purchase_ok(const struct job_spec *s, const struct offer *o, const struct cost_facts *f)
{
	if (f->paid)
		return s->purchase_ok[PURCHASE_RESERVED] || s->purchase_ok[PURCHASE_ON_DEMAND];
	return o->purchase != PURCHASE_RESERVED && s->purchase_ok[o->purchase];
}

/* Rules on where it is and what it asks. */
static enum refuse_code
cost_check_terms(const struct job_spec *s, const struct offer *o, const struct cost_facts *f,
    const struct cost_limits *lim)
{
	if (!offer_region_hits_any(s->regions, s->n_regions, o))
		return REFUSE_RESIDENCY;
	if (!cost_near(s, o))
		return REFUSE_LATENCY;
	if (!glob_match_any(s->providers, s->n_providers, o->provider))
		return REFUSE_PROVIDER;
	if (block_rules_hit(lim->block, lim->n_block, o) != NULL ||
	    block_rules_hit(s->block, s->n_block, o) != NULL)
		return REFUSE_BLOCKED;
	if (!cost_purchase_ok(s, o, f))
		return REFUSE_PURCHASE;
	if (lim->need_account && o->account[0] == '\0')
		return REFUSE_NO_ACCOUNT;
	if (!usd_known(o->price) || o->price.v < 0 || strcmp(o->currency, "USD") != 0)
		return REFUSE_PRICE_UNKNOWN;
	if (cost_price_stale(o, &lim->ages, lim->now))
		return REFUSE_PRICE_STALE;
	if (usd_known(s->max_price) &&
	    (f->paid ? f->paid_usage > usd_to_double(s->max_price) : o->price.v > s->max_price.v))
		return REFUSE_MAX_PRICE;
	return REFUSE_NOT;
}

/*
 * Speed of one accelerator and work in accelerator-hours at speed 1, as the variant, the job or the
 * table say; NaN: unknown.
 */
static double
cost_speed(const struct cost_job *j, size_t v, const struct accel *accel, double *work_out)
{
	const struct job_spec *s = &j->job->spec;
	const struct job_variant *var = &s->variants[v], *ref = &s->variants[0];

	*work_out = s->work_hours * ref->count_min * (ref->nodes > 1 ? ref->nodes : 1);
	if (!isnan(var->work_hours)) {
		*work_out = var->work_hours * var->count_min * (var->nodes > 1 ? var->nodes : 1);
		return accel_work_ratio(accel, j->want[v], j->precision);
	}
	if (!isnan(var->speed))
		return var->speed;
	return accel_work_ratio(accel, j->want[0], j->precision);
}

/* Accelerators of the gang that the machine's count lets it use. */
static double
cost_used(const struct job_variant *var, const struct offer *o)
{
	int most = var->count_max >= var->count_min ? var->count_max : var->count_min;
	int used = o->accelerator_count < most ? o->accelerator_count : most;

	return (double)used * (var->nodes > 1 ? var->nodes : 1);
}

/* Hours of the work that is left on this machine without interruptions; NaN: no speed is known. */
static double
cost_run_hours(
    const struct cost_job *j, size_t v, const struct offer *o, const struct cost_facts *f)
{
	double work, speed = cost_speed(j, v, f->accel, &work);

	if (!isnan(o->measured) && o->measured > 0)
		speed *= o->measured;
	return work * (1 - j->job->progress) / (speed * cost_used(&j->job->spec.variants[v], o));
}

void
cost_fit(const struct cost_job *j, const struct offer *o, const struct accel *accel,
    size_t *variant_out, double *speed_out, double *hours_out)
{
	struct cost_facts f = { .accel = accel };

	*variant_out = SIZE_MAX;
	*speed_out = *hours_out = NAN;
	for (size_t v = 0; v < j->job->spec.n_variants; v++) {
		double work, speed = cost_speed(j, v, accel, &work), hours;

		if (cost_check_machine(j, v, o, &f) != REFUSE_NOT)
			continue;
		hours = work / (speed * cost_used(&j->job->spec.variants[v], o));
		if (*variant_out != SIZE_MAX && !(hours < *hours_out))
			continue;
		*variant_out = v;
		*speed_out = speed;
		*hours_out = hours;
	}
}

static double
cost_or(double x, double otherwise)
{
	return isnan(x) ? otherwise : x;
}

/* Seconds, none added for what the rounding of hours leaves over. */
static int64_t
cost_whole_s(double s)
{
	return (int64_t)ceil(s - 1e-6);
}

/* Seconds of work between two writes, as the job says or is told; 0: it writes none. */
static double
cost_segment_s(const struct job_spec *s, double hazard)
{
	if (!s->can_resume)
		return 0;
	return s->checkpoint_interval_s > 0
		   ? (double)s->checkpoint_interval_s
		   : fmin(checkpoint_most_s((double)s->checkpoint_write_s),
			 cost_checkpoint_s((double)s->checkpoint_write_s, hazard));
}

/* Billed hours, wait and survival of a run; false: it would likely be lost, or never end. */
static bool
cost_times(const struct job_spec *s, const struct offer *o, const struct cost_facts *f,
    struct cost_estimate *e)
{
	double start = cost_or(f->start_s, COST_START_S),
	       write = (double)s->checkpoint_write_s / 3600, hazard = 0, billed, tries, wait;
	double segment;

	if (o->purchase == PURCHASE_SPOT)
		hazard = e->machines * cost_or(f->hazard_per_hour,
					   cost_or(o->interruption_rate, COST_HAZARD_DEFAULT));
	e->survival = exp(-hazard * e->run_hours);
	e->interval_hours = segment = cost_segment_s(s, hazard) / 3600;
	e->busy_hours = billed =
	    e->run_hours + (segment > 0 ? floor(e->run_hours / segment * (1 - 1e-12)) * write : 0);
	if (hazard > 0) {
		segment = s->can_resume ? fmin(segment, e->run_hours) : e->run_hours;
		if (!s->can_resume && e->survival < 0.5)
			return false;
		billed = e->run_hours > 0 ? cost_interrupted(e->run_hours, segment, write,
						((double)s->restart_s + start) / 3600, hazard)
					  : 0;
	}
	if (!isfinite(billed))
		return false;
	tries = (f->won + f->lost + 1) / (f->won + 1);
	wait = (tries - 1) * COST_RETRY_S + hazard * billed * cost_or(f->recover_s, 0);
	e->expected_hours = billed + start / 3600;
	e->start = (int64_t)((tries - 1) * COST_RETRY_S + start);
	e->finish = cost_whole_s(e->expected_hours * 3600 + wait);
	e->risk = 1 - e->survival / tries;
	return true;
}

/* Money is counted in micro-USD: less than that passes no cap. */
static bool
cost_passes(double usd, double cap)
{
	return usd > cap * (1 + 1e-12) && usd > cap + 4e-7;
}

bool
cost_over_budget(const struct job *j, double budget_usd, const struct cost_estimate *e)
{
	if (e->total_usd <= 0) /* what adds nothing to the bill passes no cap */
		return false;
	if (usd_known(j->spec.max_cost) && usd_known(j->cost) &&
	    cost_passes(usd_to_double(j->cost) + e->total_usd + e->idle_usd,
		usd_to_double(j->spec.max_cost)))
		return true;
	return !isnan(budget_usd) && cost_passes(e->total_usd, budget_usd);
}

static enum refuse_code
cost_check_now(const struct cost_facts *f, const struct cost_limits *lim)
{
	int64_t begin = lim->from > lim->now ? lim->from : lim->now;

	if (f->probe_failed && (begin == lim->now || f->blocked_until > begin))
		return REFUSE_PROBE_FAILED;
	if (f->none_until > begin && !f->paid) /* what is owned is kept for its owner */
		return REFUSE_UNAVAILABLE;
	return f->blocked_until > begin ? REFUSE_BLOCKED_UNTIL : REFUSE_NOT;
}

static double
cost_egress(const struct job_spec *s, const struct offer *o, const struct cost_facts *f)
{
	if (s->data_gib > 0 && s->data_region[0] != '\0' && !isnan(f->egress_usd_per_gib))
		return s->data_gib * f->egress_usd_per_gib;
	return cost_input_usd(s, o);
}

/* Hours that run beyond the end of the commitment. */
static double
cost_unpaid_hours(
    const struct offer *o, const struct cost_facts *f, int64_t from, const struct cost_estimate *e)
{
	double paid_h = fmax(0, (double)(o->paid_until - from) / 3600);

	return f->paid && o->paid_until > 0 ? fmax(0, e->expected_hours - paid_h) : 0;
}

double
cost_hour(
    const struct offer *o, const struct cost_facts *f, int64_t from, const struct cost_estimate *e)
{
	double price = usd_to_double(o->price);

	if (!f->paid)
		return price;
	return cost_unpaid_hours(o, f, from, e) > 0 ? fmax(price, f->paid_usage) : f->paid_usage;
}

/* What is added for them. */
static double
cost_unpaid(
    const struct offer *o, const struct cost_facts *f, int64_t from, const struct cost_estimate *e)
{
	double hours = cost_unpaid_hours(o, f, from, e);

	return hours > 0 ? hours * (usd_to_double(o->price) - f->paid_usage) : 0;
}

/* Launched by a tick, started by the first one after the machine is ready, its end seen by the
 * next: what passes beyond the time that it is expected to need, at most. */
static double
cost_idle_s(
    const struct cost_facts *f, const struct cost_limits *lim, const struct cost_estimate *e)
{
	double tick = (double)lim->tick_s, need = e->expected_hours * 3600,
	       start = cost_or(f->start_s, COST_START_S);

	if (tick <= 0)
		return 0;
	return (floor((ceil(start / tick) * tick + need - start) / tick + 1e-9) + 1) * tick - need;
}

/* The variant on the offer; its refusal is the first rule that says no. */
static void
cost_variant(const struct cost_job *j, size_t v, const struct offer *o, const struct cost_facts *f,
    const struct cost_limits *lim, struct cost_estimate *e)
{
	const struct job_spec *s = &j->job->spec;
	const struct job_variant *var = &s->variants[v];
	int64_t begin = lim->from > lim->now ? lim->from : lim->now;
	double price = f->paid ? f->paid_usage : usd_to_double(o->price);

	memset(e, 0, sizeof(*e));
	e->variant = v;
	e->machines = var->nodes > 1 ? var->nodes : 1;
	if ((e->refuse = cost_check_machine(j, v, o, f)) != REFUSE_NOT ||
	    (e->refuse = cost_check_terms(s, o, f, lim)) != REFUSE_NOT)
		return;
	e->run_hours = cost_run_hours(j, v, o, f);
	if (!isfinite(e->run_hours)) {
		e->refuse = REFUSE_SPEED_UNKNOWN;
		return;
	}
	if (!cost_times(s, o, f, e)) {
		e->refuse = REFUSE_CANNOT_RESUME;
		return;
	}
	/* Behind the end of the commitment the machine is one on demand. */
	if (!s->purchase_ok[PURCHASE_ON_DEMAND] && cost_unpaid_hours(o, f, begin, e) > 0) {
		e->refuse = REFUSE_PURCHASE;
		return;
	}
	if (f->paid && usd_known(s->max_price) &&
	    cost_hour(o, f, begin, e) > usd_to_double(s->max_price)) {
		e->refuse = REFUSE_MAX_PRICE;
		return;
	}
	e->start += begin;
	e->finish += begin;
	e->egress_usd = cost_egress(s, o, f);
	e->compute_usd = (price * e->expected_hours + cost_unpaid(o, f, begin, e)) * e->machines;
	e->interruption_usd =
	    price * (e->expected_hours - e->busy_hours - cost_or(f->start_s, COST_START_S) / 3600) *
	    e->machines;
	e->total_usd = e->compute_usd + e->egress_usd;
	e->idle_usd = (cost_unpaid_hours(o, f, begin, e) > 0 ? usd_to_double(o->price) : price) *
		      e->machines * cost_idle_s(f, lim, e) / 3600;
	/* Work that is lost with the machine must fit once more, on demand, after it. */
	if (s->deadline > 0 && o->purchase == PURCHASE_SPOT && !s->can_resume &&
	    (double)(s->deadline - begin) <
		2 * (e->busy_hours * 3600 + cost_or(f->start_s, COST_START_S))) {
		e->refuse = REFUSE_SPOT_LATE;
		return;
	}
	if (s->deadline > 0) {
		e->latest_start = s->deadline - cost_whole_s(e->busy_hours * 3600 +
							     cost_or(f->start_s, COST_START_S));
		if (e->finish > s->deadline &&
		    !(lim->spot_leaves && s->can_resume && o->purchase == PURCHASE_SPOT)) {
			e->refuse = REFUSE_DEADLINE;
			return;
		}
	}
	e->refuse = cost_over_budget(j->job, lim->budget_usd, e) ||
			    (lim->hour_capped && cost_passes(price * e->machines, lim->hour_usd))
			? REFUSE_OVER_BUDGET
			: cost_check_now(f, lim);
}

void
cost_of(const struct cost_job *j, const struct offer *o, const struct cost_facts *f,
    const struct cost_limits *lim, struct cost_estimate *out)
{
	struct cost_estimate e;

	memset(out, 0, sizeof(*out));
	out->refuse = REFUSE_ACCELERATOR;
	for (size_t v = 0; v < j->job->spec.n_variants; v++) {
		cost_variant(j, v, o, f, lim, &e);
		if (v == 0 ||
		    (e.refuse == REFUSE_NOT &&
			(out->refuse != REFUSE_NOT || e.total_usd < out->total_usd)) ||
		    (e.refuse != REFUSE_NOT && out->refuse != REFUSE_NOT && e.refuse > out->refuse))
			*out = e;
	}
}
