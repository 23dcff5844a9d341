/* providers/flow.h - one call of an account as steps, so that many go on at once.  Floor:
 * providers; the core only. */
#ifndef BERTH_PROVIDERS_FLOW_H
#define BERTH_PROVIDERS_FLOW_H

#include "providers/account.h"

enum flow_repeat {       /* how a request may be sent */
	FLOW_READ,       /* no effect: may be repeated */
	FLOW_REPEATABLE, /* an effect that is the same when sent twice */
	FLOW_ONCE        /* never twice by ourselves, but where the cloud has refused it unread */
};

/*
 * What is asked: build and parse pages until parse leaves *more_out false. arg is the maker's.
 * build is called anew for each attempt.
 */
struct flow_call {
	enum flow_repeat repeat;
	bool is_create; /* see prov_classify() */
	bool every;     /* parse gets refusals too, judged in flow->judged */
	enum berth_code (*build)(void *arg, struct http_req *req, struct berth_err *err);
	enum berth_code (*parse)(
	    void *arg, const struct http_resp *resp, bool *more_out, struct berth_err *err);
	void *arg;
};

/*
 * The order: while auth->need() a step; build; sign; wait for its turn; send; judge; parse. A
 * refusal for the clock or for a token goes back to the start once each; what may be repeated does
 * so with jittered back-off, as long as the limit of one exchange lasts for all of them.
 */
struct flow {
	struct prov_account *acc;
	struct flow_call call;
	int64_t deadline_ms; /* time_mono_ms(); 0: none */
	enum berth_code rc;  /* once it has ended */
	struct berth_err err, judged;
	int64_t began_ms, ended_ms;

	/* private */
	enum { FLOW_BUILD, FLOW_SEND, FLOW_FLYING, FLOW_ENDED } state;
	int64_t wake_ms;     /* not before this */
	int64_t page_end_ms; /* of this request with its repeats; 0: not on the wire yet */
	size_t bytes;        /* of all answers so far; files do not count */
	int steps, attempt;
	bool stepping, dropped, skewed;
	bool kept;     /* the answer is the cache's own */
	bool sent;     /* the call itself, no step for it, has gone out at least once */
	bool no_cache; /* what was kept could not be read: asked for anew */
	struct http_req req;
	struct http_resp resp;
	struct prov_net **shared; /* of the run */
};

/* Ready to run; the rest of *f is set. */
void flow_init(struct flow *f, struct prov_account *acc, const struct flow_call *call);
/* Runs all [n] to their ends; each has its own rc and err. Those on the wire share one loop. */
void flow_run(struct flow *const *flows, size_t n);
/* The same until `want` of them have ended. Before it, once: where the client that they share is
 * kept. */
void flow_share(struct flow *const *flows, size_t n, struct prov_net **shared);
void flow_run_some(struct flow *const *flows, size_t n, size_t want);
bool flow_ended(const struct flow *f);
/* It failed before anybody was asked, for want of credentials: whatever else is asked fails too. */
bool flow_is_shut(const struct flow *f);
/* Goes on behind a failure, within the limits of all. */
void flow_resume(struct flow *f);
/* One flow: its rc, and its err into *err (may be NULL). */
BERTH_MUST_CHECK enum berth_code flow_run_one(struct flow *f, struct berth_err *err);

#endif
