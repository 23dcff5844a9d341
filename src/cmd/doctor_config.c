/* Whether every part of berth.yaml can be read, as the verbs that use it will. */
#include "broker/bench.h"
#include "broker/broker.h"
#include "broker/idling.h"
#include "broker/pricelist.h"
#include "broker/scaling.h"
#include "broker/shares.h"
#include "cmd/calendar.h"
#include "cmd/doctor.h"
#include "cmd/joins.h"
#include "cmd/roadmap.h"
#include "model/block.h"
#include "providers/net.h"

typedef enum berth_code doctor_part_fn(
    struct cmd_ctx *ctx, const struct config *c, struct berth_err *err);

static enum berth_code
doctor_part_prices(struct cmd_ctx *ctx, const struct config *c, struct berth_err *err)
{
	struct pricelist_policy policy;

	return pricelist_policy_read(c->root, c->dir, ctx->now, ctx->arena, &policy, err);
}

static enum berth_code
doctor_part_limits(struct cmd_ctx *ctx, const struct config *c, struct berth_err *err)
{
	const struct accel_table *accels;
	struct placing_limit *limits;
	enum berth_code rc = cmd_accels(ctx, &accels, err);
	size_t n;

	return rc == BERTH_OK ? broker_limits_read(c->root, accels, ctx->arena, &limits, &n, err)
			      : BERTH_OK; /* that is told as a fault of the table */
}

static enum berth_code
doctor_part_shares(struct cmd_ctx *ctx, const struct config *c, struct berth_err *err)
{
	const struct share_policy *policy;

	return shares_read(c->root, ctx->arena, &policy, err);
}

static enum berth_code
doctor_part_block(struct cmd_ctx *ctx, const struct config *c, struct berth_err *err)
{
	const char *const *rules;
	size_t n;

	return block_rules_read(c->root, "block", ctx->arena, &rules, &n, err);
}

static enum berth_code
doctor_part_idle(struct cmd_ctx *ctx, const struct config *c, struct berth_err *err)
{
	struct idle_rule rule;

	(void)ctx;
	return idling_read(c->root, &rule, err);
}

static enum berth_code
doctor_part_measure(struct cmd_ctx *ctx, const struct config *c, struct berth_err *err)
{
	const struct accel_table *accels;
	struct bench *benches;
	enum berth_code rc = cmd_accels(ctx, &accels, err);
	size_t n;

	return rc == BERTH_OK ? bench_read(c->root, accels, ctx->arena, &benches, &n, err)
			      : BERTH_OK;
}

static enum berth_code
doctor_part_fleets(struct cmd_ctx *ctx, const struct config *c, struct berth_err *err)
{
	struct scaling_fleet *fleets;
	size_t n;

	return scaling_read(c->root, c->dir, ctx->arena, &fleets, &n, err);
}

static enum berth_code
doctor_part_sinks(struct cmd_ctx *ctx, const struct config *c, struct berth_err *err)
{
	struct broker_sink *sinks;
	size_t n;

	return broker_sinks_read(c->root, c->dir, ctx->arena, &sinks, &n, err);
}

static enum berth_code
doctor_part_joins(struct cmd_ctx *ctx, const struct config *c, struct berth_err *err)
{
	struct joins joins;

	return joins_read(c, ctx->arena, &joins, err);
}

static enum berth_code
doctor_part_network(struct cmd_ctx *ctx, const struct config *c, struct berth_err *err)
{
	struct prov_net *net = NULL;
	enum berth_code rc = prov_net_open(c->root, c->dir, &net, err);

	(void)ctx;
	prov_net_free(net);
	return rc;
}

static enum berth_code
doctor_part_calendar(struct cmd_ctx *ctx, const struct config *c, struct berth_err *err)
{
	struct fc_options o = { 0 };

	(void)c;
	return calendar_options(ctx, NULL, NULL, &o, err);
}

static enum berth_code
doctor_part_roadmap(struct cmd_ctx *ctx, const struct config *c, struct berth_err *err)
{
	struct roadmap map;

	(void)c;
	return roadmap_find(ctx, NULL, false, "UTC", &map, err); /* its own zone was looked at */
}

static doctor_part_fn *const doctor_parts[] = {
	doctor_part_prices,
	doctor_part_limits,
	doctor_part_shares,
	doctor_part_block,
	doctor_part_idle,
	doctor_part_measure,
	doctor_part_fleets,
	doctor_part_sinks,
	doctor_part_joins,
	doctor_part_network,
	doctor_part_calendar,
	doctor_part_roadmap,
};

#define DOCTOR_CORRECT "correct the file, or name another by --config FILE"

void
doctor_config(struct doctor *d)
{
	struct berth_err err = { 0 };
	bool sound = true;

	if (cmd_config(d->ctx, &d->config, &err) != BERTH_OK) {
		d->config = NULL;
		doctor_add_err(d, DOCTOR_FAIL, "config", DOCTOR_CORRECT, &err);
		return;
	}
	if (d->config->path[0] == '\0') {
		DOCTOR_SAY(
		    d, DOCTOR_WARN, "config", "berth init", "no berth.yaml: there are no accounts");
		return;
	}
	for (size_t i = 0; i < sizeof(doctor_parts) / sizeof(doctor_parts[0]); i++) {
		err = (struct berth_err){ 0 };
		if (doctor_parts[i](d->ctx, d->config, &err) == BERTH_OK)
			continue;
		doctor_add_err(d, DOCTOR_FAIL, "config", DOCTOR_CORRECT, &err);
		sound = false;
	}
	if (sound)
		DOCTOR_SAY(d, DOCTOR_OK, "config", "", "%s, accounts: %zu", d->config->path,
		    d->config->n_accounts);
}
