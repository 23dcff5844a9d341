/* src/store/forecast_rows.h - forecasts until they are scored, and their scores.  Floor: store. */
#ifndef BERTH_STORE_FORECAST_ROWS_H
#define BERTH_STORE_FORECAST_ROWS_H

#include "model/record.h"
#include "store/store.h"

/* In place of one of the same series, as_of and horizon, and of its score. id and run are set by
 * the store. */
BERTH_MUST_CHECK enum berth_code store_forecast_insert(
    struct store *s, const struct forecast_row *f, int64_t *id_out, struct berth_err *err);
/* Newest first; series NULL: of all. limit 0: all */
BERTH_MUST_CHECK enum berth_code store_forecast_list(struct store *s, const char *series,
    size_t limit, struct arena *a, struct forecast_row **fs_out, size_t *n_out,
    struct berth_err *err);
/* What identifies them alone (n is 0), oldest as_of first, of each as_of the one that was made
 * first. */
BERTH_MUST_CHECK enum berth_code store_forecast_heads(struct store *s, const char *series,
    struct arena *a, struct forecast_row **fs_out, size_t *n_out, struct berth_err *err);
BERTH_MUST_CHECK enum berth_code store_forecast_get(struct store *s, int64_t id, struct arena *a,
    struct forecast_row *f_out, struct berth_err *err); /* BERTH_ENOTFOUND */
/* The forecast is gone; what is kept of it is its score, NULL: nothing. */
BERTH_MUST_CHECK enum berth_code store_forecast_settle(
    struct store *s, int64_t id, const struct forecast_score_row *score, struct berth_err *err);
/* Packs what an earlier version kept as JSON of this series; what can not be read stays. */
BERTH_MUST_CHECK enum berth_code store_forecast_repack(
    struct store *s, const char *series, struct berth_err *err);
/* Of one series, oldest as_of first. */
BERTH_MUST_CHECK enum berth_code store_forecast_scores(struct store *s, const char *series,
    struct arena *a, struct forecast_score_row **rows_out, size_t *n_out, struct berth_err *err);

#endif
