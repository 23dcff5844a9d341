#include "store/priv.h"
#include "store/tier.h"
#include "store/tier_late.h"
#include "util/time.h"

struct late {
	struct store *s;
	int64_t series_id, step_s;
	const struct tier_marks *marks;
	const struct put_rule *rule;
	struct late_put *out;
	struct arena *a; /* of one bucket */
};

static size_t
late_slot(const struct tier_bucket *b, int64_t t)
{
	return (size_t)((t - b->t) / b->step_s);
}

/* Does this step count: what is made again must have changed, or be there. */
static bool
late_counts(const struct late *l, const struct sample *v, const struct tier_bucket *old)
{
	if (!l->rule->remade || (v->t >= l->rule->from && v->t < l->rule->to))
		return true;
	return old != NULL && tier_bit(old->has, late_slot(old, v->t));
}

/* The bucket becomes now. */
static enum berth_code
late_write(struct late *l, const struct tier_bucket *now, const struct tier_bucket *old,
    struct berth_err *err)
{
	struct tier_count change = old != NULL ? tier_count_sub(now->sum, old->sum) : now->sum;
	enum berth_code rc = tier_put(l->s, l->series_id, now, err);

	if (rc == BERTH_OK)
		rc = tier_ledger_add(
		    l->s, l->series_id, time_floor(now->t, tier_stretch(l->step_s)), change, err);
	l->out->grown += change.steps;
	l->out->scan = l->out->scan || old != NULL;
	if (!(l->out->peak >= now->peak))
		l->out->peak = now->peak;
	return rc;
}

static enum put_fate
late_fate(
    const struct late *l, enum tier_fit fit, const struct tier_bucket *old, const struct sample *v)
{
	if (old == NULL || fit == TIER_APART)
		return PUT_STORED;
	if (fit == TIER_SAME || l->rule->loaded_before)
		return PUT_DUPLICATE;
	if (fit == TIER_UNKNOWN)
		return PUT_REFUSED;
	return tier_bit(old->has, late_slot(old, v->t)) ? PUT_REPLACED : PUT_STORED;
}

static void
late_count(struct late *l, const struct sample *v, enum put_fate fate)
{
	struct late_put *out = l->out;

	out->counts.stored += fate == PUT_STORED;
	out->counts.duplicate += fate == PUT_DUPLICATE;
	out->counts.replaced += fate == PUT_REPLACED;
	out->counts.refused += fate == PUT_REFUSED;
	if (fate != PUT_STORED && fate != PUT_REPLACED)
		return;
	out->first_t = v->t < out->first_t ? v->t : out->first_t;
	out->last_t = v->t > out->last_t ? v->t : out->last_t;
}

/* Steps v [n] of one bucket. */
static enum berth_code
late_bucket(struct late *l, enum tier tier, int64_t t, const struct sample *v, size_t n,
    unsigned char *fate, struct berth_err *err)
{
	struct tier_bucket stored, now, *old = NULL;
	enum tier_fit fit = TIER_APART;
	enum berth_code rc;
	bool found;

	rc = tier_get(l->s, l->series_id, tier, t, l->step_s, l->a, &stored, &found, err);
	if (rc != BERTH_OK)
		return rc;
	if (found)
		old = &stored;
	tier_begin(&now, tier, t, l->step_s, l->a);
	for (size_t i = 0; i < n; i++)
		if (late_counts(l, &v[i], old))
			tier_add(&now, &v[i]);
	if (now.sum.steps > 0 && old != NULL)
		fit = tier_fit(&now, old);
	for (size_t i = 0; i < n; i++) {
		fate[i] = late_counts(l, &v[i], old) ? (unsigned char)late_fate(l, fit, old, &v[i])
						     : PUT_DUPLICATE;
		late_count(l, &v[i], fate[i]);
	}
	if (now.sum.steps == 0 ||
	    (old != NULL && (fit == TIER_SAME || fit == TIER_UNKNOWN ||
				(fit == TIER_WHOLE && l->rule->loaded_before))))
		return BERTH_OK;
	if (old != NULL && fit == TIER_APART)
		tier_merge(&now, old);
	return late_write(l, &now, old, err);
}

enum berth_code
tier_late_put(struct store *s, int64_t series_id, int64_t step_s, const struct tier_marks *marks,
    const struct sample *v, size_t n, const struct put_rule *rule, unsigned char *fate,
    struct late_put *out, struct berth_err *err)
{
	struct late l = { .s = s,
		.series_id = series_id,
		.step_s = step_s,
		.marks = marks,
		.rule = rule,
		.out = out,
		.a = arena_new() };
	enum berth_code rc = BERTH_OK;
	size_t to;

	for (size_t from = 0; rc == BERTH_OK && from < n; from = to) {
		enum tier tier = v[from].t < marks->day_until ? TIER_DAY : TIER_HOUR;
		int64_t t = time_floor(v[from].t, tier_len(tier));

		for (to = from + 1; to < n && v[to].t < t + tier_len(tier); to++)
			continue;
		rc = late_bucket(&l, tier, t, v + from, to - from, fate + from, err);
		arena_reset(l.a);
	}
	arena_free(l.a);
	return rc;
}
