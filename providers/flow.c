#include <assert.h>
#include <string.h>
#include <time.h>

#include "net/http_cache.h"
#include "net/http_tape.h"
#include "providers/flow.h"
#include "providers/net.h"
#include "providers/tame.h"
#include "util/arena.h"
#include "util/glob.h"
#include "util/log.h"
#include "util/str.h"
#include "util/time.h"

#define FLOW_TRIES 3      /* of one request */
#define FLOW_WAIT_MAX_S 5 /* a longer Retry-After is the caller's to wait for */
#define FLOW_SILENT_MAX                                                                            \
	2                /* calls in a row without an answer, and the next ones are not made ...   \
			  */
#define FLOW_SILENT_S 30 /* ... for so long */

void
flow_init(struct flow *f, struct prov_account *acc, const struct flow_call *call)
{
	memset(f, 0, sizeof(*f));
	f->acc = acc;
	f->call = *call;
	f->began_ms = time_mono_ms();
}

static void
flow_drop_request(struct flow *f)
{
	if (f->resp.file != NULL)
		(void)fclose(f->resp.file);
	arena_free(f->req.arena);
	memset(&f->req, 0, sizeof(f->req));
	memset(&f->resp, 0, sizeof(f->resp));
}

static void
flow_end(struct flow *f, enum berth_code rc, const struct berth_err *err)
{
	f->state = FLOW_ENDED;
	f->rc = rc;
	f->ended_ms = time_mono_ms();
	if (rc != BERTH_OK && err != &f->err)
		f->err = *err;
	if (rc != BERTH_OK && f->req.arena != NULL) /* some clouds repeat what they were sent */
		str_copy(
		    f->err.msg, sizeof(f->err.msg), http_tape_scrub_words(&f->req, f->err.msg));
	flow_drop_request(f);
}

/* The next page, or the same request once more. */
static void
flow_again(struct flow *f, int64_t wake_ms)
{
	flow_drop_request(f);
	f->state = FLOW_BUILD;
	f->wake_ms = wake_ms;
}

/* What went wrong is said to be about credentials, once: an adapter's key may be called so too. */
static enum berth_code
flow_of_step(struct berth_err *err)
{
	return str_starts(err->msg, "credentials") ? err->code : err_ctx(err, "credentials");
}

static enum berth_code
flow_build_step(struct flow *f, int64_t now, struct berth_err *err)
{
	const struct prov_auth_ops *auth = f->acc->ops->auth;
	enum berth_code rc;

	if (f->steps++ == PROV_STEPS_MAX)
		return err_set(
		    err, BERTH_EAUTH, "credentials: no end after %d steps", PROV_STEPS_MAX);
	f->stepping = true;
	rc = auth->step_build(f->acc->st, now, &f->req, err);
	return rc == BERTH_OK ? rc : flow_of_step(err);
}

static void
flow_build(struct flow *f)
{
	const struct prov_auth_ops *auth = f->acc->ops->auth;
	int64_t now = account_auth_now(f->acc);
	struct berth_err err = { 0 };
	enum berth_code rc;

	f->req.arena = arena_new();
	f->stepping = false;
	if (auth != NULL && auth->need != NULL && auth->need(f->acc->st, now)) {
		rc = flow_build_step(f, now, &err);
	} else {
		rc = f->call.build(f->call.arg, &f->req, &err);
		if (f->no_cache)
			f->req.cache_ttl_s = 0;
		else if (rc == BERTH_OK)
			http_cache_ask(net_cache(f->acc->net), &f->req);
		if (rc == BERTH_OK && auth != NULL && auth->sign != NULL)
			rc = auth->sign(f->acc->st, &f->req, now, &err);
	}
	if (rc == BERTH_OK && account_on_wire(f->acc, &f->req))
		rc = tame_url(f->req.url, &err);
	if (rc != BERTH_OK) {
		flow_end(f, rc, &err);
		return;
	}
	f->req.idempotent = f->stepping || f->call.repeat != FLOW_ONCE;
	f->state = FLOW_SEND;
}

/* Full jitter (Brooker, 2015): uniform in 0 .. 0.2 s * 2^n, but at least what the provider asked
 * for. */
