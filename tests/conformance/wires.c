/*
 * tests/conformance/wires.c - a cloud that says anything, one value twisted at a time, and what must hold all the same.
 * Which values: by BERTH_FUZZ_SEED (1); how many a provider: BERTH_FUZZ (60).
 */
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tests/conformance/twist.h"
#include "tests/conformance/wires.h"
#include "tests/tap.h"
#include "util/arena.h"
#include "util/log.h"
#include "util/rng.h"
#include "util/str.h"
#include "util/strmap.h"

#define WIRES_EACH 60
#define WIRES_CALLS_MAX 300		/* exchanges of one call: a list that never ends is a fault */
#define WIRES_SLOW_MS 4000	/* of the processor: the machine may be busy */
#define WIRES_ORIGINS_MAX 16
#define WIRES_SHOWN_MAX 12
#define WIRES_TYPE_PRICE_MAX INT64_C(100000000000)

enum wires_op { WIRES_OFFERS, WIRES_QUOTA, WIRES_NOTICES, WIRES_LIST, WIRES_STATUS, WIRES_DESTROY, WIRES_CREATE, WIRES_OPS };
static const char *const wires_names[WIRES_OPS] = { "offers", "quota", "notices", "list", "status", "destroy", "create" };

struct wires {
	const struct wires_case *c;
	struct arena *a;		/* of the provider */
	struct rng rng;
	char ref[128];			/* of the machine that is there */
	struct offer offer;		/* the first one on demand */
	char origins[WIRES_ORIGINS_MAX][128];
	size_t n_origins;
	bool honest;			/* learn origins; twist nothing */
	struct twist twist;
	int calls, faults;
	enum wires_op op;
	/* of one trial */
	struct strmap refs;
	size_t machines, twice;
	bool gone, ready, seen, made;	/* made: the answer that was twisted told of a machine that was made */
	struct arena *trial;
	char *log_text;
	size_t log_len;
	FILE *log;
};

static void wires_fault(struct wires *w, const char *fmt, ...) BERTH_PRINTF(2, 3);

