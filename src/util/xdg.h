/* src/util/xdg.h - where a user's files lie (XDG base directories).  Floor: util. */
#ifndef BERTH_UTIL_XDG_H
#define BERTH_UTIL_XDG_H

#include "util/arena.h"
#include "util/err.h"

enum xdg_dir {
	XDG_CONFIG, /* $XDG_CONFIG_HOME, ~/.config */
	XDG_STATE,  /* $XDG_STATE_HOME, ~/.local/state */
	XDG_DATA,   /* $XDG_DATA_HOME, ~/.local/share */
	XDG_CACHE   /* $XDG_CACHE_HOME, ~/.cache */
};

/*
 * "DIR/berth/NAME", in the arena; nothing is made. A variable that is not an absolute path is
 * ignored, as the standard says. Without a usable HOME: BERTH_EUSAGE "no home directory: set
 * HOME, or give HINT" (hint: "--store PATH").
 */
BERTH_MUST_CHECK enum berth_code xdg_path(struct arena *a, enum xdg_dir dir, const char *name,
    const char *hint, char **path_out, struct berth_err *err);

#endif
