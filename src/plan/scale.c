#include <math.h>
#include <string.h>

#include "plan/scale.h"

#define SCALE_SHARE_MOST 10
#define SCALE_RATE_S 300  /* the time that down_rate is told for */
#define SCALE_CALM 0.0025 /* a smaller swing is none */
#define SCALE_MOVES 24    /* changes of the load that the memory of a swing outlasts */

static const char *const scale_reason_names[SCALE_REASON_COUNT] = {
	"steady",
	"up",
	"down",
	"held",
	"busy",
	"limit",
	"no_metric",
};

const char *
scale_reason_name(enum scale_reason r)
{
	return r < SCALE_REASON_COUNT ? scale_reason_names[r] : "unknown";
}

enum berth_code
scale_check(const struct scale_rule *r, struct berth_err *err)
{
	if (r->max < r->min)
		return err_set(err, BERTH_EINVAL, "at least %lld replicas, and %lld at most",
		    (long long)r->min, (long long)r->max);
	if (r->min < 0 || (double)r->max > SCALE_MOST)
		return err_set(err, BERTH_EINVAL, "fleet of %lld to %lld machines",
		    (long long)r->min, (long long)r->max);
	if (r->headroom.machines < 0 || (double)r->headroom.machines > SCALE_MOST ||
	    r->headroom.gpus < 0 || (double)r->headroom.gpus > SCALE_MOST || r->gpus < 0 ||
	    r->headroom.percentile < 0 || r->headroom.percentile > 99 ||
	    !(r->headroom.share >= 0 && r->headroom.share <= SCALE_SHARE_MOST))
		return err_set(err, BERTH_EINVAL,
		    "headroom of %lld machines, %lld GPUs, a share of %g, a percentile of %lld",
		    (long long)r->headroom.machines, (long long)r->headroom.gpus, r->headroom.share,
		    (long long)r->headroom.percentile);
	if (!(r->unit > 0) || !isfinite(r->unit))
		return err_set(err, BERTH_EINVAL, "unit: a machine that carries %g", r->unit);
	if (!(r->target > 0 && r->target <= 1))
		return err_set(
		    err, BERTH_EINVAL, "target: %g is not above 0 and at most 1", r->target);
	if (!(r->tolerance >= 0 && r->tolerance < 1))
		return err_set(
		    err, BERTH_EINVAL, "tolerance: %g is not between 0 and 1", r->tolerance);
	if (!(r->down_rate > 0 && r->down_rate <= 1))
		return err_set(
		    err, BERTH_EINVAL, "down_rate: %g is not above 0 and at most 1", r->down_rate);
	if (r->boot_s < 0 || r->down_window_s < 0 || r->billing_s < 0 || !(r->drain_s >= 0))
		return err_set(err, BERTH_EINVAL, "a negative time");
	return BERTH_OK;
}

static int64_t
scale_clamp(int64_t n, int64_t lo, int64_t hi)
{
	return n < lo ? lo : n > hi ? hi : n;
}

int64_t
scale_window(const struct scale_rule *r)
{
	int64_t w = 2 * r->boot_s + r->billing_s;

	return r->down_window_s > 0 ? r->down_window_s : w > SCALE_RATE_S ? w : SCALE_RATE_S;
}

double
scale_foreseen(const struct scale_still *s, double level, int64_t ahead_s, double forecast)
{
	double moves;

	if (s->known_s <= 0 || ahead_s < 0 || isnan(forecast))
		return forecast;
	moves = (double)ahead_s / ((double)s->known_s + (double)ahead_s);
	return fmin(level, 1 - level) >= moves ? s->value : forecast;
}

int64_t
scale_restart(const struct scale_rule *r)
{
	return r->boot_s + r->billing_s;
}

static double
scale_fixed(const struct scale_rule *r)
{
	return fmax((double)r->headroom.machines,
	    (double)r->headroom.gpus / (double)(r->gpus > 0 ? r->gpus : 1));
}

/* With what is kept spare: continuous in n > 0, so that no noise of n grows by it. */
static double
scale_with(const struct scale_rule *r, double n)
{
	double spare = scale_fixed(r);

	if (r->headroom.share > 0 && n > 0)
		spare = fmax(spare, fmax(1, r->headroom.share * n));
	return fmin(n + spare, SCALE_MOST);
}

double
scale_carried(const struct scale_rule *r, double machines)
{
	double n = machines - scale_fixed(r);

	if (n >= 0 && r->headroom.share > 0)
		n = fmax(0, fmin(n, fmin(machines - 1, machines / (1 + r->headroom.share))));
	return n * r->target * r->unit;
}

