#include "config.h"

#include <math.h>
#include <string.h>
#include <time.h>

#include "kernels/report.h"

static const char *
report_status_name(enum report_status s)
{
	switch (s) {
	case REPORT_OK:
		return "ok";
	case REPORT_PARTIAL:
		return "partial";
	case REPORT_FAILED:
		return "failed";
	case REPORT_SKIPPED:
		return "skipped";
	case REPORT_NOTE:
		return "note";
	case REPORT_UNKNOWN:
		break;
	}
	return "unknown";
}

/* The driver's strings are not to be trusted to be UTF-8: whatever is not printable ASCII becomes
 * '?'. */
static void
report_string(FILE *f, const char *key, const char *s)
{
	fprintf(f, "\"%s\":", key);
	if (s[0] == '\0') {
		fputs("null", f);
		return;
	}
	fputc('"', f);
	for (; *s != '\0'; s++) {
		if (*s == '"' || *s == '\\')
			fputc('\\', f);
		fputc(*s >= 0x20 && *s < 0x7f ? *s : '?', f);
	}
	fputc('"', f);
}

static void
report_number(FILE *f, const char *key, double v)
{
	if (isfinite(v))
		fprintf(f, "\"%s\":%.9g", key, v);
	else
		fprintf(f, "\"%s\":null", key);
}

static void
report_index(FILE *f, const char *key, int v)
{
	if (v >= 0)
		fprintf(f, "\"%s\":%d", key, v);
	else
		fprintf(f, "\"%s\":null", key);
}

static void
report_json_gpu(FILE *f, int index, const struct report_gpu *g)
{
	fprintf(f, "{\"index\":%d,", index);
	report_string(f, "name", g->name);
	fputc(',', f);
	report_string(f, "uuid", g->uuid);
	fputc(',', f);
	report_string(f, "pci", g->pci);
	fputc(',', f);
	report_string(f, "cc", g->cc);
	fputc(',', f);
	report_index(f, "sms", g->sms);
	fputc(',', f);
	report_number(f, "memory_mib", g->memory_mib);
	fputc(',', f);
	report_number(f, "power_limit_w", g->power_limit_w);
	fprintf(f, ",\"ecc\":%s,", g->ecc < 0 ? "null" : g->ecc > 0 ? "true" : "false");
	report_string(f, "mig", g->mig);
	fputc(',', f);
	report_string(f, "link", g->link);
	fputc('}', f);
}

static void
report_json_test(FILE *f, const struct report_test *t)
{
	fputc('{', f);
	report_string(f, "name", t->name);
	fputc(',', f);
	report_index(f, "gpu", t->gpu);
	fputc(',', f);
	report_index(f, "peer", t->peer);
	fputc(',', f);
	report_number(f, "value", t->value);
	fputc(',', f);
	report_string(f, "unit", t->unit);
	fputc(',', f);
	report_number(f, "median", t->median);
	fputc(',', f);
	report_number(f, "min", t->min);
	fputc(',', f);
	report_number(f, "max", t->max);
	fputc(',', f);
	report_number(f, "iqr", t->iqr);
	fprintf(f, ",\"n\":%d,", t->n);
	report_number(f, "took_s", t->took_s);
	fputc(',', f);
	report_string(f, "status", report_status_name(t->status));
	fputc(',', f);
	report_string(f, "error", t->error);
	fputc('}', f);
}

static void
report_json_checks(FILE *f, const char *key, const struct report_check *c, size_t n)
{
	fprintf(f, ",\n\"%s\":[", key);
	for (size_t i = 0; i < n; i++) {
		fputs(i > 0 ? ",\n {" : "\n {", f);
		report_string(f, "name", c[i].name);
		fputc(',', f);
		report_index(f, "gpu", c[i].gpu);
		fputc(',', f);
		report_string(f, "status", report_status_name(c[i].status));
		fputc(',', f);
		report_number(f, "value", c[i].value);
		fputc(',', f);
		report_string(f, "detail", c[i].detail);
		fputc('}', f);
	}
	fputc(']', f);
}

static void
report_json_head(struct report *r, FILE *f)
{
	time_t now = time(NULL);
	char at[32] = "";
	struct tm tm;

	if (gmtime_r(&now, &tm) != NULL)
		strftime(at, sizeof(at), "%Y-%m-%dT%H:%M:%SZ", &tm);
	fprintf(f, "{\"schema\":\"berth.probe-result/1\",\"probe\":\"%s\",", PACKAGE_VERSION);
	report_string(f, "kernels", r->kernels);
	fputc(',', f);
	report_string(f, "mode", r->mode);
	fputc(',', f);
	report_string(f, "level", r->level);
	fputc(',', f);
	report_string(f, "only", r->only);
	fputs(",\n", f);
	report_string(f, "host", r->host);
	fputc(',', f);
	report_string(f, "driver", r->driver);
	fputc(',', f);
	report_string(f, "cuda", r->cuda);
	fputc(',', f);
	report_string(f, "image", r->image);
	fputc(',', f);
	report_string(f, "at", at);
	fputs(",\n\"gpus\":[", f);
	for (int i = 0, n = 0; i < REPORT_MAX_GPUS; i++) {
		if (!r->gpus[i].present)
			continue;
		fputs(n++ > 0 ? ",\n " : "\n ", f);
		report_json_gpu(f, i, &r->gpus[i]);
	}
	fputc(']', f);
}

/* Devices report in the order in which they finish: within a test they are put in the order of
 * their numbers. */
