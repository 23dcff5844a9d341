/* Opening of a broker: accounts, limits, sinks and the probe's reference; what a refusal leads to.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "broker/broker.h"
#include "broker/scaling.h"
#include "broker/idling.h"
#include "broker/shares.h"
#include "model/block.h"
#include "net/http.h"
#include "providers/net.h"
#include "store/event_rows.h"
#include "store/prune.h"
#include "util/fileio.h"
#include "util/time.h"
#include "util/yaml.h"

#define BROKER_TABLE_MAX (4U << 20)

static const struct broker_policy broker_policy_default = {
	.prices_s = 900,
	.sync_pass_s = 30,
	.prices_pass_s = 300,
	.lease_pass_s = 60,
	.block_capacity_s = 180,
	.block_capacity_max_s = 3600,
	.block_quota_s = 3600,
	.block_preempted_s = 600,
	.block_rejected_s = 600,
	.block_rejected_max_s = 6 * 3600,
	.avoid_rejected_s = 3600,
	.lost_after_s = 120,
	.silent_s = 600,
	.start_timeout_s = 900,
	.max_attempts = 25,
	.tiers = { INT64_C(100) * 86400, INT64_C(1096) * 86400 },
	.records_s = STORE_RECORDS_S,
	.prune_max = 20000,
	.rollup_max = 100000,
};

/* One network for accounts and webhooks, opened for the first of them. */
static enum berth_code
broker_open_net(struct broker *b, const struct broker_setup *s, struct berth_err *err)
{
	enum berth_code rc =
	    b->net == NULL ? prov_net_open(s->config, s->config_dir, &b->net, err) : BERTH_OK;

	b->policy.sync_pass_s = prov_net_sync_within_s(b->net, b->policy.sync_pass_s);
	b->policy.prices_pass_s = prov_net_prices_within_s(b->net, b->policy.prices_pass_s);
	b->policy.lease_pass_s = prov_net_lease_within_s(b->net, b->policy.lease_pass_s);
	return rc;
}

static enum berth_code
broker_open_account(struct broker *b, const struct broker_setup *s, const struct yaml_node *section,
    struct broker_account *acc, struct berth_err *err)
{
	struct prov_env env = { .now = s->now,
		.seed = s->seed,
		.state_dir = s->state_dir,
		.config_dir = s->config_dir,
		.installation = store_installation(s->store),
		.accels = s->accels,
		.arena = s->arena,
		.offline = s->offline,
		.net = b->net };
	const char *provider = "";
	enum berth_code rc;

	rc = yaml_str(section, "name", &acc->name, err);
	if (rc == BERTH_OK)
		rc = yaml_str(section, "provider", &provider, err);
	if (rc == BERTH_OK && (acc->name == NULL || provider[0] == '\0'))
		rc = yaml_err(section, err, "an account needs 'name' and 'provider'");
	if (rc != BERTH_OK)
		return rc;
	env.account = acc->name;
	rc = prov_account_open(section, provider, &env, &acc->prov, err);
	if (rc == BERTH_EINVAL || rc == BERTH_ENOTFOUND || rc == BERTH_OK)
		return rc;
	acc->prov = NULL; /* credentials, a file: the other accounts go on */
	acc->down = rc;
	snprintf(acc->why, sizeof(acc->why), "%s", err->msg);
	log_warn(b->log, "account %s: %s", acc->name, err->msg);
	return BERTH_OK;
}

static enum berth_code
broker_open_accounts(struct broker *b, const struct broker_setup *s, struct berth_err *err)
{
	const struct yaml_node *list = NULL;
	enum berth_code rc;

	rc = yaml_list(s->config, "accounts", &list, err);
	if (rc == BERTH_OK && list != NULL)
		rc = broker_open_net(b, s, err);
	if (rc != BERTH_OK || list == NULL)
		return rc;
	b->accounts = arena_array_of(b->arena, list->n, struct broker_account);
	for (size_t i = 0; i < list->n; i++) {
		rc = broker_open_account(b, s, list->items[i], &b->accounts[i], err);
		if (rc != BERTH_OK)
			return rc;
		b->n_accounts++;
	}
	return BERTH_OK;
}

static enum berth_code
broker_read_sink(struct arena *a, const char *config_dir, const struct yaml_node *n,
    struct broker_sink *sink, struct berth_err *err)
{
	static const char *const keys[] = { "name", "file", "webhook", NULL };
	static const char *const needed[] = { "name", NULL };
	const char *file = NULL, *webhook = NULL;
	enum berth_code rc;

