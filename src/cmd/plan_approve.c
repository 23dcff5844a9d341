/* src/cmd/plan_approve.c - a kept plan that was agreed to: what to order, and the commitments that
 * this makes.  Floor: cmd. */
#include "config.h"

#include <math.h>
#include <string.h>

#include "cmd/plan_approve.h"
#include "cmd/plan_inputs.h"
#include "model/commitment.h"
#include "store/money_rows.h"
#include "store/offer_rows.h"
#include "store/plan_rows.h"
#include "store/store.h"
#include "util/arena.h"
#include "util/duration.h"
#include "util/json.h"
#include "util/str.h"
#include "util/time.h"
#include "util/vec.h"

#define APPROVE_MOVED 0.01 /* of the price of a machine-hour */

struct approve_buy {
	struct commitment c;
	const char *series;
	struct usd_micro sum; /* what all of it costs in its term, but for use */
};

struct approve {
	struct cmd_ctx *ctx;
	const struct plan_opts *v;
	struct plan_row plan;
	const char *source; /* "plan:ID" */
	struct approve_offers offers;
	VEC(struct approve_buy) buys;
	size_t later; /* purchases of later dates that are left out */
	int64_t next; /* the first of their dates */
};

static enum berth_code
approve_plan(struct approve *x, struct berth_err *err)
{
	struct cmd_ctx *ctx = x->ctx;
	struct plan_row *newest;
	struct berth_err why;
	size_t n;
	enum berth_code rc = store_plan_get(ctx->store, x->v->approve, ctx->arena, &x->plan, err);

	if (rc != BERTH_ENOTFOUND)
		return rc;
	rc = store_plan_list(ctx->store, 1, ctx->arena, &newest, &n, &why);
	if (rc == BERTH_OK && n > 0)
		cmd_next_step(ctx,
		    "the newest is plan %lld, of %s: `berth explain plan:%lld` shows it",
		    (long long)newest[0].id,
		    time_fmt_date((char[TIME_FMT_SIZE]){ 0 }, newest[0].made),
		    (long long)newest[0].id);
	else if (rc == BERTH_OK)
		cmd_next_step(ctx, "none is kept: `berth plan` makes one");
	return err->code;
}

/* The plan was made of what was known at its time, and is no ground for a purchase long after. */
static enum berth_code
approve_age(struct approve *x, const struct jsonr *root, struct berth_err *err)
{
	int64_t as_of = x->plan.made, age;
	enum berth_code rc = jsonr_time(root, "as_of", &as_of, err);

	if (rc != BERTH_OK)
		return rc;
	age = x->ctx->now - (as_of < x->plan.made ? as_of : x->plan.made);
	if (age <= x->v->plan_age_s)
		return BERTH_OK;
	cmd_next_step(x->ctx,
	    "`berth plan` makes it again from what is known now; --plan-age allows an older one");
	return err_set(err, BERTH_EINVAL,
	    "plan %lld knows of nothing since %s, %.1f days ago, more than the %s of --plan-age",
	    (long long)x->plan.id, time_fmt_date((char[TIME_FMT_SIZE]){ 0 }, x->ctx->now - age),
	    (double)age / 86400, duration_fmt((char[DURATION_FMT_SIZE]){ 0 }, x->v->plan_age_s));
}

static enum berth_code
approve_twice(const struct approve *x, struct berth_err *err)
{
	struct commitment *have;
	VEC(const char *) ids = { 0 };
	size_t n;
	enum berth_code rc = store_commitment_list(x->ctx->store, 0, x->ctx->arena, &have, &n, err);

	for (size_t i = 0; i < n && rc == BERTH_OK; i++)
		if (str_eq(have[i].source, x->source))
			VEC_PUSH(x->ctx->arena, &ids,
			    arena_printf(x->ctx->arena, "%lld", (long long)have[i].id));
	if (rc != BERTH_OK || ids.n == 0)
		return rc;
	cmd_next_step(x->ctx,
	    "`berth plan` says what lacks beside them; `berth commitments delete` forgets what "
	    "was not bought");
	return err_set(err, BERTH_EINVAL, "plan %lld is approved already: commitment%s %s",
	    (long long)x->plan.id, ids.n == 1 ? "" : "s",
	    str_join(x->ctx->arena, ids.v, ids.n, ", "));
}

