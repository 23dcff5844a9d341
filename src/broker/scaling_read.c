/* `fleets:` of berth.yaml. */
#include <math.h>
#include <string.h>

#include "broker/scaling.h"
#include "util/str.h"
#include "util/yaml.h"

static enum berth_code
scaling_source_read(
    const struct yaml_node *fleet, const char *key, struct scaling_source *s, struct berth_err *err)
{
	static const char *const keys[] = { "series", "query", "queue", "url", "token", "stale",
		NULL };
	const char *series = NULL, *query = NULL, *queue = NULL;
	const struct yaml_node *map = NULL;
	enum berth_code rc = yaml_map(fleet, key, &map, err);

	*s = (struct scaling_source){ .kind = SCALING_NONE };
	if (rc != BERTH_OK || map == NULL)
		return rc;
	if ((rc = yaml_need_kind(map, YAML_KIND_MAP, err)) != BERTH_OK ||
	    (rc = yaml_check_keys(map, keys, err)) != BERTH_OK ||
	    (rc = yaml_str(map, "series", &series, err)) != BERTH_OK ||
	    (rc = yaml_str(map, "query", &query, err)) != BERTH_OK ||
	    (rc = yaml_str(map, "queue", &queue, err)) != BERTH_OK ||
	    (rc = yaml_str(map, "url", &s->url, err)) != BERTH_OK ||
	    (rc = yaml_str(map, "token", &s->token, err)) != BERTH_OK ||
	    (rc = yaml_duration(map, "stale", &s->stale_s, err)) != BERTH_OK)
		return rc;
	if ((series != NULL) + (query != NULL) + (queue != NULL) != 1)
		return yaml_err(map, err, "needs one of 'series', 'query' and 'queue'");
	if ((query != NULL) != (s->url != NULL))
		return yaml_err(
		    map, err, "'query' and the 'url' of the Prometheus server belong together");
	if (s->url != NULL && !str_starts(s->url, "http://") && !str_starts(s->url, "https://"))
		return yaml_err(yaml_get(map, "url"), err, "must begin with http:// or https://");
	if (s->token != NULL && !str_starts(s->token, "env:") && !str_starts(s->token, "file:"))
		return yaml_err(yaml_get(map, "token"), err,
		    "must be env:NAME or file:PATH; the secret itself does not belong in this "
		    "file");
	if (s->stale_s < 0)
		return yaml_err(yaml_get(map, "stale"), err, "must not be below 0");
	s->kind = series != NULL ? SCALING_SERIES : query != NULL ? SCALING_QUERY : SCALING_QUEUE;
	s->text = series != NULL ? series : query != NULL ? query : queue;
	return BERTH_OK;
}

static enum berth_code
scaling_forecast_read(const struct yaml_node *fleet, struct scaling_fleet *f, struct berth_err *err)
{
	static const char *const keys[] = { "series", "level", "stale", NULL };
	static const char *const needed[] = { "series", NULL };
	const struct yaml_node *map = NULL, *level;
	enum berth_code rc = yaml_map(fleet, "forecast", &map, err);

	f->level = 0.9;
	if (rc != BERTH_OK || map == NULL)
		return rc;
	if ((rc = yaml_check_keys(map, keys, err)) != BERTH_OK ||
	    (rc = yaml_need_keys(map, needed, err)) != BERTH_OK ||
	    (rc = yaml_str(map, "series", &f->forecast, err)) != BERTH_OK ||
	    (rc = yaml_duration(map, "stale", &f->forecast_stale_s, err)) != BERTH_OK)
		return rc;
	if (f->forecast_stale_s < 0)
		return yaml_err(yaml_get(map, "stale"), err, "must not be below 0");
	level = yaml_get(map, "level");
	if (level != NULL && level->kind == YAML_KIND_SCALAR && str_eq(level->text, "none")) {
		f->level = 0;
		return BERTH_OK;
	}
	if ((rc = yaml_double(map, "level", 0, 1, &f->level, err)) != BERTH_OK)
		return rc;
	if (fabs(f->level - 0.5) > 1e-9 && fabs(f->level - 0.9) > 1e-9 &&
	    fabs(f->level - 0.95) > 1e-9 && fabs(f->level - 0.99) > 1e-9)
		return yaml_err(yaml_get(map, "level"), err,
		    "must be none or one of 0.5, 0.9, 0.95 and 0.99: those are kept of a "
		    "forecast");
	return BERTH_OK;
}

