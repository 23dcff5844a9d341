#include "config.h"

#include "broker/fleet.h"
#include "cmd/probe.h"
#include "model/datapath.h"
#include "util/arena.h"
#include "util/fileio.h"

#define PROBE_TABLE_MAX ((size_t)4 << 20)

enum berth_code
probe_tables(struct cmd_ctx *ctx, struct verdict_refs *refs_out, struct verdict_limits *limits_out,
    struct berth_err *err)
{
	const char *path;
	enum berth_code rc;
	char *bytes;
	size_t n;

	rc = data_path(ctx->arena, "probe_reference.csv", &path, err);
	if (rc == BERTH_OK)
		rc = fileio_slurp(ctx->arena, path, PROBE_TABLE_MAX, &bytes, &n, err);
	if (rc == BERTH_OK &&
	    (rc = verdict_refs_parse(bytes, n, ctx->arena, refs_out, err)) != BERTH_OK)
		return err_ctx(err, "%s", path);
	if (rc == BERTH_OK)
		rc = data_path(ctx->arena, "probe_thresholds.csv", &path, err);
	if (rc == BERTH_OK)
		rc = fileio_slurp(ctx->arena, path, PROBE_TABLE_MAX, &bytes, &n, err);
	if (rc == BERTH_OK && (rc = verdict_limits_parse(bytes, n, limits_out, err)) != BERTH_OK)
		return err_ctx(err, "%s", path);
	return rc == BERTH_OK && ctx->store != NULL
		   ? fleet_refs(ctx->store, ctx->now, ctx->arena, refs_out, err)
		   : rc;
}
