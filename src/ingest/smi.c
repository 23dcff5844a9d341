#include "ingest/smi.h"

#include <float.h>
#include <stdlib.h>
#include <string.h>

#include "ingest/slurmtime.h"
#include "util/csv.h"
#include "util/str.h"
#include "util/time.h"

enum smi_unit { SMI_NUMBER, SMI_MIB, SMI_MASK };

static const struct {
	const char *column, *metric;
	enum smi_unit unit;
} smi_columns[] = {
	{ "utilization.gpu", "smi:utilization.gpu", SMI_NUMBER },
	{ "utilization.memory", "smi:utilization.memory", SMI_NUMBER },
	{ "memory.used", "smi:memory.used", SMI_MIB },
	{ "memory.total", "smi:memory.total", SMI_MIB },
	{ "temperature.gpu", "smi:temperature.gpu", SMI_NUMBER },
	{ "power.draw", "smi:power.draw", SMI_NUMBER },
	{ "power.draw.average", "smi:power.draw", SMI_NUMBER },
	{ "clocks_throttle_reasons.active", "smi:throttled", SMI_MASK },
	{ "clocks_event_reasons.active", "smi:throttled", SMI_MASK },
};

#define SMI_COLUMNS (sizeof(smi_columns) / sizeof(smi_columns[0]))

struct smi {
	struct csv *csv;
	const struct ingest_sink *sink;
	struct slurmclock clock;
	struct smi_counts *counts;
	int value[SMI_COLUMNS];
	int time, uuid, name, index, host;
	int64_t ambiguous; /* times of the hour that runs twice */
};

/* "utilization.gpu [%]" is utilization.gpu. */
static int
smi_column(const struct csv *c, const char *name)
{
	size_t n = strlen(name);

	for (size_t i = 0; i < csv_columns(c); i++) {
		const char *h = csv_header(c, i);

		if (str_istarts(h, name) && (h[n] == '\0' || str_is_space(h[n]) || h[n] == '['))
			return (int)i;
	}
	return -1;
}

static char *
smi_field(const struct csv_row *row, int i)
{
	char *s, *end;

	if (i < 0)
		return NULL;
	s = row->field[i];
	while (str_is_space(*s))
		s++;
	for (end = s + strlen(s); end > s && str_is_space(end[-1]); end--)
		;
	*end = '\0';
	return s;
}

enum smi_fate { SMI_KNOWN, SMI_UNKNOWN, SMI_FAULT, SMI_BAD };

/* Driver and tool say "no value" and "fault" in many words. */
static enum smi_fate
smi_value(const char *s, enum smi_unit unit, double *out)
{
	static const char *const fault[] = { "ERR!", "[ERR!]", "[Unknown Error]", "Unknown Error",
		"[GPU is lost]", "GPU is lost", "[Reset Required]", "[GPU requires reset]", NULL };
	char number[40];
	size_t n = strcspn(s, " ");

	if (str_index(s, fault) >= 0)
		return SMI_FAULT;
	if (*s == '\0' || *s == '[' || str_ieq(s, "N/A") || str_ieq(s, "Not Supported") ||
	    str_ieq(s, "None"))
		return SMI_UNKNOWN;
	if (n >= sizeof(number))
		return SMI_BAD;
	memcpy(number, s, n);
	number[n] = '\0';
	if (unit == SMI_MASK && str_istarts(number, "0x")) {
		char *end;

		*out = (double)strtoull(number + 2, &end, 16);
		return *end == '\0' && number[2] != '\0' ? SMI_KNOWN : SMI_BAD;
	}
	if (str_to_double(number, -DBL_MAX, DBL_MAX, out, NULL) != BERTH_OK)
		return SMI_BAD;
	for (s += n; *s == ' '; s++)
		;
	if (unit == SMI_MIB && str_ieq(s, "GiB"))
		*out *= 1024;
	else if (unit == SMI_MIB && *s != '\0' && !str_ieq(s, "MiB"))
		return SMI_BAD;
	return SMI_KNOWN;
}

/* "2026/11/30 10:00:00.123" */
static bool
smi_time(struct smi *m, char *s, long line, int64_t *t_out)
{
	struct slurmtime t;

	if (strlen(s) > 7 && s[4] == '/' && s[7] == '/')
		s[4] = s[7] = '-';
	if (!slurmtime_parse(&m->clock, s, &t) || !t.known)
		return false;
	*t_out = t.t;
	if (t.skipped)
		m->sink->say(m->sink->arg, USAGE_REMARK, line,
		    "this clock time does not exist: clocks went forward then. It is taken as if "
		    "they had not; is --zone right?");
	if (t.later != t.t && m->ambiguous++ == 0)
		m->sink->say(m->sink->arg, USAGE_REMARK, line,
		    "this clock time comes twice when clocks go back: the first is taken, here and "
		    "in later rows");
	return true;
}

