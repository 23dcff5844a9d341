/* Structure of histories: local time, shifts, spikes, outages, gaps, caps; expectations are how the series were made. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "forecast/fc.h"
#include "tests/tap.h"
#include "util/rng.h"

enum { HOURS = 1500, AHEAD = 168 };

static const int64_t start = 1704067200;	/* 2024-01-01T00:00:00Z, a Monday */
static double y[HOURS];
static struct fc_result r;

static void
forecast(size_t n, struct fc_options *o, struct arena *a)
{
	struct fc_series s = { "s", start, 3600, n, y, NULL };
	struct berth_err err = { 0 };

	o->horizon = o->horizon == 0 ? AHEAD : o->horizon;
	tap_code(fc_run(&s, o, a, &r, &err), BERTH_OK, &err);
}

/* A little noise that repeats nowhere near a day or a week. */
static double
noise(int t)
{
	return (double)((t * 7919) % 101) / 101 - 0.5;
}

/* Clocks go from +1 h to +2 h at the argument. */
static int64_t
offset(void *arg, int64_t t)
{
	return t >= *(int64_t *)arg ? 7200 : 3600;
}

/* Opening hours: 100 from 9 to 17 by the wall clock on weekdays, else 20. */
static double
office(int64_t t, int64_t change)
{
	int64_t wall = t + offset(&change, t), hour = wall / 3600 % 24, day = (wall / 86400 + 3) % 7;

	return day < 5 && hour >= 9 && hour < 17 ? 100 : 20;
}

static void
local_time(struct arena *a)
{
	int64_t changes[2] = { start + 3600 * (HOURS - 107), start + 3600 * (HOURS + 60) };

	for (int c = 0; c < 2; c++) {
		struct fc_options o;
		double worst = 0, utc = 0;

		for (int t = 0; t < HOURS; t++)
			y[t] = office(start + 3600 * (int64_t)t, changes[c]);
		fc_options_init(&o);
		o.utc_offset = offset;
		o.utc_offset_arg = &changes[c];
		forecast(HOURS, &o, a);
		for (size_t i = 0; i < AHEAD; i++)
			worst = fmax(worst, fabs(r.mean[i] - office(r.t0 + 3600 * (int64_t)i, changes[c])));
		tap_near(worst, 0, 5, "clocks change %s: hours follow the wall clock", c == 0 ? "before" : "ahead");
		tap_is_long(r.t0, start + 3600 * (int64_t)HOURS, "the first step is the one behind the history");
		tap_is_long((long long)r.n_used, HOURS, "no hour of the history is lost or made up");
		tap_ok(r.horizon == AHEAD && r.windows[r.n_windows - 1].first + r.windows[r.n_windows - 1].count == AHEAD,
		    "the horizon keeps its length");
		o.utc_offset = NULL;
		forecast(HOURS, &o, a);
		for (size_t i = 0; i < AHEAD; i++)
			utc = fmax(utc, fabs(r.mean[i] - office(r.t0 + 3600 * (int64_t)i, changes[c])));
		tap_ok(utc > 50, "by UTC some hours would be wrong");
	}
}

static void
shifts(struct arena *a)
{
	struct fc_options o;

	fc_options_init(&o);
	for (int t = 0; t < HOURS; t++)
		y[t] = (t < 1300 ? 400 : 40) * (1 + .1 * sin(t * 6.283185307179586 / 24) + .02 * noise(t));
	forecast(HOURS, &o, a);
	tap_is_long((long long)r.n_shifts, 1, "a fall to a tenth is one shift");
	tap_ok(r.n_shifts == 1 && llabs(r.shifts[0].t - (start + 3600 * 1300)) <= 3600, "dated to the hour");
	tap_near(r.n_shifts == 1 ? r.shifts[0].before : 0, 400, 20, "level before");
	tap_near(r.n_shifts == 1 ? r.shifts[0].after : 0, 40, 4, "level after");
	tap_ok(r.peak[FC_PEAK95] < 100, "a week later the old peaks do not drive P95 (%.0f)", r.peak[FC_PEAK95]);
	forecast(1300 + 36, &o, a);
	tap_is_long((long long)r.n_shifts, 1, "it is found 36 hours after");
	for (int t = 0; t < HOURS; t++)
		y[t] = 40 * (1 + .1 * sin(t * 6.283185307179586 / 24) + .02 * noise(t)) * (t == 1400 ? 10 : 1);
	forecast(HOURS, &o, a);
	tap_is_long((long long)r.n_shifts, 0, "a spike of an hour is no shift");
	tap_near(r.mean[0], 40, 8, "and does not move the forecast");
	tap_ok(r.peak[FC_PEAK99] > 60, "but the peak's P99 remembers it (%.0f)", r.peak[FC_PEAK99]);
}

