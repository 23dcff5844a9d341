#include "config.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cmd/plan_join.h"
#include "cmd/roadmap.h"
#include "util/arena.h"
#include "util/glob.h"
#include "util/json.h"
#include "util/str.h"
#include "util/time.h"
#include "util/yaml.h"

#define ROADMAP_SCHEMA "berth.roadmap/1"

static const char *const roadmap_keys[] = { "schema", "events", NULL };
static const char *const roadmap_event_keys[] = { "name", "series", "labels", "accelerator",
	"probability", "start", "until", "duration", "gpus", "factor", "growth_per_year", "ramp_up",
	"ramp_down", "note", "known", NULL };

/* Reads the value at a key as a number: GPUs, seconds, seconds since the epoch. */
typedef enum berth_code roadmap_value_fn(const struct yaml_node *map, const char *key,
    const struct tz *tz, double *out, struct berth_err *err);

static enum berth_code
roadmap_number(const struct yaml_node *map, const char *key, const struct tz *tz, double *out,
    struct berth_err *err)
{
	(void)tz;
	return yaml_double(map, key, -1e9, 1e9, out, err);
}

static enum berth_code
roadmap_time(const struct yaml_node *map, const char *key, const struct tz *tz, double *out,
    struct berth_err *err)
{
	int64_t t = 0;
	enum berth_code rc = yaml_time(map, key, 0, tz, &t, err);

	*out = (double)t;
	return rc;
}

static enum berth_code
roadmap_length(const struct yaml_node *map, const char *key, const struct tz *tz, double *out,
    struct berth_err *err)
{
	int64_t s = 0;
	enum berth_code rc = yaml_duration(map, key, &s, err);

	(void)tz;
	*out = (double)s;
	return rc;
}

/* A single value, or a map of the least, the likeliest and the most; words: the names of the three.
 */
static enum berth_code
roadmap_range(const struct yaml_node *map, const char *key, const char *const *words,
    roadmap_value_fn *value, const struct tz *tz, struct fc_range *out, struct berth_err *err)
{
	const struct yaml_node *node = yaml_get(map, key);
	const char *const needed[] = { words[0], words[2], NULL };
	enum berth_code rc;

	if (node == NULL)
		return BERTH_OK;
	if (node->kind != YAML_KIND_MAP) {
		rc = value(map, key, tz, &out->likely, err);
		out->least = out->most = out->likely;
		return rc;
	}
	if ((rc = yaml_check_keys(node, words, err)) != BERTH_OK ||
	    (rc = yaml_need_keys(node, needed, err)) != BERTH_OK ||
	    (rc = value(node, words[0], tz, &out->least, err)) != BERTH_OK ||
	    (rc = value(node, words[2], tz, &out->most, err)) != BERTH_OK)
		return rc;
	out->likely = out->least + 0.5 * (out->most - out->least);
	if (yaml_get(node, words[1]) != NULL &&
	    (rc = value(node, words[1], tz, &out->likely, err)) != BERTH_OK)
		return rc;
	if (!(out->least <= out->likely && out->likely <= out->most))
		return yaml_err(
		    node, err, "%s, %s and %s must not fall", words[0], words[1], words[2]);
	return BERTH_OK;
}

static const char *const roadmap_amounts[] = { "least", "likely", "most", NULL };
static const char *const roadmap_dates[] = { "earliest", "likely", "latest", NULL };

/* gpus, factor or growth_per_year: exactly one. */
static enum berth_code
roadmap_size(const struct yaml_node *node, struct fc_event *e, struct berth_err *err)
{
	static const struct {
		const char *key;
		enum fc_event_kind kind;
	} kinds[] = {
		{ "gpus", FC_EVENT_GPUS },
		{ "factor", FC_EVENT_FACTOR },
		{ "growth_per_year", FC_EVENT_GROWTH },
	};
	const char *found = NULL;
	enum berth_code rc;

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (yaml_get(node, kinds[i].key) == NULL)
			continue;
		if (found != NULL)
			return yaml_err(yaml_get(node, kinds[i].key), err,
			    "an event has one of gpus, factor and growth_per_year; '%s' is given "
			    "already",
			    found);
		found = kinds[i].key;
		e->kind = kinds[i].kind;
		rc = roadmap_range(
		    node, found, roadmap_amounts, roadmap_number, NULL, &e->size, err);
		if (rc != BERTH_OK)
			return rc;
		if (e->kind == FC_EVENT_FACTOR && (e->size.least < 0 || e->size.most > 1000))
			return yaml_err(yaml_get(node, found), err,
			    "must lie between 0 and 1000: 1.2 for a fifth more, 0 for nothing");
		if (e->kind == FC_EVENT_GROWTH && (e->size.least < 0.01 || e->size.most > 100))
			return yaml_err(yaml_get(node, found), err,
			    "must lie between 0.01 and 100: 1.5 for half as much more each year");
	}
	return found != NULL
		   ? BERTH_OK
		   : yaml_err(node, err,
			 "how large is it? one of gpus, factor and growth_per_year is missing");
}

