#include "broker/broker.h"
#include "store/job_rows.h"

static const struct tick_pass {
	const char *name;
	enum berth_code (*run)(struct broker *b, struct berth_err *err);
} tick_passes[] = {
	{ "sync", pass_sync }, { "prices", pass_prices }, { "quotas", pass_quotas },
	{ "recover", pass_recover }, { "watch", pass_watch }, { "move", pass_move },
	{ "scale",
	    pass_scale }, /* before what it takes away is released, and what it adds is placed */
	{ "release", pass_release }, /* before new launches: what is free again counts */
	{ "refill", pass_refill }, /* gangs that wait hold machines: before those that hold none */
	{ "provision", pass_provision }, { "probe", pass_probe }, { "start", pass_start },
	{ "notify", pass_notify }, { "rollup", pass_rollup }, /* last: nobody waits for it */
};

struct placing_options
broker_placing_options(struct broker *b)
{
	return (struct placing_options){ .now = b->now,
		.seed = b->seed,
		.tick_s = b->tick_s,
		.limits = b->limits,
		.n_limits = b->n_limits,
		.quota_age_s = b->quotas.age_s,
		.block = b->block,
		.n_block = b->n_block,
		.tables = &b->spot_tables,
		.ages = b->prices.ages,
		.need_account = true };
}

enum berth_code
broker_tick(struct broker *b, struct berth_err *err)
{
	enum berth_code rc;

	arena_reset(b->tick_arena);
	b->lives_read = false;
	b->taken = NULL;
	b->paces = NULL;
	b->intervals = NULL;
	b->counts.ticks++;
	for (size_t i = 0; i < sizeof(tick_passes) / sizeof(tick_passes[0]); i++) {
		rc = tick_passes[i].run(b, err);
		if (rc != BERTH_OK)
			return err_ctx(err, "%s", tick_passes[i].name);
	}
	return BERTH_OK;
}

enum berth_code
broker_idle(struct broker *b, bool *idle_out, struct berth_err *err)
{
	struct job_query q = { .states = JOB_OPEN, .limit = 1 };
	struct instance *ins;
	enum berth_code rc;
	struct job *jobs;
	size_t n, n_ins;

	rc = store_job_list(b->store, &q, b->tick_arena, &jobs, &n, err);
	if (rc == BERTH_OK)
		rc =
		    store_instance_list(b->store, INSTANCE_ALIVE, b->tick_arena, &ins, &n_ins, err);
	if (rc == BERTH_OK)
		*idle_out = n == 0 && n_ins == 0 && b->n_fleets == 0;
	return rc;
}
