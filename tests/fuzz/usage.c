/* Readers of usage records. The first byte of the input chooses one, the rest is its text. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ingest/expo.h"
#include "ingest/focus.h"
#include "ingest/lines.h"
#include "ingest/promjson.h"
#include "ingest/sacct.h"
#include "ingest/smi.h"
#include "ingest/snapshot.h"
#include "model/accel.h"
#include "tests/fuzz/fuzz.h"
#include "util/tz.h"

const char fuzz_name[] = "usage";

static enum berth_code
take_job(void *arg, const struct ingest_job *j, struct berth_err *err)
{
	(void)arg;
	(void)err;
	FUZZ_CHECK(j->id[0] != '\0' && j->tasks >= 1 && j->tasks_at_once >= 1 && j->tasks_at_once <= j->tasks);
	FUZZ_CHECK(j->start == 0 || j->end == 0 || j->end >= j->start);
	FUZZ_CHECK(j->n_gres <= INGEST_GRES_MAX);
	for (size_t i = 0; i < j->n_gres; i++)
		FUZZ_CHECK(j->gres[i].count > 0 && j->gres[i].count < 1e9);
	return BERTH_OK;
}

static enum berth_code
take_point(void *arg, const struct ingest_point *p, struct berth_err *err)
{
	(void)arg;
	(void)err;
	FUZZ_CHECK(p->t >= 0 && p->n_labels <= INGEST_LABELS_MAX);
	for (size_t i = 1; i < p->n_labels; i++)
		FUZZ_CHECK(strcmp(p->labels[i - 1].key, p->labels[i].key) < 0);
	return BERTH_OK;
}

static void
say(void *arg, enum usage_say kind, long line, const char *message)
{
	(void)arg;
	(void)kind;
	FUZZ_CHECK(line >= 0 && message[0] != '\0');
}

static bool
machine(void *arg, const char *type, const char **accelerator, double *count)
{
	(void)arg;
	*accelerator = type;
	*count = 8;
	return type[0] == 'p';
}

static void
by_lines(char which, FILE *f, struct arena *a, const struct ingest_sink *sink)
{
	struct berth_err err = { 0 };
	const struct tz *tz = NULL;
	struct sacct *jobs;
	struct expo *metrics = expo_new(a, sink);
	struct snapshot *moment = snapshot_new(a, which == 'q' ? SNAPSHOT_SQUEUE : SNAPSHOT_SINFO, sink);
	struct lines *l = NULL;
	char *line;
	size_t len;
	enum berth_code rc = tz_load(a, "+02:00", &tz, &err);

	jobs = sacct_new(a, tz, sink);
	if (rc == BERTH_OK)
		rc = lines_new(f, &l, &err);
	while (rc == BERTH_OK && (rc = lines_next(l, &line, &len, &err)) == BERTH_OK && line != NULL) {
		FUZZ_CHECK(strlen(line) == len);
		rc = which == 's' ? sacct_line(jobs, line, len, lines_number(l), &err) :
		    which == 'm' ? expo_line(metrics, line, len, lines_number(l), &err) :
		    snapshot_line(moment, line, len, lines_number(l), &err);
	}
	FUZZ_CHECK(rc == BERTH_OK || err.msg[0] != '\0');
	lines_free(l);
}

static enum berth_code
take_bill(void *arg, const struct focus_bill *row, struct berth_err *err)
{
	(void)arg;
	(void)err;
	FUZZ_CHECK(isfinite(row->gpu_hours) && row->end > row->start && row->n_labels <= FOCUS_LABELS_MAX);
	return BERTH_OK;
}

static void
by_stream(char which, FILE *f, struct arena *a, const struct ingest_sink *sink)
{
	struct focus_options o = { .machine = machine };
	struct focus_counts bill = { 0 };
	struct smi_counts cards = { 0 };
	struct berth_err err = { 0 };
	const struct focus_sink bills = { .bill = take_bill, .say = say };
	const struct tz *tz = NULL;
	enum berth_code rc = tz_load(a, "UTC", &tz, &err);

	if (rc == BERTH_OK)
		rc = accel_table_open(a, &o.accels, &err);
	if (rc == BERTH_OK)
		rc = which == 'n' ? smi_read(f, "fuzz", tz, sink, &cards, &err) :
		    focus_read(f, "fuzz", &o, a, &bills, &bill, &err);
	FUZZ_CHECK(rc == BERTH_OK || err.msg[0] != '\0');
	FUZZ_CHECK(bill.rows.refused + bill.without_gpus <= bill.rows.read && cards.refused <= cards.rows);
	FUZZ_CHECK(isfinite(bill.gpu_hours) && isfinite(bill.cost));
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct ingest_sink sink = { .job = take_job, .point = take_point, .say = say };
	struct arena *a;
	struct berth_err err = { 0 };
	int64_t points;
	FILE *f;

	if (size < 2)
		return 0;
	a = arena_new();
	if (data[0] == 'j') {
		if (promjson_read((const char *)data + 1, size - 1, "fuzz", "", &sink, &points, &err) != BERTH_OK)
			FUZZ_CHECK(err.msg[0] != '\0');
	} else {
		f = fmemopen((void *)(uintptr_t)(data + 1), size - 1, "r");
		if (f != NULL) {
			if (data[0] == 'n' || data[0] == 'f')
				by_stream((char)data[0], f, a, &sink);
			else
				by_lines((char)data[0], f, a, &sink);
			fclose(f);
		}
	}
	arena_free(a);
	return 0;
}
