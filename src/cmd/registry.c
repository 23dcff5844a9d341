#include <string.h>

#include "cmd/cmd.h"

extern const struct cmd cmd_budget, cmd_events, cmd_series, cmd_store;
extern const struct cmd cmd_completion, cmd_doctor, cmd_explain, cmd_forecast, cmd_help, cmd_init,
    cmd_instances, cmd_job, cmd_jobs, cmd_place, cmd_plan, cmd_prices, cmd_record, cmd_report,
    cmd_scale, cmd_simulate, cmd_submit, cmd_tick, cmd_version;
extern const struct cmd cmd_advise, cmd_commitments, cmd_probe, cmd_quotas;

#define GROUP_SETUP "Set up"
#define GROUP_DEMAND "Demand"
#define GROUP_MARKET "Market and plan"
#define GROUP_JOBS "Jobs"
#define GROUP_MACHINES "Machines"
#define GROUP_MONEY "Money"
#define GROUP_UPKEEP "Upkeep"

const struct cmd_entry cmd_registry[] = {
	{ GROUP_SETUP, &cmd_init },
	{ GROUP_DEMAND, &cmd_record },
	{ GROUP_DEMAND, &cmd_series },
	{ GROUP_DEMAND, &cmd_forecast },
	{ GROUP_MARKET, &cmd_prices },
	{ GROUP_MARKET, &cmd_quotas },
	{ GROUP_MARKET, &cmd_plan },
	{ GROUP_MARKET, &cmd_simulate },
	{ GROUP_JOBS, &cmd_submit },
	{ GROUP_JOBS, &cmd_jobs },
	{ GROUP_JOBS, &cmd_job },
	{ GROUP_JOBS, &cmd_place },
	{ GROUP_JOBS, &cmd_scale },
	{ GROUP_JOBS, &cmd_explain },
	{ GROUP_MACHINES, &cmd_tick },
	{ GROUP_MACHINES, &cmd_instances },
	{ GROUP_MACHINES, &cmd_probe },
	{ GROUP_MACHINES, &cmd_advise },
	{ GROUP_MONEY, &cmd_budget },
	{ GROUP_MONEY, &cmd_commitments },
	{ GROUP_MONEY, &cmd_report },
	{ GROUP_UPKEEP, &cmd_events },
	{ GROUP_UPKEEP, &cmd_store },
	{ GROUP_UPKEEP, &cmd_doctor },
	{ GROUP_UPKEEP, &cmd_completion },
	{ GROUP_UPKEEP, &cmd_help },
	{ GROUP_UPKEEP, &cmd_version },
	{ NULL, NULL },
};

const struct cmd *
cmd_find(const char *name)
{
	for (const struct cmd_entry *e = cmd_registry; e->cmd != NULL; e++)
		if (strcmp(e->cmd->name, name) == 0)
			return e->cmd;
	return NULL;
}

const struct cmd *
cmd_find_sub(const struct cmd *cmd, const char *name)
{
	for (const struct cmd *sub = cmd->subs; sub != NULL && sub->name != NULL; sub++)
		if (strcmp(sub->name, name) == 0)
			return sub;
	return NULL;
}
