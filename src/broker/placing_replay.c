/* Placements made again, byte for byte, in a store in memory that is as the store was then. */
#include "broker/placing_replay.h"

#include <math.h>
#include <string.h>

#include "broker/placing_impl.h"
#include "broker/waiting.h"
#include "model/record.h"
#include "store/job_rows.h"
#include "store/plan_rows.h"
#include "store/snapshot.h"
#include "util/arena.h"
#include "util/json.h"
#include "util/str.h"

#define REPLAY_MAX ((size_t)64 << 20)
#define REPLAY_AROUND 40 /* bytes before the one that differs */

static void
replay_texts(struct jsonw *w, const char *key, const char *const *text, size_t n)
{
	jsonw_begin_array(w, key);
	for (size_t i = 0; i < n; i++)
		jsonw_str(w, NULL, text[i]);
	jsonw_end_array(w);
}

static void
replay_write_limit(struct jsonw *w, const struct placing_limit *l)
{
	jsonw_begin_object(w, NULL);
	jsonw_str(w, "name", l->name);
	jsonw_str(w, "provider", l->provider);
	jsonw_str(w, "account", l->account);
	jsonw_str(w, "region", l->region);
	jsonw_str(w, "accelerator", l->accelerator);
	jsonw_str(w, "purchase", l->purchase);
	jsonw_str(w, "unit", l->unit);
	jsonw_int(w, "limit", l->limit);
	if (l->override)
		jsonw_bool(w, "override", true);
	replay_texts(w, "accelerators", l->accelerators, l->n_accelerators);
	jsonw_end_object(w);
}

static void
replay_write_weights(struct jsonw *w, const char *key, const struct share_weight *v, size_t n)
{
	jsonw_begin_array(w, key);
	for (size_t i = 0; i < n; i++) {
		jsonw_begin_object(w, NULL);
		jsonw_str(w, "name", v[i].name);
		jsonw_double(w, "weight", v[i].weight);
		jsonw_end_object(w);
	}
	jsonw_end_array(w);
}

static void
replay_write_shares(struct jsonw *w, const struct share_policy *p)
{
	if (p == NULL) {
		jsonw_null(w, "shares");
		return;
	}
	jsonw_begin_object(w, "shares");
	jsonw_bool(w, "by_project", p->by_project);
	jsonw_double(w, "half_life_s", p->half_life_s); /* null: it never fades */
	replay_write_weights(w, "weights", p->weights, p->n_weights);
	if (p->then_user)
		replay_write_weights(w, "user_weights", p->user_weights, p->n_user_weights);
	jsonw_end_object(w);
}

enum berth_code
placing_inputs(struct store *store, const struct placing_options *o, const char *const *ids,
    size_t n_ids, struct buf *out, struct berth_err *err)
{
	struct jsonw w;
	enum berth_code rc;

	buf_init(out, REPLAY_MAX);
	jsonw_init_buf(&w, out, JSONW_COMPACT);
	jsonw_begin_object(&w, NULL);
	jsonw_int(&w, "now", o->now);
	jsonw_int(&w, "seed", (int64_t)o->seed);
	jsonw_int(&w, "rounds", o->rounds);
	jsonw_int(&w, "tick_s", o->tick_s);
	jsonw_int(&w, "list_s", o->ages.list_s);
	jsonw_int(&w, "spot_s", o->ages.spot_s);
	jsonw_int(&w, "none_s", o->ages.none_s);
	jsonw_int(&w, "quota_age_s", o->quota_age_s);
	jsonw_bool(&w, "need_account", o->need_account);
	jsonw_bool(&w, "finish", o->finish);
	replay_texts(&w, "block", o->block, o->n_block);
	replay_texts(&w, "ids", ids, n_ids);
	replay_texts(&w, "behind", o->behind, o->n_behind);
	replay_write_shares(&w, o->shares);
	jsonw_begin_array(&w, "limits");
	for (size_t i = 0; i < o->n_limits; i++)
		replay_write_limit(&w, &o->limits[i]);
	jsonw_end_array(&w);
	rc = store_snapshot_write(store, o->now, &w, err);
	jsonw_end_object(&w);
	if (rc == BERTH_OK)
		rc = jsonw_finish(&w, err);
	if (rc != BERTH_OK)
		buf_free(out);
	return rc;
}

/* Of a tick, what came of its jobs too. */
static enum berth_code
replay_write(const struct buf *inputs, const struct waiting_list *waits, bool placement,
    struct buf *out, struct berth_err *err)
{
	struct jsonw w;

