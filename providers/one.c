#include <string.h>

#include "providers/flow.h"
#include "providers/tame.h"
#include "util/log.h"
#include "util/str.h"

#define ONE_CHECKS_MAX 32

/* One call about one machine. */
struct one_call {
	struct prov_account *acc;
	const struct prov_create *create;
	const char *ref;
	struct prov_machine m;
};

static enum berth_code one_destroy(struct prov_account *account, const char *ref,
    struct prov_machine *machine_out, struct berth_err *err);

static enum berth_code
one_create_build(void *arg, struct http_req *req, struct berth_err *err)
{
	struct one_call *c = arg;

	return c->acc->ops->lease->create_build(c->acc->st, c->create, req, err);
}

static enum berth_code
one_create_parse(void *arg, const struct http_resp *resp, bool *more_out, struct berth_err *err)
{
	struct one_call *c = arg;

	(void)more_out;
	return c->acc->ops->lease->create_parse(c->acc->st, resp, c->create, &c->m, err);
}

/*
 * A request for spot that is answered by a machine at the full price, without an error: nobody
 * asked for it, and its price is another. It is ended at once; what cannot be ended now stays known
 * as what it is.
 */
static enum berth_code
one_end_other(struct prov_account *account, const struct prov_create *c, struct prov_machine *m,
    struct berth_err *err)
{
	struct berth_err own = { 0 };
	struct prov_machine gone;

	if (one_destroy(account, m->ref, &gone, &own) != BERTH_OK) {
		log_warn(account->env.log,
		    "%s: machine %s was asked for as spot, is sold on demand and cannot be ended: "
		    "%s",
		    account->env.account, m->ref, own.msg);
		return BERTH_OK;
	}
	log_warn(account->env.log,
	    "%s: machine %s was asked for as spot and sold on demand: ended, its shortest time is "
	    "billed at the price on demand",
	    account->env.account, m->ref);
	return err_set(err, BERTH_ECAPACITY,
	    "%s: create %s: no spot machine: %s came on demand and was ended", account->env.account,
	    c->offer->instance_type, m->ref);
}

enum berth_code
prov_create(struct prov_account *account, const struct prov_create *c,
    struct prov_machine *machine_out, struct berth_err *err)
{
	const bool token = (account->ops->caps & PROV_CAP_TOKEN) != 0;
	enum berth_code rc = account_need_lease(account, "make machines", err);
	struct one_call one = { .acc = account, .create = c };
	struct flow_call call = { .repeat = token ? FLOW_REPEATABLE : FLOW_ONCE,
		.is_create = true,
		.build = one_create_build,
		.parse = one_create_parse,
		.arg = &one };
	struct flow f;

	if (rc != BERTH_OK)
		return rc;
	flow_init(&f, account, &call);
	rc = flow_run_one(&f, err);
	if (rc == BERTH_OK)
		rc = tame_machine(account->ops, account->env.now, &one.m, err);
	*machine_out = one.m;
	if (rc == BERTH_OK && machine_out->ref[0] == '\0')
		rc = err_set(err, BERTH_ETRANSIENT, "the answer to a create names no machine");
	/* It was sent, and what came back cannot be read: that is no refusal. */
	if (f.sent && (rc == BERTH_EINVAL || rc == BERTH_EIO || rc == BERTH_ENOMEM)) {
		rc = BERTH_ETRANSIENT;
		if (err != NULL)
			err->code = rc;
	}
	if (rc != BERTH_OK) {
		err_ctx(err, "%s: create %s", account->env.account, c->offer->instance_type);
		return rc;
	}
	str_copy(machine_out->token, sizeof(machine_out->token), c->token);
	str_copy(machine_out->installation, sizeof(machine_out->installation),
	    account->env.installation);
	return machine_out->other_market ? one_end_other(account, c, machine_out, err) : BERTH_OK;
}

static enum berth_code
one_status_build(void *arg, struct http_req *req, struct berth_err *err)
{
	struct one_call *c = arg;

	return c->acc->ops->lease->status_build(c->acc->st, c->ref, req, err);
}

static enum berth_code
one_status_parse(void *arg, const struct http_resp *resp, bool *more_out, struct berth_err *err)
{
	struct one_call *c = arg;
	const struct prov_lease_ops *lease = c->acc->ops->lease;
	enum berth_code rc = lease->status_parse(c->acc->st, resp, c->ref, &c->m, err);

	*more_out = rc == BERTH_OK && lease->more != NULL && lease->more(c->acc->st, false);
	return rc;
}

