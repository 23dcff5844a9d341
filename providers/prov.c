#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "net/http_tape.h"
#include "providers/account.h"
#include "providers/net.h"
#include "util/arena.h"
#include "util/hash.h"
#include "util/log.h"
#include "util/str.h"
#include "util/time.h"
#include "util/yaml.h"

#define PROV_RETRIES 20 /* of one account: an outage must not hold up a pass */
#define PROV_BYTES_MAX ((size_t)1024 * 1024 * 1024)

static enum berth_code
prov_find_ops(const struct yaml_node *section, const char *provider,
    const struct provider_ops **ops_out, struct berth_err *err)
{
	const struct provider_ops *const *all;
	const char *names[64] = { 0 }, *near;
	const struct yaml_node *at;
	enum berth_code rc;
	size_t n;

	if (section != NULL && (rc = yaml_str(section, "provider", &provider, err)) != BERTH_OK)
		return rc;
	if (provider == NULL)
		return section != NULL ? yaml_err(section, err, "no 'provider'")
				       : err_set(err, BERTH_EINVAL, "no provider");
	*ops_out = provider_find(provider);
	if (*ops_out != NULL)
		return BERTH_OK;
	all = provider_all(&n);
	for (size_t i = 0; i < n && i < 63; i++)
		names[i] = all[i]->name;
	near = str_suggest(provider, names);
	(void)err_set(err, BERTH_ENOTFOUND, "no provider '%s'%s%s%s: berth-providers(7) lists them",
	    provider, near != NULL ? ", did you mean '" : "", near != NULL ? near : "",
	    near != NULL ? "'?" : "");
	if (section != NULL && (at = yaml_get(section, "provider")) != NULL)
		err_at(err, "%s:%d:%d", at->file, at->line, at->col);
	return BERTH_ENOTFOUND;
}

enum berth_code
prov_section_check(const struct yaml_node *section, struct berth_err *err)
{
	const struct provider_ops *ops;

	return prov_find_ops(section, NULL, &ops, err);
}

static enum berth_code
prov_open_state(struct prov_account *acc, struct berth_err *err)
{
	enum berth_code rc;

	if ((rc = prov_conf_check(&acc->conf, err)) != BERTH_OK)
		return rc;
	acc->st = calloc(1, acc->ops->state_size > 0 ? acc->ops->state_size : 1);
	if (acc->st == NULL)
		return err_set(err, BERTH_ENOMEM, "no memory for an account");
	if (acc->ops->open != NULL && (rc = acc->ops->open(acc->st, &acc->env, err)) != BERTH_OK)
		return rc;
	return BERTH_OK;
}

/* What the core reads of a section itself; providers without a wire lack these keys. */
static enum berth_code
prov_read_wire(struct prov_account *acc, struct berth_err *err)
{
	const struct prov_conf *c = &acc->conf;

	if (prov_conf_knows(c, "ca_file"))
		acc->http.ca_file = prov_conf_path(c, "ca_file", NULL);
	if (prov_conf_knows(c, "proxy"))
		acc->http.proxy = prov_conf_str(c, "proxy", NULL);
	if (prov_conf_knows(c, "timeout"))
		acc->http.timeout_s = (int)prov_conf_int(c, "timeout", 0);
	if (acc->ops->wire != NULL)
		acc->ops->wire(acc->st, &acc->http);
	if (!prov_conf_knows(c, "rate") || !prov_conf_has(c, "rate"))
		return BERTH_OK;
	acc->rate = prov_conf_double(c, "rate", 0);
	return acc->rate > 0
		   ? BERTH_OK
		   : yaml_err(prov_conf_node(c, "rate"), err, "must be over 0 requests a second");
}

enum berth_code
account_open(const struct provider_ops *ops, const struct yaml_node *section,
    const struct prov_env *env, struct prov_account **account_out, struct berth_err *err)
{
	const char *name = env->account;
	struct prov_account *acc;
	enum berth_code rc;

	if (name == NULL && section != NULL &&
	    (rc = yaml_str(section, "name", &name, err)) != BERTH_OK)
		return rc;
	assert(ops->abi == PROVIDER_ABI);
	acc = calloc(1, sizeof(*acc));
	if (acc == NULL)
		return err_set(err, BERTH_ENOMEM, "no memory for an account");
	acc->ops = ops;
	acc->env = *env;
	acc->env.arena = arena_new();
	acc->env.account = arena_strdup(acc->env.arena, name != NULL ? name : ops->name);
	acc->env.state_dir =
	    arena_strdup(acc->env.arena, env->state_dir != NULL ? env->state_dir : "");
	acc->env.config_dir =
	    arena_strdup(acc->env.arena, env->config_dir != NULL ? env->config_dir : "");
	acc->env.installation =
	    arena_strdup(acc->env.arena, env->installation != NULL ? env->installation : "");
	acc->conf = (struct prov_conf){ ops, section, acc->env.arena, acc->env.config_dir };
	acc->env.conf = &acc->conf;
	acc->retries_left = PROV_RETRIES;
	acc->bytes_max = PROV_BYTES_MAX;
	acc->net = prov_net_ref(env->net);
	acc->now_mono_ms = time_mono_ms();
	acc->date_off_s = INT64_MIN;
	rng_seed(&acc->rng, env->seed ^ hash_str(acc->env.account));
	rc = prov_open_state(acc, err);
	if (rc == BERTH_OK)
		rc = prov_read_wire(acc, err);
	if (rc != BERTH_OK) {
		err_ctx(err, "%s", acc->env.account);
		prov_account_close(acc);
		return rc;
	}
	*account_out = acc;
	return BERTH_OK;
}

