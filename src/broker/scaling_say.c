/* A decision of a fleet in words, and as JSON. */
#include <math.h>
#include <string.h>

#include "broker/broker.h"
#include "broker/scaling.h"
#include "util/duration.h"
#include "util/json.h"
#include "util/time.h"

static const char *
scaling_count_of(struct arena *a, int64_t n)
{
	return n == 1 ? "1 replica" : arena_printf(a, "%lld replicas", (long long)n);
}

const char *
scaling_headroom_text(struct arena *a, const struct scale_headroom *h)
{
	bool more = (h->machines > 0) + (h->share > 0) + (h->gpus > 0) + (h->percentile > 0) > 1;
	const char *text = "";

	if (h->machines > 0)
		text = arena_printf(a, "%lld", (long long)h->machines);
	if (h->share > 0)
		text = arena_printf(
		    a, "%s%s%.6g%%", text, *text != '\0' ? " or " : "", 100 * h->share);
	if (h->gpus > 0)
		text = arena_printf(a, "%s%s%lld GPU%s", text, *text != '\0' ? " or " : "",
		    (long long)h->gpus, h->gpus == 1 ? "" : "s");
	if (h->percentile > 0)
		text = arena_printf(a, "%s%sp%lld of the forecast", text,
		    *text != '\0' ? " or " : "", (long long)h->percentile);
	return more ? arena_printf(a, "%s, whichever is more", text) : *text != '\0' ? text : "0";
}

/* ", 2 of them spare (headroom 20%, by its hours)" */
static const char *
scaling_spare(struct arena *a, const struct scaling_view *v)
{
	const struct scale_headroom *h = &v->rule.headroom;
	bool hours = !scale_headroom_eq(h, &v->fleet->rule.headroom);
	bool plain = !(h->share > 0) && h->gpus == 0 && h->percentile == 0;
	const char *how = "", *least = "";

	if (scale_headroom_none(h) || v->d.asked < 0)
		return "";
	if (h->percentile > 0)
		least = scale_blind(&v->rule, &v->in)
			    ? ", which is not known"
			    : arena_printf(a, ", a load of %.6g", v->in.least);
	if (!plain || hours)
		how = arena_printf(
		    a, " (headroom %s%s%s)", v->headroom, least, hours ? ", by its hours" : "");
	if (v->d.spare > 0)
		return arena_printf(a, ", %lld of them spare%s", (long long)v->d.spare, how);
	return *how != '\0' ? how : "";
}

/* "a load of 120 asks for 4 replicas" */
static const char *
scaling_asks(struct broker *b, const struct scaling_view *v)
{
	const struct scale_rule *r = &v->rule;
	const struct scale_input *in = &v->in;
	const char *n = scaling_count_of(b->tick_arena, v->d.want), *bound;
	double load = in->load;
	char text[DURATION_FMT_SIZE];

	bound = v->d.want == r->min && v->d.asked + v->d.spare < r->min
		    ? v->hours != NULL
			  ? arena_printf(b->tick_arena, " (the least, by its hours %s)", v->hours)
			  : " (the least)"
		    : scaling_spare(b->tick_arena, v);
	if (r->drain_s > 0 && in->queued > 0)
		load += in->queued / r->drain_s;
	if (in->forecast > load)
		return arena_printf(b->tick_arena,
		    "a forecast of %.6g for %s from now asks for %s%s", in->forecast,
		    duration_fmt(text, r->boot_s), n, bound);
	if (load > in->load)
		return arena_printf(b->tick_arena,
		    "a load of %.6g, and %.6g load-seconds of work that wait, ask for %s%s",
		    in->load, in->queued, n, bound);
	return arena_printf(b->tick_arena, "a load of %.6g asks for %s%s", in->load, n, bound);
}

/* The most that was asked for within the window. */
static int64_t
scaling_most(const struct scaling_view *v, const struct scale_state *s)
{
	const struct scale_rule *r = &v->rule;
	int64_t n =
	    s->n_want > 0 ? (int64_t)ceil(s->want[0].n - 1e-9 * fmax(1, s->want[0].n)) : v->d.want;

	return n < r->min ? r->min : n > r->max ? r->max : n;
}

