#include "config.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "kernels/report.h"

#define REPORT_MAX_ROWS 65536

double
report_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

void
report_init(struct report *r, const char *level)
{
	memset(r, 0, sizeof(*r));
	pthread_mutex_init(&r->lock, NULL);
	r->started = report_now();
	r->level = level;
	r->only = "";
	r->mode = "host";
	if (gethostname(r->host, sizeof(r->host) - 1) != 0)
		r->host[0] = '\0';
}

void
report_free(struct report *r)
{
	free(r->tests);
	free(r->health);
	free(r->checks);
	free(r->errors);
	pthread_mutex_destroy(&r->lock);
}

/* Room for one more row, or NULL when memory or the cap is used up; the lock is held. */
static void *
report_grow(struct report *r, void **rows, size_t *n, size_t *cap, size_t size)
{
	if (r->closed)
		return NULL;
	if (*n == *cap) {
		size_t want = *cap == 0 ? 64 : *cap * 2;
		void *p = want > REPORT_MAX_ROWS ? NULL : realloc(*rows, want * size);

		if (p == NULL) {
			r->lost = true;
			return NULL;
		}
		*rows = p;
		*cap = want;
	}
	return (char *)*rows + (*n)++ * size;
}

void
report_test(struct report *r, const struct report_test *t)
{
	const int at = t->gpu + 1;
	struct report_test *slot;
	void *rows;

	pthread_mutex_lock(&r->lock);
	rows = r->tests;
	slot = report_grow(r, &rows, &r->n_tests, &r->cap_tests, sizeof(*t));
	r->tests = rows;
	if (slot != NULL) {
		*slot = *t;
		slot->took_s =
		    r->running[at].test != NULL ? report_now() - r->running[at].since : (double)NAN;
	}
	pthread_mutex_unlock(&r->lock);
}

void
report_test_none(struct report *r, const char *name, int gpu, const char *unit,
    enum report_status s, const char *fmt, ...)
{
	struct report_test t = { .gpu = gpu, .peer = -1, .status = s };
	va_list ap;

	t.value = t.median = t.min = t.max = t.iqr = (double)NAN;
	snprintf(t.name, sizeof(t.name), "%s", name);
	snprintf(t.unit, sizeof(t.unit), "%s", unit);
	va_start(ap, fmt);
	vsnprintf(t.error, sizeof(t.error), fmt, ap);
	va_end(ap);
	report_test(r, &t);
}

static void
report_check_add(struct report *r, bool health, const struct report_check *c)
{
	void *rows, *slot;

	pthread_mutex_lock(&r->lock);
	rows = health ? r->health : r->checks;
	slot = health ? report_grow(r, &rows, &r->n_health, &r->cap_health, sizeof(*c))
		      : report_grow(r, &rows, &r->n_checks, &r->cap_checks, sizeof(*c));
	if (health)
		r->health = rows;
	else
		r->checks = rows;
	if (slot != NULL)
		memcpy(slot, c, sizeof(*c));
	pthread_mutex_unlock(&r->lock);
}

#define REPORT_CHECK_FILL(c, fmt)                                                                  \
	do {                                                                                       \
		va_list ap_;                                                                       \
		snprintf((c).name, sizeof((c).name), "%s", name);                                  \
		va_start(ap_, fmt);                                                                \
		vsnprintf((c).detail, sizeof((c).detail), fmt, ap_);                               \
		va_end(ap_);                                                                       \
	} while (0)

void
report_check(struct report *r, const char *name, int gpu, enum report_status s, double value,
    const char *fmt, ...)
{
	struct report_check c = { .gpu = gpu, .value = value, .status = s };

	REPORT_CHECK_FILL(c, fmt);
	report_check_add(r, false, &c);
}

void
report_health(struct report *r, const char *name, int gpu, enum report_status s, double value,
    const char *fmt, ...)
{
	struct report_check c = { .gpu = gpu, .value = value, .status = s };

	REPORT_CHECK_FILL(c, fmt);
	report_check_add(r, true, &c);
}

void
report_error(struct report *r, const char *where, int code, const char *fmt, ...)
{
	struct report_error e = { .code = code };
	void *rows, *slot;
	va_list ap;

	snprintf(e.where, sizeof(e.where), "%s", where);
	va_start(ap, fmt);
	vsnprintf(e.message, sizeof(e.message), fmt, ap);
	va_end(ap);
	pthread_mutex_lock(&r->lock);
	rows = r->errors;
	slot = report_grow(r, &rows, &r->n_errors, &r->cap_errors, sizeof(e));
	r->errors = rows;
	if (slot != NULL)
		memcpy(slot, &e, sizeof(e));
	pthread_mutex_unlock(&r->lock);
}

void
report_running(struct report *r, int gpu, const char *test, double cap_s)
{
	pthread_mutex_lock(&r->lock);
	r->running[gpu + 1].test = test;
	r->running[gpu + 1].since = report_now();
	r->running[gpu + 1].cap_s = cap_s;
	pthread_mutex_unlock(&r->lock);
}

int
report_exit(struct report *r, bool timed_out)
{
	int rc = strcmp(r->mode, "host") == 0 ? 3 : 0;

	pthread_mutex_lock(&r->lock);
	for (size_t i = 0; i < r->n_checks; i++)
		if (r->checks[i].status == REPORT_FAILED)
			rc = 4;
	for (size_t i = 0; i < r->n_health; i++)
		if (r->health[i].status == REPORT_FAILED)
			rc = 4;
	for (size_t i = 0; i < r->n_tests && strcmp(r->mode, "host") != 0; i++)
		if (r->tests[i].status == REPORT_FAILED)
			rc = 4;
	if (r->lost)
		rc = 4;
	pthread_mutex_unlock(&r->lock);
	return timed_out ? 5 : rc;
}
