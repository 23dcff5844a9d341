/* src/cmd/roadmap.h - berth-roadmap(5): the file of events, and which series each concerns.  Floor:
 * cmd. */
#ifndef BERTH_CMD_ROADMAP_H
#define BERTH_CMD_ROADMAP_H

#include "cmd/cmd.h"
#include "forecast/event.h"
#include "model/series.h"

struct tz;

struct roadmap_label {
	const char *key, *glob;
};

struct roadmap_entry {
	struct fc_event event;
	const char *const *series; /* [n_series] names or globs */
	size_t n_series;
	const struct roadmap_label *labels; /* [n_labels] all must match */
	size_t n_labels;
	const char *accelerator; /* NULL: any */
	const char *note;        /* NULL: none */
	int64_t known;           /* since when it stands on the roadmap; 0: not said */
};

/* A series that was not picked, and takes its share of an event all the same. */
struct roadmap_other {
	struct series row;
	struct fc_series in;
};

struct roadmap {
	const char *path;
	struct roadmap_entry *entries; /* [n] in the order of the file */
	size_t n;
	struct roadmap_other *others; /* [n_others] by roadmap_others() */
	size_t n_others;
};

/*
 * Reads path; dates without zone follow tz. Everything lives in a.
 * Errors: BERTH_EINVAL with where = file:line:col, BERTH_ENOTFOUND, BERTH_EIO.
 */
BERTH_MUST_CHECK enum berth_code roadmap_read(struct arena *a, const char *path,
    const struct tz *tz, struct roadmap *out, struct berth_err *err);
/*
 * The roadmap of a verb: path of the option, else `roadmap` of berth.yaml, else none (out->n 0).
 * none: neither. zone NULL: that of berth.yaml, or UTC.
 */
BERTH_MUST_CHECK enum berth_code roadmap_find(struct cmd_ctx *ctx, const char *option, bool none,
    const char *zone, struct roadmap *out, struct berth_err *err);
/* Does the entry concern this series? gpu: its accelerator's product name as known, or NULL. */
bool roadmap_concerns(
    const struct roadmap_entry *e, const struct series *s, const struct accel_table *accels);
/* Demand of the store that events in GPUs concern, and that is none of rows [n]: before until, four
 * weeks of it; 0: all. */
BERTH_MUST_CHECK enum berth_code roadmap_others(struct cmd_ctx *ctx, struct roadmap *map,
    const struct series *rows, size_t n, int64_t until, struct berth_err *err);
/*
 * Uses of all events in all series: out [n][map->n]. What an event adds in GPUs is shared among all
 * series of the store that it concerns by the mean of their last four weeks; a recorded "total" has
 * all of it. Warns of an event that concerns none. Fills map->others.
 */
BERTH_MUST_CHECK enum berth_code roadmap_uses(struct cmd_ctx *ctx, struct roadmap *map,
    const struct series *rows, const struct fc_series *in, size_t n, struct fc_event_use **out,
    struct berth_err *err);
/*
 * The same for series that end in the past, with the others of map, without warnings: an event that
 * was not known at its end concerns none of them.
 */
void roadmap_uses_then(const struct roadmap *map, const struct accel_table *accels,
    const struct series *rows, const struct fc_series *in, size_t n, struct arena *a,
    struct fc_event_use **out);
/* Leaves out what was not known yet at `at`. */
void roadmap_forget(struct roadmap *map, int64_t at);
/* Events as JSON: an array "events". */
void roadmap_json(struct jsonw *w, const struct roadmap *map);
void roadmap_json_uses(struct jsonw *w, const struct fc_event_use *use, size_t n);
/* What an event says, in a few words and in the unit of the series: "+64 GPUs (60 %) from
 * 2027-03-01 for 26w". */
const char *roadmap_say(const struct fc_event *e, const char *unit, struct arena *a);

#endif
