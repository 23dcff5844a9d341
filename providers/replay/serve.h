/* providers/replay/serve.h - the replayed cloud's side of an exchange.  Floor: providers. */
#ifndef BERTH_PROVIDERS_REPLAY_SERVE_H
#define BERTH_PROVIDERS_REPLAY_SERVE_H

#include "net/http.h"
#include "providers/replay/trace.h"

struct accel_table;
struct measure_refs;
struct state_kept;

struct serve_world {
	const struct trace *trace;
	uint64_t seed;
	int64_t now;
	const char *state_path; /* "": no machines can be made, the rest works */
	const struct accel_table *accels;
	const struct measure_refs *refs;
	struct state_kept *kept; /* of the state file, from one request to the next */
};

/*
 * Answers one request (berth-replay(5) lists paths and bodies): takes the lock of the state file,
 * moves the cloud to now, acts, and writes the file if anything but the clock changed. Refusals are
 * answers with a status and
 * {"error": {"code", "message"}}. Errors: BERTH_EIO, BERTH_ELOCKED, BERTH_EINVAL if the state file
 * is bad.
 */
BERTH_MUST_CHECK enum berth_code serve(const struct serve_world *world, const struct http_req *req,
    struct http_resp *resp, struct berth_err *err);

#endif
