#include <string.h>

#include "store/machine_rows.h"
#include "store/priv.h"
#include "util/vec.h"

enum berth_code
store_instance_insert(
    struct store *s, const struct instance *in, int64_t *id_out, struct berth_err *err)
{
	struct arena *a = arena_new();
	const char *offer = "";
	int64_t id = 0, owner = 0;
	enum berth_code rc = pack_offer(&in->offer, a, &offer, err);

	if (rc == BERTH_OK)
		rc = store_begin(s, err);
	if (rc != BERTH_OK)
		goto out;
	rc = db_insert(s->db, &id, err,
	    "INSERT INTO instance (account, provider_ref, intent_id, job_id, offer, state, "
	    "address, created, ready, notice_at, reclaim_at, gone, end_reason, cost, verdict, "
	    "speed, run) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, "
	    "$16, $17) ON CONFLICT (account, provider_ref) DO NOTHING RETURNING id",
	    DB_ARGS(db_text(in->account), db_text(in->provider_ref), db_id(in->intent_id),
		db_text(in->job_id), db_text(offer), db_text(instance_state_name(in->state)),
		db_text(in->address), db_i64(in->created), db_id(in->ready), db_id(in->notice_at),
		db_id(in->reclaim_at), db_id(in->gone), db_text(in->end_reason), db_usd(in->cost),
		db_text(in->verdict), db_real(in->speed), db_id(s->run_id)));
	if (rc == BERTH_OK && id == 0) {
		rc = db_get_one(s->db, 0, &id, err,
		    "SELECT id FROM instance WHERE account = $1 AND provider_ref = $2",
		    DB_ARGS(db_text(in->account), db_text(in->provider_ref)));
		if (rc == BERTH_OK)
			rc = db_get_one(s->db, 0, &owner, err,
			    "SELECT intent_id FROM instance WHERE id = $1", DB_ARGS(db_i64(id)));
		if (rc == BERTH_OK && owner != in->intent_id)
			rc = err_set(err, BERTH_EFAIL,
			    "machine %s of account %s is known already, by intent %lld, not %lld",
			    in->provider_ref, in->account, (long long)owner,
			    (long long)in->intent_id);
	}
	rc = store_end(s, rc, err);
	if (rc == BERTH_OK)
		*id_out = id;
out:
	arena_free(a);
	return rc;
}

enum berth_code
store_instance_update(struct store *s, const struct instance *in, struct berth_err *err)
{
	enum berth_code rc = store_begin(s, err);

	if (rc != BERTH_OK)
		return rc;
	rc = db_run(s->db, err,
	    "UPDATE instance SET provider_ref = $1, job_id = $2, state = $3, address = $4, ready = "
	    "$5, notice_at = $6, reclaim_at = $7, gone = $8, end_reason = $9, cost = $10, verdict "
	    "= $11, speed = $12 WHERE id = $13",
	    DB_ARGS(db_text(in->provider_ref), db_text(in->job_id),
		db_text(instance_state_name(in->state)), db_text(in->address), db_id(in->ready),
		db_id(in->notice_at), db_id(in->reclaim_at), db_id(in->gone),
		db_text(in->end_reason), db_usd(in->cost), db_text(in->verdict), db_real(in->speed),
		db_i64(in->id)));
	return store_end(
	    s, store_met(s, rc, err, "there is no instance %lld", (long long)in->id), err);
}

enum berth_code
store_instance_paid(struct store *s, const struct instance *in, struct berth_err *err)
{
	struct arena *a = arena_new();
	const char *offer = "";
	enum berth_code rc = pack_offer(&in->offer, a, &offer, err);

	if (rc == BERTH_OK)
		rc = store_write(s, err, "UPDATE instance SET offer = $1 WHERE id = $2",
		    DB_ARGS(db_text(offer), db_i64(in->id)));
	arena_free(a);
	return rc;
}

struct instance_list {
	struct arena *a;
	unsigned states;
	VEC(struct instance) v;
};

static enum berth_code
instance_row(struct db_stmt *st, void *arg, struct berth_err *err)
{
	struct instance_list *l = arg;
	struct instance in = { .id = db_col_i64(st, "id") };
	enum berth_code rc;

	if (!instance_state_parse(db_col_text(st, "state", l->a), &in.state))
		return err_set(err, BERTH_EINVAL,
		    "store: instance %lld: a state that this berth does not know",
		    (long long)in.id);
	if (l->states != 0 && (l->states & INSTANCE_BIT(in.state)) == 0)
		return BERTH_OK;
	in.account = db_col_text(st, "account", l->a);
	in.provider_ref = db_col_text(st, "provider_ref", l->a);
	in.intent_id = db_col_i64(st, "intent_id");
	in.job_id = db_col_text(st, "job_id", l->a);
	in.address = db_col_text(st, "address", l->a);
	in.created = db_col_i64(st, "created");
	in.ready = db_col_i64(st, "ready");
	in.notice_at = db_col_i64(st, "notice_at");
	in.reclaim_at = db_col_i64(st, "reclaim_at");
	in.gone = db_col_i64(st, "gone");
	in.end_reason = db_col_text(st, "end_reason", l->a);
	in.cost = db_col_usd(st, "cost");
	in.verdict = db_col_text(st, "verdict", l->a);
	in.speed = db_col_real(st, "speed");
	rc = unpack_offer(db_col_text(st, "offer", l->a), l->a, &in.offer, err);
	if (rc == BERTH_OK)
		VEC_PUSH(l->a, &l->v, in);
	return rc;
}