/* The keys by which a purchase is told. */
struct approve_key {
	const char *provider, *region, *type, *payment;
	int64_t term, count;
	struct usd_micro upfront, price, usage; /* unknown: not said */
};

static enum berth_code
approve_key(const struct jsonr *b, struct approve_key *k, struct berth_err *err)
{
	static const char *const need[] = { "provider", "term_months", "payment", "count", NULL };
	enum berth_code rc = jsonr_need(b, need, err);

	*k =
	    (struct approve_key){ "", "", "", "none", 0, 0, USD_UNKNOWN, USD_UNKNOWN, USD_UNKNOWN };
	if (rc == BERTH_OK)
		rc = jsonr_str(b, "provider", &k->provider, err);
	if (rc == BERTH_OK)
		rc = jsonr_str(b, "region", &k->region, err);
	if (rc == BERTH_OK)
		rc = jsonr_str(b, "instance_type", &k->type, err);
	if (rc == BERTH_OK)
		rc = jsonr_str(b, "payment", &k->payment, err);
	if (rc == BERTH_OK)
		rc = jsonr_int(b, "term_months", 0, 1200, &k->term, err);
	if (rc == BERTH_OK)
		rc = jsonr_int(b, "count", 0, 1000000, &k->count, err);
	if (rc == BERTH_OK)
		rc = jsonr_money(b, "upfront", &k->upfront, err);
	if (rc == BERTH_OK)
		rc = jsonr_money(b, "price_per_hour", &k->price, err);
	return rc == BERTH_OK ? jsonr_money(b, "usage_price_per_hour", &k->usage, err) : rc;
}

static bool
approve_says(struct usd_micro said, struct usd_micro is)
{
	return !usd_known(said) || (usd_known(is) && said.v == is.v);
}

/* The offer of that day; they are sorted, the cheapest that fits was taken. */
static const struct offer *
approve_offer(const struct approve *x, const struct approve_key *k)
{
	for (size_t i = 0; i < x->offers.n_then; i++) {
		const struct offer *o = &x->offers.then[i];

		if (o->purchase == PURCHASE_RESERVED && str_eq(o->provider, k->provider) &&
		    str_eq(o->region, k->region) && str_eq(o->instance_type, k->type) &&
		    o->term_months == k->term && str_eq(payment_name(o->payment), k->payment) &&
		    approve_says(k->upfront, o->upfront) && approve_says(k->price, o->price) &&
		    approve_says(k->usage, o->usage))
			return o;
	}
	return NULL;
}

const struct offer *
plan_approve_current(const struct approve_offers *x, const struct offer *was)
{
	for (size_t i = 0; i < x->n_now; i++) {
		const struct offer *o = &x->now[i];

		if (o->purchase == was->purchase && str_eq(o->provider, was->provider) &&
		    str_eq(o->account, was->account) && str_eq(o->region, was->region) &&
		    str_eq(o->zone, was->zone) && str_eq(o->instance_type, was->instance_type) &&
		    str_eq(o->accelerator, was->accelerator) &&
		    o->accelerator_count == was->accelerator_count &&
		    o->term_months == was->term_months && o->payment == was->payment)
			return o;
	}
	return NULL;
}

static double
approve_hour(const struct offer *o)
{
	struct usd_micro fixed = offer_effective_hour(o);

	return usd_known(fixed) ? usd_to_double(fixed) : NAN;
}

static const char *
approve_name(const struct offer *o, struct arena *a)
{
	return arena_printf(a, "%s%s%s %s, %d months, %s upfront", o->provider,
	    o->region[0] != '\0' ? " " : "", o->region,
	    o->instance_type[0] != '\0' ? o->instance_type : o->accelerator, o->term_months,
	    o->payment == PAYMENT_NONE  ? "nothing"
	    : o->payment == PAYMENT_ALL ? "all"
					: "a part");
}

/* Is it still sold, at that price? *o_out: as it is sold now. */
static enum berth_code
approve_price(struct approve *x, const struct approve_key *k, const struct offer **o_out,
    struct berth_err *err)
{
	struct arena *a = x->ctx->arena;
	const struct offer *was = approve_offer(x, k), *is;
	double from, to;

