/* src/cmd/simscale.h - policies of autoscaling over a load as it was.  Floor: cmd. */
#ifndef BERTH_CMD_SIMSCALE_H
#define BERTH_CMD_SIMSCALE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "forecast/forecast.h"
#include "plan/scalehours.h"
#include "util/arena.h"
#include "util/err.h"
#include "util/opt.h"

enum simscale_policy {
	SIMSCALE_FIXED_PEAK, /* enough for the highest load there is: known only behind */
	SIMSCALE_FIXED_MEAN,
	SIMSCALE_THRESHOLD, /* Kubernetes' horizontal pod autoscaler: ratio, tolerance, 5 min of
			       stabilisation down */
	SIMSCALE_BERTH,     /* plan/scale.h on the load alone, but for a headroom by forecast */
	SIMSCALE_FORECAST,  /* ... and on forecasts made with what was known then */
	SIMSCALE_POLICIES
};
const char *simscale_name(size_t p); /* "fixed_peak" */

struct simscale_grid {
	struct scale_rule rule;          /* max 0: none */
	const struct scale_hours *hours; /* [n_hours] by the clock of tz; of berth's own policies */
	size_t n_hours;
	const struct tz *tz;
	int64_t period_s; /* between decisions; each sees the load of the period before */
	int64_t every_s;  /* between forecasts */
	double level;     /* of the forecast, a value of fc_levels */
	bool policy[SIMSCALE_POLICIES];
};

struct simscale_result {
	double cost;        /* replica-hours, from the order to the release */
	double shortage;    /* load-hours that were not carried */
	double load;        /* load-hours in all */
	double short_hours; /* in which some load was not carried */
	int64_t changes, starts,
	    most;      /* decisions that changed the number; replicas ordered; most at a time */
	int64_t flaps; /* up, down and up again within the window */
};

/*
 * load [n] steps of step_s from t0; NaN: not known: policies get no metric, nothing is short.
 * hours: the same by the hour, for the forecasts, which are made each every_s once two days are
 * known. out [SIMSCALE_POLICIES]. Errors: BERTH_EINFEASIBLE no load at all; those of scale_check()
 * and of the forecast.
 */
BERTH_MUST_CHECK enum berth_code simscale_run(const double *load, size_t n, int64_t t0,
    int64_t step_s, const struct fc_series *hours, const struct simscale_grid *g, struct arena *a,
    struct simscale_result *out, struct berth_err *err);

/* simscale_show.c: the subverb. */
struct cmd_ctx;
struct simulate_scale_opts {
	double unit, target, tolerance, down_rate, level;
	int64_t min, max, gpus, boot_s, down_window_s, billing_s, period_s, every_s, from, to;
	struct opt_list policies, hours;
	const char *headroom, *zone, *svg;
};
extern const struct opt_row simulate_scale_rows[];
extern const struct simulate_scale_opts simulate_scale_defaults;
enum berth_code simulate_scale(struct cmd_ctx *ctx, struct berth_err *err);

#endif
