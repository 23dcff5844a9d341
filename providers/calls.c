#include <stdio.h>
#include <string.h>

#include "providers/flow.h"
#include "util/arena.h"
#include "util/log.h"
#include "util/str.h"
#include "util/strmap.h"
#include "util/time.h"
#include "util/vec.h"

#define CALLS_PAGES_MAX 10000
#define CALLS_CHECKS_MAX 32

/* A page's token must be new: a list that leads back into itself is not a list. */
static enum berth_code
calls_next_page(struct arena *a, struct prov_cursor *cur, struct strmap *seen, struct berth_err *err)
{
	int added = 0;

	cur->page++;
	strmap_add(a, seen, cur->next, 1, &added);
	if (!added)
		return err_set(err, BERTH_EINVAL, "page %d leads back to '%.200s': the list is refused", cur->page, cur->next);
	if (cur->page >= CALLS_PAGES_MAX)
		return err_set(err, BERTH_EINVAL, "more than %d pages: the list is refused", CALLS_PAGES_MAX);
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
	 * Notices before machines, where both are wanted and the list does not show them: kept in heard, and put onto the
	 * machines as those come. Whoever may not ask for them still has a list.
	 */
	bool first, shy;		/* shy: the page that was asked for lets its refusal through */
	VEC(struct prov_machine) heard;
	void *arg;
	struct prov_cursor cur;
	struct arena *keep;		/* tokens seen */
	struct strmap seen;
	struct flow flow;
};

static enum berth_code
calls_build_page(void *arg, struct http_req *req, struct berth_err *err)
{
	struct calls_list *l = arg;
	const struct provider_ops *ops = l->acc->ops;
	void *st = l->acc->st;

	if (l->offer_fn != NULL)
		return ops->market->offers_build(st, l->q, &l->cur, req, err);
	if (l->quota_fn != NULL)
		return ops->market->quota_build(st, &l->cur, req, err);
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
	enum berth_code rc = l->shy && l->flow.judged.code != BERTH_OK ? l->flow.judged.code :
	    l->acc->ops->market->notices_parse(l->acc->st, resp, &l->cur, calls_hear, l, err);

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
	rc = calls_parse_page(l, resp, err);
	*more_out = l->cur.next[0] != '\0';
	return rc == BERTH_OK && *more_out ? calls_next_page(l->keep, &l->cur, &l->seen, err) : rc;
}

static void
calls_list_start(struct calls_list *l, int64_t deadline_ms)
{
	struct flow_call call = { .repeat = FLOW_READ, .build = calls_build_page, .parse = calls_page, .arg = l };

	l->keep = arena_new();
	flow_init(&l->flow, l->acc, &call);
	l->flow.deadline_ms = deadline_ms;
}

static enum berth_code
calls_list_end(struct calls_list *l)
{
	arena_free(l->keep);
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
	flow_run(&f, 1);
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
	if (o.as_of == 0)	/* what comes from the cache is as old as it is there */
		o.as_of = c->list->flow.resp.cached != 0 && c->list->flow.resp.cached < c->acc->env.now ?
		    c->list->flow.resp.cached : c->acc->env.now;
	prov_offer_resolve(c->acc->env.accels, &o);
	/* What a machine of one's own costs may be 0; a cloud gives nothing away. */
	if (!provider_is_local(c->acc->ops) && (why = offer_doubt_price(&o)) != NULL)
		log_debug(c->acc->env.log, "%s: %s in %s: %s", c->acc->env.account, o.instance_type, o.region, why);
	if (c->q->region != NULL && !str_eq(c->q->region, o.region))
		return BERTH_OK;
	if (c->q->accelerator != NULL && !str_eq(c->q->accelerator, o.accelerator))
		return BERTH_OK;
	return c->emit(c->arg, &o, err);
}

static const struct prov_query calls_all = { NULL, NULL };

enum berth_code
prov_offers(struct prov_account *account, const struct prov_query *q, prov_offer_fn *emit, void *arg,
    struct berth_err *err)
{
	struct calls_list l;
	struct calls_offers c = { account, &l, q != NULL ? q : &calls_all, emit, arg };
	enum berth_code rc = account_need(account, PROV_CAP_OFFERS, "list offers", err);

	l = (struct calls_list){ .acc = account, .what = "offers", .q = c.q, .offer_fn = calls_emit_offer, .arg = &c };
	return rc == BERTH_OK ? calls_list(&l, err) : rc;
}

enum berth_code
prov_quotas(struct prov_account *account, prov_quota_fn *emit, void *arg, struct berth_err *err)
{
	struct calls_list l = { .acc = account, .what = "quota", .quota_fn = emit, .arg = arg };
	enum berth_code rc = account_need(account, PROV_CAP_QUOTA, "tell quotas", err);

	return rc == BERTH_OK ? calls_list(&l, err) : rc;
}

