#include <math.h>
#include <stdio.h>

#include "store/machine_rows.h"
#include "store/priv.h"
#include "util/vec.h"

#define CAPACITY_HALF_LIFE_S 21600.0 /* 6 h, as struct capacity says */

#define KEY_COLS "provider, account, region, zone, instance_type, purchase"
#define KEY_IS                                                                                     \
	"provider = $1 AND account = $2 AND region = $3 AND zone = $4 AND instance_type = $5 AND " \
	"purchase = $6"
#define KEY_ARGS(k)                                                                                \
	db_text((k)->provider), db_text((k)->account), db_text((k)->region), db_text((k)->zone),   \
	    db_text((k)->instance_type), db_text((k)->purchase)

static struct place_key
key_read(struct db_stmt *st, struct arena *a)
{
	return (struct place_key){ db_col_text(st, "provider", a), db_col_text(st, "account", a),
		db_col_text(st, "region", a), db_col_text(st, "zone", a),
		db_col_text(st, "instance_type", a), db_col_text(st, "purchase", a) };
}

/* base doubled `repeats` times, at most max. */
static int64_t
block_length(int64_t base_s, int64_t max_s, int64_t repeats)
{
	int64_t len = base_s;

	for (int64_t i = 0; i < repeats && len < max_s; i++)
		len *= 2;
	return len < max_s ? len : max_s;
}

enum berth_code
store_block_put(struct store *s, const struct place_key *key, int64_t base_s, int64_t max_s,
    const char *code, const char *reason, int64_t now, int64_t *until_out, struct berth_err *err)
{
	int64_t from = 0, until = 0, repeats = 0;
	enum berth_code rc = store_begin(s, err);
	struct db_stmt *st;
	bool row = false;

	if (rc != BERTH_OK)
		return rc;
	rc = db_query(s->db, &st, err, "SELECT from_t, until_t, repeats FROM block WHERE " KEY_IS,
	    DB_ARGS(KEY_ARGS(key)));
	if (rc == BERTH_OK)
		rc = db_next(st, &row, err);
	if (rc == BERTH_OK && row) {
		from = db_col_i64(st, "from_t");
		until = db_col_i64(st, "until_t");
		repeats = now < until + (until - from) ? db_col_i64(st, "repeats") + 1 : 0;
	}
	db_done(st);
	until = now + block_length(base_s, max_s, repeats);
	if (rc == BERTH_OK)
		rc = db_run(s->db, err,
		    "INSERT INTO block (" KEY_COLS
		    ", from_t, until_t, repeats, code, reason, run) VALUES ($1, $2, $3, $4, $5, "
		    "$6, $7, $8, $9, $10, $11, $12) ON CONFLICT (" KEY_COLS
		    ") DO UPDATE SET from_t = $7, until_t = $8, repeats = $9, code = $10, reason = "
		    "$11, run = $12",
		    DB_ARGS(KEY_ARGS(key), db_i64(now), db_i64(until), db_i64(repeats),
			db_text(code), db_text(reason), db_id(s->run_id)));
	rc = store_end(s, rc, err);
	if (rc == BERTH_OK && until_out != NULL)
		*until_out = until;
	return rc;
}

struct block_list {
	struct arena *a;
	VEC(struct block) v;
};

static enum berth_code
block_row(struct db_stmt *st, void *arg, struct berth_err *err)
{
	struct block_list *l = arg;
	struct block *b = VEC_ADD(l->a, &l->v);

	(void)err;
	b->id = db_col_i64(st, "id");
	b->key = key_read(st, l->a);
	b->from = db_col_i64(st, "from_t");
	b->until = db_col_i64(st, "until_t");
	b->repeats = (int)db_col_i64(st, "repeats");
	b->code = db_col_text(st, "code", l->a);
	b->reason = db_col_text(st, "reason", l->a);
	return BERTH_OK;
}

enum berth_code
store_block_active(struct store *s, int64_t now, struct arena *a, struct block **blocks_out,
    size_t *n_out, struct berth_err *err)
{
	struct block_list l = { .a = a };
	enum berth_code rc;

	rc = store_each(s, block_row, &l, err,
	    "SELECT * FROM block WHERE from_t <= $1 AND until_t > $1 ORDER BY id",
	    DB_ARGS(db_i64(now)));
	if (rc == BERTH_OK) {
		*blocks_out = l.v.v;
		*n_out = l.v.n;
	}
	return rc;
}

enum berth_code
store_block_clear(struct store *s, const struct place_key *key, struct berth_err *err)
{
	return store_write(s, err, "DELETE FROM block WHERE " KEY_IS, DB_ARGS(KEY_ARGS(key)));
}

static double
capacity_decayed(double weight, int64_t from, int64_t to)
{
	return to > from ? weight * exp2(-(double)(to - from) / CAPACITY_HALF_LIFE_S) : weight;
}

struct capacity_list {
	struct arena *a;
	int64_t now; /* weights are brought to this time; 0: left as of recent_t */
	VEC(struct capacity) v;
	int64_t recent_t; /* of the last row */
};

static enum berth_code
capacity_row(struct db_stmt *st, void *arg, struct berth_err *err)
{
	struct capacity_list *l = arg;
	struct capacity *c = VEC_ADD(l->a, &l->v);
	int64_t now;

	(void)err;
	l->recent_t = db_col_i64(st, "recent_t");
	now = l->now != 0 ? l->now : l->recent_t;
	c->key = key_read(st, l->a);
	c->won = db_col_i64(st, "won");
	c->lost = db_col_i64(st, "lost");
	c->won_recent = capacity_decayed(db_col_real(st, "won_recent"), l->recent_t, now);
	c->lost_recent = capacity_decayed(db_col_real(st, "lost_recent"), l->recent_t, now);
	c->last_won = db_col_i64(st, "last_won");
	c->last_lost = db_col_i64(st, "last_lost");
	return BERTH_OK;
}

