/* src/cmd/complete.h - completion scripts made from the option rows.  Floor: cmd, private to the
 * verb completion. */
#ifndef BERTH_CMD_COMPLETE_H
#define BERTH_CMD_COMPLETE_H

#include <stdbool.h>
#include <stddef.h>

#include "cmd/cmd.h"

struct buf;

/* What may stand for a value or a word. */
struct complete_kind {
	char words[256]; /* "table wide json"; "" none */
	char names[32];  /* kind of names that the store or a table knows: "SERIES"; "" none */
	bool files;
};

/* Of an option's value; all empty for a free text. */
void complete_option(const struct opt_row *row, struct complete_kind *kind_out);
/* Of a verb's words, from its usage: "bash|zsh|fish", "FILE ...", "[JOB]". */
void complete_words(const struct cmd *cmd, struct complete_kind *kind_out);

void complete_bash(struct buf *out);
void complete_zsh(struct buf *out);
void complete_fish(struct buf *out);

#endif