/* Demand that swings between 50 and 150 within a day, and a factor from step 1300 on: found, dated and left behind. */
static void
rhythmic_shifts(struct arena *a)
{
	static const double factor[] = { 10, 2, 0.5, 0.1 };
	struct fc_options o;

	fc_options_init(&o);
	for (size_t k = 0; k < sizeof(factor) / sizeof(factor[0]); k++) {
		for (int t = 0; t < HOURS; t++)
			y[t] = (100 + 50 * sin(t * 6.283185307179586 / 24) + 8 * noise(t)) * (t < 1300 ? 1 : factor[k]);
		forecast(HOURS, &o, a);
		tap_ok(r.n_shifts == 1 && llabs(r.shifts[0].t - (start + 3600 * 1300)) <= 86400,
		    "times %g under a strong rhythm: one shift, dated to the day (%zu)", factor[k], r.n_shifts);
		tap_ok(r.peak[FC_PEAK50] > 135 * factor[k] && (factor[k] > .2 || r.peak[FC_PEAK95] < 30),
		    "its peaks are those of the new level (%.0f, %.0f)", r.peak[FC_PEAK50], r.peak[FC_PEAK95]);
		forecast(1300 + 48, &o, a);
		tap_is_long((long long)r.n_shifts, 1, "it is found 48 hours after");
	}
	for (int t = 0; t < HOURS; t++)
		y[t] = (100 + 50 * sin(t * 6.283185307179586 / 24) + 8 * noise(t)) * (t / 24 % 7 < 5 ? 1 : .3);
	for (size_t n = HOURS - 168; n < HOURS; n += 12) {
		forecast(n, &o, a);
		if (r.n_shifts > 0)
			break;
	}
	tap_is_long((long long)r.n_shifts, 0, "weekends are no shifts, from whatever day one looks");
}

/* Shifts of one made-up series up to n hours, by the preparation alone. */
static size_t
prepared(size_t n, struct fc_shift *shift, size_t *outages)
{
	struct fc_series s = { "s", start, 3600, n, y, NULL };
	struct fc_options o;
	struct arena *a = arena_new(), *tmp = arena_new();
	struct fc_job j = { .in = &s, .opt = &o, .a = a, .tmp = tmp };
	size_t found;

	fc_options_init(&o);
	o.horizon = 24;
	fc_prepare(&j);
	found = j.n_shift;
	memcpy(shift, j.shift, found * sizeof(*shift));
	*outages = j.n_outage;
	arena_free(a);
	arena_free(tmp);
	return found;
}

/* Around 100: a rhythm of a day (two fifths) and weekends of two fifths if asked for, noise with lag-1 correlation rho. */
static void
walk(struct rng *g, double sd, double rho, double swing, double weekend, double factor)
{
	double e = 0;

	for (int t = 0; t < HOURS; t++) {
		e = rho * e + sqrt(1 - rho * rho) * rng_normal(g);
		y[t] = fmax(0, 100 * (1 + swing * sin(t * 6.283185307179586 / 24) + sd * e)) * (t / 24 % 7 < 5 ? 1 : weekend) *
		    (t < 1300 ? 1 : factor);
	}
}

/*
 * How often a factor at hour 1300 (a Saturday at four) is found and dated to the day after `delay` hours, of 20 drawn series,
 * and how many shifts are seen in each where there is none.
 */
