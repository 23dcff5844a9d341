/* providers/replay/curve.h - a value that changes in steps over time.  Floor: providers. */
#ifndef BERTH_PROVIDERS_REPLAY_CURVE_H
#define BERTH_PROVIDERS_REPLAY_CURVE_H

#include <stddef.h>
#include <stdint.h>

#define CURVE_NEVER INT64_MAX

/*
 * value[i] holds in [start + at[i], start + at[i + 1]); before the first step the first value,
 * behind the last one the last. With repeat_s > 0 the steps below repeat_s come again every
 * repeat_s seconds, both ways in time.
 */
struct curve {
	int64_t start;       /* s since epoch */
	int64_t repeat_s;    /* 0: never */
	size_t n;            /* > 0; at[0] == 0, at[] ascending */
	const int64_t *at;   /* [n] s behind start */
	const double *value; /* [n] */
};

/* The value at t; NaN for a curve without steps. */
double curve_at(const struct curve *c, int64_t t);
/* First time > t at which a step begins, CURVE_NEVER if there is none. The value may be the same as
 * before. */
int64_t curve_next(const struct curve *c, int64_t t);

#endif
