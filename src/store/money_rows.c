#include <stdio.h>
#include <string.h>

#include "store/money_rows.h"
#include "store/priv.h"
#include "util/vec.h"

enum berth_code
store_commitment_insert(
    struct store *s, const struct commitment *c, int64_t *id_out, struct berth_err *err)
{
	struct arena *a = arena_new();
	const char *offer = "";
	enum berth_code rc;

	rc = c->count >= 1 && c->to > c->from
		 ? pack_offer(&c->offer, a, &offer, err)
		 : err_set(err, BERTH_EINVAL, "commitment: %d machines from %lld to %lld", c->count,
		       (long long)c->from, (long long)c->to);
	if (rc == BERTH_OK)
		rc = store_insert(s, id_out, err,
		    "INSERT INTO commitment (offer, count, from_t, to_t, source, note, run) VALUES "
		    "($1, $2, $3, $4, $5, $6, $7) RETURNING id",
		    DB_ARGS(db_text(offer), db_i64(c->count), db_i64(c->from), db_i64(c->to),
			db_text(c->source), db_text(c->note), db_id(s->run_id)));
	arena_free(a);
	return rc;
}

struct commitment_list {
	struct arena *a;
	VEC(struct commitment) v;
};

static enum berth_code
commitment_row(struct db_stmt *st, void *arg, struct berth_err *err)
{
	struct commitment_list *l = arg;
	struct commitment *c = VEC_ADD(l->a, &l->v);

	c->id = db_col_i64(st, "id");
	c->count = (int)db_col_i64(st, "count");
	c->from = db_col_i64(st, "from_t");
	c->to = db_col_i64(st, "to_t");
	c->source = db_col_text(st, "source", l->a);
	c->note = db_col_text(st, "note", l->a);
	return unpack_offer(db_col_text(st, "offer", l->a), l->a, &c->offer, err);
}

enum berth_code
store_commitment_list(struct store *s, int64_t at, struct arena *a, struct commitment **cs_out,
    size_t *n_out, struct berth_err *err)
{
	struct commitment_list l = { .a = a };
	enum berth_code rc;

	rc = store_each(s, commitment_row, &l, err,
	    "SELECT * FROM commitment WHERE $1 = 0 OR (from_t <= $1 AND to_t > $1) ORDER BY "
	    "from_t, id",
	    DB_ARGS(db_i64(at)));
	if (rc == BERTH_OK) {
		*cs_out = l.v.v;
		*n_out = l.v.n;
	}
	return rc;
}

enum berth_code
store_commitment_delete(struct store *s, int64_t id, struct berth_err *err)
{
	enum berth_code rc = store_begin(s, err);

	if (rc != BERTH_OK)
		return rc;
	rc = db_run(s->db, err, "DELETE FROM commitment WHERE id = $1", DB_ARGS(db_i64(id)));
	return store_end(
	    s, store_met(s, rc, err, "there is no commitment %lld", (long long)id), err);
}

enum berth_code
store_ledger_add(struct store *s, const struct ledger_row *r, struct berth_err *err)
{
	if (!usd_known(r->amount))
		return err_set(
		    err, BERTH_EINVAL, "ledger: an unknown amount for job '%s'", r->job_id);
	return store_write(s, err,
	    "INSERT INTO ledger (t, kind, account, project, user_name, job_id, instance_id, "
	    "amount, note, run) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)",
	    DB_ARGS(db_i64(r->t), db_text(ledger_kind_name(r->kind)), db_text(r->account),
		db_text(r->project), db_text(r->user), db_text(r->job_id), db_id(r->instance_id),
		db_usd(r->amount), db_text(r->note), db_id(s->run_id)));
}

struct ledger_list {
	struct arena *a;
	VEC(struct ledger_row) v;
};

static enum berth_code
ledger_row(struct db_stmt *st, void *arg, struct berth_err *err)
{
	struct ledger_list *l = arg;
	struct ledger_row *r = VEC_ADD(l->a, &l->v);

	r->id = db_col_i64(st, "id");
	r->t = db_col_i64(st, "t");
	r->account = db_col_text(st, "account", l->a);
	r->project = db_col_text(st, "project", l->a);
	r->user = db_col_text(st, "user_name", l->a);
	r->job_id = db_col_text(st, "job_id", l->a);
	r->instance_id = db_col_i64(st, "instance_id");
	r->amount = db_col_usd(st, "amount");
	r->note = db_col_text(st, "note", l->a);
	if (!ledger_kind_parse(db_col_text(st, "kind", l->a), &r->kind))
		return err_set(err, BERTH_EINVAL,
		    "store: ledger row %lld: a kind that this berth does not know",
		    (long long)r->id);
	return BERTH_OK;
}

