/* Of a job that no offer suits: the rule that took the last ones away, in numbers and names. */
#include "config.h"

#include <math.h>
#include <string.h>

#include "broker/placing_impl.h"
#include "broker/quotas.h"
#include "model/block.h"
#include "plan/explain.h"
#include "plan/latency.h"
#include "util/arena.h"
#include "util/glob.h"
#include "util/str.h"
#include "util/time.h"

/* A name that no offer has, and what it may mean. */
static const char *
placing_nowhere(const struct placing_work_space *w, const char *what, const char *const *patterns,
    size_t n, bool region)
{
	const char **names = arena_array(w->a, w->facts.n_offers + 1, sizeof(*names)), *near;
	size_t hit;

	for (size_t i = 0; i < n; i++) {
		for (hit = 0; hit < w->facts.n_offers; hit++) {
			const struct offer *o = w->facts.offers[hit].offer;

			names[hit] = region ? o->region : o->provider;
			if (region ? offer_region_hits(patterns[i], o)
				   : glob_match(patterns[i], o->provider))
				break;
		}
		if (hit < w->facts.n_offers)
			continue;
		names[hit] = NULL;
		near = str_suggest(patterns[i], names);
		return arena_printf(w->a, "no offer is of %s '%.60s'%s%s%s", what, patterns[i],
		    near == NULL ? "" : ": did you mean ", near == NULL ? "" : near,
		    near == NULL ? "" : "?");
	}
	return NULL;
}

/* How many offers the rule of a block list hits that hits most. */
static const char *
placing_blocked(const struct placing_work_space *w, const struct job_spec *s)
{
	const char *rule = NULL, *whose = "";
	size_t most = 0;

	for (size_t b = 0; b < w->o->n_block + s->n_block; b++) {
		const char *const *r =
		    b < w->o->n_block ? &w->o->block[b] : &s->block[b - w->o->n_block];
		size_t n = 0;

		for (size_t j = 0; j < w->facts.n_offers; j++)
			n += block_rules_hit(r, 1, w->facts.offers[j].offer) != NULL;
		if (n <= most)
			continue;
		most = n;
		rule = *r;
		whose = b < w->o->n_block ? "berth.yaml" : "the job";
	}
	return rule == NULL ? NULL
			    : arena_printf(w->a, "'%s' of %s blocks %zu offer%s", rule, whose, most,
				  most == 1 ? "" : "s");
}

/* The rule on what the job allows, and the name in it that nothing has. */
static const char *
placing_detail_terms(
    const struct placing_work_space *w, const struct placing_job *pj, enum refuse_code rule)
{
	const struct job_spec *s = &pj->job.spec;
	const char *near;

	if (rule == REFUSE_PURCHASE)
		return s->purchase_ok[PURCHASE_RESERVED] && !s->purchase_ok[PURCHASE_ON_DEMAND] &&
			       !s->purchase_ok[PURCHASE_SPOT]
			   ? "reserved alone is allowed, and no owned commitment has a machine for "
			     "it: `berth commitments`"
			   : NULL;
	if (rule == REFUSE_BLOCKED)
		return placing_blocked(w, s);
	if (rule == REFUSE_PROVIDER)
		return placing_nowhere(w, "provider", s->providers, s->n_providers, false);
	if (rule == REFUSE_RESIDENCY)
		return placing_nowhere(w, "region", s->regions, s->n_regions, true);
	if (latency_known(s->latency_to))
		return NULL;
	near = latency_suggest(s->latency_to);
	return arena_printf(w->a, "nobody knows where '%.60s' lies%s%s%s", s->latency_to,
	    near == NULL ? "" : ": did you mean ", near == NULL ? "" : near,
	    near == NULL ? "" : "?");
}

const char *
placing_astray(const struct placing_work_space *w, const struct job_spec *s)
{
	const char **names = arena_array(w->a, w->facts.n_offers + 1, sizeof(*names)), *near;

	if (s->data_gib <= 0 || s->data_region[0] == '\0' || latency_known(s->data_region) ||
	    w->facts.n_offers == 0)
		return NULL;
	for (size_t j = 0; j < w->facts.n_offers; j++) {
		const struct offer *o = w->facts.offers[j].offer;

		names[j] = arena_printf(w->a, "%s/%s", o->provider, o->region);
		if (str_ieq(names[j], s->data_region) || str_ieq(o->region, s->data_region))
			return NULL;
	}
	near = str_suggest(s->data_region, names);
	if (near == NULL && (near = latency_suggest(s->data_region)) != NULL &&
	    strchr(s->data_region, '/') != NULL)
		near = arena_printf(
		    w->a, "%.*s/%s", (int)strcspn(s->data_region, "/"), s->data_region, near);
	return arena_printf(w->a,
	    "nobody knows where its data lie, in '%.60s': moving them is priced as from another "
	    "region%s%s%s",
	    s->data_region, near == NULL ? "" : "; did you mean ", near == NULL ? "" : near,
	    near == NULL ? "" : "?");
}

