/* src/model/machine.h - machines berth rents, the intents behind them, and what was measured.
 * Floor: model. */
#ifndef BERTH_MODEL_MACHINE_H
#define BERTH_MODEL_MACHINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/offer.h"
#include "util/money.h"

enum intent_state {
	INTENT_PENDING, /* committed, the provider was not called, or its answer is not known */
	INTENT_DONE,    /* the provider has confirmed */
	INTENT_FAILED,  /* refused; nothing was made */
	INTENT_STATE_COUNT
};

enum intent_kind { INTENT_CREATE, INTENT_DESTROY, INTENT_KIND_COUNT };

/* The row that is committed before any call that spends money. */
struct intent {
	int64_t id;
	enum intent_kind kind;
	const char *account;
	const char *token;   /* idempotency token, also the machine's tag */
	const char *job_id;  /* "" for a fleet machine */
	int64_t instance_id; /* destroy: which; create: 0 until known */
	struct offer offer;
	int64_t gang;       /* create: id of the first of the gang's intents; 0: a machine alone */
	int rank, machines; /* of the gang: 0 .. machines - 1 */
	enum intent_state state;
	int64_t created, settled;
	const char *reason; /* of a failure: the code's name and the provider's words */
};

enum instance_state {
	INSTANCE_STARTING,
	INSTANCE_READY,
	INSTANCE_NOTICED, /* noticed: the provider will take it back */
	INSTANCE_RELEASING,
	INSTANCE_GONE,
	INSTANCE_STATE_COUNT
};

#define INSTANCE_TOO_SLOW                                                                          \
	"too_slow" /* end_reason: it would have broken a deadline that another keeps */

struct instance {
	int64_t id;
	const char *account, *provider_ref; /* the provider's own id */
	int64_t intent_id;
	const char *job_id; /* who uses it; "" */
	struct offer offer; /* price snapshot of the launch */
	enum instance_state state;
	const char *address;
	int64_t created, ready, notice_at, reclaim_at, gone; /* 0: not (yet) */
	const char *end_reason; /* "released" "preempted" "probe_rejected" "lost" "not_spot" */
	struct usd_micro cost;  /* so far, at the launch price */
	const char *verdict;    /* "" accept discount reject */
	double speed;           /* measured over promised; NaN: not probed */
};

/* How the machine is paid at time t, at its end at the latest: "reserved" on an owned commitment,
 * else as its offer says. */
const char *instance_purchase(const struct instance *in, int64_t t);

const char *intent_state_name(enum intent_state s);
bool intent_state_parse(const char *s, enum intent_state *s_out);
const char *intent_kind_name(enum intent_kind k);
bool intent_kind_parse(const char *s, enum intent_kind *k_out);
const char *instance_state_name(enum instance_state s);
bool instance_state_parse(const char *s, enum instance_state *s_out);

#endif
