/* src/store/form_rows.h - which products the GPUs of a series were.  Floor: store. */
#ifndef BERTH_STORE_FORM_ROWS_H
#define BERTH_STORE_FORM_ROWS_H

#include "model/formmix.h"
#include "store/store.h"

/*
 * Puts runs [n], ascending and apart, in the place of what is kept of their times; neighbours of
 * one mix become one run. Rolling up and pruning leave them alone. BERTH_EINVAL: they do not
 * ascend.
 */
BERTH_MUST_CHECK enum berth_code store_forms_put(
    struct store *s, int64_t series_id, const struct form_run *v, size_t n, struct berth_err *err);
/* Those that begin before to (0: all), by time. */
BERTH_MUST_CHECK enum berth_code store_forms_list(struct store *s, int64_t series_id, int64_t to,
    struct arena *a, struct form_run **runs_out, size_t *n_out, struct berth_err *err);

#endif