	if (was == NULL) {
		cmd_next_step(x->ctx, "`berth plan` makes a plan of the prices of now");
		return err_set(err, BERTH_EINVAL,
		    "plan %lld: its price of %s %s %s (%lld months) is not kept any more",
		    (long long)x->plan.id, k->provider, k->region, k->type, (long long)k->term);
	}
	is = plan_approve_current(&x->offers, was);
	from = approve_hour(was);
	to = is == NULL ? NAN : approve_hour(is);
	if (is == NULL || !(fabs(to - from) <= APPROVE_MOVED * from))
		cmd_next_step(x->ctx, "`berth plan` makes a plan of the prices of now");
	if (is == NULL)
		return err_set(err, BERTH_EPRICE, "plan %lld: %s is not on offer any more",
		    (long long)x->plan.id, approve_name(was, a));
	if (!(fabs(to - from) <= APPROVE_MOVED * from))
		return err_set(err, BERTH_EPRICE,
		    "plan %lld: %s is %.4f USD an hour used all the time now, it was %.4f (%+.1f "
		    "%%)",
		    (long long)x->plan.id, approve_name(was, a), to, from,
		    from > 0 ? 100 * (to - from) / from : INFINITY);
	*o_out = is;
	return BERTH_OK;
}

/* at: of a purchase of that date; 0: of now. */
static enum berth_code
approve_add(
    struct approve *x, const struct jsonr *b, const char *series, int64_t at, struct berth_err *err)
{
	struct approve_buy buy = { .series = series };
	struct approve_key k;
	const struct offer *o = NULL;
	struct usd_micro hourly, upfront;
	enum berth_code rc = approve_key(b, &k, err);

	if (rc == BERTH_OK && k.count == 0)
		return BERTH_OK;
	if (rc == BERTH_OK && at > x->ctx->now && !x->v->later) {
		x->next = x->later == 0 || at < x->next ? at : x->next;
		x->later++;
		return BERTH_OK;
	}
	if (rc == BERTH_OK)
		rc = approve_price(x, &k, &o, err);
	if (rc != BERTH_OK)
		return rc;
	buy.c = (struct commitment){ .offer = *o,
		.count = (int)k.count,
		.from = at > x->ctx->now ? at : x->ctx->now,
		.source = x->source,
		.note = arena_printf(x->ctx->arena, "series %s", series) };
	buy.c.offer.source = x->source;
	buy.c.to = buy.c.from + (int64_t)rint(offer_term_hours(o) * 3600);
	rc = usd_mul_ratio(o->price, k.count * (buy.c.to - buy.c.from), 3600, &hourly, err);
	if (rc == BERTH_OK)
		rc = usd_mul_ratio(o->upfront, k.count, 1, &upfront, err);
	if (rc == BERTH_OK)
		rc = usd_add(hourly, upfront, &buy.sum, err);
	if (rc == BERTH_OK)
		VEC_PUSH(x->ctx->arena, &x->buys, buy);
	return rc;
}

/* Of a plan with dates those of the schedule, or of the ladder, else what it buys at once. */
static enum berth_code
approve_series(struct approve *x, const struct jsonr *s, struct berth_err *err)
{
	struct jsonr schedule = jsonr_get(s, "schedule"), ladder = jsonr_get(s, "ladder"),
		     list = jsonr_get(s, "buys");
	const char *name = "";
	bool dated = !jsonr_none(&schedule) || !jsonr_none(&ladder);
	enum berth_code rc = jsonr_str(s, "name", &name, err);

	if (!jsonr_none(&schedule))
		list = jsonr_get(&schedule, "buys");
	else if (!jsonr_none(&ladder))
		list = jsonr_get(&ladder, "steps");
	name = arena_strdup(x->ctx->arena, name);
	for (size_t i = 0; i < jsonr_len(&list) && rc == BERTH_OK; i++) {
		struct jsonr b = jsonr_at(&list, i);
		int64_t at = 0;

		if (dated)
			rc = jsonr_time(&b, "t", &at, err);
		if (rc == BERTH_OK)
			rc = approve_add(x, &b, name, at, err);
	}
	return rc;
}

