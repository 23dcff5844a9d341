/* When providers said that they had none of an offer. */
#include <string.h>

#include "store/offer_rows.h"
#include "store/priv.h"
#include "util/vec.h"

struct offer_gaps {
	struct arena *a;
	VEC(struct offer_gap) v;
};

static bool
gap_same_place(const struct place_key *x, const struct place_key *y)
{
	return strcmp(x->provider, y->provider) == 0 && strcmp(x->region, y->region) == 0 &&
	       strcmp(x->zone, y->zone) == 0 && strcmp(x->instance_type, y->instance_type) == 0 &&
	       strcmp(x->purchase, y->purchase) == 0;
}

static enum berth_code
gap_row(struct db_stmt *st, void *arg, struct berth_err *err)
{
	struct offer_gaps *l = arg;
	struct offer_gap g = { .from = db_col_i64(st, "from_t"),
		.until = db_col_i64(st, "until_t"),
		.back = db_col_bool(st, "back") };
	struct offer_gap *last = l->v.n > 0 ? &l->v.v[l->v.n - 1] : NULL;

	(void)err;
	g.key = (struct place_key){ db_col_text(st, "provider", l->a), "",
		db_col_text(st, "region", l->a), db_col_text(st, "zone", l->a),
		db_col_text(st, "instance_type", l->a), db_col_text(st, "purchase", l->a) };
	if (g.until < g.from)
		g.until = g.from;
	if (last == NULL || !gap_same_place(&last->key, &g.key) || g.from > last->until) {
		VEC_PUSH(l->a, &l->v, g);
	} else if (g.until >= last->until) {
		last->until = g.until;
		last->back = g.back;
	}
	return BERTH_OK;
}

enum berth_code
store_offer_gaps(struct store *s, int64_t since, struct arena *a, struct offer_gap **gaps_out,
    size_t *n_out, struct berth_err *err)
{
	struct offer_gaps l = { .a = a };
	enum berth_code rc;

	/* of one that goes on the last reading ends it: what came after that nobody knows */
	rc = store_each(s, gap_row, &l, err,
	    "SELECT o.provider, o.region, o.zone, o.instance_type, o.purchase, o.from_t, "
	    "COALESCE(o.until_t, p.fetched) AS until_t, CASE WHEN EXISTS (SELECT 1 FROM offer n "
	    "WHERE n.accelerator = o.accelerator AND n.provider = o.provider AND n.from_t = "
	    "o.until_t AND n.list_id = o.list_id AND n.region = o.region AND n.zone = o.zone AND "
	    "n.instance_type = o.instance_type AND n.purchase = o.purchase AND n.available <> "
	    "'no') THEN 1 ELSE 0 END AS back FROM offer o JOIN price_list p ON p.id = o.list_id "
	    "WHERE o.available = 'no' AND (o.until_t IS NULL OR o.until_t > $1) ORDER BY "
	    "o.provider, o.region, o.zone, o.instance_type, o.purchase, o.from_t, o.id",
	    DB_ARGS(db_i64(since)));
	if (rc == BERTH_OK) {
		*gaps_out = l.v.v;
		*n_out = l.v.n;
	}
	return rc;
}
