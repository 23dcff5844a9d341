/* tests/unit/prov.c - the core over a fake adapter: paging, repeats, budget, classes, secrets, config. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "providers/account.h"
#include "providers/fake/fake.h"
#include "tests/tap.h"
#include "util/arena.h"
#include "util/log.h"
#include "util/str.h"
#include "util/yaml.h"

/* One prepared answer; status 0: the exchange fails. */
struct answer { int status; const char *body; int retry_after_s; };

static struct play {
	const struct answer *answers;
	size_t n, at;
	char urls[40][96];
} play;

static enum berth_code
play_exchange(void *arg, struct prov_account *acc, const struct http_req *req, struct http_resp *resp,
    struct berth_err *err)
{
	struct play *p = arg;
	const struct answer *a = &p->answers[p->at < p->n ? p->at : p->n - 1];

	(void)acc;
	if (p->at < 40)
		snprintf(p->urls[p->at], sizeof(p->urls[0]), "%s %s", req->method, req->url);
	p->at++;
	memset(resp, 0, sizeof(*resp));
	resp->arena = req->arena;
	resp->body = a->body != NULL ? a->body : "";
	resp->body_len = strlen(resp->body);
	resp->status = a->status;
	resp->retry_after_s = a->retry_after_s;
	return a->status != 0 ? BERTH_OK : err_set(err, BERTH_ETRANSIENT, "the line was cut");
}

static struct log quiet;

static struct prov_account *
open_fake(const struct answer *answers, size_t n)
{
	struct prov_env env = { .now = 1000, .account = "f", .installation = "inst", .log = &quiet };
	struct prov_account *acc = NULL;
	struct berth_err err = { 0 };

	if (account_open(&provider_fake, NULL, &env, &acc, &err) != BERTH_OK)
		tap_diag("%s", err.msg);
	memset(&play, 0, sizeof(play));
	play.answers = answers;
	play.n = n;
	prov_account_hook(acc, play_exchange, &play);
	return acc;
}

static enum berth_code
count_offer(void *arg, const struct offer *o, struct berth_err *err)
{
	double *sum = arg;

	(void)err;
	sum[0] += 1;
	sum[1] += usd_to_double(o->price);
	return BERTH_OK;
}

static enum berth_code
count_machine(void *arg, const struct prov_machine *m, struct berth_err *err)
{
	(void)err;
	(void)m;
	++*(int *)arg;
	return BERTH_OK;
}

#define N(x) (sizeof(x) / sizeof((x)[0]))

static void
test_paging(void)
{
	static const struct answer good[] = { { 200, "a 1\nb 2\nnext p2\n", 0 }, { 200, "next p3\n", 0 }, { 200, "c 4\n", 0 } };
	static const struct answer loop[] = { { 200, "a 1\nnext p2\n", 0 }, { 200, "b 1\nnext p3\n", 0 },
		{ 200, "c 1\nnext p2\n", 0 } };
	static const struct answer self[] = { { 200, "a 1\nnext p1\n", 0 } };
	struct prov_account *acc = open_fake(good, N(good));
	struct berth_err err = { 0 };
	double sum[2] = { 0, 0 };

	tap_code(prov_offers(acc, NULL, count_offer, sum, &err), BERTH_OK, &err);
	tap_ok(play.at == 3 && sum[0] == 3 && sum[1] == 7, "three pages, an empty one between: three offers");
	tap_is_str(play.urls[2], "GET http://fake.invalid/offers/p3", "the third page was asked for by its token");
	prov_account_close(acc);
	acc = open_fake(loop, N(loop));
	tap_code(prov_offers(acc, NULL, count_offer, sum, &err), BERTH_EINVAL, &err);
	tap_ok(play.at == 3 && strstr(err.msg, "'p2'") != NULL, "a page that leads back: %s", err.msg);
	prov_account_close(acc);
	acc = open_fake(self, N(self));
	tap_code(prov_offers(acc, NULL, count_offer, sum, &err), BERTH_EINVAL, &err);
	tap_is_long((long long)play.at, 2, "a page that leads to itself is asked for twice at most");
	prov_account_close(acc);
}