static int64_t
flow_back_off_ms(struct flow *f, int retry_after_s)
{
	double s = rng_unit(&f->acc->rng) * 0.2 * (double)(1 << f->attempt);

	if (!account_on_wire(f->acc, &f->req) || f->acc->hook != NULL)
		return 0; /* no wire: nobody to be kind to */
	return (int64_t)((s > retry_after_s ? s : retry_after_s) * 1000);
}

static bool
flow_may_repeat(
    const struct flow *f, enum berth_code rc, const struct berth_err *err, int64_t at_ms)
{
	return (f->stepping || f->call.repeat != FLOW_ONCE) &&
	       (rc == BERTH_ETRANSIENT || rc == BERTH_ETHROTTLED) && f->attempt + 1 < FLOW_TRIES &&
	       f->acc->retries_left > 0 && err->retry_after_s <= FLOW_WAIT_MAX_S &&
	       (f->page_end_ms == 0 || at_ms < f->page_end_ms);
}

/*
 * The clock was refused, or may have been: it is set by the provider's. What may be sent once only
 * is not sent again for a refusal of another kind, which may have left something behind.
 */
static bool
flow_skewed(struct flow *f, enum berth_code rc)
{
	int64_t off = f->resp.date != 0 ? f->resp.date - account_auth_now(f->acc) : 0;
	int s = f->resp.status;

	if (f->acc->ops->auth == NULL || f->skewed || (rc != BERTH_EAUTH && !f->req.idempotent) ||
	    (s != 400 && s != 401 && s != 403 && !(s / 100 == 2 && rc == BERTH_EAUTH)) ||
	    (off >= -PROV_SKEW_S && off <= PROV_SKEW_S))
		return false;
	f->skewed = true;
	f->acc->skew_s += off;
	log_warn(f->acc->env.log,
	    "%s: the provider's clock is %lld s ahead of this machine's; requests are dated by it",
	    f->acc->env.account, (long long)f->acc->skew_s);
	return true;
}

/* A token was refused: it is forgotten, once. A plain 403 is a right that no other token has
 * either. */
static bool
flow_dropped(struct flow *f, enum berth_code rc)
{
	const struct prov_auth_ops *auth = f->acc->ops->auth;

	if (auth == NULL || auth->drop == NULL || f->stepping || f->dropped || rc != BERTH_EAUTH ||
	    (f->resp.status == 403 && !glob_match("*xpired*", f->err.msg)))
		return false;
	f->dropped = true;
	f->steps = 0;
	auth->drop(f->acc->st);
	return true;
}

static enum berth_code
flow_judge(struct flow *f, struct berth_err *err)
{
	enum berth_code rc =
	    account_judge(f->acc, &f->req, &f->resp, !f->stepping && f->call.is_create, err);

	if (f->stepping && rc != BERTH_OK && f->resp.status / 100 == 4 &&
	    (rc == BERTH_EPERMANENT || rc == BERTH_ENOTFOUND))
		rc = err->code = BERTH_EAUTH;
	return rc;
}

/* The cache learns of an answer that was read, or forgets one that was not. True: it is asked for
 * anew. */
static bool
flow_settle(struct flow *f, bool good)
{
	struct http_cache *cache = net_cache(f->acc->net);

	if (good && !f->kept)
		http_cache_keep(cache, &f->req, &f->resp, time_clock_s());
	if (good || !f->kept)
		return false;
	http_cache_drop(cache, &f->req);
	f->no_cache = true;
	return true;
}

/* An answer that cannot be used: the place in it goes into the words, and where names whose answer
 * it was. */
static void
flow_blame(const struct flow *f, struct berth_err *err)
{
	char place[sizeof(err->where)];

	if (!account_on_wire(f->acc, &f->req) || strstr(err->where, "://") != NULL)
		return;
	if (err->where[0] != '\0') {
		str_copy(place, sizeof(place), err->where);
		err_ctx(err, "%s", place);
	}
	err_at(err, "%.*s", (int)strcspn(f->req.url, "?"), f->req.url);
}

