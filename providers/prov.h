/* providers/prov.h - the core: accounts, and the calls that brokers make on them.  Floor:
 * providers. */
#ifndef BERTH_PROVIDERS_PROV_H
#define BERTH_PROVIDERS_PROV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "net/http.h"
#include "providers/provider.h"
#include "util/err.h"

struct arena;
struct yaml_node;
struct prov_account;

/* All adapters, in the order of berth-providers(7); n_out gets how many. */
const struct provider_ops *const *provider_all(size_t *n_out);
/* By name; NULL if there is none. */
const struct provider_ops *provider_find(const char *name);

/*
 * Values of an account's section; the defaults are returned where the key is absent. A key that is
 * not in the adapter's schema is our bug (assert). prov_conf_path() makes a relative path absolute
 * from env->config_dir. prov_conf_secret() reads the environment or the file anew each time; the
 * caller wipes it.
 */
bool prov_conf_has(const struct prov_conf *conf, const char *key);
const char *prov_conf_str(const struct prov_conf *conf, const char *key, const char *fallback);
const char *prov_conf_path(const struct prov_conf *conf, const char *key, const char *fallback);
int64_t prov_conf_int(
    const struct prov_conf *conf, const char *key, int64_t fallback); /* also durations, s */
double prov_conf_double(const struct prov_conf *conf, const char *key, double fallback);
bool prov_conf_bool(const struct prov_conf *conf, const char *key, bool fallback);
size_t prov_conf_strings(
    const struct prov_conf *conf, const char *key, const char *const **strings_out);
const struct yaml_node *prov_conf_node(
    const struct prov_conf *conf, const char *key); /* NULL if absent */
BERTH_MUST_CHECK enum berth_code prov_conf_secret(
    const struct prov_conf *conf, const char *key, char **secret_out, struct berth_err *err);
/*
 * The same of "env:NAME" or "file:PATH"; key stands in errors. A relative path starts at dir (NULL:
 * the working directory).
 */
BERTH_MUST_CHECK enum berth_code prov_secret(
    const char *from, const char *dir, const char *key, char **secret_out, struct berth_err *err);

/* Does some adapter serve the account's section? BERTH_ENOTFOUND with file:line:column: none has
 * that name. */
BERTH_MUST_CHECK enum berth_code prov_section_check(
    const struct yaml_node *section, struct berth_err *err);
/*
 * Opens one account. section is the mapping under accounts: in berth.yaml (name, provider, and the
 * keys of that provider's schema; unknown keys are refused with a suggestion), or NULL with
 * env->account and provider given for an account without keys. env is copied; its conf and arena
 * are filled by the core; account, if NULL, comes from section. Errors: BERTH_EINVAL (schema, with
 * file:line:column), BERTH_ENOTFOUND (unknown provider), whatever open says.
 */
BERTH_MUST_CHECK enum berth_code prov_account_open(const struct yaml_node *section,
    const char *provider, const struct prov_env *env, struct prov_account **account_out,
    struct berth_err *err);
void prov_account_close(struct prov_account *account); /* NULL is allowed */
const char *prov_account_name(const struct prov_account *account);
const struct provider_ops *prov_account_ops(const struct prov_account *account);
/* Moves the account's clock; never backwards. */
void prov_account_set_now(struct prov_account *account, int64_t now);

/*
 * Every call below: transport failures and refusals come back as one of BERTH_ECAPACITY,
 * BERTH_EQUOTA, BERTH_ETHROTTLED, BERTH_EAUTH, BERTH_EPERMANENT, BERTH_ETRANSIENT,
 * BERTH_ENOTFOUND, BERTH_EINVAL (answer that is not what it must be); err->http_status and
 * retry_after_s are set. "account: " stands in front of the message. A call whose capability bit
 * is clear: BERTH_EPERMANENT. Idempotent calls are repeated on BERTH_ETRANSIENT and
 * BERTH_ETHROTTLED, at most twice, while the account's retry budget lasts.
 */

/*
 * All offers of the account that fit q (NULL: all), page by page; account is filled in. On an
 * error some may have been emitted.
 */
BERTH_MUST_CHECK enum berth_code prov_offers(struct prov_account *account,
    const struct prov_query *q, prov_offer_fn *emit, void *arg, struct berth_err *err);
/* Likewise, region by region: one that fails keeps no other from being asked. Where some told and
 * some did not: BERTH_EPARTIAL, with the first of those in the message. */
BERTH_MUST_CHECK enum berth_code prov_quotas(
    struct prov_account *account, prov_quota_fn *emit, void *arg, struct berth_err *err);
/* How a region ended; err NULL: it told all. */
typedef void prov_region_fn(void *arg, const char *region, const struct berth_err *err);
/* Machines that are about to be taken back; one without an installation may be anybody's and is
 * known by its ref alone. */
BERTH_MUST_CHECK enum berth_code prov_notices(
    struct prov_account *account, prov_machine_fn *emit, void *arg, struct berth_err *err);

/*
 * Makes one machine. The caller has committed the intent with c->token before. Repeated by itself
 * only where the cloud honours tokens (PROV_CAP_TOKEN). After BERTH_ETRANSIENT nothing is known
 * (the answer was lost, or cannot be read): list ours and look for the token before any other
 * create. An unknown refusal is BERTH_ECAPACITY, with "unclassified" in the message and in the log.
 */
BERTH_MUST_CHECK enum berth_code prov_create(struct prov_account *account,
    const struct prov_create *c, struct prov_machine *machine_out, struct berth_err *err);
/*
 * State of one machine. Not found at the provider is BERTH_ENOTFOUND: just after a create it may
 * mean "not yet".
 */
