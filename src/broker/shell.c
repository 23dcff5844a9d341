/* A script on the standard input of a shell: sh here, or ssh to a machine. */
#include <string.h>

#include "broker/shell.h"
#include "util/buf.h"
#include "util/child.h"
#include "util/str.h"

#define SHELL_OUTPUT_MAX (4U << 20)

static const char *const shell_ssh[] = { "ssh", "-o", "BatchMode=yes", "-o",
	"StrictHostKeyChecking=yes", "-o", "ConnectTimeout=15", "-o", "ForwardAgent=no", "-o",
	"ClearAllForwardings=yes", "-T", "--", NULL };

/* The last line that says something: before it stand banners and warnings. */
static const char *
shell_last_line(struct buf *b)
{
	size_t end = b->len, at;

	while (end > 0 && str_is_space(b->p[end - 1]))
		b->p[--end] = '\0';
	for (at = end; at > 0 && b->p[at - 1] != '\n'; at--)
		;
	return end > 0 ? b->p + at : "ssh failed";
}

enum berth_code
shell_run(const char *address, const char *script, size_t script_len, int timeout_s,
    struct arena *a, const char **text_out, int *status_out, struct berth_err *err)
{
	bool here = strcmp(address, "localhost") == 0;
	const char *argv[24];
	struct buf out, errs;
	enum berth_code rc;
	size_t n = 0;

	if (address[0] == '\0' || address[0] == '-')
		return err_set(
		    err, BERTH_EINVAL, "'%s' is no address that ssh could reach", address);
	if (!here) {
		for (; shell_ssh[n] != NULL; n++)
			argv[n] = shell_ssh[n];
		argv[n++] = address;
	}
	argv[n++] = "sh";
	argv[n++] = "-s";
	argv[n] = NULL;
	buf_init(&out, SHELL_OUTPUT_MAX);
	buf_init(&errs, 4096);
	rc = child_run(argv, script, script_len, timeout_s, &out, &errs, status_out, err);
	if (rc == BERTH_ETRANSIENT)
		rc = err_set(err, rc, "%s: no answer within %d s", address, timeout_s);
	else if (rc == BERTH_OK && !here && *status_out == 255)
		rc = err_set(err, BERTH_ETRANSIENT, "%s: %.300s", address, shell_last_line(&errs));
	else if (rc != BERTH_OK)
		err_ctx(err, "%s", address);
	if (rc == BERTH_OK)
		*text_out = arena_strndup(a, out.len > 0 ? out.p : "", out.len);
	buf_free(&out);
	buf_free(&errs);
	return rc;
}
