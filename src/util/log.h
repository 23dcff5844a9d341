/* src/util/log.h - messages for people, on stderr.  Floor: util. */
#ifndef BERTH_UTIL_LOG_H
#define BERTH_UTIL_LOG_H

#include <stdio.h>

#include "util/err.h"

enum log_level { LOG_ERROR, LOG_WARN, LOG_INFO, LOG_DEBUG };

/* One a command; passed down by pointer. NULL stands for { LOG_WARN, stderr }. */
struct log {
	enum log_level level;	/* the most talkative that is printed */
	FILE *f;
};

/*
 * One line, "berth: warning: text", in one write, so that processes do not mix. Control bytes in
 * the text are shown as \xHH: a provider's answer must not move the cursor.
 */
void log_error(const struct log *l, const char *fmt, ...) BERTH_PRINTF(2, 3);
void log_warn(const struct log *l, const char *fmt, ...) BERTH_PRINTF(2, 3);
void log_info(const struct log *l, const char *fmt, ...) BERTH_PRINTF(2, 3);
void log_debug(const struct log *l, const char *fmt, ...) BERTH_PRINTF(2, 3);
/* "berth: WHERE: MSG", or "berth: MSG" where there is no place. */
void log_err(const struct log *l, const struct berth_err *err);

#endif
