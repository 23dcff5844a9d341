/* What came of jobs in a pass beside their placement: how that reads, and how it is kept. */
#include <math.h>
#include <string.h>

#include "broker/waiting.h"
#include "plan/cost.h"
#include "util/json.h"
#include "util/str.h"
#include "util/time.h"

static struct placing_change *
fate_change(struct arena *a, const struct waiting *w, int64_t at, const char *text)
{
	struct placing_change *c = arena_alloc(a, sizeof(*c));

	*c = (struct placing_change){ .what = w->rule,
		.subject = str_eq(w->rule, WAITING_AFTER) ? w->subject : "",
		.offer = "",
		.from = NAN,
		.to = NAN,
		.at = at,
		.usd = NAN,
		.text = text };
	return c;
}

bool
waiting_ends(const struct waiting_fate *f)
{
	enum job_state state = JOB_STATE_COUNT;

	return job_state_parse(f->state, &state) && state != JOB_FAILED && state != JOB_CANCELLED;
}

/* It waits for another job, which goes on, or never ends. */
static void
fate_after(struct arena *a, struct waiting *w)
{
	const struct waiting_fate *f = &w->fate;
	enum job_state state = JOB_STATE_COUNT;
	bool known = job_state_parse(f->state, &state), ends = waiting_ends(f);

	if (ends)
		w->reason = arena_printf(a, "waits until %s is done", w->subject);
	else if (known)
		w->reason = arena_printf(a,
		    "waits for %s, which will not end (%s): cancel it or submit it without",
		    w->subject, f->state);
	else
		w->reason = arena_printf(a,
		    "waits for %s, which is not known any more: cancel it or submit it without",
		    w->subject);
	if (f->more[0] != '\0')
		w->reason = arena_printf(a, "%s; %s", w->reason, f->more);
	w->change = fate_change(a, w, f->until,
	    f->help[0] != '\0' ? f->help
			       : arena_printf(a,
				     ends ? "the end of %s lets it go on"
					  : "`berth job cancel`, and to submit it without waiting "
					    "for %s",
				     w->subject));
}

/* None of the tried offers was had; late: an account that had no time left for n_late of them. */
static void
fate_unplaced(struct arena *a, struct waiting *w)
{
	const struct waiting_fate *f = &w->fate;
	const char *again = "the next tick asks again";
	bool late = f->late[0] != '\0';
	char t[TIME_FMT_SIZE];

	w->tried = f->tried - f->n_late;
	if (!late)
		w->reason = arena_printf(a,
		    "none of %zu offers could be had now; each is on hold, the next tick asks "
		    "again",
		    f->tried);
	else if (f->n_late == f->tried)
		w->reason = arena_printf(
		    a, "account %s has had its time in this pass; the next tick tries it", f->late);
	else
		w->reason = arena_printf(a,
		    "none of %zu offers could be had now: account %s has had its time in this "
		    "pass; the next tick tries it",
		    f->tried, f->late);
	if (!late && f->until > 0)
		again = arena_printf(a,
		    "the end of the first hold at %s, when that offer is asked for again",
		    time_fmt(t, f->until));
	w->change = fate_change(a, w, f->until, again);
}

/* The offer was within the budgets when it was chosen, and is no more: others have taken of them.
 */
static void
fate_unpaid(struct arena *a, struct waiting *w)
{
	const struct placing_try *t = &w->placing->tries[w->fate.tried];
	double usd = fmax(t->cost.total_usd, t->reserve_usd);
	char need[USD_FMT_SIZE];
	struct placing_change *c = fate_change(a, w, 0,
	    arena_printf(
		a, "%s USD to spend would pay for %s", usd_need(need, usd), w->placing->label));

	c->to = usd;
	c->usd = t->cost.total_usd;
	w->reason = w->fate.said;
	w->change = c;
}

static void
fate_unknown(struct arena *a, struct waiting *w)
{
	w->reason = w->fate.said[0] != '\0' ? w->fate.said : WAITING_UNKNOWN_TEXT;
	w->change = fate_change(a, w, 0,
	    "an answer of the provider, which each tick asks for again: a machine that was made "
	    "is kept, else the job is placed anew");
}

