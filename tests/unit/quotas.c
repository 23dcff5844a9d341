/* tests/unit/quotas.c - quotas region by region: one that refuses keeps no other from being asked, and is told of alone. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "broker/quotas.h"
#include "providers/prov.h"
#include "tests/tap.h"
#include "tests/unit/store_tmp.h"
#include "util/arena.h"
#include "util/log.h"
#include "util/str.h"
#include "util/yaml.h"

#define NOW INT64_C(1796040000)
#define HOUR 3600

static struct arena *a;
static struct log quiet;

/* A cloud with three regions, by the hosts of its requests; those in refuse do not answer well. */
struct cloud {
	const char *account, *body[2]; /* before and behind how many machines may run */
	const char *refuse, *limit;
	int status, asked;
};

static enum berth_code
cloud_answers(void *arg, struct prov_account *acc, const struct http_req *req, struct http_resp *resp, struct berth_err *err)
{
	struct cloud *c = arg;
	const char *at = strstr(req->url, "eu-");
	char region[8] = "";

	(void)acc, (void)err;
	c->asked++;
	if (at != NULL)
		memcpy(region, at, 6);
	memset(resp, 0, sizeof(*resp));
	resp->arena = req->arena;
	resp->status = strstr(c->refuse, region) != NULL ? c->status : 200;
	resp->body = resp->status == 200 ? arena_printf(req->arena, "%s%s%s", c->body[0], c->limit, c->body[1])
					 : "{\"error\":{\"message\":\"closed\"}}";
	resp->body_len = strlen(resp->body);
	return BERTH_OK;
}

static struct prov_account *
cloud_open(struct cloud *c)
{
	struct prov_env env = { .now = NOW, .installation = "inst", .log = &quiet };
	const struct yaml_node *n = NULL;
	struct prov_account *acc = NULL;
	struct berth_err err = { 0 };

	tap_code(yaml_parse(a, c->account, strlen(c->account), "berth.yaml", &n, &err), BERTH_OK, &err);
	tap_code(prov_account_open(n, NULL, &env, &acc, &err), BERTH_OK, &err);
	prov_account_hook(acc, cloud_answers, c);
	return acc;
}

static struct quotas_result
refresh(struct store *s, int64_t now, struct prov_account *acc)
{
	struct quotas_result r = { 0 };
	struct berth_err err = { 0 };

	prov_account_set_now(acc, now);
	tap_code(quotas_refresh(s, now, &acc, 1, 60, a, &r, &err), BERTH_OK, &err);
	return r;
}

/* "eu-w-1 8 0h, eu-w-2 unknown: ..." of what is kept; hours since NOW. */
static const char *
kept(struct store *s)
{
	struct quota_row *rows;
	struct quota_region *regions;
	struct berth_err err = { 0 };
	const char *text = "";
	size_t n, n_regions;

	tap_code(store_quota_list(s, false, a, &rows, &n, &err), BERTH_OK, &err);
	tap_code(store_quota_regions(s, a, &regions, &n_regions, &err), BERTH_OK, &err);
	for (size_t i = 0; i < n_regions; i++) {
		text = arena_printf(a, "%s%s%s", text, i > 0 ? ", " : "", regions[i].region);
		for (size_t k = 0; k < n; k++)
			if (str_eq(rows[k].region, regions[i].region))
				text = arena_printf(a, "%s %g", text, rows[k].limit);
		text = regions[i].as_of == 0 ? arena_printf(a, "%s never", text)
					     : arena_printf(a, "%s %lldh", text, (long long)(regions[i].as_of - NOW) / HOUR);
		text = arena_printf(a, "%s%s%s", text, regions[i].code[0] != '\0' ? " " : "", regions[i].code);
	}
	return text;
}

static struct quota_reading
reading(struct store *s)
{
	struct quota_reading *r;
	struct berth_err err = { 0 };
	size_t n = 0;

	tap_code(store_quota_readings(s, a, &r, &n, &err), BERTH_OK, &err);
	return n == 1 ? r[0] : (struct quota_reading){ .code = "none", .error = "none" };
}

