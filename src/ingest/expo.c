#include "ingest/expo.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "util/str.h"
#include "util/strmap.h"
#include "util/time.h"

enum expo_type { EXPO_PLAIN, EXPO_PARTS };

struct expo {
	struct arena *a;
	const struct ingest_sink *sink;
	struct strmap types; /* metric family -> enum expo_type */
	struct usage_label labels[INGEST_LABELS_MAX];
	size_t n_labels;
	int64_t samples, skipped;
};

struct expo *
expo_new(struct arena *a, const struct ingest_sink *sink)
{
	struct expo *x = arena_new_of(a, struct expo);

	x->a = a;
	x->sink = sink;
	return x;
}

int64_t
expo_samples(const struct expo *x)
{
	return x->samples;
}

int64_t
expo_skipped(const struct expo *x)
{
	return x->skipped;
}

bool
expo_value(const char *s, double *out)
{
	if (str_ieq(s, "NaN")) {
		*out = (double)NAN;
		return true;
	}
	if (str_ieq(s, "+Inf") || str_ieq(s, "Inf") || str_ieq(s, "-Inf")) {
		*out = *s == '-' ? -(double)INFINITY : (double)INFINITY;
		return true;
	}
	return str_to_double(s, -DBL_MAX, DBL_MAX, out, NULL) == BERTH_OK;
}

static char *
expo_blanks(char *p)
{
	while (*p == ' ' || *p == '\t')
		p++;
	return p;
}

/* A quoted text at p, unescaped where it stands; *end_out is behind its quote. NULL: it does not
 * end. */
static char *
expo_quoted(char *p, char **end_out)
{
	char *from = ++p, *to = p;

	for (; *p != '"'; p++) {
		if (*p == '\0')
			return NULL;
		if (*p == '\\' && (p[1] == '\\' || p[1] == '"' || p[1] == 'n')) {
			p++;
			*to++ = *p == 'n' ? '\n' : *p;
		} else {
			*to++ = *p;
		}
	}
	*end_out = p + 1;
	*to = '\0';
	return from;
}

static bool
expo_name_char(char c)
{
	return str_is_alnum(c) || c == '_' || c == ':';
}

/* Labels are kept by key, so that the same set in another order is the same. */
static const char *
expo_label_add(struct expo *x, const char *key, const char *value)
{
	size_t i = x->n_labels;

	if (x->n_labels == INGEST_LABELS_MAX)
		return "too many labels";
	for (; i > 0 && strcmp(x->labels[i - 1].key, key) >= 0; i--) {
		if (strcmp(x->labels[i - 1].key, key) == 0)
			return "the same label twice";
		x->labels[i] = x->labels[i - 1];
	}
	x->labels[i] = (struct usage_label){ key, value };
	x->n_labels++;
	return NULL;
}

/* One 'key="value"', or a quoted name of the metric, at *p. */
static const char *
expo_label(struct expo *x, char **p, const char **metric)
{
	char *key = *p, *key_end, *value;
	const char *bad;

	if (*key == '"') {
		key = expo_quoted(*p, p);
		if (key == NULL)
			return "a quote that does not end";
		key_end = NULL;
	} else {
		while (expo_name_char(**p))
			(*p)++;
		if (*p == key)
			return "a label without a name";
		key_end = *p;
	}
	*p = expo_blanks(*p);
	if (**p != '=') {
		if (key_end != NULL || *metric[0] != '\0')
			return "a label without a value";
		*metric = key;
		return NULL;
	}
	*p = expo_blanks(*p + 1);
	if (**p != '"')
		return "a label value without quotes";
	value = expo_quoted(*p, p);
	if (value == NULL)
		return "a quote that does not end";
	if (key_end != NULL)
		*key_end = '\0';
	bad = expo_label_add(x, key, value);
	*p = expo_blanks(*p);
	return bad;
}

/* The braces at *p and what is in them. */
static const char *
expo_labels(struct expo *x, char **p, const char **metric)
{
	const char *bad = NULL;

	*p = expo_blanks(*p + 1);
	while (**p != '}' && bad == NULL) {
		bad = expo_label(x, p, metric);
		if (bad != NULL)
			return bad;
		if (**p == ',')
			*p = expo_blanks(*p + 1);
		else if (**p != '}')
			return "labels that do not end with }";
	}
	(*p)++;
	return NULL;
}