static void
wires_fault(struct wires *w, const char *fmt, ...)
{
	char text[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (w->faults++ < WIRES_SHOWN_MAX)
		tap_diag("%s %s, %s = %.80s: %s", w->c->provider, wires_names[w->op], w->twist.name, w->twist.shown, text);
}

static void
wires_origin(const char *url, char *dst, size_t size)
{
	const char *host = strstr(url, "://");
	size_t n = host != NULL ? (size_t)(host + 3 - url) + strcspn(host + 3, "/?#") : strlen(url);

	snprintf(dst, size, "%.*s", (int)n, url);
}

/* No blank, no control byte, and no "." or ".." that a client would resolve into another resource. */
static void
wires_check_url(struct wires *w, const char *url)
{
	const char *path = strstr(url, "://");
	char origin[128];
	bool known = false;

	for (const char *p = url; *p != '\0'; p++)
		if ((unsigned char)*p <= ' ' || (unsigned char)*p >= 0x7f) {
			wires_fault(w, "byte 0x%02x in the URL %.200s", (unsigned char)*p, url);
			break;
		}
	path = path != NULL ? path + 3 + strcspn(path + 3, "/?#") : url;
	while (*path == '/') {
		size_t n = strcspn(path + 1, "/?#");

		if ((n == 1 && path[1] == '.') || (n == 2 && path[1] == '.' && path[2] == '.'))
			wires_fault(w, "a dot as a part of the path: %.200s", url);
		path += 1 + n;
	}
	wires_origin(url, origin, sizeof(origin));
	for (size_t i = 0; i < w->n_origins && !known; i++)
		known = str_eq(w->origins[i], origin);
	if (known)
		return;
	if (w->honest && w->n_origins < WIRES_ORIGINS_MAX)
		str_copy(w->origins[w->n_origins++], sizeof(w->origins[0]), origin);
	else if (!w->honest && !w->c->told_where)
		wires_fault(w, "a request to %.200s, where no honest answer led", url);
}

static enum berth_code
wires_count_up(void *arg, const struct prov_machine *m, struct berth_err *err)
{
	(void)err;
	*(int *)arg += m->state != PROV_GONE;
	return BERTH_OK;
}

/* How many machines the cloud has by its own honest word. */
static int
wires_up(const struct wires *w)
{
	struct prov_account *acc = w->c->open(w->c->arg, WIRES_NOW + w->c->startup_s);
	struct berth_err err = { 0 };
	int n = 0;

	prov_account_hook(acc, w->c->cloud, NULL);
	if (prov_list_ours(acc, wires_count_up, &n, &err) != BERTH_OK)
		n = -1;
	prov_account_close(acc);
	return n;
}

static bool
wires_may_make(const struct http_req *req)
{
	return req->method != NULL && !str_eq(req->method, "GET");
}

static enum berth_code
wires_answer(void *arg, struct prov_account *acc, const struct http_req *req, struct http_resp *resp, struct berth_err *err)
{
	struct wires *w = arg;
	enum berth_code rc;
	int before = -1;

	wires_check_url(w, req->url);
	if (++w->calls > WIRES_CALLS_MAX) {
		if (w->calls == WIRES_CALLS_MAX + 1)
			wires_fault(w, "%d exchanges and no end", WIRES_CALLS_MAX);
		return err_set(err, BERTH_EPERMANENT, "enough");
	}
	if (w->op == WIRES_CREATE && !w->honest && !w->twist.hit && wires_may_make(req))
		before = wires_up(w);
	rc = w->c->cloud(NULL, acc, req, resp, err);
	if (rc == BERTH_OK)
		twist_answer(&w->twist, req->arena, resp);
	if (before >= 0 && w->twist.hit)
		w->made = wires_up(w) > before;
	return rc;
}

/* --- what comes out --------------------------------------------------------------------------------------------- */

static bool
wires_tame(const char *s)
{
	for (; *s != '\0'; s++)
		if (str_control_len(s) > 0)
			return false;
	return true;
}

static enum berth_code
wires_offer(void *arg, const struct offer *o, struct berth_err *err)
{
	struct wires *w = arg;
	struct usd_micro hour = offer_effective_hour(o);
	const char *all[] = { o->provider, o->account, o->region, o->zone, o->instance_type, o->accelerator, o->source };

	(void)err;
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (all[i] == NULL) {
			wires_fault(w, "an offer without its string %zu", i);
			return BERTH_OK;
		}
	if (!wires_tame(o->region) || !wires_tame(o->zone) || !wires_tame(o->instance_type) || !wires_tame(o->accelerator))
		wires_fault(w, "control characters in the words of an offer");
	if (usd_known(o->price) && (o->price.v < 0 || o->price.v > WIRES_TYPE_PRICE_MAX))
		wires_fault(w, "%s costs %" PRId64 " micro-USD an hour", o->instance_type, o->price.v);
	if (usd_known(o->upfront) && o->upfront.v < 0)
		wires_fault(w, "%s costs %" PRId64 " micro-USD upfront", o->instance_type, o->upfront.v);
	if (usd_known(hour) && (hour.v <= 0 || hour.v > WIRES_TYPE_PRICE_MAX))
		wires_fault(w, "%s costs %" PRId64 " micro-USD an hour in all", o->instance_type, hour.v);
	if (o->accelerator_count < 0 || o->accelerator_count > 100000 || o->accelerator_memory_gib < 0 ||
	    o->accelerator_memory_gib > 100000 || o->vcpus < 0 || o->vcpus > 1e6 || o->memory_gib < 0 || o->memory_gib > 1e7 ||
	    o->interruption_rate < 0)
		wires_fault(w, "%s has %d accelerators of %g GiB, %g vCPUs, %g GiB, %g interruptions", o->instance_type,
		    o->accelerator_count, o->accelerator_memory_gib, o->vcpus, o->memory_gib, o->interruption_rate);
	if (o->as_of > WIRES_NOW + 86400 || o->as_of < 0)
		wires_fault(w, "%s is as of %" PRId64, o->instance_type, o->as_of);
	if (strlen(o->currency) != 3)
		wires_fault(w, "%s in the currency '%s'", o->instance_type, o->currency);
	if ((o->purchase == PURCHASE_RESERVED) != (o->term_months > 0 || o->kind == OFFER_BLOCK))
		wires_fault(w, "%s %s for %d months", o->instance_type, purchase_name(o->purchase), o->term_months);
	if (w->offer.provider == NULL && o->purchase == PURCHASE_ON_DEMAND)
		w->offer = offer_copy(o, w->a);
	return BERTH_OK;
}

static enum berth_code
wires_quota(void *arg, const struct prov_quota *q, struct berth_err *err)
{
	struct wires *w = arg;

	(void)err;
	if (q->limit < 0 || q->used < 0 || isinf(q->limit) || isinf(q->used))
		wires_fault(w, "quota %s: %g of %g", q->name, q->used, q->limit);
	if (memchr(q->name, 0, sizeof(q->name)) == NULL || memchr(q->region, 0, sizeof(q->region)) == NULL)
		wires_fault(w, "a quota's name does not end");
	return BERTH_OK;
}

static void
wires_look(struct wires *w, const struct prov_machine *m)
{
	const char *texts[] = { m->ref, m->instance_type, m->region, m->zone, m->address, m->detail };

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		if (!wires_tame(texts[i]))
			wires_fault(w, "control characters in text %zu of machine %.40s", i, m->ref);
	if (m->address[0] == '-' || m->address[strcspn(m->address, " \t'\"`$;|&<>\\(){}*?!")] != '\0')
		wires_fault(w, "'%.60s' as an address", m->address);
	if (m->created < 0 || m->created > WIRES_NOW + 2 * 86400 || m->ended < 0 || m->ready_at < 0 || m->notice_at < 0 ||
	    m->reclaim_at < 0)
		wires_fault(w, "a machine of %" PRId64 ", ready %" PRId64 ", ended %" PRId64 ", reclaimed %" PRId64, m->created, m->ready_at, m->ended,
		    m->reclaim_at);
	if ((unsigned)m->state >= PROV_STATE_COUNT)
		wires_fault(w, "a machine of no state");
	if (str_eq(m->ref, w->ref)) {
		w->seen = true;
		w->gone |= m->state == PROV_GONE;
		w->ready |= m->state == PROV_READY;
	}
}

static enum berth_code
wires_machine(void *arg, const struct prov_machine *m, struct berth_err *err)
{
	struct wires *w = arg;
	int added = 0;

	(void)err;
	w->machines++;
	strmap_add(w->trial, &w->refs, m->ref, 1, &added);
	w->twice += !added;
	if (m->ref[0] == '\0')
		wires_fault(w, "a machine without ref");
	wires_look(w, m);
	return BERTH_OK;
}

/* --- one call ------------------------------------------------------------------------------------------------------ */

static enum berth_code
wires_call(struct wires *w, struct prov_account *acc, struct berth_err *err)
{
	struct prov_create want = { .token = "tok-1", .offer = &w->offer };
	struct prov_machine m = { .ref = "" };
	enum berth_code rc;

	switch (w->op) {
	case WIRES_OFFERS:
		return prov_offers(acc, NULL, wires_offer, w, err);
	case WIRES_QUOTA:
		return prov_quotas(acc, wires_quota, w, err);
	case WIRES_NOTICES:
		return prov_notices(acc, wires_machine, w, err);
	case WIRES_LIST:
		return prov_list_ours(acc, wires_machine, w, err);
	case WIRES_STATUS:
		rc = prov_status(acc, w->ref, &m, err);
		break;
	case WIRES_DESTROY:
		rc = prov_destroy(acc, w->ref, &m, err);
		break;
	case WIRES_CREATE:
		rc = prov_create(acc, &want, &m, err);
		break;
	case WIRES_OPS:
	default:
		return BERTH_OK;
	}
	if (rc == BERTH_OK)
		wires_look(w, &m);
	return rc;
}

static bool
wires_can(const struct wires *w, enum wires_op op)
{
	const unsigned caps = w->c->caps;

	return op == WIRES_OFFERS ? (caps & PROV_CAP_OFFERS) != 0 : op == WIRES_QUOTA ? (caps & PROV_CAP_QUOTA) != 0 :
	    op == WIRES_NOTICES ? (caps & PROV_CAP_NOTICES) != 0 : true;
}

static struct prov_account *
wires_open(struct wires *w, int64_t now)
{
	struct prov_account *acc = w->c->open(w->c->arg, now);

	prov_account_hook(acc, wires_answer, w);
	return acc;
}

/* One machine that is ready. */
static bool
wires_set_up(struct wires *w)
{
	struct prov_create want = { .token = "tok-0", .offer = &w->offer };
	struct berth_err err = { 0 };
	struct prov_machine m = { .ref = "" };
	struct prov_account *acc = wires_open(w, WIRES_NOW);
	bool ok;

	w->c->fresh();
	w->twist = (struct twist){ .at = SIZE_MAX };
	w->honest = true;
	w->calls = 0;
	ok = w->offer.provider != NULL || prov_offers(acc, NULL, wires_offer, w, &err) == BERTH_OK;
	ok = ok && prov_create(acc, &want, &m, &err) == BERTH_OK;
	str_copy(w->ref, sizeof(w->ref), m.ref);
	prov_account_set_now(acc, WIRES_NOW + w->c->startup_s);
	ok = ok && prov_status(acc, w->ref, &m, &err) == BERTH_OK && m.state == PROV_READY;
	if (!ok)
		tap_diag("%s: %s", w->c->provider, err.msg);
	prov_account_close(acc);
	w->honest = false;
	return ok;
}

static void
wires_begin(struct wires *w, size_t at, size_t value)
{
	w->twist = (struct twist){ .at = at, .pick = value, .value = "" };
	w->made = false;
	w->calls = 0;
	w->refs = (struct strmap){ 0 };
	w->machines = w->twice = 0;
	w->gone = w->ready = w->seen = false;
	w->trial = arena_new();
}

/* How many values the answers of a call hold. */
static size_t
wires_count(struct wires *w)
{
	struct prov_account *acc = wires_open(w, WIRES_NOW + w->c->startup_s);
	struct berth_err err = { 0 };

	wires_begin(w, SIZE_MAX, 0);
	w->honest = true;
	if (wires_call(w, acc, &err) != BERTH_OK)
		wires_fault(w, "an honest answer is refused: %s", err.msg);
	if (w->twice > 0)
		wires_fault(w, "an honest machine twice");
	w->honest = false;
	prov_account_close(acc);
	arena_free(w->trial);
	return w->twist.seen;
}

/* What the words of a failure and of the log may not hold. */
static void
wires_words(struct wires *w, const struct berth_err *err)
{
	fflush(w->log);
	if (strstr(err->msg, "SECRET") != NULL || strstr(err->where, "SECRET") != NULL ||
	    (w->log_text != NULL && strstr(w->log_text, "SECRET") != NULL))
		wires_fault(w, "the key in the words: %.200s", err->msg);
	for (size_t i = 0; w->log_text != NULL && i < w->log_len; i++)
		if (((unsigned char)w->log_text[i] < ' ' && w->log_text[i] != '\n') || w->log_text[i] == 0x7f) {
			wires_fault(w, "byte 0x%02x in the log", (unsigned char)w->log_text[i]);
			break;
		}
	rewind(w->log);
}

/* RunPod's null for a pod and Vast's success: false are refusals. */
static bool
wires_says_no(const struct wires *w)
{
	return str_eq(w->twist.shown, "null") || str_eq(w->twist.shown, "false");
}

/* What says in a job of Slurm's whose it is: a number may have come to mean another's. */
static bool
wires_is_mark(const struct wires *w)
{
	return str_eq(w->c->provider, "slurm") && (str_eq(w->twist.name, "comment") || str_eq(w->twist.name, "user_name"));
}

static void
wires_trial(struct wires *w, size_t at, size_t value)
{
	struct prov_account *acc = wires_open(w, WIRES_NOW + w->c->startup_s);
	struct berth_err err = { 0 };
	clock_t from = clock();
	int64_t took;
	enum berth_code rc;

	wires_begin(w, at, value);
	rc = wires_call(w, acc, &err);
	took = (int64_t)(clock() - from) * 1000 / CLOCKS_PER_SEC;
	if (took > WIRES_SLOW_MS)
		wires_fault(w, "%" PRId64 " ms", took);
	if (w->twice > 0)
		wires_fault(w, "%zu machines, %zu of them counted twice", w->machines, w->twice);
	if (w->gone && !wires_is_mark(w) && (w->op == WIRES_LIST || w->op == WIRES_STATUS || w->op == WIRES_CREATE))
		wires_fault(w, "a machine that runs is called gone");
	if (w->twist.is_state && w->ready && w->op != WIRES_CREATE)
		wires_fault(w, "called ready for a state that nobody knows");
	if (w->twist.is_state && !w->seen && rc == BERTH_OK && w->op == WIRES_LIST)
		wires_fault(w, "forgotten for a state that nobody knows");
	if (w->made && rc != BERTH_OK && rc != BERTH_ETRANSIENT && !wires_says_no(w))
		wires_fault(w, "a machine was made, and the answer is taken for a refusal (%s): %.200s", err_name(rc), err.msg);
	wires_words(w, &err);
	prov_account_close(acc);
	arena_free(w->trial);
	if (w->op == WIRES_DESTROY || w->op == WIRES_CREATE)
		(void)wires_set_up(w);
}

/* --- ids that lead elsewhere ----------------------------------------------------------------------------------------- */

struct wires_shape { int slashes, marks, ands; char method[16]; };
struct wires_ref { struct wires *w; struct wires_shape v[8]; size_t n; };

/* How a request is cut into parts: the same whatever the id is. */
static enum berth_code
wires_ref_answer(void *arg, struct prov_account *acc, const struct http_req *req, struct http_resp *resp, struct berth_err *err)
{
	struct wires_ref *r = arg;
	struct wires_shape s;

	memset(&s, 0, sizeof(s));
	wires_check_url(r->w, req->url);
	for (const char *p = req->url; *p != '\0'; p++) {
		s.slashes += *p == '/' && s.marks == 0;
		s.marks += *p == '?' || *p == '#';
		s.ands += *p == '&';
	}
	for (size_t i = 0; req->body != NULL && i < req->body_len && req->body[0] != '{' && req->body[0] != '['; i++)
		s.ands += req->body[i] == '&';
	str_copy(s.method, sizeof(s.method), req->method != NULL ? req->method : "GET");
	if (r->n < 8)
		r->v[r->n++] = s;
	return r->w->c->cloud(NULL, acc, req, resp, err);
}

static void
wires_refs(struct wires *w)
{
	static const char *const ends[] = { "..", ".", "../x", "x/../../y", "x/y", "x?y=1", "x#y", "x%2fy", "x%2e%2e", "x y", "x&y=1",
		"x&Action=TerminateInstances", "x\r\nHost: evil", "x\x1b[2J", "x,y", "x;y", "x\"y", "x'y", "*", "-x", "x\\y", "\xc3\xa9" };
	const char *slash = strrchr(w->ref, '/');
	int head = slash != NULL ? (int)(slash + 1 - w->ref) : 0;
	struct wires_ref plain = { .w = w }, twisted;
	struct prov_account *acc = wires_open(w, WIRES_NOW + w->c->startup_s);
	struct prov_machine m;
	struct berth_err err = { 0 };

	w->op = WIRES_DESTROY;
	(void)!prov_status(acc, w->ref, &m, &err);	/* so that tokens are there */
	prov_account_hook(acc, wires_ref_answer, &plain);
	(void)!prov_status(acc, w->ref, &m, &err);
	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		const char *ref = arena_printf(w->a, "%.*s%s", head, w->ref, ends[i]);

		w->twist = (struct twist){ .at = SIZE_MAX, .name = "ref" };
		snprintf(w->twist.shown, sizeof(w->twist.shown), "%zu", i);
		twisted = (struct wires_ref){ .w = w };
		prov_account_hook(acc, wires_ref_answer, &twisted);
		(void)!prov_status(acc, ref, &m, &err);
		if (twisted.n > 0 && plain.n > 0 && memcmp(&twisted.v[0], &plain.v[0], sizeof(plain.v[0])) != 0)
			wires_fault(w, "its request has another shape");
		wires_words(w, &err);
		(void)!prov_destroy(acc, ref, &m, &err);
		wires_words(w, &err);
	}
	prov_account_close(acc);
	acc = wires_open(w, WIRES_NOW + w->c->startup_s);
	wires_begin(w, SIZE_MAX, 0);
	if (prov_status(acc, w->ref, &m, &err) != BERTH_OK || m.state != PROV_READY)
		wires_fault(w, "the machine was touched");
	arena_free(w->trial);
	prov_account_close(acc);
}

