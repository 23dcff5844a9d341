#include "ingest/snapshot.h"

#include <string.h>

#include "ingest/tres.h"
#include "util/str.h"

#define SNAPSHOT_FIELDS 64

enum snapshot_col {
	SNAP_JOB,
	SNAP_STATE,
	SNAP_TRES,
	SNAP_NODES,
	SNAP_NODE,
	SNAP_GRES,
	SNAP_USED,
	SNAP_USER,
	SNAP_ACCOUNT,
	SNAP_PARTITION,
	SNAP_COLS
};

static const struct {
	const char *name;
	enum snapshot_col col;
} snapshot_names[] = { { "JOBID", SNAP_JOB }, { "STATE", SNAP_STATE }, { "ST", SNAP_STATE },
	{ "TRES_PER_NODE", SNAP_TRES }, { "NODES", SNAP_NODES }, { "NODE", SNAP_NODE },
	{ "NODELIST", SNAP_NODE }, { "HOSTNAMES", SNAP_NODE }, { "GRES", SNAP_GRES },
	{ "GRES_USED", SNAP_USED }, { "GRESUSED", SNAP_USED }, { "USER", SNAP_USER },
	{ "ACCOUNT", SNAP_ACCOUNT }, { "PARTITION", SNAP_PARTITION } };

struct snapshot {
	const struct ingest_sink *sink;
	enum snapshot_kind kind;
	bool has_head, bars;
	int col[SNAP_COLS];
	size_t n_cols;
	struct snapshot_counts counts;
};

struct snapshot *
snapshot_new(struct arena *a, enum snapshot_kind kind, const struct ingest_sink *sink)
{
	struct snapshot *s = arena_new_of(a, struct snapshot);

	s->kind = kind;
	s->sink = sink;
	return s;
}

/* Cuts a line at bars, or at runs of blanks; returns how many fields. */
static size_t
snapshot_split(const struct snapshot *s, char *line, char **field)
{
	size_t n = 0;

	for (char *p = line; n < SNAPSHOT_FIELDS;) {
		if (!s->bars)
			while (*p == ' ')
				p++;
		if (!s->bars && *p == '\0')
			break;
		field[n++] = p;
		p += s->bars ? strcspn(p, "|") : strcspn(p, " ");
		if (*p == '\0')
			break;
		*p++ = '\0';
	}
	return n;
}

static enum berth_code
snapshot_head(struct snapshot *s, char *line, struct berth_err *err)
{
	char *field[SNAPSHOT_FIELDS];
	bool fine;

	s->bars = strchr(line, '|') != NULL;
	s->n_cols = snapshot_split(s, line, field);
	for (size_t i = 0; i < SNAP_COLS; i++)
		s->col[i] = -1;
	for (size_t i = 0; i < s->n_cols; i++)
		for (size_t k = 0; k < sizeof(snapshot_names) / sizeof(snapshot_names[0]); k++)
			if (str_ieq(field[i], snapshot_names[k].name) &&
			    s->col[snapshot_names[k].col] < 0)
				s->col[snapshot_names[k].col] = (int)i;
	fine = s->kind == SNAPSHOT_SQUEUE
		   ? s->col[SNAP_JOB] >= 0 && s->col[SNAP_STATE] >= 0 && s->col[SNAP_TRES] >= 0
		   : s->col[SNAP_NODE] >= 0 && s->col[SNAP_GRES] >= 0;
	if (fine)
		return BERTH_OK;
	return err_set(err, BERTH_EINVAL, "the header lacks a column: %s",
	    s->kind == SNAPSHOT_SQUEUE
		? "squeue -O needs JobID, State, tres-per-node (squeue -o '%i|%T|%b|%D')"
		: "sinfo -N needs NODELIST, GRES and GRES_USED (sinfo -N -O "
		  "NodeList:40,Gres:200,GresUsed:200)");
}

static const char *
snapshot_get(const struct snapshot *s, char **field, enum snapshot_col col)
{
	return s->col[col] >= 0 ? field[s->col[col]] : "";
}

/* One point for each type of a list. */
static enum berth_code
snapshot_points(struct snapshot *s, char **field, const char *metric,
    const struct ingest_gres *gres, size_t n, double times, long number, struct berth_err *err)
{
	static const struct {
		enum snapshot_col col;
		const char *key;
	} keys[] = { { SNAP_ACCOUNT, "account" }, { SNAP_NODE, "node" },
		{ SNAP_PARTITION, "partition" }, { SNAP_USER, "user" } };
	struct usage_label labels[5];
	struct ingest_point p = { .line = number, .metric = metric, .labels = labels };
	enum berth_code rc = BERTH_OK;

	labels[p.n_labels++] = (struct usage_label){ "accelerator", "unknown" };
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		if (*snapshot_get(s, field, keys[i].col) != '\0')
			labels[p.n_labels++] = (struct usage_label){ keys[i].key,
				snapshot_get(s, field, keys[i].col) };
	for (size_t i = 0; rc == BERTH_OK && i < n; i++) {
		labels[0].value = *gres[i].type != '\0' ? gres[i].type : "unknown";
		p.value = gres[i].count * times;
		rc = s->sink->point(s->sink->arg, &p, err);
	}
	return rc;
}