enum berth_code
store_ledger_list(struct store *s, const struct ledger_query *q, struct arena *a,
    struct ledger_row **rows_out, size_t *n_out, struct berth_err *err)
{
	static const struct ledger_query all = { 0 };
	struct ledger_list l = { .a = a };
	enum berth_code rc;

	if (q == NULL)
		q = &all;
	rc = store_each(s, ledger_row, &l, err,
	    "SELECT * FROM ledger WHERE t >= $1 AND t < $2 AND ($3 = 0 OR instance_id = $3) AND "
	    "($4 = '' OR job_id = $4) AND ($5 = '' OR account = $5) AND ($6 = '' OR project = $6) "
	    "AND ($7 = '' OR user_name = $7) ORDER BY t, id",
	    DB_ARGS(db_i64(q->from), db_i64(q->to != 0 ? q->to : INT64_MAX), db_i64(q->instance_id),
		db_text(q->job_id), db_text(q->account), db_text(q->project), db_text(q->user)));
	if (rc == BERTH_OK) {
		*rows_out = l.v.v;
		*n_out = l.v.n;
	}
	return rc;
}

/* A scope as the three columns that it compares; "" any. */
struct scope_cols {
	const char *account, *project, *user;
};

static struct scope_cols
scope_cols(const char *scope)
{
	const char *name = strchr(scope, ':');
	struct scope_cols c = { "", "", "" };

	if (name == NULL)
		return c;
	if (scope[0] == 'a')
		c.account = name + 1;
	else if (scope[0] == 'p')
		c.project = name + 1;
	else
		c.user = name + 1;
	return c;
}

enum berth_code
store_spent(struct store *s, const char *scope, int64_t from, int64_t to, struct usd_micro *out,
    struct berth_err *err)
{
	enum berth_code rc = budget_scope_check(scope, err);
	struct scope_cols c;

	if (rc != BERTH_OK)
		return rc;
	c = scope_cols(scope);
	return db_get_one(s->db, 0, &out->v, err,
	    "SELECT CAST(sum(amount) AS BIGINT) FROM ledger WHERE t >= $1 AND t < $2 AND ($3 = '' "
	    "OR account = $3) AND ($4 = '' OR project = $4) AND ($5 = '' OR user_name = $5)",
	    DB_ARGS(
		db_i64(from), db_i64(to), db_text(c.account), db_text(c.project), db_text(c.user)));
}

static enum berth_code
budget_reserved(struct store *s, const char *scope, struct usd_micro *out, struct berth_err *err)
{
	struct scope_cols c = scope_cols(scope);

	return db_get_one(s->db, 0, &out->v, err,
	    "SELECT CAST(sum(held) AS BIGINT) FROM reservation WHERE settled IS NULL AND ($1 = '' "
	    "OR account = $1) AND ($2 = '' OR project = $2) AND ($3 = '' OR user_name = $3)",
	    DB_ARGS(db_text(c.account), db_text(c.project), db_text(c.user)));
}

struct budget_rate {
	struct arena *a;
	int64_t now;
	struct usd_micro there, coming;
};

static enum berth_code
budget_rate_row(struct db_stmt *st, void *arg, struct berth_err *err)
{
	struct budget_rate *r = arg;
	struct usd_micro *sum = db_col_i64(st, "pending") != 0 ? &r->coming : &r->there;
	struct offer o;
	enum berth_code rc = unpack_offer(db_col_text(st, "offer", r->a), r->a, &o, err);

	return rc == BERTH_OK ? usd_add(*sum, offer_hour(&o, r->now), sum, err) : rc;
}

/* What the machines of the scope ask for an hour: each has its reservation until it is gone. */
static enum berth_code
budget_rate(struct store *s, const char *scope, int64_t now, struct usd_micro *there_out,
    struct usd_micro *coming_out, struct berth_err *err)
{
	struct budget_rate r = { .a = arena_new(), .now = now };
	struct scope_cols c = scope_cols(scope);
	enum berth_code rc = store_each(s, budget_rate_row, &r, err,
	    "SELECT i.offer AS offer, CASE WHEN i.state = 'pending' THEN 1 ELSE 0 END AS pending "
	    "FROM reservation r JOIN intent i ON i.id = r.intent_id WHERE r.settled IS NULL AND "
	    "i.kind = 'create' AND ($1 = '' OR r.account = $1) AND ($2 = '' OR r.project = $2) AND "
	    "($3 = '' OR r.user_name = $3)",
	    DB_ARGS(db_text(c.account), db_text(c.project), db_text(c.user)));

	*there_out = r.there;
	*coming_out = r.coming;
	arena_free(r.a);
	return rc;
}