#define PLACING_NAMES 4 /* so many names are enough to see what is meant */

/* Adds a name that is not in the list yet. */
static size_t
placing_name_once(const char **list, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (str_eq(list[i], name))
			return n;
	list[n] = name;
	return n + 1;
}

/* The accelerators that the job asks for and that none of the offers has, and what they have. */
static const char *
placing_no_accelerator(const struct placing_work_space *w, size_t i)
{
	const struct job_spec *s = &w->jobs[i].job.spec;
	const char **have = arena_array(w->a, w->facts.n_offers, sizeof(*have));
	const char **asked = arena_array(w->a, s->n_variants, sizeof(*asked));
	size_t n_have = 0, n = 0, hit;

	for (size_t j = 0; j < w->facts.n_offers && n_have <= PLACING_NAMES; j++)
		n_have = placing_name_once(have, n_have, w->facts.offers[j].offer->accelerator);
	for (size_t v = 0; v < s->n_variants; v++) {
		for (hit = 0; hit < w->facts.n_offers; hit++)
			if (accel_is(w->facts.offers[hit].facts.accel, w->costs[i].want[v]))
				break;
		if (hit == w->facts.n_offers && s->variants[v].accelerator[0] != '\0')
			n = placing_name_once(
			    asked, n, arena_printf(w->a, "'%.60s'", s->variants[v].accelerator));
	}
	if (n == 0)
		return NULL;
	return arena_printf(w->a, "no offer has the accelerator %s: they have %s%s",
	    str_join(w->a, asked, n, " or "),
	    str_join(w->a, have, n_have < PLACING_NAMES ? n_have : PLACING_NAMES, ", "),
	    n_have > PLACING_NAMES ? " and others" : "");
}

/* How fast the accelerators of one machine would have to be linked, and how fast they are. */
static const char *
placing_slow_link(const struct placing_work_space *w, size_t i)
{
	const unsigned char *refusal = w->refusal + i * w->facts.n_offers;
	double most = NAN, need = w->jobs[i].job.spec.link_gb_s;

	for (size_t j = 0; j < w->facts.n_offers; j++)
		if (refusal[j] == REFUSE_FABRIC && w->facts.offers[j].facts.accel != NULL)
			most = fmax(most, w->facts.offers[j].facts.accel->link_gb_s);
	if (isnan(most))
		return arena_printf(
		    w->a, "needs %.10g GB/s between them, and of none is it known", need);
	return arena_printf(w->a,
	    "needs %.10g GB/s between them, the fastest that is known has %.*g", need,
	    str_digits_apart(need, most), most);
}

static const char *
placing_detail_machine(const struct placing_work_space *w, size_t i, enum refuse_code rule)
{
	const struct placing_hint *h = &w->hints[i];

	if (rule == REFUSE_ACCELERATOR)
		return placing_no_accelerator(w, i);
	if (rule == REFUSE_GANG)
		return arena_printf(w->a, "needs %d on one machine, the most on one is %d",
		    h->need_count, h->most_count);
	if (rule == REFUSE_FABRIC)
		return placing_slow_link(w, i);
	return placing_memory_text(w, h);
}

/* What the cheapest costs, and what each cap leaves that is too little for it by itself: the job's
 * own, and the budgets that count it. */
