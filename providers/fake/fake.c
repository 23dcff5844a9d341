#include <math.h>
#include <stdio.h>
#include <string.h>

#include "providers/fake/fake.h"
#include "util/arena.h"
#include "util/money.h"
#include "util/str.h"

struct fake {
	const struct prov_env *env;
};

static const struct prov_key fake_keys[] = {
	{ "endpoint", PROV_KEY_STRING, false, "base URL" },
	{ "key", PROV_KEY_SECRET, false, "a secret" },
	{ NULL, PROV_KEY_STRING, false, NULL },
};

static const struct prov_error_row fake_errors[] = {
	{ 0, "no_room*", NULL, BERTH_ECAPACITY },
	{ 500, NULL, "out of host", BERTH_ECAPACITY },
	{ 0, "over_limit", NULL, BERTH_EQUOTA },
	{ 0, NULL, NULL, BERTH_OK },
};

static enum berth_code
fake_open(void *st, const struct prov_env *env, struct berth_err *err)
{
	(void)err;
	((struct fake *)st)->env = env;
	return BERTH_OK;
}

static bool
fake_error_read(const struct http_resp *resp, struct prov_error *e)
{
	const char *code = resp->body + 6;
	size_t n, blank;

	if (!str_starts(resp->body, "error "))
		return resp->status / 100 != 2;
	n = strcspn(code, " \n");
	blank = code[n] == ' ';
	snprintf(e->code, sizeof(e->code), "%.*s", (int)n, code);
	snprintf(e->text, sizeof(e->text), "%.*s", (int)strcspn(code + n + blank, "\n"),
	    code + n + blank);
	return true;
}

static enum berth_code
fake_url(struct http_req *req, const char *method, const char *what, const char *arg)
{
	req->method = method;
	http_req_url(req, "http://fake.invalid/%s%s%s", what, arg[0] != '\0' ? "/" : "",
	    http_urlencode(req->arena, arg));
	return BERTH_OK;
}

static enum berth_code
fake_offers_build(void *st, const struct prov_query *q, const struct prov_cursor *cur,
    struct http_req *req, struct berth_err *err)
{
	(void)st, (void)q, (void)err;
	return fake_url(req, "GET", "offers", cur->next);
}

static enum berth_code
fake_offers_parse(void *st, const struct http_resp *resp, struct prov_cursor *cur,
    prov_offer_fn *emit, void *arg, struct berth_err *err)
{
	char **lines;
	size_t n;
	enum berth_code rc = BERTH_OK;

	(void)st;
	lines = str_split(resp->arena, resp->body, '\n', &n);
	for (size_t i = 0; rc == BERTH_OK && i < n; i++) {
		struct offer o = { .provider = "fake",
			.account = "",
			.region = "r",
			.zone = "",
			.accelerator = "T4",
			.accelerator_count = 1,
			.accelerator_memory_gib = NAN,
			.vcpus = NAN,
			.memory_gib = NAN,
			.price = USD_UNKNOWN,
			.currency = "USD",
			.interruption_rate = NAN,
			.measured = NAN,
			.source = "fake" };
		char **word;
		size_t words;

		word = str_split(resp->arena, lines[i], ' ', &words);
		if (words != 2)
			continue;
		if (str_eq(word[0], "next")) {
			str_copy(cur->next, sizeof(cur->next), word[1]);
			continue;
		}
		o.instance_type = word[0];
		if ((rc = usd_parse(word[1], &o.price, err)) == BERTH_OK)
			rc = emit(arg, &o, err);
	}
	return rc;
}

static enum berth_code
fake_line(struct arena *a, const char *line, struct prov_machine *m, struct berth_err *err)
{
	char **word;
	size_t n;

	word = str_split(a, line, ' ', &n);
	if (n != 4)
		return err_set(err, BERTH_EINVAL, "not REF STATE INSTALLATION TOKEN: %s", line);
	memset(m, 0, sizeof(*m));
	str_copy(m->ref, sizeof(m->ref), word[0]);
	m->state = str_eq(word[1], "ready")  ? PROV_READY
		   : str_eq(word[1], "gone") ? PROV_GONE
					     : PROV_ENDING;
	str_copy(m->installation, sizeof(m->installation), word[2]);
	str_copy(m->token, sizeof(m->token), word[3]);
	return BERTH_OK;
}

static enum berth_code
fake_create_build(
    void *st, const struct prov_create *c, struct http_req *req, struct berth_err *err)
{
	const struct fake *f = st;
	const char *body = arena_printf(
	    req->arena, "%s %s %s", c->offer->instance_type, f->env->installation, c->token);
	enum berth_code rc = http_req_body(req, "text/plain", body, strlen(body), err);

	return rc == BERTH_OK ? fake_url(req, "POST", "machines", "") : rc;
}

static enum berth_code
fake_create_parse(void *st, const struct http_resp *resp, const struct prov_create *c,
    struct prov_machine *machine_out, struct berth_err *err)
{
	(void)st, (void)c;
	return fake_line(resp->arena, resp->body, machine_out, err);
}

static enum berth_code
fake_status_build(void *st, const char *ref, struct http_req *req, struct berth_err *err)
{
	(void)st, (void)err;
	return fake_url(req, "GET", "machines", ref);
}

static enum berth_code
fake_destroy_build(void *st, const char *ref, struct http_req *req, struct berth_err *err)
{
	(void)st, (void)err;
	return fake_url(req, "DELETE", "machines", ref);
}

static enum berth_code
fake_status_parse(void *st, const struct http_resp *resp, const char *ref,
    struct prov_machine *machine_out, struct berth_err *err)
{
	(void)st, (void)ref;
	return fake_line(resp->arena, resp->body, machine_out, err);
}

static enum berth_code
fake_list_build(
    void *st, const struct prov_cursor *cur, struct http_req *req, struct berth_err *err)
{
	(void)st, (void)err;
	return fake_url(req, "GET", "list", cur->next);
}

static enum berth_code
fake_list_parse(void *st, const struct http_resp *resp, struct prov_cursor *cur,
    prov_machine_fn *emit, void *arg, struct berth_err *err)
{
	struct prov_machine m;
	char **lines;
	size_t n;
	enum berth_code rc = BERTH_OK;

	(void)st;
	lines = str_split(resp->arena, resp->body, '\n', &n);
	for (size_t i = 0; rc == BERTH_OK && i < n; i++) {
		if (lines[i][0] == '\0')
			continue;
		if (str_starts(lines[i], "next "))
			str_copy(cur->next, sizeof(cur->next), lines[i] + 5);
		else if ((rc = fake_line(resp->arena, lines[i], &m, err)) == BERTH_OK)
			rc = emit(arg, &m, err);
	}
	return rc;
}

static const struct prov_market_ops fake_market = {
	.offers_build = fake_offers_build,
	.offers_parse = fake_offers_parse,
};

static const struct prov_lease_ops fake_lease = {
	.create_build = fake_create_build,
	.create_parse = fake_create_parse,
	.status_build = fake_status_build,
	.status_parse = fake_status_parse,
	.destroy_build = fake_destroy_build,
	.destroy_parse = fake_status_parse,
	.list_build = fake_list_build,
	.list_parse = fake_list_parse,
};

const struct provider_ops provider_fake = {
	.abi = PROVIDER_ABI,
	.caps = PROV_CAP_OFFERS | PROV_CAP_LEASE,
	.name = "fake",
	.summary = "tests the core",
	.state_size = sizeof(struct fake),
	.keys = fake_keys,
	.errors = fake_errors,
	.error_read = fake_error_read,
	.open = fake_open,
	.market = &fake_market,
	.lease = &fake_lease,
};