/* Machines that the input asks for, not yet rounded up, without headroom; a forecast or a queue
 * that is not known asks for nothing. */
static double
scale_need(const struct scale_rule *r, const struct scale_input *in)
{
	double carry = r->target * r->unit, n = in->load / carry;

	if (r->drain_s > 0 && in->queued > 0 && isfinite(in->queued))
		n = fmax(n, in->load / carry + in->queued / (r->drain_s * carry));
	if (in->forecast > 0 && isfinite(in->forecast))
		n = fmax(n, in->forecast / carry);
	return fmin(fmax(n, 0), SCALE_MOST);
}

bool
scale_blind(const struct scale_rule *r, const struct scale_input *in)
{
	return r->headroom.percentile > 0 && !(isfinite(in->least) && in->least >= 0);
}

double
scale_least(const struct scale_rule *r, double load)
{
	return r->headroom.percentile > 0 && load > 0 && isfinite(load)
		   ? fmin(load / (r->target * r->unit), SCALE_MOST)
		   : 0;
}

/* 17 GPUs on machines of 8 are 3 machines; 16.000000001 from a rounding are 2. */
static int64_t
scale_whole(double need)
{
	return (int64_t)ceil(fmax(0, need - 1e-9 * fmax(1, need)));
}

int64_t
scale_carries(const struct scale_rule *r, double load)
{
	return isfinite(load) && load > 0 ? scale_whole(scale_with(r, load / (r->target * r->unit)))
					  : 0;
}

/* Half-life of what is known of the noise: where a sample stands for about as long as the window, a
 * few windows hold too few reversals to tell that there is any. A load that hardly changes, or no
 * more, is calm. */
static double
scale_fade(const struct scale_state *s, int64_t t, int64_t window)
{
	bool calm = s->gap > 2 * (double)window || (double)(t - s->moved) > 2 * s->gap;

	return fmax(2 * (double)window, calm ? 0 : SCALE_MOVES * s->gap);
}

/* What goes up and comes down again is noise; what only goes up, or only down, is not. Nor is a
 * headroom that is another one than it was, or what goes on below the least of it. */
static void
scale_swing(const struct scale_rule *r, struct scale_state *s, const struct scale_input *in,
    double load, int64_t passed_s, int64_t window)
{
	double least = scale_least(r, in->least), need = fmax(scale_with(r, load), least),
	       last = fmax(scale_with(r, s->last), least), move = need - last,
	       back = fmax(fabs(move), fabs(s->move));
	int64_t t = in->t;

	if (move != 0) {
		if (s->moved > 0 && t > s->moved)
			s->gap += ((double)(t - s->moved) - s->gap) / (s->gap > 0 ? 4 : 1);
		s->moved = t;
	}
	s->swing *= exp2(-(double)(passed_s > 0 ? passed_s : 0) / scale_fade(s, t, window));
	if (move * s->move < 0)
		s->swing = fmax(s->swing, back / fmax(need, last));
	s->swing = s->swing < SCALE_CALM ? 0 : fmin(s->swing, r->tolerance / 2);
	if (move != 0)
		s->move = move;
	s->last = load;
}

double
scale_room(const struct scale_rule *r, const struct scale_state *s)
{
	double half = r->tolerance / 2;

	return fmin(1 + 3 * s->swing, (1 + half) / (1 - half));
}

/* Keeps the recommendation and gives the largest of the window. */
static double
scale_remember(struct scale_state *s, int64_t t, double n, int64_t window)
{
	size_t old = 0;

	while (s->n_want > 0 && s->want[s->n_want - 1].n <= n)
		s->n_want--;
	while (old < s->n_want && s->want[old].t <= t - window)
		old++;
	s->n_want -= old;
	memmove(s->want, s->want + old, s->n_want * sizeof(s->want[0]));
	if (s->n_want == SCALE_MEMORY) /* a long staircase down: the last step stands for both */
		s->n_want--;
	s->want[s->n_want].t = t;
	s->want[s->n_want].n = n;
	s->n_want++;
	return s->want[0].n;
}

/* Machines that may go now by the rate. */
static int64_t
scale_allowance(const struct scale_rule *r, struct scale_state *s, int64_t t, int64_t have)
{
	int64_t most = (int64_t)floor(r->down_rate * (double)have);

	if (t - s->down_t >= SCALE_RATE_S) {
		s->down_t = t;
		s->down_n = 0;
	}
	most = (most > 1 ? most : 1) - s->down_n;
	return most > 0 ? most : 0;
}

