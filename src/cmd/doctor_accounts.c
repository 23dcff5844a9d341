/* Each account, asked the cheapest thing it can be asked: all of them at once. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cmd/doctor.h"
#include "cmd/progpath.h"
#include "providers/net.h"
#include "providers/prov.h"
#include "store/offer_rows.h"
#include "store/store.h"
#include "util/str.h"

#define DOCTOR_PUT_KEYS "put the credentials in one of the places that berth-providers(7) names"
#define DOCTOR_NOBODY                                                                              \
	"none" /* before berth init nothing is ours, and clouds are asked all the same */

enum {
	DOCTOR_ASK_S = 30,      /* what has not answered by then is not reachable */
	DOCTOR_OFF_WARN_S = 60, /* of the machine's clock */
	DOCTOR_OFF_FAIL_S =
	    300, /* signatures are refused from here on, by the cloud that is least patient */
	DOCTOR_LIST_OLD_S = 86400,
};

/* What one account said. */
struct doctor_account {
	struct doctor *d;
	const struct config_account *config;
	const char *name;          /* "account NAME" */
	struct prov_account *open; /* NULL: it did not open */
	size_t quotas, full, machines, offers, rights, missing;
	bool refused; /* and that was said */
	char first_full[96];
};

static enum berth_code
doctor_quota(void *arg, const struct prov_quota *q, struct berth_err *err)
{
	struct doctor_account *a = arg;
	bool full = !isnan(q->limit) && (q->limit <= 0 || q->used >= q->limit);

	(void)err;
	a->quotas++;
	if (full && a->full++ == 0)
		snprintf(a->first_full, sizeof(a->first_full), "%.60s%s%.30s", q->name,
		    q->region[0] != '\0' ? " in " : "", q->region);
	return BERTH_OK;
}

static enum berth_code
doctor_machine(void *arg, const struct prov_machine *m, struct berth_err *err)
{
	(void)err;
	((struct doctor_account *)arg)->machines += m->state != PROV_GONE;
	return BERTH_OK;
}

static enum berth_code
doctor_offer(void *arg, const struct offer *o, struct berth_err *err)
{
	(void)o, (void)err;
	((struct doctor_account *)arg)->offers++;
	return BERTH_OK;
}

static enum berth_code
doctor_right(void *arg, const struct prov_check *c, struct berth_err *err)
{
	struct doctor_account *a = arg;
	const char *colon = c->detail[0] != '\0' ? ": " : "";

	(void)err;
	a->rights++;
	if (c->code == BERTH_OK)
		return BERTH_OK;
	a->missing++;
	if (c->code == BERTH_EAUTH)
		DOCTOR_SAY(a->d, DOCTOR_WARN, a->name,
		    "give the account this permission; berth-providers(7) lists what is needed",
		    "may not: %s%s%s", c->name, colon, c->detail);
	else
		DOCTOR_SAY(a->d, DOCTOR_WARN, a->name,
		    "try again later; if it stays so, check endpoint and the keys of the account",
		    "could not be asked about %s%s%s", c->name, colon, c->detail);
	return BERTH_OK;
}

/* A message without the account's name and the question in front: the line says whose it is, and
 * nobody asked for the rest. */
static const char *
doctor_words(const struct doctor_account *a, const struct berth_err *err)
{
	static const char *const asked[] = {
		"machines: ", "quota: ", "offers: ", "permissions: ", "credentials: "
	};
	size_t len = strlen(a->config->name);
	const char *words =
	    strncmp(err->msg, a->config->name, len) == 0 && str_starts(err->msg + len, ": ")
		? err->msg + len + 2
		: err->msg;

	for (size_t i = 0; i < sizeof(asked) / sizeof(asked[0]); i++)
		if (str_starts(words, asked[i]))
			words += strlen(asked[i]);
	return words;
}

static void
doctor_open(struct doctor *d, struct prov_net *net, struct doctor_account *a)
{
	struct cmd_ctx *ctx = d->ctx;
	struct prov_env env = { .now = ctx->now,
		.account = a->config->name,
		.state_dir = progpath_dir(ctx->arena, d->store_path),
		.config_dir = d->config->dir,
		.installation = d->store != NULL && store_installation(d->store)[0] != '\0'
				    ? store_installation(d->store)
				    : DOCTOR_NOBODY,
		.accels = d->accels,
		.offline = ctx->offline,
		.log = ctx->log,
		.net = net };
	struct berth_err err = { 0 };
	const char *words;

	if (prov_account_open(a->config->node, a->config->provider, &env, &a->open, &err) ==
	    BERTH_OK)
		return;
	a->open = NULL;
	words = doctor_words(a, &err);
	if (err.code == BERTH_EAUTH)
		DOCTOR_SAY(d, DOCTOR_FAIL, a->name, DOCTOR_PUT_KEYS,
		    "%s: its credentials cannot be had: %s", a->config->provider, words);
	else
		DOCTOR_SAY(d, DOCTOR_FAIL, a->name,
		    "correct the account in berth.yaml; berth-providers(7) lists the keys",
		    "%s: %s", a->config->provider, words);
}

