/* tests/conformance/conformance.c - what every adapter must do. A new adapter adds a row to `cases`. */
#include <ctype.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <jansson.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>

#include "model/accel.h"
#include "providers/account.h"
#include "tests/conformance/clouds.h"
#include "tests/conformance/kit.h"
#include "tests/conformance/wires.h"
#include "tests/tap.h"
#include "util/arena.h"
#include "util/fileio.h"
#include "util/log.h"
#include "util/rng.h"
#include "util/str.h"
#include "util/vec.h"
#include "util/yaml.h"

#define NOW INT64_C(1795996800)

/* How an adapter is tried: a section of berth.yaml, and what its cloud must have. */
static const struct conformance {
	const char *provider;
	const char *section;
	int machines;		/* that it can make of its first offer on demand; 0: none can be made */
	int64_t startup_s;	/* after which one is ready */
	prov_exchange_fn *cloud;	/* a cloud of ours in the provider's shape; NULL: it has one itself */
} cases[] = {
	{ "replay", "{name: acc, provider: replay, trace: t.trace}", 2, 120, NULL },
	{ "static", "{name: acc, provider: static, machines: ["
	    "{name: m1, address: localhost, accelerator: L4, price_per_hour: 0.5},"
	    "{name: m2, address: localhost, accelerator: L4, price_per_hour: 0.5}]}", 2, 0, NULL },
	{ "import", "{name: acc, provider: import, files: p.csv}", 0, 0, NULL },
	{ "lambda", "{name: acc, provider: lambda, api_key: env:BERTH_TEST_KEY, ssh_key: ours}", 2, 60, lambda_cloud },
	{ "aws", "{name: acc, provider: aws, regions: eu-north-9, access_key_id: env:BERTH_TEST_KEY, secret_access_key: "
	    "env:BERTH_TEST_KEY, image: ami-1}", 2, 60, aws_cloud },
	{ "gcp", "{name: acc, provider: gcp, project: proj, credentials: env:BERTH_TEST_GCP, image: img}", 2, 60, gcp_cloud },
	{ "azure", "{name: acc, provider: azure, locations: eastus, subscription: sub, resource_group: rg, tenant: ten, "
	    "client_id: app, client_secret: env:BERTH_TEST_KEY, image: 'p:o:s:latest', ssh_key: k, subnet: /s}", 2, 60, azure_cloud },
	{ "oci", "{name: acc, provider: oci, tenancy: ten, user: usr, fingerprint: fin, key: env:BERTH_TEST_PEM, "
	    "regions: eu-nowhere-1, image: img, subnet: sub}", 2, 60, oci_cloud },
	{ "alibaba", "{name: acc, provider: alibaba, access_key_id: env:BERTH_TEST_KEY, access_key_secret: env:BERTH_TEST_KEY, "
	    "regions: cn-nowhere, image: img, security_group: sg-1, vswitches: cn-nowhere-a=vsw-1}", 2, 60, alibaba_cloud },
	{ "tencent", "{name: acc, provider: tencent, secret_id: env:BERTH_TEST_KEY, secret_key: env:BERTH_TEST_KEY, "
	    "regions: ap-nowhere, currency: USD, image: img-1}", 2, 60, tencent_cloud },
	{ "huawei", "{name: acc, provider: huawei, access_key: env:BERTH_TEST_KEY, secret_key: env:BERTH_TEST_KEY, "
	    "regions: cn-nowhere, site: international, image: img-1, vpc: vpc-1, subnet: sub-1}", 2, 60, huawei_cloud },
	{ "runpod", "{name: acc, provider: runpod, api_key: env:BERTH_TEST_KEY, image: img}", 2, 60, runpod_cloud },
	{ "vast", "{name: acc, provider: vast, api_key: env:BERTH_TEST_KEY, image: img}", 2, 60, vast_cloud },
	{ "digitalocean", "{name: acc, provider: digitalocean, api_key: env:BERTH_TEST_KEY}", 2, 60, digitalocean_cloud },
	{ "crusoe", "{name: acc, provider: crusoe, project: p, access_key: env:BERTH_TEST_KEY, secret_key: env:BERTH_TEST_B64, "
	    "ssh_key: k, accelerators: {L4-24GB: L4}, prices: [{accelerator: L4, price_per_gpu_hour: 0.5}]}", 2, 60, crusoe_cloud },
	{ "openstack", "{name: acc, provider: openstack, auth_url: 'http://127.0.0.1:5000', username: ann, project_name: lab, "
	    "password: env:BERTH_TEST_KEY, image: debian}", 2, 60, openstack_cloud },
	{ "slurm", "{name: acc, provider: slurm, url: 'http://127.0.0.1:6820/', user: ann, token: env:BERTH_TEST_KEY, "
	    "prices: [{accelerator: l4, price_per_gpu_hour: 0.5}]}", 2, 10, slurm_cloud },
	{ "kubernetes", "{name: acc, provider: kubernetes, kubeconfig: kubeconfig, image: img, queue_wait: 60s}", 2, 20, kube_cloud },
};

