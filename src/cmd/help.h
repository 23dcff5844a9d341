/* src/cmd/help.h - help texts from the verbs' records.  Floor: cmd. */
#ifndef BERTH_CMD_HELP_H
#define BERTH_CMD_HELP_H

#include "cmd/cmd.h"

struct buf;

/* The overview: verbs in groups, global options. */
void help_overview(int columns, struct buf *out);
/* One verb or subverb: usage, subverbs, options, global options. name: "prices list". columns
 * 0: 80. */
void help_verb(const struct cmd *cmd, const char *name, int columns, struct buf *out);

#endif
