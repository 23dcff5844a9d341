/* Why queued jobs stay in the queue. The store grows with reasons, never with ticks. */
#include <assert.h>
#include <math.h>
#include <string.h>

#include "broker/waiting.h"
#include "model/record.h"
#include "plan/cost.h"
#include "store/plan_rows.h"
#include "store/waiting_rows.h"
#include "util/buf.h"
#include "util/hash.h"
#include "util/json.h"
#include "util/str.h"
#include "util/strmap.h"

#define WAITING_JSON_MAX ((size_t)1 << 20)

void
waiting_add(struct waiting_list *l, const struct waiting *w)
{
	VEC_PUSH(l->a, &l->v, *w);
}

const struct waiting *
waiting_add_fate(struct waiting_list *l, const struct job *job, const struct placing_job *pj,
    const struct waiting_fate *f)
{
	struct waiting *w = VEC_ADD(l->a, &l->v);
	bool made = waiting_of_fate(l->a, job, pj, f, w);

	assert(made);
	(void)made;
	return w;
}

void
waiting_add_refused(struct waiting_list *l, const struct placing_job *j, const char *reason)
{
	waiting_add(l, &(struct waiting){ .job = &j->job,
			   .rule = refuse_name(j->rule),
			   .subject = j->waits_for,
			   .reason = reason,
			   .placing = j });
}

/*
 * A refused launch is a hold in the next tick and a launch again in one after it: that is one
 * reason. So is a limit that others take in this placement, and have taken in the next.
 */
static const char *
waiting_group(const char *rule)
{
	static const char *const same[][2] = { { WAITING_LAUNCH_REFUSED, "capacity" },
		{ WAITING_ACCOUNT_BUSY, "capacity" }, { "blocked_until", "capacity" },
		{ "unavailable", "capacity" }, { "no_quota", "limit" },
		{ "no_capacity", "limit" } };

	for (size_t i = 0; i < sizeof(same) / sizeof(same[0]); i++)
		if (str_eq(rule, same[i][0]))
			return same[i][1];
	return rule;
}

/* That the other job will never end, or too late, is another reason to wait. */
static const char *
waiting_turn(const struct waiting *w)
{
	if (!str_eq(w->rule, WAITING_AFTER))
		return "";
	return !waiting_ends(&w->fate) ? "\tnever" : w->fate.more[0] != '\0' ? "\tlate" : "";
}

static uint64_t
waiting_join_double(uint64_t h, double x)
{
	uint64_t bits = 0;

	if (!isnan(x))
		memcpy(&bits, &x, sizeof(bits));
	return hash_join(h, bits);
}

/* A deadline that would do moves with the clock, and what a provider has none of is asked for again
 * and again: where the job would go does not. */
static uint64_t
waiting_change_digest(uint64_t h, const struct placing_change *c)
{
	if (!str_eq(c->what, "deadline") && !str_eq(c->what, refuse_name(REFUSE_UNAVAILABLE)))
		return hash_join(h, hash_str(c->text));
	return waiting_join_double(
	    hash_join(hash_join(h, hash_str(c->what)), hash_str(c->offer)), c->usd);
}

/* Of what a reader would act on: the age of spot, what was used, and what is counted from now on,
 * move with every tick. */
static int64_t
waiting_digest(const struct waiting *w)
{
	const struct placing_job *j = w->placing;
	uint64_t h = hash_join(hash_join(hash_str(w->rule), hash_str(w->subject)), w->tried);

	if (str_eq(w->rule, WAITING_AFTER))
		return (int64_t)(h >> 1);
	if (w->change != NULL)
		h = hash_join(h, hash_str(w->change->text));
	if (j == NULL || w->change != NULL)
		h = hash_join(h, hash_str(w->reason));
	if (j != NULL) {
		for (size_t c = 0; c < REFUSE_COUNT; c++)
			h = hash_join(h, j->refused[c]);
		for (size_t c = 0; c < j->n_changes; c++)
			h = waiting_change_digest(h, &j->changes[c]);
		h = hash_join(h, hash_str(j->binds));
		h = waiting_join_double(h, j->shadow);
		if (j->nearest.offer != NULL) {
			h = hash_join(h, hash_str(j->nearest.offer));
			h = waiting_join_double(h, j->nearest.usd);
		}
	}
	return (int64_t)(h >> 1);
}

