#include "config.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "broker/broker.h"
#include "broker/placing_facts.h"
#include "cmd/forecast.h"
#include "cmd/plan_join.h"
#include "store/money_rows.h"
#include "store/offer_rows.h"
#include "store/plan_rows.h"
#include "store/store.h"
#include "util/arena.h"
#include "util/glob.h"
#include "util/json.h"
#include "util/str.h"
#include "util/time.h"
#include "util/vec.h"

enum {
	ANSWER_DATES_MAX = 53, /* dates in the JSON for each capacity: the ends of its weeks */
	ANSWER_SPANS_MAX = 3   /* outages and gaps that a sentence names; the JSON has all */
};

/* What capacities are made of. */
struct answer_facts {
	const struct accel_table *accels;
	const struct placing_limit *limits;
	size_t n_limits;
	struct commitment *owned;
	size_t n_owned;
	struct offer *offers;
	size_t n_offers;
};

struct answer_list {
	struct arena *a;
	VEC(struct forecast_capacity) v;
};

/* NUMBER, or SERIES=NUMBER where SERIES is a name or a glob. */
static enum berth_code
answer_given(const struct cmd_ctx *ctx, const struct forecast_set *f, const char *series,
    struct answer_list *l, struct berth_err *err)
{
	for (size_t i = 0; i < f->capacity_words.n; i++) {
		const char *text = f->capacity_words.v[i], *eq = strrchr(text, '=');
		int64_t gpus;
		enum berth_code rc =
		    str_to_i64(eq != NULL ? eq + 1 : text, 0, INT64_C(1) << 40, &gpus, err);

		if (rc != BERTH_OK)
			return err_set(err, BERTH_EUSAGE,
			    "--capacity: '%s' is no number of GPUs: 512, or SERIES=512", text);
		if (eq != NULL) {
			const char *who = arena_strndup(ctx->arena, text, (size_t)(eq - text));

			if (!str_eq(who, series) && !glob_match(who, series))
				continue;
		}
		VEC_PUSH(l->a, &l->v, ((struct forecast_capacity){ "capacity", gpus, NULL }));
	}
	return BERTH_OK;
}

/* GPUs of this accelerator that a limit allows; -1: it does not count them. */
static int64_t
answer_limit(const struct answer_facts *f, const struct placing_limit *l, const struct accel *accel)
{
	int64_t most = -1;

	for (size_t i = 0; i < f->n_offers; i++) {
		const struct offer *x = &f->offers[i];
		int64_t w = x->accelerator_count > 0 ? placing_quota_weight(l, x) : 0;

		if (w > 0 && w <= l->limit &&
		    accel_is(accel_find_sized(f->accels, x->accelerator, x->accelerator_memory_gib),
			accel) &&
		    l->limit / w * x->accelerator_count > most)
			most = l->limit / w * x->accelerator_count;
	}
	if (most < 0 && str_eq(l->unit, "gpu") && l->accelerator[0] != '\0' &&
	    accel_is(accel_find(f->accels, l->accelerator), accel))
		most = l->limit;
	return most;
}

static const char *
answer_limit_name(const struct placing_limit *l, struct arena *a)
{
	if (l->name[0] != '\0')
		return arena_printf(a, "quota %s", l->name);
	return arena_printf(a, "quota%s%s%s%s", l->provider[0] != '\0' ? " " : "", l->provider,
	    l->region[0] != '\0' ? " " : "", l->region);
}