static const char *
placing_too_dear(const struct placing_work_space *w, size_t i)
{
	const struct placing_hint *h = &w->hints[i];
	const struct job *j = &w->jobs[i].job;
	const struct placing_offer *po = &w->facts.offers[h->least_offer];
	double idle = usd_known(j->spec.max_cost) ? h->least_idle_usd : 0;
	const struct placing_near least = { h->least_offer, h->least_machines, h->least_usd, 0,
		true, idle };
	const char *subject, *caps = placing_caps(w, i, &least, &subject);
	char need[USD_FMT_SIZE], more[USD_FMT_SIZE];
	bool hourly = strstr(caps, " USD an hour") != NULL;

	return arena_printf(w->a, "the cheapest costs %s USD%s%s%s%s", usd_need(need, h->least_usd),
	    hourly ? arena_printf(w->a, " at %s an hour",
			 usd_need(more, (double)h->least_machines * placing_hour(po)))
		   : "",
	    idle > 0 ? arena_printf(w->a, " and up to %s more while it waits for ticks",
			   usd_need(more, idle))
		     : "",
	    caps[0] == '\0' ? "" : ", ", caps);
}

/* Of machines that are owned, but too few: the offer of which the least are missing. */
static const char *
placing_few_owned(const struct placing_work_space *w, size_t i)
{
	const struct placing_hint *h = &w->hints[i];
	const unsigned char *refusal = w->refusal + i * w->facts.n_offers;
	const struct placing_need *best = NULL;
	int64_t lacks = 0;

	for (size_t x = 0; x < h->limited.n; x++) {
		const struct placing_need *n = &h->limited.v[x];
		int64_t more = n->machines - w->facts.offers[n->offer].machines;

		if (refusal[n->offer] == REFUSE_NO_CAPACITY && (best == NULL || more < lacks)) {
			best = n;
			lacks = more;
		}
	}
	if (best == NULL)
		return NULL;
	return arena_printf(w->a, "an owned commitment has %lld machine%s free, it needs %lld",
	    (long long)w->facts.offers[best->offer].machines,
	    w->facts.offers[best->offer].machines == 1 ? "" : "s", (long long)best->machines);
}

const char *
placing_quota_text(const struct placing_short_of *q, struct arena *a)
{
	char t[TIME_FMT_SIZE];

	return arena_printf(a, "%s %s %lld %s: no_quota have=%lld need=%lld %s%s", q->limit->name,
	    q->later ? "is" : "has", (long long)q->have, q->later ? "in all" : "left",
	    (long long)q->have, (long long)q->need, q->limit->unit,
	    q->limit->told == NULL
		? ""
		: arena_printf(a, ", as its provider told of account %s at %s",
		      q->limit->told->account, time_fmt(t, q->limit->told->as_of)));
}

const char *
placing_detail(const struct placing_work_space *w, size_t i)
{
	const struct placing_hint *h = &w->hints[i];
	enum refuse_code rule = explain_rule(w->jobs[i].refused);
	char t[TIME_FMT_SIZE], need[USD_FMT_SIZE], have[USD_FMT_SIZE];

	if (h->safety_usd > 0)
		return arena_printf(w->a,
		    "the deadline may take on demand, where spot fails: %s USD must be there for "
		    "that, the budgets leave %s",
		    usd_need(need, h->safety_usd), usd_have(have, h->safety_left));
	if (h->quota != NULL)
		return placing_quota_text(&w->jobs[i].quota, w->a);
	if (rule == REFUSE_BLOCKED_UNTIL || rule == REFUSE_PROBE_FAILED)
		return arena_printf(w->a, "the first hold ends %s", time_fmt(t, h->free_at));
	if (rule == REFUSE_UNAVAILABLE)
		return arena_printf(w->a, "%s: %s", placing_label(h->none, 1, w->a),
		    placing_none_text(h->none, w->a));
	if (rule == REFUSE_OVER_BUDGET)
		return placing_too_dear(w, i);
	if (rule == REFUSE_NO_CAPACITY)
		return placing_few_owned(w, i);
	if (rule == REFUSE_DEADLINE)
		return arena_printf(w->a, "%sthe first possible end is %s, for %.2f USD",
		    placing_late_text(w, i), time_fmt(t, h->first_finish), h->first_finish_usd);
	if (rule == REFUSE_MAX_PRICE)
		return arena_printf(w->a, "the cheapest asks %.10g USD an hour", h->least_price);
	if (rule == REFUSE_PRICE_STALE)
		return "`berth prices refresh` asks for newer ones, --spot-age and --price-age "
		       "take older ones";
	if (rule >= REFUSE_RESIDENCY && rule <= REFUSE_PURCHASE)
		return placing_detail_terms(w, &w->jobs[i], rule);
	if (rule >= REFUSE_ACCELERATOR && rule <= REFUSE_FABRIC)
		return placing_detail_machine(w, i, rule);
	return NULL;
}
