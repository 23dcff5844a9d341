/* tests/unit/flow_fake.h - the adapter that the tests of the core drive. */
#ifndef BERTH_TESTS_UNIT_FLOW_FAKE_H
#define BERTH_TESTS_UNIT_FLOW_FAKE_H

#include "providers/account.h"
#include "providers/fake/fake.h"
#include "util/log.h"

#define NOW INT64_C(1795996800)

/* What the adapter under test holds, and what it was asked. */
extern struct flow_me {
	int tokens;		/* steps made since the last drop */
	int want;		/* steps that a call needs */
	int steps, drops, signs, checks;
	bool any_status;
	int64_t signed_at[8];
} me;

extern const char *base;		/* what the requests of the adapter begin with */
extern struct log quiet;
extern int cache_ttl_s;

extern struct provider_ops ops;
extern struct prov_market_ops market;
/* Makes ops and market: provider_fake with credentials, checks and notices. */
void ops_set(void);

enum berth_code my_offers_build(void *st, const struct prov_query *q, const struct prov_cursor *cur,
    struct http_req *req, struct berth_err *err);
/* A prov_offer_fn; arg is an int. */
enum berth_code count_offer(void *arg, const struct offer *o, struct berth_err *err);

/* Against a server: in flow_wire.c. Runs nothing, and says so, without python3. */
void test_on_the_wire(void);

#endif
