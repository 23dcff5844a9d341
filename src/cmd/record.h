/* src/cmd/record.h - what the formats of `berth record` share.  Floor: cmd. */
#ifndef BERTH_CMD_RECORD_H
#define BERTH_CMD_RECORD_H

#include "broker/usage_load.h"
#include "cmd/cmd.h"
#include "ingest/usage.h"
#include "util/progress.h"
#include "util/vec.h"

struct tz;
struct zin;

struct record_warning {
	const char *file, *message;
	long line;
};

#define RECORD_EXTRA_MAX 8

/* What came of all files, or of all queries. */
struct record {
	struct cmd_ctx *ctx;
	void *own; /* of the format */
	struct usage_counts rows;
	struct usage_load_counts load;
	struct {
		const char *key;
		int64_t n;
	} extra[RECORD_EXTRA_MAX]; /* [n_extra] more counts for the JSON */
	size_t n_extra;
	struct {
		const char *key;
		double v;
	} sum[RECORD_EXTRA_MAX]; /* [n_sum] likewise, with a fraction */
	size_t n_sum;
	const char *file; /* the one being read, as messages name it */
	long file_lines;  /* warnings of it that were printed */
	struct progress progress;
	const struct zin *zin; /* the file being read, which tells how much is left; NULL unknown */
	VEC(struct record_warning) warnings;
	struct strmap touched; /* names of series, as an index into names */
	VEC(const char *) names;
	size_t files_failed;
	VEC(struct record_again {
		const char *file;
		int64_t load;
	})
	again; /* inputs that were loaded before */
};

/* A usage_say_fn and a usage_progress_fn whose arg is the struct record. */
void record_say(void *arg, enum usage_say kind, long line, const char *message);
void record_progress(void *arg, int64_t rows);
/* A new file or query begins: messages name it so. */
void record_source(struct record *r, const char *name);
/* The series of set were made or added to. */
void record_touch(struct record *r, const struct usage_set *set);
void record_count(
    struct record *r, const struct usage_counts *rows, const struct usage_load_counts *load);
/* What the verb's options are, as one text: the same input with the same options gives the same. */
const char *record_options(struct cmd_ctx *ctx);
/* A grouping by a label that a source cannot have is BERTH_EUSAGE, with a suggestion: groupings are
 * kept for good. known: NULL-terminated; what: "jobs" */
BERTH_MUST_CHECK enum berth_code record_check_by(
    const struct opt_list *by, const char *const *known, const char *what, struct berth_err *err);
/* Adds n to the count of this key in the JSON. */
void record_extra(struct record *r, const char *key, int64_t n);
void record_sum(struct record *r, const char *key, double v);
BERTH_MUST_CHECK enum berth_code record_zone(
    struct cmd_ctx *ctx, const char *name, const struct tz **tz_out, struct berth_err *err);

/* The first words of file, or else of the environment's env; *out NULL: there is none. */
BERTH_MUST_CHECK enum berth_code record_secret(struct cmd_ctx *ctx, const char *file,
    const char *env, const char **out, struct berth_err *err);

typedef enum berth_code record_file_fn(struct record *r, const char *path, struct berth_err *err);
/* Reads all files of the command line (standard input where there is none), then prints the result.
 */
BERTH_MUST_CHECK enum berth_code record_files(
    struct record *r, record_file_fn *read, struct berth_err *err);
/* Prints what came of it. BERTH_EPARTIAL where rows were refused. */
BERTH_MUST_CHECK enum berth_code record_result(struct record *r, struct berth_err *err);

/* The formats, each with its options in its own file. */
enum berth_code record_sacct(struct cmd_ctx *ctx, struct berth_err *err);
enum berth_code record_slurm(struct cmd_ctx *ctx, struct berth_err *err);
enum berth_code record_squeue(struct cmd_ctx *ctx, struct berth_err *err);
enum berth_code record_sinfo(struct cmd_ctx *ctx, struct berth_err *err);
enum berth_code record_focus(struct cmd_ctx *ctx, struct berth_err *err);
enum berth_code record_openmetrics(struct cmd_ctx *ctx, struct berth_err *err);
enum berth_code record_smi(struct cmd_ctx *ctx, struct berth_err *err);
enum berth_code record_prometheus(struct cmd_ctx *ctx, struct berth_err *err);
enum berth_code record_kubernetes(struct cmd_ctx *ctx, struct berth_err *err);
/* Asks the server of --url; ready NULL: --query. */
enum berth_code record_prom_live(struct cmd_ctx *ctx, const char *ready, struct berth_err *err);

struct record_jobs_opts {
	struct opt_list by;
	int64_t step_s, from, to;
	const char *zone, *cluster;
	const char *url, *user, *token_file, *ca_file; /* of slurmrestd alone */
	int64_t api_version;
};
extern const struct opt_row record_sacct_rows[], record_slurm_rows[];
extern const struct record_jobs_opts record_jobs_defaults;

struct record_metrics_opts {
	struct opt_list by, drop;
	const char *metric, *unit, *zone;
	int64_t step_s, at;
	const char *url, *query, *ready, *user, *token_file, *ca_file; /* of a server alone */
	int64_t from, to, resolution_s;
};
extern const struct opt_row record_openmetrics_rows[], record_smi_rows[], record_snapshot_rows[],
    record_prometheus_rows[], record_kubernetes_rows[];
extern const struct record_metrics_opts record_metrics_defaults;

struct record_focus_opts {
	struct opt_list by;
	int64_t step_s;
	bool replace;
};
extern const struct opt_row record_focus_rows[];
extern const struct record_focus_opts record_focus_defaults;

#endif