	rc = yaml_check_keys(n, keys, err);
	if (rc == BERTH_OK)
		rc = yaml_need_keys(n, needed, err);
	if (rc == BERTH_OK)
		rc = yaml_str(n, "name", &sink->name, err);
	if (rc == BERTH_OK)
		rc = yaml_str(n, "file", &file, err);
	if (rc == BERTH_OK)
		rc = yaml_str(n, "webhook", &webhook, err);
	if (rc != BERTH_OK)
		return rc;
	if ((file == NULL) == (webhook == NULL))
		return yaml_err(n, err, "a sink has either 'file' or 'webhook'");
	sink->kind = file != NULL ? SINK_FILE : SINK_WEBHOOK;
	sink->target = file != NULL ? file : webhook;
	if (file != NULL && file[0] != '/' && config_dir != NULL && config_dir[0] != '\0')
		sink->target = arena_printf(a, "%s/%s", config_dir, file);
	return BERTH_OK;
}

enum berth_code
broker_sinks_read(const struct yaml_node *config, const char *config_dir, struct arena *a,
    struct broker_sink **sinks_out, size_t *n_out, struct berth_err *err)
{
	const struct yaml_node *list = NULL;
	enum berth_code rc = yaml_list(config, "sinks", &list, err);

	*sinks_out = NULL;
	*n_out = 0;
	if (rc != BERTH_OK || list == NULL)
		return rc;
	*sinks_out = arena_array_of(a, list->n, struct broker_sink);
	for (; *n_out < list->n && rc == BERTH_OK; ++*n_out)
		rc = broker_read_sink(
		    a, config_dir, list->items[*n_out], &(*sinks_out)[*n_out], err);
	return rc;
}

static enum berth_code
broker_open_sinks(struct broker *b, const struct broker_setup *s, struct berth_err *err)
{
	const char **names;
	enum berth_code rc =
	    broker_sinks_read(s->config, s->config_dir, b->arena, &b->sinks, &b->n_sinks, err);

	if (rc != BERTH_OK || b->sinks == NULL)
		return rc;
	names = arena_array_of(b->arena, b->n_sinks, const char *);
	for (size_t i = 0; i < b->n_sinks; i++) {
		names[i] = b->sinks[i].name;
		if (b->sinks[i].kind == SINK_WEBHOOK &&
		    (rc = broker_open_net(b, s, err)) != BERTH_OK)
			return rc;
	}
	return store_sinks_set(s->store, names, b->n_sinks, err);
}

static enum berth_code
broker_open_verdict(struct broker *b, const struct broker_setup *s, struct berth_err *err)
{
	enum berth_code rc;
	char *bytes;
	size_t n;

	rc = fileio_slurp(b->arena, s->refs_path, BROKER_TABLE_MAX, &bytes, &n, err);
	if (rc == BERTH_OK)
		rc = verdict_refs_parse(bytes, n, b->arena, &b->refs, err);
	if (rc != BERTH_OK)
		return err_ctx(err, "%s", s->refs_path);
	rc = fileio_slurp(b->arena, s->limits_path, BROKER_TABLE_MAX, &bytes, &n, err);
	if (rc == BERTH_OK)
		rc = verdict_limits_parse(bytes, n, &b->verdict_limits, err);
	return rc == BERTH_OK ? rc : err_ctx(err, "%s", s->limits_path);
}

enum berth_code
broker_open(const struct broker_setup *s, struct broker *b, struct berth_err *err)
{
	enum berth_code rc;

	*b = (struct broker){ .store = s->store,
		.accels = s->accels,
		.log = s->log,
		.arena = s->arena,
		.now = s->now,
		.seed = s->seed,
		.offline = s->offline,
		.probe_path = s->probe_path,
		.quarantine_dir = s->quarantine_dir,
		.policy = broker_policy_default };
	b->tick_arena = arena_new();
	b->prices = pricelist_policy_default;
	rc = broker_open_verdict(b, s, err);
	if (rc == BERTH_OK && s->config != NULL) {
		rc = pricelist_policy_read(
		    s->config, s->config_dir, s->now, s->arena, &b->prices, err);
		if (rc == BERTH_OK)
			rc = broker_limits_read(
			    s->config, s->accels, s->arena, &b->limits, &b->n_limits, err);
		if (rc == BERTH_OK)
			rc = quotas_policy_read(s->config, &b->quotas, err);
		if (rc == BERTH_OK)
			rc = shares_read(s->config, s->arena, &b->shares, err);
		if (rc == BERTH_OK)
			rc = block_rules_read(
			    s->config, "block", s->arena, &b->block, &b->n_block, err);
		if (rc == BERTH_OK)
			rc = job_defaults_read(s->config, s->arena, &b->job_defaults, err);
		if (rc == BERTH_OK)
			rc = idling_read(s->config, &b->idle, err);
		if (rc == BERTH_OK)
			rc = bench_read(
			    s->config, s->accels, s->arena, &b->benches, &b->n_benches, err);
		if (rc == BERTH_OK)
			rc = broker_open_sinks(b, s, err);
		if (rc == BERTH_OK)
			rc = scaling_read(
			    s->config, s->config_dir, s->arena, &b->fleets, &b->n_fleets, err);
		if (rc == BERTH_OK && b->n_fleets > 0)
			rc = broker_open_net(b, s, err);
		if (rc == BERTH_OK)
			rc = broker_open_accounts(b, s, err);
	}
	if (rc != BERTH_OK)
		broker_close(b);
	return rc;
}

