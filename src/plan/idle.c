#include <math.h>

#include "plan/idle.h"

enum berth_code
idle_check(const struct idle_rule *r, struct berth_err *err)
{
	if (!(r->below > 0 && r->below <= 1))
		return err_set(
		    err, BERTH_EINVAL, "below: %g is not above 0 and at most 1", r->below);
	if (r->alert_s < 0 || r->stop_s < 0)
		return err_set(err, BERTH_EINVAL, "a negative time");
	if (r->alert_s > 0 && r->stop_s > 0 && r->alert_s >= r->stop_s)
		return err_set(err, BERTH_EINVAL, "alert: %lld s are not before the stop at %lld s",
		    (long long)r->alert_s, (long long)r->stop_s);
	return BERTH_OK;
}

enum idle_verdict
idle_step(const struct idle_rule *r, struct idle_state *s, int64_t t, double busy)
{
	int64_t most = r->stop_s > r->alert_s ? r->stop_s : r->alert_s;
	bool known = isfinite(busy) && busy >= 0, blind;

	if (most <= 0)
		return IDLE_NO;
	blind = !known && !s->blind;
	s->blind = s->blind || blind;
	if (!known || busy >= r->below) {
		s->since = 0;
	} else if (s->since == 0 || t < s->last || t - s->last > most / 2) {
		s->since = t;
		s->n = 0;
		s->told = false;
	}
	s->last = t;
	s->busy = known ? busy : 0;
	if (s->since == 0)
		return blind ? IDLE_BLIND : IDLE_NO;
	s->n++;
	if (s->n < IDLE_READINGS)
		return IDLE_NO;
	if (!s->told && r->alert_s > 0 && t - s->since >= r->alert_s) {
		s->told = true;
		return IDLE_ALERT;
	}
	return r->stop_s > 0 && t - s->since >= r->stop_s ? IDLE_STOP : IDLE_NO;
}

int64_t
idle_alert_at(const struct idle_rule *r, const struct idle_state *s)
{
	return s->since > 0 && r->alert_s > 0 ? s->since + r->alert_s : 0;
}

int64_t
idle_stop_at(const struct idle_rule *r, const struct idle_state *s)
{
	return s->since > 0 && r->stop_s > 0 ? s->since + r->stop_s : 0;
}