static const char *
snapshot_job(
    struct snapshot *s, char **field, long number, struct berth_err *err, enum berth_code *rc)
{
	struct ingest_gres gres[INGEST_GRES_MAX];
	const char *state = snapshot_get(s, field, SNAP_STATE);
	bool waits = str_starts(state, "PENDING") || str_eq(state, "PD");
	int64_t tasks, at_once, nodes = 1;
	double each = 0;
	size_t n;

	if (!tres_tasks(snapshot_get(s, field, SNAP_JOB), &tasks, &at_once))
		return "JOBID is no job";
	if (*snapshot_get(s, field, SNAP_NODES) != '\0' &&
	    str_to_i64(snapshot_get(s, field, SNAP_NODES), 0, 1000000, &nodes, NULL) != BERTH_OK)
		return "NODES is no number";
	if (!tres_gres(field[s->col[SNAP_TRES]], gres, INGEST_GRES_MAX, &n))
		return "TRES_PER_NODE is no list of resources";
	for (size_t i = 0; i < n; i++)
		each += gres[i].count * (double)nodes;
	if (waits) {
		s->counts.pending_tasks += tasks;
		s->counts.pending_gpus += each * (double)tasks;
		s->counts.pending_gpus_at_once += each * (double)at_once;
	} else if (str_starts(state, "RUNNING") || str_eq(state, "R") ||
		   str_starts(state, "COMPLETING") || str_eq(state, "CG")) {
		s->counts.running_gpus += each;
	} else {
		return NULL;
	}
	*rc = snapshot_points(s, field, waits ? "berth:queued" : "berth:allocated", gres, n,
	    (double)(tasks * nodes), number, err);
	return NULL;
}

static const char *
snapshot_node(
    struct snapshot *s, char **field, long number, struct berth_err *err, enum berth_code *rc)
{
	struct ingest_gres gres[INGEST_GRES_MAX];
	size_t n, m;

	if (!tres_gres(field[s->col[SNAP_GRES]], gres, INGEST_GRES_MAX, &n))
		return "GRES is no list of resources";
	for (size_t i = 0; i < n; i++)
		s->counts.devices += gres[i].count;
	*rc = snapshot_points(s, field, "berth:installed", gres, n, 1, number, err);
	if (*rc != BERTH_OK || s->col[SNAP_USED] < 0)
		return NULL;
	for (size_t i = 0; i < n; i++) /* what is not used is said to be none of it */
		gres[i].count = 0;
	*rc = snapshot_points(s, field, "berth:allocated", gres, n, 1, number, err);
	if (!tres_gres(field[s->col[SNAP_USED]], gres, INGEST_GRES_MAX, &m))
		return "GRES_USED is no list of resources";
	for (size_t i = 0; i < m; i++)
		s->counts.devices_used += gres[i].count;
	if (*rc == BERTH_OK)
		*rc = snapshot_points(s, field, "berth:allocated", gres, m, 1, number, err);
	return NULL;
}

enum berth_code
snapshot_line(struct snapshot *s, char *line, size_t len, long number, struct berth_err *err)
{
	char *field[SNAPSHOT_FIELDS];
	enum berth_code rc = BERTH_OK;
	const char *bad;

	if (len > 0 && line[len - 1] == '\r')
		line[--len] = '\0';
	if (len == 0 || line[0] == '#')
		return BERTH_OK;
	if (!s->has_head) {
		s->has_head = true;
		return snapshot_head(s, line, err);
	}
	s->counts.rows++;
	if (snapshot_split(s, line, field) < s->n_cols)
		bad = "fewer fields than the header has columns";
	else
		bad = s->kind == SNAPSHOT_SQUEUE ? snapshot_job(s, field, number, err, &rc)
						 : snapshot_node(s, field, number, err, &rc);
	if (bad != NULL)
		s->sink->say(s->sink->arg, USAGE_REFUSED, number, bad);
	return rc;
}

enum berth_code
snapshot_end(const struct snapshot *s, struct snapshot_counts *counts_out, struct berth_err *err)
{
	if (!s->has_head)
		return err_set(err, BERTH_EINVAL, "nothing in it: not even a header");
	*counts_out = s->counts;
	return BERTH_OK;
}