static void
test_repeats(void)
{
	static const struct answer cut[] = { { 0, NULL, 0 }, { 503, "", 0 }, { 200, "a 1\n", 0 } };
	static const struct answer down[] = { { 500, "", 0 } };
	static const struct answer bad[] = { { 400, "error bad_field x", 0 } };
	static const struct answer later[] = { { 429, "", 3600 } };
	struct prov_account *acc = open_fake(cut, N(cut));
	struct berth_err err = { 0 };
	double sum[2] = { 0, 0 };

	tap_code(prov_offers(acc, NULL, count_offer, sum, &err), BERTH_OK, &err);
	tap_ok(play.at == 3 && sum[0] == 1, "a cut line and a 503 are worth another try");
	prov_account_close(acc);
	acc = open_fake(down, N(down));
	for (int i = 0; i < 30; i++)
		tap_ok(prov_offers(acc, NULL, count_offer, sum, &err) == BERTH_ETRANSIENT || i < 0, "still down");
	tap_ok(play.at == 50, "30 calls, 3 tries each until 20 repeats are spent (%zu exchanges)", play.at);
	tap_is_long(err.http_status, 500, "the status is in the error");
	prov_account_close(acc);
	acc = open_fake(bad, N(bad));
	tap_code(prov_offers(acc, NULL, count_offer, sum, &err), BERTH_EPERMANENT, &err);
	tap_ok(play.at == 1 && strstr(err.msg, "f: offers: HTTP 400 bad_field: x") != NULL, "no other try: %s", err.msg);
	prov_account_close(acc);
	acc = open_fake(later, N(later));
	tap_code(prov_offers(acc, NULL, count_offer, sum, &err), BERTH_ETHROTTLED, &err);
	tap_ok(play.at == 1 && err.retry_after_s == 3600, "an hour is for the caller to wait");
	prov_account_close(acc);
}

static const struct offer fake_offer = { .provider = "fake", .instance_type = "a", .region = "r", .zone = "",
	.accelerator = "T4", .accelerator_count = 1, .account = "f", .currency = "USD", .source = "" };

static enum berth_code
create_one(const struct answer *answers, size_t n, struct prov_machine *m, struct berth_err *err)
{
	struct prov_create c = { .token = "tok", .offer = &fake_offer };
	struct prov_account *acc = open_fake(answers, n);
	enum berth_code rc = prov_create(acc, &c, m, err);

	prov_account_close(acc);
	return rc;
}

static void
test_create(void)
{
	static const struct { struct answer a; enum berth_code want; const char *what; } cases[] = {
		{ { 200, "m-1 ready inst tok", 0 }, BERTH_OK, "made" },
		{ { 200, "error no_room_here none", 0 }, BERTH_ECAPACITY, "no room, within a 200" },
		{ { 500, "error x Out of HOST capacity", 0 }, BERTH_ECAPACITY, "no room as HTTP 500, by its text" },
		{ { 400, "error over_limit 8 of 8", 0 }, BERTH_EQUOTA, "quota is not capacity" },
		{ { 401, "", 0 }, BERTH_EAUTH, "401" },
		{ { 403, "", 0 }, BERTH_EAUTH, "403" },
		{ { 429, "", 0 }, BERTH_ETHROTTLED, "429" },
		{ { 503, "", 0 }, BERTH_ETRANSIENT, "503 is the front door, not the machine" },
		{ { 500, "error strange why", 0 }, BERTH_ECAPACITY, "an unknown 500 is taken as no capacity" },
		{ { 418, "error strange why", 0 }, BERTH_ECAPACITY, "an unknown 4xx as well" },
		{ { 302, "", 0 }, BERTH_ECAPACITY, "and a redirect of a POST" },
		{ { 0, NULL, 0 }, BERTH_ETRANSIENT, "a lost answer: nothing is known" },
		{ { 200, "", 0 }, BERTH_ETRANSIENT, "an answer that cannot be read: it may have been made" },
	};
	struct berth_err err;
	struct prov_machine m;

	for (size_t i = 0; i < N(cases); i++) {
		tap_ok(create_one(&cases[i].a, 1, &m, &err) == cases[i].want, "%s", cases[i].what);
		tap_is_long((long long)play.at, 1, "sent once: this cloud honours no token");
	}
	tap_code(create_one(&cases[8].a, 1, &m, &err), BERTH_ECAPACITY, &err);
	tap_ok(strstr(err.msg, "unclassified") != NULL, "and it says so: %s", err.msg);
	tap_code(create_one(&cases[0].a, 1, &m, &err), BERTH_OK, &err);
	tap_ok(strcmp(m.ref, "m-1") == 0 && strcmp(m.token, "tok") == 0 && strcmp(m.installation, "inst") == 0, "tagged");
}

