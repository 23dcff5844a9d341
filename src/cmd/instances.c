#include <stdlib.h>
#include <string.h>

#include "cmd/cmd.h"
#include "store/event_rows.h"
#include "store/machine_rows.h"
#include "util/arena.h"
#include "util/json.h"
#include "util/str.h"

struct instances_opts {
	bool all;
	struct opt_list state;
	const char *account;
};

static const struct instances_opts instances_defaults = { 0 };

#define OFF(field) offsetof(struct instances_opts, field)
static const struct opt_row instances_rows[] = {
	{ "all", 'a', OPT_FLAG, NULL, "also machines that are gone", OFF(all), 0, 0, NULL },
	{ "state", 's', OPT_LIST, "STATE", "starting, ready, noticed, releasing, gone", OFF(state),
	    0, 0, NULL },
	{ "account", 0, OPT_STRING, "ACCOUNT", "of this account", OFF(account), 0, 0, NULL },
	{ 0 },
};

static enum berth_code instances_run(struct cmd_ctx *ctx, struct berth_err *err);
static enum berth_code instances_release(struct cmd_ctx *ctx, struct berth_err *err);

static const struct cmd instances_subs[] = {
	{ .name = "list",
	    .summary = "machines that berth rents",
	    .args = "",
	    .opts = instances_rows,
	    .opts_default = &instances_defaults,
	    .opts_size = sizeof(instances_defaults),
	    .flags = CMD_STORE_RO,
	    .run = instances_run },
	{ .name = "release",
	    .summary = "give machines back; their jobs go back to the queue",
	    .args = "INSTANCE ...",
	    .flags = CMD_STORE_RW,
	    .args_min = 1,
	    .args_max = -1,
	    .run = instances_release },
	{ 0 },
};

const struct cmd cmd_instances = {
	.name = "instances",
	.summary = "list the machines that berth rents, or give them back",
	.args = "",
	.opts = instances_rows,
	.opts_default = &instances_defaults,
	.opts_size = sizeof(instances_defaults),
	.flags = CMD_STORE_RO,
	.run = instances_run,
	.subs = instances_subs,
};

static enum berth_code
instances_states(const struct instances_opts *o, unsigned *states_out, struct berth_err *err)
{
	enum instance_state s;

	*states_out = o->all ? 0 : INSTANCE_ALIVE;
	if (o->state.n > 0)
		*states_out = 0;
	for (size_t i = 0; i < o->state.n; i++) {
		if (!instance_state_parse(o->state.v[i], &s)) {
			err_set(err, BERTH_EUSAGE,
			    "'%s' is no state of a machine: starting, ready, noticed, releasing or "
			    "gone",
			    o->state.v[i]);
			return err_at(err, "--state");
		}
		*states_out |= INSTANCE_BIT(s);
	}
	return BERTH_OK;
}

static enum berth_code
instances_json(struct cmd_ctx *ctx, const struct instance *ins, size_t n, struct berth_err *err)
{
	struct jsonw *w = cmd_json_begin(ctx, "berth.instances/1");

	jsonw_begin_array(w, "instances");
	for (size_t i = 0; i < n; i++) {
		const struct instance *in = &ins[i];

		jsonw_begin_object(w, NULL);
		jsonw_int(w, "id", in->id);
		jsonw_str(w, "account", in->account);
		jsonw_str(w, "ref", in->provider_ref);
		jsonw_str(w, "provider", in->offer.provider);
		jsonw_str(w, "region", in->offer.region);
		jsonw_str_or_null(w, "zone", in->offer.zone);
		jsonw_str(w, "instance_type", in->offer.instance_type);
		jsonw_str(w, "accelerator", in->offer.accelerator);
		jsonw_int(w, "accelerator_count", in->offer.accelerator_count);
		jsonw_str(w, "purchase", purchase_name(in->offer.purchase));
		jsonw_money(w, "price_per_hour", offer_hour(&in->offer, ctx->now));
		jsonw_time_or_null(w, "paid_until", in->offer.paid_until);
		jsonw_str(w, "state", instance_state_name(in->state));
		jsonw_str_or_null(w, "job", in->job_id);
		jsonw_str_or_null(w, "address", in->address);
		jsonw_time(w, "created", in->created);
		jsonw_time_or_null(w, "ready", in->ready);
		jsonw_time_or_null(w, "reclaim_at", in->reclaim_at);
		jsonw_time_or_null(w, "gone", in->gone);
		jsonw_str_or_null(w, "end_reason", in->end_reason);
		jsonw_str_or_null(w, "verdict", in->verdict);
		jsonw_double(w, "speed", in->speed);
		jsonw_money(w, "cost", in->cost);
		jsonw_end_object(w);
	}
	jsonw_end_array(w);
	return cmd_json_end(ctx, err);
}