static void
answer_stored(
    const struct answer_facts *f, const struct series *s, int64_t now, struct answer_list *l)
{
	const char *name;
	const struct accel *accel = plan_accel(f->accels, s, NULL, l->a, &name);
	int64_t owned = 0, own = 0;

	if (accel == NULL || !series_is_gpus(s))
		return;
	for (size_t i = 0; i < f->n_limits; i++) {
		int64_t gpus = answer_limit(f, &f->limits[i], accel);

		if (gpus >= 0)
			VEC_PUSH(l->a, &l->v,
			    ((struct forecast_capacity){
				answer_limit_name(&f->limits[i], l->a), gpus, NULL }));
	}
	for (size_t i = 0; i < f->n_owned; i++) {
		const struct commitment *c = &f->owned[i];

		if (c->from <= now && now < c->to &&
		    accel_is(accel_find_sized(
				 f->accels, c->offer.accelerator, c->offer.accelerator_memory_gib),
			accel))
			owned += (int64_t)c->count * c->offer.accelerator_count;
	}
	for (size_t i = 0; i < f->n_offers; i++)
		if (str_eq(f->offers[i].provider, "static") &&
		    accel_is(accel_find_sized(f->accels, f->offers[i].accelerator,
				 f->offers[i].accelerator_memory_gib),
			accel))
			own += f->offers[i].accelerator_count;
	if (owned > 0)
		VEC_PUSH(
		    l->a, &l->v, ((struct forecast_capacity){ "owned commitments", owned, NULL }));
	if (own > 0)
		VEC_PUSH(l->a, &l->v, ((struct forecast_capacity){ "own machines", own, NULL }));
	if (owned > 0 && own > 0)
		VEC_PUSH(l->a, &l->v,
		    ((struct forecast_capacity){
			"commitments and own machines", owned + own, NULL }));
}

int64_t
forecast_known_size(const struct forecast_set *f, const struct series *s, struct arena *a)
{
	const struct answer_facts *facts = f->facts;
	const char *name;
	const struct accel *accel =
	    series_is_gpus(s) ? plan_accel(facts->accels, s, NULL, a, &name) : NULL;
	int64_t size = 0;
	bool known = false;

	for (size_t i = 0; i < facts->n_limits && accel != NULL; i++) {
		int64_t gpus = answer_limit(facts, &facts->limits[i], accel);

		known = known || gpus >= 0;
		size += gpus >= 0 ? gpus : 0;
	}
	for (size_t i = 0; i < facts->n_offers && accel != NULL; i++)
		if (str_eq(facts->offers[i].provider, "static") &&
		    accel_is(accel_find_sized(facts->accels, facts->offers[i].accelerator,
				 facts->offers[i].accelerator_memory_gib),
			accel)) {
			known = true;
			size += facts->offers[i].accelerator_count;
		}
	return known ? size : -1;
}

static enum berth_code
answer_load(struct cmd_ctx *ctx, struct answer_facts *f, struct berth_err *err)
{
	const struct config *config;
	struct placing_limit *limits = NULL;
	enum berth_code rc = cmd_config(ctx, &config, err);

	if (rc == BERTH_OK)
		rc = cmd_accels(ctx, &f->accels, err);
	if (rc == BERTH_OK)
		rc = broker_limits_read(
		    config->root, f->accels, ctx->arena, &limits, &f->n_limits, err);
	if (rc == BERTH_OK)
		rc = store_commitment_list(
		    ctx->store, ctx->now, ctx->arena, &f->owned, &f->n_owned, err);
	if (rc == BERTH_OK)
		rc = store_offer_list(ctx->store, NULL, ctx->arena, &f->offers, &f->n_offers, err);
	f->limits = limits;
	return rc;
}

/* SERIES=NUMBER whose name is that of no series here. */
static void
answer_unmatched(struct cmd_ctx *ctx, const struct forecast_set *f)
{
	for (size_t i = 0; i < f->capacity_words.n; i++) {
		const char *text = f->capacity_words.v[i], *eq = strrchr(text, '=');
		const char *who =
		    eq != NULL ? arena_strndup(ctx->arena, text, (size_t)(eq - text)) : NULL;
		bool found = who == NULL;

		for (size_t k = 0; k < f->n && !found; k++)
			found = str_eq(who, f->rows[k].name) || glob_match(who, f->rows[k].name);
		if (!found)
			cmd_warn(ctx, "--capacity: '%s' is none of the series", who);
	}
}

/* A quota that more than one series draws on is passed by all of them together: said where no sum
 * tells of that. */