	buf_init(out, REPLAY_MAX);
	jsonw_init_buf(&w, out, JSONW_COMPACT);
	jsonw_begin_object(&w, NULL);
	if (placement)
		jsonw_raw(&w, "placement", inputs->p);
	waiting_fates_json(&w, waits);
	jsonw_end_object(&w);
	return jsonw_finish(&w, err);
}

static int64_t
replay_placed(const struct placing *p, const struct waiting_list *waits)
{
	int64_t n = 0;

	for (size_t i = 0; i < p->n_jobs; i++)
		n += waits == NULL || p->jobs[i].taken > 0;
	return n;
}

enum berth_code
placing_keep_inputs(struct store *store, int64_t now, const struct placing *p,
    const struct buf *inputs, const struct waiting_list *waits, struct berth_err *err)
{
	const struct waiting_list none = { .a = NULL };
	const struct waiting_list *l = waits == NULL ? &none : waits;
	int64_t id = l->made.n > 0 ? l->made.v[0] : 0;
	struct buf text = { 0 };
	enum berth_code rc = replay_write(inputs, l, p->n_jobs > 0, &text, err);

	if (rc == BERTH_OK && p->n_jobs > 0)
		rc = placing_keep(store, now, p, NULL, 0, &id, err);
	for (size_t i = 0; rc == BERTH_OK && i < l->made.n; i++) /* first: what a wait is linked to
								    is kept */
		rc = store_decision_link(store, l->made.v[i], id, err);
	if (rc == BERTH_OK)
		rc = store_snapshot_keep(
		    store, id, now, replay_placed(p, waits), text.p, text.len, err);
	buf_free(&text);
	return rc;
}

static enum berth_code
replay_read_texts(const struct jsonr *root, const char *key, struct arena *a,
    const char *const **out, size_t *n_out, struct berth_err *err)
{
	struct jsonr all;
	const char **text;
	enum berth_code rc = jsonr_array(root, key, &all, err);

	*n_out = rc == BERTH_OK ? jsonr_len(&all) : 0;
	text = arena_array_of(a, *n_out + 1, const char *);
	for (size_t i = 0; i < *n_out; i++) {
		const json_t *v = jsonr_at(&all, i).v;

		text[i] = arena_strdup(a, json_is_string(v) ? json_string_value(v) : "");
	}
	*out = text;
	return rc;
}

static enum berth_code
replay_read_limit(
    const struct jsonr *at, struct arena *a, struct placing_limit *l, struct berth_err *err)
{
	static const char *const keys[] = { "name", "provider", "account", "region", "accelerator",
		"purchase", "unit" };
	const char **text[] = { &l->name, &l->provider, &l->account, &l->region, &l->accelerator,
		&l->purchase, &l->unit };
	enum berth_code rc = BERTH_OK;

	for (size_t i = 0; rc == BERTH_OK && i < sizeof(keys) / sizeof(keys[0]); i++) {
		const char *s = "";

		rc = jsonr_str(at, keys[i], &s, err);
		*text[i] = arena_strdup(a, s);
	}
	if (rc == BERTH_OK)
		rc = jsonr_int(at, "limit", INT64_MIN, INT64_MAX, &l->limit, err);
	if (rc == BERTH_OK)
		rc = jsonr_bool(at, "override", &l->override, err);
	if (rc == BERTH_OK)
		rc = replay_read_texts(
		    at, "accelerators", a, &l->accelerators, &l->n_accelerators, err);
	return rc;
}

static enum berth_code
replay_read_weights(const struct jsonr *root, const char *key, struct arena *a,
    const struct share_weight **out, size_t *n_out, struct berth_err *err)
{
	struct share_weight *weight;
	struct jsonr all;
	enum berth_code rc = jsonr_array(root, key, &all, err);

	*n_out = rc == BERTH_OK ? jsonr_len(&all) : 0;
	*out = weight = arena_array_of(a, *n_out + 1, struct share_weight);
	for (size_t i = 0; rc == BERTH_OK && i < *n_out; i++) {
		struct jsonr at = jsonr_at(&all, i);
		const char *name = "";

		rc = jsonr_str(&at, "name", &name, err);
		weight[i].name = arena_strdup(a, name);
		if (rc == BERTH_OK)
			rc = jsonr_double(&at, "weight", &weight[i].weight, err);
	}
	return rc;
}

