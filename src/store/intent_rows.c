#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "store/machine_rows.h"
#include "store/priv.h"
#include "util/vec.h"

static enum berth_code
intent_token(struct arena *a, const char **token_out, struct berth_err *err)
{
	unsigned char bytes[16];
	char hex[33];

	if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes))
		return err_set(err, BERTH_EFAIL, "store: the system gives no random bytes");
	for (size_t i = 0; i < sizeof(bytes); i++)
		snprintf(hex + 2 * i, 3, "%02x", bytes[i]);
	*token_out = arena_strdup(a, hex);
	return BERTH_OK;
}

static enum berth_code
intent_write(struct store *s, struct intent *it, const char *offer, const struct budget_ask *ask,
    struct berth_err *err)
{
	enum berth_code rc;
	int64_t reservation;
	struct budget_ask own;

	rc = db_insert(s->db, &it->id, err,
	    "INSERT INTO intent (kind, account, token, job_id, instance_id, offer, state, created, "
	    "reason, run, gang, rank, machines) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, '', $9, "
	    "$10, $11, $12) RETURNING id",
	    DB_ARGS(db_text(intent_kind_name(it->kind)), db_text(it->account), db_text(it->token),
		db_text(it->job_id), db_id(it->instance_id), db_text(offer),
		db_text(intent_state_name(INTENT_PENDING)), db_i64(it->created), db_id(s->run_id),
		db_i64(it->gang), db_i64(it->rank), db_i64(it->machines > 1 ? it->machines : 1)));
	if (rc != BERTH_OK || ask == NULL)
		return rc;
	own = *ask;
	own.hour = offer_hour(&it->offer, it->created);
	rc = budget_reserve_locked(s, &own, it->id, it->created, &reservation, err);
	return rc;
}

enum berth_code
store_intent_open(struct store *s, const struct intent *it, const struct budget_ask *ask,
    struct arena *a, struct intent *it_out, struct berth_err *err)
{
	struct intent row = *it;
	const char *offer = "";
	enum berth_code rc = BERTH_OK;

	assert(s->depth ==
	       0); /* inside a transaction the intent would not be committed when we return */
	row.state = INTENT_PENDING;
	row.settled = 0;
	row.reason = "";
	if (row.token[0] == '\0')
		rc = intent_token(a, &row.token, err);
	if (rc == BERTH_OK)
		rc = pack_offer(&row.offer, a, &offer, err);
	if (rc == BERTH_OK)
		rc = store_begin(s, err);
	if (rc != BERTH_OK)
		return rc;
	rc = store_end(s, intent_write(s, &row, offer, ask, err), err);
	if (rc == BERTH_OK)
		*it_out = row;
	return rc;
}

static enum berth_code
intent_write_gang(struct store *s, struct intent *its, size_t n, const char *offer,
    const struct budget_ask *ask, struct berth_err *err)
{
	enum berth_code rc = BERTH_OK;

	for (size_t i = 0; i < n && rc == BERTH_OK; i++) {
		struct budget_ask part = *ask;
		int64_t share = ask->amount.v / (int64_t)n;

		part.amount.v = i + 1 < n ? share : ask->amount.v - share * (int64_t)(n - 1);
		its[i].gang = i > 0 ? its[0].id : 0;
		rc = intent_write(s, &its[i], offer, &part, err);
	}
	if (n == 1)
		return rc;
	its[0].gang = its[0].id;
	if (rc == BERTH_OK)
		rc = db_run(s->db, err, "UPDATE intent SET gang = id WHERE id = $1",
		    DB_ARGS(db_i64(its[0].id)));
	return rc;
}

enum berth_code
store_intent_last(struct store *s, int64_t *last_out, struct berth_err *err)
{
	return db_get_one(s->db, 0, last_out, err, "SELECT MAX(id) FROM intent", DB_NO_ARGS);
}

static enum berth_code
intent_turn_own(struct store *s, const struct intent_turn *turn, struct berth_err *err)
{
	int64_t begun = 0;
	enum berth_code rc = db_get_one(s->db, 0, &begun, err,
	    "SELECT COUNT(*) FROM intent WHERE id > $1 AND kind = 'create'",
	    DB_ARGS(db_i64(turn->last)));

	if (rc == BERTH_OK && begun != turn->own)
		return err_set(err, BERTH_ELOCKED,
		    "another broker has begun to rent since the placement was made");
	return rc;
}