static void
answer_shared(struct cmd_ctx *ctx, const struct forecast_set *f)
{
	const char **who = arena_array(ctx->arena, f->n, sizeof(*who));

	for (size_t q = 0; q < f->facts->n_limits && f->tree.n_sums == 0; q++) {
		size_t n = 0;

		for (size_t i = 0; i < f->n; i++) {
			const char *name;
			const struct accel *accel =
			    series_is_gpus(&f->rows[i])
				? plan_accel(f->facts->accels, &f->rows[i], NULL, ctx->arena, &name)
				: NULL;

			if (accel != NULL &&
			    answer_limit(f->facts, &f->facts->limits[q], accel) >= 0)
				who[n++] = f->rows[i].name;
		}
		if (n > 1)
			cmd_note(ctx,
			    "%s is shared by %s%s: --by accelerator says when they pass it "
			    "together",
			    answer_limit_name(&f->facts->limits[q], ctx->arena),
			    str_join(ctx->arena, who, n < 4 ? n : 4, ", "),
			    n > 4 ? " and others" : "");
	}
}

enum berth_code
forecast_capacities(struct cmd_ctx *ctx, struct forecast_set *f, struct berth_err *err)
{
	struct answer_list ignored = { .a = ctx->arena };
	const struct forecast_opts *o = ctx->opts;
	enum berth_code rc;

	f->capacity_words = forecast_words(&o->capacity, true, f->rows, f->n, ctx->arena);
	rc = answer_given(ctx, f, "", &ignored, err);
	f->facts = arena_alloc(ctx->arena, sizeof(*f->facts));
	f->capacity = arena_array(ctx->arena, f->n, sizeof(*f->capacity));
	f->n_capacity = arena_array(ctx->arena, f->n, sizeof(*f->n_capacity));
	if (rc == BERTH_OK)
		rc = answer_load(ctx, f->facts, err);
	if (rc == BERTH_OK) {
		answer_unmatched(ctx, f);
		answer_shared(ctx, f);
	}
	return rc;
}

static void
answer_of(struct cmd_ctx *ctx, const struct forecast_set *f, size_t i, struct answer_list *l)
{
	struct berth_err ignored; /* the numbers were read before */

	if (answer_given(ctx, f, f->rows[i].name, l, &ignored) == BERTH_OK)
		answer_stored(f->facts, &f->rows[i], ctx->now, l);
}

bool
forecast_capacity_known(
    struct cmd_ctx *ctx, const struct forecast_set *f, size_t i, struct arena *a)
{
	struct answer_list l = { .a = a };

	answer_of(ctx, f, i, &l);
	return l.v.n > 0;
}

void
forecast_capacity(struct cmd_ctx *ctx, struct forecast_set *f, size_t i, struct arena *a)
{
	struct answer_list l = { .a = a };

	answer_of(ctx, f, i, &l);
	f->capacity[i] = l.v.v;
	f->n_capacity[i] = l.v.n;
	for (size_t k = 0; k < l.v.n; k++) {
		l.v.v[k].passed = arena_array(a, f->out[i].horizon, sizeof(double));
		fc_passed(&f->out[i], (double)l.v.v[k].gpus, l.v.v[k].passed);
	}
}

int64_t
forecast_passed_by(const struct fc_result *r, const struct forecast_capacity *c, double p)
{
	for (size_t i = 0; i < r->horizon; i++)
		if (c->passed[i] >= p - 1e-9)
			return r->t0 + (int64_t)i * r->step_s;
	return 0;
}

static void
answer_json_capacity(struct jsonw *w, const struct fc_result *r, const struct forecast_capacity *c)
{
	static const struct {
		const char *key;
		double p;
	} chances[] = { { "p10", .1 }, { "p50", .5 }, { "p90", .9 } };
	size_t week = r->step_s < 604800 ? (size_t)(604800 / r->step_s) : 1, stride;

	stride = week;
	while ((r->horizon + stride - 1) / stride > ANSWER_DATES_MAX)
		stride += week;
	jsonw_begin_object(w, NULL);
	jsonw_str(w, "name", c->name);
	jsonw_int(w, "gpus", c->gpus);
	jsonw_fixed(w, "passed", c->passed[r->horizon - 1], 6);
	jsonw_begin_object(w, "passed_by");
	for (size_t i = 0; i < sizeof(chances) / sizeof(chances[0]); i++) {
		int64_t t = forecast_passed_by(r, c, chances[i].p);

		if (t != 0)
			jsonw_time(w, chances[i].key, t);
		else
			jsonw_null(w, chances[i].key);
	}
	jsonw_end_object(w);
	jsonw_begin_array(w, "dates");
	for (size_t i = stride; i < r->horizon + stride; i += stride) {
		size_t at = i < r->horizon ? i : r->horizon;

		jsonw_begin_object(w, NULL);
		jsonw_time(w, "until", r->t0 + (int64_t)at * r->step_s);
		jsonw_fixed(w, "passed", c->passed[at - 1], 6);
		jsonw_end_object(w);
	}
	jsonw_end_array(w);
	jsonw_end_object(w);
}

