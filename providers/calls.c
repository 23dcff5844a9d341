#include <stdio.h>
#include <string.h>

#include "providers/flow.h"
#include "providers/tame.h"
#include "util/arena.h"
#include "util/log.h"
#include "util/str.h"
#include "util/strmap.h"
#include "util/time.h"
#include "util/vec.h"

#define CALLS_PAGES_MAX 10000

/* A page's token must be new: a list that leads back into itself is not a list. */
static enum berth_code
calls_next_page(
    struct arena *a, struct prov_cursor *cur, struct strmap *seen, struct berth_err *err)
{
	int added = 0;

	cur->page++;
	strmap_add(a, seen, cur->next, 1, &added);
	if (!added)
		return err_set(err, BERTH_EINVAL,
		    "page %d leads back to '%.200s': the list is refused", cur->page, cur->next);
	if (cur->page >= CALLS_PAGES_MAX)
		return err_set(
		    err, BERTH_EINVAL, "more than %d pages: the list is refused", CALLS_PAGES_MAX);
	return BERTH_OK;
}

/* A list under way. Its kind: the one emit function that is set tells which. */
struct calls_list {
	struct prov_account *acc;
	const char *what;
	const struct prov_query *q;
	prov_offer_fn *offer_fn;
	prov_quota_fn *quota_fn;
	prov_machine_fn *machine_fn;
	bool notices;
	/*
	 * Notices before machines, where both are wanted and the list does not show them: kept in
	 * heard, and put onto the machines as those come. Whoever may not ask for them still has a
	 * list.
	 */
	bool first, shy; /* shy: the page that was asked for lets its refusal through */
	VEC(struct prov_machine) heard;
	void *arg;
	struct prov_part part;     /* of quotas: whose page was built last */
	prov_region_fn *region_fn; /* told how each ended, with region_arg */
	void *region_arg;
	size_t n_told, n_lost; /* regions */
	struct berth_err lost; /* why the first of those ... */
	char lost_region[64];  /* ... and its name */
	struct prov_cursor cur;
	struct arena *keep; /* tokens seen */
	struct strmap seen;
	struct flow flow;
	int64_t oldest; /* answer out of the cache so far, s since epoch; 0: none came from there */
};

/* The region that is under way has ended; err NULL: well. */
static void
calls_part_end(struct calls_list *l, const struct berth_err *err)
{
	const char *region = l->part.region;

	if (region == NULL || region[0] == '\0')
		return;
	if (err == NULL)
		l->n_told++;
	else if (l->n_lost++ == 0) {
		l->lost = *err;
		str_copy(l->lost_region, sizeof(l->lost_region), region);
	}
	if (l->region_fn != NULL)
		l->region_fn(l->region_arg, region, err);
	l->part = (struct prov_part){ .region = "" };
}

static void
calls_part_build(struct calls_list *l)
{
	struct prov_part part = { .region = "" };

	if (l->acc->ops->market->quota_part == NULL)
		return;
	l->acc->ops->market->quota_part(l->acc->st, &part);
	if (l->part.region != NULL && !str_eq(part.region, l->part.region))
		calls_part_end(l, NULL);
	l->part = part;
}

/* Behind the end of a flow: true, it goes on with the region after one that failed. */
static bool
calls_go_on(struct calls_list *l)
{
	struct flow *f = &l->flow;
	struct prov_part part = l->part;

	if (part.region == NULL || flow_is_shut(f))
		return false;
	calls_part_end(l, f->rc == BERTH_OK ? NULL : &f->err);
	if (f->rc == BERTH_OK || part.next[0] == '\0')
		return false;
	str_copy(l->cur.next, sizeof(l->cur.next), part.next);
	flow_resume(f);
	return true;
}

/* What a list is worth of which some regions failed: where none told, the first one's refusal. */
static void
calls_part_judge(struct calls_list *l)
{
	struct flow *f = &l->flow;

	if (l->n_lost == 0 || flow_is_shut(f))
		return;
	f->err = l->lost;
	f->rc = l->n_told > 0 ? BERTH_EPARTIAL : l->lost.code;
	f->err.code = f->rc;
	if (l->n_told > 0)
		(void)err_ctx(&f->err, "%zu of %zu regions did not tell; %s", l->n_lost,
		    l->n_lost + l->n_told, l->lost_region);
}