static enum berth_code
replay_read_shares(
    const struct jsonr *root, struct arena *a, struct placing_options *o, struct berth_err *err)
{
	struct jsonr shares;
	struct share_policy *p = arena_alloc(a, sizeof(*p));
	enum berth_code rc = jsonr_object(root, "shares", &shares, err);

	if (rc != BERTH_OK || shares.v == NULL)
		return rc;
	*p = (struct share_policy){ .half_life_s = INFINITY };
	if ((rc = jsonr_bool(&shares, "by_project", &p->by_project, err)) == BERTH_OK &&
	    (rc = jsonr_double(&shares, "half_life_s", &p->half_life_s, err)) == BERTH_OK)
		rc = replay_read_weights(&shares, "weights", a, &p->weights, &p->n_weights, err);
	p->then_user = jsonr_get(&shares, "user_weights").v != NULL;
	if (rc == BERTH_OK && p->then_user)
		rc = replay_read_weights(
		    &shares, "user_weights", a, &p->user_weights, &p->n_user_weights, err);
	o->shares = p;
	return rc;
}

static enum berth_code
replay_read_options(
    const struct jsonr *root, struct arena *a, struct placing_options *o, struct berth_err *err)
{
	struct placing_limit *limits;
	struct jsonr all;
	int64_t seed = 0, rounds = 0;
	enum berth_code rc = jsonr_array(root, "limits", &all, err);

	if (rc != BERTH_OK || (rc = jsonr_int(root, "now", 0, INT64_MAX, &o->now, err)) ||
	    (rc = jsonr_int(root, "seed", INT64_MIN, INT64_MAX, &seed, err)) ||
	    (rc = jsonr_int(root, "rounds", 0, UINT32_MAX, &rounds, err)) ||
	    (rc = jsonr_int(root, "tick_s", 0, INT64_MAX, &o->tick_s, err)) ||
	    (rc = jsonr_int(root, "list_s", 0, INT64_MAX, &o->ages.list_s, err)) ||
	    (rc = jsonr_int(root, "spot_s", 0, INT64_MAX, &o->ages.spot_s, err)) ||
	    (rc = jsonr_int(root, "none_s", 0, INT64_MAX, &o->ages.none_s, err)) ||
	    (rc = jsonr_int(root, "quota_age_s", 0, INT64_MAX, &o->quota_age_s, err)) ||
	    (rc = jsonr_bool(root, "need_account", &o->need_account, err)) ||
	    (rc = jsonr_bool(root, "finish", &o->finish, err)) ||
	    (rc = replay_read_texts(root, "block", a, &o->block, &o->n_block, err)) ||
	    (rc = replay_read_shares(root, a, o, err)))
		return rc;
	if (jsonr_get(root, "behind").v != NULL) /* an earlier berth wrote none */
		rc = replay_read_texts(root, "behind", a, &o->behind, &o->n_behind, err);
	if (rc != BERTH_OK)
		return rc;
	o->seed = (uint64_t)seed;
	o->rounds = (unsigned)rounds;
	o->n_limits = jsonr_len(&all);
	limits = arena_array_of(a, o->n_limits + 1, struct placing_limit);
	for (size_t i = 0; rc == BERTH_OK && i < o->n_limits; i++) {
		struct jsonr at = jsonr_at(&all, i);

		rc = replay_read_limit(&at, a, &limits[i], err);
	}
	o->limits = limits;
	return rc;
}

/* The decision about the placement as a whole, which is kept behind those of its jobs, in the place
 * of one of them. */
static enum berth_code
replay_find(struct store *store, struct arena *a, struct decision *d, struct berth_err *err)
{
	int64_t id = d->id;
	struct decision *all;
	enum berth_code rc;
	size_t n;

	if (!str_eq(d->kind, "place") && !str_eq(d->kind, "placement") && !str_eq(d->kind, "wait"))
		return err_set(err, BERTH_ENOTFOUND,
		    "decision %lld is of kind '%s': those of placements, and of jobs that were "
		    "placed or wait, can be made again",
		    (long long)id, d->kind);
	if (d->placement == d->id)
		return BERTH_OK;
	if (d->placement != 0) {
		rc = store_decision_get(store, d->placement, a, d, err);
		if (rc == BERTH_ENOTFOUND)
			rc = err_set(err, rc,
			    "what decision %lld was made from is not kept any more; `berth explain "
			    "%s` tells what was decided",
			    (long long)id, d->subject);
		return rc;
	}
	if (str_eq(d->kind, "wait"))
		return err_set(err, BERTH_ENOTFOUND,
		    "what decision %lld was made from was not kept: an earlier berth made it; "
		    "`berth explain %s` tells what was decided",
		    (long long)id, d->subject);
	if (str_eq(d->kind, "placement"))
		return BERTH_OK;
	rc = store_decision_of(store, d->run, d->t, "placement", a, &all, &n, err);
	if (rc == BERTH_OK && n == 0)
		rc = err_set(err, BERTH_ENOTFOUND,
		    "the placement that decision %lld belongs to is not known", (long long)id);
	if (rc == BERTH_OK)
		*d = all[n - 1];
	return rc;
}

