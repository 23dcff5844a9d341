/* src/cmd/progpath.h - folders and programs beside others.  Floor: cmd. */
#ifndef BERTH_CMD_PROGPATH_H
#define BERTH_CMD_PROGPATH_H

struct arena;

/* Folder that path lies in; "" for "" and URLs, "." for a bare name. */
const char *progpath_dir(struct arena *a, const char *path);
/* berth-probe: $BERTH_PROBE, beside the running program (build tree), else the installed one; "" if
 * there is none. */
const char *progpath_probe(struct arena *a);

#endif