/* Why less than what is there would do, and yet all stay. */
static const char *
scaling_held(struct broker *b, const struct scaling_view *v, const struct scale_state *s)
{
	int64_t window = scale_window(&v->rule), have = v->in.ready + v->in.starting,
		most = scaling_most(v, s);
	const struct scale_rule *r = &v->rule;
	char text[DURATION_FMT_SIZE];
	const char *w = duration_fmt(text, window);

	if ((double)have <= (double)most * (1 + r->tolerance))
		return arena_printf(
		    b->tick_arena, "%lld were asked for within the last %s", (long long)most, w);
	if (s->swing > 0 && (double)have <= ceil(s->want[0].n * scale_room(r, s)))
		return arena_printf(b->tick_arena,
		    "it goes up and down by %.2g %%, and would soon ask for %lld again",
		    100 * s->swing, (long long)have);
	if (v->in.starting > 0)
		return "some are still starting";
	if (s->arrived != INT64_MIN && b->now - s->arrived < window)
		return arena_printf(b->tick_arena, "the last one came less than %s ago", w);
	if (scale_blind(r, &v->in))
		return arena_printf(b->tick_arena,
		    "no forecast tells the p%lld that are to be kept",
		    (long long)r->headroom.percentile);
	if (ceil(scale_least(r, v->in.least_soon)) >= (double)have)
		return arena_printf(b->tick_arena,
		    "p%lld of the forecast within %s, %.6g, asks for them again",
		    (long long)r->headroom.percentile, duration_fmt(text, scale_restart(r)),
		    v->in.least_soon);
	if (scale_carries(r, v->in.soon) >= have)
		return arena_printf(b->tick_arena,
		    "a forecast of %.6g within %s asks for them again, and to wait costs less than "
		    "to start anew",
		    v->in.soon, duration_fmt(text, scale_restart(r)));
	return arena_printf(
	    b->tick_arena, "%.3g %% may go in 5m, and have gone", 100 * v->rule.down_rate);
}

static const char *
scaling_why(struct broker *b, const struct scaling_view *v, const struct scale_state *s,
    int64_t crashed_until)
{
	struct arena *a = b->tick_arena;
	int64_t have = v->in.ready + v->in.starting;
	const char *there = scaling_count_of(a, have), *be = have == 1 ? "is" : "are";
	char t[TIME_FMT_SIZE];

	if (v->failing)
		return arena_printf(a,
		    "%d or more replicas failed, or ended at once, within the hour: none is added "
		    "before %s, see berth jobs --all",
		    SCALING_CRASH_N, time_fmt(t, crashed_until));
	if (v->missing[0] != '\0' && v->d.reason != SCALE_UP && have == 0)
		return arena_printf(
		    a, "the load is not known, so no replica is added: %s", v->missing);
	if (v->missing[0] != '\0' && v->d.reason != SCALE_UP)
		return arena_printf(a, "the load is not known, so %s %s: %s", there,
		    have == 1 ? "stays" : "stay", v->missing);
	switch (v->d.reason) {
	case SCALE_STEADY:
		return arena_printf(a, "%s, and %s %s there", scaling_asks(b, v), there, be);
	case SCALE_UP:
		if (v->missing[0] != '\0')
			return arena_printf(a, "at least %lld must be there, and %lld %s: %s",
			    (long long)v->rule.min, (long long)have, be, v->missing);
		return arena_printf(a, "%s, and %lld %s there: %lld %s added", scaling_asks(b, v),
		    (long long)have, be, (long long)v->change, v->change == 1 ? "is" : "are");
	case SCALE_DOWN:
		if (have > v->rule.max)
			return arena_printf(a, "%s %s there, and at most %lld may be: %lld %s",
			    there, be, (long long)v->rule.max, (long long)-v->change,
			    v->change == -1 ? "goes" : "go");
		return arena_printf(a,
		    "%s, no more than %lld were asked for within the window, and %lld %s there: "
		    "%lld %s",
		    scaling_asks(b, v), (long long)scaling_most(v, s), (long long)have, be,
		    (long long)-v->change, v->change == -1 ? "goes" : "go");
	case SCALE_HELD:
		return arena_printf(a, "%s, and %lld %s there, which stay: %s", scaling_asks(b, v),
		    (long long)have, be, scaling_held(b, v, s));
	case SCALE_BUSY:
		return v->in.busy > have
			   ? arena_printf(a,
				 "%s, and %lld %s there, which stay: it is not known how many are "
				 "busy",
				 scaling_asks(b, v), (long long)have, be)
			   : arena_printf(a, "%s, and %lld %s there, of which %lld are busy",
				 scaling_asks(b, v), (long long)have, be, (long long)v->in.busy);
	case SCALE_LIMIT:
		return arena_printf(a, "%s and more: at most %lld may be, and they are there",
		    scaling_asks(b, v), (long long)v->rule.max);
	case SCALE_NO_METRIC:
	case SCALE_REASON_COUNT:
		break;
	}
	return arena_printf(
	    a, "the load is no number of 0 or more, so %s %s", there, have == 1 ? "stays" : "stay");
}

