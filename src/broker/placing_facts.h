/* src/broker/placing_facts.h - what the store knows that weighs on a placement.  Floor: broker; for
 * src/broker/placing*.c alone. */
#ifndef BERTH_BROKER_PLACING_FACTS_H
#define BERTH_BROKER_PLACING_FACTS_H

#include "broker/placing.h"
#include "model/budget.h"
#include "model/machine.h"
#include "store/offer_rows.h"

#define PLACING_KEY_SIZE 512         /* of place_key_text() */
#define PLACING_LIVES_S (30 * 86400) /* how far back the lives of spot machines tell */

/* One offer with its facts. An owned commitment with free machines is an offer of its own: the same
 * machine, paid. */
struct placing_offer {
	const struct offer *offer;
	struct cost_facts facts;
	int64_t machines; /* that can be had; PLACE_NO_LIMIT */
	size_t pool; /* of paid ones: its commitment, whose machines all offers of the pool share */
	int64_t last_won, last_lost; /* launches here; 0: never */
	double start_late_s; /* a start-up takes longer in one case of 20 at most: what a deadline
				is kept by */
	size_t account;      /* index into accounts[] */
	int64_t none_at; /* its provider said that it has none, and nothing later says otherwise; 0:
			    not */
	const struct offer_gap
	    *gaps; /* [n_gaps] when its provider had none, in the order of time */
	size_t n_gaps;
};

/* A quota with what runs now taken off. */
struct placing_quota {
	const struct placing_limit *limit;
	int64_t left; /* in its unit */
	bool refused; /* an offer to a job, by itself */
};

/* What one machine of an offer takes of a quota that counts it, in its unit. */
struct placing_use {
	size_t quota;
	int64_t weight; /* > 0 */
};

struct placing_facts {
	int64_t now;
	struct placing_offer *offers;
	size_t n_offers, n_pools;
	struct placing_quota *quotas; /* those of berth.yaml first, then those that are told */
	size_t n_quotas;
	size_t *use_start; /* [n_offers + 1] where the uses of each offer begin */
	struct placing_use *uses;
	struct quota_reading *readings; /* [n_readings] when accounts told their quotas */
	size_t n_readings;
	const char **accounts; /* [n_accounts] distinct account names of the offers */
	size_t n_accounts;
	struct instance *alive; /* [n_alive] machines that are not gone */
	size_t n_alive;
	struct budget *budgets;
	size_t n_budgets;
	struct instance *lives; /* [n_lives] spot machines of the last 30 days, those that run too,
				   newest first */
	size_t n_lives;
	struct instance *on_demand; /* [n_on_demand] the same bought on demand */
	size_t n_on_demand;
};

/*
 * What providers last said of having an offer, by whatever list said it last: that there is none
 * refuses it for a while, then weighs as a launch that was lost at that time. gaps [n_gaps] as
 * store_offer_gaps() gives them; borrowed.
 */
void placing_readings(struct placing_facts *f, const struct offer_gap *gaps, size_t n_gaps,
    int64_t none_s, struct arena *a);

/* launches [n_launches]: creates that are out count against quotas and commitments as machines that
 * run do. */
BERTH_MUST_CHECK enum berth_code placing_facts_load(struct store *store,
    const struct accel_table *accels, const struct placing_options *o,
    const struct intent *launches, size_t n_launches, struct arena *a, struct placing_facts *out,
    struct berth_err *err);

/* Does the quota count this offer, and how much of its unit one machine takes; 0: it does not count
 * it. */
int64_t placing_quota_weight(const struct placing_limit *l, const struct offer *o);
/* The same of a machine that is there now: its commitment may have ended. */
int64_t placing_quota_held(const struct placing_limit *l, const struct offer *o, int64_t now);
/* The same of an offer and a quota by their places. */
int64_t placing_takes_of(const struct placing_facts *f, size_t offer, size_t quota);

/* USD that all budgets of this job leave for a machine of the account; NaN: no budget counts it.
 * Those by the hour are none of them. */
double placing_budget_left(const struct placing_facts *f, const struct job *j, size_t account);
/* USD an hour that the budgets by the hour leave likewise; later: to one that starts when what runs
 * has ended. */
double placing_hour_left(
    const struct placing_facts *f, const struct job *j, size_t account, bool later);
/* What one machine of the offer asks for an hour now, USD: paid by a commitment, its use. */
double placing_hour(const struct placing_offer *po);
/* What so many machines of the offer take of the budget when usd is what is kept for them,
 * micro-USD. */
int64_t placing_budget_takes(
    const struct budget *b, const struct placing_offer *po, int64_t machines, double usd);

/* What is left of one budget, micro-USD, at least 0. */
int64_t placing_budget_rest(const struct budget *b);

#endif