static enum berth_code
instances_table(struct cmd_ctx *ctx, const struct instance *ins, size_t n, struct berth_err *err)
{
	static const struct table_col cols[] = {
		{ "id", NULL, TABLE_INT, 0, 0 },
		{ "account", NULL, TABLE_TEXT, 0, TABLE_WIDE },
		{ "zone", NULL, TABLE_TEXT, 0, TABLE_CUT },
		{ "instance_type", "TYPE", TABLE_TEXT, 0, TABLE_CUT },
		{ "purchase", NULL, TABLE_TEXT, 0, 0 },
		{ "price_per_hour", "$/H", TABLE_MONEY, 4, 0 },
		{ "state", NULL, TABLE_TEXT, 0, 0 },
		{ "verdict", NULL, TABLE_TEXT, 0, 0 },
		{ "speed", NULL, TABLE_DOUBLE, 3, TABLE_SPARE },
		{ "job", NULL, TABLE_TEXT, 0, 0 },
		{ "created", NULL, TABLE_TIME, 0, TABLE_WIDE },
		{ "gone", NULL, TABLE_TIME, 0, TABLE_WIDE },
		{ "end_reason", NULL, TABLE_TEXT, 0, TABLE_WIDE },
		{ "cost", "COST $", TABLE_MONEY, 2, 0 },
		{ "ref", NULL, TABLE_TEXT, 0, TABLE_WIDE | TABLE_CUT },
		{ "address", NULL, TABLE_TEXT, 0, TABLE_WIDE },
	};
	struct table *t = table_new(ctx->arena, cols, sizeof(cols) / sizeof(cols[0]));

	for (size_t i = 0; i < n; i++) {
		const struct instance *in = &ins[i];

		table_row(t);
		table_int(t, in->id);
		table_text(t, in->account);
		table_text(t, in->offer.zone[0] != '\0' ? in->offer.zone : in->offer.region);
		table_text(t, in->offer.instance_type);
		table_text(t, instance_purchase(in, ctx->now));
		table_money(t, offer_hour(&in->offer, ctx->now));
		table_text(t, instance_state_name(in->state));
		table_text(t, in->verdict);
		table_double(t, in->speed);
		table_text(t, in->job_id);
		table_time(t, in->created);
		table_time(t, in->gone);
		table_text(t, in->end_reason);
		table_money(t, in->cost);
		table_text(t, in->provider_ref);
		table_text(t, in->address);
	}
	return cmd_table_print(ctx, t, err);
}

static enum berth_code
instances_run(struct cmd_ctx *ctx, struct berth_err *err)
{
	const struct instances_opts *o = ctx->opts;
	struct instance *ins;
	enum berth_code rc;
	unsigned states;
	size_t n, k = 0;

	rc = instances_states(o, &states, err);
	if (rc == BERTH_OK)
		rc = store_instance_list(ctx->store, states, ctx->arena, &ins, &n, err);
	if (rc != BERTH_OK)
		return rc;
	for (size_t i = 0; i < n; i++) {
		if (o->account == NULL || strcmp(ins[i].account, o->account) == 0)
			ins[k++] = ins[i];
	}
	return cmd_wants_json(ctx) ? instances_json(ctx, ins, k, err)
				   : instances_table(ctx, ins, k, err);
}

/* Its end is only marked: the next tick stops the job, destroys the machine and waits for the
 * provider's word. */
static enum berth_code
instances_release_one(struct cmd_ctx *ctx, struct instance *in, struct berth_err *err)
{
	struct event e = { .t = ctx->now, .type = "instance.release_asked" };
	enum berth_code rc;

	e.subject = arena_printf(ctx->arena, "instance:%lld", (long long)in->id);
	e.data = "{\"message\":\"released by the user\"}";
	in->state = INSTANCE_RELEASING;
	in->end_reason = "released by the user";
	rc = store_begin(ctx->store, err);
	if (rc != BERTH_OK)
		return rc;
	rc = store_instance_update(ctx->store, in, err);
	if (rc == BERTH_OK)
		rc = store_event_append(ctx->store, &e, err);
	if (rc != BERTH_OK) {
		store_rollback(ctx->store);
		return rc;
	}
	return store_commit(ctx->store, err);
}

static enum berth_code
instances_release(struct cmd_ctx *ctx, struct berth_err *err)
{
	struct instance *ins = arena_array_of(ctx->arena, ctx->n_args, struct instance);
	enum berth_code rc = BERTH_OK;
	int64_t id;

	for (size_t i = 0; rc == BERTH_OK && i < ctx->n_args; i++) {
		if (str_to_i64(ctx->args[i], 1, INT64_MAX, &id, err) != BERTH_OK)
			return err_set(err, BERTH_EUSAGE,
			    "'%s' is no number of a machine: `berth instances` lists them",
			    ctx->args[i]);
		rc = store_instance_get(ctx->store, id, ctx->arena, &ins[i], err);
		if (rc == BERTH_OK && ins[i].state == INSTANCE_GONE)
			rc = err_set(
			    err, BERTH_EINVAL, "instance %lld is gone already", (long long)id);
	}
	if (rc != BERTH_OK)
		return rc;
	rc = cmd_confirm(
	    ctx, err, "Give back %zu machines and send their jobs back to the queue?", ctx->n_args);
	for (size_t i = 0; rc == BERTH_OK && i < ctx->n_args; i++)
		rc = instances_release_one(ctx, &ins[i], err);
	if (rc == BERTH_OK && cmd_wants_json(ctx))
		rc = instances_json(ctx, ins, ctx->n_args, err);
	if (rc == BERTH_OK)
		cmd_note(ctx, "the next tick ends them");
	return rc;
}
