#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/progpath.h"
#include "util/arena.h"

const char *
progpath_dir(struct arena *a, const char *path)
{
	const char *slash = strrchr(path, '/');

	if (path[0] == '\0' || strstr(path, "://") != NULL)
		return "";
	if (slash == NULL)
		return ".";
	return slash == path ? "/" : arena_strndup(a, path, (size_t)(slash - path));
}

const char *
progpath_probe(struct arena *a)
{
	const char *env = getenv("BERTH_PROBE"), *beside;
	char self[4096];
	ssize_t n;

	if (env != NULL && env[0] != '\0')
		return env;
	n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	if (n > 0) {
		self[n] = '\0';
		beside = arena_printf(a, "%s/berth-probe", progpath_dir(a, self));
		if (access(beside, X_OK) == 0)
			return beside;
	}
	return access(BERTH_LIBEXECDIR "/berth-probe", X_OK) == 0 ? BERTH_LIBEXECDIR "/berth-probe"
								  : "";
}