/* Nobody else has begun to rent, and the job still waits. */
static enum berth_code
intent_turn_holds(
    struct store *s, const struct intent_turn *turn, const char *job_id, struct berth_err *err)
{
	int64_t queued = 0;
	enum berth_code rc = intent_turn_own(s, turn, err);

	if (rc == BERTH_OK)
		rc = db_get_one(s->db, 0, &queued, err,
		    "SELECT COUNT(*) FROM job WHERE id = $1 AND state = 'queued'",
		    DB_ARGS(db_text(job_id)));
	if (rc == BERTH_OK && queued == 0)
		return err_set(err, BERTH_ELOCKED, "job %s is not in the queue any more", job_id);
	return rc;
}

static enum berth_code
intent_open_all(struct store *s, struct intent *its, size_t n, const struct budget_ask *ask,
    struct intent_turn *turn, struct arena *a, struct berth_err *err)
{
	const char *offer = "";
	enum berth_code rc = BERTH_OK;

	assert(s->depth == 0);
	for (size_t i = 0; i < n && rc == BERTH_OK; i++) {
		its[i].state = INTENT_PENDING;
		its[i].settled = 0;
		its[i].reason = "";
		its[i].rank = (int)i;
		its[i].machines = (int)n;
		if (its[i].token[0] == '\0')
			rc = intent_token(a, &its[i].token, err);
	}
	if (rc == BERTH_OK)
		rc = pack_offer(&its[0].offer, a, &offer, err);
	if (rc == BERTH_OK)
		rc = store_begin(s, err);
	if (rc != BERTH_OK)
		return rc;
	if (turn != NULL)
		rc = intent_turn_holds(s, turn, its[0].job_id, err);
	if (rc == BERTH_OK)
		rc = intent_write_gang(s, its, n, offer, ask, err);
	rc = store_end(s, rc, err);
	if (rc == BERTH_OK && turn != NULL)
		turn->own += (int64_t)n;
	return rc;
}

enum berth_code
store_intent_open_gang(struct store *s, struct intent *its, size_t n, const struct budget_ask *ask,
    struct arena *a, struct berth_err *err)
{
	assert(n > 1);
	return intent_open_all(s, its, n, ask, NULL, a, err);
}

enum berth_code
store_intent_open_turn(struct store *s, struct intent *its, size_t n, const struct budget_ask *ask,
    struct intent_turn *turn, struct arena *a, struct berth_err *err)
{
	assert(n > 0);
	return intent_open_all(s, its, n, ask, turn, a, err);
}

/* The rank has no machine and no create that is out, and its job holds machines. */
static enum berth_code
intent_rank_free(struct store *s, const struct intent *it, struct berth_err *err)
{
	int64_t held = 0, taken = 0;
	enum berth_code rc = db_get_one(s->db, 0, &held, err,
	    "SELECT COUNT(*) FROM job WHERE id = $1 AND state = 'placed'",
	    DB_ARGS(db_text(it->job_id)));

	if (rc == BERTH_OK)
		rc = db_get_one(s->db, 0, &taken, err,
		    "SELECT COUNT(*) FROM intent i WHERE i.gang = $1 AND i.rank = $2 AND "
		    "(i.state = 'pending' OR EXISTS (SELECT 1 FROM attempt a WHERE a.instance_id = "
		    "i.instance_id AND a.job_id = $3 AND a.ended IS NULL))",
		    DB_ARGS(db_i64(it->gang), db_i64(it->rank), db_text(it->job_id)));
	if (rc == BERTH_OK && (held == 0 || taken > 0))
		return err_set(err, BERTH_ELOCKED, "rank %d of job %s needs no machine any more",
		    it->rank, it->job_id);
	return rc;
}

enum berth_code
store_intent_open_rank(struct store *s, struct intent *it, const struct budget_ask *ask,
    struct intent_turn *turn, struct arena *a, struct berth_err *err)
{
	const char *offer = "";
	enum berth_code rc = pack_offer(&it->offer, a, &offer, err);

	assert(s->depth == 0 && it->gang > 0 && it->machines > 1);
	it->state = INTENT_PENDING;
	it->settled = 0;
	it->reason = "";
	if (rc == BERTH_OK)
		rc = intent_token(a, &it->token, err);
	if (rc == BERTH_OK)
		rc = store_begin(s, err);
	if (rc != BERTH_OK)
		return rc;
	rc = intent_turn_own(s, turn, err);
	if (rc == BERTH_OK)
		rc = intent_rank_free(s, it, err);
	if (rc == BERTH_OK)
		rc = intent_write(s, it, offer, ask, err);
	rc = store_end(s, rc, err);
	turn->own += rc == BERTH_OK;
	return rc;
}

