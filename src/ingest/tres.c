#include "ingest/tres.h"

#include <stdlib.h>
#include <string.h>

#include "util/str.h"

#define TRES_COUNT_MAX 1e7
#define TRES_TASKS_MAX INT64_C(10000000)

/* A count such as "4"; Slurm writes large ones with K, M ("2K"). */
/* As str_is_digit(), within the loops over every byte of an export. */
static inline bool
tres_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool
tres_count(const char *s, double *out)
{
	double scale = 1, v = 0;
	const char *p = s;

	for (; tres_digit(*p); p++)
		v = v * 10 + (*p - '0');
	if (p == s)
		return false;
	if (*p == 'K' || *p == 'k') {
		scale = 1024;
		p++;
	} else if (*p == 'M') {
		scale = 1024 * 1024;
		p++;
	}
	*out = v * scale;
	return *p == '\0' && *out <= TRES_COUNT_MAX;
}

static bool
tres_add(struct ingest_gres *out, size_t max, size_t *n, const char *type, double count)
{
	if (count == 0)
		return true;
	for (size_t i = 0; i < *n; i++) {
		if (strcmp(out[i].type, type) == 0) {
			out[i].count += count;
			return true;
		}
	}
	if (*n == max)
		return false;
	out[(*n)++] = (struct ingest_gres){ .type = type, .count = count };
	return true;
}

/* "gres/gpu=4" or "gres/gpu:a100=4", cut at its "=": one or the other of the counts is added to. */
static bool
tres_gpu_item(char *item, const char *value, struct ingest_gres *out, size_t max, size_t *n,
    double *untyped, double *typed)
{
	double count;

	if (!tres_count(value, &count))
		return false;
	if (item[8] == '\0') {
		*untyped += count;
		return true;
	}
	*typed += count;
	return item[9] != '\0' && tres_add(out, max, n, item + 9, count);
}

bool
tres_gpus(char *text, struct ingest_gres *out, size_t max, size_t *n_out)
{
	double untyped = 0, typed = 0;
	size_t n = 0;
	char *p = text;

	*n_out = 0;
	while (*p != '\0') {
		char *item = p, *eq;
		bool last;

		while (*p != '=' && *p != ',' && *p != '\0')
			p++;
		eq = p;
		if (*eq != '=' || eq == item)
			return false;
		while (*p != ',' && *p != '\0')
			p++;
		last = *p == '\0';
		*p = '\0';
		if (*item == 'g' && strncmp(item, "gres/gpu", 8) == 0 &&
		    (item[8] == '=' || item[8] == ':')) {
			*eq = '\0';
			if (!tres_gpu_item(item, eq + 1, out, max, &n, &untyped, &typed))
				return false;
		}
		if (!last)
			p++;
	}
	if (untyped > typed && !tres_add(out, max, &n, "", untyped - typed))
		return false;
	*n_out = n;
	return true;
}

/* One entry, "gpu", "gpu:2", "gpu:a100", "gpu:a100:4"; without a count it is one. */
static bool
tres_gres_item(char *item, struct ingest_gres *out, size_t max, size_t *n)
{
	char *paren = strchr(item, '('), *colon;
	double count;

	if (paren != NULL)
		*paren = '\0';
	if (strncmp(item, "gres/", 5) == 0 || strncmp(item, "gres:", 5) == 0)
		item += 5;
	if (strncmp(item, "gpu", 3) != 0 || (item[3] != '\0' && item[3] != ':' && item[3] != '='))
		return true;
	item += 3;
	if (*item == '\0')
		return tres_add(out, max, n, "", 1);
	item++;
	colon = strrchr(item, ':');
	if (colon == NULL)
		colon = strrchr(item, '=');
	if (colon != NULL) {
		*colon = '\0';
		return *item != '\0' && tres_count(colon + 1, &count) &&
		       tres_add(out, max, n, item, count);
	}
	if (tres_count(item, &count))
		return tres_add(out, max, n, "", count);
	return *item != '\0' && tres_add(out, max, n, item, 1);
}

bool
tres_gres(char *text, struct ingest_gres *out, size_t max, size_t *n_out)
{
	size_t n = 0;
	int depth = 0;
	char *item = text;

	*n_out = 0;
	if (strcmp(text, "(null)") == 0 || strcmp(text, "N/A") == 0)
		return true;
	for (char *p = text; *item != '\0'; p++) {
		bool last = *p == '\0';

		depth += *p == '(';
		depth -= *p == ')';
		if (!last && (*p != ',' || depth > 0))
			continue;
		*p = '\0';
		if (!tres_gres_item(item, out, max, &n))
			return false;
		item = last ? p : p + 1;
	}
	*n_out = n;
	return true;
}

/* A decimal number at *p, moved behind it. */
static bool
tres_number(const char **p, int64_t *out)
{
	int64_t v = 0;
	int digits = 0;

	for (; tres_digit(**p) && digits < 12; (*p)++, digits++)
		v = v * 10 + (**p - '0');
	*out = v;
	return digits > 0 && !tres_digit(**p);
}

/* "0-9", "5", "0-12:4", moved behind it; adds how many numbers that are. */
static bool
tres_range(const char **p, int64_t *n)
{
	int64_t from, to, step = 1;

	if (!tres_number(p, &from))
		return false;
	to = from;
	if (**p == '-') {
		(*p)++;
		if (!tres_number(p, &to) || to < from)
			return false;
		if (**p == ':') {
			(*p)++;
			if (!tres_number(p, &step) || step < 1)
				return false;
		}
	}
	*n += (to - from) / step + 1;
	return *n <= TRES_TASKS_MAX;
}

/* "0x3E", a bit for each task, as the accounting keeps a list. */
static bool
tres_mask(const char **p, int64_t *n)
{
	static const char digits[] = "0123456789abcdef";
	const char *from = *p += 2, *at;

	for (; **p != '\0' && (at = strchr(digits, **p | 0x20)) != NULL; (*p)++)
		*n += __builtin_popcount((unsigned)(at - digits));
	return *p > from && *n <= TRES_TASKS_MAX;
}

static bool
tres_task_list(const char *p, int64_t *tasks_out, int64_t *at_once_out)
{
	bool mask = p[0] == '0' && (p[1] == 'x' || p[1] == 'X');
	int64_t n = 0, limit = 0;

	if (mask && !tres_mask(&p, &n))
		return false;
	while (!mask) {
		if (!tres_range(&p, &n))
			return false;
		if (*p != ',' || *++p == '.')
			break;
	}
	while (*p == '.') /* the list was cut off: what is left is the least there is */
		p++;
	if (*p == '%') {
		p++;
		if (!tres_number(&p, &limit))
			return false;
	}
	*tasks_out = n;
	*at_once_out = limit > 0 && limit < n ? limit : n;
	return p[0] == ']' && p[1] == '\0';
}

bool
tres_tasks(const char *id, int64_t *tasks_out, int64_t *at_once_out)
{
	const char *p = id;
	int64_t v;

	*tasks_out = *at_once_out = 1;
	if (!tres_number(&p, &v))
		return false;
	if (*p == '\0')
		return true;
	if (*p == '_' && p[1] == '[')
		return tres_task_list(p + 2, tasks_out, at_once_out);
	if (*p != '_' && *p != '+')
		return false;
	p++;
	if (!tres_number(&p, &v))
		return false;
	return *p == '\0';
}

bool
tres_is_step(const char *id)
{
	const char *dot = strchr(id, '.');

	return dot != NULL && strchr(id, '[') == NULL && tres_digit(id[0]);
}
