#include <stdlib.h>
#include <string.h>

#include "plan/scalehours.h"
#include "util/str.h"
#include "util/time.h"

#define DAY_S 86400
#define SCALE_HOURS_MOST 100000

static const char *const scale_days[] = { "mon", "tue", "wed", "thu", "fri", "sat", "sun", NULL };

static int
scale_day(const char *s)
{
	for (int d = 0; d < 7; d++)
		if (strncmp(s, scale_days[d], 3) == 0)
			return d;
	return -1;
}

/* "mon-fri", "sat sun", "fri-mon" and the space after it; where the hours begin, NULL if it is
 * none. */
static const char *
scale_days_parse(const char *s, unsigned *days_out)
{
	*days_out = 0;
	do {
		int from = scale_day(s), to = from;

		if (from < 0)
			return NULL;
		s += 3;
		if (*s == '-') {
			if ((to = scale_day(s + 1)) < 0)
				return NULL;
			s += 4;
		}
		for (int d = from;; d = (d + 1) % 7) {
			*days_out |= 1U << d;
			if (d == to)
				break;
		}
		if (*s++ != ' ')
			return NULL;
	} while (*s >= 'a' && *s <= 'z');
	return s;
}

static bool
scale_digits(const char *s, size_t n)
{
	return strspn(s, "0123456789") >= n;
}

/* "08:00"; 24:00 is the end of the day. */
static const char *
scale_clock(const char *s, int32_t *s_out)
{
	int h, m;

	if (!scale_digits(s, 2) || s[2] != ':' || !scale_digits(s + 3, 2))
		return NULL;
	h = (s[0] - '0') * 10 + s[1] - '0';
	m = (s[3] - '0') * 10 + s[4] - '0';
	*s_out = h * 3600 + m * 60;
	return m < 60 && *s_out <= DAY_S ? s + 5 : NULL;
}

/* "4..20", "4..", "..2" up to a space or the end of the text, which it gives; NULL: it is none. */
static const char *
scale_range(const char *s, int64_t *min_out, int64_t *max_out)
{
	size_t n = strspn(s, "0123456789");
	size_t k = strncmp(s + n, "..", 2) == 0 ? strspn(s + n + 2, "0123456789") : 0;
	const char *end;

	if (n > 6 || k > 6 || n + k == 0 || strncmp(s + n, "..", 2) != 0)
		return NULL;
	end = s + n + 2 + k;
	*min_out = n > 0 ? strtoll(s, NULL, 10) : -1;
	*max_out = k > 0 ? strtoll(s + n + 2, NULL, 10) : -1;
	return (*end == '\0' || *end == ' ') && *min_out <= SCALE_HOURS_MOST &&
		       *max_out <= SCALE_HOURS_MOST && (n == 0 || k == 0 || *min_out <= *max_out)
		   ? end
		   : NULL;
}

enum berth_code
scale_headroom_parse(const char *text, struct scale_headroom *out, struct berth_err *err)
{
	size_t n = strspn(text, "0123456789"),
	       k = text[n] == '.' ? strspn(text + n + 1, "0123456789") : 0;
	const char *unit = text + n + (k > 0 ? k + 1 : 0);
	static const char *const percentiles[] = { "p50", "p90", "p95", "p99", NULL };
	bool share = str_eq(unit, "%"), gpus = str_eq(unit, "gpus");
	double value = n > 0 && n <= 6 && k <= 6 ? strtod(text, NULL) : -1;

	*out = (struct scale_headroom){ .machines = 0 };
	if (str_index(text, percentiles) >= 0) {
		out->percentile = strtoll(text + 1, NULL, 10);
		return BERTH_OK;
	}
	if (value < 0 || (!share && (k > 0 || (!gpus && *unit != '\0'))))
		return err_set(err, BERTH_EINVAL,
		    "'%.80s' is no headroom: it is a number of replicas, a share as in 20%%, "
		    "accelerators as in 16gpus, or p50, p90, p95 or p99 of the forecast",
		    text);
	if (value > (share ? 1000 : SCALE_HOURS_MOST))
		return err_set(err, BERTH_EINVAL, "a headroom of '%.80s' is more than %s", text,
		    share ? "1000%" : "100000");
	if (share)
		out->share = value / 100;
	else
		*(gpus ? &out->gpus : &out->machines) = (int64_t)value;
	return BERTH_OK;
}

void
scale_headroom_join(struct scale_headroom *a, const struct scale_headroom *b)
{
	a->machines = b->machines > a->machines ? b->machines : a->machines;
	a->gpus = b->gpus > a->gpus ? b->gpus : a->gpus;
	a->share = b->share > a->share ? b->share : a->share;
	a->percentile = b->percentile > a->percentile ? b->percentile : a->percentile;
}

bool
scale_headroom_none(const struct scale_headroom *h)
{
	return h->machines <= 0 && h->gpus <= 0 && !(h->share > 0) && h->percentile <= 0;
}

bool
scale_headroom_eq(const struct scale_headroom *a, const struct scale_headroom *b)
{
	return a->machines == b->machines && a->gpus == b->gpus && !(a->share < b->share) &&
	       !(a->share > b->share) && a->percentile == b->percentile;
}

