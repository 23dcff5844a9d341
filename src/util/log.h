/* src/util/log.h - messages for people, on stderr.  Floor: util. */
#ifndef BERTH_UTIL_LOG_H
#define BERTH_UTIL_LOG_H

#include <stdbool.h>
#include <stdio.h>

#include "util/err.h"

enum log_level { LOG_ERROR, LOG_WARN, LOG_INFO, LOG_DEBUG };

/* One a command; passed down by pointer. NULL stands for { LOG_WARN, stderr }. */
struct log {
	enum log_level level; /* the most talkative that is printed */
	FILE *f;
	bool json;        /* one object a line instead of text */
	const char *verb; /* json: which verb speaks; NULL or "": null */
};

/*
 * One line, "berth: warning: text", in one write, so that processes do not mix. Control bytes in
 * the text are shown as \xHH: a provider's answer must not move the cursor.
 */
void log_error(const struct log *l, const char *fmt, ...) BERTH_PRINTF(2, 3);
void log_warn(const struct log *l, const char *fmt, ...) BERTH_PRINTF(2, 3);
void log_info(const struct log *l, const char *fmt, ...) BERTH_PRINTF(2, 3);
void log_debug(const struct log *l, const char *fmt, ...) BERTH_PRINTF(2, 3);
/* {"level":"warning","verb":"prices list","message":"..."} and a line end, in one write. */
void log_json(FILE *f, const char *level, const char *verb, const char *message);
/* "berth: WHERE: MSG", or "berth: MSG" where there is no place. */
void log_err(const struct log *l, const struct berth_err *err);

#endif
