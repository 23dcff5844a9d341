/* tests/unit/flow_fake.c - the adapter that the tests of the core drive: it notes what it is asked. */
#include <stdio.h>
#include <string.h>

#include "tests/unit/flow_fake.h"
#include "util/str.h"

struct flow_me me;
const char *base = "http://fake.invalid";
struct log quiet;
int cache_ttl_s;

static bool
auth_need(void *st, int64_t now)
{
	(void)st;
	(void)now;
	return me.tokens < me.want;
}

static enum berth_code
auth_step_build(void *st, int64_t now, struct http_req *req, struct berth_err *err)
{
	(void)st;
	(void)now;
	(void)err;
	req->method = "POST";
	req->any_status = me.any_status;
	http_req_url(req, "%s/step%d", base, me.tokens);
	return BERTH_OK;
}

static enum berth_code
auth_step_parse(void *st, const struct http_resp *resp, int64_t now, struct berth_err *err)
{
	(void)st;
	(void)now;
	(void)err;
	me.steps++;
	me.tokens += resp->status == 200 || me.any_status;
	return BERTH_OK;
}

static void
auth_drop(void *st)
{
	(void)st;
	me.drops++;
	me.tokens = 0;
}

static enum berth_code
auth_sign(void *st, struct http_req *req, int64_t now, struct berth_err *err)
{
	char text[32];

	(void)st;
	if (me.signs < 8)
		me.signed_at[me.signs] = now;
	me.signs++;
	snprintf(text, sizeof(text), "%lld", (long long)now);
	return http_req_set_header(req, "X-Now", text, false, err);
}

static const struct prov_auth_ops auth = {
	.need = auth_need, .step_build = auth_step_build, .step_parse = auth_step_parse, .drop = auth_drop, .sign = auth_sign,
};

enum berth_code
my_offers_build(void *st, const struct prov_query *q, const struct prov_cursor *cur, struct http_req *req,
    struct berth_err *err)
{
	(void)st;
	(void)q;
	(void)err;
	req->method = "GET";
	req->spool = strstr(base, "spool") != NULL;
	if (strstr(base, "tagged") != NULL) {
		req->cache_key = base;
		req->cache_ttl_s = cache_ttl_s;
	}
	http_req_url(req, "%s%s%s", base, strchr(base + 8, '/') != NULL ? "" : "/offers", cur->next);
	return BERTH_OK;
}

static enum berth_code
my_offers_parse(void *st, const struct http_resp *resp, struct prov_cursor *cur, prov_offer_fn *emit, void *arg,
    struct berth_err *err)
{
	char line[64] = "";
	struct http_resp copy = *resp;

	if (resp->file == NULL)
		return provider_fake.market->offers_parse(st, resp, cur, emit, arg, err);
	if (fgets(line, sizeof(line), resp->file) == NULL || resp->body[0] != '\0')
		return err_set(err, BERTH_EINVAL, "no file");
	copy.body = line;
	return provider_fake.market->offers_parse(st, &copy, cur, emit, arg, err);
}

static enum berth_code
my_check_build(void *st, int n, struct http_req *req, struct berth_err *err)
{
	(void)st;
	if (n == 3)
		return err_set(err, BERTH_ENOTFOUND, "no more");
	http_req_url(req, "%s/check%d", base, n);
	return BERTH_OK;
}

static enum berth_code
my_check_parse(void *st, const struct http_resp *resp, int n, struct prov_check *c, struct berth_err *err)
{
	(void)st;
	(void)err;
	snprintf(c->name, sizeof(c->name), "right%d", n);
	if (resp->status == 412)	/* "it would have worked" */
		*c = (struct prov_check){ .name = "dry", .code = BERTH_OK };
	return BERTH_OK;
}

static enum berth_code
my_notices_build(void *st, const struct prov_cursor *cur, struct http_req *req, struct berth_err *err)
{
	(void)st;
	(void)err;
	http_req_url(req, "%s/notices%s", base, cur->next);
	return BERTH_OK;
}

/* "m-1" or "next /p2", one a line. */
static enum berth_code
my_notices_parse(void *st, const struct http_resp *resp, struct prov_cursor *cur, prov_machine_fn *emit, void *arg,
    struct berth_err *err)
{
	struct prov_machine m = { .state = PROV_NOTICED, .notice_at = NOW - 10, .reclaim_at = NOW + 110, .detail = "taken back" };

	(void)st;
	if (str_starts(resp->body, "bad"))
		return err_set(err, BERTH_EINVAL, "no list of notices");
	snprintf(m.ref, sizeof(m.ref), "%.3s", resp->body);
	if (strstr(resp->body, "next ") != NULL)
		str_copy(cur->next, sizeof(cur->next), "/p2");
	return emit(arg, &m, err);
}

struct provider_ops ops;
struct prov_market_ops market;
static struct prov_lease_ops lease;

void
ops_set(void)
{
	market = *provider_fake.market;
	market.offers_build = my_offers_build;
	market.offers_parse = my_offers_parse;
	market.notices_build = my_notices_build;
	market.notices_parse = my_notices_parse;
	lease = *provider_fake.lease;
	lease.check_build = my_check_build;
	lease.check_parse = my_check_parse;
	ops = provider_fake;
	ops.market = &market;
	ops.lease = &lease;
	ops.auth = &auth;
	ops.caps |= PROV_CAP_NOTICES | PROV_CAP_APART;
}

enum berth_code
count_offer(void *arg, const struct offer *o, struct berth_err *err)
{
	(void)o;
	(void)err;
	++*(int *)arg;
	return BERTH_OK;
}