/* Whether the adapter answers for itself, out of files or by commands. */
static bool
doctor_is_here(const struct doctor_account *a)
{
	return prov_account_ops(a->open)->exchange != NULL;
}

/* The cheapest question: limits, else what runs for us, else the price lists that lie here. False:
 * there is none. */
static bool
doctor_question(const struct doctor *d, struct doctor_account *a, struct prov_many *m)
{
	unsigned caps = a->open != NULL ? prov_account_ops(a->open)->caps : 0;

	*m = (struct prov_many){ .account = a->open, .arg = a };
	if ((caps & PROV_CAP_QUOTA) != 0)
		m->quota_fn = doctor_quota;
	else if ((caps & PROV_CAP_LEASE) != 0)
		m->machine_fn = doctor_machine;
	else if ((caps & PROV_CAP_OFFERS) != 0 && doctor_is_here(a))
		m->offer_fn = doctor_offer;
	return m->offer_fn != NULL ||
	       ((m->quota_fn != NULL || m->machine_fn != NULL) && !d->ctx->offline);
}

/*
 * A 403 whose words are of the key or of the signature, as EC2's cousins send it: the credentials
 * are no good. Any other 403 comes from a cloud that knows who asks.
 */
static bool
doctor_is_permission(const struct berth_err *err)
{
	static const char *const of_keys[] = { "SignatureDoesNotMatch", "InvalidSignature",
		"IncompleteSignature", "InvalidClientTokenId", "InvalidAccessKeyId",
		"UnrecognizedClient", "AuthFailure", "ExpiredToken", "RequestExpired",
		"InvalidToken" };

	if (err->code != BERTH_EAUTH || err->http_status != 403)
		return false;
	for (size_t i = 0; i < sizeof(of_keys) / sizeof(of_keys[0]); i++)
		if (strstr(err->msg, of_keys[i]) != NULL)
			return false;
	return true;
}

/* The service of a machine in a cloud that hands out credentials; nobody asks it who has set any.
 */
static bool
doctor_is_metadata(const struct berth_err *err)
{
	static const char *const paths[] = { "/latest/api/", "/latest/meta-data/",
		"/computeMetadata/", "/metadata/identity/", "/openstack/latest/" };

	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++)
		if (strstr(err->where, paths[i]) != NULL)
			return true;
	return false;
}

/* What is wrong, and what to do about it. */
static void
doctor_refused(struct doctor *d, struct doctor_account *a, const struct berth_err *err)
{
	const char *next, *what, *words = doctor_words(a, err);
	enum doctor_state state = DOCTOR_FAIL;

	if (a->refused)
		return;
	a->refused = true;
	if (doctor_is_metadata(err) && err->code != BERTH_ETHROTTLED) {
		what = "no credentials are set, and this machine has none of its own";
		next = DOCTOR_PUT_KEYS;
	} else if (doctor_is_permission(err)) {
		what = "its credentials are taken, but may not do this";
		next = "give the account the permissions that berth-providers(7) lists";
	} else if (err->code == BERTH_EAUTH && strstr(err->msg, "TLS") != NULL) {
		what = "the cloud's certificate is not trusted";
		next = "set ca_file if its authority is your own; else something stands between";
	} else if (err->code == BERTH_EAUTH && err->http_status == 0) { /* nobody was asked */
		what = "its credentials cannot be had";
		next = DOCTOR_PUT_KEYS;
	} else if (err->code == BERTH_EAUTH) {
		what = "its credentials are refused";
		next = "renew them; berth-providers(7) says where they are looked for";
	} else if (doctor_is_here(a) && !str_starts(err->where, "http") &&
		   err->http_status / 100 > 2) {
		what = "its commands fail";
		next = "run that command by hand, and put right what it says; berth-providers(7) "
		       "says what the account needs";
	} else if (err->code == BERTH_EFAIL) {
		what = "a program that it needs cannot be run";
		next = "install it, or correct the account in berth.yaml; berth-providers(7) lists "
		       "the keys";
	} else if (doctor_is_here(a) && !str_starts(err->where, "http") &&
		   err->code != BERTH_ETRANSIENT) {
		what = "what it reads on this machine is not right";
		next = "correct that file, or the account in berth.yaml; berth-providers(7) lists "
		       "the keys";
	} else if (err->code == BERTH_ETHROTTLED) {
		what = "it is asked too often";
		next = "set rate for this account, or wait";
		state = DOCTOR_WARN;
	} else if ((err->code == BERTH_ETRANSIENT && err->http_status == 0) ||
		   strstr(err->msg, "the proxy cannot be used") != NULL) {
		what = "it cannot be reached";
		next = "check endpoint, proxy and the network";
	} else if (err->code == BERTH_ETRANSIENT && err->http_status / 100 != 2) {
		what = "the cloud has a passing fault";
		next = "try again later";
		state = DOCTOR_WARN;
	} else {
		what = "what answers does not speak as this cloud";
		next = "check endpoint and project: is it a sign-in page, or another service?";
	}
	if (str_starts(err->where, "http"))
		DOCTOR_SAY(d, state, a->name, next, "%s: %s: %s (%s)", a->config->provider, what,
		    words, err->where);
	else if (err->where[0] != '\0' && strstr(err->where, ":/") == NULL &&
		 strstr(words, err->where) == NULL)
		DOCTOR_SAY(d, state, a->name, next, "%s: %s: %s: %s", a->config->provider, what,
		    err->where, words);
	else
		DOCTOR_SAY(d, state, a->name, next, "%s: %s: %s", a->config->provider, what, words);
}

