/* tests/unit/flow.c - credentials, signatures, clocks, repeats and many accounts at once. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "providers/account.h"
#include "providers/fake/fake.h"
#include "providers/net.h"
#include "tests/tap.h"
#include "util/arena.h"
#include "util/log.h"
#include "util/str.h"
#include "util/time.h"

#define NOW INT64_C(1795996800)

/* What the adapter under test holds, and what it was asked. */
static struct {
	int tokens;		/* steps made since the last drop */
	int want;		/* steps that a call needs */
	int steps, drops, signs, checks;
	bool any_status;
	int64_t signed_at[8];
} me;

static const char *base = "http://fake.invalid";
static struct log quiet;
static int cache_ttl_s;

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

static enum berth_code
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

static struct provider_ops ops;
static struct prov_market_ops market;
static struct prov_lease_ops lease;

static void
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

/* One prepared answer; status 0: the exchange fails. */
struct answer { int status; const char *body; int64_t date; };

static struct { const struct answer *v; size_t n, at; char seen[512]; } play;

static enum berth_code
play_exchange(void *arg, struct prov_account *acc, const struct http_req *req, struct http_resp *resp,
    struct berth_err *err)
{
	const struct answer *a = &play.v[play.at < play.n ? play.at : play.n - 1];
	size_t len = strlen(play.seen);

	(void)arg;
	(void)acc;
	play.at++;
	snprintf(play.seen + len, sizeof(play.seen) - len, "%s ", req->url + strlen(base));
	*resp = (struct http_resp){ .arena = req->arena, .status = a->status, .body = a->body, .body_len = strlen(a->body),
		.date = a->date };
	return a->status != 0 ? BERTH_OK : err_set(err, BERTH_ETRANSIENT, "the line was cut");
}

static struct prov_account *
open_with(const struct answer *v, size_t n, int steps)
{
	struct prov_env env = { .now = NOW, .account = "f", .installation = "inst", .log = &quiet };
	struct prov_account *acc = NULL;
	struct berth_err err = { 0 };

	memset(&me, 0, sizeof(me));
	me.want = steps;
	memset(&play, 0, sizeof(play));
	play.v = v;
	play.n = n;
	if (account_open(&ops, NULL, &env, &acc, &err) != BERTH_OK)
		tap_diag("%s", err.msg);
	if (v != NULL)
		prov_account_hook(acc, play_exchange, NULL);
	return acc;
}

static enum berth_code
count_offer(void *arg, const struct offer *o, struct berth_err *err)
{
	(void)o;
	(void)err;
	++*(int *)arg;
	return BERTH_OK;
}

#define N(x) (sizeof(x) / sizeof((x)[0]))

/* Offers of an account with these answers. */
static enum berth_code
offers(const struct answer *v, size_t n, int steps, struct berth_err *err)
{
	struct prov_account *acc = open_with(v, n, steps);
	int found = 0;
	enum berth_code rc = prov_offers(acc, NULL, count_offer, &found, err);

	prov_account_close(acc);
	return rc;
}