static enum berth_code
roadmap_span(
    const struct yaml_node *node, const struct tz *tz, struct fc_event *e, struct berth_err *err)
{
	const struct yaml_node *until = yaml_get(node, "until"),
			       *length = yaml_get(node, "duration");
	enum berth_code rc;

	e->length = (struct fc_range){ INFINITY, INFINITY, INFINITY };
	e->has_until = until != NULL;
	if (until != NULL && length != NULL)
		return yaml_err(length, err, "an event has until or duration, not both");
	if ((rc = roadmap_range(node, "start", roadmap_dates, roadmap_time, tz, &e->start, err)) !=
		BERTH_OK ||
	    (rc = roadmap_range(node, "until", roadmap_dates, roadmap_time, tz, &e->until, err)) !=
		BERTH_OK ||
	    (rc = roadmap_range(node, "duration", roadmap_amounts, roadmap_length, NULL, &e->length,
		 err)) != BERTH_OK ||
	    (rc = roadmap_length(node, "ramp_up", NULL, &e->ramp_up_s, err)) != BERTH_OK ||
	    (rc = roadmap_length(node, "ramp_down", NULL, &e->ramp_down_s, err)) != BERTH_OK)
		return rc;
	if (until != NULL && e->until.likely <= e->start.likely)
		return yaml_err(until, err, "the event ends before it begins");
	if (length != NULL && !(e->length.least > 0))
		return yaml_err(length, err, "must be longer than 0, as in 26w");
	if (e->kind == FC_EVENT_GROWTH && (e->ramp_up_s > 0 || e->ramp_down_s > 0))
		return yaml_err(yaml_get(node, e->ramp_up_s > 0 ? "ramp_up" : "ramp_down"), err,
		    "growth_per_year has no ramps");
	if (e->ramp_down_s > 0 && until == NULL && length == NULL)
		return yaml_err(yaml_get(node, "ramp_down"), err,
		    "an event without end does not fade: add until or duration");
	return BERTH_OK;
}

static enum berth_code
roadmap_which(
    struct arena *a, const struct yaml_node *node, struct roadmap_entry *e, struct berth_err *err)
{
	const struct yaml_node *labels = NULL;
	struct roadmap_label *label;
	const char **series = NULL;
	enum berth_code rc;

	if ((rc = yaml_str_list(a, node, "series", &series, &e->n_series, err)) != BERTH_OK ||
	    (rc = yaml_str(node, "accelerator", &e->accelerator, err)) != BERTH_OK ||
	    (rc = yaml_map(node, "labels", &labels, err)) != BERTH_OK)
		return rc;
	e->series = series;
	if (labels != NULL) {
		label = arena_array_of(a, labels->n, struct roadmap_label);
		for (size_t i = 0; i < labels->n; i++) {
			label[i].key = labels->keys[i];
			rc = yaml_as_str(labels->items[i], &label[i].glob, err);
			if (rc != BERTH_OK)
				return rc;
		}
		e->labels = label;
		e->n_labels = labels->n;
	}
	if (e->n_series == 0 && e->n_labels == 0 && e->accelerator == NULL)
		return yaml_err(node, err,
		    "which demand does it concern? give series (\"*\" for all), labels or "
		    "accelerator");
	return BERTH_OK;
}

static enum berth_code
roadmap_entry(struct arena *a, const struct yaml_node *node, const struct tz *tz,
    struct roadmap_entry *e, struct berth_err *err)
{
	static const char *const needed[] = { "name", "start", NULL };
	enum berth_code rc;

	e->event.probability = 1;
	if ((rc = yaml_check_keys(node, roadmap_event_keys, err)) != BERTH_OK ||
	    (rc = yaml_need_keys(node, needed, err)) != BERTH_OK ||
	    (rc = yaml_str(node, "name", &e->event.name, err)) != BERTH_OK ||
	    (rc = yaml_str(node, "note", &e->note, err)) != BERTH_OK ||
	    (rc = yaml_time(node, "known", 0, tz, &e->known, err)) != BERTH_OK ||
	    (rc = yaml_double(node, "probability", 0, 1, &e->event.probability, err)) != BERTH_OK ||
	    (rc = roadmap_size(node, &e->event, err)) != BERTH_OK ||
	    (rc = roadmap_span(node, tz, &e->event, err)) != BERTH_OK)
		return rc;
	return roadmap_which(a, node, e, err);
}

