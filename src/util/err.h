/* src/util/err.h - result codes and the error record.  Floor: util. */
#ifndef BERTH_UTIL_ERR_H
#define BERTH_UTIL_ERR_H

#define BERTH_MUST_CHECK __attribute__((warn_unused_result))
#define BERTH_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))

/*
 * A code exists only where a caller acts differently on it. err.c holds the one table
 * code -> name -> exit status -> the line of berth(1).
 */
enum berth_code {
	BERTH_OK = 0,
	BERTH_EFAIL,       /* anything without a code of its own; exit 1 */
	BERTH_ENOMEM,      /* exit 1 */
	BERTH_EIO,         /* file, disk or pipe; exit 1 */
	BERTH_EINVAL,      /* outside bytes or a value that is not what it must be; exit 1 */
	BERTH_ENOTFOUND,   /* no such job, series, offer, file; exit 1 */
	BERTH_EAUTH,       /* credentials refused or missing; exit 1 */
	BERTH_EPERMANENT,  /* a provider says this request can never work; exit 1 */
	BERTH_EUSAGE,      /* the command line; exit 2 */
	BERTH_EINFEASIBLE, /* no feasible offer or plan; exit 3 */
	BERTH_EBUDGET,     /* over budget; exit 4 */
	BERTH_ETRANSIENT,  /* try the same again later; exit 5 */
	BERTH_ETHROTTLED,  /* provider asks to slow down; exit 5 */
	BERTH_ECAPACITY,   /* provider has no such machine now; exit 5 */
	BERTH_EQUOTA,      /* the account's limit; exit 5; never one code with capacity */
	BERTH_EPRICE,      /* price or bill mismatch; exit 6 */
	BERTH_EPROBE,      /* a machine failed its probe; exit 7 */
	BERTH_EPARTIAL,    /* some rows or providers refused, each named; exit 8 */
	BERTH_ELOCKED,     /* another run holds the lock; exit 9 */
	BERTH_CODE_COUNT
};

struct berth_err {
	enum berth_code code;
	int http_status;   /* 0: none */
	int retry_after_s; /* 0: not said */
	char where[128];   /* file:line:col, field or URL; "" if none */
	char msg[512];
};

/*
 * Stores code and message (where, http_status and retry_after_s are cleared) and returns code.
 * err may be NULL.
 */
enum berth_code err_set(struct berth_err *err, enum berth_code code, const char *fmt, ...)
    BERTH_PRINTF(3, 4);
/* As err_set(), with " : strerror(errnum)" behind the message. */
enum berth_code err_sys(struct berth_err *err, enum berth_code code, int errnum, const char *fmt,
    ...) BERTH_PRINTF(4, 5);
/* Puts "context: " in front of the message on the way up; returns err->code (BERTH_EFAIL if err is
 * NULL). */
enum berth_code err_ctx(struct berth_err *err, const char *fmt, ...) BERTH_PRINTF(2, 3);
/* Sets where (printf-like); returns err->code. */
enum berth_code err_at(struct berth_err *err, const char *fmt, ...) BERTH_PRINTF(2, 3);

/* Short stable name ("no_capacity") and the exit status of a code. */
const char *err_name(enum berth_code code);
int err_exit_status(enum berth_code code);
/* The line that berth(1) prints for an exit status 0..9; NULL beyond. */
const char *err_exit_text(int status);

#endif
