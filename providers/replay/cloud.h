/* providers/replay/cloud.h - the machines of a replayed cloud and what time does to them.  Floor:
 * providers. */
#ifndef BERTH_PROVIDERS_REPLAY_CLOUD_H
#define BERTH_PROVIDERS_REPLAY_CLOUD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "providers/provider.h"
#include "providers/replay/trace.h"
#include "util/err.h"
#include "util/vec.h"

struct arena;

#define CLOUD_KEEP_S 86400 /* a machine that ended is listed this long, as clouds do */

/* A job on a machine. Its state at any time follows from these figures alone. */
struct cloud_job {
	const char *id;              /* NULL: none */
	double work_hours, progress; /* as struct prov_job */
	int64_t interval_s, write_s, restart_s;
	int64_t since;  /* interval_s holds from here on, ... */
	double since_s; /* ... where so much of its work on this machine was done, and safe */
	int64_t next_s, next_at; /* the interval that it was told of since, from the end of the
				    write at next_at; 0: none */
	int64_t asked;           /* when it was started */
	int64_t stopped;         /* 0: not */
};

struct cloud_machine {
	const char *ref, *token, *installation;
	size_t pool; /* index into the trace; SIZE_MAX: the trace has it no more */
	const char *pool_key;
	enum purchase purchase;
	int64_t created, ready_at;
	double speed;                  /* hidden: share of what the table promises */
	bool broken, fails;            /* hidden: computes wrong; never comes up */
	int64_t notice_at, reclaim_at; /* planned; hidden before notice_at; 0: none */
	int64_t ended;                 /* asked for by the user; 0: not */
	struct cloud_job job;
};

struct cloud {
	const struct trace *trace;
	uint64_t seed;
	int64_t clock;                      /* all before it has happened; 0: nothing yet */
	int64_t next;                       /* number of the next machine */
	VEC(struct cloud_machine) machines; /* in order of creation */
	struct arena *arena;
};

/*
 * Moves the clock to now (never back): falls of spot capacity and preemptions of the trace are
 * given out as notices, youngest machine first, so that at each instant at most capacity spot
 * machines of a pool are up. Machines that ended more than CLOUD_KEEP_S ago are forgotten.
 * Advancing in one step or in many is the same.
 */
void cloud_advance(struct cloud *c, int64_t now);

/* What a create asks for. */
struct cloud_create {
	const char *token, *installation, *provider, *region, *zone, *instance_type;
	enum purchase purchase;
};
enum cloud_answer {
	CLOUD_MADE,
	CLOUD_SAME, /* same: the token was seen with the same wish */
	CLOUD_MISMATCH,
	CLOUD_NO_POOL,
	CLOUD_NO_CAPACITY,
	CLOUD_QUOTA
};
/* At c->clock. machine_out is set for MADE and SAME: an index into machines. */
enum cloud_answer cloud_create(
    struct cloud *c, const struct cloud_create *want, size_t *machine_out);
/* Index of the machine, SIZE_MAX if there is none. */
size_t cloud_find(const struct cloud *c, const char *ref);
void cloud_destroy(struct cloud *c, size_t machine);

/* When the machine stopped costing, as known at c->clock; 0: it is up. preempted_out may be NULL.
 */
int64_t cloud_ended(const struct cloud *c, const struct cloud_machine *m, bool *preempted_out);
/* All that the provider tells of a machine at c->clock. */
void cloud_describe(const struct cloud *c, const struct cloud_machine *m, struct prov_machine *out);

/*
 * Starts a job at c->clock. False: another job is on the machine, or the machine is not up. The
 * same id again is no second start, unless that run was stopped or failed.
 */
bool cloud_job_start(struct cloud *c, size_t machine, const struct prov_job *job);
void cloud_job_stop(struct cloud *c, size_t machine);
/* From its next write on the job writes at this interval, > 0. True: that is news to it. One that
 * writes none never does. */
bool cloud_job_tell(struct cloud *c, size_t machine, int64_t interval_s);
/* State of its job at c->clock; the machine must have one. */
void cloud_job_state(const struct cloud *c, const struct cloud_machine *m, struct prov_run *out);

/* Machines up, and what a market could still give, at c->clock; INT_MAX: no limit. */
int cloud_up(const struct cloud *c, size_t pool, enum purchase purchase);
int cloud_room(const struct cloud *c, size_t pool, enum purchase purchase);
/* Accelerators of running machines that count against a quota. */
int cloud_quota_used(const struct cloud *c, const struct trace_quota *q);

#endif