enum berth_code
roadmap_read(struct arena *a, const char *path, const struct tz *tz, struct roadmap *out,
    struct berth_err *err)
{
	const struct yaml_node *root, *list = NULL;
	const char *schema = ROADMAP_SCHEMA;
	enum berth_code rc = yaml_load(a, path, &root, err);

	*out = (struct roadmap){ .path = path };
	if (rc != BERTH_OK || (rc = yaml_need_kind(root, YAML_KIND_MAP, err)) != BERTH_OK ||
	    (rc = yaml_str(root, "schema", &schema, err)) != BERTH_OK)
		return rc;
	if (!str_eq(schema, ROADMAP_SCHEMA))
		return yaml_err(yaml_get(root, "schema"), err,
		    "'%s' is not what this berth reads: " ROADMAP_SCHEMA, schema);
	if ((rc = yaml_check_keys(root, roadmap_keys, err)) != BERTH_OK ||
	    (rc = yaml_list(root, "events", &list, err)) != BERTH_OK)
		return rc;
	if (list == NULL)
		return yaml_err(root, err, "the key 'events' is missing");
	out->entries = arena_array_of(a, list->n, struct roadmap_entry);
	for (; out->n < list->n; out->n++) {
		rc = roadmap_entry(a, list->items[out->n], tz, &out->entries[out->n], err);
		if (rc != BERTH_OK)
			return rc;
		for (size_t k = 0; k < out->n; k++)
			if (str_eq(out->entries[k].event.name, out->entries[out->n].event.name))
				return yaml_err(yaml_get(list->items[out->n], "name"), err,
				    "a second event named '%s'", out->entries[k].event.name);
	}
	return BERTH_OK;
}

enum berth_code
roadmap_find(struct cmd_ctx *ctx, const char *option, bool none, const char *zone,
    struct roadmap *out, struct berth_err *err)
{
	const struct config *config;
	const char *path = option;
	const struct tz *tz;
	enum berth_code rc = cmd_config(ctx, &config, err);

	*out = (struct roadmap){ 0 };
	if (rc != BERTH_OK || none)
		return rc;
	if (path == NULL && config->roadmap != NULL)
		path = config->roadmap[0] == '/' || config->dir[0] == '\0'
			   ? config->roadmap
			   : arena_printf(ctx->arena, "%s/%s", config->dir, config->roadmap);
	if (path == NULL)
		return BERTH_OK;
	if (zone == NULL)
		zone = config->defaults.zone != NULL ? config->defaults.zone : "UTC";
	rc = tz_load(ctx->arena, zone, &tz, err);
	if (rc != BERTH_OK)
		return err_ctx(err, "zone");
	rc = roadmap_read(ctx->arena, path, tz, out, err);
	return rc == BERTH_OK
		   ? rc
		   : err_ctx(err, "%s", option != NULL ? "--events" : "roadmap of berth.yaml");
}

static bool
roadmap_labels_match(const struct roadmap_entry *e, const struct series *s)
{
	struct berth_err ignored;
	json_t *root = NULL;
	struct jsonr r;
	bool all = true;

	if (e->n_labels == 0)
		return true;
	if (jsonr_parse(s->labels, strlen(s->labels), s->name, &root, &ignored) != BERTH_OK)
		return false;
	r = jsonr_root(root, s->name);
	for (size_t i = 0; i < e->n_labels && all; i++) {
		const char *value = NULL;

		all = jsonr_str(&r, e->labels[i].key, &value, &ignored) == BERTH_OK &&
		      value != NULL &&
		      (str_eq(e->labels[i].glob, value) || glob_match(e->labels[i].glob, value));
	}
	json_decref(root);
	return all;
}

bool
roadmap_concerns(
    const struct roadmap_entry *e, const struct series *s, const struct accel_table *accels)
{
	bool named = e->n_series == 0;

	for (size_t i = 0; i < e->n_series && !named; i++)
		named = str_eq(e->series[i], s->name) || glob_match(e->series[i], s->name);
	if (!named || !roadmap_labels_match(e, s))
		return false;
	if (e->accelerator != NULL) {
		const struct accel *want = accel_find(accels, e->accelerator), *have;
		struct arena *tmp = arena_new();
		const char *name;

		have = plan_accel(accels, s, NULL, tmp, &name);
		named = want != NULL && have != NULL
			    ? accel_is(have, want) || (want->n_members == 0 && accel_is(want, have))
			    : str_ieq(name, e->accelerator);
		arena_free(tmp);
	}
	return named;
}

void
roadmap_forget(struct roadmap *map, int64_t at)
{
	size_t kept = 0;

	for (size_t k = 0; k < map->n; k++)
		if (map->entries[k].known <= at)
			map->entries[kept++] = map->entries[k];
	map->n = kept;
}

