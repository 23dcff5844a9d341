#include <stdio.h>
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

bool
job_missed(const struct job *j, int64_t now)
{
	return j->spec.deadline > 0 && (j->finished > 0 ? j->finished : now) > j->spec.deadline;
}

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

static const char *const job_mark_names[] = { "kept", "launch_unknown", "unpaid", "late", "at_risk",
	"missed" };

#define JOB_MARKS (sizeof(job_mark_names) / sizeof(job_mark_names[0]))

const char *
job_marks_text(unsigned marks, char out[static JOB_MARKS_SIZE])
{
	size_t n = 0;

	out[0] = '\0';
	for (size_t i = 0; i < JOB_MARKS; i++)
		if ((marks & 1u << i) != 0)
			n += (size_t)snprintf(out + n, JOB_MARKS_SIZE - n, "%s%s", n > 0 ? " " : "",
			    job_mark_names[i]);
	return out;
}

bool
job_marks_parse(const char *s, unsigned *marks_out)
{
	unsigned marks = 0;

	while (*s != '\0') {
		size_t n = strcspn(s, " "), i = 0;

		while (i < JOB_MARKS &&
		       (strlen(job_mark_names[i]) != n || strncmp(s, job_mark_names[i], n) != 0))
			i++;
		if (i == JOB_MARKS)
			return false;
		marks |= 1u << i;
		s += n;
		s += *s == ' ';
	}
	*marks_out = marks;
	return true;
}