static void
report_sort(struct report *r)
{
	for (size_t i = 1; i < r->n_tests; i++) {
		const struct report_test t = r->tests[i];
		size_t k = i;

		for (; k > 0 && strcmp(r->tests[k - 1].name, t.name) == 0 &&
		       (r->tests[k - 1].gpu > t.gpu ||
			   (r->tests[k - 1].gpu == t.gpu && r->tests[k - 1].peer > t.peer));
		     k--)
			r->tests[k] = r->tests[k - 1];
		r->tests[k] = t;
	}
}

int
report_json(struct report *r, FILE *f)
{
	int rc = 0;

	pthread_mutex_lock(&r->lock);
	if (r->closed)
		goto out;
	r->closed = true;
	report_sort(r);
	report_json_head(r, f);
	report_json_checks(f, "health", r->health, r->n_health);
	fputs(",\n\"tests\":[", f);
	for (size_t i = 0; i < r->n_tests; i++) {
		fputs(i > 0 ? ",\n " : "\n ", f);
		report_json_test(f, &r->tests[i]);
	}
	fputc(']', f);
	report_json_checks(f, "checks", r->checks, r->n_checks);
	fputs(",\n\"errors\":[", f);
	for (size_t i = 0; i < r->n_errors; i++) {
		fputs(i > 0 ? ",\n {" : "\n {", f);
		report_string(f, "where", r->errors[i].where);
		fprintf(f, ",\"code\":%d,", r->errors[i].code);
		report_string(f, "message", r->errors[i].message);
		fputc('}', f);
	}
	fprintf(f, "],\n\"duration_s\":%.3f}\n", report_now() - r->started);
	rc = fflush(f) != 0 || ferror(f) ? -1 : 0;
out:
	pthread_mutex_unlock(&r->lock);
	return rc;
}

static void
report_table_gpus(struct report *r, FILE *f)
{
	for (int i = 0; i < REPORT_MAX_GPUS; i++) {
		const struct report_gpu *g = &r->gpus[i];

		if (g->present && strcmp(r->mode, "other") == 0)
			fprintf(f, "gpu %d  %s  %.0f MiB\n", i,
			    g->name[0] != '\0' ? g->name : "(no name)", g->memory_mib);
		else if (g->present)
			fprintf(f, "gpu %d  %s  cc %s  %d SMs  %.0f MiB%s%s\n", i, g->name, g->cc,
			    g->sms, g->memory_mib, g->mig[0] != '\0' ? "  MIG " : "", g->mig);
	}
}

static void
report_table_tests(struct report *r, FILE *f)
{
	for (size_t i = 0; i < r->n_tests; i++) {
		const struct report_test *t = &r->tests[i];
		char where[32] = "host";

		if (t->gpu >= 0 && t->peer >= 0)
			snprintf(where, sizeof(where), "gpu %d>%d", t->gpu, t->peer);
		else if (t->gpu >= 0)
			snprintf(where, sizeof(where), "gpu %d", t->gpu);
		if (isfinite(t->value))
			fprintf(f, "%-8s %-16s %12.4g %-8s %s%s%s\n", where, t->name, t->value,
			    t->unit, t->status == REPORT_OK ? "" : report_status_name(t->status),
			    t->error[0] != '\0' ? "  " : "", t->error);
		else
			fprintf(f, "%-8s %-16s %12s %-8s %s: %s\n", where, t->name, "-", t->unit,
			    report_status_name(t->status), t->error);
	}
}

static int
report_table_checks(FILE *f, const struct report_check *c, size_t n)
{
	int bad = 0;

	for (size_t i = 0; i < n; i++) {
		if (c[i].status == REPORT_OK)
			continue;
		bad += c[i].status == REPORT_FAILED;
		if (c[i].gpu >= 0)
			fprintf(f, "gpu %d ", c[i].gpu);
		fprintf(f, "%s: %s: %s\n", report_status_name(c[i].status), c[i].name, c[i].detail);
	}
	return bad;
}

int
report_table(struct report *r, FILE *f)
{
	int rc = 0, bad;

	pthread_mutex_lock(&r->lock);
	if (r->closed)
		goto out;
	r->closed = true;
	report_sort(r);
	fprintf(f, "berth-probe %s  %s  %s\n", PACKAGE_VERSION, r->host,
	    strcmp(r->mode, "host") == 0      ? "no GPU could be used: host reference"
	    : strcmp(r->mode, "other") == 0   ? "identified by its vendor's tool"
	    : strcmp(r->mode, "network") == 0 ? "network to a peer"
					      : r->level);
	report_table_gpus(r, f);
	report_table_tests(r, f);
	bad = report_table_checks(f, r->health, r->n_health);
	bad += report_table_checks(f, r->checks, r->n_checks);
	for (size_t i = 0; i < r->n_errors; i++)
		fprintf(f, "error: %s: %s (%d)\n", r->errors[i].where, r->errors[i].message,
		    r->errors[i].code);
	for (size_t i = 0; i < r->n_tests; i++)
		bad += r->tests[i].status == REPORT_FAILED;
	if (bad == 0 && !r->lost && r->n_checks + r->n_health > 0)
		fprintf(f, "no error found in %zu checks; a pass is no proof\n",
		    r->n_checks + r->n_health);
	fprintf(f, "%.1f s\n", report_now() - r->started);
	rc = fflush(f) != 0 || ferror(f) ? -1 : 0;
out:
	pthread_mutex_unlock(&r->lock);
	return rc;
}
