#include <stdio.h>
#include <string.h>

#include "providers/account.h"
#include "util/arena.h"
#include "util/str.h"
#include "util/strmap.h"

#define CALLS_PAGES_MAX 10000

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

/* A kind of list: the one emit function that is set tells which. */
struct calls_list {
	const struct prov_query *q;
	prov_offer_fn *offer_fn;
	prov_quota_fn *quota_fn;
	prov_machine_fn *machine_fn;
	bool notices;
	void *arg;
};

static enum berth_code
calls_build_page(struct prov_account *acc, const struct calls_list *l, const struct prov_cursor *cur,
    struct http_req *req, struct berth_err *err)
{
	const struct prov_market_ops *m = acc->ops->market;

	if (l->offer_fn != NULL)
		return m->offers_build(acc->st, l->q, cur, req, err);
	if (l->quota_fn != NULL)
		return m->quota_build(acc->st, cur, req, err);
	if (l->notices)
		return m->notices_build(acc->st, cur, req, err);
	return acc->ops->lease->list_build(acc->st, cur, req, err);
}

static enum berth_code
calls_parse_page(struct prov_account *acc, const struct calls_list *l, struct prov_cursor *cur,
    const struct http_resp *resp, struct berth_err *err)
{
	const struct prov_market_ops *m = acc->ops->market;

	if (l->offer_fn != NULL)
		return m->offers_parse(acc->st, resp, cur, l->offer_fn, l->arg, err);
	if (l->quota_fn != NULL)
		return m->quota_parse(acc->st, resp, cur, l->quota_fn, l->arg, err);
	if (l->notices)
		return m->notices_parse(acc->st, resp, cur, l->machine_fn, l->arg, err);
	return acc->ops->lease->list_parse(acc->st, resp, cur, l->machine_fn, l->arg, err);
}

static enum berth_code
calls_list(struct prov_account *acc, const struct calls_list *l, const char *what, struct berth_err *err)
{
	struct prov_cursor cur = { 0 };
	struct arena *keep = arena_new();
	struct strmap seen = { 0 };
	enum berth_code rc;

	do {
		struct arena *a = arena_new();
		struct http_req req = { .arena = a };
		struct http_resp resp;

		rc = calls_build_page(acc, l, &cur, &req, err);
		if (rc == BERTH_OK)
			rc = account_send(acc, &req, ACCOUNT_READ, false, &resp, err);
		cur.next[0] = '\0';
		if (rc == BERTH_OK)
			rc = calls_parse_page(acc, l, &cur, &resp, err);
		if (rc == BERTH_OK && cur.next[0] != '\0')
			rc = calls_next_page(keep, &cur, &seen, err);
		arena_free(a);
	} while (rc == BERTH_OK && cur.next[0] != '\0');
	arena_free(keep);
	if (rc != BERTH_OK)
		err_ctx(err, "%s: %s", acc->env.account, what);
	return rc;
}

struct calls_offers {
	struct prov_account *acc;
	const struct prov_query *q;
	prov_offer_fn *emit;
	void *arg;
};

static enum berth_code
calls_emit_offer(void *arg, const struct offer *offer, struct berth_err *err)
{
	const struct calls_offers *c = arg;
	struct offer o = *offer;

	o.account = (c->acc->ops->caps & PROV_CAP_LEASE) != 0 ? c->acc->env.account : "";
	if (o.as_of == 0)
		o.as_of = c->acc->env.now;
	prov_offer_resolve(c->acc->env.accels, &o);
	if (c->q->region != NULL && !str_eq(c->q->region, o.region))
		return BERTH_OK;
	if (c->q->accelerator != NULL && !str_eq(c->q->accelerator, o.accelerator))
		return BERTH_OK;
	return c->emit(c->arg, &o, err);
}

enum berth_code
prov_offers(struct prov_account *account, const struct prov_query *q, prov_offer_fn *emit, void *arg,
    struct berth_err *err)
{
	static const struct prov_query all = { NULL, NULL };
	struct calls_offers c = { account, q != NULL ? q : &all, emit, arg };
	struct calls_list l = { .q = c.q, .offer_fn = calls_emit_offer, .arg = &c };
	enum berth_code rc = account_need(account, PROV_CAP_OFFERS, "list offers", err);

	return rc == BERTH_OK ? calls_list(account, &l, "offers", err) : rc;
}

enum berth_code
prov_quotas(struct prov_account *account, prov_quota_fn *emit, void *arg, struct berth_err *err)
{
	struct calls_list l = { .quota_fn = emit, .arg = arg };
	enum berth_code rc = account_need(account, PROV_CAP_QUOTA, "tell quotas", err);

	return rc == BERTH_OK ? calls_list(account, &l, "quota", err) : rc;
}

