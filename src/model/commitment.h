/* src/model/commitment.h - a reservation that is owned.  Floor: model. */
#ifndef BERTH_MODEL_COMMITMENT_H
#define BERTH_MODEL_COMMITMENT_H

#include <stdint.h>

#include "model/offer.h"

/* Billed whether used or not, in [from, to). */
struct commitment {
	int64_t id;
	struct offer offer; /* as bought: where, what, term, payment, upfront and hourly price of
			       one machine */
	int count;          /* machines, >= 1 */
	int64_t from, to;   /* s since epoch, to > from */
	const char *source; /* "plan:12", "bill", "manual" */
	const char *note;
};

#endif