static void
flow_page_done(struct flow *f)
{
	bool more = false;
	struct berth_err err = { 0 };
	enum berth_code rc;

	if (f->stepping) {
		rc = f->acc->ops->auth->step_parse(
		    f->acc->st, &f->resp, account_auth_now(f->acc), &err);
		if (rc != BERTH_OK)
			(void)flow_of_step(&err);
		more = true;
	} else {
		rc = f->call.parse(f->call.arg, &f->resp, &more, &err);
		if (flow_settle(f, rc == BERTH_OK)) {
			flow_again(f, 0);
			return;
		}
		f->steps = 0;
		f->dropped = f->skewed = f->no_cache = false;
	}
	f->attempt = 0;
	f->page_end_ms = 0;
	if (rc != BERTH_OK) {
		if (err.http_status == 0)
			err.http_status = f->resp.status;
		flow_blame(f, &err);
	}
	if (rc != BERTH_OK || !more)
		flow_end(f, rc, &err);
	else
		flow_again(f, 0);
}

/* The exchange has ended with rc: the answer, if any, is in f->resp. */
static void
flow_answer(struct flow *f, enum berth_code rc)
{
	bool whole = rc == BERTH_OK, all = f->req.any_status || (!f->stepping && f->call.every);
	int64_t again_ms = time_mono_ms();

	if (whole && (f->bytes += f->resp.body_len) > f->acc->bytes_max) {
		rc = err_set(&f->err, BERTH_EINVAL,
		    "more than %zu bytes in all: the list is refused", f->acc->bytes_max);
		flow_end(f, rc, &f->err);
		return;
	}
	if (whole && account_on_wire(f->acc, &f->req) && f->resp.date != 0)
		f->acc->date_off_s = f->resp.date - account_auth_now(f->acc) + f->acc->skew_s;
	if (whole)
		rc = flow_judge(f, &f->err);
	if (whole && rc != BERTH_OK && (flow_skewed(f, rc) || flow_dropped(f, rc))) {
		log_debug(f->acc->env.log, "%s: %s; with new credentials", f->acc->env.account,
		    f->err.msg);
		flow_again(f, 0);
		return;
	}
	if (rc != BERTH_OK)
		again_ms += flow_back_off_ms(f, f->err.retry_after_s);
	if (rc != BERTH_OK && flow_may_repeat(f, rc, &f->err, again_ms)) {
		log_debug(f->acc->env.log, "%s: %s; trying again", f->acc->env.account, f->err.msg);
		f->acc->retries_left--;
		f->attempt++;
		flow_again(f, again_ms);
	} else if (whole && (rc == BERTH_OK || all)) {
		f->judged = f->err;
		f->judged.code = rc;
		flow_page_done(f);
	} else {
		if (!whole && rc == BERTH_ETRANSIENT && account_on_wire(f->acc, &f->req) &&
		    f->acc->hook == NULL) {
			f->acc->silent++;
			f->acc->silent_ms = time_mono_ms();
		}
		if (f->stepping)
			(void)flow_of_step(&f->err);
		flow_end(f, rc, &f->err);
	}
}

static void
flow_landed(void *arg, enum berth_code rc, const struct berth_err *err)
{
	struct flow *f = arg;

	f->state = FLOW_SEND;
	f->acc->silent = rc == BERTH_ETRANSIENT ? f->acc->silent : 0;
	if (rc == BERTH_OK && f->resp.status == 304 && !f->stepping && !f->no_cache) {
		f->kept =
		    http_cache_revive(net_cache(f->acc->net), &f->req, time_clock_s(), &f->resp);
		if (!f->kept) { /* it went away meanwhile */
			f->no_cache = true;
			flow_again(f, 0);
			return;
		}
	}
	if (rc != BERTH_OK)
		f->err = *err;
	else if (net_tape(f->acc->net) != NULL)
		rc = http_tape_put(
		    net_tape(f->acc->net), f->acc->env.account, &f->req, &f->resp, &f->err);
	flow_answer(f, rc);
}