static const char *
answer_holiday_name(enum fc_holiday_effect e)
{
	return e == FC_HOLIDAY_FACTOR ? "factor" : e == FC_HOLIDAY_SUNDAY ? "sunday" : "none";
}

static void
answer_json_holiday(struct jsonw *w, const struct fc_holiday *h)
{
	jsonw_begin_object(w, "holidays");
	jsonw_str(w, "effect", answer_holiday_name(h->effect));
	jsonw_int(w, "past", (int64_t)h->past);
	jsonw_int(w, "ahead", (int64_t)h->ahead);
	jsonw_fixed(w, "ratio", h->past > 0 ? h->ratio : NAN, 6);
	jsonw_fixed(w, "gain", h->past > 0 ? h->gain : NAN, 6);
	jsonw_end_object(w);
}

static void
answer_json_growth(struct jsonw *w, const struct fc_growth *g)
{
	static const char *const kinds[] = { "none", "line", "rate", "logistic" };

	jsonw_begin_object(w, "growth");
	jsonw_str(w, "kind", kinds[g->kind]);
	jsonw_fixed(w, "factor", g->factor, 6);
	jsonw_fixed(w, "gain", g->gain, 6);
	jsonw_fixed(w, "saturates", g->saturates, 6);
	jsonw_end_object(w);
}

static void
answer_json_joined(struct jsonw *w, const struct forecast_set *f, size_t i)
{
	const struct join *j = f->joined[i] != 0 ? joins_of(&f->joins, f->rows[i].name) : NULL;

	if (j == NULL)
		return;
	jsonw_begin_object(w, "joined");
	jsonw_begin_array(w, "from");
	for (size_t k = 0; k < j->n_from; k++)
		jsonw_str(w, NULL, j->from[k]);
	jsonw_end_array(w);
	jsonw_fixed(w, "share", j->share, 6);
	jsonw_time(w, "until", f->joined[i]);
	jsonw_end_object(w);
}

void
forecast_json_answers(struct jsonw *w, const struct forecast_set *f, size_t i)
{
	const struct fc_result *r = &f->out[i];
	struct fc_when when;
	struct fc_drivers d;

	fc_when(r, &when);
	fc_drivers(&f->in[i], r, f->base != NULL ? f->base[i] : NULL, &d);
	jsonw_begin_object(w, "peak_time");
	jsonw_time(w, "likeliest", when.likeliest);
	jsonw_time(w, "p10", when.p10);
	jsonw_time(w, "p50", when.p50);
	jsonw_time(w, "p90", when.p90);
	jsonw_time(w, "day", when.day);
	jsonw_fixed(w, "day_share", when.day_share, 6);
	jsonw_end_object(w);
	jsonw_begin_object(w, "drivers");
	jsonw_time(w, "t", d.t);
	jsonw_fixed(w, "level", d.level, 6);
	jsonw_fixed(w, "growth", d.growth, 6);
	jsonw_fixed(w, "season", d.season, 6);
	jsonw_fixed(w, "events", d.events, 6);
	jsonw_fixed(w, "doubt", d.doubt, 6);
	jsonw_fixed(w, "peak", d.peak, 6);
	jsonw_end_object(w);
	answer_json_growth(w, &r->growth);
	answer_json_holiday(w, &r->holiday);
	answer_json_joined(w, f, i);
	jsonw_fixed(w, "queued_mean", f->queued[i], 6);
	jsonw_begin_array(w, "capacity");
	for (size_t k = 0; f->n_capacity != NULL && k < f->n_capacity[i]; k++)
		answer_json_capacity(w, r, &f->capacity[i][k]);
	jsonw_end_array(w);
	roadmap_json_uses(w, f->uses != NULL ? f->uses[i] : NULL, f->map.n);
}