enum berth_code
store_intent_settle(struct store *s, int64_t id, enum intent_state state, int64_t instance_id,
    const char *reason, int64_t now, struct berth_err *err)
{
	enum berth_code rc = store_begin(s, err);

	if (rc != BERTH_OK)
		return rc;
	rc = db_run(s->db, err,
	    "UPDATE intent SET state = $1, instance_id = COALESCE($2, instance_id), reason = $3, "
	    "settled = COALESCE(settled, $4) WHERE id = $5",
	    DB_ARGS(db_text(intent_state_name(state)), db_id(instance_id), db_text(reason),
		db_i64(now), db_i64(id)));
	rc = store_met(s, rc, err, "there is no intent %lld", (long long)id);
	if (rc == BERTH_OK && state == INTENT_FAILED)
		rc = db_run(s->db, err,
		    "UPDATE reservation SET held = 0, settled = $1 WHERE intent_id = $2 AND "
		    "settled IS NULL",
		    DB_ARGS(db_i64(now), db_i64(id)));
	return store_end(s, rc, err);
}

struct intent_list {
	struct arena *a;
	VEC(struct intent) v;
};

static enum berth_code
intent_row(struct db_stmt *st, void *arg, struct berth_err *err)
{
	struct intent_list *l = arg;
	struct intent *it = VEC_ADD(l->a, &l->v);

	it->id = db_col_i64(st, "id");
	it->account = db_col_text(st, "account", l->a);
	it->token = db_col_text(st, "token", l->a);
	it->job_id = db_col_text(st, "job_id", l->a);
	it->instance_id = db_col_i64(st, "instance_id");
	it->created = db_col_i64(st, "created");
	it->settled = db_col_i64(st, "settled");
	it->reason = db_col_text(st, "reason", l->a);
	it->gang = db_col_i64(st, "gang");
	it->rank = (int)db_col_i64(st, "rank");
	it->machines = (int)db_col_i64(st, "machines");
	if (!intent_kind_parse(db_col_text(st, "kind", l->a), &it->kind) ||
	    !intent_state_parse(db_col_text(st, "state", l->a), &it->state))
		return err_set(err, BERTH_EINVAL,
		    "store: intent %lld: a kind or state that this berth does not know",
		    (long long)it->id);
	return unpack_offer(db_col_text(st, "offer", l->a), l->a, &it->offer, err);
}

enum berth_code
store_intent_pending(
    struct store *s, struct arena *a, struct intent **its_out, size_t *n_out, struct berth_err *err)
{
	struct intent_list l = { .a = a };
	enum berth_code rc;

	rc = store_each(s, intent_row, &l, err,
	    "SELECT * FROM intent WHERE state = 'pending' ORDER BY id", DB_NO_ARGS);
	if (rc == BERTH_OK) {
		*its_out = l.v.v;
		*n_out = l.v.n;
	}
	return rc;
}

enum berth_code
store_intent_by_token(struct store *s, const char *token, struct arena *a, struct intent *it_out,
    struct berth_err *err)
{
	struct intent_list l = { .a = a };
	enum berth_code rc;

	rc = store_each(s, intent_row, &l, err,
	    "SELECT * FROM intent WHERE token = $1 AND kind = 'create'", DB_ARGS(db_text(token)));
	if (rc == BERTH_OK && l.v.n == 0)
		rc = err_set(err, BERTH_ENOTFOUND, "there is no intent with the token %s", token);
	if (rc == BERTH_OK)
		*it_out = l.v.v[0];
	return rc;
}

enum berth_code
store_intent_gang(struct store *s, int64_t id, struct arena *a, struct intent **its_out,
    size_t *n_out, struct berth_err *err)
{
	struct intent_list l = { .a = a };
	enum berth_code rc;

	rc = store_each(s, intent_row, &l, err,
	    "SELECT * FROM intent WHERE gang > 0 AND gang = (SELECT gang FROM intent WHERE id = "
	    "$1) ORDER BY rank, id",
	    DB_ARGS(db_i64(id)));
	if (rc == BERTH_OK) {
		*its_out = l.v.v;
		*n_out = l.v.n;
	}
	return rc;
}
