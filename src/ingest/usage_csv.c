#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ingest/slurmtime.h"
#include "ingest/usage.h"
#include "model/formmix.h"
#include "model/series.h"
#include "util/csv.h"
#include "util/str.h"
#include "util/time.h"

#define CSV_KEY_SEP '\x1f'
#define CSV_PROGRESS_ROWS 65536

/* The names under which exports have these columns. */
static const char *const csv_time_names[] = { "timestamp", "timestamp_utc", "time", "date",
	"datetime", "ts", NULL };
static const char *const csv_value_names[] = { "gpus", "gpus_used", "gpu_count", "value", NULL };
static const char *const csv_accel_names[] = { "accelerator", "accelerator_type", "gpu_type",
	"gpu_model", "gpu_name", NULL };
/* Measures that stand beside the value in many exports: as labels they would make a series of every
 * row. */
static const char *const csv_measures[] = { "price", "cost", "util", "power", "temp", "energy",
	"memory_used", "sm_", "requested", "queued", "capacity", NULL };

/* What models of demand are fed with beside it: of the day, not of the series. Also all that begins
 * with "is_". */
static const char *const csv_regressors[] = { "promo", "promotion", "launch", "holiday", "weekend",
	"weekday", "day_of_week", "dayofweek", "hour", NULL };

struct csv_label_col {
	int col;
	const char *key;
	bool accel;
};

struct csv_reader {
	const struct usage_csv_options *o;
	struct csv *csv;
	struct usage_set *set;
	struct spool *sp;
	struct usage_counts counts;
	usage_say_fn *say;
	void *arg;
	int time_col, value_col, peak_col, series_col, form_col;
	struct csv_label_col *labels; /* [n_labels] */
	size_t n_labels;
	int *key_cols; /* [n_key_cols] all but time, value, peak and measures */
	size_t n_key_cols;
	char day[11]; /* "2026-11-30" that was read last */
	int64_t midnight;
	char *key, *last_key; /* of the row, and of the row before */
	size_t key_cap;
	uint32_t last_source;
	bool have_last;
	struct strmap unknown; /* accelerator names that the table lacks and that were told of */
	int64_t second;        /* other instant of the row's clock time; 0 it has one */
	long ambiguous;        /* times that the clock showed twice */
};

static void
csv_refuse(struct csv_reader *r, const struct berth_err *err)
{
	r->counts.refused++;
	r->say(r->arg, USAGE_REFUSED, csv_line(r->csv), err->msg);
}

static char *
csv_trim(char *s)
{
	char *end;

	while (str_is_space(*s))
		s++;
	end = s + strlen(s);
	while (end > s && str_is_space(end[-1]))
		*--end = '\0';
	return s;
}

/* Two digits at s, or -1. */
static int
csv_two(const char *s)
{
	return str_is_digit(s[0]) && str_is_digit(s[1]) ? (s[0] - '0') * 10 + s[1] - '0' : -1;
}

/* "2026-11-30T10:00:00Z" of the day that was read last; anything else goes the long way. */
static bool
csv_time_fast(const struct csv_reader *r, const char *s, int64_t *t_out)
{
	int h, m, sec;

	if (strncmp(s, r->day, 10) != 0 || (s[10] != 'T' && s[10] != ' '))
		return false;
	h = csv_two(s + 11);
	if (h < 0 || h > 23 || s[13] != ':' || (m = csv_two(s + 14)) < 0 || m > 59 ||
	    s[16] != ':' || (sec = csv_two(s + 17)) < 0 || sec > 59 || s[19] != 'Z' ||
	    s[20] != '\0')
		return false;
	*t_out = r->midnight + h * 3600 + m * 60 + sec;
	return true;
}

