/* src/broker/usage_load.h - rows of usage, of whatever format, into series of the store.  Floor:
 * broker. */
#ifndef BERTH_BROKER_USAGE_LOAD_H
#define BERTH_BROKER_USAGE_LOAD_H

#include <stdbool.h>
#include <stdint.h>

#include "ingest/usage.h"
#include "util/err.h"

struct store;

struct usage_load_options {
	int64_t
	    step_s; /* of new series; 0: an hour, or the rows' own interval where that is longer */
	int64_t interval_s; /* how long a row is in force; 0: as the rows say (ingest/rollup.h) */
	const char *unit;   /* "gpu" */
	const char *format, *source; /* for the log of loads */
	const char *digest;          /* of the input (hash_digest_hex()); NULL or "" not known */
	const char *options;         /* what else decides on what comes of it; NULL: "" */
	int64_t now;
};

struct usage_load_counts {
	int64_t stored;    /* rows that made or changed a step */
	int64_t duplicate; /* rows that changed nothing, or that a later row of the load took the
			      place of */
	int64_t replaced;  /* rows of stored whose step had other values before */
	int64_t refused;   /* rows that cover a part of what is rolled up: they cannot be told apart
			      from it */
	int64_t before;    /* an earlier load of the same input with the same options; 0 none */
	double gpu_seconds; /* value times time in force, over the rows of this load */
};

/*
 * Stores what set and sp hold, all or nothing. A step that the load covers in part is completed by
 * the rows that earlier loads left of it, and its own are kept for the next; a part of a step that
 * is stored whole changes nothing. sp  not yet sorted; emptied read, refused  rows, for the log
 * say(arg, USAGE_REMARK, 0, text) tells what the user should know.
 * Errors: those of the store; BERTH_EINVAL: a series exists with another step or unit.
 */
BERTH_MUST_CHECK enum berth_code usage_load(struct store *s, struct usage_set *set,
    struct spool *sp, const struct usage_load_options *o, const struct usage_counts *read,
    struct usage_load_counts *counts_out, usage_say_fn *say, void *arg, struct berth_err *err);

#endif
