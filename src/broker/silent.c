/* Machines of jobs that do not answer, while their provider does not say that they are gone: how
 * long, which somebody is told. */
#include <inttypes.h>

#include "broker/broker.h"
#include "store/silent_rows.h"

enum berth_code
silent_unheard(struct broker *b, const struct instance *in, const char *job_id, const char *next,
    const char *why, struct berth_err *err)
{
	struct silent_row row;
	enum berth_code rc = store_silent_get(b->store, in->id, &row, err);

	if (rc != BERTH_OK)
		return rc;
	if (row.since == 0) {
		row.since = b->now;
		return store_silent_put(b->store, &row, err);
	}
	if (row.told || b->now - row.since < b->policy.silent_s)
		return BERTH_OK;
	row.told = true;
	rc = broker_event(b, err, "job.node_silent", job_id, job_id, in,
	    "instance %" PRId64 " has not answered for %" PRId64
	    " min, and its provider does not say that it is gone: %s (%s)",
	    in->id, (b->now - row.since) / 60, next, why);
	return rc == BERTH_OK ? store_silent_put(b->store, &row, err) : rc;
}

enum berth_code
silent_heard(struct broker *b, const struct instance *in, const char *job_id, struct berth_err *err)
{
	struct silent_row row;
	enum berth_code rc = store_silent_get(b->store, in->id, &row, err);

	if (rc != BERTH_OK || row.since == 0)
		return rc;
	if (row.told)
		rc = broker_event(b, err, "job.node_answers", job_id, job_id, in,
		    "instance %" PRId64 " answers again after %" PRId64 " min", in->id,
		    (b->now - row.since) / 60);
	return rc == BERTH_OK ? store_silent_delete(b->store, in->id, err) : rc;
}