static enum berth_code
calls_build_page(void *arg, struct http_req *req, struct berth_err *err)
{
	struct calls_list *l = arg;
	const struct provider_ops *ops = l->acc->ops;
	void *st = l->acc->st;

	if (l->offer_fn != NULL)
		return ops->market->offers_build(st, l->q, &l->cur, req, err);
	if (l->quota_fn != NULL) {
		enum berth_code rc = ops->market->quota_build(st, &l->cur, req, err);

		calls_part_build(l);
		return rc;
	}
	if (l->first) {
		enum berth_code rc = ops->market->notices_build(st, &l->cur, req, err);

		l->shy = rc == BERTH_OK && !req->any_status;
		req->any_status = true;
		return rc;
	}
	if (l->notices)
		return ops->market->notices_build(st, &l->cur, req, err);
	return ops->lease->list_build(st, &l->cur, req, err);
}

static enum berth_code
calls_hear(void *arg, const struct prov_machine *m, struct berth_err *err)
{
	struct calls_list *l = arg;

	(void)err;
	if (m->state == PROV_NOTICED)
		VEC_PUSH(l->keep, &l->heard, *m);
	return BERTH_OK;
}

static enum berth_code
calls_parse_page(struct calls_list *l, const struct http_resp *resp, struct berth_err *err)
{
	const struct provider_ops *ops = l->acc->ops;
	void *st = l->acc->st;

	if (l->offer_fn != NULL)
		return ops->market->offers_parse(st, resp, &l->cur, l->offer_fn, l->arg, err);
	if (l->quota_fn != NULL)
		return ops->market->quota_parse(st, resp, &l->cur, l->quota_fn, l->arg, err);
	if (l->notices)
		return ops->market->notices_parse(st, resp, &l->cur, l->machine_fn, l->arg, err);
	return ops->lease->list_parse(st, resp, &l->cur, l->machine_fn, l->arg, err);
}

/* A page of notices; behind the last one, and where they are not to be had, the list begins. */
static enum berth_code
calls_notices_page(struct calls_list *l, const struct http_resp *resp, struct berth_err *err)
{
	enum berth_code rc =
	    l->shy && l->flow.judged.code != BERTH_OK
		? l->flow.judged.code
		: l->acc->ops->market->notices_parse(l->acc->st, resp, &l->cur, calls_hear, l, err);

	if (rc != BERTH_OK)
		log_warn(l->acc->env.log, "%s: no interruption notices: %s", l->acc->env.account,
		    l->shy && l->flow.judged.code != BERTH_OK ? l->flow.judged.msg : err->msg);
	if (rc == BERTH_OK && l->cur.next[0] != '\0')
		return calls_next_page(l->keep, &l->cur, &l->seen, err);
	l->first = false;
	memset(&l->cur, 0, sizeof(l->cur));
	memset(&l->seen, 0, sizeof(l->seen));
	return BERTH_OK;
}

static enum berth_code
calls_page(void *arg, const struct http_resp *resp, bool *more_out, struct berth_err *err)
{
	struct calls_list *l = arg;
	enum berth_code rc;

	l->cur.next[0] = '\0';
	if (l->first) {
		*more_out = true;
		return calls_notices_page(l, resp, err);
	}
	if (resp->cached != 0 && (l->oldest == 0 || resp->cached < l->oldest))
		l->oldest = resp->cached;
	rc = calls_parse_page(l, resp, err);
	*more_out = l->cur.next[0] != '\0';
	return rc == BERTH_OK && *more_out ? calls_next_page(l->keep, &l->cur, &l->seen, err) : rc;
}

static void
calls_list_start(struct calls_list *l, int64_t deadline_ms)
{
	struct flow_call call = {
		.repeat = FLOW_READ, .build = calls_build_page, .parse = calls_page, .arg = l
	};

	l->keep = arena_new();
	flow_init(&l->flow, l->acc, &call);
	l->flow.deadline_ms = deadline_ms;
}