static const struct fate_kind {
	const char *rule;
	void (*read)(struct arena *a, struct waiting *w);
	bool placed; /* it is one of the placement, with offers */
} fate_kinds[] = {
	{ WAITING_AFTER, fate_after, false },
	{ WAITING_LAUNCH_UNKNOWN, fate_unknown, false },
	{ WAITING_LAUNCH_REFUSED, fate_unplaced, true },
	{ WAITING_ACCOUNT_BUSY, fate_unplaced, true },
	{ WAITING_OVER_BUDGET, fate_unpaid, true },
};

static const struct fate_kind *
fate_kind(const char *rule)
{
	for (size_t i = 0; i < sizeof(fate_kinds) / sizeof(fate_kinds[0]); i++)
		if (str_eq(fate_kinds[i].rule, rule))
			return &fate_kinds[i];
	return NULL;
}

bool
waiting_of_fate(struct arena *a, const struct job *job, const struct placing_job *pj,
    const struct waiting_fate *f, struct waiting *out)
{
	const struct fate_kind *k = fate_kind(f->rule);

	if (k == NULL ||
	    (k->placed && (pj == NULL || f->n_late > f->tried || f->tried > pj->n_tries)))
		return false;
	if (k->read == fate_unpaid && f->tried >= pj->n_tries)
		return false;
	*out = (struct waiting){ .job = job,
		.rule = k->rule,
		.subject = f->subject,
		.placing = k->placed ? pj : NULL,
		.fate = *f,
		.fated = true };
	k->read(a, out);
	return true;
}

void
waiting_fates_json(struct jsonw *w, const struct waiting_list *l)
{
	jsonw_begin_array(w, "waits");
	for (size_t i = 0; i < l->v.n; i++) {
		const struct waiting *x = &l->v.v[i];

		if (!x->fated)
			continue;
		jsonw_begin_object(w, NULL);
		jsonw_str(w, "job", x->job->id);
		jsonw_str(w, "name", x->job->spec.name);
		jsonw_str(w, "rule", x->fate.rule);
		jsonw_str(w, "subject", x->fate.subject);
		jsonw_str(w, "state", x->fate.state);
		jsonw_str(w, "said", x->fate.said);
		jsonw_str(w, "late", x->fate.late);
		jsonw_int(w, "tried", (int64_t)x->fate.tried);
		jsonw_int(w, "n_late", (int64_t)x->fate.n_late);
		jsonw_int(w, "until", x->fate.until);
		jsonw_str_or_null(w, "more", x->fate.more);
		jsonw_str_or_null(w, "help", x->fate.help);
		jsonw_end_object(w);
	}
	jsonw_end_array(w);
}

static enum berth_code
fate_read(const struct jsonr *at, struct arena *a, struct job *job, struct waiting_fate *f,
    struct berth_err *err)
{
	static const char *const keys[] = { "job", "name", "rule", "subject", "state", "said",
		"late", "more", "help" };
	const char **text[] = { &job->id, &job->spec.name, &f->rule, &f->subject, &f->state,
		&f->said, &f->late, &f->more, &f->help };
	int64_t tried = 0, n_late = 0;
	enum berth_code rc = BERTH_OK;

	for (size_t i = 0; rc == BERTH_OK && i < sizeof(keys) / sizeof(keys[0]); i++) {
		const char *s = "";

		rc = jsonr_str(at, keys[i], &s, err);
		*text[i] = arena_strdup(a, s);
	}
	if (rc == BERTH_OK)
		rc = jsonr_int(at, "tried", 0, INT32_MAX, &tried, err);
	if (rc == BERTH_OK)
		rc = jsonr_int(at, "n_late", 0, INT32_MAX, &n_late, err);
	if (rc == BERTH_OK)
		rc = jsonr_int(at, "until", 0, INT64_MAX, &f->until, err);
	f->tried = (size_t)tried;
	f->n_late = (size_t)n_late;
	return rc;
}

enum berth_code
waiting_fate_find(const struct jsonr *root, const char *job_id, struct arena *a, struct job *job,
    struct waiting_fate *f, bool *found_out, struct berth_err *err)
{
	struct jsonr all;
	enum berth_code rc = jsonr_array(root, "waits", &all, err);

	*found_out = false;
	for (size_t i = 0; rc == BERTH_OK && !*found_out && i < jsonr_len(&all); i++) {
		struct jsonr at = jsonr_at(&all, i);

		rc = fate_read(&at, a, job, f, err);
		*found_out = rc == BERTH_OK && str_eq(job->id, job_id);
	}
	return rc;
}
