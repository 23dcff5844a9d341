/* kernels/tool.h - running another vendor's tool, with an end to its time and to its output. */
#ifndef BERTH_KERNELS_TOOL_H
#define BERTH_KERNELS_TOOL_H

#include <stdbool.h>
#include <stddef.h>

#define TOOL_BYTES_MAX ((size_t)4 << 20)

enum tool_end {
	TOOL_OK,
	TOOL_NONE,  /* not installed */
	TOOL_HUNG,  /* killed when its time was over */
	TOOL_FAILED /* another exit status, a signal, too much output; why says it */
};

struct tool_out {
	enum tool_end end;
	char *text; /* ended by a NUL; never NULL unless out of memory */
	size_t len;
	char why[160]; /* for people; "" with TOOL_OK */
};

/*
 * Runs argv [NULL-ended] in a process group of its own, standard input and error closed off, for at
 * most cap_s. Its name is looked for along PATH and where the vendors install it; a name with a
 * slash is taken as it is. one_line  the first line is all that is wanted of a tool that never ends
 * by itself: it is killed then
 */
void tool_run(const char *const *argv, double cap_s, bool one_line, struct tool_out *out);
bool tool_exists(const char *name);
void tool_free(struct tool_out *out);

#endif
