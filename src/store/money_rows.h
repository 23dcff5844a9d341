/* src/store/money_rows.h - commitments, budgets, reservations, the ledger.  Floor: store. */
#ifndef BERTH_STORE_MONEY_ROWS_H
#define BERTH_STORE_MONEY_ROWS_H

#include "model/budget.h"
#include "model/commitment.h"
#include "store/store.h"

BERTH_MUST_CHECK enum berth_code store_commitment_insert(
    struct store *s, const struct commitment *c, int64_t *id_out, struct berth_err *err);
/* Those with from <= at < to; at 0: all. By from. */
BERTH_MUST_CHECK enum berth_code store_commitment_list(struct store *s, int64_t at, struct arena *a,
    struct commitment **cs_out, size_t *n_out, struct berth_err *err);
BERTH_MUST_CHECK enum berth_code store_commitment_delete(
    struct store *s, int64_t id, struct berth_err *err);

/* Makes a budget or gives the one of that name (b->name; "" : "SCOPE/PERIOD") a new scope, period
 * and cap. BERTH_EINVAL. */
BERTH_MUST_CHECK enum berth_code store_budget_set(
    struct store *s, const struct budget *b, int64_t now, struct berth_err *err);
/* With spent and reserved of the period that holds now; by name. */
BERTH_MUST_CHECK enum berth_code store_budget_list(struct store *s, int64_t now, struct arena *a,
    struct budget **bs_out, size_t *n_out, struct berth_err *err);
BERTH_MUST_CHECK enum berth_code store_budget_delete(
    struct store *s, const char *name, struct berth_err *err);

/*
 * Reserves ask->amount in every budget that counts it, in one transaction that checks spent +
 * reserved + ask <= cap for each: two at once never pass a cap; an ask of 0 passes none. In a
 * budget by the hour ask->hour is what counts, on top of what all machines that hold a reservation
 * ask. A reservation counts in the period in which it was made and in each later one until it is
 * settled. intent_id 0: none. Errors BERTH_EBUDGET: names the budget, its cap, what is spent,
 * reserved and asked; nothing is reserved.
 */
BERTH_MUST_CHECK enum berth_code store_budget_reserve(struct store *s, const struct budget_ask *ask,
    int64_t intent_id, int64_t now, int64_t *id_out, struct berth_err *err);
/* Appends a ledger row and takes its amount (not below 0) off what the intent's reservation still
 * holds. */
BERTH_MUST_CHECK enum berth_code store_budget_charge(
    struct store *s, int64_t intent_id, const struct ledger_row *row, struct berth_err *err);
/* The intent's reservation holds at least so much, unless it is settled; what it may pass is no
 * cap: it is spent anyway. */
BERTH_MUST_CHECK enum berth_code store_budget_hold(
    struct store *s, int64_t intent_id, struct usd_micro least, struct berth_err *err);
/* Its reservation is at most so much: what is not needed any more is free for others. */
BERTH_MUST_CHECK enum berth_code store_budget_yield(
    struct store *s, int64_t intent_id, struct usd_micro most, struct berth_err *err);
/* What the reservations of a job still hold. */
BERTH_MUST_CHECK enum berth_code store_budget_held(
    struct store *s, const char *job_id, struct usd_micro *out, struct berth_err *err);
/* Frees what the intent's reservation still holds: the machine is gone and all of it is in the
 * ledger. */
BERTH_MUST_CHECK enum berth_code store_budget_settle(
    struct store *s, int64_t intent_id, int64_t now, struct berth_err *err);

BERTH_MUST_CHECK enum berth_code store_ledger_add(
    struct store *s, const struct ledger_row *row, struct berth_err *err);
/* NULL, "" or 0: any; [from, to), to 0: open. Oldest first. */
struct ledger_query {
	int64_t from, to, instance_id;
	const char *job_id, *account, *project, *user;
};
BERTH_MUST_CHECK enum berth_code store_ledger_list(struct store *s, const struct ledger_query *q,
    struct arena *a, struct ledger_row **rows_out, size_t *n_out, struct berth_err *err);
/* Spent in [from, to) within a scope ("all", "project:X" ...). */
BERTH_MUST_CHECK enum berth_code store_spent(struct store *s, const char *scope, int64_t from,
    int64_t to, struct usd_micro *out, struct berth_err *err);

#endif