enum berth_code
store_budget_set(struct store *s, const struct budget *b, int64_t now, struct berth_err *err)
{
	enum berth_code rc = budget_scope_check(b->scope, err);
	char name[512];

	if (rc == BERTH_OK && (!usd_known(b->cap) || b->cap.v < 0))
		rc = err_set(err, BERTH_EINVAL, "budget: a cap is an amount of at least 0");
	if (rc != BERTH_OK)
		return rc;
	if (b->name != NULL && b->name[0] != '\0')
		snprintf(name, sizeof(name), "%s", b->name);
	else
		snprintf(name, sizeof(name), "%s/%s", b->scope, budget_period_name(b->period));
	return store_write(s, err,
	    "INSERT INTO budget (name, scope, period, cap, changed, run) VALUES ($1, $2, $3, $4, "
	    "$5, $6) ON CONFLICT (name) DO UPDATE SET scope = $2, period = $3, cap = $4, changed = "
	    "$5, run = $6",
	    DB_ARGS(db_text(name), db_text(b->scope), db_text(budget_period_name(b->period)),
		db_usd(b->cap), db_i64(now), db_id(s->run_id)));
}

struct budget_list {
	struct arena *a;
	VEC(struct budget) v;
};

static enum berth_code
budget_row(struct db_stmt *st, void *arg, struct berth_err *err)
{
	struct budget_list *l = arg;
	struct budget *b = VEC_ADD(l->a, &l->v);

	b->id = db_col_i64(st, "id");
	b->name = db_col_text(st, "name", l->a);
	b->scope = db_col_text(st, "scope", l->a);
	b->cap = db_col_usd(st, "cap");
	if (!budget_period_parse(db_col_text(st, "period", l->a), &b->period))
		return err_set(err, BERTH_EINVAL,
		    "store: budget %s: a period that this berth does not know", b->name);
	return BERTH_OK;
}

enum berth_code
store_budget_list(struct store *s, int64_t now, struct arena *a, struct budget **bs_out,
    size_t *n_out, struct berth_err *err)
{
	struct budget_list l = { .a = a };
	enum berth_code rc;

	rc = store_each(s, budget_row, &l, err, "SELECT * FROM budget ORDER BY name", DB_NO_ARGS);
	for (size_t i = 0; rc == BERTH_OK && i < l.v.n; i++) {
		struct budget *b = &l.v.v[i];

		budget_period_span(b->period, now, &b->from, &b->to);
		if (b->period == BUDGET_HOUR) {
			rc = budget_rate(s, b->scope, now, &b->spent, &b->reserved, err);
			continue;
		}
		rc = store_spent(s, b->scope, b->from, b->to, &b->spent, err);
		if (rc == BERTH_OK)
			rc = budget_reserved(s, b->scope, &b->reserved, err);
	}
	if (rc == BERTH_OK) {
		*bs_out = l.v.v;
		*n_out = l.v.n;
	}
	return rc;
}

enum berth_code
store_budget_delete(struct store *s, const char *name, struct berth_err *err)
{
	enum berth_code rc = store_begin(s, err);

	if (rc != BERTH_OK)
		return rc;
	rc = db_run(s->db, err, "DELETE FROM budget WHERE name = $1", DB_ARGS(db_text(name)));
	return store_end(s,
	    store_met(s, rc, err, "there is no budget '%s'; `berth budget` lists them", name), err);
}

/* Decimals at which the rounded parts add up to more than the rounded cap, as the exact ones do. */
static int
budget_digits(const struct budget *b, struct usd_micro ask)
{
	int64_t unit = 10000;

	for (int digits = 2; digits < 6; digits++, unit /= 10) {
		int64_t half = unit / 2;

		if ((b->spent.v + half) / unit + (b->reserved.v + half) / unit +
			(ask.v + half) / unit >
		    (b->cap.v + half) / unit)
			return digits;
	}
	return 6;
}

/* Does this budget still have room for the ask? */
static enum berth_code
budget_room(const struct budget *b, struct usd_micro ask, struct berth_err *err)
{
	char cap[USD_FMT_SIZE], spent[USD_FMT_SIZE], reserved[USD_FMT_SIZE], asked[USD_FMT_SIZE];
	struct usd_micro sum;
	int digits;
	enum berth_code rc;

	rc = usd_add(b->spent, b->reserved, &sum, err);
	if (rc == BERTH_OK)
		rc = usd_add(sum, ask, &sum, err);
	if (rc != BERTH_OK || sum.v <= b->cap.v)
		return rc;
	digits = budget_digits(b, ask);
	if (b->period == BUDGET_HOUR)
		return err_set(err, BERTH_EBUDGET,
		    "over budget '%s' (%s): cap %s USD an hour, machines ask for %s, those being "
		    "made for %s, asked for %s",
		    b->name, b->scope, usd_fmt(cap, sizeof(cap), b->cap, digits),
		    usd_fmt(spent, sizeof(spent), b->spent, digits),
		    usd_fmt(reserved, sizeof(reserved), b->reserved, digits),
		    usd_fmt(asked, sizeof(asked), ask, digits));
	return err_set(err, BERTH_EBUDGET,
	    "over budget '%s' (%s, %s): cap %s USD, spent %s, reserved %s, asked for %s", b->name,
	    b->scope, budget_period_name(b->period), usd_fmt(cap, sizeof(cap), b->cap, digits),
	    usd_fmt(spent, sizeof(spent), b->spent, digits),
	    usd_fmt(reserved, sizeof(reserved), b->reserved, digits),
	    usd_fmt(asked, sizeof(asked), ask, digits));
}

