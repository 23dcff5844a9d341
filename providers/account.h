/* providers/account.h - the core's own view of an account.  Floor: providers; the core only. */
#ifndef BERTH_PROVIDERS_ACCOUNT_H
#define BERTH_PROVIDERS_ACCOUNT_H

#include "providers/conf.h"
#include "providers/prov.h"
#include "util/rng.h"

struct prov_account {
	const struct provider_ops *ops;
	void *st;
	struct prov_env env; /* arena is the account's own */
	struct prov_conf conf;
	struct prov_net
	    *net; /* counted; made at the first exchange on the wire where env brings none */
	struct http_config http; /* limits and trust of its exchanges */
	struct rng rng;          /* jitter of the back-off */
	int retries_left;
	size_t bytes_max;    /* of all answers of one call: of every page of a list */
	double rate;         /* requests a second; 0: no limit of ours */
	int64_t turn_ms;     /* when the next request may go out, with rate (time_mono_ms()) */
	int64_t now_mono_ms; /* time_mono_ms() when env.now was set */
	int64_t skew_s; /* what the provider's clock is ahead of ours, once it refused for that */
	int64_t date_off_s; /* the same as its last answer on the wire said; INT64_MIN: none yet */
	int silent;         /* calls in a row that ended without an answer ... */
	int64_t silent_ms;  /* ... the last of them then (time_mono_ms()) */
	prov_exchange_fn *hook;
	void *hook_arg;
};

/* prov_account_open() of an adapter in hand, also one that the registry lacks. */
BERTH_MUST_CHECK enum berth_code account_open(const struct provider_ops *ops,
    const struct yaml_node *section, const struct prov_env *env, struct prov_account **account_out,
    struct berth_err *err);
/* The network of the account, made if there is none. */
BERTH_MUST_CHECK enum berth_code account_net(
    struct prov_account *acc, struct prov_net **net_out, struct berth_err *err);
/* The time that auth steps and signatures are made for. */
int64_t account_auth_now(const struct prov_account *acc);
/* The request goes over the network: not to a cloud in this process, nor to commands of this
 * machine. */
bool account_on_wire(const struct prov_account *acc, const struct http_req *req);
/* BERTH_OK, or what the answer refuses with. */
BERTH_MUST_CHECK enum berth_code account_judge(struct prov_account *acc, const struct http_req *req,
    const struct http_resp *resp, bool is_create, struct berth_err *err);
/* BERTH_EPERMANENT if a capability bit is clear. */
BERTH_MUST_CHECK enum berth_code account_need(
    const struct prov_account *acc, unsigned cap, const char *what, struct berth_err *err);
/*
 * The same of PROV_CAP_LEASE; machines without an installation id are nobody's to touch, so that a
 * broker that has none may not ask: BERTH_EINVAL.
 */
BERTH_MUST_CHECK enum berth_code account_need_lease(
    const struct prov_account *acc, const char *what, struct berth_err *err);

#endif