static enum berth_code
csv_serial(const struct csv_reader *r, const char *s, int64_t *t_out, struct berth_err *err)
{
	char text[40], *comma;
	double days;
	enum berth_code rc;

	(void)str_copy(text, sizeof(text), s);
	if (r->o->decimal_comma && (comma = strchr(text, ',')) != NULL)
		*comma = '.';
	rc = str_to_double(text, 25569, 109000, &days, err); /* 1970 .. 2198 */
	if (rc != BERTH_OK)
		return err_set(err, rc, "'%s' is no serial date", s);
	*t_out = llround((days - 25569) * 86400);
	return BERTH_OK;
}

static enum berth_code
csv_time_slow(struct csv_reader *r, const char *s, int64_t *t_out, struct berth_err *err)
{
	enum tz_note note = TZ_PLAIN;
	enum berth_code rc;

	if (r->o->serial_dates)
		return csv_serial(r, s, t_out, err);
	rc =
	    time_parse_noted(s, r->o->now, r->o->tz, TIME_EPOCH | TIME_ABSOLUTE, t_out, &note, err);
	if (rc != BERTH_OK)
		return rc;
	if (note == TZ_AMBIGUOUS) {
		r->second = slurmtime_later(r->o->tz, *t_out);
		if (r->ambiguous++ == 0)
			r->say(r->arg, USAGE_REMARK, csv_line(r->csv),
			    "this clock time comes twice when clocks go back: the second is taken "
			    "in rows that follow rows of the first, here and later");
	}
	if (note == TZ_GAP)
		r->say(r->arg, USAGE_REMARK, csv_line(r->csv),
		    "this clock time does not exist: clocks went forward then. It is taken as if "
		    "they had not; is --zone right?");
	if (strlen(s) == 20 && s[19] == 'Z' && s[4] == '-' && s[7] == '-') {
		memcpy(r->day, s, 10);
		r->midnight = time_floor(*t_out, 86400);
	}
	return BERTH_OK;
}

static enum berth_code
csv_time(struct csv_reader *r, const char *s, int64_t *t_out, struct berth_err *err)
{
	enum berth_code rc = BERTH_OK;
	const char *fault;

	r->second = 0;
	if (!csv_time_fast(r, s, t_out))
		rc = csv_time_slow(r, s, t_out, err);
	if (rc == BERTH_OK && (fault = usage_time_fault(*t_out, r->o->now)) != NULL)
		return err_set(err, BERTH_EINVAL, "the time %s %s", s, fault);
	return rc;
}

/* Up to 15 digits with a point somewhere: exact in a double, and so is the power of ten. */
static bool
csv_number_fast(const char *s, double *v_out)
{
	static const double tens[] = { 1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11,
		1e12, 1e13, 1e14, 1e15 };
	int64_t n = 0;
	int digits = 0, decimals = -1;

	for (; *s != '\0'; s++) {
		if (*s == '.' && decimals < 0 && digits > 0) {
			decimals = 0;
			continue;
		}
		if (!str_is_digit(*s) || ++digits > 15)
			return false;
		n = n * 10 + (*s - '0');
		decimals += decimals >= 0;
	}
	if (digits == 0 || decimals == 0)
		return false;
	*v_out = decimals > 0 ? (double)n / tens[decimals] : (double)n;
	return true;
}

/* "1,234" and "1.234.567,5": whether a comma is a decimal one cannot be seen, or it is not the only
 * mark. */
static bool
csv_is_grouped(const char *s)
{
	const char *comma = strchr(s, ','), *dot = strchr(s, '.');
	size_t tail = comma != NULL ? strspn(comma + 1, "0123456789") : 0;

	return comma != NULL &&
	       (dot != NULL || strchr(comma + 1, ',') != NULL || (tail == 3 && comma[4] == '\0'));
}