static void
doctor_account_clock(struct doctor *d, const struct doctor_account *a)
{
	int64_t off;

	if (!prov_account_clock_off(a->open, &off) ||
	    (off >= -DOCTOR_OFF_WARN_S && off <= DOCTOR_OFF_WARN_S))
		return;
	DOCTOR_SAY(d,
	    off < -DOCTOR_OFF_FAIL_S || off > DOCTOR_OFF_FAIL_S ? DOCTOR_FAIL : DOCTOR_WARN,
	    a->name, "set this machine's clock (NTP); until then requests are dated by the cloud's",
	    "its clock is %lld s %s this machine's", (long long)(off < 0 ? -off : off),
	    off < 0 ? "behind" : "ahead of");
}

static void
doctor_account_prices(struct doctor *d, const struct doctor_account *a)
{
	const char *next =
	    arena_printf(d->ctx->arena, "berth prices refresh --account %s", a->config->name);
	struct berth_err err = { 0 };
	struct price_list *lists;
	int64_t newest = 0;
	size_t n;

	if (d->store == NULL || (prov_account_ops(a->open)->caps & PROV_CAP_OFFERS) == 0 ||
	    store_price_list_list(d->store, d->ctx->arena, &lists, &n, &err) != BERTH_OK)
		return;
	for (size_t i = 0; i < n; i++)
		if ((str_eq(lists[i].account, a->config->name) ||
			(lists[i].account[0] == '\0' &&
			    str_eq(lists[i].source, a->config->name))) &&
		    lists[i].fetched > newest)
			newest = lists[i].fetched;
	if (newest == 0)
		DOCTOR_SAY(d, DOCTOR_WARN, a->name, next, "no prices of it yet");
	else if (d->ctx->now - newest > DOCTOR_LIST_OLD_S)
		DOCTOR_SAY(d, DOCTOR_WARN, a->name, next, "its prices are %lld hours old",
		    (long long)(d->ctx->now - newest) / 3600);
}

/* Each permission that can be asked about without doing anything. */
static const char *
doctor_rights(struct doctor *d, struct doctor_account *a)
{
	struct berth_err err = { 0 };

	if (prov_checks(a->open, doctor_right, a, &err) != BERTH_OK)
		doctor_refused(d, a, &err);
	return a->rights > a->missing
		   ? arena_printf(d->ctx->arena, ", %zu permission%s", a->rights - a->missing,
			 a->rights - a->missing == 1 ? "" : "s")
		   : "";
}

