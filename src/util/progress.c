#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "util/duration.h"
#include "util/progress.h"
#include "util/term.h"
#include "util/time.h"

enum { PROGRESS_EVERY_MS = 100, PROGRESS_QUIET_MS = 500 };

void
progress_start(struct progress *p, bool enabled, const char *what, const char *unit, int64_t total)
{
	*p = (struct progress){ .what = what, .unit = unit, .total = total };
	p->on = enabled && term_is_tty(stderr);
	p->started_ms = p->on ? time_mono_ms() : 0;
	p->drawn_ms = p->started_ms;
}

static void
progress_draw(struct progress *p, int64_t done, int64_t ms)
{
	double rate = (double)done * 1000 / (double)ms;
	char line[256], left[DURATION_FMT_SIZE] = "";
	int n, columns = term_columns(stderr);

	n = snprintf(
	    line, sizeof(line), "%s: %" PRId64 " %s, %.0f/s", p->what, done, p->unit, rate);
	if (p->total > 0 && done <= p->total && rate > 0 && n > 0 && (size_t)n < sizeof(line))
		snprintf(line + n, sizeof(line) - (size_t)n, ", %d%%, %s left",
		    (int)(done * 100 / p->total),
		    duration_fmt(left, (int64_t)((double)(p->total - done) / rate)));
	line[term_fit(line, columns - 1)] = '\0';
	fprintf(stderr, "\r%s\033[K", line);
	fflush(stderr);
	p->drawn = true;
}

void
progress_set(struct progress *p, int64_t done)
{
	int64_t now;

	if (!p->on)
		return;
	now = time_mono_ms();
	if (now - p->drawn_ms < PROGRESS_EVERY_MS || now - p->started_ms < PROGRESS_QUIET_MS)
		return;
	p->drawn_ms = now;
	progress_draw(p, done, now - p->started_ms);
}

void
progress_end(struct progress *p)
{
	if (p->drawn)
		fputs("\r\033[K", stderr);
	p->on = false;
	p->drawn = false;
}