/* Adds one launch to the derived row. */
static enum berth_code
capacity_add(
    struct store *s, const struct place_key *key, bool won, int64_t t, struct berth_err *err)
{
	struct capacity_list l = { .a = arena_new(), .now = t };
	struct capacity c = { 0 };
	enum berth_code rc;

	rc = store_each(s, capacity_row, &l, err, "SELECT * FROM capacity WHERE " KEY_IS,
	    DB_ARGS(KEY_ARGS(key)));
	if (rc == BERTH_OK && l.v.n > 0)
		c = l.v.v[0];
	if (won) {
		c.won++;
		c.won_recent += 1;
		c.last_won = t;
	} else {
		c.lost++;
		c.lost_recent += 1;
		c.last_lost = t;
	}
	if (rc == BERTH_OK)
		rc = db_run(s->db, err,
		    "INSERT INTO capacity (" KEY_COLS
		    ", won, lost, won_recent, lost_recent, recent_t, last_won, last_lost) VALUES "
		    "($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13) ON CONFLICT "
		    "(" KEY_COLS
		    ") DO UPDATE SET won = $7, lost = $8, won_recent = $9, lost_recent = $10, "
		    "recent_t = $11, last_won = $12, last_lost = $13",
		    DB_ARGS(KEY_ARGS(key), db_i64(c.won), db_i64(c.lost), db_real(c.won_recent),
			db_real(c.lost_recent), db_i64(t > l.recent_t ? t : l.recent_t),
			db_id(c.last_won), db_id(c.last_lost)));
	arena_free(l.a);
	return rc;
}

enum berth_code
store_capacity_count(
    struct store *s, const struct offer *o, bool won, int64_t now, struct berth_err *err)
{
	struct place_key key = place_key(o, KEY_OFFER);
	enum berth_code rc = store_begin(s, err);

	if (rc != BERTH_OK)
		return rc;
	rc = db_run(s->db, err,
	    "INSERT INTO launch (" KEY_COLS
	    ", t, won, run) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)",
	    DB_ARGS(KEY_ARGS(&key), db_i64(now), db_bool(won), db_id(s->run_id)));
	if (rc == BERTH_OK)
		rc = capacity_add(s, &key, won, now, err);
	return store_end(s, rc, err);
}

enum berth_code
store_capacity_list(struct store *s, int64_t now, struct arena *a, struct capacity **cs_out,
    size_t *n_out, struct berth_err *err)
{
	struct capacity_list l = { .a = a, .now = now };
	enum berth_code rc;

	rc = store_each(
	    s, capacity_row, &l, err, "SELECT * FROM capacity ORDER BY " KEY_COLS, DB_NO_ARGS);
	if (rc == BERTH_OK) {
		*cs_out = l.v.v;
		*n_out = l.v.n;
	}
	return rc;
}

struct capacity_replay {
	struct store *s;
	struct arena *a;
	store_say_fn *say;
	void *arg;
};

static enum berth_code
capacity_fault(struct db_stmt *st, void *arg, struct berth_err *err)
{
	struct capacity_replay *r = arg;
	struct place_key key = key_read(st, r->a);
	char line[512], text[256];

	(void)err;
	snprintf(line, sizeof(line),
	    "capacity: %s counts %lld won of %lld, its launches say %lld of %lld",
	    place_key_text(&key, text, sizeof(text)), (long long)db_col_i64(st, "have_won"),
	    (long long)db_col_i64(st, "have_all"), (long long)db_col_i64(st, "won"),
	    (long long)db_col_i64(st, "n"));
	r->say(r->arg, line);
	return BERTH_OK;
}

static enum berth_code
capacity_launch(struct db_stmt *st, void *arg, struct berth_err *err)
{
	struct capacity_replay *r = arg;
	struct place_key key = key_read(st, r->a);

	return capacity_add(r->s, &key, db_col_bool(st, "won"), db_col_i64(st, "t"), err);
}

enum berth_code
capacity_derive(struct store *s, bool fix, store_say_fn *say, void *arg, struct berth_err *err)
{
	struct capacity_replay r = { .s = s, .a = arena_new(), .say = say, .arg = arg };
	enum berth_code rc;

	rc = store_each(s, capacity_fault, &r, err,
	    "SELECT l.*, COALESCE(c.won, 0) AS have_won, COALESCE(c.won + c.lost, 0) AS have_all "
	    "FROM (SELECT " KEY_COLS
	    ", CAST(sum(won) AS BIGINT) AS won, count(*) AS n FROM launch GROUP BY " KEY_COLS
	    ") AS l LEFT JOIN capacity c ON c.provider = l.provider AND c.account = l.account AND "
	    "c.region = l.region AND c.zone = l.zone AND c.instance_type = l.instance_type AND "
	    "c.purchase = l.purchase WHERE c.won IS NULL OR c.won <> l.won OR c.won + c.lost <> "
	    "l.n",
	    DB_NO_ARGS);
	if (rc == BERTH_OK && fix)
		rc = db_run(s->db, err, "DELETE FROM capacity", DB_NO_ARGS);
	if (rc == BERTH_OK && fix)
		rc = store_each(s, capacity_launch, &r, err,
		    "SELECT " KEY_COLS ", t, won FROM launch ORDER BY id", DB_NO_ARGS);
	arena_free(r.a);
	return rc;
}