void
broker_close(struct broker *b)
{
	for (size_t i = 0; i < b->n_accounts; i++)
		prov_account_close(b->accounts[i].prov);
	b->n_accounts = 0;
	prov_net_free(b->net);
	b->net = NULL;
	spot_tables_free(&b->spot_tables);
	arena_free(b->tick_arena);
	b->tick_arena = NULL;
}

void
broker_set_now(struct broker *b, int64_t now)
{
	if (now < b->now)
		return;
	b->now = now;
	for (size_t i = 0; i < b->n_accounts; i++) {
		if (b->accounts[i].prov != NULL)
			prov_account_set_now(b->accounts[i].prov, now);
	}
}

struct broker_account *
broker_account(struct broker *b, const char *name)
{
	for (size_t i = 0; i < b->n_accounts; i++) {
		if (strcmp(b->accounts[i].name, name) == 0)
			return &b->accounts[i];
	}
	return NULL;
}

/* How far a refusal reaches, and for how long that place is left alone. */
static bool
broker_block_of(const struct broker *b, const struct berth_err *why, enum key_scope *scope_out,
    int64_t *base_s_out, int64_t *max_s_out)
{
	const struct broker_policy *p = &b->policy;

	*max_s_out = p->block_capacity_max_s;
	switch (why->code) {
	case BERTH_ECAPACITY:
		*scope_out = KEY_OFFER;
		*base_s_out = p->block_capacity_s;
		return true;
	case BERTH_EQUOTA:
	case BERTH_EPERMANENT:
	case BERTH_EINVAL:
		*scope_out = KEY_TYPE;
		*base_s_out = p->block_quota_s;
		return true;
	case BERTH_EAUTH:
	case BERTH_ETHROTTLED:
		*scope_out = KEY_ACCOUNT;
		*base_s_out = why->retry_after_s > 0 ? why->retry_after_s : 60;
		return true;
	case BERTH_EPROBE:
		*scope_out = KEY_OFFER;
		*base_s_out = p->block_rejected_s;
		*max_s_out = p->block_rejected_max_s;
		return true;
	case BERTH_OK:
	case BERTH_EFAIL:
	case BERTH_ENOMEM:
	case BERTH_EIO:
	case BERTH_ENOTFOUND:
	case BERTH_EUSAGE:
	case BERTH_EINFEASIBLE:
	case BERTH_EBUDGET:
	case BERTH_ETRANSIENT:
	case BERTH_EPRICE:
	case BERTH_EPARTIAL:
	case BERTH_ELOCKED:
	case BERTH_CODE_COUNT:
		break;
	}
	return false;
}

enum berth_code
broker_refused(
    struct broker *b, const struct offer *o, const struct berth_err *why, struct berth_err *err)
{
	struct place_key key;
	enum key_scope scope;
	int64_t base_s, max_s;

	if (!broker_block_of(b, why, &scope, &base_s, &max_s))
		return BERTH_OK;
	key = place_key(o, scope);
	if (why->code == BERTH_EQUOTA) {
		enum berth_code rc = store_quota_due(b->store, o->account, err);

		if (rc != BERTH_OK)
			return rc;
	}
	return store_block_put(b->store, &key, base_s, max_s > base_s ? max_s : base_s,
	    err_name(why->code), why->msg, b->now, NULL, err);
}

enum berth_code
broker_preempted(struct broker *b, const struct instance *in, struct berth_err *err)
{
	struct place_key key = place_key(&in->offer, KEY_OFFER);

	b->counts.preempted++;
	return store_block_put(b->store, &key, b->policy.block_preempted_s,
	    b->policy.block_capacity_max_s, "preempted", "it took a machine back", b->now, NULL,
	    err);
}

enum berth_code
broker_account_down(struct broker *b, struct broker_account *acc, const struct berth_err *why,
    struct berth_err *err)
{
	acc->down = why->code;
	snprintf(acc->why, sizeof(acc->why), "%s", why->msg);
	b->counts.errors++;
	log_warn(b->log, "account %s is left alone in this tick: %s; berth doctor looks at it",
	    acc->name, why->msg);
	return broker_event(b, err, "account.unreachable",
	    arena_printf(b->tick_arena, "account:%s", acc->name), "", NULL, "%s: %s",
	    err_name(why->code), why->msg);
}

void
broker_pass_begin(struct broker *b)
{
	for (size_t i = 0; i < b->n_accounts; i++)
		b->accounts[i].spent_ms = 0;
}

bool
broker_pass_left(const struct broker *b, const struct broker_account *acc)
{
	return acc->spent_ms < (int64_t)b->policy.lease_pass_s * 1000;
}

void
broker_pass_spent(struct broker_account *acc, int64_t since_ms)
{
	acc->spent_ms += time_mono_ms() - since_ms;
}