static void
test_steps(void)
{
	static const struct answer good[] = { { 200, "", 0 }, { 200, "", 0 }, { 200, "a 1\nnext /p2\n", 0 }, { 200, "b 2\n", 0 } };
	static const struct answer renewed[] = { { 200, "", 0 }, { 401, "", 0 }, { 200, "", 0 }, { 200, "a 1\n", 0 } };
	static const struct answer refused[] = { { 200, "", 0 }, { 401, "", 0 }, { 200, "", 0 }, { 401, "", 0 } };
	static const struct answer right[] = { { 200, "", 0 }, { 403, "error forbidden no", 0 } };
	static const struct answer expired[] = { { 200, "", 0 }, { 403, "error TokenExpired x", 0 }, { 200, "", 0 }, { 200, "a 1\n", 0 } };
	static const struct answer bad[] = { { 400, "error invalid_grant no such key", 0 } };
	static const struct answer ever[] = { { 204, "", 0 } };
	static const struct answer lost[] = { { 0, "", 0 }, { 200, "", 0 }, { 503, "", 0 }, { 200, "a 1\n", 0 } };
	struct berth_err err = { 0 };

	tap_code(offers(good, N(good), 2, &err), BERTH_OK, &err);
	tap_is_str(play.seen, "/step0 /step1 /offers /offers/p2 ", "two steps, then two pages with what they gave");
	tap_ok(me.signs == 2 && me.signed_at[0] == NOW, "each page is signed, no step is");
	tap_code(offers(renewed, N(renewed), 1, &err), BERTH_OK, &err);
	tap_is_str(play.seen, "/step0 /offers /step0 /offers ", "a 401: once more, with new credentials");
	tap_is_long(me.signs, 2, "and a signature of its own");
	tap_code(offers(refused, N(refused), 1, &err), BERTH_EAUTH, &err);
	tap_ok(play.at == 4 && me.drops == 1, "a second 401 is believed");
	tap_code(offers(right, N(right), 1, &err), BERTH_EAUTH, &err);
	tap_ok(play.at == 2 && me.drops == 0, "a right that is missing is missing with any token");
	tap_code(offers(expired, N(expired), 1, &err), BERTH_OK, &err);
	tap_code(offers(bad, N(bad), 1, &err), BERTH_EAUTH, &err);
	tap_ok(strstr(err.msg, "f: offers: credentials: HTTP 400 invalid_grant: no such key") != NULL, "%s", err.msg);
	tap_code(offers(ever, N(ever), 1, &err), BERTH_EAUTH, &err);
	tap_ok(play.at == 8 && strstr(err.msg, "8 steps") != NULL, "credentials that never come: %s", err.msg);
	tap_code(offers(lost, N(lost), 1, &err), BERTH_OK, &err);
	tap_is_str(play.seen, "/step0 /step0 /offers /offers ", "a lost step and a 503 are worth another try");
	tap_is_long(me.signs, 2, "signed anew each time");
}

static void
test_clock(void)
{
	static const struct answer ahead[] = { { 403, "error old x", NOW + 600 }, { 200, "a 1\n", NOW + 600 } };
	static const struct answer twice[] = { { 400, "error old x", NOW - 900 }, { 400, "error old x", NOW - 9000 } };
	static const struct answer near[] = { { 403, "error forbidden x", NOW + 60 } };
	struct berth_err err = { 0 };

	tap_code(offers(ahead, N(ahead), 0, &err), BERTH_OK, &err);
	tap_ok(me.signs == 2 && me.signed_at[1] == NOW + 600, "refused for the clock: dated by the provider's");
	tap_code(offers(twice, N(twice), 0, &err), BERTH_EPERMANENT, &err);
	tap_ok(play.at == 2 && me.signed_at[1] == NOW - 900, "corrected once");
	tap_code(offers(near, N(near), 0, &err), BERTH_EAUTH, &err);
	tap_is_long((long long)play.at, 1, "a minute is no skew");
}

static void
test_create(void)
{
	static const struct answer renewed[] = { { 401, "", 0 }, { 200, "m-1 ready inst tok", 0 } };
	static const struct answer lost[] = { { 0, "", 0 }, { 200, "m-1 ready inst tok", 0 } };
	static const struct answer full[] = { { 500, "error x out of host capacity", 0 }, { 200, "m-1 ready inst tok", 0 } };
	static const struct offer o = { .provider = "fake", .instance_type = "a", .region = "r", .zone = "",
		.accelerator = "T4", .accelerator_count = 1, .account = "f", .currency = "USD", .source = "" };
	struct prov_create c = { .token = "tok", .offer = &o };
	struct berth_err err = { 0 };
	struct prov_machine m;
	struct prov_account *acc = open_with(renewed, N(renewed), 0);

	tap_code(prov_create(acc, &c, &m, &err), BERTH_OK, &err);
	tap_ok(play.at == 2 && str_eq(m.ref, "m-1"), "a create that was refused unread may go out again");
	prov_account_close(acc);
	acc = open_with(lost, N(lost), 0);
	tap_code(prov_create(acc, &c, &m, &err), BERTH_ETRANSIENT, &err);
	tap_is_long((long long)play.at, 1, "one whose answer was lost may not");
	prov_account_close(acc);
	acc = open_with(full, N(full), 0);
	tap_code(prov_create(acc, &c, &m, &err), BERTH_ECAPACITY, &err);
	tap_is_long((long long)play.at, 1, "no capacity that comes as HTTP 500 is no fault of the line");
	prov_account_close(acc);
}

