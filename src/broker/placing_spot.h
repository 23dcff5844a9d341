/* src/broker/placing_spot.h - spot or on demand for a job with a deadline, from what the store saw.
 * Floor: broker; for src/broker alone. */
#ifndef BERTH_BROKER_PLACING_SPOT_H
#define BERTH_BROKER_PLACING_SPOT_H

#include "broker/placing_facts.h"
#include "plan/spot_job.h"

/* What the policy says of one job. */
struct placing_spot {
	bool applies; /* the job may run on both, can resume, has a deadline, and both can be priced
		       */
	enum spot_action action;
	enum spot_action
	    instead;    /* for one that has nothing: should spot be refused when it is asked for */
	double slack_s; /* until on demand must be asked for; < 0: that was to be done before */
	double ratio;   /* of spot over on demand for the work */
	struct spot_outlook outlook; /* where applies */
	bool spot_up;                /* some spot offer can be asked for now */
	bool on_demand_up;
	int vain;       /* its spot launches in a row that were lost before they brought anything */
	double stand_s; /* only zones that have been up for so long are asked */
	double safety_usd;   /* the work on demand, and one launch on spot that brings nothing: what
				must be left of its budgets */
	double rest_usd;     /* the work on demand alone */
	size_t account;      /* where on demand is cheapest; index into accounts[] of the facts */
	bool on_demand_sure; /* and none was refused lately: a running job may be stopped for it */
};

/* What the job has now; mode SPOT_NOTHING in the queue. since: when its machine was ready, s since
 * epoch; 0: not yet. from: in the queue, when its work can begin; up to now: at once. */
struct placing_has {
	enum spot_mode mode;
	int64_t since;
	int64_t from;
};

/* Adds the life of a spot machine up to now or its end; one that was never ready tells nothing. */
void placing_spot_life(struct spot_evidence *e, const struct instance *in, int64_t now);

/* Can it resume, and may it run on both? */
bool placing_spot_may(const struct job *j);
/* So that the policy has a say in how it keeps this deadline; 0: there is none. */
bool placing_spot_job(const struct job *j, int64_t deadline);
/* Refused by nothing, or by what only time has to lift? */
bool placing_spot_soon(enum refuse_code c);

/* For how long spot of this offer has been up as far as is known, s: since it was refused or taken
 * back; INFINITY: it never was. */
double placing_spot_stood(
    const struct placing_facts *f, const struct placing_offer *po, int64_t now);

/*
 * estimates [f->n_offers] of the job, made with cost_limits.spot_leaves. Faults of numbers mean
 * that the policy does not apply: never an error.
 */
void placing_spot_advise(const struct placing_facts *f, const struct job *j,
    const struct cost_estimate *estimates, const struct placing_has *has, int64_t now,
    struct spot_tables *tables, struct placing_spot *out);

#endif