static void
answer_say_peak(struct cmd_ctx *ctx, const struct fc_result *r, const char *unit)
{
	static const char *const chances[] = { "50", "90", "95", "99" };
	int64_t node = ((const struct forecast_opts *)ctx->opts)->gpus_per_node;

	cmd_say(ctx, "  - The peak is at most");
	for (int l = 0; l < FC_PEAK_LEVEL_COUNT; l++) {
		int64_t gpus = forecast_whole(r->peak[l]);

		if (unit != NULL) {
			cmd_say(ctx, "%s %.6g %s with a chance of %s %%", l > 0 ? "," : "",
			    r->peak[l], unit, chances[l]);
			continue;
		}
		cmd_say(ctx, "%s %lld GPU%s (%lld node%s) with a chance of %s %%", l > 0 ? "," : "",
		    (long long)gpus, gpus == 1 ? "" : "s",
		    (long long)(gpus / node + (gpus % node > 0 ? 1 : 0)),
		    gpus > 0 && gpus <= node ? "" : "s", chances[l]);
	}
	cmd_say(ctx, ".\n");
}

static void
answer_say_when(struct cmd_ctx *ctx, const struct fc_result *r)
{
	char t[4][TIME_FMT_SIZE];
	struct fc_when w;

	if (!(r->peak[FC_PEAK99] > 0))
		return;
	fc_when(r, &w);
	cmd_say(ctx,
	    "  - It is likeliest at %s; %.0f %% of the futures have it within the day from %s. 80 "
	    "%% have it between %s and %s.\n",
	    time_fmt(t[0], w.likeliest), 100 * w.day_share, time_fmt(t[1], w.day),
	    time_fmt(t[2], w.p10), time_fmt(t[3], w.p90));
}

static void
answer_say_drivers(struct cmd_ctx *ctx, const struct forecast_set *f, size_t i)
{
	struct fc_drivers d;

	fc_drivers(&f->in[i], &f->out[i], f->base != NULL ? f->base[i] : NULL, &d);
	cmd_say(ctx,
	    "  - The peak of 95 %% is the last week's level %.1f, %+.1f growth, %+.1f time of day "
	    "and week, ",
	    d.level, d.growth, d.season);
	if (f->base != NULL)
		cmd_say(ctx, "%+.1f events, ", d.events);
	cmd_say(ctx, "%+.1f doubt and peaks within the %s.\n", d.doubt,
	    f->out[i].step_s == 3600    ? "hour"
	    : f->out[i].step_s == 86400 ? "day"
					: "step");
}

static int
answer_upper(char c)
{
	return c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c;
}

static void
answer_say_capacity(struct cmd_ctx *ctx, const struct fc_result *r,
    const struct forecast_capacity *c, const char *unit)
{
	static const double chances[] = { .1, .5, .9 };
	char t[TIME_FMT_SIZE];
	int64_t before = 0;

	cmd_say(ctx, "  - %c%s of %lld %s: passed within the horizon with a chance of %.0f %%",
	    answer_upper(c->name[0]), c->name + 1, (long long)c->gpus, unit,
	    100 * c->passed[r->horizon - 1]);
	for (size_t k = 0; k < 3; k++) {
		int64_t at = forecast_passed_by(r, c, chances[k]);

		if (at != 0 && at != before)
			cmd_say(ctx, "%s %.0f %% by %s", before == 0 ? ":" : ",",
			    100 * c->passed[(at - r->t0) / r->step_s], time_fmt_date(t, at));
		before = at;
	}
	cmd_say(ctx, ".\n");
}