static enum berth_code
replay_differs(const struct decision *d, const char *is, struct berth_err *err)
{
	const char *was = d->json;
	size_t k = 0, from;

	while (was[k] != '\0' && was[k] == is[k])
		k++;
	from = k > REPLAY_AROUND ? k - REPLAY_AROUND : 0;
	return err_set(err, BERTH_EFAIL,
	    "decision %lld about %s comes out otherwise now, from byte %zu on: it was ...%.80s..., "
	    "it is ...%.80s...: measured speeds, the table of accelerators or berth have changed "
	    "since",
	    (long long)d->id, d->subject, k, was + from, is + from);
}

/* How many offers its provider had refused before the one that was had. */
static size_t
replay_first(const struct decision *d)
{
	struct berth_err ignored;
	json_t *tree = NULL;
	int64_t first = 0;

	if (jsonr_parse(d->json, strlen(d->json), "place", &tree, &ignored) == BERTH_OK) {
		struct jsonr root = jsonr_root(tree, "place");

		if (jsonr_int(&root, "refused_by_provider", 0, INT32_MAX, &first, &ignored) !=
		    BERTH_OK)
			first = 0;
		json_decref(tree);
	}
	return (size_t)first;
}

/* The record of a job that waits, from the placement and what came of it. */
static enum berth_code
replay_wait(const struct placing *p, const struct placing_job *pj, const struct jsonr *root,
    const struct decision *d, struct arena *a, struct buf *out, struct berth_err *err)
{
	struct waiting_list one = { .a = a };
	struct waiting w = { .job = NULL };
	struct job job = { .id = "" };
	struct waiting_fate f = { .rule = "" };
	bool fated = false;
	enum berth_code rc = waiting_fate_find(root, d->subject, a, &job, &f, &fated, err);

	if (rc != BERTH_OK)
		return rc;
	if (fated && waiting_of_fate(a, &job, pj, &f, &w))
		return waiting_text(p, &w, out, err);
	if (fated || pj == NULL)
		return err_set(err, BERTH_EFAIL,
		    "job %s does not wait in the placement that was made again", d->subject);
	waiting_add_refused(&one, pj, pj->reason);
	return waiting_text(p, &one.v.v[0], out, err);
}

static enum berth_code
replay_compare(const struct placing *p, const struct jsonr *root, const struct decision *d,
    struct arena *a, struct placing_replay *out, struct berth_err *err)
{
	bool wait = str_eq(d->kind, "wait");
	const struct placing_job *j = NULL;
	enum berth_code rc;
	struct buf text = { 0 };

	for (size_t i = 0; i < p->n_jobs && j == NULL; i++)
		if (str_eq(p->jobs[i].job.id, d->subject))
			j = &p->jobs[i];
	if (j == NULL && str_eq(d->kind, "place"))
		return err_set(err, BERTH_EFAIL,
		    "job %s is not in the placement that was made again", d->subject);
	rc = wait ? replay_wait(p, j, root, d, a, &text, err)
		  : placing_text(p, j, j == NULL ? 0 : replay_first(d), &text, err);
	if (rc == BERTH_OK && strcmp(text.p, d->json) != 0)
		rc = replay_differs(d, text.p, err);
	out->bytes += text.len;
	out->jobs += j != NULL || wait;
	out->waits += wait;
	buf_free(&text);
	return rc;
}

/* Decisions that were made with this one: linked to it, or by an earlier berth at one time. */
static enum berth_code
replay_jobs(struct store *store, const struct decision *d, struct arena *a,
    struct decision **jobs_out, size_t *n_out, struct berth_err *err)
{
	enum berth_code rc = store_decision_with(store, d->id, a, jobs_out, n_out, err);

	return rc == BERTH_OK && *n_out == 0
		   ? store_decision_of(store, d->run, d->t, "place", a, jobs_out, n_out, err)
		   : rc;
}