static void
shift_rates(void)
{
	static const struct {
		const char *what;
		double sd, rho, swing, weekend, factor;
		size_t delay;
		int least;	/* of 20 */
	} cases[] = {
		{ "a half more, noise of a twentieth", .05, 0, 0, 1, 1.5, 24, 19 },
		{ "double, noise of a tenth", .1, 0, 0, 1, 2, 36, 19 },
		{ "double, noise of a fifth", .2, 0, 0, 1, 2, 48, 19 },
		{ "half, noise of a fifth", .2, 0, 0, 1, .5, 48, 19 },
		{ "double, slow noise of a tenth", .1, .9, 0, 1, 2, 48, 17 },
		{ "a third, slow noise of a fifth", .2, .9, 0, 1, .33, 48, 17 },
		{ "double under a rhythm", .1, 0, .4, 1, 2, 48, 19 },
		{ "half under a rhythm, noise of a fifth", .2, 0, .4, 1, .5, 48, 19 },
		{ "double on a Saturday", .1, 0, .4, .4, 2, 48, 19 },
		{ "half on a Saturday", .1, 0, .4, .4, .5, 48, 19 },
	};
	struct fc_shift found[16];

	for (size_t k = 0; k < sizeof(cases) / sizeof(cases[0]); k++) {
		int hits = 0, wrong = 0;

		for (uint64_t seed = 0; seed < 20; seed++) {
			struct rng g;
			size_t n, outages;
			bool hit = false;

			rng_seed(&g, seed);
			walk(&g, cases[k].sd, cases[k].rho, cases[k].swing, cases[k].weekend, cases[k].factor);
			n = prepared(1300 + cases[k].delay, found, &outages);
			for (size_t i = 0; i < n; i++)
				hit = hit || llabs(found[i].t - 1300) <= 24;
			hits += hit;
			rng_seed(&g, seed);
			walk(&g, cases[k].sd, cases[k].rho, cases[k].swing, cases[k].weekend, 1);
			wrong += (int)prepared(HOURS, found, &outages);
		}
		tap_ok(hits >= cases[k].least, "%s: %d of 20 found and dated after %zu h", cases[k].what, hits, cases[k].delay);
		tap_ok(wrong <= 1, "... and %d in twenty times 1,500 h without one", wrong);
	}
}

/* Jobs of half a day, one at a time or two or three: often nothing at all. That is no outage. */
static void
small_counts(void)
{
	struct fc_shift found[16];
	size_t outages, worst = 0, all = 0;

	for (uint64_t seed = 0; seed < 20; seed++) {
		struct rng g;

		rng_seed(&g, seed);
		memset(y, 0, sizeof(y));
		for (int t = 0; t < HOURS; t++)
			if (rng_unit(&g) < .15)
				for (int i = t, to = t + 1 - (int)(12 * log(rng_unit(&g))); i < to && i < HOURS; i++)
					y[i]++;
		(void)prepared(HOURS, found, &outages);
		worst = outages > worst ? outages : worst;
		all += outages;
	}
	tap_ok(worst <= 3 && all <= 10, "small counts that touch 0: %zu outages in 20 series, at most %zu in one", all, worst);
}

/* An hour ten times as high moves the upper quantiles of the peak, not its median, however long ago it was; one a week does. */
static void
spikes(struct arena *a)
{
	struct fc_options o;
	double calm, calm99;

	fc_options_init(&o);
	for (int t = 0; t < HOURS; t++)
		y[t] = 40 * (1 + .1 * sin(t * 6.283185307179586 / 24) + .02 * noise(t));
	forecast(HOURS, &o, a);
	calm = r.windows[1].q[FC_PEAK50];
	calm99 = r.windows[1].q[FC_PEAK99];
	for (int back = 40; back < 1200; back += 230) {
		double was = y[HOURS - back];

		y[HOURS - back] = 400;
		forecast(HOURS, &o, a);
		tap_ok(r.windows[1].q[FC_PEAK50] < 1.25 * calm, "%d hours after a spike the median of the week's peak is %.0f (%.0f)", back,
		    r.windows[1].q[FC_PEAK50], calm);
		tap_ok(r.windows[1].q[FC_PEAK99] > 1.5 * calm99, "its P99 remembers (%.0f)", r.windows[1].q[FC_PEAK99]);
		y[HOURS - back] = was;
	}
	for (int week = 1; week < 5; week++)
		y[HOURS - week * 168 + 50] = 400;
	forecast(HOURS, &o, a);
	tap_ok(r.windows[1].q[FC_PEAK50] > 150, "a spike of each week is its peak (%.0f)", r.windows[1].q[FC_PEAK50]);
}

static size_t
spike_count(struct arena *a, double times)
{
	struct fc_series s = { "s", start, 3600, HOURS, y, NULL }, out;
	struct fc_spike v[FC_SPIKE_MAX];
	size_t n;

	fc_spikes(&s, times, a, &out, v, &n);
	return n;
}