enum berth_code
store_instance_list(struct store *s, unsigned states, struct arena *a, struct instance **ins_out,
    size_t *n_out, struct berth_err *err)
{
	struct instance_list l = { .a = a, .states = states };
	enum berth_code rc;

	if (states != 0 && (states & INSTANCE_BIT(INSTANCE_GONE)) == 0)
		rc = store_each(s, instance_row, &l, err,
		    "SELECT * FROM instance WHERE state <> 'gone' ORDER BY id", DB_NO_ARGS);
	else
		rc = store_each(
		    s, instance_row, &l, err, "SELECT * FROM instance ORDER BY id", DB_NO_ARGS);
	if (rc == BERTH_OK) {
		*ins_out = l.v.v;
		*n_out = l.v.n;
	}
	return rc;
}

enum berth_code
store_instance_lives(struct store *s, int64_t since, struct arena *a, struct instance **ins_out,
    size_t *n_out, struct berth_err *err)
{
	struct instance_list l = { .a = a };
	enum berth_code rc = store_each(s, instance_row, &l, err,
	    "SELECT * FROM instance WHERE id IN ("
	    "SELECT id FROM instance WHERE state <> 'gone' UNION ALL SELECT id FROM instance WHERE "
	    "gone >= $1) ORDER BY id DESC LIMIT 2000",
	    DB_ARGS(db_i64(since)));

	*ins_out = l.v.v;
	*n_out = l.v.n;
	return rc;
}

enum berth_code
store_instance_spot_lives(struct store *s, int64_t since, struct arena *a,
    struct instance **ins_out, size_t *n_out, struct berth_err *err)
{
	struct instance *all;
	size_t n_all, n = 0;
	enum berth_code rc = store_instance_lives(s, since, a, &all, &n_all, err);

	for (size_t i = 0; rc == BERTH_OK && i < n_all; i++)
		if (all[i].offer.purchase == PURCHASE_SPOT)
			all[n++] = all[i];
	*ins_out = all;
	*n_out = n;
	return rc;
}

static enum berth_code
instance_time(struct db_stmt *st, void *arg, struct berth_err *err)
{
	(void)err;
	*(int64_t *)arg = db_col_i64(st, "t");
	return BERTH_OK;
}

enum berth_code
store_instance_last_gone(
    struct store *s, const char *account, int64_t *t_out, struct berth_err *err)
{
	*t_out = 0;
	return store_each(s, instance_time, t_out, err,
	    "SELECT gone AS t FROM instance WHERE account = $1 AND gone IS NOT NULL ORDER BY gone "
	    "DESC LIMIT 1",
	    DB_ARGS(db_text(account)));
}

static enum berth_code
instance_only(enum berth_code rc, const struct instance_list *l, const char *what,
    struct instance *in_out, struct berth_err *err)
{
	if (rc == BERTH_OK && l->v.n == 0)
		rc = err_set(err, BERTH_ENOTFOUND,
		    "there is no instance %s; `berth instances` lists them", what);
	if (rc == BERTH_OK)
		*in_out = l->v.v[0];
	return rc;
}

enum berth_code
store_instance_get(
    struct store *s, int64_t id, struct arena *a, struct instance *in_out, struct berth_err *err)
{
	struct instance_list l = { .a = a };
	enum berth_code rc = store_each(
	    s, instance_row, &l, err, "SELECT * FROM instance WHERE id = $1", DB_ARGS(db_i64(id)));

	return instance_only(rc, &l, arena_printf(a, "%lld", (long long)id), in_out, err);
}

enum berth_code
store_instance_by_ref(struct store *s, const char *account, const char *provider_ref,
    struct arena *a, struct instance *in_out, struct berth_err *err)
{
	struct instance_list l = { .a = a };
	enum berth_code rc = store_each(s, instance_row, &l, err,
	    "SELECT * FROM instance WHERE account = $1 AND provider_ref = $2",
	    DB_ARGS(db_text(account), db_text(provider_ref)));

	return instance_only(
	    rc, &l, arena_printf(a, "%s of account %s", provider_ref, account), in_out, err);
}

enum berth_code
store_instance_by_token(struct store *s, const char *token, struct arena *a,
    struct instance *in_out, struct berth_err *err)
{
	struct instance_list l = { .a = a };
	enum berth_code rc = store_each(s, instance_row, &l, err,
	    "SELECT i.* FROM instance i JOIN intent t ON t.id = i.intent_id WHERE t.token = $1 AND "
	    "t.kind = 'create'",
	    DB_ARGS(db_text(token)));

	return instance_only(rc, &l, arena_printf(a, "of the token %s", token), in_out, err);
}