enum berth_code
prov_notices(struct prov_account *account, prov_machine_fn *emit, void *arg, struct berth_err *err)
{
	struct calls_list l = { .acc = account, .what = "notices", .machine_fn = emit, .notices = true, .arg = arg };
	enum berth_code rc = account_need(account, PROV_CAP_NOTICES, "tell interruption notices", err);

	return rc == BERTH_OK ? calls_list(&l, err) : rc;
}

struct calls_ours {
	const struct prov_account *acc;
	const struct calls_list *list;
	prov_machine_fn *emit;
	void *arg;
};

static enum berth_code
calls_emit_ours(void *arg, const struct prov_machine *m, struct berth_err *err)
{
	const struct calls_ours *c = arg;
	struct prov_machine noticed;

	if (!str_eq(m->installation, c->acc->env.installation))
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

/* Machines without an installation id are nobody's to touch, so a broker that has none may not ask. */
static enum berth_code
calls_need_lease(const struct prov_account *acc, const char *what, struct berth_err *err)
{
	if (acc->env.installation[0] == '\0')
		return err_set(err, BERTH_EINVAL, "%s: no installation id: run berth init", acc->env.account);
	return account_need(acc, PROV_CAP_LEASE, what, err);
}

enum berth_code
prov_list_ours(struct prov_account *account, prov_machine_fn *emit, void *arg, struct berth_err *err)
{
	struct calls_list l;
	struct calls_ours c = { account, &l, emit, arg };
	enum berth_code rc = calls_need_lease(account, "list machines", err);

	l = (struct calls_list){ .acc = account, .what = "machines", .machine_fn = calls_emit_ours, .arg = &c };
	return rc == BERTH_OK ? calls_list(&l, err) : rc;
}

/* Lists of many accounts. */
struct calls_many {
	struct calls_list list;
	struct calls_offers offers;
	struct calls_ours ours;
};

static enum berth_code
calls_many_need(const struct prov_many *m, struct berth_err *err)
{
	if (m->offer_fn != NULL)
		return account_need(m->account, PROV_CAP_OFFERS, "list offers", err);
	if (m->quota_fn != NULL)
		return account_need(m->account, PROV_CAP_QUOTA, "tell quotas", err);
	return calls_need_lease(m->account, "list machines", err);
}

static void
calls_many_start(struct calls_many *c, const struct prov_many *m, int64_t deadline_ms)
{
	const struct prov_query *q = m->q != NULL ? m->q : &calls_all;

	c->offers = (struct calls_offers){ m->account, &c->list, q, m->offer_fn, m->arg };
	c->ours = (struct calls_ours){ m->account, &c->list, m->machine_fn, m->arg };
	if (m->offer_fn != NULL)
		c->list = (struct calls_list){ .acc = m->account, .what = "offers", .q = q, .offer_fn = calls_emit_offer,
			.arg = &c->offers };
	else if (m->quota_fn != NULL)
		c->list = (struct calls_list){ .acc = m->account, .what = "quota", .quota_fn = m->quota_fn, .arg = m->arg };
	else
		c->list = (struct calls_list){ .acc = m->account, .what = "machines", .machine_fn = calls_emit_ours,
			.arg = &c->ours, .first = m->notices && (m->account->ops->caps & PROV_CAP_APART) != 0 };
	calls_list_start(&c->list, deadline_ms);
}

struct prov_many_run {
	struct arena *a;
	struct prov_many *v;
	size_t n, n_flows, told;	/* told: entries that next has given back */
	struct calls_many *calls;	/* [n] */
	struct flow **flows;		/* [n_flows] of those that could be asked */
	bool *done;			/* [n] given back */
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
		int within_s = v[i].deadline_s > 0 && (deadline_s <= 0 || v[i].deadline_s < deadline_s) ? v[i].deadline_s : deadline_s;

		v[i].code = calls_many_need(&v[i], &v[i].err);
		if (v[i].code != BERTH_OK)
			continue;
		calls_many_start(&r->calls[i], &v[i], within_s > 0 ? time_mono_ms() + (int64_t)within_s * 1000 : 0);
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

		if (r->done[i] || (m->code == BERTH_OK && !flow_ended(&r->calls[i].list.flow)))
			continue;
		r->done[i] = true;
		r->told++;
		if (m->code == BERTH_OK) {
			m->code = calls_list_end(&r->calls[i].list);
			m->err = r->calls[i].list.flow.err;
			m->took_ms = r->calls[i].list.flow.ended_ms - r->calls[i].list.flow.began_ms;
		}
		return m;
	}
	return NULL;
}

