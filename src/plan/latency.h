/* src/plan/latency.h - round trips between regions of clouds, estimated from where they lie. Floor:
 * domain. */
#ifndef BERTH_PLAN_LATENCY_H
#define BERTH_PLAN_LATENCY_H

#include <stdbool.h>

/*
 * Round trip in ms between two places, each "provider/region" or a region alone: 1 ms and 1.5 times
 * what light needs in glass along the great circle between their cities, there and back. NaN where
 * a place is not known, 1 where both are the same text.
 */
double latency_ms(const char *from, const char *to);
bool latency_known(const char *place);
/* The region that one of an unknown name may mean, of its provider if it says one; NULL: none is
 * near. */
const char *latency_suggest(const char *place);

#endif
