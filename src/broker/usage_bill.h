/* src/broker/usage_bill.h - rows of bills into the store, and the series they make.  Floor: broker.
 */
#ifndef BERTH_BROKER_USAGE_BILL_H
#define BERTH_BROKER_USAGE_BILL_H

#include "broker/usage_load.h"
#include "ingest/focus.h"
#include "util/strmap.h"
#include "util/vec.h"

/* What the files of one command share: they are the parts of one export. Zeroed but for a, which
 * outlives them. */
struct usage_bill_parts {
	struct arena *a;
	struct strmap rows; /* "key start" -> how many with this key there were */
	struct strmap scopes;
};

struct usage_bill_options {
	const char *const *by; /* [n_by] labels; n_by 0: provider, region, accelerator, purchase */
	size_t n_by;
	bool replace; /* rows of a bill that the parts no longer have are gone */
	struct usage_load_options load;
};

struct usage_bill;

/*
 * Takes rows one by one and stores them by their key; then makes the series of every grouping that
 * the store keeps anew where something changed. From here on a transaction is open:
 * usage_bill_end() ends it, all or nothing. set  gets the series that were made
 */
BERTH_MUST_CHECK enum berth_code usage_bill_new(struct store *s, struct usage_set *set,
    struct usage_bill_parts *parts, const struct usage_bill_options *o, usage_say_fn *say,
    void *arg, struct usage_bill **b_out, struct berth_err *err);
/* arg is the struct usage_bill */
enum berth_code usage_bill_take(void *arg, const struct focus_bill *row, struct berth_err *err);
/* rc not BERTH_OK: rolls back, and gives rc. read: for the log of loads. Frees b, which may be
 * NULL. */
BERTH_MUST_CHECK enum berth_code usage_bill_end(struct usage_bill *b, enum berth_code rc,
    const struct usage_counts *read, struct usage_load_counts *counts_out, struct berth_err *err);

#endif