enum berth_code
prov_notices(struct prov_account *account, prov_machine_fn *emit, void *arg, struct berth_err *err)
{
	struct calls_list l = { .machine_fn = emit, .notices = true, .arg = arg };
	enum berth_code rc = account_need(account, PROV_CAP_NOTICES, "tell interruption notices", err);

	return rc == BERTH_OK ? calls_list(account, &l, "notices", err) : rc;
}

struct calls_ours {
	const struct prov_account *acc;
	prov_machine_fn *emit;
	void *arg;
};

static enum berth_code
calls_emit_ours(void *arg, const struct prov_machine *m, struct berth_err *err)
{
	const struct calls_ours *c = arg;

	return str_eq(m->installation, c->acc->env.installation) ? c->emit(c->arg, m, err) : BERTH_OK;
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
	struct calls_ours c = { account, emit, arg };
	struct calls_list l = { .machine_fn = calls_emit_ours, .arg = &c };
	enum berth_code rc = calls_need_lease(account, "list machines", err);

	return rc == BERTH_OK ? calls_list(account, &l, "machines", err) : rc;
}

enum berth_code
prov_create(struct prov_account *account, const struct prov_create *c, struct prov_machine *machine_out,
    struct berth_err *err)
{
	const bool token = (account->ops->caps & PROV_CAP_TOKEN) != 0;
	enum berth_code rc = calls_need_lease(account, "make machines", err);
	struct http_req req = { 0 };
	struct http_resp resp;

	if (rc != BERTH_OK)
		return rc;
	memset(machine_out, 0, sizeof(*machine_out));
	req.arena = arena_new();
	rc = account->ops->lease->create_build(account->st, c, &req, err);
	if (rc == BERTH_OK)
		rc = account_send(account, &req, token ? ACCOUNT_REPEATABLE : ACCOUNT_ONCE, true, &resp, err);
	if (rc == BERTH_OK)
		rc = account->ops->lease->create_parse(account->st, &resp, c, machine_out, err);
	if (rc == BERTH_OK && machine_out->ref[0] == '\0')
		rc = err_set(err, BERTH_ETRANSIENT, "the answer to a create names no machine");
	arena_free(req.arena);
	if (rc != BERTH_OK) {
		err_ctx(err, "%s: create %s", account->env.account, c->offer->instance_type);
		return rc;
	}
	str_copy(machine_out->token, sizeof(machine_out->token), c->token);
	str_copy(machine_out->installation, sizeof(machine_out->installation), account->env.installation);
	return BERTH_OK;
}

/* ref may lie within *machine_out, which is written at the end only. */
enum berth_code
prov_status(struct prov_account *account, const char *ref, struct prov_machine *machine_out, struct berth_err *err)
{
	enum berth_code rc = calls_need_lease(account, "tell a machine's state", err);
	struct prov_machine m = { .ref = "" };
	struct http_req req = { 0 };
	struct http_resp resp;

	if (rc != BERTH_OK)
		return rc;
	req.arena = arena_new();
	rc = account->ops->lease->status_build(account->st, ref, &req, err);
	if (rc == BERTH_OK)
		rc = account_send(account, &req, ACCOUNT_READ, false, &resp, err);
	if (rc == BERTH_OK)
		rc = account->ops->lease->status_parse(account->st, &resp, ref, &m, err);
	arena_free(req.arena);
	if (rc == BERTH_OK)
		*machine_out = m;
	else
		err_ctx(err, "%s: machine %s", account->env.account, ref);
	return rc;
}

enum berth_code
prov_destroy(struct prov_account *account, const char *ref, struct prov_machine *machine_out, struct berth_err *err)
{
	enum berth_code rc = calls_need_lease(account, "destroy machines", err);
	struct prov_machine m = { .ref = "" };
	struct http_req req = { 0 };
	struct http_resp resp;

	if (rc != BERTH_OK)
		return rc;
	req.arena = arena_new();
	rc = account->ops->lease->destroy_build(account->st, ref, &req, err);
	if (rc == BERTH_OK)
		rc = account_send(account, &req, ACCOUNT_REPEATABLE, false, &resp, err);
	if (rc == BERTH_OK)
		rc = account->ops->lease->destroy_parse(account->st, &resp, ref, &m, err);
	arena_free(req.arena);
	if (rc == BERTH_ENOTFOUND) {
		memset(&m, 0, sizeof(m));
		str_copy(m.ref, sizeof(m.ref), ref);
		m.state = PROV_GONE;
		rc = BERTH_OK;
	}
	if (rc == BERTH_OK)
		*machine_out = m;
	else
		err_ctx(err, "%s: destroy %s", account->env.account, ref);
	return rc;
}
