#include "model/datapath.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "util/vec.h"

/* Directory of the running program; "" where the system does not tell. */
static const char *
datapath_program_dir(struct arena *arena)
{
	char exe[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
	char *slash;

	if (n <= 0)
		return "";
	exe[n] = '\0';
	slash = strrchr(exe, '/');
	if (slash == NULL)
		return "";
	*slash = '\0';
	return arena_strdup(arena, exe);
}

enum berth_code
data_path(struct arena *arena, const char *name, const char **path_out, struct berth_err *err)
{
	const char *given = getenv("BERTH_DATA"), *dir = datapath_program_dir(arena);
	VEC(const char *) tried = { 0 };

	if (given != NULL && given[0] != '\0') {
		VEC_PUSH(arena, &tried, arena_printf(arena, "%s/%s", given, name));
	} else {
		if (dir[0] != '\0') {
			VEC_PUSH(arena, &tried, arena_printf(arena, "%s/data/%s", dir, name));
			VEC_PUSH(arena, &tried, arena_printf(arena, "%s/../data/%s", dir, name));
			VEC_PUSH(
			    arena, &tried, arena_printf(arena, "%s/../share/berth/%s", dir, name));
		}
		VEC_PUSH(arena, &tried, arena_printf(arena, "%s/%s", BERTH_DATADIR, name));
	}
	for (size_t i = 0; i < tried.n; i++)
		if (access(tried.v[i], R_OK) == 0) {
			*path_out = tried.v[i];
			return BERTH_OK;
		}
	if (tried.n == 1)
		return err_set(
		    err, BERTH_ENOTFOUND, "no data file %s (BERTH_DATA is set)", tried.v[0]);
	return err_set(err, BERTH_ENOTFOUND,
	    "no data file '%s' in %s: set BERTH_DATA to the directory that has it", name,
	    BERTH_DATADIR);
}