/* Where there is no room a machine is made all the same, and says so after so many seconds. */
static const struct { const char *provider; int64_t verdict_s; } late[] = {
	{ "huawei", 60 }, { "openstack", 60 }, { "slurm", 120 }, { "kubernetes", 60 },
};

static const char trace_text[] = "schema: berth.replay/1\nstart: 2026-11-30T00:00:00Z\npools:\n"
    "  - {region: r, instance_type: t, accelerator: L4, startup: 2m, on_demand: {price: 1, capacity: 2}}\n";
static const char prices_text[] = "provider,instance_type,accelerator,purchase,price_per_hour\nacme,t,L4,on_demand,1.5\n";

static const char kubeconfig_text[] = "clusters: [{name: c, cluster: {server: 'http://127.0.0.1:6443/'}}]\n"
    "users: [{name: u, user: {token: key-SECRET}}]\ncurrent-context: x\n"
    "contexts: [{name: x, context: {cluster: c, user: u, namespace: lab}}]\n";

static struct arena *a;
static const struct accel_table *accels;
static char dir[64];
static struct log quiet;

static struct prov_account *
open_as(const struct conformance *c, const char *installation, int64_t now)
{
	struct prov_env env = { .now = now, .installation = installation, .state_dir = dir, .config_dir = dir,
		.accels = accels, .log = &quiet };
	const struct yaml_node *n = NULL;
	struct prov_account *acc = NULL;
	struct berth_err err = { 0 };

	if (yaml_parse(a, c->section, strlen(c->section), "berth.yaml", &n, &err) != BERTH_OK ||
	    prov_account_open(n, NULL, &env, &acc, &err) != BERTH_OK)
		tap_diag("%s: %s", err.where, err.msg);
	prov_account_hook(acc, c->cloud, NULL);
	return acc;
}

static void
fresh(void)
{
	lambda_cloud_reset();
	aws_cloud_reset();
	gcp_cloud_reset();
	azure_cloud_reset();
	oci_cloud_reset();
	alibaba_cloud_reset();
	tencent_cloud_reset();
	huawei_cloud_reset();
	small_clouds_reset();
	openstack_cloud_reset();
	slurm_cloud_reset();
	kube_cloud_reset();
	unlink(arena_printf(a, "%s/replay-acc.json", dir));
	unlink(arena_printf(a, "%s/static-acc.json", dir));
}

static const struct conformance *
case_of(const char *provider)
{
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		if (str_eq(cases[i].provider, provider))
			return &cases[i];
	return NULL;
}

static bool
in_order(const struct provider_ops *o)
{
	bool ok = o->abi == PROVIDER_ABI && o->name[0] != '\0' && o->summary[0] != '\0' && o->keys != NULL;

	for (const char *p = o->name; *p != '\0'; p++)
		ok &= islower((unsigned char)*p) || isdigit((unsigned char)*p) || *p == '_';
	for (const struct prov_key *k = o->keys; ok && k->name != NULL; k++)
		ok &= k->help != NULL && k->help[0] != '\0' && !str_eq(k->name, "name") && !str_eq(k->name, "provider");
	return ok;
}

