#include "config.h"

#include <stdint.h>
#include <string.h>

#include "cmd/calendar.h"
#include "model/datapath.h"
#include "model/holiday.h"
#include "util/arena.h"
#include "util/fileio.h"
#include "util/str.h"
#include "util/tz.h"

enum {
	CALENDAR_PAST_YEARS = 20,
	CALENDAR_AHEAD_YEARS = 6
}; /* more than a history looks back, and a horizon ahead */

static int64_t
calendar_offset(void *arg, int64_t t)
{
	return tz_offset(arg, t);
}

/* A file, or the bundled one of a country. */
static enum berth_code
calendar_holidays(
    const struct cmd_ctx *ctx, const char *name, struct fc_options *o, struct berth_err *err)
{
	const char *path = name;
	struct holidays h;
	int64_t *days, today = ctx->now / 86400;
	enum berth_code rc = BERTH_OK;

	if (strlen(name) == 2 && !fileio_exists(name))
		rc = data_path(ctx->arena,
		    arena_printf(ctx->arena, "holidays/%s.csv", str_lower(ctx->arena, name)), &path,
		    err);
	if (rc == BERTH_OK)
		rc = holiday_read(ctx->arena, path, &h, err);
	if (rc != BERTH_OK)
		return rc;
	holiday_days(&h, today - CALENDAR_PAST_YEARS * 366, today + CALENDAR_AHEAD_YEARS * 366,
	    ctx->arena, &days, &o->n_holidays);
	o->holidays = days;
	return BERTH_OK;
}

/* A path of berth.yaml starts from its folder; a country is no path. */
static const char *
calendar_path(const struct cmd_ctx *ctx, const struct config *config)
{
	const char *name = config->defaults.holidays;

	return name == NULL || strlen(name) == 2 || name[0] == '/' || config->dir[0] == '\0'
		   ? name
		   : arena_printf(ctx->arena, "%s/%s", config->dir, name);
}

enum berth_code
calendar_options(struct cmd_ctx *ctx, const char *zone, const char *holidays, struct fc_options *o,
    struct berth_err *err)
{
	const struct config *config;
	const struct tz *tz;
	enum berth_code rc = cmd_config(ctx, &config, err);

	if (rc != BERTH_OK)
		return rc;
	if (holidays != NULL || config->defaults.holidays != NULL) {
		rc = calendar_holidays(
		    ctx, holidays != NULL ? holidays : calendar_path(ctx, config), o, err);
		if (rc != BERTH_OK)
			return err_ctx(
			    err, holidays != NULL ? "--holidays" : "holidays of berth.yaml");
	}
	if (zone == NULL && config->defaults.zone == NULL)
		return BERTH_OK;
	rc = tz_load(ctx->arena, zone != NULL ? zone : config->defaults.zone, &tz, err);
	if (rc != BERTH_OK)
		return err_ctx(err, zone != NULL ? "--zone" : "zone of berth.yaml");
	o->utc_offset = calendar_offset;
	o->utc_offset_arg = (void *)(uintptr_t)tz;
	return BERTH_OK;
}