BERTH_MUST_CHECK enum berth_code prov_status(struct prov_account *account, const char *ref,
    struct prov_machine *machine_out, struct berth_err *err);
/*
 * Every machine that carries our installation id, gone ones too while the provider still lists
 * them.
 */
BERTH_MUST_CHECK enum berth_code prov_list_ours(
    struct prov_account *account, prov_machine_fn *emit, void *arg, struct berth_err *err);
/*
 * Asks for the end of one machine. machine_out->state is PROV_GONE only if the provider confirmed
 * (also by "not found"); else PROV_ENDING: call again, or prov_status(). A machine whose tag is not
 * that of this installation is not touched: BERTH_EPERMANENT.
 */
BERTH_MUST_CHECK enum berth_code prov_destroy(struct prov_account *account, const char *ref,
    struct prov_machine *machine_out, struct berth_err *err);

/*
 * Lists of many accounts at once: all of them run in one loop, so that a slow one delays no other.
 * Each entry asks for offers (offer_fn), quotas (quota_fn) or machines of ours (machine_fn), of an
 * account that no other entry names. deadline_s ends what is not done by then with BERTH_ETRANSIENT
 * (0: none). code, err and took_ms of each entry are filled in.
 */
struct prov_many {
	struct prov_account *account;
	prov_offer_fn *offer_fn;
	const struct prov_query *q; /* of offers; NULL: all */
	prov_quota_fn *quota_fn;
	prov_region_fn *region_fn; /* beside it, where the account has regions; may be NULL */
	prov_machine_fn *machine_fn;
	void *arg;
	bool notices;   /* of machines: interruption notices too, where the list alone does not show
			   them */
	int deadline_s; /* of this one, if less than that of all; 0: none of its own */
	enum berth_code code;
	struct berth_err err;
	int64_t took_ms;
};
void prov_run_many(struct prov_many *v, size_t n, int deadline_s);
/*
 * The same one by one, as they come in: next waits for another one to end and gives it back, NULL
 * after the last, which ends the run. The others go on while the caller works, as far as it makes
 * calls of its own; calls on the account of an entry that was given back are allowed. v must live
 * until then.
 */
struct prov_many_run *prov_many_begin(struct prov_many *v, size_t n, int deadline_s);
struct prov_many *prov_many_next(struct prov_many_run *run);

/* What the adapter can ask of the account's permissions without spending; nothing where it has no
 * such questions. */
typedef enum berth_code prov_check_fn(
    void *arg, const struct prov_check *check, struct berth_err *err);
BERTH_MUST_CHECK enum berth_code prov_checks(
    struct prov_account *account, prov_check_fn *emit, void *arg, struct berth_err *err);
/* Seconds that the provider's clock was ahead at its last answer on the wire. False: it has not
 * answered yet. */
bool prov_account_clock_off(const struct prov_account *account, int64_t *off_s_out);

/* Starts job on a machine; the same job_id on the same machine again is no second start. */
BERTH_MUST_CHECK enum berth_code prov_start(struct prov_account *account, const char *ref,
    const struct prov_job *job, struct prov_run *run_out, struct berth_err *err);
/* interval_s: between checkpoints from now on, which the job is told; 0: as it was.
 * BERTH_ENOTFOUND: the machine or the job is not there. */
BERTH_MUST_CHECK enum berth_code prov_poll(struct prov_account *account, const char *ref,
    const char *job_id, int64_t interval_s, struct prov_run *run_out, struct berth_err *err);
/* Ends the work; a last checkpoint is written, so that safe_progress is progress. */
BERTH_MUST_CHECK enum berth_code prov_stop(struct prov_account *account, const char *ref,
    const char *job_id, struct prov_run *run_out, struct berth_err *err);
/* Result of the probe on a machine, JSON text as berth-probe prints it, in arena. */
BERTH_MUST_CHECK enum berth_code prov_measure(struct prov_account *account, const char *ref,
    struct arena *arena, const char **json_out, struct berth_err *err);

/*
 * Tests stand between core and cloud: hook is called in place of the exchange and lets the cloud
 * act by prov_exchange_next(). Failing before or after that call are the two ways an exchange can
 * be lost.
 */
typedef enum berth_code prov_exchange_fn(void *arg, struct prov_account *account,
    const struct http_req *req, struct http_resp *resp, struct berth_err *err);
void prov_account_hook(
    struct prov_account *account, prov_exchange_fn *hook, void *arg); /* NULL: none */
BERTH_MUST_CHECK enum berth_code prov_exchange_next(struct prov_account *account,
    const struct http_req *req, struct http_resp *resp, struct berth_err *err);

/*
 * Gives an offer the table's name of its accelerator, and memory where the source did not say it; a
 * name that the table lacks stays as it is, with accelerator_known false. accels may be NULL:
 * nothing is known.
 */
void prov_offer_resolve(const struct accel_table *accels, struct offer *o);

/* Names for messages and machine output: "pending" "ready" ... */
const char *prov_state_name(enum prov_state s);
const char *prov_run_state_name(enum prov_run_state s);

/*
 * What a refusal means: the adapter's error table first, then HTTP: 401 403 407 auth, 404 410 not
 * found, 429 throttled, 408 502 503 504 transient; then other 5xx and an unknown error within a
 * 2xx transient, all else permanent. is_create: what only the last rules fit is BERTH_ECAPACITY
 * with *unclassified_out set (may be NULL).
 */
enum berth_code prov_classify(const struct provider_ops *ops, const struct http_resp *resp,
    const struct prov_error *e, bool is_create, bool *unclassified_out);

#endif