/* Whose a machine is, is looked at before it is ended. */
static void
test_destroy(void)
{
	static const struct answer ours[] = { { 200, "m-1 ready inst tok", 0 }, { 200, "m-1 ending inst tok", 0 } };
	static const struct answer theirs[] = { { 200, "m-1 ready other tok", 0 } }, nobody[] = { { 200, "m-1 ready - -", 0 } };
	static const struct answer gone[] = { { 200, "m-1 gone inst tok", 0 } };
	static const struct answer unread[] = { { 404, "error not_found x", 0 }, { 200, "m-1 ending inst tok", 0 } };
	static const struct { const struct answer *v; size_t n; enum berth_code want; size_t asked; enum prov_state state; } rows[] = {
		{ ours, N(ours), BERTH_OK, 2, PROV_ENDING }, { theirs, N(theirs), BERTH_EPERMANENT, 1, PROV_PENDING },
		{ nobody, N(nobody), BERTH_EPERMANENT, 1, PROV_PENDING }, { gone, N(gone), BERTH_OK, 1, PROV_GONE },
		{ unread, N(unread), BERTH_OK, 2, PROV_ENDING },
	};

	for (size_t i = 0; i < N(rows); i++) {
		struct prov_account *acc = open_with(rows[i].v, rows[i].n, 0);
		struct prov_machine m = { .ref = "" };
		struct berth_err err = { 0 };

		tap_code(prov_destroy(acc, "m-1", &m, &err), rows[i].want, &err);
		tap_ok(play.at == rows[i].asked && m.state == rows[i].state, "asked %zu times: %s %s", play.at, play.seen, err.msg);
		prov_account_close(acc);
	}
}

static struct prov_machine machines[8];
static size_t n_machines;

static enum berth_code
keep_machine(void *arg, const struct prov_machine *m, struct berth_err *err)
{
	(void)arg;
	(void)err;
	machines[n_machines++ % 8] = *m;
	return BERTH_OK;
}

/* Notices that the list does not show are put onto its machines; without them there is still a list. */
static void
test_notices(void)
{
	static const struct answer told[] = { { 200, "m-2 next ", 0 }, { 200, "m-9", 0 }, { 200, "m-1 ready inst a\nnext /p2\n", 0 },
		{ 200, "m-2 ready inst b\nm-3 ready other c\n", 0 } };
	static const struct answer barred[] = { { 403, "error forbidden no", 0 }, { 200, "m-2 ready inst b\n", 0 } };
	static const struct answer odd[] = { { 200, "bad", 0 }, { 200, "m-2 ready inst b\n", 0 } };
	static const struct answer plain[] = { { 200, "m-2 ready inst b\n", 0 } };
	static const struct { const struct answer *v; size_t n; bool ask; const char *seen; size_t machines; enum prov_state last; } rows[] = {
		{ told, N(told), true, "/notices /notices/p2 /list /list/%2Fp2 ", 2, PROV_NOTICED },
		{ barred, N(barred), true, "/notices /list ", 1, PROV_READY }, { odd, N(odd), true, "/notices /list ", 1, PROV_READY },
		{ plain, N(plain), false, "/list ", 1, PROV_READY },
	};

	for (size_t i = 0; i < N(rows); i++) {
		struct prov_account *acc = open_with(rows[i].v, rows[i].n, 0);
		struct prov_many m = { .account = acc, .machine_fn = keep_machine, .notices = rows[i].ask };
		const struct prov_machine *last;

		n_machines = 0;
		prov_run_many(&m, 1, 0);
		tap_code(m.code, BERTH_OK, &m.err);
		last = &machines[(n_machines + 7) % 8];
		tap_ok(n_machines == rows[i].machines && last->state == rows[i].last && str_eq(last->ref, "m-2") &&
		    (last->state != PROV_NOTICED || (last->reclaim_at == NOW + 110 && str_eq(last->token, "b"))), "%zu machines, the last one %s",
		    n_machines, prov_state_name(last->state));
		tap_is_str(play.seen, rows[i].seen, "what was asked");
		prov_account_close(acc);
	}
}

/* No page is over the limit of one answer, all of them are over that of a list. */
static void
test_bytes(void)
{
	static const struct answer v[] = { { 200, "a 1\nnext /p2\n", 0 }, { 200, "b 2\nnext /p3\n", 0 }, { 200, "c 3\n", 0 } };
	struct prov_account *acc = open_with(v, N(v), 0);
	struct berth_err err = { 0 };
	int n = 0;

	acc->bytes_max = strlen(v[0].body) + strlen(v[1].body) + strlen(v[2].body);
	tap_code(prov_offers(acc, NULL, count_offer, &n, &err), BERTH_OK, &err);
	play.at = 0;
	acc->bytes_max--;
	tap_code(prov_offers(acc, NULL, count_offer, &n, &err), BERTH_EINVAL, &err);
	tap_ok(n == 5 && strstr(err.msg, "f: offers: more than 29 bytes in all") != NULL, "%s", err.msg);
	prov_account_close(acc);
}

