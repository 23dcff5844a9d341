#include "model/datapath.h"
#include "providers/prov.h"
#include "providers/replay/replay.h"
#include "providers/replay/replay_int.h"
#include "providers/replay/serve.h"
#include "util/arena.h"
#include "util/fileio.h"
#include "util/time.h"

static const struct prov_key replay_keys[] = {
	{ "trace", PROV_KEY_STRING, false,
	    "berth.replay/1 file, beside berth.yaml or bundled; replay/example.trace" },
	{ "traces", PROV_KEY_PATH, false, "folder with traces.csv, segments.csv and prices.csv" },
	{ "set", PROV_KEY_STRING, false, "which of those: a pattern on trace_id; *" },
	{ "start", PROV_KEY_STRING, false,
	    "time that stands for the start of the trace; the trace's own" },
	{ "seed", PROV_KEY_INT, false, "luck of machines; 1" },
	{ "spot_price", PROV_KEY_STRING, false,
	    "USD a machine-hour where the set tells none; unknown" },
	{ "on_demand_price", PROV_KEY_STRING, false,
	    "USD a machine-hour; the set's machines are then sold on demand too" },
	{ "startup", PROV_KEY_DURATION, false, "of the set's machines; 2m" },
	{ "notice", PROV_KEY_DURATION, false, "of the set's preemptions; 2m" },
	{ NULL, PROV_KEY_STRING, false, NULL },
};

static enum berth_code
replay_price(
    const struct prov_conf *conf, const char *key, struct usd_micro *out, struct berth_err *err)
{
	const char *s = prov_conf_str(conf, key, NULL);

	*out = USD_UNKNOWN;
	if (s == NULL)
		return BERTH_OK;
	if (usd_parse(s, out, err) != BERTH_OK)
		return err_ctx(err, "%s", key);
	return out->v > 0 ? BERTH_OK : err_set(err, BERTH_EINVAL, "%s: must be above 0", key);
}

static enum berth_code
replay_open_set(struct replay *r, int64_t start, struct berth_err *err)
{
	const struct prov_conf *conf = r->env->conf;
	struct trace_tidy_opts o = {
		.set = prov_conf_str(conf, "set", "*"),
		.start = start,
		.startup_s = prov_conf_int(conf, "startup", 120),
		.notice_s = prov_conf_int(conf, "notice", 120),
	};
	enum berth_code rc;

	if ((rc = replay_price(conf, "spot_price", &o.spot_price, err)) != BERTH_OK ||
	    (rc = replay_price(conf, "on_demand_price", &o.on_demand_price, err)) != BERTH_OK)
		return rc;
	if (o.notice_s > 86400)
		return err_set(err, BERTH_EINVAL, "a notice of more than a day");
	return trace_add_tidy(
	    prov_conf_path(conf, "traces", NULL), &o, r->env->arena, &r->trace, err);
}

/* A file beside berth.yaml goes before a bundled one of the same name. */
static enum berth_code
replay_open_trace(struct replay *r, int64_t start, struct berth_err *err)
{
	const char *name = prov_conf_str(r->env->conf, "trace", "replay/example.trace");
	const char *path = prov_conf_path(r->env->conf, "trace", "replay/example.trace");
	enum berth_code rc;

	if (name[0] != '/' && !fileio_exists(path) &&
	    (rc = data_path(r->env->arena, name, &path, err)) != BERTH_OK)
		return rc;
	return trace_load(path, start, r->env->arena, &r->trace, err);
}

static enum berth_code
replay_open_refs(struct replay *r, struct berth_err *err)
{
	const char *path;
	enum berth_code rc = data_path(r->env->arena, "probe_reference.csv", &path, err);

	return rc == BERTH_OK ? measure_refs_load(path, r->env->arena, &r->refs, err) : rc;
}

static enum berth_code
replay_open(void *st, const struct prov_env *env, struct berth_err *err)
{
	struct replay *r = st;
	const char *start = prov_conf_str(env->conf, "start", NULL);
	bool set = prov_conf_has(env->conf, "traces");
	int64_t t = 0;
	enum berth_code rc;

	r->env = env;
	r->seed = (uint64_t)prov_conf_int(env->conf, "seed", 1);
	r->state_path = env->state_dir[0] == '\0' ? ""
						  : arena_printf(env->arena, "%s/replay-%s.json",
							env->state_dir, env->account);
	if (start != NULL && time_parse(start, env->now, NULL, TIME_ABSOLUTE, &t, err) != BERTH_OK)
		return err_ctx(err, "start");
	if (!set && prov_conf_has(env->conf, "set"))
		return err_set(err, BERTH_EINVAL, "'set' needs 'traces': the folder of traces.csv");
	rc = replay_open_refs(r, err);
	if (rc == BERTH_OK && (!set || prov_conf_has(env->conf, "trace")))
		rc = replay_open_trace(r, t, err);
	if (rc == BERTH_OK && set)
		rc = replay_open_set(r, t, err);
	return rc;
}

static enum berth_code
replay_exchange(void *st, const struct http_req *req, struct http_resp *resp, struct berth_err *err)
{
	struct replay *r = st;
	struct serve_world w = { &r->trace, r->seed, r->env->now, r->state_path, r->env->accels,
		&r->refs, &r->kept };

	return serve(&w, req, resp, err);
}

static void
replay_close(void *st)
{
	struct replay *r = st;

	state_kept_free(&r->kept);
}

enum berth_code
replay_request(struct http_req *req, const char *method, const char *path)
{
	return inproc_request(req, "replay", method, path);
}

const struct provider_ops provider_replay = {
	.abi = PROVIDER_ABI,
	.caps = PROV_CAP_OFFERS | PROV_CAP_QUOTA | PROV_CAP_NOTICES | PROV_CAP_LEASE |
		PROV_CAP_RUN | PROV_CAP_MEASURE | PROV_CAP_TOKEN | PROV_CAP_SPOT,
	.name = "replay",
	.summary =
	    "a cloud played from a trace: prices, capacity, preemptions, slow and broken machines",
	.state_size = sizeof(struct replay),
	.keys = replay_keys,
	.errors = inproc_errors,
	.error_read = inproc_error_read,
	.open = replay_open,
	.close = replay_close,
	.market = &replay_market,
	.lease = &replay_lease,
	.run = &replay_run,
	.exchange = replay_exchange,
};
