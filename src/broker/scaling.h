/* src/broker/scaling.h - fleets: replicas of a job, as many as a metric asks for (plan/scale.h).
 * Floor: broker. */
#ifndef BERTH_BROKER_SCALING_H
#define BERTH_BROKER_SCALING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/job.h"
#include "plan/scalehours.h"
#include "util/arena.h"
#include "util/err.h"

struct broker;
struct jsonw;
struct yaml_node;

enum scaling_kind {
	SCALING_NONE,
	SCALING_SERIES, /* the last step of a stored series: its peak */
	SCALING_QUERY,  /* one number of a Prometheus server, now */
	SCALING_QUEUE   /* accelerators that open jobs of the queue ask for, replicas apart */
};

struct scaling_source {
	enum scaling_kind kind;
	const char *text;        /* series, PromQL, or a pattern on the project of jobs */
	const char *url, *token; /* of the server; NULL or env:NAME, file:PATH */
	int64_t
	    stale_s; /* a step that ended longer ago is not known; 0: two steps, at least 5 min */
};

struct scaling_fleet {
	const char *name;
	const char *job;        /* path of the replica's job file */
	const char *dir;        /* that secrets' paths start from */
	struct scale_rule rule; /* min, max and headroom as they are without hours; gpus 0 */
	bool headroom_gpus;     /* its headroom, or one of its hours, is told in accelerators */
	const struct scale_hours *hours; /* [n_hours]; the first that holds counts */
	size_t n_hours;
	const struct tz *tz; /* their clock; NULL without hours */
	struct scaling_source load, backlog, busy;
	const char *forecast;     /* series whose kept forecast may raise; NULL: none */
	double level;             /* its quantile: .5 .9 .95 .99; 0: it raises by headroom alone */
	int64_t forecast_stale_s; /* an older one is none; 0: as long as it tells of the time */
};

#define SCALING_CRASH_S 3600 /* replicas that ended within so long ... */
#define SCALING_CRASH_N 3 /* ... so many, by failing or in under SCALING_SHORT_S: none is added */
#define SCALING_SHORT_S 300

/* What one decision saw and came to. Texts live in the broker's tick arena. */
struct scaling_view {
	const struct scaling_fleet *fleet;
	struct scale_rule rule; /* the fleet's, with min, max and headroom of the hour */
	const char *headroom; /* that holds now: "2", "20%", "16 GPUs", "p90 of the forecast", "2 or
				 20%, whichever is more" */
	const char *hours;    /* that hold now, as they are written; NULL: none */
	int64_t next; /* when min, max or headroom will be another one; 0: not within 8 days */
	struct scale_rule then; /* ... */
	struct scale_input in;  /* ready: running; starting: queued and placed; waiting: queued */
	const char *missing;    /* why the load is not known; "" it is */
	const char *note;       /* of another source that is not known; "" none */
	struct scale_decision d;
	bool failing;               /* replicas end as soon as they start: nothing is added */
	int64_t change;             /* replicas added, or taken away if below 0 */
	const char *reason;         /* name of the reason: "failing", else scale_reason_name() */
	const char *why;            /* a whole sentence */
	const char *const *what_if; /* [n_what_if] whole sentences: what would change it */
	size_t n_what_if, n_load;   /* the first n_load are about the load */
};

/* `fleets:` of berth.yaml; config NULL: none. BERTH_EINVAL with file:line:col. */
BERTH_MUST_CHECK enum berth_code scaling_read(const struct yaml_node *config,
    const char *config_dir, struct arena *a, struct scaling_fleet **fleets_out, size_t *n_out,
    struct berth_err *err);
/*
 * One step of one fleet. Reads its metrics first; then, in one transaction, counts its replicas and
 * decides. With apply it also queues or cancels replicas, keeps the state, and where something
 * changed or the reason is another one, a decision (kind "scale") and an event. b needs store, log,
 * accels, tick_arena, now, and net where a server is asked. A metric that cannot be had is no error
 * (view.missing says why). Errors: those of the store, and of the job file.
 */
BERTH_MUST_CHECK enum berth_code scaling_step(struct broker *b, const struct scaling_fleet *f,
    bool apply, struct scaling_view *v, struct berth_err *err);
/* The names of fleets that have open replicas and stand in the config no more. */
BERTH_MUST_CHECK enum berth_code scaling_left(struct broker *b, const struct scaling_fleet *fs,
    size_t n, const char *const **names_out, size_t *n_out, struct berth_err *err);
/* The keys of a decision, into an open object: what is stored, and what `berth scale -o json`
 * prints. */
void scaling_json(struct jsonw *w, const struct scaling_view *v);

/*
 * scaling_metric.c: the value now; NAN and *why_out where it is not known. *queued_out of a queue:
 * load-seconds that wait.
 */
BERTH_MUST_CHECK enum berth_code scaling_metric(struct broker *b, const struct scaling_fleet *f,
    const struct scaling_source *s, double *value_out, double *queued_out, const char **why_out,
    struct berth_err *err);
/* The kept forecast of the load at t + boot_s, and its most until t + scale_restart(); NAN and
 * *why_out where there is none. */
BERTH_MUST_CHECK enum berth_code scaling_forecast(struct broker *b, const struct scaling_fleet *f,
    double *value_out, double *soon_out, const char **why_out, struct berth_err *err);
/* The same at the headroom's percentile: the most until t + boot_s, and until t + scale_restart();
 * NAN and *why_out where it is not known. */
BERTH_MUST_CHECK enum berth_code scaling_least(struct broker *b, const struct scaling_fleet *f,
    int64_t percentile, double *least_out, double *soon_out, const char **why_out,
    struct berth_err *err);
/* The series whose forecast a percentile is told of: that of `forecast`, else the metric's; NULL:
 * neither. */
const char *scaling_foretold(const struct scaling_fleet *f);

/* scaling_metric.c: accelerators of a job as it runs at the least, in the variant that has the
 * fewest. */
int64_t scaling_gpus_least(const struct job_spec *s);

/* scaling_say.c: "2", "20%", "16 GPUs", "p90 of the forecast", "2 or 20%, whichever is more", "0".
 */
const char *scaling_headroom_text(struct arena *a, const struct scale_headroom *h);
/* scaling_say.c: why and what_if of a decision; crashed_until: see SCALING_CRASH_S, 0 not so many.
 */
void scaling_say(
    struct broker *b, struct scaling_view *v, const struct scale_state *s, int64_t crashed_until);

#endif