static enum berth_code
scaling_rule_read(const struct yaml_node *n, struct scale_rule *r, struct berth_err *err)
{
	struct berth_err why = { 0 };
	enum berth_code rc;

	*r = (struct scale_rule){ .target = 1, .tolerance = 0.1, .boot_s = 600, .down_rate = 0.2 };
	if ((rc = yaml_int(n, "min", 0, 100000, &r->min, err)) != BERTH_OK ||
	    (rc = yaml_int(n, "max", 0, 100000, &r->max, err)) != BERTH_OK ||
	    (rc = yaml_double(n, "unit", 0, 1e12, &r->unit, err)) != BERTH_OK ||
	    (rc = yaml_double(n, "target", 0, 1, &r->target, err)) != BERTH_OK ||
	    (rc = yaml_double(n, "tolerance", 0, 1, &r->tolerance, err)) != BERTH_OK ||
	    (rc = yaml_double(n, "down_rate", 0, 1, &r->down_rate, err)) != BERTH_OK ||
	    (rc = yaml_duration(n, "boot", &r->boot_s, err)) != BERTH_OK ||
	    (rc = yaml_duration(n, "down_window", &r->down_window_s, err)) != BERTH_OK ||
	    (rc = yaml_duration(n, "billing", &r->billing_s, err)) != BERTH_OK)
		return rc;
	if (yaml_get(n, "drain") != NULL) {
		int64_t drain_s = 0;

		if ((rc = yaml_duration(n, "drain", &drain_s, err)) != BERTH_OK)
			return rc;
		r->drain_s = (double)drain_s;
	}
	if (scale_check(r, &why) != BERTH_OK)
		return yaml_err(n, err, "%s", why.msg);
	return BERTH_OK;
}

/* headroom: 2, 20%, p90 or {gpus: 16}. */
static enum berth_code
scaling_headroom_read(const struct yaml_node *fleet, struct scaling_fleet *f, struct berth_err *err)
{
	static const char *const keys[] = { "gpus", NULL };
	const struct yaml_node *n = yaml_get(fleet, "headroom");
	const char *text = "";
	struct berth_err why;
	enum berth_code rc;

	if (n == NULL)
		return BERTH_OK;
	if (n->kind == YAML_KIND_MAP) {
		if ((rc = yaml_check_keys(n, keys, err)) != BERTH_OK ||
		    (rc = yaml_need_keys(n, keys, err)) != BERTH_OK ||
		    (rc = yaml_int(n, "gpus", 0, 100000, &f->rule.headroom.gpus, err)) != BERTH_OK)
			return rc;
	} else {
		rc = yaml_as_str(n, &text, err);
		if (rc != BERTH_OK)
			return rc;
		if (scale_headroom_parse(text, &f->rule.headroom, &why) != BERTH_OK)
			return yaml_err(n, err, "%s", why.msg);
	}
	f->headroom_gpus = f->rule.headroom.gpus > 0;
	return BERTH_OK;
}

/* The item of a list that text came from, or what stands in its place. */
static const struct yaml_node *
scaling_item(const struct yaml_node *list, size_t i)
{
	return list->kind == YAML_KIND_LIST && i < list->n ? list->items[i] : list;
}

/* hours: [TEXT, ...] and the zone whose clock they are told by. */
static enum berth_code
scaling_hours_read(
    const struct yaml_node *n, struct arena *a, struct scaling_fleet *f, struct berth_err *err)
{
	const char **texts = NULL;
	const char *zone = NULL;
	struct scale_hours *hours;
	struct berth_err why;
	enum berth_code rc = yaml_str_list(a, n, "hours", &texts, &f->n_hours, err);

	if (rc == BERTH_OK)
		rc = yaml_str(n, "zone", &zone, err);
	if (rc != BERTH_OK)
		return rc;
	if (zone != NULL && f->n_hours == 0)
		return yaml_err(
		    yaml_get(n, "zone"), err, "is the clock of 'hours', of which there are none");
	if (f->n_hours == 0)
		return BERTH_OK;
	if (tz_load(a, zone != NULL ? zone : "UTC", &f->tz, &why) != BERTH_OK)
		return yaml_err(yaml_get(n, zone != NULL ? "zone" : "hours"), err, "%s", why.msg);
	hours = arena_array_of(a, f->n_hours, struct scale_hours);
	for (size_t i = 0; i < f->n_hours; i++) {
		const struct yaml_node *item = scaling_item(yaml_get(n, "hours"), i);

		if (scale_hours_parse(texts[i], &hours[i], &why) != BERTH_OK)
			return yaml_err(item, err, "%s", why.msg);
		f->headroom_gpus = f->headroom_gpus || hours[i].headroom.gpus > 0;
	}
	f->hours = hours;
	return BERTH_OK;
}

