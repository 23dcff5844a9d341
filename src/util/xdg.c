#include <stdlib.h>

#include "util/xdg.h"

static const struct xdg_row {
	const char *variable, *below_home;
} xdg_rows[] = {
	[XDG_CONFIG] = { "XDG_CONFIG_HOME", ".config" },
	[XDG_STATE] = { "XDG_STATE_HOME", ".local/state" },
	[XDG_DATA] = { "XDG_DATA_HOME", ".local/share" },
	[XDG_CACHE] = { "XDG_CACHE_HOME", ".cache" },
};

enum berth_code
xdg_path(struct arena *a, enum xdg_dir dir, const char *name, const char *hint, char **path_out,
    struct berth_err *err)
{
	const struct xdg_row *row = &xdg_rows[dir];
	const char *base = getenv(row->variable), *home = getenv("HOME");

	if (base != NULL && *base == '/') {
		*path_out = arena_printf(a, "%s/berth/%s", base, name);
		return BERTH_OK;
	}
	if (home == NULL || *home != '/')
		return err_set(err, BERTH_EUSAGE, "no home directory: set HOME, or give %s", hint);
	*path_out = arena_printf(a, "%s/%s/berth/%s", home, row->below_home, name);
	return BERTH_OK;
}
