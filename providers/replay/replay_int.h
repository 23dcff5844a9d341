/* providers/replay/replay_int.h - what the files of this adapter share.  Floor: providers; this
 * folder only. */
#ifndef BERTH_PROVIDERS_REPLAY_INT_H
#define BERTH_PROVIDERS_REPLAY_INT_H

#include "providers/inproc.h"
#include "providers/provider.h"
#include "providers/replay/measure.h"
#include "providers/replay/state.h"
#include "providers/replay/trace.h"
#include "util/json.h"

struct replay {
	const struct prov_env *env;
	struct trace trace;
	uint64_t seed;
	struct measure_refs refs;
	const char *state_path; /* "": none */
	struct state_kept kept;
};

extern const struct prov_market_ops replay_market;
extern const struct prov_lease_ops replay_lease;
extern const struct prov_run_ops replay_run;

/* A request for replay://path. Always BERTH_OK: the last word of a build function. */
enum berth_code replay_request(struct http_req *req, const char *method, const char *path);
#endif
