/* tests/unit/gcp_test.c - accounts, answers and what was found. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/tap.h"
#include "tests/unit/gcp_test.h"
#include "util/fileio.h"
#include "util/str.h"
#include "util/yaml.h"

struct arena *a;
const struct accel_table *accels;
struct log quiet;
struct got got;

struct prov_account *
open_account(const char *more, enum berth_code want)
{
	const char *yaml = arena_printf(a, "{name: g, provider: gcp, project: proj, credentials: env:GCP_KEY, image: img%s}", more);
	struct prov_env env = { .now = NOW, .installation = "78199d8e1c8ed013", .accels = accels, .log = &quiet };
	const struct yaml_node *n = NULL;
	struct prov_account *acc = NULL;
	struct berth_err err = { 0 };

	tap_code(yaml_parse(a, yaml, strlen(yaml), "berth.yaml", &n, &err), BERTH_OK, &err);
	tap_code(prov_account_open(n, NULL, &env, &acc, &err), want, &err);
	return acc;
}

struct http_resp
say(int status, const char *body)
{
	return (struct http_resp){ .arena = a, .status = status, .body = body, .body_len = strlen(body) };
}

enum berth_code
got_offer(void *arg, const struct offer *o, struct berth_err *err)
{
	(void)arg, (void)err;
	VEC_PUSH(a, &got.offers, offer_copy(o, a));
	return BERTH_OK;
}

static enum berth_code
got_machine(void *arg, const struct prov_machine *m, struct berth_err *err)
{
	(void)arg, (void)err;
	VEC_PUSH(a, &got.machines, *m);
	return BERTH_OK;
}

enum berth_code
got_quota(void *arg, const struct prov_quota *q, struct berth_err *err)
{
	(void)arg, (void)err;
	VEC_PUSH(a, &got.quotas, *q);
	return BERTH_OK;
}

static const char *
wire_body(const struct wire *wire, const char *url)
{
	for (; wire->part != NULL; wire++)
		if (strstr(url, wire->part) != NULL)
			return wire->body;
	tap_diag("nothing answers %s", url);
	return "{}";
}

enum berth_code
walk(struct prov_account *acc, char what, const struct wire *wire, struct berth_err *err)
{
	const struct provider_ops *ops = acc->ops;
	struct prov_cursor cur = { 0 };
	struct prov_query q = { 0 };
	enum berth_code rc;

	memset(&got, 0, sizeof(got));
	do {
		struct http_req req = { .arena = a };
		struct http_resp resp;

		rc = what == 'o' ? ops->market->offers_build(acc->st, &q, &cur, &req, err) :
		    what == 'q' ? ops->market->quota_build(acc->st, &cur, &req, err) : ops->lease->list_build(acc->st, &cur, &req, err);
		if (rc != BERTH_OK)
			return rc;
		resp = say(200, wire_body(wire, req.url));
		cur.next[0] = '\0';
		got.requests++;
		rc = what == 'o' ? ops->market->offers_parse(acc->st, &resp, &cur, got_offer, NULL, err) :
		    what == 'q' ? ops->market->quota_parse(acc->st, &resp, &cur, got_quota, NULL, err) :
		    ops->lease->list_parse(acc->st, &resp, &cur, got_machine, NULL, err);
	} while (rc == BERTH_OK && cur.next[0] != '\0' && got.requests < 20);
	return rc;
}

const struct offer *
find(const char *type, const char *region, enum purchase p, int months)
{
	for (size_t i = 0; i < got.offers.n; i++) {
		const struct offer *o = &got.offers.v[i];

		if (str_eq(o->instance_type, type) && str_eq(o->region, region) && o->purchase == p && o->term_months == months)
			return o;
	}
	return NULL;
}

void
is_price(const char *type, const char *region, enum purchase p, int months, double want)
{
	const struct offer *o = find(type, region, p, months);

	tap_near(o != NULL ? usd_to_double(o->price) : NAN, want, 2e-6, "%s in %s, %s %d", type, region, purchase_name(p), months);
}

const char *
sku(const char *description, const char *group, const char *usage, const char *unit, const char *region, double usd)
{
	int64_t nanos = llround(usd * 1e9);

	return arena_printf(a, "{\"description\":\"%s\",\"category\":{\"resourceGroup\":\"%s\",\"usageType\":\"%s\"},"
	    "\"serviceRegions\":[\"%s\"],\"pricingInfo\":[{\"pricingExpression\":{\"usageUnit\":\"%s\",\"tieredRates\":["
	    "{\"unitPrice\":{\"currencyCode\":\"USD\",\"units\":\"%lld\",\"nanos\":%lld}}]}}]}", description, group, usage, region,
	    unit, (long long)(nanos / 1000000000), (long long)(nanos % 1000000000));
}

const char no_cards[] = "{\"items\":{}}";

const char *
shared(const char *path)
{
	const char *dir = getenv("BERTH_SHARED"), *top = getenv("TOP_SRCDIR");

	return arena_printf(a, "%s/%s", dir != NULL ? dir : arena_printf(a, "%s/../shared", top != NULL ? top : "."), path);
}

char *
slurp(const char *path)
{
	char *body = NULL;

	return fileio_slurp(a, shared(path), 8 << 20, &body, NULL, NULL) == BERTH_OK ? body : NULL;
}