static enum berth_code
csv_number(
    const struct csv_reader *r, const char *what, char *s, double *v_out, struct berth_err *err)
{
	char *comma = strchr(s, ',');
	enum berth_code rc;

	if (csv_number_fast(s, v_out))
		return BERTH_OK;
	if (s[0] == '\0')
		return err_set(
		    err, BERTH_EINVAL, "%s is empty: no data is not zero, leave the row out", what);
	if (str_ieq(s, "nan") || str_ieq(s, "inf") || str_ieq(s, "+inf") || str_ieq(s, "-inf"))
		return err_set(err, BERTH_EINVAL, "%s is %s: that is no number of GPUs", what, s);
	if (comma != NULL && csv_is_grouped(s) &&
	    (!r->o->decimal_comma || comma[4] != '\0' || strchr(s, '.') != NULL))
		return err_set(err, BERTH_EINVAL,
		    "%s is '%s': write numbers without marks between their thousands%s", what, s,
		    r->o->decimal_comma || strchr(s, '.') != NULL
			? ""
			: "; if that is a decimal comma, say --decimal-comma");
	if (comma != NULL && !r->o->decimal_comma)
		return err_set(err, BERTH_EINVAL,
		    "%s is '%s': if that is a decimal comma, say --decimal-comma", what, s);
	if (comma != NULL)
		*comma = '.';
	rc = str_to_double(s, -1e300, 1e300, v_out, err);
	if (comma != NULL)
		*comma = ','; /* as it came, for messages */
	if (rc != BERTH_OK)
		return err_set(err, rc, "%s is '%s': not a number", what, s);
	if (*v_out < 0)
		return err_set(err, BERTH_EINVAL, "%s is negative: %s", what, s);
	if (*v_out > USAGE_VALUE_MAX)
		return err_set(err, BERTH_EINVAL, "%s is absurd: %s", what, s);
	*v_out += 0.0; /* -0 is 0 */
	return BERTH_OK;
}

/* What the row's GPUs are beside their labels; NULL: nothing. */
static const char *
csv_form(const struct csv_reader *r, const struct csv_row *row)
{
	const struct accel *known = NULL;

	if (r->form_col >= 0 && r->o->accels != NULL)
		known = accel_find(r->o->accels, row->field[r->form_col]);
	return known != NULL ? form_of(known, accel_model(r->o->accels, known)) : NULL;
}

/*
 * The model, as the table spells it: memory tells products apart, SXM or PCIe is kept beside
 * it, as in all other formats. A name that nobody knows stays what it is and is told of once.
 */
static const char *
csv_accel(struct csv_reader *r, const char *value)
{
	const struct accel *known = r->o->accels != NULL ? accel_find(r->o->accels, value) : NULL;
	int added;

	if (known != NULL)
		return accel_model(r->o->accels, known)->name;
	if (r->o->accels != NULL) {
		strmap_add(r->set->a, &r->unknown, value, 0, &added);
		if (added)
			r->say(r->arg, USAGE_REMARK, csv_line(r->csv),
			    arena_printf(r->set->a,
				"accelerator '%s' is not in the table: kept under this name",
				value));
	}
	return value;
}

/* The row's own name of its series is one that the store takes. */
static enum berth_code
csv_check_name(const char *name, struct berth_err *err)
{
	size_t n = strlen(name);

	if (n == 0)
		return err_set(err, BERTH_EINVAL, "the name of the series is empty");
	if (n > SERIES_NAME_MAX)
		return err_set(err, BERTH_EINVAL,
		    "the name of the series has %zu bytes: at most %d fit", n, SERIES_NAME_MAX);
	if (str_control(name) >= 0)
		return err_set(err, BERTH_EINVAL,
		    "the name of the series has a control character, byte %td",
		    str_control(name) + 1);
	return BERTH_OK;
}

static enum berth_code
csv_check_text(struct csv_reader *r, int col, const char *value, struct berth_err *err)
{
	if (str_utf8_valid(value, strlen(value)))
		return BERTH_OK;
	return err_set(err, BERTH_EINVAL,
	    "column '%s' is no UTF-8: convert the file (iconv -f ISO-8859-1 -t UTF-8)",
	    csv_header(r->csv, (size_t)col));
}