static void
answer_say_event(struct cmd_ctx *ctx, const struct fc_event_use *u, const char *unit)
{
	const char *what = roadmap_say(u->event, unit, ctx->arena);

	switch (u->state) {
	case FC_EVENT_AHEAD:
		cmd_say(ctx, "  - Event %s: %s. It adds %+.1f %s on the mean", u->event->name, what,
		    u->mean, unit);
		if (!isnan(u->at_peak))
			cmd_say(ctx, ", %+.1f at the peak", u->at_peak);
		cmd_say(ctx, ".\n");
		break;
	case FC_EVENT_SEEN:
	case FC_EVENT_OVER:
		cmd_say(ctx,
		    "  - Event %s: %s. %s; the history is brought to its present state, so that it "
		    "is not counted twice",
		    u->event->name, what, u->state == FC_EVENT_OVER ? "Over" : "It has begun");
		if (!isnan(u->measured) && u->event->kind == FC_EVENT_GPUS)
			cmd_say(ctx, " (measured %+.1f %s)", u->measured, unit);
		else if (!isnan(u->measured))
			cmd_say(ctx, " (measured times %.2f)", u->measured);
		cmd_say(ctx, ". From now on it changes the mean by %+.1f %s.\n", u->mean, unit);
		break;
	case FC_EVENT_OPEN:
		cmd_say(ctx,
		    "  - Event %s: %s. Begun too lately for the history to show it; it changes the "
		    "mean by %+.1f %s.\n",
		    u->event->name, what, u->mean, unit);
		break;
	case FC_EVENT_ABSENT:
		cmd_say(ctx,
		    "  - Event %s: %s. The history does not show it (measured %+.1f %s): it is "
		    "left out.\n",
		    u->event->name, what, u->measured,
		    u->event->kind == FC_EVENT_GPUS ? unit : "times");
		break;
	}
}

static void
answer_say_holiday(struct cmd_ctx *ctx, const struct fc_holiday *h)
{
	if (h->effect == FC_HOLIDAY_NONE)
		cmd_say(ctx,
		    "  - Days off: %zu on weekdays of the history; none is seen to matter enough, "
		    "so they are left as they are.\n",
		    h->past);
	else
		cmd_say(ctx,
		    "  - Days off: %zu on weekdays of the history had %.0f %% of a usual day, %s; "
		    "that takes away %.0f %% of their error, and is put on %zu ahead.\n",
		    h->past, 100 * h->ratio,
		    h->effect == FC_HOLIDAY_SUNDAY ? "like Sundays" : "all hours alike",
		    100 * h->gain, h->ahead);
}

static void
answer_say_growth(struct cmd_ctx *ctx, const struct fc_result *r)
{
	static const char *const kinds[] = { "", "a damped line", "a damped rate",
		"a logistic curve" };

	if (r->growth.kind == FC_GROWTH_NONE)
		return;
	cmd_say(ctx,
	    "  - Growth: past quarters followed %s (%.0f %% of the error of going on level goes "
	    "away); the level at the end is %.2f times that of now",
	    kinds[r->growth.kind], 100 * r->growth.gain, r->growth.factor);
	if (!isnan(r->growth.saturates))
		cmd_say(ctx, ", on the way to %.1f", r->growth.saturates);
	cmd_say(ctx, ".\n");
}

static void
answer_say_joined(struct cmd_ctx *ctx, const struct forecast_set *f, size_t i)
{
	const struct join *j = f->joined[i] != 0 ? joins_of(&f->joins, f->rows[i].name) : NULL;
	char t[TIME_FMT_SIZE];

	if (j == NULL)
		return;
	cmd_say(ctx, "  - Its history before %s is that of %s", time_fmt_date(t, f->joined[i]),
	    str_join(ctx->arena, j->from, j->n_from, " and "));
	if (j->share != 1)
		cmd_say(ctx, ", times %.4g", j->share);
	cmd_say(ctx, ".\n");
}

