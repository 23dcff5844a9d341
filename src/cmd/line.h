/* src/cmd/line.h - the command line: which verb, with which options and words.  Floor: cmd. */
#ifndef BERTH_CMD_LINE_H
#define BERTH_CMD_LINE_H

#include <stddef.h>
#include <stdint.h>

#include "cmd/cmd.h"
#include "util/err.h"

struct line {
	struct cmd_global global;
	const struct cmd *verb; /* NULL: none given */
	const struct cmd *cmd;  /* the verb, or the subverb that was named */
	const char
	    *name;  /* "prices list"; "" without a verb; set as far as it got also on an error */
	void *opts; /* [cmd->opts_size] */
	const char *const *words; /* [n_words] */
	size_t n_words;
	const char *const *raw; /* [n_raw] argv as it was */
	size_t n_raw;
};

/*
 * argv without the program's name. clock is what "now" is without --now. With --help or --version
 * among the options words are not counted and nothing else is missing. Errors: BERTH_EUSAGE, with
 * suggestions for a verb, subverb, option or choice that does not exist.
 */
BERTH_MUST_CHECK enum berth_code line_parse(struct arena *a, int64_t clock, int argc,
    char *const *argv, struct line *line_out, struct berth_err *err);

#endif
