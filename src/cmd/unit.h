/* src/cmd/unit.h - the card that the GPUs of a series are counted in, by what its history ran on.
 * Floor: cmd. */
#ifndef BERTH_CMD_UNIT_H
#define BERTH_CMD_UNIT_H

#include "cmd/joins.h"
#include "forecast/forecast.h"
#include "model/accel.h"
#include "model/formmix.h"
#include "model/series.h"
#include "util/err.h"

struct arena;
struct jsonw;
struct store;

/* What of a series' history ran on one product of the group that it is of. */
struct unit_form {
	const struct accel *accel; /* the group itself: its sources do not say which */
	double gpu_hours;
	double rate;  /* GPUs of the unit that one counts as */
	double *part; /* [steps] weight in each step, of those that are known; in the making */
};

struct unit {
	const struct accel *in; /* NULL: not looked up */
	struct unit_form *form; /* [n], by name */
	size_t n;
	double gpu_hours, unkept; /* of the history; of which nothing is kept */
	bool mixed;               /* history was brought to the unit, step by step */
	bool told;                /* false: as if nothing were kept, and nothing is said */
};

/*
 * What a series of accel ran on, in the steps of in (its history, with that of what it was joined
 * to before joined). unit->in is NULL then: unit_choose() sets it. Errors: those of the store.
 */
BERTH_MUST_CHECK enum berth_code unit_read(struct store *s, const struct accel_table *accels,
    const struct joins *joins, const struct series *row, const struct accel *accel,
    const struct fc_series *in, int64_t joined, struct arena *a, struct unit *out,
    struct berth_err *err);
/*
 * The unit of u [n], all of accel: the one form where all of what is known ran on it, else the
 * group's fastest card. Sets the rates.
 */
void unit_choose(
    struct unit *const *u, size_t n, const struct accel *accel, enum accel_precision precision);
/* Brings a history to the unit: each step's GPUs times the rates of what they were; what is not
 * kept counts as the rest does. */
void unit_apply(struct unit *u, struct fc_series *in, struct arena *a);
/* All three for one series by itself, at the rates of bf16: u->in, and in brought to it. */
BERTH_MUST_CHECK enum berth_code unit_one(struct store *s, const struct accel_table *accels,
    const struct series *row, const struct accel *accel, struct fc_series *in, struct arena *a,
    struct unit *out, struct berth_err *err);
/* The forms of several series of one unit together. */
struct unit unit_sum(const struct unit *const *u, size_t n, struct arena *a);
/* Keys of a series: "unit", "forms", "forms_unknown". */
void unit_json(struct jsonw *w, const struct unit *u);
/* An array "forms" of what is kept of all of a series: products with their GPU-hours, null where
 * its source did not say which. */
BERTH_MUST_CHECK enum berth_code unit_series_json(
    struct jsonw *w, struct store *s, const struct series *row, struct berth_err *err);
/* The same in a sentence; NULL: nothing is to be said. */
const char *unit_say(const struct unit *u, const struct accel *accel, struct arena *a);

#endif