/* What stands behind the clock: " 4..20", " +2", " 4..20 +25%". */
static enum berth_code
scale_bounds_parse(const char *s, struct scale_hours *out, struct berth_err *err)
{
	struct berth_err why = { 0 };

	out->min = out->max = -1;
	if (s[1] != '+')
		s = scale_range(s + 1, &out->min, &out->max);
	if (s == NULL)
		return err_set(err, BERTH_EINVAL,
		    "'%.80s': the least and the most are at most %d, as in 4..20, 4.. or ..20, and "
		    "headroom stands behind them as in +2, +25%% or +p90",
		    out->text, SCALE_HOURS_MOST);
	if (*s == '\0')
		return BERTH_OK;
	if (s[1] != '+' || scale_headroom_parse(s + 2, &out->headroom, &why) != BERTH_OK)
		return err_set(err, BERTH_EINVAL, "'%.80s': %s", out->text,
		    s[1] != '+' ? "what stands behind the least and the most is headroom, as in "
				  "+2, +25% or +p90"
				: why.msg);
	out->spare = true;
	return BERTH_OK;
}

enum berth_code
scale_hours_parse(const char *text, struct scale_hours *out, struct berth_err *err)
{
	const char *s = text;

	*out = (struct scale_hours){ .days = 0x7f, .text = text };
	if (*s >= 'a' && *s <= 'z') {
		s = scale_days_parse(s, &out->days);
		if (s == NULL)
			return err_set(err, BERTH_EINVAL,
			    "'%.80s': days are mon tue wed thu fri sat sun, as in 'mon-fri "
			    "08:00-20:00 4..' or 'sat sun 00:00-24:00 ..2'",
			    text);
	}
	s = scale_clock(s, &out->from_s);
	if (s != NULL && *s == '-')
		s = scale_clock(s + 1, &out->to_s);
	else
		s = NULL;
	if (s == NULL || out->from_s >= DAY_S || *s != ' ')
		return err_set(err, BERTH_EINVAL,
		    "'%.80s': hours are from 00:00 to 24:00, as in 08:00-20:00", text);
	return scale_bounds_parse(s, out, err);
}

const struct scale_hours *
scale_hours_at(const struct scale_hours *hours, size_t n, const struct tz *tz, int64_t t)
{
	int64_t wall = t + tz_offset(tz, t);
	int64_t day_s = wall - time_floor(wall, DAY_S);
	int today = (int)time_weekday(wall), before = (today + 6) % 7;

	for (size_t i = 0; i < n; i++) {
		const struct scale_hours *h = &hours[i];
		bool over = h->to_s <= h->from_s; /* midnight */

		if ((h->days >> today & 1) != 0 && day_s >= h->from_s && (over || day_s < h->to_s))
			return h;
		if (over && (h->days >> before & 1) != 0 && day_s < h->to_s)
			return h;
	}
	return NULL;
}

/* min and max while h holds; what it does not tell is the rule's, and gives way to what it tells.
 */
static void
scale_limits(
    const struct scale_hours *h, const struct scale_rule *r, int64_t *min_out, int64_t *max_out)
{
	*min_out = h != NULL && h->min >= 0 ? h->min : r->min;
	*max_out = h != NULL && h->max >= 0 ? h->max : r->max;
	if (*max_out < *min_out && h != NULL && h->max >= 0)
		*min_out = *max_out;
	else if (*max_out < *min_out)
		*max_out = *min_out;
}

void
scale_hours_apply(
    const struct scale_hours *hours, size_t n, const struct tz *tz, int64_t t, struct scale_rule *r)
{
	const struct scale_hours *now, *soon;
	struct scale_headroom then;
	int64_t min, max, soon_min, soon_max;

	if (n == 0)
		return;
	now = scale_hours_at(hours, n, tz, t);
	soon = scale_hours_at(hours, n, tz, t + r->boot_s);
	then = soon != NULL && soon->spare ? soon->headroom : r->headroom;
	scale_limits(now, r, &min, &max);
	scale_limits(soon, r, &soon_min, &soon_max);
	if (now != NULL && now->spare)
		r->headroom = now->headroom;
	scale_headroom_join(&r->headroom, &then);
	r->min = soon_min > min ? soon_min : min;
	r->max = r->min > max ? r->min : max;
}

int64_t
scale_hours_next(const struct scale_hours *hours, size_t n, const struct tz *tz, int64_t t,
    const struct scale_rule *base, struct scale_rule *then_out)
{
	struct scale_rule now = *base;

	scale_hours_apply(hours, n, tz, t, &now);
	for (int64_t u = time_floor(t, 60) + 60; n > 0 && u <= t + 8 * DAY_S; u += 60) {
		*then_out = *base;
		scale_hours_apply(hours, n, tz, u, then_out);
		if (then_out->min != now.min || then_out->max != now.max ||
		    !scale_headroom_eq(&then_out->headroom, &now.headroom))
			return u;
	}
	return 0;
}