struct checks { int n, bad; char names[128]; };

static enum berth_code
keep_check(void *arg, const struct prov_check *c, struct berth_err *err)
{
	struct checks *k = arg;
	size_t len = strlen(k->names);

	(void)err;
	k->n++;
	k->bad += c->code != BERTH_OK;
	snprintf(k->names + len, sizeof(k->names) - len, "%s %s %s; ", c->name, err_name(c->code), c->detail);
	return BERTH_OK;
}

static void
test_checks(void)
{
	static const struct answer v[] = { { 200, "", 0 }, { 403, "error forbidden not you", 0 }, { 412, "error dry_run ok", 0 } };
	struct prov_account *acc = open_with(v, N(v), 0);
	struct berth_err err = { 0 };
	struct checks k = { 0 };

	tap_code(prov_checks(acc, keep_check, &k, &err), BERTH_OK, &err);
	tap_ok(k.n == 3 && k.bad == 1, "three questions, one right is missing: %s", k.names);
	prov_account_close(acc);
}

static void
test_spool(void)
{
	static const struct answer v[] = { { 200, "a 1\n", 0 } }, no[] = { { 403, "error forbidden no", 0 } };
	struct berth_err err = { 0 };

	base = "http://fake.invalid/spool";
	tap_code(offers(v, 1, 0, &err), BERTH_OK, &err);
	tap_code(offers(no, 1, 0, &err), BERTH_EAUTH, &err);
	base = "http://fake.invalid";
}

static int ports[16];
static FILE *to, *from;

static pid_t
server_start(void)
{
	const char *top = getenv("TOP_SRCDIR");
	int in[2], out[2];
	pid_t pid;

	if (pipe(in) != 0 || pipe(out) != 0)
		return -1;
	pid = fork();
	if (pid == 0) {
		char script[4096];

		dup2(in[0], 0);
		dup2(out[1], 1);
		close(in[1]);
		close(out[0]);
		snprintf(script, sizeof(script), "%s/tests/unit/flow_server.py", top != NULL ? top : ".");
		execlp("python3", "python3", script, "16", "0.2", (char *)NULL);
		_exit(127);
	}
	close(in[0]);
	close(out[1]);
	to = fdopen(in[1], "w");
	from = fdopen(out[0], "r");
	for (int i = 0; i < 16; i++)
		if (fscanf(from, "%d", &ports[i]) != 1)
			return -1;
	return pid;
}

static void
test_wire(void)
{
	struct prov_env env = { .now = time_clock_s(), .account = "f", .installation = "inst", .log = &quiet };
	struct berth_err err = { 0 };
	struct prov_account *acc = NULL;
	char url[64];
	int64_t began, off;
	int n = 0;

	snprintf(url, sizeof(url), "http://127.0.0.1:%d/clock", ports[0]);
	base = url;
	memset(&me, 0, sizeof(me));
	tap_code(account_open(&ops, NULL, &env, &acc, &err), BERTH_OK, &err);
	tap_ok(!prov_account_clock_off(acc, &off), "a cloud that was not asked has told no time");
	tap_code(prov_offers(acc, NULL, count_offer, &n, &err), BERTH_OK, &err);
	tap_ok(n == 1 && me.signs == 2 && me.signed_at[1] >= me.signed_at[0] + 590, "a server whose clock is ahead is satisfied");
	tap_ok(prov_account_clock_off(acc, &off) && off >= 598 && off <= 602, "its clock is %lld s ahead", (long long)off);
	tap_code(prov_offers(acc, NULL, count_offer, &n, &err), BERTH_OK, &err);
	tap_is_long(me.signs, 3, "and at once with the next call");
	snprintf(url, sizeof(url), "http://127.0.0.1:%d/busy", ports[0]);
	began = time_mono_ms();
	tap_code(prov_offers(acc, NULL, count_offer, &n, &err), BERTH_OK, &err);
	tap_ok(time_mono_ms() - began >= 950, "Retry-After is waited for: %lld ms", (long long)(time_mono_ms() - began));
	acc->rate = 10;
	snprintf(url, sizeof(url), "http://127.0.0.1:%d/count", ports[0]);
	began = time_mono_ms();
	for (int i = 0; i < 20; i++)
		(void)!prov_offers(acc, NULL, count_offer, &n, &err);
	tap_ok(time_mono_ms() - began >= 850, "20 calls at 10 a second, of which a second's worth at once: %lld ms",
	    (long long)(time_mono_ms() - began));
	prov_account_close(acc);
}