static void
smi_label(struct ingest_point *p, struct usage_label *labels, const char *key, const char *value)
{
	if (value != NULL && *value != '\0')
		labels[p->n_labels++] = (struct usage_label){ key, value };
}

static enum berth_code
smi_row(struct smi *m, const struct csv_row *row, struct berth_err *err)
{
	struct usage_label labels[4];
	struct ingest_point p = { .line = row->line, .labels = labels };
	enum smi_fate fates[SMI_COLUMNS];
	double values[SMI_COLUMNS];
	enum berth_code rc = BERTH_OK;
	bool faulty = false;
	char *s = smi_field(row, m->time);

	if (s != NULL && !smi_time(m, s, row->line, &p.t))
		return err_set(err, BERTH_EINVAL, "column timestamp: '%.60s' is no time", s);
	for (size_t i = 0; i < SMI_COLUMNS; i++) {
		s = smi_field(row, m->value[i]);
		fates[i] = s == NULL ? SMI_UNKNOWN : smi_value(s, smi_columns[i].unit, &values[i]);
		if (fates[i] == SMI_BAD)
			return err_set(err, BERTH_EINVAL, "column %s: '%.60s' is no value",
			    smi_columns[i].column, s);
		faulty = faulty || fates[i] == SMI_FAULT;
		m->counts->unknown += s != NULL && fates[i] != SMI_KNOWN;
	}
	smi_label(&p, labels, "accelerator", smi_field(row, m->name));
	smi_label(&p, labels, "host", smi_field(row, m->host));
	smi_label(&p, labels, "index", smi_field(row, m->index));
	smi_label(&p, labels, "uuid", smi_field(row, m->uuid));
	for (size_t i = 0; rc == BERTH_OK && i < SMI_COLUMNS; i++) {
		p.metric = smi_columns[i].metric;
		p.value = values[i];
		if (fates[i] == SMI_KNOWN)
			rc = m->sink->point(m->sink->arg, &p, err);
	}
	if (faulty) {
		m->counts->faulty++;
		m->sink->say(m->sink->arg, USAGE_REMARK, row->line,
		    "this GPU answers with an error: it is not usable");
	}
	p.metric = "smi:usable";
	p.value = faulty ? 0 : 1;
	return rc == BERTH_OK ? m->sink->point(m->sink->arg, &p, err) : rc;
}

static enum berth_code
smi_open(struct smi *m, FILE *f, const char *name, struct berth_err *err)
{
	enum berth_code rc = csv_open_stream(f, name, &m->csv, err);
	bool any = false;

	if (rc != BERTH_OK)
		return rc;
	for (size_t i = 0; i < SMI_COLUMNS; i++) {
		m->value[i] = smi_column(m->csv, smi_columns[i].column);
		any = any || m->value[i] >= 0;
	}
	m->time = smi_column(m->csv, "timestamp");
	m->uuid = smi_column(m->csv, "uuid");
	m->name = smi_column(m->csv, "name");
	m->index = smi_column(m->csv, "index");
	m->host = smi_column(m->csv, "host");
	if (m->uuid < 0)
		m->uuid = smi_column(m->csv, "gpu_uuid");
	if (m->name < 0)
		m->name = smi_column(m->csv, "gpu_name");
	if (any && (m->uuid >= 0 || m->index >= 0))
		return BERTH_OK;
	return err_set(err, BERTH_EINVAL,
	    "%s: needs the columns index or uuid, and utilization.gpu, memory.used or another: "
	    "nvidia-smi --query-gpu=timestamp,name,uuid,utilization.gpu,memory.used,memory.total "
	    "--format=csv",
	    name);
}

enum berth_code
smi_read(FILE *f, const char *name, const struct tz *tz, const struct ingest_sink *sink,
    struct smi_counts *counts, struct berth_err *err)
{
	struct smi m = { .sink = sink, .counts = counts };
	const struct csv_row *row;
	enum berth_code rc = smi_open(&m, f, name, err);

	slurmclock_init(&m.clock, tz);
	while (rc == BERTH_OK) {
		rc = csv_next(m.csv, &row, err);
		if (rc == BERTH_OK && row == NULL)
			break;
		counts->rows++;
		if (rc == BERTH_OK)
			rc = smi_row(&m, row, err);
		if (rc != BERTH_EINVAL)
			continue;
		counts->refused++;
		sink->say(sink->arg, USAGE_REFUSED, csv_line(m.csv), err->msg);
		rc = BERTH_OK;
	}
	csv_close(m.csv);
	return rc;
}