/* A source that is new: the series it belongs to by its labels or its name. */
static enum berth_code
csv_new_source(struct csv_reader *r, const struct csv_row *row, struct berth_err *err)
{
	struct usage_label *labels = arena_array_of(r->set->a, r->n_labels, struct usage_label);
	const char *name, *json;
	enum berth_code rc;
	uint32_t target;
	size_t n = 0;

	for (size_t i = 0; i < r->n_labels; i++) {
		const char *value = row->field[r->labels[i].col];

		if (value[0] == '\0')
			continue;
		if ((rc = csv_check_text(r, r->labels[i].col, value, err)) != BERTH_OK)
			return rc;
		labels[n++] = (struct usage_label){ r->labels[i].key,
			r->labels[i].accel ? csv_accel(r, value) : arena_strdup(r->set->a, value) };
	}
	name = usage_name(r->set->a, labels, n);
	json = usage_labels_json(r->set->a, labels, n);
	if (r->o->series != NULL)
		name = r->o->series;
	else if (r->series_col >= 0 && r->o->n_by == 0) {
		name = row->field[r->series_col];
		if ((rc = csv_check_text(r, r->series_col, name, err)) != BERTH_OK ||
		    (rc = csv_check_name(name, err)) != BERTH_OK)
			return rc;
	}
	rc = usage_target_put(r->set, name, json, &target, err);
	if (rc != BERTH_OK)
		return rc == BERTH_EINVAL ? BERTH_EUSAGE : rc; /* ends the load, not the row */
	r->last_source = usage_source_put(r->set, r->key, target);
	r->set->sources.v[r->last_source].form = csv_form(r, row);
	return BERTH_OK;
}

/* All fields that tell the row's source from others, one behind the other. */
static enum berth_code
csv_key(struct csv_reader *r, const struct csv_row *row, struct berth_err *err)
{
	size_t n = 0;

	for (size_t i = 0; i < r->n_key_cols; i++) {
		char **field = &row->field[r->key_cols[i]];
		size_t len;
		char *p;

		*field = csv_trim(*field);
		len = strlen(*field);
		if (n + len + 2 > r->key_cap) {
			r->key_cap = (n + len + 2) * 2;
			p = realloc(r->key, r->key_cap);
			if (p != NULL)
				r->key = p;
			if (p == NULL || (p = realloc(r->last_key, r->key_cap)) == NULL)
				return err_set(err, BERTH_ENOMEM, "out of memory");
			r->last_key = p;
		}
		memcpy(r->key + n, *field, len);
		n += len;
		r->key[n++] = CSV_KEY_SEP;
	}
	r->key[n] = '\0';
	return BERTH_OK;
}

static enum berth_code
csv_source(
    struct csv_reader *r, const struct csv_row *row, uint32_t *source_out, struct berth_err *err)
{
	enum berth_code rc = csv_key(r, row, err);
	const size_t *at;
	char *swap;

	if (rc != BERTH_OK)
		return BERTH_ENOMEM;
	if (!r->have_last || strcmp(r->key, r->last_key) != 0) {
		at = strmap_get(&r->set->by_key, r->key);
		if (at != NULL)
			r->last_source = (uint32_t)*at;
		else if ((rc = csv_new_source(r, row, err)) != BERTH_OK)
			return rc;
		r->have_last = true;
		swap = r->last_key;
		r->last_key = r->key;
		r->key = swap;
	}
	*source_out = r->last_source;
	return BERTH_OK;
}

static enum berth_code
csv_values(
    struct csv_reader *r, const struct csv_row *row, struct usage_row *u, struct berth_err *err)
{
	char *peak = r->peak_col >= 0 ? csv_trim(row->field[r->peak_col]) : NULL;
	enum berth_code rc;

	rc = csv_number(r, csv_header(r->csv, (size_t)r->value_col),
	    csv_trim(row->field[r->value_col]), &u->value, err);
	u->peak = u->value;
	if (rc != BERTH_OK || peak == NULL || peak[0] == '\0')
		return rc;
	rc = csv_number(r, "peak", peak, &u->peak, err);
	if (rc == BERTH_OK && u->peak < u->value)
		rc = err_set(err, BERTH_EINVAL, "peak %s is below the mean", peak);
	return rc;
}