/* An op is there if and only if its bit says so. */
static bool
caps_fit(const struct provider_ops *o)
{
	const struct prov_market_ops *m = o->market;
	const struct prov_lease_ops *l = o->lease;
	const struct prov_run_ops *r = o->run;

#define PAIR(set, ops, name) \
	if (((o->caps & (set)) != 0) != ((ops) != NULL && (ops)->name##_build != NULL && (ops)->name##_parse != NULL)) \
		return false
	PAIR(PROV_CAP_OFFERS, m, offers);
	PAIR(PROV_CAP_QUOTA, m, quota);
	PAIR(PROV_CAP_NOTICES, m, notices);
	PAIR(PROV_CAP_LEASE, l, create);
	PAIR(PROV_CAP_LEASE, l, status);
	PAIR(PROV_CAP_LEASE, l, destroy);
	PAIR(PROV_CAP_LEASE, l, list);
	PAIR(PROV_CAP_RUN, r, start);
	PAIR(PROV_CAP_RUN, r, poll);
	PAIR(PROV_CAP_RUN, r, stop);
	PAIR(PROV_CAP_MEASURE, r, measure);
#undef PAIR
	return true;
}

/* What berth-providers(7) says of every provider on the wire: these keys are there, and nowhere else. */
static void
test_wire_keys(const struct conformance *c)
{
	static const char *const keys[] = { "ca_file: ca.pem", "proxy: 'http://127.0.0.1:9'", "timeout: 9s", "rate: 5" };

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		struct conformance with = *c;
		struct prov_account *acc = NULL;
		const struct yaml_node *n = NULL;
		struct prov_env env = { .now = NOW, .installation = "inst", .state_dir = dir, .config_dir = dir, .accels = accels,
			.log = &quiet };
		struct berth_err err = { 0 };
		enum berth_code want = c->cloud != NULL ? BERTH_OK : BERTH_EINVAL;

		with.section = arena_printf(a, "%.*s, %s}", (int)strlen(c->section) - 1, c->section, keys[i]);
		tap_code(yaml_parse(a, with.section, strlen(with.section), "berth.yaml", &n, &err), BERTH_OK, &err);
		tap_ok(prov_account_open(n, NULL, &env, &acc, &err) == want, "%s: '%s' is %s (%s)", c->provider, keys[i],
		    c->cloud != NULL ? "a key" : "no key", err.msg);
		prov_account_close(acc);
	}
}

struct gathered { VEC(struct offer) offers; int bad; };

static enum berth_code
gather(void *arg, const struct offer *o, struct berth_err *err)
{
	struct gathered *g = arg;
	struct offer c = *o;
	const char *all[] = { o->provider, o->account, o->region, o->zone, o->instance_type, o->accelerator, o->source };

	(void)err;
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (all[i] == NULL) {
			g->bad++;
			return BERTH_OK;
		}
	g->bad += o->provider[0] == '\0' || o->instance_type[0] == '\0' || o->accelerator_count < 0 ||
	    (usd_known(o->price) && o->price.v < 0) || strlen(o->currency) != 3 || o->as_of > NOW + 86400 ||
	    (o->purchase == PURCHASE_RESERVED) != (o->term_months > 0 || o->kind == OFFER_BLOCK);
	c.provider = arena_strdup(a, o->provider);
	c.account = arena_strdup(a, o->account);
	c.region = arena_strdup(a, o->region);
	c.zone = arena_strdup(a, o->zone);
	c.instance_type = arena_strdup(a, o->instance_type);
	c.accelerator = arena_strdup(a, o->accelerator);
	c.source = arena_strdup(a, o->source);
	VEC_PUSH(a, &g->offers, c);
	return BERTH_OK;
}

static enum berth_code
count_up(void *arg, const struct prov_machine *m, struct berth_err *err)
{
	(void)err;
	*(int *)arg += m->state != PROV_GONE;
	return BERTH_OK;
}

static int
ours_up(struct prov_account *acc)
{
	struct berth_err err = { 0 };
	int n = 0;

	return prov_list_ours(acc, count_up, &n, &err) == BERTH_OK ? n : -1;
}

static void
test_offers(const struct conformance *c)
{
	struct prov_account *acc = open_as(c, "inst", NOW);
	struct gathered g = { 0 };
	struct berth_err err = { 0 };

	tap_code(prov_offers(acc, NULL, gather, &g, &err), BERTH_OK, &err);
	tap_ok(g.offers.n > 0 && g.bad == 0, "%s: %zu offers, %d of them out of shape", c->provider, g.offers.n, g.bad);
	tap_ok(str_eq(g.offers.v[0].account, c->machines > 0 ? "acc" : ""), "%s: an account on what can be rented, none elsewhere",
	    c->provider);
	prov_account_close(acc);
}

static const struct offer *
first_on_demand(const struct gathered *g)
{
	for (size_t i = 0; i < g->offers.n; i++)
		if (g->offers.v[i].purchase == PURCHASE_ON_DEMAND)
			return &g->offers.v[i];
	return NULL;
}

static int64_t
verdict_of(const struct conformance *c)
{
	for (size_t i = 0; i < sizeof(late) / sizeof(late[0]); i++)
		if (str_eq(late[i].provider, c->provider))
			return late[i].verdict_s;
	return 0;
}

/* One machine more than there is room for: refused, or made and soon known to have none; then it is not left behind. */
static void
test_no_room(const struct conformance *c, struct prov_account *acc, const struct prov_create *want)
{
	struct prov_machine m;
	struct berth_err err = { 0 };

	if (verdict_of(c) == 0) {
		tap_code(prov_create(acc, want, &m, &err), BERTH_ECAPACITY, &err);
		tap_is_long(ours_up(acc), c->machines, "%s: a refused create makes nothing", c->provider);
		return;
	}
	tap_code(prov_create(acc, want, &m, &err), BERTH_OK, &err);
	prov_account_set_now(acc, NOW + c->startup_s + verdict_of(c));
	tap_code(prov_status(acc, m.ref, &m, &err), BERTH_OK, &err);
	tap_ok(m.state == PROV_FAILED && m.why == BERTH_ECAPACITY && m.detail[0] != '\0', "%s: no room: %s", c->provider, m.detail);
	tap_code(prov_destroy(acc, m.ref, &m, &err), BERTH_OK, &err);
	prov_account_set_now(acc, NOW + c->startup_s + verdict_of(c) + 60);
	tap_is_long(ours_up(acc), c->machines, "%s: what found no room can be taken away", c->provider);
}

static void
test_lease(const struct conformance *c)
{
	struct prov_account *acc = open_as(c, "inst", NOW), *other;
	struct prov_machine m, again;
	struct gathered g = { 0 };
	struct berth_err err = { 0 };
	struct prov_create want = { .token = "tok-0" };

	fresh();
	tap_code(prov_offers(acc, NULL, gather, &g, &err), BERTH_OK, &err);
	want.offer = first_on_demand(&g);
	tap_code(prov_create(acc, &want, &m, &err), BERTH_OK, &err);
	tap_ok(m.ref[0] != '\0' && str_eq(m.token, "tok-0") && str_eq(m.installation, "inst"), "%s: made and tagged", c->provider);
	if ((prov_account_ops(acc)->caps & PROV_CAP_TOKEN) != 0) {
		tap_code(prov_create(acc, &want, &again, &err), BERTH_OK, &err);
		tap_is_str(again.ref, m.ref, "%s: the same token is the same machine", c->provider);
	}
	tap_is_long(ours_up(acc), 1, "%s: one is listed as ours", c->provider);
	other = open_as(c, "somebody", NOW);
	tap_is_long(ours_up(other), 0, "%s: to another installation it is not", c->provider);
	prov_account_close(other);
	prov_account_set_now(acc, NOW + c->startup_s);
	tap_code(prov_status(acc, m.ref, &again, &err), BERTH_OK, &err);
	tap_ok(again.state == PROV_READY && again.address[0] != '\0' && (again.created == 0 || again.created == NOW), "%s: ready after %lld s", c->provider,
	    (long long)c->startup_s);
	for (int i = 1; i < c->machines; i++) {
		want.token = arena_printf(a, "tok-%d", i);
		tap_code(prov_create(acc, &want, &again, &err), BERTH_OK, &err);
	}
	want.token = "tok-more";
	test_no_room(c, acc, &want);
	tap_code(prov_destroy(acc, m.ref, &again, &err), BERTH_OK, &err);
	tap_ok(again.state == PROV_GONE || again.state == PROV_ENDING, "%s: on its way out", c->provider);
	prov_account_set_now(acc, NOW + c->startup_s + verdict_of(c) + 3600);
	tap_code(prov_destroy(acc, m.ref, &again, &err), BERTH_OK, &err);
	tap_ok(again.state == PROV_GONE, "%s: destroying it again does no harm", c->provider);
	tap_ok(prov_status(acc, m.ref, &again, &err) == BERTH_ENOTFOUND || again.state == PROV_GONE, "%s: it is gone", c->provider);
	tap_code(prov_create(acc, &want, &again, &err), BERTH_OK, &err);
	prov_account_close(acc);
}

/* Answers that are not the provider's. */
struct hostile { int status; const char *body; size_t cut; uint64_t seed; prov_exchange_fn *cloud; };

static enum berth_code
hostile_answer(void *arg, struct prov_account *acc, const struct http_req *req, struct http_resp *resp,
    struct berth_err *err)
{
	const struct hostile *h = arg;
	enum berth_code rc = h->cloud != NULL ? h->cloud(NULL, acc, req, resp, err) :
	    prov_exchange_next(acc, req, resp, err);
	struct rng r;
	char *body;

	/* A step for credentials passes: a refusal of it is another thing than a refusal of the call. */
	if (rc != BERTH_OK || (acc->ops->auth != NULL && acc->ops->auth->need != NULL && acc->ops->auth->need(acc->st, NOW)))
		return rc;
	body = arena_alloc(req->arena, resp->body_len + 1);
	memcpy(body, resp->body, resp->body_len);
	if (h->body != NULL) {
		resp->status = h->status;
		body = arena_strdup(req->arena, h->body);
		resp->body_len = strlen(body);
	} else if (h->cut < resp->body_len) {
		resp->body_len = h->cut;
		body[h->cut] = '\0';
	}
	if (h->seed != 0 && resp->body_len > 0) {
		rng_seed(&r, h->seed);
		for (int i = 0; i < 4; i++)
			body[rng_below(&r, resp->body_len)] = (char)rng_below(&r, 256);
	}
	resp->body = body;
	return BERTH_OK;
}

static enum berth_code
offers_under(struct prov_account *acc, const struct hostile *h)
{
	struct gathered g = { 0 };
	struct berth_err err = { 0 };

	prov_account_hook(acc, hostile_answer, (void *)(uintptr_t)h);
	return prov_offers(acc, NULL, gather, &g, &err);
}

static void
test_hostile(const struct conformance *c)
{
	static const struct { int status; enum berth_code want; } refusals[] = {
		{ 401, BERTH_EAUTH }, { 403, BERTH_EAUTH }, { 404, BERTH_ENOTFOUND }, { 429, BERTH_ETHROTTLED },
		{ 500, BERTH_ETRANSIENT }, { 502, BERTH_ETRANSIENT }, { 503, BERTH_ETRANSIENT }, { 400, BERTH_EPERMANENT },
	};
	static const char *const junk[] = { "", "<html><body>502 Bad Gateway</body></html>", "null", "[]", "{", "\"x\"", "{}", "42" };
	struct prov_account *acc = open_as(c, "inst", NOW);
	int wrong = 0;

	for (size_t i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++) {
		struct hostile fine = { 0, NULL, SIZE_MAX, 0, c->cloud }, h = { refusals[i].status, "", SIZE_MAX, 0, c->cloud };

		wrong += offers_under(acc, &fine) != BERTH_OK;	/* so that it is the list that is refused, not a token */
		wrong += offers_under(acc, &h) != refusals[i].want;
	}
	tap_is_long(wrong, 0, "%s: each refusal has its code", c->provider);
	wrong = 0;
	for (size_t i = 0; i < sizeof(junk) / sizeof(junk[0]); i++) {
		struct hostile h = { 200, junk[i], SIZE_MAX, 0, c->cloud };

		wrong += offers_under(acc, &h) == BERTH_OK;
	}
	tap_is_long(wrong, 0, "%s: no list is read out of junk", c->provider);
	for (uint64_t s = 1; s < 500; s++) {
		struct hostile h = { 0, NULL, (size_t)s * 7 % 400, s % 2 == 0 ? s : 0, c->cloud };

		(void)!offers_under(acc, &h);
	}
	tap_ok(1, "%s: cut and twisted answers do no harm", c->provider);
	prov_account_close(acc);
}

/* Takes the n-th key away, in the order of the text over all answers of a call. */
struct missing { int n, seen; prov_exchange_fn *cloud; char name[80]; };

static void
missing_from(json_t *v, struct missing *m)
{
	const char *key;
	json_t *inner;
	size_t i;

	json_array_foreach(v, i, inner)
		missing_from(inner, m);
	json_object_foreach(v, key, inner) {
		if (m->seen++ == m->n) {
			str_copy(m->name, sizeof(m->name), key);
			json_object_del(v, key);
			return;
		}
		missing_from(inner, m);
		if (m->seen > m->n)
			return;
	}
}

static enum berth_code
missing_answer(void *arg, struct prov_account *acc, const struct http_req *req, struct http_resp *resp,
    struct berth_err *err)
{
	struct missing *m = arg;
	enum berth_code rc = m->cloud != NULL ? m->cloud(NULL, acc, req, resp, err) : prov_exchange_next(acc, req, resp, err);
	json_t *v;
	char *text;

	if (rc != BERTH_OK || (acc->ops->auth != NULL && acc->ops->auth->need != NULL && acc->ops->auth->need(acc->st, NOW)))
		return rc;
	v = json_loadb(resp->body, resp->body_len, 0, NULL);
	if (v != NULL && m->seen <= m->n) {
		missing_from(v, m);
		text = json_dumps(v, JSON_COMPACT);
		resp->body = arena_strdup(req->arena, text);
		resp->body_len = strlen(resp->body);
		free(text);
	}
	json_decref(v);
	return BERTH_OK;
}

static const struct offer *
same_offer(const struct gathered *g, const struct offer *o)
{
	for (size_t i = 0; i < g->offers.n; i++) {
		const struct offer *f = &g->offers.v[i];

		if (str_eq(f->region, o->region) && str_eq(f->zone, o->zone) && str_eq(f->instance_type, o->instance_type) &&
		    f->purchase == o->purchase && f->term_months == o->term_months && f->payment == o->payment && f->kind == o->kind)
			return f;
	}
	return NULL;
}

static enum berth_code
has_ref(void *arg, const struct prov_machine *m, struct berth_err *err)
{
	(void)err;
	*(int *)arg += m->ref[0] == '\0';
	return BERTH_OK;
}

/* Each field missing once: an offer less, or a refusal, but never a lower price; no machine without its ref. */
static void
test_missing(const struct conformance *c)
{
	struct prov_account *acc = open_as(c, "inst", NOW);
	struct gathered honest = { 0 };
	struct berth_err err = { 0 };
	struct missing m = { .cloud = c->cloud };
	int wrong = 0, nameless = 0;

	(void)!prov_offers(acc, NULL, gather, &honest, &err);
	for (m.n = 0, m.seen = 1; m.n < 400 && m.seen >= m.n; m.n++) {
		struct gathered g = { 0 };

		m.seen = 0;
		prov_account_hook(acc, missing_answer, &m);
		(void)!prov_offers(acc, NULL, gather, &g, &err);
		wrong += g.bad;
		for (size_t i = 0; i < g.offers.n; i++) {
			const struct offer *o = &g.offers.v[i], *f = same_offer(&honest, o);
			struct usd_micro now = offer_effective_hour(o), then = f != NULL ? offer_effective_hour(f) : USD_UNKNOWN;

			if (usd_known(now) && usd_known(then) && now.v < then.v) {
				wrong++;
				tap_diag("%s without %s: %s costs %lld instead of %lld", c->provider, m.name, o->instance_type,
				    (long long)now.v, (long long)then.v);
			}
		}
	}
	tap_is_long(wrong, 0, "%s: no price sinks for a missing field (%d tried)", c->provider, m.n);
	for (m.n = 0, m.seen = 1; c->machines > 0 && m.n < 400 && m.seen >= m.n; m.n++) {
		int before = nameless;

		m.seen = 0;
		(void)!prov_list_ours(acc, has_ref, &nameless, &err);
		if (nameless > before)
			tap_diag("%s without %s: a machine without ref", c->provider, m.name);
	}
	tap_is_long(nameless, 0, "%s: no machine without its ref", c->provider);
	prov_account_close(acc);
}

static void
test_recorded(const struct conformance *c)
{
	struct prov_account *acc = open_as(c, "inst", NOW);

	fresh();
	recorded_keeps_no_secret(c->provider, acc, c->cloud, dir);
	prov_account_close(acc);
}

static struct prov_account *
open_for_wires(const void *arg, int64_t now)
{
	return open_as(arg, "inst", now);
}

static void
test_wires(const struct conformance *c, unsigned caps)
{
	struct log was = quiet;
	struct wires_case w = { .provider = c->provider, .caps = caps, .cloud = c->cloud, .startup_s = c->startup_s,
		.told_where = str_eq(c->provider, "openstack"), .open = open_for_wires, .arg = c, .fresh = fresh, .log = &quiet };

	wires_hold(&w);
	quiet = was;
}

/* A throwaway RSA key, PKCS#8. */
static const char *
new_key(void)
{
	EVP_PKEY *key = EVP_RSA_gen(2048);
	BIO *bio = BIO_new(BIO_s_mem());
	char *text = NULL;
	long n;

	if (key == NULL || bio == NULL || PEM_write_bio_PrivateKey(bio, key, NULL, NULL, 0, NULL, NULL) != 1)
		return "";
	n = BIO_get_mem_data(bio, &text);
	text = arena_strndup(a, text, (size_t)n);
	BIO_free(bio);
	EVP_PKEY_free(key);
	return text;
}

int
main(void)
{
	const struct provider_ops *const *all;
	struct berth_err err = { 0 };
	size_t n;

	a = arena_new();
	setenv("BERTH_TEST_KEY", "key-SECRET", 1);
	setenv("BERTH_TEST_B64", "c2VjcmV0LWtleS0_-w", 1);
	setenv("BERTH_TEST_PEM", new_key(), 1);
	setenv("BERTH_TEST_GCP", "{\"type\":\"authorized_user\",\"client_id\":\"id\",\"client_secret\":\"sec\","
	    "\"refresh_token\":\"ref\",\"token_uri\":\"https://oauth2.example/token\"}", 1);
	quiet = (struct log){ .level = LOG_ERROR, .f = stderr };
	snprintf(dir, sizeof(dir), "/tmp/berth-conf-XXXXXX");
	if (mkdtemp(dir) == NULL || accel_table_open(a, &accels, &err) != BERTH_OK)
		tap_diag("%s", err.msg);
	(void)!atomicfile_write(arena_printf(a, "%s/t.trace", dir), trace_text, strlen(trace_text), 0600, NULL);
	(void)!atomicfile_write(arena_printf(a, "%s/p.csv", dir), prices_text, strlen(prices_text), 0600, NULL);
	/* rows without a date are as old as their file, which is written after NOW */
	(void)utimensat(AT_FDCWD, arena_printf(a, "%s/p.csv", dir), (struct timespec[2]){ { .tv_sec = NOW }, { .tv_sec = NOW } }, 0);
	(void)!atomicfile_write(arena_printf(a, "%s/kubeconfig", dir), kubeconfig_text, strlen(kubeconfig_text), 0600, NULL);
	all = provider_all(&n);
	for (size_t i = 0; i < n; i++) {
		const struct conformance *c = case_of(all[i]->name);

		tap_ok(in_order(all[i]) && caps_fit(all[i]), "%s: its record is in order", all[i]->name);
		tap_ok(c != NULL, "%s has a case here", all[i]->name);
		if (c == NULL)
			continue;
		test_wire_keys(c);
		test_offers(c);
		if (c->machines > 0)
			test_lease(c);
		if (c->cloud != NULL)
			test_recorded(c);
		test_hostile(c);
		if (c->cloud != NULL)
			test_missing(c);
		if (c->cloud != NULL && c->machines > 0)
			test_wires(c, all[i]->caps);
	}
	fresh();
	unlink(arena_printf(a, "%s/t.trace", dir));
	unlink(arena_printf(a, "%s/p.csv", dir));
	unlink(arena_printf(a, "%s/kubeconfig", dir));
	unlink(arena_printf(a, "%s/replay-acc.json.lock", dir));
	unlink(arena_printf(a, "%s/static-acc.json.lock", dir));
	rmdir(dir);
	arena_free(a);
	return tap_done();
}
