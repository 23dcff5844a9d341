/* src/store/plan_rows.h - plans and decisions as they were made.  Floor: store. */
#ifndef BERTH_STORE_PLAN_ROWS_H
#define BERTH_STORE_PLAN_ROWS_H

#include "model/record.h"
#include "store/store.h"

BERTH_MUST_CHECK enum berth_code store_plan_insert(
    struct store *s, const struct plan_row *p, int64_t *id_out, struct berth_err *err);
BERTH_MUST_CHECK enum berth_code store_plan_list(struct store *s, size_t limit, struct arena *a,
    struct plan_row **ps_out, size_t *n_out, struct berth_err *err); /* newest first */
BERTH_MUST_CHECK enum berth_code store_plan_get(struct store *s, int64_t id, struct arena *a,
    struct plan_row *p_out, struct berth_err *err); /* BERTH_ENOTFOUND */
/* The newest plan before that one; id 0 in it: there is none. */
BERTH_MUST_CHECK enum berth_code store_plan_before(
    struct store *s, int64_t id, struct arena *a, struct plan_row *p_out, struct berth_err *err);

BERTH_MUST_CHECK enum berth_code store_decision_insert(
    struct store *s, const struct decision *d, int64_t *id_out, struct berth_err *err);
/* Of one that still stands, what it says is brought up to date. */
BERTH_MUST_CHECK enum berth_code store_decision_change(
    struct store *s, int64_t id, const char *json, struct berth_err *err);
/* What it was made from is kept under that decision. */
BERTH_MUST_CHECK enum berth_code store_decision_link(
    struct store *s, int64_t id, int64_t placement_id, struct berth_err *err);
/* Those of which that is so, oldest first. */
BERTH_MUST_CHECK enum berth_code store_decision_with(struct store *s, int64_t placement_id,
    struct arena *a, struct decision **ds_out, size_t *n_out, struct berth_err *err);
BERTH_MUST_CHECK enum berth_code store_decision_get(struct store *s, int64_t id, struct arena *a,
    struct decision *d_out, struct berth_err *err); /* BERTH_ENOTFOUND */
/* Those of one kind that a run took at one time, oldest first. */
BERTH_MUST_CHECK enum berth_code store_decision_of(struct store *s, int64_t run, int64_t t,
    const char *kind, struct arena *a, struct decision **ds_out, size_t *n_out,
    struct berth_err *err);
/* Newest first; kind, subject NULL: any. limit 0: all */
BERTH_MUST_CHECK enum berth_code store_decision_list(struct store *s, const char *kind,
    const char *subject, size_t limit, struct arena *a, struct decision **ds_out, size_t *n_out,
    struct berth_err *err);
/*
 * Why the subject is where it is, two or three at most: the newest decision but of how often it
 * writes checkpoints; behind it the one that made it leave its last machine, and how often it
 * writes checkpoints, as far as they belong to it.
 */
BERTH_MUST_CHECK enum berth_code store_decision_stand(struct store *s, const char *subject,
    struct arena *a, struct decision **ds_out, size_t *n_out, struct berth_err *err);
/* The last decision of this kind about each job that is queued, as far as it was made at since or
 * later. */
BERTH_MUST_CHECK enum berth_code store_decision_last(struct store *s, const char *kind,
    int64_t since, struct arena *a, struct decision **ds_out, size_t *n_out, struct berth_err *err);

#endif