/*
 * BERTH_EINVAL refuses the row; other codes end the load. A row whose time is good leaves a gap
 * where its value is not: the row before it does not reach over it.
 */
static enum berth_code
csv_take(struct csv_reader *r, const struct csv_row *row, struct berth_err *err)
{
	struct usage_row u = { .flags = usage_line_flag(row->line) };
	struct berth_err bad = { .code = BERTH_OK };
	enum berth_code rc;

	rc = csv_time(r, csv_trim(row->field[r->time_col]), &u.t, err);
	if (rc != BERTH_OK)
		return rc;
	if (csv_values(r, row, &u, &bad) != BERTH_OK)
		u.flags |= USAGE_GAP;
	rc = csv_source(r, row, &u.source, err);
	if (rc != BERTH_OK)
		return rc;
	if (r->second != 0 && u.t <= r->set->sources.v[u.source].t_max &&
	    r->second > r->set->sources.v[u.source].t_max)
		u.t = r->second;
	usage_seen(r->set, u.source, u.t);
	rc = spool_add(r->sp, &u, err);
	if (rc == BERTH_OK && (u.flags & USAGE_GAP) != 0) {
		*err = bad;
		return bad.code;
	}
	return rc;
}

/* The column under one of these names; two of them are one too many. */
static enum berth_code
csv_find(const struct csv *csv, const char *given, const char *const *names, const char *option,
    int *col_out, struct berth_err *err)
{
	enum berth_code rc;

	*col_out = -1;
	if (given != NULL)
		return csv_need(csv, given, col_out, err);
	for (size_t i = 0; names[i] != NULL && *col_out < 0; i++)
		*col_out = csv_column(csv, names[i]);
	if (*col_out >= 0)
		return BERTH_OK;
	rc = csv_need(csv, names[0], col_out, err); /* says which columns there are */
	if (rc != BERTH_OK && err != NULL)
		snprintf(err->msg + strlen(err->msg), sizeof(err->msg) - strlen(err->msg),
		    "; %s names another", option);
	return rc;
}

static bool
csv_is_measure(const char *name)
{
	for (size_t i = 0; csv_measures[i] != NULL; i++)
		if (str_istarts(name, csv_measures[i]))
			return true;
	return false;
}

static bool
csv_is_regressor(const char *name)
{
	for (size_t i = 0; csv_regressors[i] != NULL; i++)
		if (str_ieq(name, csv_regressors[i]))
			return true;
	return str_istarts(name, "is_");
}

static bool
csv_in(const char *name, const char *const *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (str_ieq(name, list[i]))
			return true;
	return false;
}

static enum berth_code
csv_label_columns(struct csv_reader *r, struct berth_err *err)
{
	const struct usage_csv_options *o = r->o;
	size_t n = csv_columns(r->csv);
	int col;

	for (size_t i = 0; i < o->n_by; i++) {
		enum berth_code rc =
		    str_ieq(o->by[i], "accelerator") && csv_column(r->csv, "accelerator") < 0
			? csv_find(r->csv, NULL, csv_accel_names, "--by", &col, err)
			: csv_need(r->csv, o->by[i], &col, err);

		if (rc != BERTH_OK)
			return rc;
	}
	r->labels = arena_array_of(r->set->a, n, struct csv_label_col);
	r->key_cols = arena_array_of(r->set->a, n, int);
	for (size_t i = 0; i < n; i++) {
		const char *head = csv_header(r->csv, i);
		bool accel = str_index(str_lower(r->set->a, head), csv_accel_names) >= 0;
		const char *key = accel ? "accelerator" : arena_strdup(r->set->a, head);
		bool asked =
		    o->n_by == 0 || csv_in(head, o->by, o->n_by) || csv_in(key, o->by, o->n_by);

		if ((int)i == r->time_col || (int)i == r->value_col || (int)i == r->peak_col)
			continue;
		if (csv_is_measure(head) && (o->n_by == 0 || !asked)) {
			if (o->n_by == 0)
				r->say(r->arg, USAGE_NOTE, 1,
				    arena_printf(r->set->a,
					"column '%s' is taken for a measure and left out; --by "
					"makes it a label",
					head));
			continue;
		}
		if (csv_is_regressor(head) && (o->n_by == 0 || !asked)) {
			if (o->n_by == 0)
				r->say(r->arg, USAGE_NOTE, 1,
				    arena_printf(r->set->a,
					"column '%s' tells of the day, not of a series, and is "
					"left out: forecasts find days and weeks by themselves, "
					"and launches stand in berth-roadmap(5); --by makes it a "
					"label",
					head));
			continue;
		}
		r->key_cols[r->n_key_cols++] = (int)i;
		if (accel && r->form_col < 0)
			r->form_col = (int)i;
		if (!asked || ((int)i == r->series_col && o->n_by == 0))
			continue;
		r->labels[r->n_labels++] = (struct csv_label_col){ (int)i, key, accel };
	}
	return BERTH_OK;
}