static void
test_destroy(void)
{
	static const struct answer gone[] = { { 404, "", 0 } }, going[] = { { 200, "m-1 ending inst tok", 0 } };
	static const struct answer auth[] = { { 403, "", 0 } };
	struct berth_err err = { 0 };
	struct prov_machine m;
	struct prov_account *acc = open_fake(gone, 1);

	tap_code(prov_destroy(acc, "m-1", &m, &err), BERTH_OK, &err);
	tap_ok(m.state == PROV_GONE && strcmp(m.ref, "m-1") == 0, "not found is gone");
	tap_code(prov_status(acc, "m-1", &m, &err), BERTH_ENOTFOUND, &err);
	prov_account_close(acc);
	acc = open_fake(going, 1);
	tap_code(prov_destroy(acc, "m-1", &m, &err), BERTH_OK, &err);
	tap_ok(m.state == PROV_ENDING, "on its way is not gone");
	prov_account_close(acc);
	acc = open_fake(auth, 1);
	tap_code(prov_destroy(acc, "m-1", &m, &err), BERTH_EAUTH, &err);
	prov_account_close(acc);
}

static void
test_ours(void)
{
	static const struct answer list[] = { { 200, "m-1 ready inst t1\nm-2 ready other t2\nm-3 ready  t3\nnext q\n", 0 },
		{ 200, "m-4 gone inst t4\n", 0 } };
	struct prov_account *acc = open_fake(list, N(list));
	struct prov_env none = { .account = "f", .log = &quiet };
	struct berth_err err = { 0 };
	int n = 0;

	tap_code(prov_list_ours(acc, count_machine, &n, &err), BERTH_OK, &err);
	tap_is_long(n, 2, "two of four carry our id; one has another's, one none");
	prov_account_close(acc);
	tap_code(account_open(&provider_fake, NULL, &none, &acc, &err), BERTH_OK, &err);
	tap_code(prov_list_ours(acc, count_machine, &n, &err), BERTH_EINVAL, &err);
	tap_code(prov_quotas(acc, NULL, NULL, &err), BERTH_EPERMANENT, &err);
	prov_account_close(acc);
}

static void
test_config(void)
{
	static const struct { const char *yaml, *says; enum berth_code want; } cases[] = {
		{ "name: f\nprovider: fake\nendpoint: http://127.0.0.1/\nkey: env:BERTH_TEST_KEY\ntimeout: 5s\n", "", BERTH_OK },
		{ "name: f\nendpont: x\n", "endpoint", BERTH_EINVAL },
		{ "name: f\nkey: hunter2\n", "env:NAME", BERTH_EINVAL },
		{ "name: f\ntimeout: soon\n", "timeout", BERTH_EINVAL },
	};
	struct arena *a = arena_new();

	setenv("BERTH_TEST_KEY", "s3cret", 1);
	for (size_t i = 0; i < N(cases); i++) {
		struct prov_env env = { .account = "f", .log = &quiet };
		const struct yaml_node *n = NULL;
		struct prov_account *acc = NULL;
		struct berth_err err = { 0 };
		char *secret = NULL;

		tap_code(yaml_parse(a, cases[i].yaml, strlen(cases[i].yaml), "berth.yaml", &n, &err), BERTH_OK, &err);
		tap_code(account_open(&provider_fake, n, &env, &acc, &err), cases[i].want, &err);
		tap_ok(strstr(err.msg, cases[i].says) != NULL && strstr(err.msg, "hunter2") == NULL, "says what: %s", err.msg);
		if (acc == NULL)
			continue;
		tap_code(prov_conf_secret(&acc->conf, "key", &secret, &err), BERTH_OK, &err);
		tap_is_str(secret, "s3cret", "the secret comes from the environment");
		free(secret);
		unsetenv("BERTH_TEST_KEY");
		tap_code(prov_conf_secret(&acc->conf, "key", &secret, &err), BERTH_EAUTH, &err);
		prov_account_close(acc);
	}
	arena_free(a);
}

static void
test_registry(void)
{
	struct prov_env env = { .account = "x", .log = &quiet };
	struct prov_account *acc = NULL;
	struct berth_err err = { 0 };

	tap_code(prov_account_open(NULL, "replya", &env, &acc, &err), BERTH_ENOTFOUND, &err);
	tap_ok(strstr(err.msg, "did you mean 'replay'?") != NULL, "%s", err.msg);
	tap_ok(provider_find("fake") == NULL, "the fake one is not for users");
}

int
main(void)
{
	quiet = (struct log){ .level = LOG_ERROR, .f = stderr };
	test_paging();
	test_repeats();
	test_create();
	test_destroy();
	test_ours();
	test_config();
	test_registry();
	return tap_done();
}
