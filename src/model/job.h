/* src/model/job.h - what a user submits, and each try of it.  Floor: model. */
#ifndef BERTH_MODEL_JOB_H
#define BERTH_MODEL_JOB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/money.h"

enum job_state {
	JOB_QUEUED, /* waits for a placement */
	JOB_PLACED, /* has an attempt; its machine is being made or probed */
	JOB_RUNNING,
	JOB_DONE,
	JOB_FAILED, /* retries used up, or the work itself failed */
	JOB_CANCELLED,
	JOB_STATE_COUNT
};

/* What is known of a job from tick to tick, beside its reason: bits. Once it has left the queue
 * those of JOB_MARKS_STAY stand. */
enum job_mark {
	JOB_MARK_KEPT = 1,           /* a place is kept for it */
	JOB_MARK_LAUNCH_UNKNOWN = 2, /* nobody knows yet what came of its launch */
	JOB_MARK_UNPAID = 4,         /* told: only the money of a budget lacks */
	JOB_MARK_LATE = 8,           /* told: its deadline can be kept no more */
	JOB_MARK_AT_RISK = 16,       /* told: its deadline is at risk */
	JOB_MARK_MISSED = 32         /* told: its deadline has passed before it ended */
};

#define JOB_MARKS_STAY ((unsigned)JOB_MARK_AT_RISK | (unsigned)JOB_MARK_MISSED)

enum attempt_state {
	ATTEMPT_PROVISIONING,
	ATTEMPT_PROBING,
	ATTEMPT_RUNNING,
	ATTEMPT_DONE,
	ATTEMPT_PREEMPTED,
	ATTEMPT_REJECTED, /* probe said no */
	ATTEMPT_FAILED,
	ATTEMPT_CANCELLED,
	ATTEMPT_NO_CAPACITY,
	ATTEMPT_MOVED, /* stopped with a checkpoint, to go on elsewhere */
	ATTEMPT_STATE_COUNT
};

/* One way to run the job. */
struct job_variant {
	const char *name;         /* "bf16"; "" if only one */
	const char *accelerator;  /* canonical name, or "" = any that fits */
	int count_min, count_max; /* accelerators; a gang on one machine unless nodes > 1 */
	int nodes;                /* machines of a gang, each with count accelerators */
	double memory_gib;        /* needed per accelerator; 0: no limit */
	double memory_max_gib;    /* at most so much per accelerator; 0: no limit */
	double work_hours; /* run time on this accelerator at count_min as the table rates it; NaN:
			      use the job's */
	double speed;      /* 1/speed scales the job's work; NaN: from the table */
};

struct job_spec {
	const char *name, *user, *project;
	int priority;                 /* higher goes first */
	struct job_variant *variants; /* [n_variants], in the user's order of preference */
	size_t n_variants;
	double work_hours; /* on variant 0's accelerator and count */
	const char
	    *precision; /* "bf16": which rate of the table scales work between accelerators */
	double checkpoint_gib; /* 0 with checkpoint_write_s 0: cannot resume */
	int64_t checkpoint_write_s;
	int64_t checkpoint_interval_s; /* 0: berth chooses */
	int64_t restart_s;
	int64_t idle_limit_s; /* it ends when its accelerators did nothing for so long; 0: as the
				 config says, below 0: never */
	bool can_resume;
	int64_t replace_lost_s; /* a gang that lost a machine waits so long for one in its place;
				   0: it is queued again at once */
	int64_t deadline;       /* s since epoch; 0: none */
	struct usd_micro max_price; /* per machine-hour; USD_UNKNOWN: none */
	struct usd_micro max_cost;  /* whole job; USD_UNKNOWN: none */
	bool purchase_ok[3];        /* by enum purchase */
	bool purchase_said;         /* by its file; of one that is read from it alone */
	const char **regions;       /* [n_regions] glob patterns on region; none: anywhere */
	size_t n_regions;
	const char **providers; /* [n_providers] glob patterns; none: any */
	size_t n_providers;
	const char *const *block; /* [n_block] rules of block_rules_read(): never there */
	size_t n_block;
	const char *data_region; /* where its input lies; "": egress is not counted */
	double data_gib;
	const char *latency_to; /* region that it talks to; "": anywhere is near enough */
	double latency_max_ms;  /* round trip to it; NaN: none */
	double link_gb_s; /* least between accelerators of one machine, both directions; NaN: any */
	const char *after; /* job whose output it needs: as the file names it, an id once it is
			      stored; "" */
	double after_gib;  /* of that output */
	const char *run;   /* shell text */
	int retries;       /* tries after a failure of the work itself; preemptions do not count */
};

struct job {
	const char *id; /* "j-" and 10 characters, sorts by time */
	struct job_spec spec;
	enum job_state state;
	const char *reason;                   /* why it is where it is, in words */
	unsigned marks;                       /* of enum job_mark */
	double progress;                      /* share of the work that is safe, 0..1 */
	int64_t submitted, started, finished; /* 0: not yet */
	int tries;                            /* failures of the work so far */
	int preemptions;
	struct usd_micro cost; /* so far */
};

struct attempt {
	int64_t id;
	const char *job_id;
	int64_t instance_id;
	enum attempt_state state;
	int64_t started, ended;
	double progress_start, progress_end;
	const char *reason;
};

/* Has it a deadline that passed before it ended? One that is done by then has kept it; one that
 * failed or was cancelled before has not missed it. */
bool job_missed(const struct job *j, int64_t now);
const char *job_state_name(enum job_state s);
bool job_state_parse(const char *s, enum job_state *s_out);
const char *attempt_state_name(enum attempt_state s);
bool attempt_state_parse(const char *s, enum attempt_state *s_out);
/* "kept late"; "" for 0. */
#define JOB_MARKS_SIZE 64
const char *job_marks_text(unsigned marks, char out[static JOB_MARKS_SIZE]);
/* False: a word that is none. */
bool job_marks_parse(const char *s, unsigned *marks_out);

#endif
