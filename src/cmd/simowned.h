/* src/cmd/simowned.h - what is owned in a replay of purchases.  Floor: cmd. */
#ifndef BERTH_CMD_SIMOWNED_H
#define BERTH_CMD_SIMOWNED_H

#include "cmd/simcommit.h"

struct cmd_ctx;
struct unit;
struct series;

/* All commitments of the store, with which of the series [n] each serves: those of its accelerator,
 * as `berth plan` knows and counts it. Errors: those of the store. */
BERTH_MUST_CHECK enum berth_code simowned_read(struct cmd_ctx *ctx, const struct series *rows,
    size_t n, const struct unit *units, struct simcommit_own **own_out, size_t *n_out,
    struct berth_err *err);
/* Behind the replay: what of them was counted, and what was not. */
void simowned_note(struct cmd_ctx *ctx, const struct simcommit_own *own, size_t n);

/*
 * Deals what is owned among the series [n], machine by machine: each goes to the one where its
 * hours are most, by what was known of it before its step first [n], beside what it has at that
 * time; where it has none in any, to the first that it serves. dealt_out [n_own][n] machines.
 */
void simowned_deal(const struct fc_series *s, size_t n, const size_t *first,
    struct simcommit_own *own, size_t n_own, struct arena *a, int64_t **dealt_out);
/* GPUs that series k of n then has in its steps from .. from + n_steps: out. */
void simowned_have(const struct fc_series *s, const struct simcommit_own *own, size_t n_own,
    const int64_t *dealt, size_t n, size_t k, size_t from, size_t n_steps, double *out);

#endif
