/* src/cmd/brokerset.h - a broker over the command's store, config and data files.  Floor: cmd. */
#ifndef BERTH_CMD_BROKERSET_H
#define BERTH_CMD_BROKERSET_H

#include "broker/broker.h"
#include "cmd/cmd.h"

/*
 * broker_open() with all that the context knows; broker_close() by the caller. Errors: those of the
 * config, of missing data files and of broker_open().
 */
BERTH_MUST_CHECK enum berth_code brokerset_open(
    struct cmd_ctx *ctx, uint64_t seed, struct broker *b, struct berth_err *err);

#endif
