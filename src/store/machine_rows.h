/* src/store/machine_rows.h - intents, instances, measurements, blocks, capacity memory.  Floor:
 * store. */
#ifndef BERTH_STORE_MACHINE_ROWS_H
#define BERTH_STORE_MACHINE_ROWS_H

#include "model/block.h"
#include "model/budget.h"
#include "model/machine.h"
#include "model/measure.h"
#include "store/store.h"

/*
 * Writes a pending intent (id, state, settled, reason are ignored) and, for money that it may
 * spend, the reservation in the budgets, and COMMITS before it returns: no transaction may be open
 * (an assert). Only after BERTH_OK may the provider be called. token "" : a new random one, 32 hex
 * digits. ask     NULL: nothing is reserved (a destroy) it_out  the row as stored, with id and
 * token Errors  BERTH_EBUDGET as store_budget_reserve(): nothing is written.
 */
BERTH_MUST_CHECK enum berth_code store_intent_open(struct store *s, const struct intent *it,
    const struct budget_ask *ask, struct arena *a, struct intent *it_out, struct berth_err *err);
/*
 * The same for the machines of a gang, its [n] of one job: all rows and the whole reservation,
 * shared out evenly, or none. its[].gang and machines are filled in; rank is the place in the
 * array.
 */
BERTH_MUST_CHECK enum berth_code store_intent_open_gang(struct store *s, struct intent *its,
    size_t n, const struct budget_ask *ask, struct arena *a, struct berth_err *err);
/*
 * Whose turn it is: what a placement says holds as long as nobody else has begun to rent since it
 * read the store. Two brokers on one store so never rent on the same quota, money, commitment or
 * job.
 */
struct intent_turn {
	int64_t last; /* the newest intent then: store_intent_last() */
	int64_t own;  /* creates that were begun in this turn */
};
BERTH_MUST_CHECK enum berth_code store_intent_last(
    struct store *s, int64_t *last_out, struct berth_err *err); /* 0: there is none */
/*
 * The creates of one job, its [n], n 1 or a gang, in the turn of the placement that led to them;
 * they are counted in it. BERTH_ELOCKED: another has begun a create since, or the job is queued no
 * more; nothing is written, and the placement is to be made again.
 */
BERTH_MUST_CHECK enum berth_code store_intent_open_turn(struct store *s, struct intent *its,
    size_t n, const struct budget_ask *ask, struct intent_turn *turn, struct arena *a,
    struct berth_err *err);
/*
 * One create more of a gang whose machine of this rank was lost: it->gang, rank and machines say
 * which. BERTH_ELOCKED: its job holds no machines any more, another create of that rank is out or
 * has made a machine that runs, or another broker has begun to rent since turn; nothing is written.
 */
BERTH_MUST_CHECK enum berth_code store_intent_open_rank(struct store *s, struct intent *it,
    const struct budget_ask *ask, struct intent_turn *turn, struct arena *a, struct berth_err *err);
/* The creates of the gang to which this intent belongs, by rank, those of one rank in order; n 0:
 * it is a machine alone. */
BERTH_MUST_CHECK enum berth_code store_intent_gang(struct store *s, int64_t id, struct arena *a,
    struct intent **its_out, size_t *n_out, struct berth_err *err);
/* DONE or FAILED; FAILED frees the reservation. BERTH_ENOTFOUND. Settling again in the same way
 * changes nothing. */
BERTH_MUST_CHECK enum berth_code store_intent_settle(struct store *s, int64_t id,
    enum intent_state state, int64_t instance_id, const char *reason, int64_t now,
    struct berth_err *err);
BERTH_MUST_CHECK enum berth_code store_intent_pending(struct store *s, struct arena *a,
    struct intent **its_out, size_t *n_out, struct berth_err *err); /* oldest first */
BERTH_MUST_CHECK enum berth_code store_intent_by_token(struct store *s, const char *token,
    struct arena *a, struct intent *it_out, struct berth_err *err); /* BERTH_ENOTFOUND */

#define INSTANCE_BIT(state) (1U << (unsigned)(state))
#define INSTANCE_ALIVE                                                                             \
	(INSTANCE_BIT(INSTANCE_STARTING) | INSTANCE_BIT(INSTANCE_READY) |                          \
	    INSTANCE_BIT(INSTANCE_NOTICED) | INSTANCE_BIT(INSTANCE_RELEASING))

/*
 * id is ignored and given back. One (account, provider_ref) is one row: a second insert with the
 * same pair and intent gives the id of the first and changes nothing, so that a pass that was
 * killed can be repeated.
 */
BERTH_MUST_CHECK enum berth_code store_instance_insert(
    struct store *s, const struct instance *in, int64_t *id_out, struct berth_err *err);