/* --- launches whose answer is lost ---------------------------------------------------------------------------------- */

enum wires_loss { LOST_WHOLE, LOST_502, LOST_CUT, LOST_HTML, LOST_EMPTY, LOST_COUNT };
struct wires_lost { struct wires *w; enum wires_loss how; bool lost; size_t creates; };

static enum berth_code
wires_lose(void *arg, struct prov_account *acc, const struct http_req *req, struct http_resp *resp, struct berth_err *err)
{
	struct wires_lost *l = arg;
	int before = wires_may_make(req) && !l->lost ? wires_up(l->w) : -1;
	enum berth_code rc;

	rc = l->w->c->cloud(NULL, acc, req, resp, err);
	if (before < 0 || wires_up(l->w) == before)
		return rc;
	l->creates++;
	if ((l->w->c->caps & PROV_CAP_TOKEN) == 0)
		l->lost = true;
	switch (l->how) {
	case LOST_WHOLE:
		return err_set(err, BERTH_ETRANSIENT, "no whole answer within 30 s");
	case LOST_502:
		resp->status = 502;
		resp->body = "<html>Bad Gateway</html>";
		break;
	case LOST_CUT:
		resp->body = arena_strndup(req->arena, resp->body, resp->body_len / 2);
		break;
	case LOST_HTML:
		resp->body = "<html>welcome</html>";
		break;
	case LOST_EMPTY:
		resp->body = "";
		break;
	case LOST_COUNT:
	default:
		break;
	}
	resp->body_len = strlen(resp->body);
	return rc;
}