static bool
expo_time(const char *s, int64_t *t_out)
{
	double v;

	if (str_to_double(s, 0, 1e15, &v, NULL) != BERTH_OK)
		return false;
	if (v >= 1e11)
		v /= 1000;
	*t_out = (int64_t)v;
	return *t_out > 0 && *t_out <= TIME_MAX; /* 0 is what unset clocks write */
}

/* "# TYPE name histogram": its buckets are no signal of their own. */
static void
expo_comment(struct expo *x, char *line)
{
	char *p = expo_blanks(line + 1), *name, *type;

	if (strncmp(p, "TYPE", 4) != 0 || (p[4] != ' ' && p[4] != '\t'))
		return;
	name = expo_blanks(p + 4);
	p = name + strcspn(name, " \t");
	if (*p == '\0')
		return;
	*p = '\0';
	type = expo_blanks(p + 1);
	type[strcspn(type, " \t")] = '\0';
	*strmap_add(x->a, &x->types, name, 0, NULL) =
	    str_eq(type, "histogram") || str_eq(type, "summary") ||
		    str_eq(type, "gaugehistogram") || str_eq(type, "info") ||
		    str_eq(type, "stateset")
		? EXPO_PARTS
		: EXPO_PLAIN;
}

/* metric belongs to a family of several parts: the family's name, with or without a suffix. */
static bool
expo_is_part(const struct expo *x, const char *metric)
{
	static const char *const suffixes[] = { "", "_bucket", "_sum", "_count", "_created",
		"_gcount", "_gsum", "_info" };
	char family[256];

	if (x->types.n == 0 || strlen(metric) >= sizeof(family))
		return false;
	for (size_t i = 0; i < sizeof(suffixes) / sizeof(suffixes[0]); i++) {
		size_t n = strlen(metric), m = strlen(suffixes[i]);
		const size_t *type;

		if (m > n || strcmp(metric + n - m, suffixes[i]) != 0)
			continue;
		memcpy(family, metric, n - m);
		family[n - m] = '\0';
		type = strmap_get(&x->types, family);
		if (type != NULL && *type == EXPO_PARTS)
			return true;
	}
	return false;
}

/* What stands behind the labels: a value, perhaps a time, perhaps an exemplar. */
static const char *
expo_tail(char *p, struct ingest_point *pt)
{
	char *value = expo_blanks(p), *time;

	p = value + strcspn(value, " \t");
	time = expo_blanks(p);
	if (*p != '\0')
		*p = '\0';
	if (!expo_value(value, &pt->value))
		return "a value that is no number";
	if (*time == '\0' || *time == '#')
		return NULL;
	p = time + strcspn(time, " \t");
	if (*p != '\0') {
		char *rest = expo_blanks(p);

		*p = '\0';
		if (*rest != '\0' && *rest != '#')
			return "more than a value and a time";
	}
	return expo_time(time, &pt->t) ? NULL
				       : "a time that is no number of seconds or milliseconds";
}

static const char *
expo_sample(struct expo *x, char *line, struct ingest_point *pt)
{
	char *p = line, *end;
	const char *bad;

	x->n_labels = 0;
	while (expo_name_char(*p))
		p++;
	end = p;
	p = expo_blanks(p);
	pt->metric = "";
	if (*p == '{') {
		*end = '\0'; /* the brace itself where the name touches it: it was seen */
		if (end != line)
			pt->metric = line;
		bad = expo_labels(x, &p, &pt->metric);
		if (bad != NULL)
			return bad;
	} else {
		if (p == end)
			return "no sample: a name, labels in braces and a value are needed";
		*end = '\0';
		pt->metric = line;
	}
	if (*pt->metric == '\0')
		return "a sample without a name";
	pt->labels = x->labels;
	pt->n_labels = x->n_labels;
	return expo_tail(p, pt);
}

enum berth_code
expo_line(struct expo *x, char *line, size_t len, long number, struct berth_err *err)
{
	struct ingest_point pt = { .line = number };
	const char *bad;

	if (len > 0 && line[len - 1] == '\r')
		line[--len] = '\0';
	line = expo_blanks(line);
	if (*line == '\0')
		return BERTH_OK;
	if (*line == '#') {
		expo_comment(x, line);
		return BERTH_OK;
	}
	bad = expo_sample(x, line, &pt);
	if (bad == NULL && expo_is_part(x, pt.metric)) {
		x->skipped++;
		return BERTH_OK;
	}
	x->samples++;
	if (bad != NULL) {
		x->sink->say(x->sink->arg, USAGE_REFUSED, number, bad);
		return BERTH_OK;
	}
	return x->sink->point(x->sink->arg, &pt, err);
}