enum berth_code
budget_reserve_locked(struct store *s, const struct budget_ask *ask, int64_t intent_id, int64_t now,
    int64_t *id_out, struct berth_err *err)
{
	struct arena *a = arena_new();
	struct budget *bs = NULL;
	enum berth_code rc;
	size_t n = 0;

	rc = usd_known(ask->amount) && ask->amount.v >= 0
		 ? store_budget_list(s, now, a, &bs, &n, err)
		 : err_set(err, BERTH_EINVAL,
		       "budget: what is asked for must be an amount of at least 0");
	for (size_t i = 0; rc == BERTH_OK && i < n; i++) {
		struct usd_micro need = bs[i].period == BUDGET_HOUR ? ask->hour : ask->amount;

		if (need.v > 0 &&
		    budget_scope_hits(bs[i].scope, ask->account, ask->project, ask->user))
			rc = budget_room(&bs[i], need, err);
	}
	if (rc == BERTH_OK)
		rc = db_insert(s->db, id_out, err,
		    "INSERT INTO reservation (intent_id, account, project, user_name, job_id, "
		    "amount, held, made, run) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) "
		    "RETURNING id",
		    DB_ARGS(db_id(intent_id), db_text(ask->account), db_text(ask->project),
			db_text(ask->user), db_text(ask->job_id), db_usd(ask->amount),
			db_usd(ask->amount), db_i64(now), db_id(s->run_id)));
	arena_free(a);
	return rc;
}

enum berth_code
store_budget_reserve(struct store *s, const struct budget_ask *ask, int64_t intent_id, int64_t now,
    int64_t *id_out, struct berth_err *err)
{
	enum berth_code rc = store_begin(s, err);
	int64_t id = 0;

	if (rc != BERTH_OK)
		return rc;
	rc = store_end(s, budget_reserve_locked(s, ask, intent_id, now, &id, err), err);
	if (rc == BERTH_OK)
		*id_out = id;
	return rc;
}

enum berth_code
store_budget_charge(
    struct store *s, int64_t intent_id, const struct ledger_row *row, struct berth_err *err)
{
	int64_t paid = row->amount.v > 0 ? row->amount.v : 0;
	enum berth_code rc = store_begin(s, err);

	if (rc != BERTH_OK)
		return rc;
	rc = store_ledger_add(s, row, err);
	if (rc == BERTH_OK)
		rc = db_run(s->db, err,
		    "UPDATE reservation SET held = CASE WHEN held > $1 THEN held - $1 ELSE 0 END "
		    "WHERE intent_id = $2 AND settled IS NULL",
		    DB_ARGS(db_i64(paid), db_i64(intent_id)));
	return store_end(s, rc, err);
}

enum berth_code
store_budget_hold(struct store *s, int64_t intent_id, struct usd_micro least, struct berth_err *err)
{
	return store_write(s, err,
	    "UPDATE reservation SET held = $1, amount = CASE WHEN amount < $1 THEN $1 ELSE amount "
	    "END WHERE intent_id = $2 AND settled IS NULL AND held < $1",
	    DB_ARGS(db_usd(least), db_i64(intent_id)));
}

enum berth_code
store_budget_yield(struct store *s, int64_t intent_id, struct usd_micro most, struct berth_err *err)
{
	return store_write(s, err,
	    "UPDATE reservation SET held = $1 WHERE intent_id = $2 AND settled IS NULL AND held > "
	    "$1",
	    DB_ARGS(db_usd(most), db_i64(intent_id)));
}

enum berth_code
store_budget_held(struct store *s, const char *job_id, struct usd_micro *out, struct berth_err *err)
{
	return db_get_one(s->db, 0, &out->v, err,
	    "SELECT CAST(sum(held) AS BIGINT) FROM reservation WHERE settled IS NULL AND job_id = "
	    "$1",
	    DB_ARGS(db_text(job_id)));
}

enum berth_code
store_budget_settle(struct store *s, int64_t intent_id, int64_t now, struct berth_err *err)
{
	return store_write(s, err,
	    "UPDATE reservation SET held = 0, settled = $1 WHERE intent_id = $2 AND settled IS "
	    "NULL",
	    DB_ARGS(db_i64(now), db_i64(intent_id)));
}
