/* src/broker/usage_history.h - what is kept of a series, in whatever tier, as forecasts want it.
 * Floor: broker. */
#ifndef BERTH_BROKER_USAGE_HISTORY_H
#define BERTH_BROKER_USAGE_HISTORY_H

#include <stdint.h>

#include "forecast/forecast.h"
#include "model/series.h"
#include "util/arena.h"
#include "util/err.h"

struct store;

#define USAGE_LOOK_S (INT64_C(366) * 86400) /* of the history, what a fit looks at by itself */

struct usage_history {
	struct fc_series s;  /* hours, or the series' own steps if they are longer, or days; n 0:
				nothing is known */
	int64_t days_until;  /* entries before this are laid out from days; s.t0 or less: none */
	const char *warning; /* a whole sentence on what is coarser than asked for; NULL: nothing */
};

/*
 * Everything strictly before to (0: all); what is rolled up to a bucket in which to lies is not
 * known before it. Days become the entries of s: those of their steps that are there get the
 * quantiles of the day's sketch, in the order of the rhythm that later entries show over the week
 * (over the day, if that is all), with the sum of the day kept; the highest gets the day's peak.
 * Where less than two days of entries are known, the series is one of days instead. look_s   a
 * warning is given only if what is coarser lies within so much of the end; 0: anywhere Everything
 * lies in a.  Errors: those of store_history().
 */
BERTH_MUST_CHECK enum berth_code usage_history(struct store *s, const struct series *row,
    int64_t to, int64_t look_s, struct arena *a, struct usage_history *out, struct berth_err *err);

#endif
