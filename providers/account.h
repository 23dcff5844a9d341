/* providers/account.h - the core's own view of an account.  Floor: providers; prov.c and calls.c only. */
#ifndef BERTH_PROVIDERS_ACCOUNT_H
#define BERTH_PROVIDERS_ACCOUNT_H

#include "providers/conf.h"
#include "providers/prov.h"
#include "util/rng.h"

struct prov_account {
	const struct provider_ops *ops;
	void *st;
	struct prov_env env;		/* arena is the account's own */
	struct prov_conf conf;
	struct http *http;		/* made at the first exchange on the wire */
	struct rng rng;			/* jitter of the back-off */
	int retries_left;
	prov_exchange_fn *hook;
	void *hook_arg;
};

/* prov_account_open() of an adapter in hand, also one that the registry lacks. */
BERTH_MUST_CHECK enum berth_code account_open(const struct provider_ops *ops, const struct yaml_node *section,
    const struct prov_env *env, struct prov_account **account_out, struct berth_err *err);

enum account_call {			/* how one call may be sent */
	ACCOUNT_READ,			/* no effect: may be repeated */
	ACCOUNT_REPEATABLE,		/* an effect that is the same when sent twice */
	ACCOUNT_ONCE			/* never twice by ourselves */
};

/*
 * Sends req, repeats it as far as call allows, and turns a refusal into its code. is_create: see
 * prov_classify(). resp lives in req->arena.
 */
BERTH_MUST_CHECK enum berth_code account_send(struct prov_account *acc, struct http_req *req, enum account_call call,
    bool is_create, struct http_resp *resp, struct berth_err *err);
/* BERTH_EPERMANENT if a capability bit is clear. */
BERTH_MUST_CHECK enum berth_code account_need(const struct prov_account *acc, unsigned cap, const char *what,
    struct berth_err *err);

#endif
