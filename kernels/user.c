/* A user's own benchmark as a measurement: run three times, a rate with its unit, repeatable or
 * nothing. */
#include "config.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/jlite.h"
#include "kernels/run.h"
#include "kernels/tool.h"

#define USER_RUNS 3
#define USER_SPREAD                                                                                \
	0.10 /* largest less smallest over the median, from which a figure is no measurement */

/* The last line that is not blank. */
static const char *
user_last_line(char *text)
{
	size_t n = strlen(text);

	while (n > 0 && isspace((unsigned char)text[n - 1]))
		text[--n] = '\0';
	while (n > 0 && text[n - 1] != '\n')
		n--;
	return text + n;
}

/* Factor to the unit that the suite uses for a rate of that kind, with that unit; 0: a time, or no
 * unit. */
static double
user_unit(const char *said, char *out, size_t n)
{
	static const struct {
		const char *said, *unit;
		double factor;
	} units[] = {
		{ "TFLOP/s", "TFLOP/s", 1 },
		{ "TFLOPS", "TFLOP/s", 1 },
		{ "TFLOPs", "TFLOP/s", 1 },
		{ "TOPS", "TFLOP/s", 1 },
		{ "TFLOPs/s", "TFLOP/s", 1 },
		{ "TF", "TFLOP/s", 1 },
		{ "GFLOP/s", "TFLOP/s", 1e-3 },
		{ "GFLOPS", "TFLOP/s", 1e-3 },
		{ "PFLOP/s", "TFLOP/s", 1e3 },
		{ "PFLOPS", "TFLOP/s", 1e3 },
		{ "GB/s", "GB/s", 1 },
		{ "MB/s", "GB/s", 1e-3 },
		{ "TB/s", "GB/s", 1e3 },
		{ "GiB/s", "GB/s", 1.073741824 },
		{ "TiB/s", "GB/s", 1099.511627776 },
		{ "s", "", 0 },
		{ "ms", "", 0 },
		{ "us", "", 0 },
		{ "sec", "", 0 },
		{ "seconds", "", 0 },
		{ "", "", 0 },
	};

	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (strcmp(units[i].said, said) == 0) {
			snprintf(out, n, "%s", units[i].unit);
			return units[i].factor;
		}
	snprintf(out, n, "%.11s", said); /* "tok/s", "img/s": as it is */
	return 1;
}

/* The suite's unit of a test of that name, NULL if there is none. */
static const char *
user_suite_unit(const char *name)
{
	size_t n;
	const struct suite_row *rows = suite_rows(&n);

	for (size_t i = 0; i < n; i++)
		if (strcmp(rows[i].name, name) == 0)
			return rows[i].unit;
	return NULL;
}

/* One run: its rate for one accelerator, in unit; false with why. */
static bool
user_once(
    struct run *run, double cap_s, double *out, char *unit, size_t unit_n, char *why, size_t why_n)
{
	const char *const argv[] = { "/bin/sh", "-c", run->opts.measure, NULL };
	const char *line = "";
	struct tool_out t;
	char said[32] = "";
	double factor;
	bool ok = false;

	tool_run(argv, cap_s, false, &t);
	if (t.end == TOOL_OK)
		line = user_last_line(t.text);
	if (t.end == TOOL_HUNG)
		snprintf(why, why_n, "the command did not end within %.0f s and was killed", cap_s);
	else if (t.end != TOOL_OK)
		snprintf(why, why_n, "the command: %s", t.why);
	else if (!jlite_text_number(line, strlen(line), out, said, sizeof(said)) || !(*out > 0))
		snprintf(why, why_n, "the last line is no rate: '%.60s'", line);
	else if ((factor = user_unit(said, unit, unit_n)) == 0)
		snprintf(why, why_n, "'%.20s' is no unit of a rate: more must be better", said);
	else {
		*out *= factor / run->opts.measure_devices;
		ok = true;
	}
	tool_free(&t);
	return ok;
}

static int
user_cmp(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

void
user_measure(struct run *run)
{
	const char *name = run->opts.measure_name, *want = user_suite_unit(name);
	const double cap_s =
	    (run->opts.cap_s - (report_now() - run->report.started)) / USER_RUNS - 1;
	struct report_test t = { .gpu = -1, .peer = -1, .n = USER_RUNS, .iqr = (double)NAN };
	char unit[12] = "", first[12] = "", why[200] = "";
	double v[USER_RUNS] = { 0 };

	if (strcmp(run->report.mode, "host") == 0)
		run->report.mode = "other";
	report_running(&run->report, -1, name, run->opts.cap_s);
	for (int i = 0; i < USER_RUNS && why[0] == '\0'; i++) {
		if (!user_once(run, cap_s, &v[i], unit, sizeof(unit), why, sizeof(why)))
			break;
		if (i == 0)
			snprintf(first, sizeof(first), "%s", unit);
		else if (strcmp(first, unit) != 0)
			snprintf(why, sizeof(why), "one run said %s, another %s", first, unit);
	}
	if (why[0] == '\0' && want != NULL && strcmp(want, unit) != 0)
		snprintf(why, sizeof(why), "%s is measured in %s, not %s", name, want, unit);
	if (why[0] == '\0' && want == NULL && strcmp(name, "user") != 0 &&
	    strncmp(name, "user_", 5) != 0)
		snprintf(why, sizeof(why),
		    "'%.40s' is neither a test of --list nor user_ and a name", name);
	qsort(v, USER_RUNS, sizeof(v[0]), user_cmp);
	if (why[0] == '\0' && v[USER_RUNS - 1] - v[0] > USER_SPREAD * v[USER_RUNS / 2])
		snprintf(why, sizeof(why), "it does not repeat: %.4g to %.4g %s in %d runs", v[0],
		    v[USER_RUNS - 1], unit, USER_RUNS);
	if (why[0] != '\0') {
		report_test_none(
		    &run->report, name, -1, want != NULL ? want : unit, REPORT_FAILED, "%s", why);
	} else {
		snprintf(t.name, sizeof(t.name), "%.31s", name);
		snprintf(t.unit, sizeof(t.unit), "%s", unit);
		t.value = t.median = v[USER_RUNS / 2];
		t.min = v[0];
		t.max = v[USER_RUNS - 1];
		t.status = REPORT_OK;
		report_test(&run->report, &t);
	}
	report_running(&run->report, -1, NULL, 0);
}