/* How often the server was asked for what. */
static int
asked(const char *what)
{
	struct http *h = NULL;
	struct arena *a = arena_new();
	struct http_req req = { .arena = a };
	struct http_resp resp;
	struct berth_err err;
	const char *at;
	int n = 0;

	http_req_url(&req, "http://127.0.0.1:%d/count", ports[0]);
	if (http_new(NULL, &h, &err) == BERTH_OK && http_exchange(h, &req, &resp, &err) == BERTH_OK &&
	    (at = strstr(resp.body, what)) != NULL)
		n = atoi(at + strlen(what));
	http_free(h);
	arena_free(a);
	return n;
}

static void
test_cached(void)
{
	char dir[] = "/tmp/berth-flow-XXXXXX", url[64], cmd[256];
	struct prov_env env = { .now = time_clock_s(), .account = "f", .installation = "inst", .log = &quiet };
	struct berth_err err = { 0 };
	struct prov_account *acc = NULL;
	int n = 0;

	memset(&me, 0, sizeof(me));
	snprintf(url, sizeof(url), "http://127.0.0.1:%d/tagged", ports[0]);
	base = url;
	if (mkdtemp(dir) == NULL || setenv("XDG_CACHE_HOME", dir, 1) != 0)
		return;
	tap_code(prov_net_open(NULL, "", &env.net, &err), BERTH_OK, &err);
	tap_code(account_open(&ops, NULL, &env, &acc, &err), BERTH_OK, &err);
	prov_net_free(env.net);
	cache_ttl_s = 100;
	for (int i = 0; i < 3; i++)
		tap_code(prov_offers(acc, NULL, count_offer, &n, &err), BERTH_OK, &err);
	tap_ok(n == 3 && asked("/tagged ") == 1, "three lists, one request: the rest is from the cache");
	cache_ttl_s = 0;
	tap_code(prov_offers(acc, NULL, count_offer, &n, &err), BERTH_OK, &err);
	tap_ok(n == 4 && asked("/tagged ") == 2, "an old one is asked for, and a 304 is enough");
	snprintf(cmd, sizeof(cmd), "for f in %s/berth/http/*.??????; do printf 'x y' >$f; done; sed -i 's/\"length\": 4/\"length\": 3/' %s/berth/http/*.json", dir, dir);
	tap_is_long(system(cmd), 0, "the kept answer is spoiled");
	cache_ttl_s = 100;
	tap_code(prov_offers(acc, NULL, count_offer, &n, &err), BERTH_OK, &err);
	tap_ok(n == 5 && asked("/tagged ") == 3, "what cannot be read is forgotten and asked for anew");
	snprintf(cmd, sizeof(cmd), "for f in %s/berth/http/*.??????; do printf 'x' >$f; done", dir);
	tap_is_long(system(cmd), 0, "it is cut");
	cache_ttl_s = 0;
	tap_code(prov_offers(acc, NULL, count_offer, &n, &err), BERTH_OK, &err);
	tap_ok(n == 6 && asked("/tagged ") == 4, "and one that is cut is not asked about");
	prov_account_close(acc);
	snprintf(cmd, sizeof(cmd), "rm -rf %s", dir);
	tap_is_long(system(cmd), 0, "away with it");
}