/* Writes all but id, account, intent_id, offer and created. */
BERTH_MUST_CHECK enum berth_code store_instance_update(
    struct store *s, const struct instance *in, struct berth_err *err);
/* From in->offer.paid_from until paid_until a commitment pays for it, at in->offer.usage: the rest
 * of its offer stays as it is. */
BERTH_MUST_CHECK enum berth_code store_instance_paid(
    struct store *s, const struct instance *in, struct berth_err *err);
/* states: INSTANCE_BIT()s, 0 all; oldest first. */
BERTH_MUST_CHECK enum berth_code store_instance_list(struct store *s, unsigned states,
    struct arena *a, struct instance **ins_out, size_t *n_out, struct berth_err *err);
/* Machines bought on spot that run or ended since then, at most the 2,000 newest: what the hazards
 * are learned from. */
BERTH_MUST_CHECK enum berth_code store_instance_lives(struct store *s, int64_t since,
    struct arena *a, struct instance **ins_out, size_t *n_out,
    struct berth_err *err); /* the same, however bought */
BERTH_MUST_CHECK enum berth_code store_instance_spot_lives(struct store *s, int64_t since,
    struct arena *a, struct instance **ins_out, size_t *n_out, struct berth_err *err);
/* When the last machine of the account was gone; 0: none was. */
BERTH_MUST_CHECK enum berth_code store_instance_last_gone(
    struct store *s, const char *account, int64_t *t_out, struct berth_err *err);
/* BERTH_ENOTFOUND */
BERTH_MUST_CHECK enum berth_code store_instance_get(
    struct store *s, int64_t id, struct arena *a, struct instance *in_out, struct berth_err *err);
BERTH_MUST_CHECK enum berth_code store_instance_by_ref(struct store *s, const char *account,
    const char *provider_ref, struct arena *a, struct instance *in_out, struct berth_err *err);
BERTH_MUST_CHECK enum berth_code store_instance_by_token(struct store *s, const char *token,
    struct arena *a, struct instance *in_out,
    struct berth_err *err); /* of the intent that made it */

/* A measurement with its rows [n] (measurement_id ignored), and the fleet's speed made anew from
 * it. */
BERTH_MUST_CHECK enum berth_code store_measurement_insert(struct store *s,
    const struct measurement *m, const struct measure_row *rows, size_t n, int64_t *id_out,
    struct berth_err *err);
/* NULL or "" or 0: any. Newest first. */
struct measurement_query {
	int64_t instance_id, since;
	const char *provider, *region, *instance_type, *accelerator;
	size_t limit;
};
BERTH_MUST_CHECK enum berth_code store_measurement_list(struct store *s,
    const struct measurement_query *q, struct arena *a, struct measurement **ms_out, size_t *n_out,
    struct berth_err *err);
BERTH_MUST_CHECK enum berth_code store_measurement_last(struct store *s,
    const struct measurement_query *q, struct arena *a, struct measurement *m_out,
    struct berth_err *err); /* BERTH_ENOTFOUND */
BERTH_MUST_CHECK enum berth_code store_measure_rows(struct store *s, int64_t measurement_id,
    struct arena *a, struct measure_row **rows_out, size_t *n_out, struct berth_err *err);
BERTH_MUST_CHECK enum berth_code store_fleet_speeds(struct store *s, struct arena *a,
    struct fleet_speed **fs_out, size_t *n_out, struct berth_err *err);

/*
 * Blocks a place from now for base_s, doubled for each time in a row, at most max_s. In a row: the
 * place is still blocked, or its block ended less than its own length ago. until_out may be NULL.
 */
BERTH_MUST_CHECK enum berth_code store_block_put(struct store *s, const struct place_key *key,
    int64_t base_s, int64_t max_s, const char *code, const char *reason, int64_t now,
    int64_t *until_out, struct berth_err *err);
BERTH_MUST_CHECK enum berth_code store_block_active(struct store *s, int64_t now, struct arena *a,
    struct block **blocks_out, size_t *n_out, struct berth_err *err); /* for block_hit() */
/* A launch was won there: the next refusal starts at base_s again. */
BERTH_MUST_CHECK enum berth_code store_block_clear(
    struct store *s, const struct place_key *key, struct berth_err *err);

/* Counts one launch of this offer as won or lost, under place_key(offer, KEY_OFFER). */
BERTH_MUST_CHECK enum berth_code store_capacity_count(
    struct store *s, const struct offer *o, bool won, int64_t now, struct berth_err *err);
BERTH_MUST_CHECK enum berth_code store_capacity_list(struct store *s, int64_t now, struct arena *a,
    struct capacity **cs_out, size_t *n_out, struct berth_err *err);

#endif