static enum berth_code
calls_list_end(struct calls_list *l)
{
	arena_free(l->keep);
	calls_part_judge(l);
	if (l->flow.rc != BERTH_OK)
		err_ctx(&l->flow.err, "%s: %s", l->acc->env.account, l->what);
	return l->flow.rc;
}

static enum berth_code
calls_list(struct calls_list *l, struct berth_err *err)
{
	struct flow *f = &l->flow;
	enum berth_code rc;

	calls_list_start(l, 0);
	do
		flow_run(&f, 1);
	while (calls_go_on(l));
	rc = calls_list_end(l);
	if (rc != BERTH_OK && err != NULL)
		*err = f->err;
	return rc;
}

struct calls_offers {
	struct prov_account *acc;
	const struct calls_list *list;
	const struct prov_query *q;
	prov_offer_fn *emit;
	void *arg;
};

static enum berth_code
calls_emit_offer(void *arg, const struct offer *offer, struct berth_err *err)
{
	const struct calls_offers *c = arg;
	struct offer o = *offer;
	const char *why;

	o.account = (c->acc->ops->caps & PROV_CAP_LEASE) != 0 ? c->acc->env.account : "";
	if (o.as_of == 0) /* what comes from the cache is as old as it is there */
		o.as_of = c->list->oldest != 0 && c->list->oldest < c->acc->env.now
			      ? c->list->oldest
			      : c->acc->env.now;
	tame_offer(&o, c->list->keep);
	prov_offer_resolve(c->acc->env.accels, &o);
	if ((usd_known(o.price) && o.price.v < 0) || (usd_known(o.upfront) && o.upfront.v < 0)) {
		log_warn(c->acc->env.log, "%s: %s in %s: left out, a price below 0 is no price",
		    c->acc->env.account, o.instance_type, o.region);
		return BERTH_OK;
	}
	/* What a machine of one's own costs may be 0; a cloud gives nothing away. */
	if (!provider_is_local(c->acc->ops) && (why = offer_doubt_price(&o)) != NULL)
		log_debug(c->acc->env.log, "%s: %s in %s: %s", c->acc->env.account, o.instance_type,
		    o.region, why);
	if (c->q->region != NULL && !str_eq(c->q->region, o.region))
		return BERTH_OK;
	if (c->q->accelerator != NULL && !str_eq(c->q->accelerator, o.accelerator))
		return BERTH_OK;
	return c->emit(c->arg, &o, err);
}

static const struct prov_query calls_all = { NULL, NULL };

enum berth_code
prov_offers(struct prov_account *account, const struct prov_query *q, prov_offer_fn *emit,
    void *arg, struct berth_err *err)
{
	struct calls_list l;
	struct calls_offers c = { account, &l, q != NULL ? q : &calls_all, emit, arg };
	enum berth_code rc = account_need(account, PROV_CAP_OFFERS, "list offers", err);

	l = (struct calls_list){
		.acc = account, .what = "offers", .q = c.q, .offer_fn = calls_emit_offer, .arg = &c
	};
	return rc == BERTH_OK ? calls_list(&l, err) : rc;
}

struct calls_quotas {
	prov_quota_fn *emit;
	void *arg;
};

static enum berth_code
calls_emit_quota(void *arg, const struct prov_quota *quota, struct berth_err *err)
{
	const struct calls_quotas *c = arg;
	struct prov_quota q = *quota;

	tame_quota(&q);
	return c->emit(c->arg, &q, err);
}

enum berth_code
prov_quotas(struct prov_account *account, prov_quota_fn *emit, void *arg, struct berth_err *err)
{
	struct calls_quotas c = { emit, arg };
	struct calls_list l = {
		.acc = account, .what = "quota", .quota_fn = calls_emit_quota, .arg = &c
	};
	enum berth_code rc = account_need(account, PROV_CAP_QUOTA, "tell quotas", err);

	return rc == BERTH_OK ? calls_list(&l, err) : rc;
}

struct calls_notices {
	const struct prov_account *acc;
	const struct calls_list *list;
	prov_machine_fn *emit;
	void *arg;
	struct strmap told;
};

