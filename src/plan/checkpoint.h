/* src/plan/checkpoint.h - how long to work until the next checkpoint.  Floor: domain. */
#ifndef BERTH_PLAN_CHECKPOINT_H
#define BERTH_PLAN_CHECKPOINT_H

#include "plan/spot.h"
#include "util/arena.h"

/*
 * The longest that a job is told to work between two writes, s, whatever its machine: 2 h, or 60
 * times the write where that is longer, so that writes never take over 1/60 on a machine that does
 * not fail.
 */
double checkpoint_most_s(double write_s);

/* Optima of one kind of machine and one time to write, by the machine's age. */
struct checkpoint_table;

/*
 * Most expected work kept until the machine is lost, when each interval is chosen by its age:
 *   V(a) = max over t of e^(H(a) - H(a + t + w)) (t + V(a + t + w)),  H the hazard summed up,
 * by backward induction over the ages; from the last age on, where the hazard is constant, the
 * closed form of cost_checkpoint_s(). A machine's life does not depend on the intervals, so what
 * keeps most wastes least.
 * hazard   [SPOT_AGES] losses an hour of all machines of the job, by age, > 0
 * write_s  of one checkpoint, >= 0
 */
const struct checkpoint_table *checkpoint_table_new(
    struct arena *a, const double hazard[SPOT_AGES], double write_s);
/* Is it the table of these? */
bool checkpoint_table_is(
    const struct checkpoint_table *t, const double hazard[SPOT_AGES], double write_s);
/* Seconds of work until the next write on machines of this age; below 0 counts as 0. */
double checkpoint_next_s(const struct checkpoint_table *t, double age_s);

#endif