static enum berth_code
approve_read(struct approve *x, struct berth_err *err)
{
	struct arena *a = x->ctx->arena;
	struct jsonr root, series, budget;
	json_t *tree = NULL;
	enum berth_code rc = jsonr_parse(x->plan.json, strlen(x->plan.json),
	    arena_printf(a, "plan %lld", (long long)x->plan.id), &tree, err);

	if (rc != BERTH_OK)
		return rc;
	root = jsonr_root(tree, "plan");
	budget = jsonr_get(&root, "budget");
	rc = approve_age(x, &root, err);
	if (rc == BERTH_OK)
		rc = plan_inputs_offers(x->ctx, &x->plan, &x->offers.then, &x->offers.n_then, err);
	if (rc == BERTH_OK)
		rc =
		    store_offer_list(x->ctx->store, NULL, a, &x->offers.now, &x->offers.n_now, err);
	if (rc == BERTH_OK)
		rc = jsonr_array(&root, "series", &series, err);
	for (size_t i = 0; rc == BERTH_OK && i < jsonr_len(&series); i++) {
		struct jsonr s = jsonr_at(&series, i);
		size_t had = x->buys.n;

		rc = approve_series(x, &s, err);
		if (rc == BERTH_OK && x->buys.n > had)
			rc = plan_approve_rest(
			    x->ctx, x->plan.id, &x->offers, &s, !jsonr_none(&budget), err);
	}
	json_decref(tree);
	if (rc != BERTH_OK || x->buys.n > 0)
		return rc;
	if (x->later > 0)
		cmd_next_step(x->ctx, "--later records its purchases of later dates too");
	return err_set(err, BERTH_EINFEASIBLE, "plan %lld buys nothing%s%s", (long long)x->plan.id,
	    x->later > 0 ? " now; its first purchase is of " : "",
	    x->later > 0 ? time_fmt_date((char[TIME_FMT_SIZE]){ 0 }, x->next) : "");
}

static struct usd_micro
approve_total(const struct approve *x, bool upfront)
{
	struct usd_micro sum = USD_ZERO;
	struct berth_err ignored;

	for (size_t i = 0; i < x->buys.n && usd_known(sum); i++) {
		const struct approve_buy *b = &x->buys.v[i];
		struct usd_micro one = b->sum;

		if ((upfront && usd_mul_ratio(b->c.offer.upfront, b->c.count, 1, &one, &ignored) !=
				    BERTH_OK) ||
		    usd_add(sum, one, &sum, &ignored) != BERTH_OK)
			sum = USD_UNKNOWN;
	}
	return sum;
}

/* What to order, a line for each purchase. */
static void
approve_say(const struct approve *x)
{
	struct cmd_ctx *ctx = x->ctx;

	cmd_say(ctx, "Plan %lld, made %s: order\n", (long long)x->plan.id,
	    time_fmt_date((char[TIME_FMT_SIZE]){ 0 }, x->plan.made));
	for (size_t i = 0; i < x->buys.n; i++) {
		const struct commitment *c = &x->buys.v[i].c;
		const struct offer *o = &c->offer;
		char from[TIME_FMT_SIZE], to[TIME_FMT_SIZE];
		const char *use = "";

		if (o->usage.v > 0)
			use = arena_printf(
			    ctx->arena, ", %.4f for each hour in use", usd_to_double(o->usage));
		cmd_say_items(ctx,
		    arena_printf(ctx->arena,
			"  - %d x %s%s%s, %s to %s: %.2f USD upfront and %.4f an hour each%s; %.2f "
			"USD in all (%s, %lld x %s)\n",
			c->count, approve_name(o, ctx->arena),
			o->account[0] != '\0' ? ", account " : "", o->account,
			time_fmt_date(from, c->from), time_fmt_date(to, c->to),
			usd_to_double(o->upfront), usd_to_double(o->price), use,
			usd_to_double(x->buys.v[i].sum), x->buys.v[i].series,
			(long long)c->count * o->accelerator_count, o->accelerator));
	}
	cmd_say(ctx, "In all %.2f USD, of which %.2f upfront.\n",
	    usd_to_double(approve_total(x, false)), usd_to_double(approve_total(x, true)));
	if (x->later > 0)
		cmd_say(ctx,
		    "%zu purchase%s of %s and later %s left out: plan again before each, or give "
		    "--later\n",
		    x->later, x->later == 1 ? "" : "s",
		    time_fmt_date((char[TIME_FMT_SIZE]){ 0 }, x->next),
		    x->later == 1 ? "is" : "are");
}

