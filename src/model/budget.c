#include <string.h>

#include "model/budget.h"
#include "util/str.h"
#include "util/time.h"

#define HOUR_S INT64_C(3600)
#define DAY_S INT64_C(86400)

static const char *const budget_period_names[BUDGET_PERIOD_COUNT] = {
	[BUDGET_HOUR] = "hour",
	[BUDGET_DAY] = "day",
	[BUDGET_WEEK] = "week",
	[BUDGET_MONTH] = "month",
	[BUDGET_TOTAL] = "total",
};

static const char *const ledger_kind_names[LEDGER_KIND_COUNT] = {
	[LEDGER_COMPUTE] = "compute",
	[LEDGER_RESERVE] = "reserve",
	[LEDGER_UPFRONT] = "upfront",
	[LEDGER_EGRESS] = "egress",
};

const char *
budget_period_name(enum budget_period p)
{
	return p < BUDGET_PERIOD_COUNT ? budget_period_names[p] : "unknown";
}

bool
budget_period_parse(const char *s, enum budget_period *p_out)
{
	for (int i = 0; i < BUDGET_PERIOD_COUNT; i++)
		if (strcmp(s, budget_period_names[i]) == 0) {
			*p_out = (enum budget_period)i;
			return true;
		}
	return false;
}

const char *
ledger_kind_name(enum ledger_kind k)
{
	return k < LEDGER_KIND_COUNT ? ledger_kind_names[k] : "unknown";
}

bool
ledger_kind_parse(const char *s, enum ledger_kind *k_out)
{
	for (int i = 0; i < LEDGER_KIND_COUNT; i++)
		if (strcmp(s, ledger_kind_names[i]) == 0) {
			*k_out = (enum ledger_kind)i;
			return true;
		}
	return false;
}

void
budget_period_span(enum budget_period p, int64_t t, int64_t *from_out, int64_t *to_out)
{
	int64_t from = INT64_MIN, to = INT64_MAX;

	switch (p) {
	case BUDGET_HOUR:
		from = time_floor(t, HOUR_S);
		to = from + HOUR_S;
		break;
	case BUDGET_DAY:
		from = time_floor(t, DAY_S);
		to = from + DAY_S;
		break;
	case BUDGET_WEEK:
		from = time_floor(t, DAY_S) - time_weekday(t) * DAY_S;
		to = from + 7 * DAY_S;
		break;
	case BUDGET_MONTH:
		from = time_month_start(t);
		to = time_add_months(from, 1);
		break;
	case BUDGET_TOTAL:
	case BUDGET_PERIOD_COUNT:
		break;
	}
	*from_out = from;
	*to_out = to;
}

/* What stands behind "project:" and its like, NULL if the scope does not begin so. */
static const char *
budget_scope_of(const char *scope, const char *prefix)
{
	return str_starts(scope, prefix) ? scope + strlen(prefix) : NULL;
}

bool
budget_scope_hits(const char *scope, const char *account, const char *project, const char *user)
{
	const char *name;

	if (strcmp(scope, "all") == 0)
		return true;
	if ((name = budget_scope_of(scope, "account:")) != NULL)
		return strcmp(name, account) == 0;
	if ((name = budget_scope_of(scope, "project:")) != NULL)
		return strcmp(name, project) == 0;
	if ((name = budget_scope_of(scope, "user:")) != NULL)
		return strcmp(name, user) == 0;
	return false;
}

enum berth_code
budget_scope_check(const char *scope, struct berth_err *err)
{
	static const char *const prefixes[] = { "account:", "project:", "user:" };

	if (strcmp(scope, "all") == 0)
		return BERTH_OK;
	for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++) {
		const char *name = budget_scope_of(scope, prefixes[i]);

		if (name != NULL && name[0] != '\0')
			return BERTH_OK;
	}
	return err_set(err, BERTH_EINVAL,
	    "budget: the scope '%s' is not all, account:NAME, project:NAME or user:NAME", scope);
}
