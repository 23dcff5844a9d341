/* src/ingest/slurmtime.h - times and durations as Slurm prints them.  Floor: domain, pure. */
#ifndef BERTH_INGEST_SLURMTIME_H
#define BERTH_INGEST_SLURMTIME_H

#include <stdbool.h>
#include <stdint.h>

#include "ingest/ingest.h"
#include "util/tz.h"

/*
 * Elapsed and Timelimit: "30:00" is minutes and seconds, "02:30:00", "1-02:03:04", "2-12" days and
 * hours, "2-12:30", "45" minutes, a fraction of a second is cut off. UNLIMITED, NOT_SET:
 * INGEST_NO_LIMIT; Partition_Limit, INVALID, Unknown, "": INGEST_UNKNOWN. False: none of these.
 */
bool slurmtime_duration(const char *s, int64_t *s_out);

/* A wall-clock time and the instants it may stand for. */
struct slurmtime {
	bool known;    /* false: Unknown, None, N/A, "" */
	int64_t t;     /* the earlier one */
	int64_t later; /* the other one in the hour that runs twice; else t */
	bool skipped;  /* clocks never showed it: they had gone forward */
};

/* The clock that prints the times, with the last day's offset kept: most rows are of the day of the
 * row before. */
struct slurmclock {
	const struct tz *tz;
	int64_t day_wall; /* midnight that offset_s is of */
	int32_t offset_s;
	bool day_known, day_plain;
	char day_text[11];
};

/* The second instant of a wall-clock time whose first is t; t if it has one only. */
int64_t slurmtime_later(const struct tz *tz, int64_t t);

void slurmclock_init(struct slurmclock *c, const struct tz *tz);
/* "2026-10-25T02:30:00", or epoch seconds as SLURM_TIME_FORMAT=%s prints them. False: no time. */
bool slurmtime_parse(struct slurmclock *c, const char *s, struct slurmtime *out);

/*
 * Which instants start and end were, from how long the job says it ran (INGEST_UNKNOWN: it does not
 * say). True if that settles it; false if either reading fits: the earlier is taken, and a warning
 * is due.
 */
bool slurmtime_settle(const struct slurmtime *start, const struct slurmtime *end, int64_t elapsed_s,
    int64_t *start_out, int64_t *end_out);

#endif