/* The last few of what was left out of the fit. */
static void
answer_say_spans(struct cmd_ctx *ctx, const char *what, const struct fc_span *v, size_t n)
{
	size_t first = n > ANSWER_SPANS_MAX ? n - ANSWER_SPANS_MAX : 0;
	char from[TIME_FMT_SIZE], to[TIME_FMT_SIZE];

	if (n == 0)
		return;
	cmd_say(ctx, "  - %zu %s%s left out of the fit: ", n, what, n == 1 ? " was" : "s were");
	for (size_t i = first; i < n; i++)
		cmd_say(ctx, "%s%s to %s", i == first ? first > 0 ? "the last " : "" : ", ",
		    time_fmt(from, v[i].from), time_fmt(to, v[i].to));
	cmd_say(ctx, ".\n");
}

static void
answer_say_history(struct cmd_ctx *ctx, const struct fc_result *r)
{
	char t[TIME_FMT_SIZE];

	for (size_t k = 0; k < r->n_shifts; k++)
		cmd_say(ctx, "  - The level changed on %s from %.1f to %.1f.\n",
		    time_fmt(t, r->shifts[k].t), r->shifts[k].before, r->shifts[k].after);
	answer_say_spans(ctx, "outage", r->outages, r->n_outages);
	answer_say_spans(ctx, "gap", r->gaps, r->n_gaps);
	for (size_t k = 0; k < r->n_spikes && k < ANSWER_SPANS_MAX; k++)
		cmd_say(ctx,
		    "  - The %.15g at %s is far over all other values and counts as %.6g.\n",
		    r->spikes[k].value, time_fmt(t, r->spikes[k].t), r->spikes[k].to);
	cmd_say(ctx, "  - Method: %s", r->model);
	for (size_t k = 0; k < r->n_parts && k < 3; k++)
		cmd_say(ctx, "%s %s %.0f %%", k == 0 ? ":" : ",", r->parts[k].name,
		    100 * r->parts[k].weight);
	cmd_say(ctx, "%s.\n", r->n_parts > 3 ? ", others" : "");
}

/* What earlier forecasts of this series tell of this one. */
static enum berth_code
answer_say_record(struct cmd_ctx *ctx, const struct series *s, struct berth_err *err)
{
	struct fc_score mean;
	size_t n = 0;
	enum berth_code rc = s->id == 0 ? BERTH_OK : forecast_record(ctx, s, &n, &mean, err);

	if (rc != BERTH_OK)
		return rc;
	if (n == 0)
		cmd_say(ctx, "  - How sure: no earlier forecast can be scored yet; --backtest "
			     "tells how such forecasts would have done.\n");
	else
		cmd_say(ctx,
		    "  - How sure: of %zu earlier forecast%s %.0f %% of the steps lay in the band "
		    "of 90 %%, and the peak passed its P95 in %.0f %%.\n",
		    n, n == 1 ? "" : "s", 100 * mean.coverage90, 100 * mean.peak_exceeded95);
	return BERTH_OK;
}

enum berth_code
forecast_why(struct cmd_ctx *ctx, const struct forecast_set *f, size_t i, struct berth_err *err)
{
	const struct fc_result *r = &f->out[i];
	enum berth_code rc;

	cmd_say(ctx, "\n%s:\n", r->name);
	answer_say_peak(ctx, r, series_is_gpus(&f->rows[i]) ? NULL : series_unit(&f->rows[i]));
	answer_say_when(ctx, r);
	answer_say_drivers(ctx, f, i);
	rc = answer_say_record(ctx, &f->rows[i], err);
	for (size_t k = 0; k < f->n_capacity[i]; k++)
		answer_say_capacity(ctx, r, &f->capacity[i][k], series_unit(&f->rows[i]));
	for (size_t k = 0; k < f->map.n; k++)
		if (f->uses[i][k].share != 0)
			answer_say_event(ctx, &f->uses[i][k], series_unit(&f->rows[i]));
	if (r->holiday.past > 0)
		answer_say_holiday(ctx, &r->holiday);
	if (((const struct forecast_opts *)ctx->opts)->requested && f->queued[i] > 0)
		cmd_say(ctx,
		    "  - Demand is what ran and what was waited for: %.1f GPUs of it waited, mean "
		    "of four weeks.\n",
		    f->queued[i]);
	answer_say_growth(ctx, r);
	answer_say_joined(ctx, f, i);
	answer_say_history(ctx, r);
	return rc;
}
