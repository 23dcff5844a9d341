/* src/cmd/calendar.h - the clock and the days off that forecasts go by.  Floor: cmd. */
#ifndef BERTH_CMD_CALENDAR_H
#define BERTH_CMD_CALENDAR_H

#include "cmd/cmd.h"
#include "forecast/forecast.h"

/*
 * Fills in utc_offset and holidays of o. zone, holidays: of the command line; NULL: those of
 * berth.yaml, else none. Errors: those of tz_load() and of the file of days off, with the option in
 * front.
 */
BERTH_MUST_CHECK enum berth_code calendar_options(struct cmd_ctx *ctx, const char *zone,
    const char *holidays, struct fc_options *o, struct berth_err *err);

#endif