static enum berth_code
wires_of_token(void *arg, const struct prov_machine *m, struct berth_err *err)
{
	(void)err;
	*(int *)arg += str_eq(m->token, "tok-1") && m->state != PROV_GONE;
	return BERTH_OK;
}

/* The machine is there, nobody knows: it is no refusal, and the list brings it by its token. */
static void
wires_lost(struct wires *w)
{
	for (int how = LOST_WHOLE; how < LOST_COUNT; how++) {
		struct prov_create want = { .token = "tok-1", .offer = &w->offer };
		struct wires_lost l = { .w = w, .how = (enum wires_loss)how };
		struct prov_account *acc;
		struct prov_machine m;
		struct berth_err err = { 0 };
		enum berth_code rc;
		int found = 0;

		(void)wires_set_up(w);
		w->op = WIRES_CREATE;
		w->twist = (struct twist){ .at = SIZE_MAX, .name = "answer" };
		snprintf(w->twist.shown, sizeof(w->twist.shown), "lost in way %d", how);
		acc = wires_open(w, WIRES_NOW + w->c->startup_s);
		prov_account_hook(acc, wires_lose, &l);
		rc = prov_create(acc, &want, &m, &err);
		if (l.creates == 0)
			wires_fault(w, "no machine came of it");
		if (rc != BERTH_ETRANSIENT && rc != BERTH_OK)
			wires_fault(w, "taken for a refusal (%s): %.200s", err_name(rc), err.msg);
		if (l.creates > 1)
			wires_fault(w, "%zu machines came of it", l.creates);
		prov_account_hook(acc, w->c->cloud, NULL);
		if (prov_list_ours(acc, wires_of_token, &found, &err) != BERTH_OK || found != 1)
			wires_fault(w, "%d machines are found by the token: %.100s", found, err.msg);
		prov_account_close(acc);
	}
}

