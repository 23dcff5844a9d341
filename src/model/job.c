#include <string.h>

#include "model/job.h"

static const char *const job_state_names[JOB_STATE_COUNT] = {
	[JOB_QUEUED] = "queued",
	[JOB_PLACED] = "placed",
	[JOB_RUNNING] = "running",
	[JOB_DONE] = "done",
	[JOB_FAILED] = "failed",
	[JOB_CANCELLED] = "cancelled",
};

static const char *const attempt_state_names[ATTEMPT_STATE_COUNT] = {
	[ATTEMPT_PROVISIONING] = "provisioning",
	[ATTEMPT_PROBING] = "probing",
	[ATTEMPT_RUNNING] = "running",
	[ATTEMPT_DONE] = "done",
	[ATTEMPT_PREEMPTED] = "preempted",
	[ATTEMPT_REJECTED] = "rejected",
	[ATTEMPT_FAILED] = "failed",
	[ATTEMPT_CANCELLED] = "cancelled",
	[ATTEMPT_NO_CAPACITY] = "no_capacity",
	[ATTEMPT_MOVED] = "moved",
};

const char *
job_state_name(enum job_state s)
{
	return s < JOB_STATE_COUNT ? job_state_names[s] : "unknown";
}

bool
job_state_parse(const char *s, enum job_state *s_out)
{
	for (int i = 0; i < JOB_STATE_COUNT; i++)
		if (strcmp(s, job_state_names[i]) == 0) {
			*s_out = (enum job_state)i;
			return true;
		}
	return false;
}

const char *
attempt_state_name(enum attempt_state s)
{
	return s < ATTEMPT_STATE_COUNT ? attempt_state_names[s] : "unknown";
}

bool
attempt_state_parse(const char *s, enum attempt_state *s_out)
{
	for (int i = 0; i < ATTEMPT_STATE_COUNT; i++)
		if (strcmp(s, attempt_state_names[i]) == 0) {
			*s_out = (enum attempt_state)i;
			return true;
		}
	return false;
}