/* A cloud that takes connections and says nothing: repeats share the limit of one exchange, and after two calls it is let be. */
static void
test_silent(void)
{
	struct prov_env env = { .now = time_clock_s(), .account = "f", .installation = "inst", .log = &quiet };
	struct berth_err err = { 0 };
	struct prov_account *acc = NULL;
	char url[64];
	int64_t began, took;
	int n = 0;

	snprintf(url, sizeof(url), "http://127.0.0.1:%d/silent", ports[0]);
	base = url;
	memset(&me, 0, sizeof(me));
	tap_code(account_open(&ops, NULL, &env, &acc, &err), BERTH_OK, &err);
	acc->http.timeout_s = 1;
	for (int i = 0; i < 3; i++) {
		began = time_mono_ms();
		tap_code(prov_offers(acc, NULL, count_offer, &n, &err), BERTH_ETRANSIENT, &err);
		took = time_mono_ms() - began;
		tap_ok(i < 2 ? took >= 900 && took < 1900 : took < 500, "call %d took %lld ms: %s", i, (long long)took, err.msg);
	}
	acc->silent_ms -= 31000;
	snprintf(url, sizeof(url), "http://127.0.0.1:%d/count", ports[0]);
	tap_code(prov_offers(acc, NULL, count_offer, &n, &err), BERTH_OK, &err);
	tap_is_long(acc->silent, 0, "asked again after half a minute, and forgiven");
	prov_account_close(acc);
}

/* The base of the account that is asked stands in its name: one adapter, sixteen places. */
static enum berth_code
many_build(void *st, const struct prov_query *q, const struct prov_cursor *cur, struct http_req *req,
    struct berth_err *err)
{
	const struct prov_env *env = *(const struct prov_env **)st;	/* what provider_fake keeps */

	(void)q;
	(void)cur;
	(void)err;
	http_req_url(req, "http://127.0.0.1:%s", env->account);
	return BERTH_OK;
}

static void
test_many(void)
{
	struct prov_env env = { .now = time_clock_s(), .installation = "inst", .log = &quiet };
	struct prov_many m[16] = { 0 }, *one;
	struct prov_many_run *run;
	struct berth_err err = { 0 };
	int found[16] = { 0 }, good = 0, all = 0;
	int64_t began, took;
	char name[16][32];

	memset(&me, 0, sizeof(me));
	market.offers_build = many_build;
	for (int i = 0; i < 16; i++) {
		snprintf(name[i], sizeof(name[i]), "%d/%s", ports[i], i == 5 ? "silent" : "offers");
		env.account = name[i];
		tap_code(account_open(&ops, NULL, &env, &m[i].account, &err), BERTH_OK, &err);
		m[i].offer_fn = count_offer;
		m[i].arg = &found[i];
	}
	began = time_mono_ms();
	prov_run_many(m, 16, 2);
	took = time_mono_ms() - began;
	for (int i = 0; i < 16; i++) {
		good += m[i].code == BERTH_OK;
		all += found[i];
	}
	tap_ok(good == 15 && all == 45, "15 of 16 clouds answer with 3 offers each (%d, %d)", good, all);
	tap_ok(m[5].code == BERTH_ETRANSIENT && took >= 1900 && took < 3500, "the silent one ends with the pass: %s", m[5].err.msg);
	tap_ok(m[4].took_ms < 1500 && m[6].took_ms < 1500, "and delays nobody: %lld ms", (long long)m[6].took_ms);
	began = time_mono_ms();
	m[5].deadline_s = 1;
	run = prov_many_begin(m, 16, 3);
	for (int i = 0; (one = prov_many_next(run)) != NULL; i++) {
		if (one == &m[5])
			tap_ok(i == 15 && one->code == BERTH_ETRANSIENT, "the silent one comes last");
		if (i == 0)
			tap_code(prov_offers(one->account, NULL, count_offer, &found[0], &err), BERTH_OK, &err);
		good += one->code == BERTH_OK;
	}
	took = time_mono_ms() - began;
	tap_ok(good == 30 && took >= 950 && took < 2500, "one by one as they come, with a call between: %lld ms", (long long)took);
	began = time_mono_ms();
	prov_run_many(m + 6, 10, 0);
	took = time_mono_ms() - began;
	tap_ok(m[6].code == BERTH_OK && took < 1000, "ten of 200 ms take %lld ms", (long long)took);
	for (int i = 0; i < 16; i++)
		prov_account_close(m[i].account);
	market.offers_build = my_offers_build;
}

int
main(void)
{
	pid_t pid;

	quiet = (struct log){ .level = LOG_ERROR, .f = stderr };
	ops_set();
	test_steps();
	test_clock();
	test_create();
	test_destroy();
	test_notices();
	test_bytes();
	test_checks();
	test_spool();
	pid = server_start();
	if (pid > 0) {
		test_wire();
		test_cached();
		test_silent();
		test_many();
	} else {
		tap_skip("wire", "no python3");
	}
	fclose(to);
	waitpid(pid, NULL, 0);
	fclose(from);
	return tap_done();
}