/* ref may lie within *machine_out, which is written at the end only. */
enum berth_code
prov_status(struct prov_account *account, const char *ref, struct prov_machine *machine_out,
    struct berth_err *err)
{
	enum berth_code rc = account_need_lease(account, "tell a machine's state", err);
	struct one_call one = { .acc = account, .ref = ref };
	struct flow_call call = { .repeat = FLOW_READ,
		.build = one_status_build,
		.parse = one_status_parse,
		.arg = &one };
	struct flow f;

	if (rc != BERTH_OK)
		return rc;
	if (account->ops->lease->more != NULL)
		(void)account->ops->lease->more(account->st, true);
	flow_init(&f, account, &call);
	rc = flow_run_one(&f, err);
	if (rc == BERTH_OK)
		rc = tame_machine(account->ops, account->env.now, &one.m, err);
	if (rc == BERTH_OK)
		*machine_out = one.m;
	else
		err_ctx(err, "%s: machine %s", account->env.account, ref);
	return rc;
}

static enum berth_code
one_destroy_build(void *arg, struct http_req *req, struct berth_err *err)
{
	struct one_call *c = arg;

	return c->acc->ops->lease->destroy_build(c->acc->st, c->ref, req, err);
}

static enum berth_code
one_destroy_parse(void *arg, const struct http_resp *resp, bool *more_out, struct berth_err *err)
{
	struct one_call *c = arg;

	(void)more_out;
	return c->acc->ops->lease->destroy_parse(c->acc->st, resp, c->ref, &c->m, err);
}

static enum berth_code
one_destroy(struct prov_account *account, const char *ref, struct prov_machine *machine_out,
    struct berth_err *err)
{
	enum berth_code rc;
	struct one_call one = { .acc = account, .ref = ref };
	struct flow_call call = { .repeat = FLOW_REPEATABLE,
		.build = one_destroy_build,
		.parse = one_destroy_parse,
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
		rc = tame_machine(account->ops, account->env.now, &one.m, err);
	if (rc == BERTH_OK)
		*machine_out = one.m;
	else
		err_ctx(err, "%s: destroy %s", account->env.account, ref);
	return rc;
}

/*
 * A ref may have come to mean another's machine: numbers of jobs begin again, names are given anew.
 * So its tag is looked at first. Where that cannot be had the caller's word counts, lest a machine
 * of ours cost on for want of a read.
 */
enum berth_code
prov_destroy(struct prov_account *account, const char *ref, struct prov_machine *machine_out,
    struct berth_err *err)
{
	enum berth_code rc = account_need_lease(account, "destroy machines", err);
	struct berth_err own = { 0 };
	struct prov_machine m;

	if (rc != BERTH_OK)
		return rc;
	rc = prov_status(account, ref, &m, &own);
	if (rc == BERTH_OK && !str_eq(m.installation, account->env.installation))
		return err_set(err, BERTH_EPERMANENT,
		    "%s: destroy %s: it carries no tag of this installation%s%s: not touched",
		    account->env.account, ref, m.installation[0] != '\0' ? " but that of " : "",
		    m.installation);
	if (rc != BERTH_OK || m.state != PROV_GONE)
		return one_destroy(account, ref, machine_out, err);
	*machine_out = m;
	return BERTH_OK;
}

struct one_check {
	struct prov_account *acc;
	struct flow *flow;
	int n;
	struct prov_check check;
};

static enum berth_code
one_check_build(void *arg, struct http_req *req, struct berth_err *err)
{
	struct one_check *c = arg;

	return c->acc->ops->lease->check_build(c->acc->st, c->n, req, err);
}

static enum berth_code
one_check_parse(void *arg, const struct http_resp *resp, bool *more_out, struct berth_err *err)
{
	struct one_check *c = arg;

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
	struct one_check c = { .acc = account, .flow = &f };
	struct flow_call call = { .repeat = FLOW_READ,
		.every = true,
		.build = one_check_build,
		.parse = one_check_parse,
		.arg = &c };
	enum berth_code rc = BERTH_OK;

	if (lease == NULL || lease->check_build == NULL)
		return BERTH_OK;
	for (c.n = 0; rc == BERTH_OK && c.n < ONE_CHECKS_MAX; c.n++) {
		flow_init(&f, account, &call);
		rc = flow_run_one(&f, err);
		if (rc == BERTH_OK)
			rc = emit(arg, &c.check, err);
	}
	if (rc == BERTH_ENOTFOUND)
		return BERTH_OK;
	return rc == BERTH_OK ? rc : err_ctx(err, "%s: permissions", account->env.account);
}