static bool
scaling_percentile(const struct scaling_fleet *f)
{
	bool any = f->rule.headroom.percentile > 0;

	for (size_t i = 0; i < f->n_hours; i++)
		any = any || f->hours[i].headroom.percentile > 0;
	return any;
}

static enum berth_code
scaling_fleet_read(const struct yaml_node *n, const char *config_dir, struct arena *a,
    struct scaling_fleet *f, struct berth_err *err)
{
	static const char *const keys[] = { "name", "job", "min", "max", "hours", "zone",
		"headroom", "unit", "target", "tolerance", "boot", "down_window", "billing",
		"down_rate", "drain", "metric", "backlog", "busy", "forecast", NULL };
	static const char *const needed[] = { "name", "job", "max", "unit", "metric", NULL };
	static const char *const taken[] = { "plan", "placement", NULL };
	enum berth_code rc;

	*f = (struct scaling_fleet){ .dir = config_dir };
	if ((rc = yaml_need_kind(n, YAML_KIND_MAP, err)) != BERTH_OK ||
	    (rc = yaml_check_keys(n, keys, err)) != BERTH_OK ||
	    (rc = yaml_need_keys(n, needed, err)) != BERTH_OK ||
	    (rc = yaml_str(n, "name", &f->name, err)) != BERTH_OK ||
	    (rc = yaml_str(n, "job", &f->job, err)) != BERTH_OK)
		return rc;
	if (f->name[0] == '\0' || strlen(f->name) > 63 || str_index(f->name, taken) >= 0 ||
	    f->name[strspn(f->name, "abcdefghijklmnopqrstuvwxyz0123456789._-")] != '\0')
		return yaml_err(yaml_get(n, "name"), err,
		    "'%.80s' is no fleet name: use 1 to 63 of a-z, 0-9, '.', '_' and '-', and "
		    "neither plan nor placement",
		    f->name);
	if (f->job[0] != '/' && config_dir != NULL && config_dir[0] != '\0')
		f->job = arena_printf(a, "%s/%s", config_dir, f->job);
	if ((rc = scaling_rule_read(n, &f->rule, err)) != BERTH_OK ||
	    (rc = scaling_headroom_read(n, f, err)) != BERTH_OK ||
	    (rc = scaling_hours_read(n, a, f, err)) != BERTH_OK ||
	    (rc = scaling_source_read(n, "metric", &f->load, err)) != BERTH_OK ||
	    (rc = scaling_source_read(n, "backlog", &f->backlog, err)) != BERTH_OK ||
	    (rc = scaling_source_read(n, "busy", &f->busy, err)) != BERTH_OK ||
	    (rc = scaling_forecast_read(n, f, err)) != BERTH_OK)
		return rc;
	if (scaling_foretold(f) == NULL && scaling_percentile(f))
		return yaml_err(yaml_get(n, "headroom") != NULL ? yaml_get(n, "headroom")
								: yaml_get(n, "hours"),
		    err,
		    "is told by a forecast: 'forecast: {series: NAME, level: none}' says of which "
		    "series, for the metric is none");
	if (f->backlog.kind != SCALING_NONE && f->rule.drain_s <= 0)
		return yaml_err(yaml_get(n, "backlog"), err,
		    "needs 'drain', the time in which it is to be done, as in 10m");
	return BERTH_OK;
}

enum berth_code
scaling_read(const struct yaml_node *config, const char *config_dir, struct arena *a,
    struct scaling_fleet **fleets_out, size_t *n_out, struct berth_err *err)
{
	const struct yaml_node *list = NULL;
	enum berth_code rc = config != NULL ? yaml_list(config, "fleets", &list, err) : BERTH_OK;

	*n_out = 0;
	*fleets_out = NULL;
	if (rc != BERTH_OK || list == NULL)
		return rc;
	*fleets_out = arena_array_of(a, list->n + 1, struct scaling_fleet);
	for (size_t i = 0; i < list->n; i++) {
		struct scaling_fleet *f = &(*fleets_out)[i];

		rc = scaling_fleet_read(list->items[i], config_dir, a, f, err);
		if (rc != BERTH_OK)
			return rc;
		for (size_t k = 0; k < i; k++)
			if (str_eq((*fleets_out)[k].name, f->name))
				return yaml_err(yaml_get(list->items[i], "name"), err,
				    "a second fleet named '%s'", f->name);
	}
	*n_out = list->n;
	return BERTH_OK;
}
