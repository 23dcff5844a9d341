/* src/cmd/roadmap_share.c - which series the events of a roadmap concern, and how they share its
 * GPUs.  Floor: cmd. */
#include "config.h"

#include <math.h>

#include "broker/usage_history.h"
#include "cmd/roadmap.h"
#include "store/series_rows.h"
#include "util/arena.h"
#include "util/str.h"
#include "util/vec.h"

#define SHARE_LOOK_S (28 * INT64_C(86400))

/* Mean of the four weeks before t; NaN: there is nothing. */
static double
share_level(const struct fc_series *s, int64_t t)
{
	size_t look = (size_t)(SHARE_LOOK_S / s->step_s), end = s->n, known = 0;
	double sum = 0;

	if (t < s->t0 + (int64_t)s->n * s->step_s)
		end = t > s->t0 ? (size_t)((t - s->t0) / s->step_s) : 0;
	else if (t - SHARE_LOOK_S >= s->t0 + (int64_t)s->n * s->step_s)
		return NAN;
	for (size_t i = end > look ? end - look : 0; i < end; i++)
		if (!isnan(s->mean[i])) {
			sum += s->mean[i];
			known++;
		}
	return known > 0 ? sum / (double)known : NAN;
}

/* At least a trifle, so that shares can be taken. */
static double
share_of(const struct fc_series *s)
{
	double level = share_level(s, s->t0 + (int64_t)s->n * s->step_s);

	return level > 0 ? level : 1e-9;
}

/* A recorded sum of the others. */
static bool
share_is_total(const struct series *s)
{
	return str_eq(s->name, "total");
}

/* Does an event that is shared concern both one of rows and this one, which is none of them? */
static bool
share_is_other(const struct roadmap *map, const struct accel_table *accels,
    const struct series *rows, size_t n, const struct series *s)
{
	if (!series_is_demand(s) || share_is_total(s))
		return false;
	for (size_t i = 0; i < n; i++)
		if (str_eq(rows[i].name, s->name))
			return false;
	for (size_t k = 0; k < map->n; k++)
		if (map->entries[k].event.kind == FC_EVENT_GPUS &&
		    roadmap_concerns(&map->entries[k], s, accels))
			return true;
	return false;
}

enum berth_code
roadmap_others(struct cmd_ctx *ctx, struct roadmap *map, const struct series *rows, size_t n,
    int64_t until, struct berth_err *err)
{
	const struct accel_table *accels;
	VEC(struct roadmap_other) v = { 0 };
	struct arena *scratch;
	struct series *all;
	size_t n_all;
	enum berth_code rc = cmd_accels(ctx, &accels, err);

	if (rc == BERTH_OK)
		rc = store_series_list(ctx->store, ctx->arena, &all, &n_all, err);
	if (rc != BERTH_OK)
		return rc;
	scratch = arena_new();
	for (size_t i = 0; i < n_all && rc == BERTH_OK; i++) {
		struct usage_history h;
		size_t from;

		if (!share_is_other(map, accels, rows, n, &all[i]))
			continue;
		rc = usage_history(ctx->store, &all[i], until, SHARE_LOOK_S, scratch, &h, err);
		if (rc == BERTH_OK && h.s.n > 0) {
			from = until != 0 && h.s.n > (size_t)(SHARE_LOOK_S / h.s.step_s)
				   ? h.s.n - (size_t)(SHARE_LOOK_S / h.s.step_s)
				   : 0;
			h.s.t0 += (int64_t)from * h.s.step_s;
			h.s.n -= from;
			h.s.mean =
			    arena_memdup(ctx->arena, h.s.mean + from, h.s.n * sizeof(*h.s.mean));
			h.s.peak = NULL;
			VEC_PUSH(ctx->arena, &v, ((struct roadmap_other){ all[i], h.s }));
		}
		arena_reset(scratch);
	}
	arena_free(scratch);
	map->others = v.v;
	map->n_others = v.n;
	return rc;
}

/* What series that are not picked take of an event, in GPUs of their level at t. */
static double
share_others(const struct roadmap *map, const struct roadmap_entry *e,
    const struct accel_table *accels, int64_t t)
{
	double sum = 0;

	for (size_t i = 0; i < map->n_others; i++) {
		double level = share_level(&map->others[i].in, t);

		if (level > 0 && roadmap_concerns(e, &map->others[i].row, accels))
			sum += level;
	}
	return sum;
}

/* One event in all series: which it concerns, and how they share its GPUs. then: only where it was
 * known. False: none. */
static bool
share_event(const struct roadmap *map, size_t k, const struct accel_table *accels,
    const struct series *rows, const struct fc_series *in, size_t n, bool then,
    struct fc_event_use **out)
{
	const struct roadmap_entry *e = &map->entries[k];
	double sum = 0;
	bool any = false;
	int64_t last = 0;

	for (size_t i = 0; i < n; i++) {
		int64_t end = in[i].t0 + (int64_t)in[i].n * in[i].step_s;
		bool known = !then || e->known <= end;

		out[i][k].event = &e->event;
		out[i][k].share =
		    known && roadmap_concerns(e, &rows[i], accels) ? share_of(&in[i]) : 0;
		sum += share_is_total(&rows[i]) ? 0 : out[i][k].share;
		any = any || out[i][k].share > 0;
		last = end > last ? end : last;
	}
	if (any && e->event.kind == FC_EVENT_GPUS)
		sum += share_others(map, e, accels, last);
	for (size_t i = 0; i < n; i++)
		if (out[i][k].share > 0)
			out[i][k].share =
			    e->event.kind == FC_EVENT_GPUS && !share_is_total(&rows[i])
				? out[i][k].share / sum
				: 1;
	return any;
}

enum berth_code
roadmap_uses(struct cmd_ctx *ctx, struct roadmap *map, const struct series *rows,
    const struct fc_series *in, size_t n, struct fc_event_use **out, struct berth_err *err)
{
	const struct accel_table *accels;
	enum berth_code rc = cmd_accels(ctx, &accels, err);
	int64_t last = 0;

	for (size_t i = 0; i < n; i++) {
		int64_t end = in[i].t0 + (int64_t)in[i].n * in[i].step_s;

		last = end > last ? end : last;
	}
	if (rc == BERTH_OK)
		rc = roadmap_others(ctx, map, rows, n, last, err);
	if (rc != BERTH_OK)
		return rc;
	for (size_t i = 0; i < n; i++)
		out[i] = arena_array(ctx->arena, map->n, sizeof(**out));
	for (size_t k = 0; k < map->n; k++)
		if (!share_event(map, k, accels, rows, in, n, false, out))
			cmd_warn(ctx, "event '%s' concerns none of the series",
			    map->entries[k].event.name);
	return BERTH_OK;
}

void
roadmap_uses_then(const struct roadmap *map, const struct accel_table *accels,
    const struct series *rows, const struct fc_series *in, size_t n, struct arena *a,
    struct fc_event_use **out)
{
	for (size_t i = 0; i < n; i++)
		out[i] = arena_array(a, map->n, sizeof(**out));
	for (size_t k = 0; k < map->n; k++)
		(void)share_event(map, k, accels, rows, in, n, true, out);
}
