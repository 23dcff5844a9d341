#include <string.h>

#include "providers/nametag.h"
#include "util/str.h"

#define NAMETAG_PREFIX "berth-"

enum berth_code
nametag_make(struct arena *a, const char *installation, const char *token, size_t max,
    const char **name_out, struct berth_err *err)
{
	const char *name = arena_printf(a, NAMETAG_PREFIX "%s-%s", installation, token);

	if (strchr(installation, '-') != NULL || strlen(name) > max)
		return err_set(err, BERTH_EPERMANENT,
		    "installation id and token do not fit a name of %zu characters", max);
	*name_out = name;
	return BERTH_OK;
}

void
nametag_read(const char *name, struct prov_machine *m)
{
	const char *mine, *dash;

	if (!str_starts(name, NAMETAG_PREFIX))
		return;
	mine = name + strlen(NAMETAG_PREFIX);
	dash = strchr(mine, '-');
	if (dash == NULL || (size_t)(dash - mine) >= sizeof(m->installation) ||
	    strlen(dash + 1) >= sizeof(m->token))
		return;
	memcpy(m->installation, mine, (size_t)(dash - mine));
	m->installation[dash - mine] = '\0';
	str_copy(m->token, sizeof(m->token), dash + 1);
}
