/* src/store/tier_late.h - steps of a time that is rolled up already.  Floor: store, private to it.
 */
#ifndef BERTH_STORE_TIER_LATE_H
#define BERTH_STORE_TIER_LATE_H

#include "store/tier.h"
#include "store/tier_rows.h"

struct late_put {
	struct put_counts counts;
	int64_t grown;           /* steps more than before */
	int64_t first_t, last_t; /* of steps that were stored; INT64_MAX and INT64_MIN: none */
	double peak;             /* of buckets that were written; NaN none */
	bool scan;               /* a bucket was changed: the peak of the series may be lower now */
};

/* v [n] ascending, all before tier_late(marks); out is added to. See store_samples_late(). */
BERTH_MUST_CHECK enum berth_code tier_late_put(struct store *s, int64_t series_id, int64_t step_s,
    const struct tier_marks *marks, const struct sample *v, size_t n, const struct put_rule *rule,
    unsigned char *fate, struct late_put *out, struct berth_err *err);

#endif