static void
roadmap_json_range(struct jsonw *w, const char *key, const struct fc_range *r, bool time)
{
	static const char *const words[2][3] = { { "least", "likely", "most" },
		{ "earliest", "likely", "latest" } };
	const double v[3] = { r->least, r->likely, r->most };

	jsonw_begin_object(w, key);
	for (int i = 0; i < 3; i++)
		if (time)
			jsonw_time(w, words[1][i], (int64_t)v[i]);
		else
			jsonw_double(w, words[0][i], v[i]);
	jsonw_end_object(w);
}

void
roadmap_json(struct jsonw *w, const struct roadmap *map)
{
	static const char *const kinds[] = { "gpus", "factor", "growth_per_year" };

	jsonw_begin_array(w, "events");
	for (size_t i = 0; i < map->n; i++) {
		const struct fc_event *e = &map->entries[i].event;

		jsonw_begin_object(w, NULL);
		jsonw_str(w, "name", e->name);
		jsonw_double(w, "probability", e->probability);
		roadmap_json_range(w, kinds[e->kind], &e->size, false);
		roadmap_json_range(w, "start", &e->start, true);
		if (e->has_until)
			roadmap_json_range(w, "until", &e->until, true);
		else if (!isinf(e->length.likely))
			roadmap_json_range(w, "duration_s", &e->length, false);
		jsonw_double(w, "ramp_up_s", e->ramp_up_s);
		jsonw_double(w, "ramp_down_s", e->ramp_down_s);
		jsonw_time_or_null(w, "known", map->entries[i].known);
		jsonw_str(w, "note", map->entries[i].note);
		jsonw_end_object(w);
	}
	jsonw_end_array(w);
}

void
roadmap_json_uses(struct jsonw *w, const struct fc_event_use *use, size_t n)
{
	jsonw_begin_array(w, "events");
	for (size_t i = 0; i < n; i++) {
		if (use[i].share == 0)
			continue;
		jsonw_begin_object(w, NULL);
		jsonw_str(w, "name", use[i].event->name);
		jsonw_str(w, "state", fc_event_state_name(use[i].state));
		jsonw_fixed(w, "share", use[i].share, 6);
		jsonw_fixed(w, "happens", use[i].happens, 6);
		jsonw_fixed(w, "mean", use[i].mean, 6);
		jsonw_fixed(w, "at_peak", use[i].at_peak, 6);
		jsonw_fixed(w, "measured", use[i].measured, 6);
		jsonw_end_object(w);
	}
	jsonw_end_array(w);
}

static const char *
roadmap_say_size(const struct fc_event *e, const char *unit, struct arena *a)
{
	const struct fc_range *r = &e->size;
	bool sure = r->least >= r->most;

	switch (e->kind) {
	case FC_EVENT_GPUS:
		return sure ? arena_printf(a, "%+.6g %s", r->likely, unit)
			    : arena_printf(a, "%+.6g to %+.6g %s", r->least, r->most, unit);
	case FC_EVENT_FACTOR:
		return sure ? arena_printf(a, "demand times %.6g", r->likely)
			    : arena_printf(a, "demand times %.6g to %.6g", r->least, r->most);
	case FC_EVENT_GROWTH:
		break;
	}
	return sure ? arena_printf(a, "growth to %.6g times a year", r->likely)
		    : arena_printf(a, "growth to %.6g to %.6g times a year", r->least, r->most);
}

static const char *
roadmap_say_dates(const struct fc_range *r, const char *word, struct arena *a)
{
	char t[2][TIME_FMT_SIZE];

	if (r->least >= r->most)
		return arena_printf(a, " %s %s", word, time_fmt_date(t[0], (int64_t)r->likely));
	return arena_printf(a, " %s %s to %s", word, time_fmt_date(t[0], (int64_t)r->least),
	    time_fmt_date(t[1], (int64_t)r->most));
}

const char *
roadmap_say(const struct fc_event *e, const char *unit, struct arena *a)
{
	const char *text = arena_printf(
	    a, "%s%s", roadmap_say_size(e, unit, a), roadmap_say_dates(&e->start, "from", a));
	char d[2][DURATION_FMT_SIZE];

	if (e->has_until)
		text = arena_printf(a, "%s%s", text, roadmap_say_dates(&e->until, "until", a));
	else if (!isinf(e->length.likely) && e->length.least >= e->length.most)
		text = arena_printf(
		    a, "%s for %s", text, duration_fmt(d[0], (int64_t)e->length.likely));
	else if (!isinf(e->length.likely))
		text = arena_printf(a, "%s for %s to %s", text,
		    duration_fmt(d[0], (int64_t)e->length.least),
		    duration_fmt(d[1], (int64_t)e->length.most));
	return e->probability < 1
		   ? arena_printf(a, "%s, with a chance of %.6g %%", text, 100 * e->probability)
		   : text;
}
