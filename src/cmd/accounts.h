/* src/cmd/accounts.h - the accounts of berth.yaml, opened for a verb that asks them all.  Floor:
 * cmd.
 */
#ifndef BERTH_CMD_ACCOUNTS_H
#define BERTH_CMD_ACCOUNTS_H

#include "cmd/config.h"
#include "util/err.h"
#include "util/vec.h"

struct cmd_ctx;
struct opt_list;
struct prov_account;
struct prov_net;

struct accounts_one {
	const struct config_account *config;
	struct prov_account *open; /* NULL: why says why not */
	struct berth_err why;
};

struct accounts {
	const struct config *config;
	struct prov_net *net;
	VEC(struct accounts_one) v; /* that were meant, in the order of the config */
};

/*
 * Those whose names fit the patterns (none: all), with the store and the clock of the verb; one
 * that does not open keeps no other from it. accounts_close() also after an error. Patterns that
 * fit nothing are BERTH_ENOTFOUND.
 */
BERTH_MUST_CHECK enum berth_code accounts_open(struct cmd_ctx *ctx, const struct opt_list *patterns,
    struct accounts *out, struct berth_err *err);
void accounts_close(struct accounts *accounts);

#endif