static enum berth_code
calls_emit_notice(void *arg, const struct prov_machine *m, struct berth_err *err)
{
	struct calls_notices *c = arg;
	struct prov_machine own = *m;
	enum berth_code rc = tame_machine(c->acc->ops, c->acc->env.now, &own, err);
	int added = 1;

	if (rc == BERTH_OK && own.ref[0] != '\0')
		strmap_add(c->list->keep, &c->told, own.ref, 1, &added);
	return rc == BERTH_OK && added ? c->emit(c->arg, &own, err) : rc;
}

enum berth_code
prov_notices(struct prov_account *account, prov_machine_fn *emit, void *arg, struct berth_err *err)
{
	struct calls_list l;
	struct calls_notices c = { .acc = account, .list = &l, .emit = emit, .arg = arg };
	enum berth_code rc =
	    account_need(account, PROV_CAP_NOTICES, "tell interruption notices", err);

	l = (struct calls_list){ .acc = account,
		.what = "notices",
		.machine_fn = calls_emit_notice,
		.notices = true,
		.arg = &c };
	return rc == BERTH_OK ? calls_list(&l, err) : rc;
}

struct calls_ours {
	const struct prov_account *acc;
	struct calls_list *list;
	prov_machine_fn *emit;
	void *arg;
	struct strmap told; /* refs -> 1, or 2 for those that were told of as gone */
};

/* Pages shift while they are read, and some clouds repeat a row: a machine is told of once, and as
 * gone only if no row denies it. */
static bool
calls_is_new(struct calls_ours *c, const struct prov_machine *m)
{
	const size_t mark = m->state == PROV_GONE ? 2 : 1;
	int added = 0;
	size_t *had = strmap_add(c->list->keep, &c->told, m->ref, mark, &added);

	if (added)
		return true;
	if (*had == 1 || mark == 2)
		return false;
	*had = 1;
	return true;
}

static enum berth_code
calls_emit_ours(void *arg, const struct prov_machine *told, struct berth_err *err)
{
	struct calls_ours *c = arg;
	struct prov_machine noticed, own = *told;
	const struct prov_machine *m = &own;
	enum berth_code rc;

	if (!str_eq(m->installation, c->acc->env.installation))
		return BERTH_OK;
	if ((rc = tame_machine(c->acc->ops, c->acc->env.now, &own, err)) != BERTH_OK)
		return rc;
	if (!calls_is_new(c, m))
		return BERTH_OK;
	for (size_t i = 0; m->state == PROV_READY && i < c->list->heard.n; i++) {
		const struct prov_machine *h = &c->list->heard.v[i];

		if (!str_eq(h->ref, m->ref))
			continue;
		noticed = *m;
		noticed.state = PROV_NOTICED;
		noticed.notice_at = h->notice_at;
		noticed.reclaim_at = h->reclaim_at;
		str_copy(noticed.detail, sizeof(noticed.detail), h->detail);
		return c->emit(c->arg, &noticed, err);
	}
	return c->emit(c->arg, m, err);
}

enum berth_code
prov_list_ours(
    struct prov_account *account, prov_machine_fn *emit, void *arg, struct berth_err *err)
{
	struct calls_list l;
	struct calls_ours c = { .acc = account, .list = &l, .emit = emit, .arg = arg };
	enum berth_code rc = account_need_lease(account, "list machines", err);

	l = (struct calls_list){
		.acc = account, .what = "machines", .machine_fn = calls_emit_ours, .arg = &c
	};
	return rc == BERTH_OK ? calls_list(&l, err) : rc;
}

/* Lists of many accounts. */
struct calls_many {
	struct calls_list list;
	struct calls_offers offers;
	struct calls_quotas quotas;
	struct calls_ours ours;
};

static enum berth_code
calls_many_need(const struct prov_many *m, struct berth_err *err)
{
	if (m->offer_fn != NULL)
		return account_need(m->account, PROV_CAP_OFFERS, "list offers", err);
	if (m->quota_fn != NULL)
		return account_need(m->account, PROV_CAP_QUOTA, "tell quotas", err);
	return account_need_lease(m->account, "list machines", err);
}

