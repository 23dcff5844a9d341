/* src/cmd/plan_lines.h - what the files share that make lines of offers and of what is owned.
 * Floor: cmd; for plan_*.c alone. */
#ifndef BERTH_CMD_PLAN_LINES_H
#define BERTH_CMD_PLAN_LINES_H

#include "cmd/plan_join.h"
#include "util/vec.h"

#define PLAN_AS_FAST 0.005 /* speeds so close to 1 are not told of */

/* The lines of one problem, in the making. */
struct plan_lines {
	struct arena *a;
	VEC(struct commit_line) line;
	VEC(const struct offer *) offer;
	VEC(const char *) name;
	VEC(double) carries;
};

/*
 * GPUs of the series' accelerator that one of this offer stands for: 1 for that accelerator, of a
 * group for its fastest card, the ratio of rates for slower ones and for another that was named,
 * times what probes measured; 0: it cannot do the work.
 */
double plan_speed(const struct plan_options *o, const struct accel_table *accels,
    const struct plan_series *ps, const struct offer *x);
/* The same of one machine that may be bought. Purchases at start dates are counted in whole GPUs:
 * parts of one do not count there. */
double plan_carries(const struct plan_options *o, double speed, const struct offer *x);
/* gpus and speed of a line for one machine. */
int64_t plan_units(double carries, double *speed_out);
/* USD of an hour of use of a machine, beside what is paid whether it is used or not. */
double plan_use_hour(const struct offer *o);
/* USD of a GPU-hour that nothing serves; INFINITY: nothing is on demand. */
double plan_unserved(const struct plan_series *ps);
const char *plan_name(const struct offer *o, struct arena *a);
/* Said of an offer whose GPUs are not as fast as those that the series' are counted in. */
const char *plan_note(const struct plan_series *ps, double speed, struct arena *a);
void plan_add_line(struct plan_lines *l, struct commit_line line, double carries,
    const struct offer *o, const char *note);
/* The series' own part of what is owned becomes its first lines, and ps->owned. */
void plan_owned(const struct commitment *c, size_t n, const struct plan_options *o,
    const struct accel_table *accels, struct plan_series *ps, struct plan_lines *l);
/* Steps of a commitment inside the series' horizon, in seconds. False: none. */
bool plan_owned_holds(
    const struct commitment *c, const struct plan_series *ps, int64_t *lo_out, int64_t *hi_out);
/* USD of a GPU-hour of its use. */
double plan_owned_use(const struct plan_series *ps, const struct offer *x, double carries);
double plan_owned_whole(double machines, double carries);
/* GPUs that spot may carry, all offers together, before they are rounded down. */
double plan_spot_gpus(const struct plan_series *ps, const struct plan_options *o);
/* Lines and problem of a series. */
void plan_lines_of(const struct commitment *owned, size_t n_owned, const struct accel_table *accels,
    const struct plan_options *o, struct plan_series *ps, struct arena *a);
void plan_shares(const struct plan_options *o, struct plan_series *ps, struct arena *a);

#endif
