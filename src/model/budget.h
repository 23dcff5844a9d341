/* src/model/budget.h - caps on spending, and what was spent.  Floor: model. */
#ifndef BERTH_MODEL_BUDGET_H
#define BERTH_MODEL_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

#include "util/err.h"
#include "util/money.h"

/* HOUR caps a rate: what all machines of the scope that are there, or are being made, ask for an
 * hour of each. */
enum budget_period {
	BUDGET_HOUR,
	BUDGET_DAY,
	BUDGET_WEEK,
	BUDGET_MONTH,
	BUDGET_TOTAL,
	BUDGET_PERIOD_COUNT
};

struct budget {
	int64_t id;
	const char *name;  /* unique; by default "SCOPE/PERIOD" */
	const char *scope; /* "all", "project:X", "user:X", "account:X" */
	enum budget_period period;
	struct usd_micro cap;
	struct usd_micro spent, reserved; /* in the period that holds the asked time; filled in by
					     the store. Of an HOUR: USD an hour of the machines that
					     are there, and of those that are being made */
	int64_t from, to;                 /* that period, [from, to); to is INT64_MAX for a total */
};

enum ledger_kind {
	LEDGER_COMPUTE,
	LEDGER_RESERVE,
	LEDGER_UPFRONT,
	LEDGER_EGRESS,
	LEDGER_KIND_COUNT
};

/* Money spent: appended, never changed; a correction is another row, which may be below 0. */
struct ledger_row {
	int64_t id, t;
	enum ledger_kind kind; /* RESERVE: hours of a commitment, used or not */
	const char *account, *project, *user;
	const char *job_id;  /* "" none */
	int64_t instance_id; /* 0: none */
	struct usd_micro amount;
	const char *note;
};

/* Who is going to spend how much at most. */
struct budget_ask {
	const char *account, *project, *user; /* "" matches no budget of that kind */
	const char *job_id;                   /* "" a fleet's machine */
	struct usd_micro amount;              /* > 0; an unknown price cannot be reserved */
	struct usd_micro hour; /* what its machine asks for an hour; of an intent the store fills
				  it in */
};

const char *budget_period_name(enum budget_period p); /* "hour" "day" "week" "month" "total" */
bool budget_period_parse(const char *s, enum budget_period *p_out);
const char *ledger_kind_name(enum ledger_kind k); /* "compute" "reserve" "upfront" "egress" */
bool ledger_kind_parse(const char *s, enum ledger_kind *k_out);

/*
 * The UTC hour, day, week (from Monday) or calendar month that holds t, [from, to); a total holds
 * all time: INT64_MIN to INT64_MAX.
 */
void budget_period_span(enum budget_period p, int64_t t, int64_t *from_out, int64_t *to_out);
/* Does a budget of this scope count what is spent for these? */
bool budget_scope_hits(
    const char *scope, const char *account, const char *project, const char *user);
/* BERTH_EINVAL names what a scope may be. */
BERTH_MUST_CHECK enum berth_code budget_scope_check(const char *scope, struct berth_err *err);

#endif
