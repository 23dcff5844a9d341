/* How often a job is to write a checkpoint on its machine. */
#include <math.h>
#include <string.h>

#include "broker/broker.h"
#include "broker/placing_spot.h"
#include "plan/cost.h"
#include "plan/spot_job.h"
#include "store/machine_rows.h"
#include "util/str.h"

#define INTERVAL_MOST_S ((int64_t)COST_CHECKPOINT_MOST_S)
#define INTERVAL_LEAST_S 60
#define INTERVAL_STEPS 6

/* Lives of spot machines of this kind; the rows are read once a tick. */
static enum berth_code
interval_evidence(
    struct broker *b, const struct offer *o, struct spot_evidence *seen, struct berth_err *err)
{
	memset(seen, 0, sizeof(*seen));
	if (!b->lives_read) {
		enum berth_code rc = store_instance_spot_lives(
		    b->store, b->now - PLACING_LIVES_S, b->tick_arena, &b->lives, &b->n_lives, err);

		if (rc != BERTH_OK)
			return rc;
		b->lives_read = true;
	}
	for (size_t i = 0; i < b->n_lives; i++) {
		const struct instance *in = &b->lives[i];

		if (str_eq(in->offer.provider, o->provider) &&
		    str_eq(in->offer.instance_type, o->instance_type))
			placing_spot_life(seen, in, b->now);
	}
	return BERTH_OK;
}

enum berth_code
broker_interval(struct broker *b, const struct job *job, const struct instance *in, int machines,
    int64_t *interval_out, struct berth_err *err)
{
	double hours = in->ready > 0 ? (double)(b->now - in->ready) / 3600 : 0, s;
	struct spot_evidence seen;
	enum berth_code rc;

	*interval_out = !job->spec.can_resume                 ? 0
			: job->spec.checkpoint_interval_s > 0 ? job->spec.checkpoint_interval_s
							      : INTERVAL_MOST_S;
	if (!job->spec.can_resume || job->spec.checkpoint_interval_s > 0 ||
	    in->offer.purchase != PURCHASE_SPOT)
		return BERTH_OK;
	rc = interval_evidence(b, &in->offer, &seen, err);
	if (rc != BERTH_OK)
		return rc;
	/* The hazard falls with age while the interval lasts: that of the interval's own time is a
	 * fixed point. */
	s = 0;
	for (int k = 0; k < INTERVAL_STEPS; k++)
		s = fmin(INTERVAL_MOST_S,
		    cost_checkpoint_s((double)job->spec.checkpoint_write_s,
			machines *
			    spot_evidence_mean(&seen, hours,
				hours +
				    (k == 0 ? 0
					    : (s + (double)job->spec.checkpoint_write_s) / 3600),
				in->offer.interruption_rate)));
	*interval_out = (int64_t)fmin(INTERVAL_MOST_S, fmax(INTERVAL_LEAST_S, s));
	return BERTH_OK;
}