void
waiting_json(struct jsonw *w, const struct placing *p, const struct waiting *x)
{
	jsonw_str(w, "rule", x->rule);
	jsonw_str_or_null(w, "waits_for", x->subject);
	if (x->placing != NULL) {
		struct placing_job j = *x->placing;
		struct placing_change change;

		j.reason = x->reason;
		if (x->change != NULL) {
			change = *x->change;
			j.changes = &change;
			j.n_changes = 1;
		}
		placing_not_taken(&j);
		placing_json_job(w, p, &j, x->tried);
	} else {
		jsonw_str(w, "id", x->job->id);
		jsonw_str(w, "name", x->job->spec.name);
		jsonw_null(w, "offer");
		jsonw_str(w, "reason", x->reason);
		jsonw_int(w, "candidates_seen", 0);
		jsonw_begin_object(w, "refused");
		jsonw_end_object(w);
		jsonw_begin_array(w, "changes");
		if (x->change != NULL)
			placing_json_change(w, x->change);
		jsonw_end_array(w);
	}
}

enum berth_code
waiting_text(
    const struct placing *p, const struct waiting *x, struct buf *out, struct berth_err *err)
{
	struct jsonw w;

	buf_init(out, WAITING_JSON_MAX);
	jsonw_init_buf(&w, out, JSONW_COMPACT);
	jsonw_begin_object(&w, NULL);
	waiting_json(&w, p, x);
	jsonw_end_object(&w);
	return jsonw_finish(&w, err);
}

/* row: what is kept of the job; decision_id 0: nothing. */
static enum berth_code
waiting_write(struct store *store, int64_t now, const struct placing *p, const struct waiting *x,
    struct waiting_row *row, bool same, struct berth_err *err)
{
	struct decision d = { .t = now, .kind = "wait", .subject = x->job->id };
	struct buf text;
	enum berth_code rc = waiting_text(p, x, &text, err);

	d.json = text.p;
	if (rc == BERTH_OK && same)
		rc = store_decision_change(store, row->decision_id, d.json, err);
	if (rc == BERTH_OK && !same && row->decision_id != 0)
		rc = store_waiting_end(store, row, err);
	if (rc == BERTH_OK && !same)
		rc = store_decision_insert(store, &d, &row->decision_id, err);
	buf_free(&text);
	return rc;
}

static enum berth_code
waiting_keep_one(struct store *store, int64_t now, const struct placing *p, const struct waiting *x,
    struct waiting_row *row, struct waiting_list *l, struct berth_err *err)
{
	const char *reason =
	    arena_printf(l->a, "%s\t%s%s", waiting_group(x->rule), x->subject, waiting_turn(x));
	bool same = row->decision_id != 0 && str_eq(row->reason, reason);
	int64_t digest = waiting_digest(x);
	enum berth_code rc = BERTH_OK;

	if (same && row->digest == digest)
		return BERTH_OK;
	rc = waiting_write(store, now, p, x, row, same, err);
	row->job_id = x->job->id;
	row->reason = reason;
	row->digest = digest;
	row->seen = now;
	VEC_PUSH(l->a, &l->made, row->decision_id);
	return rc == BERTH_OK ? store_waiting_put(store, row, err) : rc;
}

enum berth_code
waiting_keep(struct store *store, int64_t now, const struct placing *p, struct waiting_list *l,
    struct berth_err *err)
{
	struct strmap at = { 0 };
	struct waiting_row *rows;
	enum berth_code rc;
	bool *still;
	size_t n;

	rc = store_waiting_list(store, l->a, &rows, &n, err);
	if (rc != BERTH_OK)
		return rc;
	still = arena_array_of(l->a, n, bool);
	for (size_t i = 0; i < n; i++)
		strmap_add(l->a, &at, rows[i].job_id, i, NULL);
	for (size_t i = 0; rc == BERTH_OK && i < l->v.n; i++) {
		const size_t *k = strmap_get(&at, l->v.v[i].job->id);
		struct waiting_row row = { .decision_id = 0 };

		if (k != NULL) {
			row = rows[*k];
			still[*k] = true;
		}
		rc = waiting_keep_one(store, now, p, &l->v.v[i], &row, l, err);
	}
	for (size_t i = 0; rc == BERTH_OK && i < n; i++)
		if (!still[i])
			rc = store_waiting_end(store, &rows[i], err);
	return rc == BERTH_OK && l->v.n > 0 ? store_waiting_seen(store, now, err) : rc;
}
