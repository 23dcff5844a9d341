/* src/plan/spot_impl.h - what the files of spot share.  Floor: domain; for src/plan/spot*.c alone.
 */
#ifndef BERTH_PLAN_SPOT_IMPL_H
#define BERTH_PLAN_SPOT_IMPL_H

#include "plan/spot.h"

#define SPOT_SURPRISE 0.05 /* share of runs that reach an age that tells of other times */

size_t spot_bucket(int age, const int edge[SPOT_AGES - 1]);
double spot_price(const struct spot_world *w, size_t zone, size_t t, const struct spot_setting *s);
int spot_region(const struct spot_world *w, size_t zone);
double spot_move(const struct spot_world *w, int from, size_t zone);
const struct spot_table *spot_table_at(
    const struct spot_world *w, const struct spot_table *table, double price);
/* Is a launch in this up zone expected to pay, so far as is known? */
bool spot_pays(const struct spot_world *w, size_t zone, size_t t);
/* The union of the zones, where something is known of launches of those where one pays. */
const struct spot_zone *spot_any_zone(const struct spot_world *w);
/* The chance that its run goes on for two changeovers; 0: not known. */
double spot_zone_lasts(const struct spot_world *w, size_t zone, size_t t);
/* The up zone where a launch pays with the greatest score, the first without scores; n_zones: none.
 */
size_t spot_longest_zone(const struct spot_world *w, size_t t);
/* The up zone with the least cost a tick of work, changeover and move counted over what its run has
 * left; n_zones: none under 1. */
size_t spot_cheapest_zone(
    const struct spot_world *w, size_t t, const struct spot_setting *s, int region, int work);
/* Does what is saved there, for as long as it is likely to stay up, pay the changeover and the
 * move? */
bool spot_worth_moving(const struct spot_world *w, size_t t, const struct spot_setting *s,
    size_t from, size_t to, int work);

#endif