static enum berth_code
approve_json(const struct approve *x, struct berth_err *err)
{
	struct jsonw *w = cmd_json_begin(x->ctx, "berth.plan-approval/1");

	jsonw_int(w, "plan", x->plan.id);
	jsonw_time(w, "made", x->plan.made);
	jsonw_bool(w, "dry_run", x->ctx->dry_run);
	jsonw_begin_array(w, "commitments");
	for (size_t i = 0; i < x->buys.n; i++) {
		const struct commitment *c = &x->buys.v[i].c;
		const struct offer *o = &c->offer;

		jsonw_begin_object(w, NULL);
		if (x->ctx->dry_run)
			jsonw_null(w, "id");
		else
			jsonw_int(w, "id", c->id);
		jsonw_str(w, "series", x->buys.v[i].series);
		jsonw_str(w, "provider", o->provider);
		jsonw_str_or_null(w, "account", o->account);
		jsonw_str_or_null(w, "region", o->region);
		jsonw_str_or_null(w, "zone", o->zone);
		jsonw_str_or_null(w, "instance_type", o->instance_type);
		jsonw_str(w, "accelerator", o->accelerator);
		jsonw_int(w, "accelerator_count", o->accelerator_count);
		jsonw_int(w, "count", c->count);
		jsonw_int(w, "gpus", (int64_t)c->count * o->accelerator_count);
		jsonw_int(w, "term_months", o->term_months);
		jsonw_str(w, "payment", payment_name(o->payment));
		jsonw_money(w, "upfront", o->upfront);
		jsonw_money(w, "price_per_hour", o->price);
		jsonw_money(w, "usage_price_per_hour", o->usage);
		jsonw_time(w, "from", c->from);
		jsonw_time(w, "to", c->to);
		jsonw_money(w, "bound", x->buys.v[i].sum);
		jsonw_end_object(w);
	}
	jsonw_end_array(w);
	jsonw_int(w, "later", (int64_t)x->later);
	jsonw_money(w, "upfront", approve_total(x, true));
	jsonw_money(w, "bound", approve_total(x, false));
	return cmd_json_end(x->ctx, err);
}

/* All or nothing; and once more whether somebody else has approved it, now that none can. */
static enum berth_code
approve_record(struct approve *x, struct berth_err *err)
{
	enum berth_code rc = store_begin(x->ctx->store, err);

	if (rc != BERTH_OK)
		return rc;
	rc = approve_twice(x, err);
	for (size_t i = 0; i < x->buys.n && rc == BERTH_OK; i++)
		rc = store_commitment_insert(
		    x->ctx->store, &x->buys.v[i].c, &x->buys.v[i].c.id, err);
	if (rc == BERTH_OK)
		return store_commit(x->ctx->store, err);
	store_rollback(x->ctx->store);
	return rc;
}

enum berth_code
plan_approve(struct cmd_ctx *ctx, struct berth_err *err)
{
	struct approve x = { .ctx = ctx, .v = ctx->opts };
	enum berth_code rc;

	if (ctx->n_args > 0) {
		err_set(err, BERTH_EUSAGE, "a plan is approved as it is kept, with all its series");
		return err_at(err, "--approve");
	}
	x.source = arena_printf(ctx->arena, "plan:%lld", (long long)x.v->approve);
	rc = approve_plan(&x, err);
	if (rc == BERTH_OK)
		rc = approve_twice(&x, err);
	if (rc == BERTH_OK)
		rc = approve_read(&x, err);
	if (rc != BERTH_OK)
		return rc;
	if (!cmd_wants_json(ctx))
		approve_say(&x);
	rc = cmd_confirm(ctx, err,
	    "Record %s as commitments? Nothing is ordered by that: what is ordered is up to you.",
	    x.buys.n == 1 ? "it" : "them");
	if (rc == BERTH_OK && !ctx->dry_run)
		rc = approve_record(&x, err);
	if (rc != BERTH_OK)
		return rc;
	if (cmd_wants_json(ctx))
		return approve_json(&x, err);
	if (ctx->dry_run)
		cmd_note(ctx, "dry run: nothing is recorded");
	else
		cmd_note(ctx, "recorded: `berth commitments` lists %s; nothing was ordered",
		    x.buys.n == 1 ? "it" : "them");
	return BERTH_OK;
}