static void
scale_in(const struct scale_rule *r, struct scale_state *s, const struct scale_input *in,
    double need, int64_t window, struct scale_decision *out)
{
	int64_t have = in->ready + in->starting, floor_n = in->busy > r->min ? in->busy : r->min,
		allowance;
	int64_t most = scale_clamp(scale_whole(need), r->min, r->max);

	if ((double)have <= (double)most * (1 + r->tolerance))
		return;
	out->reason = SCALE_HELD;
	if (have <= scale_whole(need * scale_room(r, s)) && have > r->min)
		return;
	if (in->waiting > 0) { /* else a place that is sold out would hold what is paid for */
		out->target = scale_clamp(most, have - in->waiting, have);
		out->reason = SCALE_DOWN;
		return;
	}
	if (in->starting > 0 || (s->arrived != INT64_MIN && in->t - s->arrived < window) ||
	    scale_blind(r, in))
		return;
	most = scale_clamp(scale_carries(r, in->soon), most, r->max);
	most = scale_clamp(scale_whole(scale_least(r, in->least_soon)), most, r->max);
	if (most >= have)
		return;
	if (floor_n >= have) {
		out->reason = SCALE_BUSY;
		return;
	}
	allowance = scale_allowance(r, s, in->t, have);
	if (allowance == 0)
		return;
	out->target = have - allowance;
	if (out->target < most)
		out->target = most;
	if (out->target < floor_n)
		out->target = floor_n;
	s->down_n += have - out->target;
	out->reason = SCALE_DOWN;
}

void
scale_step(const struct scale_rule *r, struct scale_state *s, const struct scale_input *in,
    struct scale_decision *out)
{
	int64_t have = in->ready + in->starting, window = scale_window(r), asked, last_t = in->t;
	bool known = isfinite(in->load) && in->load >= 0;
	double load, need, most;

	if (s->n_want > 0)
		last_t = s->want[s->n_want - 1].t;
	/* A clock that went back: what was learned lies in a time that is still to come. */
	if (s->started && (in->t < last_t || (s->arrived != INT64_MIN && in->t < s->arrived) ||
			      in->t < s->down_t))
		*s = (struct scale_state){ .had = s->had,
			.arrived = in->t,
			.down_t = in->t,
			.down_n = s->down_n,
			.last = s->last,
			.swing = s->swing,
			.moved = in->t,
			.gap = s->gap,
			.started = true };
	if (!s->started)
		*s = (struct scale_state){ .had = in->ready,
			.arrived = INT64_MIN,
			.down_t = INT64_MIN / 2,
			.last = known ? scale_need(r, in) : 0,
			.swing = r->tolerance / 2,
			.moved = in->t,
			.started = true };
	if (in->ready > s->had)
		s->arrived = in->t;
	s->had = in->ready;
	load = known ? scale_need(r, in) : (double)have;
	need = known ? fmax(scale_with(r, load), scale_least(r, in->least)) : load;
	if (!known)
		s->moved = 0;
	else
		scale_swing(r, s, in, load, in->t - last_t, window);
	asked = scale_whole(need);
	out->asked = known ? scale_clamp(scale_whole(load), 0, r->max) : -1;
	out->spare = known ? scale_clamp(asked, 0, r->max) - out->asked : 0;
	out->want = scale_clamp(asked, r->min, r->max);
	out->target = have;
	out->reason = SCALE_STEADY;
	most = scale_remember(s, in->t, need, window);
	/* by what is asked for: near max a small step may be all that is left of a large one */
	if (have < r->min ||
	    (known && out->want > have && (double)asked > (double)have * (1 + r->tolerance))) {
		out->target = out->want > r->min ? out->want : r->min;
		out->reason = SCALE_UP;
	} else if (!known) {
		out->reason = SCALE_NO_METRIC;
	} else if (have > r->max) {
		out->target = scale_clamp(in->busy, r->max, have);
		out->reason = out->target < have ? SCALE_DOWN : SCALE_BUSY;
	} else if (scale_clamp(scale_whole(most), r->min, r->max) < have) {
		scale_in(r, s, in, most, window, out);
	} else if (asked > r->max && have >= r->max) {
		out->reason = SCALE_LIMIT;
	} else if (have > r->min && (double)have > (double)out->want * (1 + r->tolerance)) {
		out->reason = SCALE_HELD;
	}
}
