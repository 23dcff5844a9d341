#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "util/err.h"

static const struct err_row {
	const char *name;
	int exit_status;
} err_rows[BERTH_CODE_COUNT] = {
	[BERTH_OK] = { "ok", 0 },
	[BERTH_EFAIL] = { "failed", 1 },
	[BERTH_ENOMEM] = { "out_of_memory", 1 },
	[BERTH_EIO] = { "io", 1 },
	[BERTH_EINVAL] = { "invalid", 1 },
	[BERTH_ENOTFOUND] = { "not_found", 1 },
	[BERTH_EAUTH] = { "auth", 1 },
	[BERTH_EPERMANENT] = { "permanent", 1 },
	[BERTH_EUSAGE] = { "usage", 2 },
	[BERTH_EINFEASIBLE] = { "infeasible", 3 },
	[BERTH_EBUDGET] = { "over_budget", 4 },
	[BERTH_ETRANSIENT] = { "transient", 5 },
	[BERTH_ETHROTTLED] = { "throttled", 5 },
	[BERTH_ECAPACITY] = { "no_capacity", 5 },
	[BERTH_EQUOTA] = { "quota", 5 },
	[BERTH_EPRICE] = { "price_mismatch", 6 },
	[BERTH_EPROBE] = { "probe_rejected", 7 },
	[BERTH_EPARTIAL] = { "partial", 8 },
	[BERTH_ELOCKED] = { "locked", 9 },
};

static const char *const err_exit_rows[] = {
	"done",
	"error",
	"wrong usage of the command line",
	"no feasible offer or plan",
	"over budget",
	"transient: the same command may work later",
	"price or bill mismatch",
	"probe rejected the machine",
	"partly done: some rows or providers were refused, each is named",
	"another run holds the lock",
};

static enum berth_code err_vset(
    struct berth_err *err, enum berth_code code, const char *fmt, va_list ap) BERTH_PRINTF(3, 0);

static enum berth_code
err_vset(struct berth_err *err, enum berth_code code, const char *fmt, va_list ap)
{
	if (err == NULL)
		return code;
	memset(err, 0, sizeof(*err));
	err->code = code;
	vsnprintf(err->msg, sizeof(err->msg), fmt, ap);
	return code;
}

enum berth_code
err_set(struct berth_err *err, enum berth_code code, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	err_vset(err, code, fmt, ap);
	va_end(ap);
	return code;
}

enum berth_code
err_sys(struct berth_err *err, enum berth_code code, int errnum, const char *fmt, ...)
{
	va_list ap;
	size_t n;

	va_start(ap, fmt);
	err_vset(err, code, fmt, ap);
	va_end(ap);
	if (err != NULL) {
		n = strlen(err->msg);
		snprintf(err->msg + n, sizeof(err->msg) - n, ": %s", strerror(errnum));
	}
	return code;
}

enum berth_code
err_ctx(struct berth_err *err, const char *fmt, ...)
{
	char old[sizeof(err->msg)];
	va_list ap;
	size_t n;

	if (err == NULL)
		return BERTH_EFAIL;
	memcpy(old, err->msg, sizeof(old));
	va_start(ap, fmt);
	vsnprintf(err->msg, sizeof(err->msg), fmt, ap);
	va_end(ap);
	n = strlen(err->msg);
	snprintf(err->msg + n, sizeof(err->msg) - n, ": %s", old);
	return err->code;
}

/* A long path loses its front: its file, line and column stand at the end. A URL is known by its
 * front. */
static void
err_fit(char *out, size_t size, const char *text)
{
	size_t n = strlen(text), dots = 0;

	if (n >= size && strstr(text, "://") == NULL) {
		dots = strlen("...");
		text += n - (size - 1 - dots);
		while (((unsigned char)*text & 0xC0) == 0x80) /* not within a character */
			text++;
		memcpy(out, "...", dots);
		n = strlen(text);
	}
	if (n >= size)
		n = size - 1;
	memcpy(out + dots, text, n);
	out[dots + n] = '\0';
}

enum berth_code
err_at(struct berth_err *err, const char *fmt, ...)
{
	char text[4608]; /* a path and what stands behind it */
	va_list ap;

	if (err == NULL)
		return BERTH_EFAIL;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	err_fit(err->where, sizeof(err->where), text);
	return err->code;
}

const char *
err_name(enum berth_code code)
{
	return code < BERTH_CODE_COUNT ? err_rows[code].name : "unknown";
}

int
err_exit_status(enum berth_code code)
{
	return code < BERTH_CODE_COUNT ? err_rows[code].exit_status : 1;
}

const char *
err_exit_text(int status)
{
	if (status < 0 || (size_t)status >= sizeof(err_exit_rows) / sizeof(err_exit_rows[0]))
		return NULL;
	return err_exit_rows[status];
}