/* A request's turn by the account's rate: bursts of what a second allows. False: not yet. */
static bool
flow_has_turn(struct flow *f)
{
	struct prov_account *acc = f->acc;
	int64_t now = time_mono_ms();

	if (acc->rate <= 0 || acc->hook != NULL)
		return true;
	if (acc->turn_ms > now) {
		f->wake_ms = acc->turn_ms;
		return false;
	}
	if (acc->turn_ms < now - 1000)
		acc->turn_ms = now - 1000;
	acc->turn_ms += (int64_t)(1000 / acc->rate);
	return true;
}

/* An answer without the wire: a cloud in this process, a test, a recording, the cache. True: it is
 * in f->resp. */
static bool
flow_send_here(struct flow *f, enum berth_code *rc)
{
	struct prov_account *acc = f->acc;

	if (acc->hook != NULL || !account_on_wire(acc, &f->req)) {
		*rc = acc->hook != NULL ? acc->hook(acc->hook_arg, acc, &f->req, &f->resp, &f->err)
					: prov_exchange_next(acc, &f->req, &f->resp, &f->err);
		if (*rc == BERTH_OK && f->req.spool && f->resp.file == NULL &&
		    f->resp.status / 100 == 2) {
			f->resp.file = http_spool_bytes(f->resp.body, f->resp.body_len);
			f->resp.body = "";
			f->resp.body_len = 0;
		}
		return true;
	}
	if (http_tape_plays(net_tape(acc->net))) {
		*rc =
		    http_tape_get(net_tape(acc->net), acc->env.account, &f->req, &f->resp, &f->err);
		return true;
	}
	f->kept = !f->stepping &&
		  http_cache_fresh(net_cache(acc->net), &f->req, time_clock_s(), &f->resp);
	*rc = BERTH_OK;
	return f->kept;
}

/* One loop needs one client: the first flow of a run that needs it lends the others its own. */
static enum berth_code
flow_net(struct flow *f, struct prov_net **net_out, struct berth_err *err)
{
	struct prov_account *acc = f->acc;
	enum berth_code rc;

	if (*f->shared == NULL) {
		rc = account_net(acc, f->shared, err);
		if (rc != BERTH_OK)
			return rc;
	} else if (acc->net != *f->shared) {
		prov_net_free(acc->net);
		acc->net = prov_net_ref(*f->shared);
	}
	*net_out = *f->shared;
	return BERTH_OK;
}

/* A cloud that answers nothing must not hold up whatever else would be asked of it for a limit
 * each. */
static bool
flow_is_silent(struct flow *f)
{
	struct prov_account *acc = f->acc;

	if (acc->silent < FLOW_SILENT_MAX || f->page_end_ms != 0)
		return false;
	if (time_mono_ms() < acc->silent_ms + FLOW_SILENT_S * 1000)
		return true;
	acc->silent = 0;
	return false;
}

/* Where the first request of a page has its own limit, its repeats share what is left of that. */
static int64_t
flow_deadline_ms(struct flow *f, struct prov_net *net)
{
	if (f->page_end_ms == 0) {
		f->page_end_ms =
		    time_mono_ms() +
		    (int64_t)http_limit_s(net_http(net), &f->acc->http, &f->req) * 1000;
		return f->deadline_ms;
	}
	return f->deadline_ms != 0 && f->deadline_ms < f->page_end_ms ? f->deadline_ms
								      : f->page_end_ms;
}

static void
flow_send(struct flow *f)
{
	struct prov_account *acc = f->acc;
	struct prov_net *net;
	enum berth_code rc;

	memset(&f->err, 0, sizeof(f->err));
	f->kept = false;
	if (flow_send_here(f, &rc)) {
		f->sent |= !f->stepping;
		flow_answer(f, rc);
		return;
	}
	if (acc->env.offline) {
		rc = err_set(&f->err, BERTH_EFAIL, "offline: not called");
		flow_end(f, rc, &f->err);
		return;
	}
	if (flow_is_silent(f)) {
		rc = err_set(&f->err, BERTH_ETRANSIENT,
		    "not asked: its last %d calls had no answer", acc->silent);
		flow_end(f, rc, &f->err);
		return;
	}
	if (!flow_has_turn(f))
		return;
	rc = flow_net(f, &net, &f->err);
	if (rc == BERTH_OK)
		rc = http_begin(net_http(net), &acc->http, &f->req, &f->resp,
		    flow_deadline_ms(f, net), flow_landed, f, &f->err);
	if (rc == BERTH_OK) {
		f->state = FLOW_FLYING;
		f->sent |= !f->stepping;
	} else {
		flow_answer(f, rc);
	}
}