enum berth_code
prov_account_open(const struct yaml_node *section, const char *provider, const struct prov_env *env,
    struct prov_account **account_out, struct berth_err *err)
{
	const struct provider_ops *ops = NULL;
	enum berth_code rc = prov_find_ops(section, provider, &ops, err);

	return rc == BERTH_OK ? account_open(ops, section, env, account_out, err) : rc;
}

void
prov_account_close(struct prov_account *account)
{
	if (account == NULL)
		return;
	if (account->st != NULL && account->ops->close != NULL)
		account->ops->close(account->st);
	free(account->st);
	prov_net_free(account->net);
	arena_free(account->env.arena);
	free(account);
}

const char *
prov_account_name(const struct prov_account *account)
{
	return account->env.account;
}

const struct provider_ops *
prov_account_ops(const struct prov_account *account)
{
	return account->ops;
}

bool
prov_account_clock_off(const struct prov_account *account, int64_t *off_s_out)
{
	*off_s_out = account->date_off_s;
	return account->date_off_s != INT64_MIN;
}

void
prov_account_set_now(struct prov_account *account, int64_t now)
{
	if (now <= account->env.now)
		return;
	account->env.now = now;
	account->now_mono_ms = time_mono_ms();
}

void
prov_account_hook(struct prov_account *account, prov_exchange_fn *hook, void *arg)
{
	account->hook = hook;
	account->hook_arg = arg;
}

enum berth_code
account_net(struct prov_account *acc, struct prov_net **net_out, struct berth_err *err)
{
	struct http_config own = { .timeout_s = PROV_NET_TIMEOUT_S };
	enum berth_code rc = acc->net == NULL ? prov_net_new(&own, &acc->net, err) : BERTH_OK;

	*net_out = acc->net;
	return rc;
}

int64_t
account_auth_now(const struct prov_account *acc)
{
	int64_t since_s = acc->hook == NULL ? (time_mono_ms() - acc->now_mono_ms) / 1000 : 0;

	return acc->env.now + since_s + acc->skew_s;
}

/* An adapter that has both a wire and commands of this machine says by the URL which of them a
 * request takes. */
bool
account_on_wire(const struct prov_account *acc, const struct http_req *req)
{
	return acc->ops->exchange == NULL || str_starts(req->url, "http://") ||
	       str_starts(req->url, "https://");
}

enum berth_code
prov_exchange_next(struct prov_account *account, const struct http_req *req, struct http_resp *resp,
    struct berth_err *err)
{
	struct prov_net *net;
	enum berth_code rc;

	memset(resp, 0, sizeof(*resp));
	resp->arena = req->arena;
	resp->body = "";
	if (!account_on_wire(account, req))
		return account->ops->exchange(account->st, req, resp, err);
	if ((rc = account_net(account, &net, err)) != BERTH_OK)
		return rc;
	return http_exchange(net_http(net), req, resp, err);
}

enum berth_code
account_need(const struct prov_account *acc, unsigned cap, const char *what, struct berth_err *err)
{
	if ((acc->ops->caps & cap) != 0)
		return BERTH_OK;
	return err_set(err, BERTH_EPERMANENT, "%s: provider %s cannot %s", acc->env.account,
	    acc->ops->name, what);
}

enum berth_code
account_need_lease(const struct prov_account *acc, const char *what, struct berth_err *err)
{
	if (acc->env.installation[0] == '\0')
		return err_set(
		    err, BERTH_EINVAL, "%s: no installation id: run berth init", acc->env.account);
	return account_need(acc, PROV_CAP_LEASE, what, err);
}

enum berth_code
account_judge(struct prov_account *acc, const struct http_req *req, const struct http_resp *resp,
    bool is_create, struct berth_err *err)
{
	struct prov_error e = { "", "" };
	bool refused, unclassified = false;
	enum berth_code code;

	refused =
	    acc->ops->error_read != NULL ? acc->ops->error_read(resp, &e) : resp->status / 100 != 2;
	if (!refused)
		return BERTH_OK;
	code = prov_classify(acc->ops, resp, &e, is_create, &unclassified);
	/* some repeat what they were sent: a signature's canonical text holds the session token */
	str_copy(e.text, sizeof(e.text), http_tape_scrub_words(req, e.text));
	if (!str_starts(
		req->url, "http")) /* a command or a file of this machine: no status was sent */
		err_set(err, code, "%s%s%s%s", e.code,
		    e.code[0] != '\0' && e.text[0] != '\0' ? ": " : "", e.text,
		    unclassified ? " (unclassified, taken as no capacity)" : "");
	else
		err_set(err, code, "HTTP %d%s%s%s%s%s", resp->status, e.code[0] != '\0' ? " " : "",
		    e.code, e.text[0] != '\0' ? ": " : "", e.text,
		    unclassified ? " (unclassified, taken as no capacity)" : "");
	if (err != NULL) {
		err->http_status = resp->status;
		err->retry_after_s = resp->retry_after_s;
	}
	if (unclassified)
		log_warn(acc->env.log, "%s: unclassified refusal of a create: HTTP %d %s %s",
		    acc->env.account, resp->status, e.code, e.text);
	err_at(err, "%.*s", (int)strcspn(req->url, "?"), req->url);
	return code;
}