static enum berth_code
csv_columns_find(struct csv_reader *r, struct berth_err *err)
{
	enum berth_code rc;

	rc =
	    csv_find(r->csv, r->o->time_column, csv_time_names, "--time-column", &r->time_col, err);
	if (rc == BERTH_OK)
		rc = csv_find(r->csv, r->o->value_column, csv_value_names, "--value-column",
		    &r->value_col, err);
	r->peak_col = csv_column(r->csv, "peak");
	r->series_col = csv_column(r->csv, "series");
	return rc == BERTH_OK ? csv_label_columns(r, err) : rc;
}

/* A line of separators alone, as spreadsheets leave them behind: no row. */
static bool
csv_blank(const struct csv_row *row)
{
	for (size_t i = 0; i < row->n; i++)
		if (row->field[i][0] != '\0')
			return false;
	return true;
}

static enum berth_code
csv_rows(struct csv_reader *r, usage_progress_fn *progress, struct berth_err *err)
{
	const struct csv_row *row;
	enum berth_code rc;

	for (;;) {
		rc = csv_next(r->csv, &row, err);
		if (rc == BERTH_OK && row == NULL)
			return BERTH_OK;
		if (rc == BERTH_OK && row->field[0][0] == '\0' && csv_blank(row))
			continue;
		if (rc == BERTH_OK || rc == BERTH_EINVAL)
			r->counts.read++;
		if (rc == BERTH_OK)
			rc = csv_take(r, row, err);
		if (rc == BERTH_EINVAL)
			csv_refuse(r, err);
		else if (rc != BERTH_OK)
			return rc == BERTH_EUSAGE ? BERTH_EINVAL : rc;
		if (r->counts.read % CSV_PROGRESS_ROWS == 0)
			progress(r->arg, r->counts.read);
	}
}

enum berth_code
usage_csv_read(FILE *f, const char *name, const struct usage_csv_options *o, struct usage_set *set,
    struct spool *sp, struct usage_counts *counts_out, usage_say_fn *say, void *arg,
    usage_progress_fn *progress, struct berth_err *err)
{
	struct csv_reader r = {
		.o = o, .set = set, .sp = sp, .say = say, .arg = arg, .form_col = -1
	};
	enum berth_code rc;

	r.key_cap = 256;
	r.key = malloc(r.key_cap);
	r.last_key = malloc(r.key_cap);
	rc = r.key != NULL && r.last_key != NULL ? csv_open_stream(f, name, &r.csv, err)
						 : err_set(err, BERTH_ENOMEM, "out of memory");
	if (rc == BERTH_OK)
		rc = csv_columns_find(&r, err);
	if (rc == BERTH_OK)
		rc = csv_rows(&r, progress, err);
	csv_close(r.csv);
	free(r.key);
	free(r.last_key);
	if (rc == BERTH_OK)
		*counts_out = r.counts;
	return rc;
}
