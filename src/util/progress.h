/* src/util/progress.h - progress on a terminal's stderr, nothing elsewhere.  Floor: util. */
#ifndef BERTH_UTIL_PROGRESS_H
#define BERTH_UTIL_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct progress {
	const char *what, *unit; /* borrowed: "record usage.csv", "rows" */
	int64_t total;           /* 0: not known */
	int64_t started_ms, drawn_ms;
	bool on, drawn;
};

/* enabled false (quiet, or stderr is no terminal): all calls do nothing. */
void progress_start(
    struct progress *p, bool enabled, const char *what, const char *unit, int64_t total);
/* Cheap: draws at most ten times a second, with rate and, if total is known, share and time left.
 */
void progress_set(struct progress *p, int64_t done);
/* Wipes the line. */
void progress_end(struct progress *p);

#endif
