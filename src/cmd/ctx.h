/* src/cmd/ctx.h - how main makes and ends what a verb is handed.  Floor: cmd, private to main. */
#ifndef BERTH_CMD_CTX_H
#define BERTH_CMD_CTX_H

#include "cmd/cmd.h"
#include "cmd/line.h"

/* Fills ctx from a parsed line; the store is not opened. out is where results go. */
void ctx_init(
    struct cmd_ctx *ctx, struct arena *a, const struct line *line, bool now_fixed, FILE *out);
void ctx_free(struct cmd_ctx *ctx);
/*
 * Opens the store as the verb's flags and --dry-run say, and begins the run of a verb that writes.
 * ctx_close() ends them; status is what berth will exit with.
 */
BERTH_MUST_CHECK enum berth_code ctx_open(struct cmd_ctx *ctx, struct berth_err *err);
BERTH_MUST_CHECK enum berth_code ctx_close(struct cmd_ctx *ctx, int status, struct berth_err *err);

/*
 * One line "berth VERB: message", then "  at: where" and "  next: what to do" where they are known;
 * or, with json, one object. Control bytes are shown as \xHH.
 */
void ctx_print_error(const char *verb, const struct berth_err *err, const char *next, bool json);
/* Flushes ctx->out: BERTH_EIO if anything that was written to it so far got lost. */
BERTH_MUST_CHECK enum berth_code ctx_flush(struct cmd_ctx *ctx, struct berth_err *err);
/* What cmd_next_step() was told; "" nothing. */
const char *ctx_next_step(const struct cmd_ctx *ctx);

/* Where the store lies: --store, $BERTH_STORE, berth.yaml, else the user's state folder. */
BERTH_MUST_CHECK enum berth_code ctx_store_path(
    struct cmd_ctx *ctx, const char **path_out, struct berth_err *err);

#endif
