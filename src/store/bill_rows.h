/* src/store/bill_rows.h - what bills say of GPUs.  Floor: store. */
#ifndef BERTH_STORE_BILL_ROWS_H
#define BERTH_STORE_BILL_ROWS_H

#include "store/series_rows.h"
#include "store/store.h"

struct bill_row {
	int64_t start, end; /* charge period */
	int64_t key_hi, key_lo,
	    n;         /* with start the key: n tells rows apart that nothing else does, from 0 */
	int64_t scope; /* one account's bill of one period */
	int64_t label; /* store_bill_label() */
	bool used;     /* false: a commitment that was paid and not used */
	double gpu_hours;
	double cost;          /* effective; NaN not said */
	const char *currency; /* "USD" */
};

/* Makes or finds a set of labels, a JSON object text with keys in order. */
BERTH_MUST_CHECK enum berth_code store_bill_label(
    struct store *s, const char *labels, int64_t *id_out, struct berth_err *err);
/* Stores a row, or puts it in the place of the one with its key; *fate_out as for samples. */
BERTH_MUST_CHECK enum berth_code store_bill_put(
    struct store *s, const struct bill_row *row, enum put_fate *fate_out, struct berth_err *err);
/* All rows of a scope are gone until they are put again. Their times: *from_out > *to_out: there
 * are none. */
BERTH_MUST_CHECK enum berth_code store_bill_expect(
    struct store *s, int64_t scope, int64_t *from_out, int64_t *to_out, struct berth_err *err);
/* Starts of the first and the last row; from > to: none. */
BERTH_MUST_CHECK enum berth_code store_bill_bounds(
    struct store *s, int64_t *from_out, int64_t *to_out, struct berth_err *err);

/* What rows with the same labels, period and currency add up to; those that are gone count as 0. */
struct bill_sum {
	int64_t label, start, end;
	const char *currency;
	bool used; /* some row is about use */
	double gpu_hours;
	double cost; /* NaN: no row says */
};
typedef enum berth_code store_bill_fn(void *arg, const struct bill_sum *sum, struct berth_err *err);
/* Of rows that start in [from, to]; lent to fn. */
BERTH_MUST_CHECK enum berth_code store_bill_sums(
    struct store *s, int64_t from, int64_t to, store_bill_fn *fn, void *arg, struct berth_err *err);

struct bill_label_row {
	int64_t id;
	const char *labels;
};
BERTH_MUST_CHECK enum berth_code store_bill_labels(struct store *s, struct arena *a,
    struct bill_label_row **v_out, size_t *n_out, struct berth_err *err); /* by id */
/* Keeps a grouping; *added_out: it is new. */
BERTH_MUST_CHECK enum berth_code store_bill_view_put(
    struct store *s, const char *keys, bool *added_out, struct berth_err *err);
BERTH_MUST_CHECK enum berth_code store_bill_view_list(
    struct store *s, struct arena *a, const char ***v_out, size_t *n_out, struct berth_err *err);

#endif
