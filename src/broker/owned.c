/* Machines that run when a commitment for them is bought: from then on it pays for them. */
#include <inttypes.h>
#include <string.h>

#include "broker/broker.h"
#include "store/money_rows.h"
#include "util/time.h"

/* Machines of the commitment that none is booked on; each booked one is counted once. */
static int64_t
owned_free(const struct commitment *c, const struct instance *ins, size_t n, bool *counted)
{
	int64_t left = c->count;

	for (size_t i = 0; i < n && left > 0; i++)
		if (!counted[i] && ins[i].offer.paid_until == c->to &&
		    offer_same_machine(&ins[i].offer, &c->offer)) {
			counted[i] = true;
			left--;
		}
	return left;
}

static bool
owned_may(const struct instance *in, const struct commitment *c)
{
	return in->offer.purchase == PURCHASE_ON_DEMAND && in->offer.paid_until == 0 &&
	       in->state != INSTANCE_RELEASING && usd_known(in->offer.price) &&
	       offer_same_machine(&in->offer, &c->offer);
}

static enum berth_code
owned_machine(
    struct broker *b, const struct commitment *c, struct instance *in, struct berth_err *err)
{
	struct usd_micro due;
	enum berth_code rc;
	char to[TIME_FMT_SIZE];

	in->offer.usage = usd_known(c->offer.usage) ? c->offer.usage : USD_ZERO;
	in->offer.paid_from = c->from > in->created ? c->from : in->created;
	in->offer.paid_until = c->to;
	rc = offer_cost(&in->offer, in->created, b->now, &due, err);
	if (rc == BERTH_OK && due.v < in->cost.v) /* what is booked stays */
		in->offer.paid_from = b->now;
	if (rc == BERTH_OK)
		rc = store_begin(b->store, err);
	if (rc != BERTH_OK)
		return rc;
	rc = store_instance_paid(b->store, in, err);
	if (rc == BERTH_OK)
		rc = broker_event(b, err, "instance.owned",
		    arena_printf(b->tick_arena, "instance:%" PRId64, in->id), in->job_id, in,
		    "%s in %s is paid by a commitment until %s", in->offer.instance_type,
		    in->offer.region, time_fmt(to, c->to));
	if (rc == BERTH_OK)
		return store_commit(b->store, err);
	store_rollback(b->store);
	return rc;
}

enum berth_code
owned_book(struct broker *b, struct instance *ins, size_t n, struct berth_err *err)
{
	bool *counted = arena_array_of(b->tick_arena, n + 1, bool);
	struct commitment *cs;
	size_t n_cs;
	enum berth_code rc =
	    store_commitment_list(b->store, b->now, b->tick_arena, &cs, &n_cs, err);

	for (size_t k = 0; rc == BERTH_OK && k < n_cs; k++) {
		int64_t left = owned_free(&cs[k], ins, n, counted);

		for (size_t i = 0; rc == BERTH_OK && i < n && left > 0; i++)
			if (owned_may(&ins[i], &cs[k])) {
				rc = owned_machine(b, &cs[k], &ins[i], err);
				counted[i] = true;
				left--;
			}
	}
	return rc;
}