struct prov_many *
prov_many_next(struct prov_many_run *r)
{
	struct prov_many *m = calls_many_ready(r);
	size_t ended = 0;

	if (m == NULL && r->told < r->n) {
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

/* One call about one machine. */
struct calls_one {
	struct prov_account *acc;
	const struct prov_create *create;
	const char *ref;
	struct prov_machine m;
};

static enum berth_code calls_destroy(struct prov_account *account, const char *ref, struct prov_machine *machine_out,
    struct berth_err *err);

static enum berth_code
calls_create_build(void *arg, struct http_req *req, struct berth_err *err)
{
	struct calls_one *c = arg;

	return c->acc->ops->lease->create_build(c->acc->st, c->create, req, err);
}

static enum berth_code
calls_create_parse(void *arg, const struct http_resp *resp, bool *more_out, struct berth_err *err)
{
	struct calls_one *c = arg;

	(void)more_out;
	return c->acc->ops->lease->create_parse(c->acc->st, resp, c->create, &c->m, err);
}

/*
 * A request for spot that is answered by a machine at the full price, without an error: nobody asked for it, and its
 * price is another. It is ended at once; what cannot be ended now stays known as what it is.
 */
static enum berth_code
calls_end_other(struct prov_account *account, const struct prov_create *c, struct prov_machine *m, struct berth_err *err)
{
	struct berth_err own = { 0 };
	struct prov_machine gone;

	if (calls_destroy(account, m->ref, &gone, &own) != BERTH_OK) {
		log_warn(account->env.log, "%s: machine %s was asked for as spot, is sold on demand and cannot be ended: %s",
		    account->env.account, m->ref, own.msg);
		return BERTH_OK;
	}
	log_warn(account->env.log, "%s: machine %s was asked for as spot and sold on demand: ended, its shortest time is billed at "
	    "the price on demand", account->env.account, m->ref);
	return err_set(err, BERTH_ECAPACITY, "%s: create %s: no spot machine: %s came on demand and was ended", account->env.account,
	    c->offer->instance_type, m->ref);
}

enum berth_code
prov_create(struct prov_account *account, const struct prov_create *c, struct prov_machine *machine_out,
    struct berth_err *err)
{
	const bool token = (account->ops->caps & PROV_CAP_TOKEN) != 0;
	enum berth_code rc = calls_need_lease(account, "make machines", err);
	struct calls_one one = { .acc = account, .create = c };
	struct flow_call call = { .repeat = token ? FLOW_REPEATABLE : FLOW_ONCE, .is_create = true,
		.build = calls_create_build, .parse = calls_create_parse, .arg = &one };
	struct flow f;

	if (rc != BERTH_OK)
		return rc;
	flow_init(&f, account, &call);
	rc = flow_run_one(&f, err);
	*machine_out = one.m;
	if (rc == BERTH_OK && machine_out->ref[0] == '\0')
		rc = err_set(err, BERTH_ETRANSIENT, "the answer to a create names no machine");
	if (rc != BERTH_OK) {
		err_ctx(err, "%s: create %s", account->env.account, c->offer->instance_type);
		return rc;
	}
	str_copy(machine_out->token, sizeof(machine_out->token), c->token);
	str_copy(machine_out->installation, sizeof(machine_out->installation), account->env.installation);
	return machine_out->other_market ? calls_end_other(account, c, machine_out, err) : BERTH_OK;
}

static enum berth_code
calls_status_build(void *arg, struct http_req *req, struct berth_err *err)
{
	struct calls_one *c = arg;

	return c->acc->ops->lease->status_build(c->acc->st, c->ref, req, err);
}

static enum berth_code
calls_status_parse(void *arg, const struct http_resp *resp, bool *more_out, struct berth_err *err)
{
	struct calls_one *c = arg;
	const struct prov_lease_ops *lease = c->acc->ops->lease;
	enum berth_code rc = lease->status_parse(c->acc->st, resp, c->ref, &c->m, err);

	*more_out = rc == BERTH_OK && lease->more != NULL && lease->more(c->acc->st, false);
	return rc;
}

/* ref may lie within *machine_out, which is written at the end only. */
enum berth_code
prov_status(struct prov_account *account, const char *ref, struct prov_machine *machine_out, struct berth_err *err)
{
	enum berth_code rc = calls_need_lease(account, "tell a machine's state", err);
	struct calls_one one = { .acc = account, .ref = ref };
	struct flow_call call = { .repeat = FLOW_READ, .build = calls_status_build, .parse = calls_status_parse,
		.arg = &one };
	struct flow f;

	if (rc != BERTH_OK)
		return rc;
	if (account->ops->lease->more != NULL)
		(void)account->ops->lease->more(account->st, true);
	flow_init(&f, account, &call);
	rc = flow_run_one(&f, err);
	if (rc == BERTH_OK)
		*machine_out = one.m;
	else
		err_ctx(err, "%s: machine %s", account->env.account, ref);
	return rc;
}

static enum berth_code
calls_destroy_build(void *arg, struct http_req *req, struct berth_err *err)
{
	struct calls_one *c = arg;

	return c->acc->ops->lease->destroy_build(c->acc->st, c->ref, req, err);
}

static enum berth_code
calls_destroy_parse(void *arg, const struct http_resp *resp, bool *more_out, struct berth_err *err)
{
	struct calls_one *c = arg;

	(void)more_out;
	return c->acc->ops->lease->destroy_parse(c->acc->st, resp, c->ref, &c->m, err);
}

static enum berth_code
calls_destroy(struct prov_account *account, const char *ref, struct prov_machine *machine_out, struct berth_err *err)
{
	enum berth_code rc;
	struct calls_one one = { .acc = account, .ref = ref };
	struct flow_call call = { .repeat = FLOW_REPEATABLE, .build = calls_destroy_build, .parse = calls_destroy_parse,
		.arg = &one };
	struct flow f;

	flow_init(&f, account, &call);
	rc = flow_run_one(&f, err);
	if (rc == BERTH_ENOTFOUND) {
		memset(&one.m, 0, sizeof(one.m));
		str_copy(one.m.ref, sizeof(one.m.ref), ref);
		one.m.state = PROV_GONE;
		rc = BERTH_OK;
	}
	if (rc == BERTH_OK)
		*machine_out = one.m;
	else
		err_ctx(err, "%s: destroy %s", account->env.account, ref);
	return rc;
}

/*
 * A ref may have come to mean another's machine: numbers of jobs begin again, names are given anew. So its tag is looked
 * at first. Where that cannot be had the caller's word counts, lest a machine of ours cost on for want of a read.
 */
enum berth_code
prov_destroy(struct prov_account *account, const char *ref, struct prov_machine *machine_out, struct berth_err *err)
{
	enum berth_code rc = calls_need_lease(account, "destroy machines", err);
	struct berth_err own = { 0 };
	struct prov_machine m;

	if (rc != BERTH_OK)
		return rc;
	rc = prov_status(account, ref, &m, &own);
	if (rc == BERTH_OK && !str_eq(m.installation, account->env.installation))
		return err_set(err, BERTH_EPERMANENT, "%s: destroy %s: it carries no tag of this installation%s%s: not touched",
		    account->env.account, ref, m.installation[0] != '\0' ? " but that of " : "", m.installation);
	if (rc != BERTH_OK || m.state != PROV_GONE)
		return calls_destroy(account, ref, machine_out, err);
	*machine_out = m;
	return BERTH_OK;
}

struct calls_check {
	struct prov_account *acc;
	struct flow *flow;
	int n;
	struct prov_check check;
};

static enum berth_code
calls_check_build(void *arg, struct http_req *req, struct berth_err *err)
{
	struct calls_check *c = arg;

	return c->acc->ops->lease->check_build(c->acc->st, c->n, req, err);
}

static enum berth_code
calls_check_parse(void *arg, const struct http_resp *resp, bool *more_out, struct berth_err *err)
{
	struct calls_check *c = arg;

	(void)more_out;
	c->check = (struct prov_check){ .code = c->flow->judged.code };
	if (c->check.code != BERTH_OK)
		str_copy(c->check.detail, sizeof(c->check.detail), c->flow->judged.msg);
	return c->acc->ops->lease->check_parse(c->acc->st, resp, c->n, &c->check, err);
}

enum berth_code
prov_checks(struct prov_account *account, prov_check_fn *emit, void *arg, struct berth_err *err)
{
	const struct prov_lease_ops *lease = account->ops->lease;
	struct flow f;
	struct calls_check c = { .acc = account, .flow = &f };
	struct flow_call call = { .repeat = FLOW_READ, .every = true, .build = calls_check_build,
		.parse = calls_check_parse, .arg = &c };
	enum berth_code rc = BERTH_OK;

	if (lease == NULL || lease->check_build == NULL)
		return BERTH_OK;
	for (c.n = 0; rc == BERTH_OK && c.n < CALLS_CHECKS_MAX; c.n++) {
		flow_init(&f, account, &call);
		rc = flow_run_one(&f, err);
		if (rc == BERTH_OK)
			rc = emit(arg, &c.check, err);
	}
	if (rc == BERTH_ENOTFOUND)
		return BERTH_OK;
	return rc == BERTH_OK ? rc : err_ctx(err, "%s: permissions", account->env.account);
}
