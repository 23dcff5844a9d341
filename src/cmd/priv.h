/* src/cmd/priv.h - what cmd.c and ctx.c keep behind a context.  Floor: cmd, private. */
#ifndef BERTH_CMD_PRIV_H
#define BERTH_CMD_PRIV_H

#include <stdbool.h>
#include <stdio.h>

#include "cmd/config.h"
#include "util/buf.h"
#include "util/jsonw.h"
#include "util/log.h"

struct cmd_priv {
	struct buf out; /* a result being made */
	FILE *spool;    /* what of it came first, if it is long; NULL: nothing */
	struct jsonw json;
	struct log log;
	struct config config;
	bool config_read;
	const struct accel_table *accels;
	const char *next_step;
	const char *const *raw; /* [n_raw] the command line, for the run's row */
	size_t n_raw;
	int out_errno;        /* of the first result that could not be written; 0: none */
	bool dry_transaction; /* store_begin() to be rolled back */
	bool run_begun;
};

#endif