/* What was recorded wrongly: cut to the rest where it is absurd, or where the caller says that it is no base. */
static void
absurd(struct arena *a)
{
	static const struct { int at, len; double v, times; bool cut; const char *what; } rows[] = {
		{ 700, 1, 1e9, FC_SPIKE_ABSURD, true, "1e9 in one hour" }, { HOURS - 1, 1, 1e9, FC_SPIKE_ABSURD, true, "1e9 in the last" },
		{ 700, 1, 400, FC_SPIKE_ABSURD, false, "ten times the rest" }, { 700, 3, 400, FC_SPIKE_ONCE, true, "that, for a plan" },
		{ 700, 4, 1e9, FC_SPIKE_ABSURD, false, "four hours" }, { HOURS - 20, 2, 400, FC_SPIKE_ONCE, false, "what has just come" },
		{ HOURS - 30, 30, 400, FC_SPIKE_ONCE, false, "what stays" }, { 700, 1, 1e9, INFINITY, false, "as it is" },
		{ 700, 1, 180, FC_SPIKE_ONCE, false, "less than five times the rest" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct fc_series s = { "s", start, 3600, HOURS, y, NULL }, out;
		struct fc_spike v[FC_SPIKE_MAX];
		double most = 0;
		size_t n;

		for (int t = 0; t < HOURS; t++)
			y[t] = 40 + t % 2;
		for (int k = 0; k < rows[i].len; k++)
			y[rows[i].at + k] = rows[i].v;
		fc_spikes(&s, rows[i].times, a, &out, v, &n);
		for (int t = 0; t < HOURS; t++)
			most = fmax(most, out.mean[t]);
		tap_ok(rows[i].cut ? n == (size_t)rows[i].len && most == 41 : n == 0 && out.mean == y, "%s: %s", rows[i].what,
		    rows[i].cut ? "cut" : "kept");
		if (rows[i].cut)
			tap_ok(v[0].t == start + 3600 * (int64_t)rows[i].at && v[0].value == rows[i].v && v[0].to == 41, "and told");
	}
	for (int t = 0; t < HOURS; t++)
		y[t] = t % 168 == 7 ? 400 : 40;
	tap_ok(spike_count(a, FC_SPIKE_ONCE) == 0, "an hour of each week comes back: kept");
	for (int t = 0; t < HOURS; t++)
		y[t] = t == 700 ? 90 : t == 900 ? 2 : 0;
	tap_ok(spike_count(a, FC_SPIKE_ONCE) == 0, "where there is mostly nothing, 45 times the rest is demand");
	for (int t = 0; t < HOURS; t++)
		y[t] = t == 700 ? 1e9 : 0;
	tap_ok(spike_count(a, FC_SPIKE_ONCE) == 0, "nothing to cut to: kept");
}

/* The maximum over a window is no smaller than any of its steps. */
static void
peak_holds_steps(struct arena *a)
{
	static const enum fc_level level[] = { FC_P50, FC_P90, FC_P95, FC_P99 };
	static const size_t ahead[] = { 1, 24, 168 };
	struct fc_options o;

	for (int kind = 0; kind < 3; kind++)
		for (size_t k = 0; k < 3; k++) {
			bool ok = true;

			for (int t = 0; t < HOURS; t++)
				y[t] = kind == 0 ? exp(t / 300.0) : kind == 1 ? 40 + 15 * sin(t * 6.283185307179586 / 24) :
				    (t < 1300 ? 40 : 400) * (1 + .4 * sin(t * 6.283185307179586 / 24) + .1 * noise(t));
			fc_options_init(&o);
			o.horizon = ahead[k];
			forecast(HOURS, &o, a);
			for (size_t i = 0; i < r.horizon; i++)
				for (size_t l = 0; l < 4; l++)
					ok = ok && r.q[i * FC_LEVEL_COUNT + level[l]] <= r.peak[l] * (1 + 1e-12);
			tap_ok(ok, "series %d, %zu steps: each quantile of the peak holds that of every step", kind, ahead[k]);
		}
}

static void
holes(struct arena *a)
{
	struct fc_options o;
	double dip;

	fc_options_init(&o);
	for (int t = 0; t < HOURS; t++)
		y[t] = t >= 600 && t < 900 ? NAN : t >= 1000 && t < 1030 ? 0 : 100 + 20 * sin(t * 6.283185307179586 / 24) +
		    noise(t);
	y[1200] = NAN;
	forecast(HOURS, &o, a);
	tap_ok(r.n_gaps == 1 && r.gaps[0].from == start + 3600 * 600 && r.gaps[0].to == start + 3600 * 900,
	    "the gap is listed from its first to behind its last hour");
	tap_ok(r.n_outages == 1 && r.outages[0].from == start + 3600 * 1000 && r.outages[0].to == start + 3600 * 1030,
	    "so is the outage");
	tap_is_long((long long)r.n_missing, 301, "missing hours are counted");
	dip = INFINITY;
	for (size_t i = 0; i < AHEAD; i++)
		dip = fmin(dip, r.mean[i]);
	tap_near(dip, 80, 6, "neither pulls the forecast down");
	o.cap = 110;
	forecast(HOURS, &o, a);
	tap_ok(r.peak[FC_PEAK99] <= 110 && r.censored, "the cap holds, and the history is said to stand at it");
	o.cap = 1000;
	forecast(HOURS, &o, a);
	tap_ok(!r.censored, "a cap far above censors nothing");
	o.horizon = 24 * 365;
	forecast(HOURS, &o, a);
	tap_ok(r.q[(size_t)24 * 364 * FC_LEVEL_COUNT + FC_P95] - r.q[(size_t)24 * 364 * FC_LEVEL_COUNT + FC_P05] >
	    r.q[600 * FC_LEVEL_COUNT + FC_P95] - r.q[600 * FC_LEVEL_COUNT + FC_P05], "a year ahead is less sure than weeks");
}

/* A fleet with office hours; a new series of 20 hours that has them too, one that does not, and one of 3 hours. */
enum { END = HOURS - 60 };	/* the midnight before a Friday */

static void
cold(struct arena *a)
{
	static double fleet[4][END], new[3][20];
	static const char *const names[] = { "a", "b", "c", "d", "new", "flat", "three" };
	struct fc_series s[7];
	struct fc_result out[7], again[7];
	struct fc_options o;
	struct berth_err err = { 0 };
	double worst = 0, three = 0;

	for (int k = 0; k < 4; k++)
		for (int t = 0; t < END; t++)
			fleet[k][t] = (k + 1) * (office(start + 3600 * (int64_t)t, 0) + 5 * noise(t + 31 * k));
	for (int t = 0; t < 20; t++) {
		new[0][t] = .3 * office(start + 3600 * (int64_t)(END - 20 + t), 0);
		new[1][t] = 30 + t % 2;
		new[2][t] = new[0][t];
	}
	for (int k = 0; k < 7; k++) {
		int n = k < 4 ? END : k < 6 ? 20 : 3;

		s[k] = (struct fc_series){ names[k], start + 3600 * (int64_t)(END - n), 3600, (size_t)n,
			k < 4 ? fleet[k] : k < 6 ? new[k - 4] : new[2] + 17, NULL };
	}
	fc_options_init(&o);
	o.horizon = AHEAD;
	tap_code(fc_run_many(s, 7, &o, a, out, &err), BERTH_OK, &err);
	tap_is_str(out[4].model, "fleet", "a new series that is like the fleet takes its shape");
	for (size_t i = 0; i < AHEAD; i++) {
		worst = fmax(worst, fabs(out[4].mean[i] - .3 * office(out[4].t0 + 3600 * (int64_t)i, 0)));
		three = fmax(three, fabs(out[6].mean[i] - .3 * office(out[6].t0 + 3600 * (int64_t)i, 0)));
	}
	tap_near(worst, 0, 3, "weekends too, that it has never seen");
	tap_is_str(out[6].model, "fleet", "three hours are enough where the fleet agrees");
	tap_near(three, 0, 6, "at their level");
	tap_ok(out[5].mean[0] > 28 && out[5].mean[0] < 33 && out[5].mean[12] > 28 && out[5].mean[12] < 33,
	    "a new series that is flat stays flat");
	tap_code(fc_run_many(s, 3, &o, a, again, &err), BERTH_OK, &err);
	tap_ok(strcmp(again[0].model, "fleet") != 0, "the fleet itself is not new");
}

int
main(void)
{
	struct arena *a = arena_new();

	cold(a);
	local_time(a);
	shifts(a);
	rhythmic_shifts(a);
	shift_rates();
	small_counts();
	spikes(a);
	absurd(a);
	peak_holds_steps(a);
	holes(a);
	arena_free(a);
	return tap_done();
}
