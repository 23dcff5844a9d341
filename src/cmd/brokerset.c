#include "cmd/brokerset.h"
#include "cmd/progpath.h"
#include "model/datapath.h"
#include "util/arena.h"

enum berth_code
brokerset_open(struct cmd_ctx *ctx, uint64_t seed, struct broker *b, struct berth_err *err)
{
	struct broker_setup s = { .store = ctx->store,
		.log = ctx->log,
		.arena = ctx->arena,
		.now = ctx->now,
		.seed = seed,
		.offline = ctx->offline };
	const struct config *config;
	enum berth_code rc;

	rc = cmd_config(ctx, &config, err);
	if (rc == BERTH_OK)
		rc = cmd_accels(ctx, &s.accels, err);
	if (rc == BERTH_OK)
		rc = data_path(ctx->arena, "probe_reference.csv", &s.refs_path, err);
	if (rc == BERTH_OK)
		rc = data_path(ctx->arena, "probe_thresholds.csv", &s.limits_path, err);
	if (rc != BERTH_OK)
		return rc;
	s.config = config->root;
	s.config_dir = progpath_dir(ctx->arena, config->path);
	s.state_dir = progpath_dir(ctx->arena, ctx->store_path);
	s.probe_path = progpath_probe(ctx->arena);
	s.quarantine_dir = arena_printf(ctx->arena, "%s/quarantine", s.state_dir);
	rc = broker_open(&s, b, err);
	if (rc != BERTH_OK)
		return rc;
	b->policy.tiers =
	    (struct tier_policy){ config->retention.raw_s, config->retention.hourly_s };
	b->policy.records_s = config->retention.records_s;
	return BERTH_OK;
}