/* The placement in the store in memory, against the records of the one that was made. root: of
 * waits too. */
static enum berth_code
replay_run(struct store *store, struct store *was, const struct accel_table *accels,
    const struct jsonr *root, const struct jsonr *inputs, const struct decision *d, struct arena *a,
    struct placing_replay *out, struct berth_err *err)
{
	struct placing_options o = { .now = d->t };
	const char *const *ids;
	struct decision *jobs;
	struct placing p = { .n_jobs = 0 };
	size_t n_ids, n;
	enum berth_code rc = BERTH_OK;

	if (was != NULL) {
		rc = replay_read_options(inputs, a, &o, err);
		if (rc == BERTH_OK)
			rc = replay_read_texts(inputs, "ids", a, &ids, &n_ids, err);
		if (rc == BERTH_OK)
			rc = placing_run(was, accels, &o, ids, n_ids, a, &p, err);
	}
	if (rc == BERTH_OK)
		rc = replay_jobs(store, d, a, &jobs, &n, err);
	for (size_t i = 0; rc == BERTH_OK && i < n; i++)
		rc = replay_compare(&p, root, &jobs[i], a, out, err);
	return rc == BERTH_OK && was != NULL ? replay_compare(&p, root, d, a, out, err) : rc;
}

enum berth_code
placing_replay(struct store *store, const struct accel_table *accels, int64_t decision_id,
    struct arena *a, struct placing_replay *out, struct berth_err *err)
{
	struct store *was = NULL;
	json_t *tree = NULL;
	struct decision d;
	struct jsonr root, inputs;
	const char *text = "";
	size_t n = 0;
	enum berth_code rc = store_decision_get(store, decision_id, a, &d, err);

	if (rc == BERTH_OK)
		rc = replay_find(store, a, &d, err);
	*out = (struct placing_replay){ .id = rc == BERTH_OK ? d.id : 0 };
	if (rc == BERTH_OK)
		rc = store_snapshot_get(store, d.id, a, &text, &n, err);
	if (rc == BERTH_OK)
		rc = jsonr_parse(text, n, "inputs of the placement", &tree, err);
	if (rc != BERTH_OK)
		return rc;
	out->inputs = n;
	root = inputs = jsonr_root(tree, "inputs of the placement");
	if (jsonr_get(&root, "waits").v != NULL)
		inputs = jsonr_get(&root, "placement");
	if (inputs.v != NULL)
		rc = store_snapshot_open(store, &inputs, d.t, &was, err);
	if (rc == BERTH_OK)
		rc = replay_run(store, was, accels, &root, &inputs, &d, a, out, err);
	store_close(was);
	json_decref(tree);
	return rc;
}

enum berth_code
placing_replay_kept(struct store *store, const struct decision *d, struct arena *a, bool *kept_out,
    struct berth_err *err)
{
	struct decision whole = *d;
	enum berth_code rc = replay_find(store, a, &whole, err);

	*kept_out = false;
	if (rc == BERTH_ENOTFOUND)
		return BERTH_OK;
	return rc == BERTH_OK ? store_snapshot_has(store, whole.id, kept_out, err) : rc;
}

enum berth_code
placing_replay_id(
    struct store *store, const char *what, struct arena *a, int64_t *id_out, struct berth_err *err)
{
	static const char *const kinds[] = { "place", "wait", "placement" };
	struct berth_err ignored;
	struct decision *ds;
	struct job job;
	enum berth_code rc;
	size_t n;

	if (str_to_i64(what, 1, INT64_MAX, id_out, &ignored) == BERTH_OK)
		return BERTH_OK;
	*id_out = 0;
	rc = str_eq(what, "placement") ? BERTH_ENOTFOUND : store_job_get(store, what, a, &job, err);
	if (rc == BERTH_OK)
		what = job.id;
	else if (rc != BERTH_ENOTFOUND)
		return rc;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		rc = store_decision_list(store, kinds[i], what, 1, a, &ds, &n, err);
		if (rc != BERTH_OK)
			return rc;
		if (n > 0 && ds[0].id > *id_out)
			*id_out = ds[0].id;
	}
	if (*id_out == 0 && str_eq(what, "placement"))
		return err_set(err, BERTH_ENOTFOUND, "no placement was made yet");
	if (*id_out == 0)
		return err_set(err, BERTH_ENOTFOUND,
		    "'%s' is neither the number of a decision nor a job that was placed or waits: "
		    "see `berth explain placement` and `berth jobs --all`",
		    what);
	return BERTH_OK;
}
