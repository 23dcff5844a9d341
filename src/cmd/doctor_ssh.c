/* Own machines are asked by ssh, as jobs will reach them. */
#include <string.h>

#include "broker/shell.h"
#include "cmd/doctor.h"
#include "util/str.h"
#include "util/time.h"
#include "util/yaml.h"

enum {
	DOCTOR_SSH_S = 10, /* for one machine */
	DOCTOR_SSH_ALL_S =
	    60, /* for all of an account: a rack that is off is told by its first machines */
};

static bool
doctor_ssh_one(struct doctor *d, const char *account, const char *name, const char *address)
{
	static const char script[] = "exit 0\n";
	struct berth_err err = { 0 };
	const char *text;
	int status = 0;

	if (shell_run(address, script, sizeof(script) - 1, DOCTOR_SSH_S, d->ctx->arena, &text,
		&status, &err) == BERTH_OK &&
	    status == 0)
		return true;
	if (err.code == BERTH_OK)
		err_set(&err, BERTH_EFAIL, "%s: its shell ends with status %d", address, status);
	DOCTOR_SAY(d, DOCTOR_FAIL, account,
	    arena_printf(d->ctx->arena,
		"make this work without a question: ssh -o BatchMode=yes %s true", address),
	    "static: machine %s is not reached by ssh: %s", name, err.msg);
	return false;
}

void
doctor_ssh(struct doctor *d, const char *account, const struct yaml_node *section)
{
	const struct yaml_node *list = yaml_get(section, "machines");
	int64_t end = time_mono_ms() + DOCTOR_SSH_ALL_S * 1000;
	size_t asked = 0, reached = 0;

	if (list == NULL || d->ctx->offline)
		return;
	for (; asked < list->n && time_mono_ms() < end; asked++) {
		const char *name = "", *address = "";

		if (yaml_str(list->items[asked], "name", &name, NULL) == BERTH_OK &&
		    yaml_str(list->items[asked], "address", &address, NULL) == BERTH_OK)
			reached += doctor_ssh_one(d, account, name, address);
	}
	if (asked < list->n)
		DOCTOR_SAY(d, DOCTOR_WARN, account, "berth doctor, once those machines answer",
		    "static: %zu machines were not asked: the others took over %d s",
		    list->n - asked, DOCTOR_SSH_ALL_S);
	if (reached > 0)
		DOCTOR_SAY(d, DOCTOR_OK, account, "", "static: %zu of %zu machines reached",
		    reached, list->n);
}
