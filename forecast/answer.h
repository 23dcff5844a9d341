/* forecast/answer.h - what a forecast answers: when the peak comes, what drives it, when a capacity
 * is passed. Floor: domain.  All of it is read off the sample paths of a result, which must have
 * some.
 */
#ifndef BERTH_FORECAST_ANSWER_H
#define BERTH_FORECAST_ANSWER_H

#include "forecast/forecast.h"

/* Distribution of the time of the maximum over the horizon. */
struct fc_when {
	int64_t p10, p50, p90; /* start of the step that it comes in, or before, with this chance */
	int64_t day; /* start of the 24 h, counted from the forecast's start, in which most paths
			have it */
	int64_t likeliest; /* step of that day in which most paths have it */
	double day_share;  /* share of the paths that have it there */
};
void fc_when(const struct fc_result *r, struct fc_when *out);

/* passed [horizon]: share of the paths that stood above gpus in at least one of the steps 0 to i.
 */
void fc_passed(const struct fc_result *r, double gpus, double *passed);

/* Sum of parts: level + growth + season + events + doubt = peak. */
struct fc_drivers {
	int64_t t;     /* fc_when.likeliest */
	double level;  /* mean of the history's last week, as the events have left it */
	double growth; /* mean of the week around t over that */
	double season; /* mean of the step t over that of its week */
	double events; /* what the roadmap adds to the mean at t */
	double
	    doubt; /* the peak over the mean at t: demand within the step, and what is not known */
	double peak; /* P95 of the maximum */
};
/* base [horizon]: mean of the forecast without events; NULL: there are none. in: the history it was
 * made of. */
void fc_drivers(const struct fc_series *in, const struct fc_result *r, const double *base,
    struct fc_drivers *out);

#endif