static void
test_regions(struct cloud *c, const char *name)
{
	struct store *s = store_tmp_open(store_tmp_path(name));
	struct prov_account *acc = cloud_open(c);
	struct quotas_result r;

	c->refuse = "eu-w-1 eu-w-2";
	c->limit = "8";
	r = refresh(s, NOW, acc);
	tap_ok(r.code == BERTH_EPARTIAL && r.n == 1, "%s and %zu quota", err_name(r.code), r.n);
	tap_is_str(kept(s), "eu-w-1 never auth, eu-w-2 never auth, eu-w-3 8 0h", "the last of three tells all the same");
	tap_ok(strstr(r.error, "2 of 3 regions did not tell; eu-w-1") != NULL, "%s", r.error);
	tap_is_str(reading(s).code, "partial", "the account is known in part");
	tap_ok(reading(s).as_of == 0, "and has not told all yet");

	c->refuse = "eu-w-3";
	c->limit = "6";
	r = refresh(s, NOW + HOUR, acc);
	tap_is_str(kept(s), "eu-w-1 6 1h, eu-w-2 6 1h, eu-w-3 8 0h auth", "one that is refused later keeps what it told");
	tap_ok(strstr(r.error, "1 of 3 regions did not tell; eu-w-3") != NULL, "%s", r.error);

	c->refuse = "none";
	c->limit = "5";
	r = refresh(s, NOW + 2 * HOUR, acc);
	tap_ok(r.code == BERTH_OK && r.n == 3, "%s and %zu quotas", err_name(r.code), r.n);
	tap_is_str(kept(s), "eu-w-1 5 2h, eu-w-2 5 2h, eu-w-3 5 2h", "all tell");
	tap_ok(reading(s).as_of == NOW + 2 * HOUR && reading(s).code[0] == '\0', "which is a whole answer");

	c->refuse = "eu-w-1 eu-w-2 eu-w-3";
	c->asked = 0;
	r = refresh(s, NOW + 3 * HOUR, acc);
	tap_ok(r.code == BERTH_EAUTH && r.n == 0 && c->asked == 3, "all refuse, each once: %s, %d", err_name(r.code), c->asked);
	tap_is_str(kept(s), "eu-w-1 5 2h auth, eu-w-2 5 2h auth, eu-w-3 5 2h auth", "all keep what they told");
	prov_account_close(acc);
	store_close(s);
}

/* A fault that passes is tried again first, and without credentials nobody is asked. */
static void
test_faults(struct cloud *c)
{
	struct store *s = store_tmp_open(store_tmp_path("faults.db"));
	struct prov_account *acc = cloud_open(c);
	struct quotas_result r;

	c->refuse = "eu-w-2";
	c->status = 503;
	c->asked = 0;
	r = refresh(s, NOW, acc);
	tap_ok(r.code == BERTH_EPARTIAL && c->asked == 5, "two regions and three tries of one: %d", c->asked);
	tap_is_str(kept(s), "eu-w-1 5 0h, eu-w-2 never transient, eu-w-3 5 0h", "the third behind it tells");
	prov_account_close(acc);
	unsetenv("QUOTAS_TEST_KEY");
	acc = cloud_open(c);
	c->asked = 0;
	r = refresh(s, NOW + HOUR, acc);
	tap_ok(r.code == BERTH_EAUTH && c->asked == 0, "without a key nobody is asked: %s, %d", err_name(r.code), c->asked);
	tap_is_str(kept(s), "eu-w-1 5 0h, eu-w-2 never transient, eu-w-3 5 0h", "and no region is to blame");
	prov_account_close(acc);
	setenv("QUOTAS_TEST_KEY", "key", 1);
	store_close(s);
}

int
main(void)
{
	struct cloud clouds[] = {
		{ "{name: h, provider: huawei, site: china, regions: [eu-w-1, eu-w-2, eu-w-3], projects: [eu-w-1=a, eu-w-2=b, eu-w-3=c], "
		  "access_key: env:QUOTAS_TEST_KEY, secret_key: env:QUOTAS_TEST_KEY}",
		    { "{\"absolute\":{\"maxTotalInstances\":", ",\"totalInstancesUsed\":0}}" }, "", "", 403, 0 },
		{ "{name: w, provider: aws, regions: [eu-w-1, eu-w-2, eu-w-3], access_key_id: env:QUOTAS_TEST_KEY, "
		  "secret_access_key: env:QUOTAS_TEST_KEY}",
		    { "{\"Quotas\":[{\"QuotaCode\":\"L-1\",\"QuotaName\":\"Running On-Demand P instances\",\"Value\":", "}]}" }, "", "",
		    403, 0 },
	};

	a = arena_new();
	quiet = (struct log){ .level = LOG_ERROR, .f = stderr };
	setenv("QUOTAS_TEST_KEY", "key", 1);
	test_regions(&clouds[0], "huawei.db");
	test_regions(&clouds[1], "aws.db");
	test_faults(&clouds[0]);
	arena_free(a);
	return tap_done();
}