/* As far as it goes without waiting. */
static void
flow_advance(struct flow *f)
{
	while ((f->state == FLOW_BUILD || f->state == FLOW_SEND) && f->wake_ms <= time_mono_ms()) {
		if (f->deadline_ms != 0 && time_mono_ms() >= f->deadline_ms) {
			enum berth_code rc =
			    err_set(&f->err, BERTH_ETRANSIENT, "no time left in this pass");

			flow_end(f, rc, &f->err);
		} else if (f->state == FLOW_BUILD) {
			flow_build(f);
		} else {
			flow_send(f);
		}
	}
}

/* Waits until one that is on the wire has landed, or until_ms. */
static void
flow_wait(struct flow *const *flows, size_t n, int64_t until_ms)
{
	struct timespec t;
	int64_t left_ms;
	struct berth_err err;

	for (size_t i = 0; i < n; i++) {
		enum berth_code rc;

		if (flows[i]->state != FLOW_FLYING)
			continue;
		rc = http_pump(net_http(flows[i]->acc->net), until_ms, &err);
		if (rc == BERTH_OK)
			return;
		http_cancel(net_http(flows[i]->acc->net));
		for (size_t j = 0; j < n; j++)
			if (flows[j]->state == FLOW_FLYING)
				flow_end(flows[j], rc, &err);
		return;
	}
	left_ms = until_ms - time_mono_ms();
	if (left_ms <= 0)
		return;
	t = (struct timespec){ left_ms / 1000, left_ms % 1000 * 1000000 };
	(void)nanosleep(&t, NULL);
}

/* All go as far as they can without waiting: how many have ended, and when the next one can go on.
 */
static size_t
flow_sweep(struct flow *const *flows, size_t n, int64_t *until_ms_out)
{
	int64_t until_ms = time_mono_ms() + 1000;
	size_t ended = 0;

	for (size_t i = 0; i < n; i++) {
		flow_advance(flows[i]);
		if (flows[i]->state == FLOW_ENDED) {
			ended++;
			continue;
		}
		if (flows[i]->state != FLOW_FLYING && flows[i]->wake_ms < until_ms)
			until_ms = flows[i]->wake_ms;
		if (flows[i]->deadline_ms != 0 && flows[i]->deadline_ms < until_ms)
			until_ms = flows[i]->deadline_ms;
	}
	*until_ms_out = until_ms;
	return ended;
}

bool
flow_ended(const struct flow *f)
{
	return f->state == FLOW_ENDED;
}

void
flow_share(struct flow *const *flows, size_t n, struct prov_net **shared)
{
	for (size_t i = 0; i < n; i++)
		flows[i]->shared = shared;
}

bool
flow_is_shut(const struct flow *f)
{
	return f->rc != BERTH_OK && (f->stepping || (f->rc == BERTH_EAUTH && !f->sent));
}

void
flow_resume(struct flow *f)
{
	f->state = FLOW_BUILD;
	f->rc = BERTH_OK;
	memset(&f->err, 0, sizeof(f->err));
	f->wake_ms = f->page_end_ms = 0;
	f->steps = f->attempt = 0;
	f->stepping = f->dropped = f->skewed = f->kept = f->sent = f->no_cache = false;
}

void
flow_run_some(struct flow *const *flows, size_t n, size_t want)
{
	int64_t until_ms;

	while (flow_sweep(flows, n, &until_ms) < want)
		flow_wait(flows, n, until_ms);
}

void
flow_run(struct flow *const *flows, size_t n)
{
	struct prov_net *shared = NULL;

	flow_share(flows, n, &shared);
	flow_run_some(flows, n, n);
}

enum berth_code
flow_run_one(struct flow *f, struct berth_err *err)
{
	flow_run(&f, 1);
	if (f->rc != BERTH_OK && err != NULL)
		*err = f->err;
	return f->rc;
}
