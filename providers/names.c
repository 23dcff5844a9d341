#include "providers/prov.h"

const char *
prov_state_name(enum prov_state s)
{
	static const char *const names[PROV_STATE_COUNT] = {
		[PROV_PENDING] = "pending",
		[PROV_READY] = "ready",
		[PROV_NOTICED] = "noticed",
		[PROV_ENDING] = "ending",
		[PROV_GONE] = "gone",
		[PROV_FAILED] = "failed",
	};

	return s < PROV_STATE_COUNT ? names[s] : "unknown";
}

const char *
prov_run_state_name(enum prov_run_state s)
{
	static const char *const names[PROV_RUN_STATE_COUNT] = {
		[PROV_RUN_WAITING] = "waiting",
		[PROV_RUN_RUNNING] = "running",
		[PROV_RUN_DONE] = "done",
		[PROV_RUN_FAILED] = "failed",
		[PROV_RUN_LOST] = "lost",
		[PROV_RUN_STOPPED] = "stopped",
	};

	return s < PROV_RUN_STATE_COUNT ? names[s] : "unknown";
}