/* The loads at which the next step would be another one. */
static void
scaling_what_if(struct broker *b, struct scaling_view *v)
{
	const struct scale_rule *r = &v->rule;
	const char **out = arena_array_of(b->tick_arena, 3, const char *);
	double n = (double)v->d.target;
	double up = scale_carried(r, floor(n * (1 + r->tolerance))),
	       down = scale_carried(r, ceil(n / (1 + r->tolerance)) - 1);
	char text[DURATION_FMT_SIZE], at[TIME_FMT_SIZE];

	if (v->d.target < r->max && up >= 0)
		out[v->n_what_if++] =
		    arena_printf(b->tick_arena, "a load above %.6g adds replicas", up);
	if (v->d.target > r->min && down >= 0 && !scale_blind(r, &v->in) &&
	    scale_least(r, v->in.least) <= ceil(n / (1 + r->tolerance)) - 1)
		out[v->n_what_if++] =
		    arena_printf(b->tick_arena, "a load of at most %.6g for %s takes some away",
			down, duration_fmt(text, scale_window(r)));
	v->n_load = v->n_what_if;
	if (v->next > 0)
		out[v->n_what_if++] = arena_printf(b->tick_arena,
		    "from %s on at least %lld and at most %lld may be%s", time_fmt(at, v->next),
		    (long long)v->then.min, (long long)v->then.max,
		    scale_headroom_eq(&v->then.headroom, &r->headroom)
			? ""
			: arena_printf(b->tick_arena, ", with a headroom of %s",
			      scaling_headroom_text(b->tick_arena, &v->then.headroom)));
	v->what_if = out;
}

void
scaling_say(
    struct broker *b, struct scaling_view *v, const struct scale_state *s, int64_t crashed_until)
{
	v->why = scaling_why(b, v, s, crashed_until);
	scaling_what_if(b, v);
}

void
scaling_json(struct jsonw *w, const struct scaling_view *v)
{
	jsonw_str(w, "fleet", v->fleet->name);
	jsonw_double(w, "load", v->in.load);
	jsonw_double(w, "backlog", v->rule.drain_s > 0 ? v->in.queued : NAN);
	jsonw_double(w, "forecast", v->in.forecast);
	jsonw_double(w, "soon", v->in.soon);
	if (v->fleet->busy.kind != SCALING_NONE && v->in.busy < INT64_MAX / 4)
		jsonw_int(w, "busy", v->in.busy);
	else
		jsonw_null(w, "busy");
	jsonw_int(w, "ready", v->in.ready);
	jsonw_int(w, "starting", v->in.starting);
	jsonw_int(w, "waiting", v->in.waiting);
	jsonw_int(w, "min", v->rule.min);
	jsonw_int(w, "max", v->rule.max);
	if (v->d.asked >= 0) {
		jsonw_int(w, "asked", v->d.asked);
		jsonw_int(w, "headroom", v->d.spare);
	} else {
		jsonw_null(w, "asked");
		jsonw_null(w, "headroom");
	}
	jsonw_str(w, "headroom_rule", v->headroom);
	jsonw_double(w, "headroom_forecast", v->in.least);
	jsonw_str_or_null(w, "hours", v->hours);
	jsonw_int(w, "want", v->d.want);
	jsonw_int(w, "target", v->d.target);
	jsonw_int(w, "change", v->change);
	jsonw_str(w, "rule", v->reason);
	jsonw_str(w, "reason", v->why);
	jsonw_str_or_null(w, "missing", v->missing);
	jsonw_str_or_null(w, "note", v->note);
	jsonw_begin_array(w, "changes");
	for (size_t i = 0; i < v->n_what_if; i++) {
		jsonw_begin_object(w, NULL);
		jsonw_str(w, "what", i < v->n_load ? "load" : "hours");
		jsonw_str(w, "text", v->what_if[i]);
		jsonw_end_object(w);
	}
	jsonw_end_array(w);
}
