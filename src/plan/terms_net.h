/* src/plan/terms_net.h - the flow that terms_solve_rest() runs on.  Floor: domain; for
 * src/plan/terms*.c alone. */
#ifndef BERTH_PLAN_TERMS_NET_H
#define BERTH_PLAN_TERMS_NET_H

#include "plan/terms.h"

#define TERMS_USD_MAX 1e9 /* of a path: sums stay far from 2^63 nano-USD */
#define TERMS_THETA_MAX 8.0e2

/* Nodes are the borders between stretches. An arc is named 4 * index + kind. */
enum terms_arc { TERMS_OPEN, TERMS_OPEN_BACK, TERMS_OFFER, TERMS_OFFER_BACK };

struct terms_net {
	const struct terms_rest *rest;
	const struct terms_offer *offers;
	size_t n_offers, nodes;
	int64_t *step; /* [stretches][levels] nano-USD of one more unit without a reservation */
	int64_t *open, *room;   /* [stretches] units without a reservation, and the most of them */
	int64_t *taken, *price; /* [n_offers] units; nano-USD times 1 + theta */
	size_t *out, *out_at; /* offers by their start: out[out_at[v]] .. out[out_at[v + 1] - 1] */
	size_t *in, *in_at;   /* by their end */
	int64_t *potential, *distance;
	size_t *by;                /* arc by which a node was reached */
	size_t *heap, *at, n_heap; /* nodes by distance, and where each stands; SIZE_MAX: nowhere */
	size_t *cycle, n_cycle;    /* arcs of the last one */
	uint32_t *seen;
	bool moved; /* did a distance fall in this pass? */
};

void terms_net_init(struct terms_net *g, const struct terms_rest *rest,
    const struct terms_offer *offers, size_t n_offers, struct arena *a);
/* Costs at this theta; the flow stays. */
void terms_price(struct terms_net *g, double theta);
/* The cheapest flow at this theta, from nothing. BERTH_EINFEASIBLE: what must be reserved cannot
 * be. */
BERTH_MUST_CHECK enum berth_code terms_flow(
    struct terms_net *g, double theta, struct berth_err *err);
/* Sends one unit around a cycle that costs less than nothing; false: there is none. */
bool terms_cycle(struct terms_net *g);
void terms_cycle_undo(struct terms_net *g);

int64_t terms_count(const struct terms_net *g, size_t offer);
double terms_rest_usd(const struct terms_net *g, size_t stretch);
/* USD of the rest that one more of an offer saves; terms_take() buys it: beyond the levels it
 * serves nothing. */
double terms_saves(const struct terms_net *g, size_t offer);
void terms_take(struct terms_net *g, size_t offer);

#endif