static void
calls_many_start(struct calls_many *c, const struct prov_many *m, int64_t deadline_ms)
{
	const struct prov_query *q = m->q != NULL ? m->q : &calls_all;

	c->offers = (struct calls_offers){ m->account, &c->list, q, m->offer_fn, m->arg };
	c->quotas = (struct calls_quotas){ m->quota_fn, m->arg };
	c->ours = (struct calls_ours){
		.acc = m->account, .list = &c->list, .emit = m->machine_fn, .arg = m->arg
	};
	if (m->offer_fn != NULL)
		c->list = (struct calls_list){ .acc = m->account,
			.what = "offers",
			.q = q,
			.offer_fn = calls_emit_offer,
			.arg = &c->offers };
	else if (m->quota_fn != NULL)
		c->list = (struct calls_list){ .acc = m->account,
			.what = "quota",
			.quota_fn = calls_emit_quota,
			.region_fn = m->region_fn,
			.region_arg = m->arg,
			.arg = &c->quotas };
	else
		c->list = (struct calls_list){ .acc = m->account,
			.what = "machines",
			.machine_fn = calls_emit_ours,
			.arg = &c->ours,
			.first = m->notices && (m->account->ops->caps & PROV_CAP_APART) != 0 };
	calls_list_start(&c->list, deadline_ms);
}

struct prov_many_run {
	struct arena *a;
	struct prov_many *v;
	size_t n, n_flows, told;  /* told: entries that next has given back */
	struct calls_many *calls; /* [n] */
	struct flow **flows;      /* [n_flows] of those that could be asked */
	bool *done;               /* [n] given back */
	struct prov_net *shared;
};

struct prov_many_run *
prov_many_begin(struct prov_many *v, size_t n, int deadline_s)
{
	struct arena *a = arena_new();
	struct prov_many_run *r = arena_new_of(a, struct prov_many_run);

	*r = (struct prov_many_run){ .a = a, .v = v, .n = n };
	r->calls = arena_array_of(a, n, struct calls_many);
	r->flows = arena_array_of(a, n, struct flow *);
	r->done = arena_array_of(a, n, bool);
	for (size_t i = 0; i < n; i++) {
		int within_s =
		    v[i].deadline_s > 0 && (deadline_s <= 0 || v[i].deadline_s < deadline_s)
			? v[i].deadline_s
			: deadline_s;

		v[i].code = calls_many_need(&v[i], &v[i].err);
		if (v[i].code != BERTH_OK)
			continue;
		calls_many_start(&r->calls[i], &v[i],
		    within_s > 0 ? time_mono_ms() + (int64_t)within_s * 1000 : 0);
		r->flows[r->n_flows++] = &r->calls[i].list.flow;
	}
	flow_share(r->flows, r->n_flows, &r->shared);
	return r;
}

/* The first entry that has ended and was not given back; NULL: none has. */
static struct prov_many *
calls_many_ready(struct prov_many_run *r)
{
	for (size_t i = 0; i < r->n; i++) {
		struct prov_many *m = &r->v[i];

		if (r->done[i] || (m->code == BERTH_OK && (!flow_ended(&r->calls[i].list.flow) ||
							      calls_go_on(&r->calls[i].list))))
			continue;
		r->done[i] = true;
		r->told++;
		if (m->code == BERTH_OK) {
			m->code = calls_list_end(&r->calls[i].list);
			m->err = r->calls[i].list.flow.err;
			m->took_ms =
			    r->calls[i].list.flow.ended_ms - r->calls[i].list.flow.began_ms;
		}
		return m;
	}
	return NULL;
}

struct prov_many *
prov_many_next(struct prov_many_run *r)
{
	struct prov_many *m = calls_many_ready(r);

	while (m == NULL && r->told < r->n) {
		size_t ended = 0;

		for (size_t i = 0; i < r->n_flows; i++)
			ended += flow_ended(r->flows[i]);
		flow_run_some(r->flows, r->n_flows, ended + 1);
		m = calls_many_ready(r);
	}
	if (m == NULL)
		arena_free(r->a);
	return m;
}

void
prov_run_many(struct prov_many *v, size_t n, int deadline_s)
{
	struct prov_many_run *r = prov_many_begin(v, n, deadline_s);

	while (prov_many_next(r) != NULL)
		;
}