static void
doctor_answered(struct doctor *d, struct doctor_account *a, const struct prov_many *m)
{
	const char *rights = doctor_rights(d, a), *provider = a->config->provider;
	long long ms = (long long)m->took_ms;

	if (m->offer_fn != NULL && a->offers == 0)
		DOCTOR_SAY(d, DOCTOR_WARN, a->name,
		    "correct the files; berth prices refresh says which rows are refused and why",
		    "%s: its files can be read, but hold no offer", provider);
	else if (m->offer_fn != NULL)
		DOCTOR_SAY(d, DOCTOR_OK, a->name, "", "%s: its files can be read; %zu offer%s",
		    provider, a->offers, a->offers == 1 ? "" : "s");
	else if (m->quota_fn == NULL)
		DOCTOR_SAY(d, DOCTOR_OK, a->name, "",
		    "%s: answers in %lld ms%s; %zu machines of ours", provider, ms, rights,
		    a->machines);
	else if (a->quotas == 0)
		DOCTOR_SAY(d, DOCTOR_OK, a->name, "",
		    "%s: answers in %lld ms%s; it tells no quotas", provider, ms, rights);
	else if (a->full == a->quotas)
		DOCTOR_SAY(d, DOCTOR_WARN, a->name, "ask the provider for a quota",
		    "%s: answers in %lld ms%s; but all %zu quotas are 0 or used up, as %s",
		    provider, ms, rights, a->quotas, a->first_full);
	else if (a->full > 0)
		DOCTOR_SAY(d, DOCTOR_OK, a->name, "",
		    "%s: answers in %lld ms%s; %zu quotas, %zu of them 0 or used up, as %s",
		    provider, ms, rights, a->quotas, a->full, a->first_full);
	else
		DOCTOR_SAY(d, DOCTOR_OK, a->name, "",
		    "%s: answers in %lld ms%s; %zu quotas, none of them used up", provider, ms,
		    rights, a->quotas);
}

/* Quotas that may not be read do not keep anybody from renting: the other permissions are asked
 * about all the same. */
static void
doctor_no_quota(struct doctor *d, struct doctor_account *a, const struct prov_many *m)
{
	const char *rights = doctor_rights(d, a);

	if (rights[0] == '\0') {
		doctor_refused(d, a, &m->err);
		return;
	}
	DOCTOR_SAY(d, DOCTOR_WARN, a->name,
	    "give the account this permission; berth-providers(7) lists what is needed",
	    "%s: answers in %lld ms%s; but its quotas may not be read: %s", a->config->provider,
	    (long long)m->took_ms, rights, doctor_words(a, &m->err));
}

static void
doctor_ask(struct doctor *d, struct doctor_account *v, size_t n)
{
	struct prov_many *many = arena_array_of(d->ctx->arena, n, struct prov_many);
	size_t *who = arena_array_of(d->ctx->arena, n, size_t), asked = 0;

	for (size_t i = 0; i < n; i++)
		if (doctor_question(d, &v[i], &many[asked]))
			who[asked++] = i;
		else if (v[i].open != NULL)
			DOCTOR_SAY(d, DOCTOR_OK, v[i].name, "",
			    "%s: its keys are right; it was not asked", v[i].config->provider);
	prov_run_many(many, asked, DOCTOR_ASK_S);
	for (size_t k = 0; k < asked; k++) {
		if (many[k].code == BERTH_EPARTIAL)
			DOCTOR_SAY(d, DOCTOR_WARN, v[who[k]].name,
			    "berth quotas refresh asks again, and berth quotas says which; "
			    "berth-providers(7) lists the permissions",
			    "%s: quotas: %s", v[who[k]].config->provider,
			    doctor_words(&v[who[k]], &many[k].err));
		if (many[k].code == BERTH_OK || many[k].code == BERTH_EPARTIAL)
			doctor_answered(d, &v[who[k]], &many[k]);
		else if (many[k].quota_fn != NULL && doctor_is_permission(&many[k].err))
			doctor_no_quota(d, &v[who[k]], &many[k]);
		else
			doctor_refused(d, &v[who[k]], &many[k].err);
		if (many[k].code == BERTH_OK && str_eq(v[who[k]].config->provider, "static"))
			doctor_ssh(d, v[who[k]].name, v[who[k]].config->node);
		doctor_account_clock(d, &v[who[k]]);
	}
	for (size_t i = 0; i < n; i++)
		if (v[i].open != NULL && !v[i].refused)
			doctor_account_prices(d, &v[i]);
}

void
doctor_accounts(struct doctor *d)
{
	size_t n = d->config != NULL ? d->config->n_accounts : 0;
	struct doctor_account *v = arena_array_of(d->ctx->arena, n, struct doctor_account);
	struct prov_net *net = NULL;
	struct berth_err err = { 0 };

	if (n == 0)
		return;
	if (prov_net_open(d->config->root, d->config->dir, &net, &err) != BERTH_OK) {
		doctor_add_err(d, DOCTOR_FAIL, "network", "correct network in berth.yaml", &err);
		return;
	}
	for (size_t i = 0; i < n; i++) {
		v[i] = (struct doctor_account){ .d = d,
			.config = &d->config->accounts[i],
			.name = arena_printf(
			    d->ctx->arena, "account %s", d->config->accounts[i].name) };
		doctor_open(d, net, &v[i]);
	}
	doctor_ask(d, v, n);
	for (size_t i = 0; i < n; i++)
		prov_account_close(v[i].open);
	prov_net_free(net);
}
