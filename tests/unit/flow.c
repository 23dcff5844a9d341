/* tests/unit/flow.c - credentials, signatures, clocks and repeats, with prepared answers. */
#include <stdio.h>
#include <string.h>

#include "tests/tap.h"
#include "tests/unit/flow_fake.h"
#include "util/str.h"

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

int
main(void)
{
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
	test_on_the_wire();
	return tap_done();
}