static uint64_t
wires_env(const char *name, uint64_t fallback)
{
	const char *s = getenv(name);

	return s != NULL && s[0] != '\0' ? strtoull(s, NULL, 10) : fallback;
}

void
wires_hold(const struct wires_case *c)
{
	struct wires w = { .c = c, .a = arena_new() };
	size_t points[WIRES_OPS] = { 0 }, trials = 0;
	uint64_t each = wires_env("BERTH_FUZZ", WIRES_EACH), seed = wires_env("BERTH_FUZZ_SEED", 1);
	struct log own;

	w.log = open_memstream(&w.log_text, &w.log_len);
	own = (struct log){ .level = LOG_DEBUG, .f = w.log };
	*c->log = own;
	rng_seed(&w.rng, seed ^ (uint64_t)strlen(c->provider) << 8 ^ (unsigned char)c->provider[0]);
	if (wires_set_up(&w)) {
		for (int op = 0; op < WIRES_OPS; op++) {
			w.op = (enum wires_op)op;
			points[op] = wires_can(&w, w.op) ? wires_count(&w) : 0;
			if (op == WIRES_DESTROY || op == WIRES_CREATE)
				(void)wires_set_up(&w);
		}
		for (; trials < each; trials++) {
			w.op = (enum wires_op)rng_below(&w.rng, WIRES_OPS);
			if (points[w.op] > 0)
				wires_trial(&w, (size_t)rng_below(&w.rng, points[w.op]), (size_t)rng_u64(&w.rng));
		}
		wires_refs(&w);
		wires_lost(&w);
	}
	tap_is_long(w.faults, 0, "%s: %zu twisted values do no harm (seed %" PRIu64 ")", c->provider, trials, seed);
	fclose(w.log);
	free(w.log_text);
	c->fresh();
	arena_free(w.a);
}
