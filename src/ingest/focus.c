#include "ingest/focus.h"

#include <math.h>
#include <string.h>

#include "model/accel.h"
#include "util/csv.h"
#include "util/json.h"
#include "util/str.h"
#include "util/time.h"

#define FOCUS_PERIOD_MAX (INT64_C(32) * 86400)
#define FOCUS_AMOUNT_MAX 1e12

enum focus_col { FOCUS_START, FOCUS_END, FOCUS_COST, FOCUS_CATEGORY, FOCUS_CONSUMED, FOCUS_CONSUMED_UNIT, FOCUS_PRICED,
	FOCUS_PRICED_UNIT, FOCUS_PROVIDER, FOCUS_REGION, FOCUS_ZONE, FOCUS_ACCOUNT, FOCUS_BILLING, FOCUS_SKU, FOCUS_DETAILS,
	FOCUS_INSTANCE, FOCUS_PRICING, FOCUS_COMMITMENT, FOCUS_STATUS, FOCUS_CURRENCY, FOCUS_COLS };

/* In the order of the enum; a second spelling of some. The first four must be there. */
static const char *const focus_names[FOCUS_COLS][3] = {
	{ "ChargePeriodStart" }, { "ChargePeriodEnd" }, { "EffectiveCost" }, { "ChargeCategory" }, { "ConsumedQuantity" },
	{ "ConsumedUnit" }, { "PricingQuantity" }, { "PricingUnit" }, { "ProviderName", "ServiceProviderName" },
	{ "RegionId", "Region" }, { "AvailabilityZone" }, { "SubAccountId" }, { "BillingAccountId" }, { "SkuId" },
	{ "SkuPriceDetails", "x_SkuDetails" }, { "x_InstanceType", "InstanceType", "x_SkuInstanceType" }, { "PricingCategory" },
	{ "CommitmentDiscountId" }, { "CommitmentDiscountStatus" }, { "BillingCurrency" }
};

/* Sums of one series in one period. */
struct focus_sum {
	uint32_t target;
	int64_t start, end;
	double value;
};

struct focus {
	struct csv *csv;
	const struct focus_options *o;
	struct usage_set *set;
	struct focus_counts *counts;
	usage_say_fn *say;
	void *arg;
	int col[FOCUS_COLS];
	struct strmap by_key, unknown;
	VEC(struct focus_sum) sums;
};

/* One row. */
struct focus_row {
	char *const *field;
	int64_t start, end;
	double cost;			/* NaN not said */
	double gpus, gpu_hours;
	const char *accelerator, *instance;
	json_t *details;
};

static const char *
focus_get(const struct focus *f, const struct focus_row *r, enum focus_col col)
{
	return f->col[col] >= 0 ? r->field[f->col[col]] : "";
}

static bool
focus_blank(const char *s)
{
	return *s == '\0' || str_ieq(s, "null");
}

static enum berth_code
focus_number(const struct focus *f, const struct focus_row *r, enum focus_col col, double *out, struct berth_err *err)
{
	const char *s = focus_get(f, r, col);
	enum berth_code rc;

	*out = (double)NAN;
	if (focus_blank(s))
		return BERTH_OK;
	rc = str_to_double(s, -FOCUS_AMOUNT_MAX, FOCUS_AMOUNT_MAX, out, err);
	return rc == BERTH_OK ? rc : csv_err(f->csv, err, focus_names[col][0]);
}

/* What one unit of the quantity is, in hours of use; 0: no time. *gpus_out: it counts GPUs, not machines. */
static double
focus_unit_hours(const char *unit, bool *gpus_out)
{
	static const struct { const char *name; double hours; } units[] = { { "hours", 1 }, { "hour", 1 }, { "hrs", 1 },
		{ "hr", 1 }, { "h", 1 }, { "minutes", 1.0 / 60 }, { "minute", 1.0 / 60 }, { "min", 1.0 / 60 },
		{ "seconds", 1.0 / 3600 }, { "second", 1.0 / 3600 }, { "s", 1.0 / 3600 }, { "days", 24 }, { "day", 24 } };
	const char *last = strrchr(unit, ' ');
	const char *dash = strrchr(unit, '-');

	*gpus_out = str_istarts(unit, "gpu") || str_istarts(unit, "accelerator");
	last = last != NULL && (dash == NULL || last > dash) ? last + 1 : dash != NULL ? dash + 1 : unit;
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (str_ieq(last, units[i].name))
			return units[i].hours;
	return 0;
}

static const char *
focus_detail(const struct focus_row *r, const char *key)
{
	const json_t *v = json_object_get(r->details, key);

	return json_is_string(v) ? json_string_value(v) : NULL;
}

/* How many GPUs the machine has and of which kind; false: none. */
static bool
focus_machine(struct focus *f, struct focus_row *r, double *count_out)
{
	const json_t *n = json_object_get(r->details, "GpuCount");
	const char *named = NULL;
	double count = 0;
	bool known;

	r->instance = focus_detail(r, "InstanceType");
	if (r->instance == NULL)
		r->instance = focus_get(f, r, FOCUS_INSTANCE);
	known = *r->instance != '\0' && f->o->machine(f->o->machine_arg, r->instance, &named, &count);
	if (json_is_number(n))
		count = json_number_value(n);
	else if (json_is_string(n) && str_to_double(json_string_value(n), 0, 1e6, &count, NULL) != BERTH_OK)
		count = 0;
	r->accelerator = focus_detail(r, "GpuType");
	if (r->accelerator == NULL)
		r->accelerator = focus_detail(r, "GpuName");
	if (r->accelerator == NULL)
		r->accelerator = known ? named : "unknown";
	*count_out = count;
	return count > 0;
}

static const char *
focus_accel(struct focus *f, const char *name)
{
	struct accel_ref ref;
	int added;

	if (str_eq(name, "unknown"))
		return name;
	if (accel_resolve(f->o->accels, f->set->a, name, &ref) && ref.accel != NULL)
		return accel_model(f->o->accels, ref.accel)->name;
	strmap_add(f->set->a, &f->unknown, name, 0, &added);
	if (added)
		f->say(f->arg, USAGE_REMARK, 0, arena_printf(f->set->a, "nobody knows the accelerator '%s': it is kept under this "
		    "name", name));
	return arena_strdup(f->set->a, name);
}

static const char *
focus_purchase(const struct focus *f, const struct focus_row *r)
{
	const char *s = focus_get(f, r, FOCUS_PRICING);

	if (str_ieq(s, "Committed") || !focus_blank(focus_get(f, r, FOCUS_COMMITMENT)))
		return "reserved";
	if (str_ieq(s, "Dynamic"))
		return "spot";
	return "on_demand";
}

static const char *
focus_label(struct focus *f, const struct focus_row *r, const char *key)
{
	static const struct { const char *key; enum focus_col col; } keys[] = { { "provider", FOCUS_PROVIDER },
		{ "region", FOCUS_REGION }, { "zone", FOCUS_ZONE }, { "sku", FOCUS_SKU }, { "commitment", FOCUS_COMMITMENT } };

	if (str_eq(key, "accelerator"))
		return focus_accel(f, r->accelerator);
	if (str_eq(key, "purchase"))
		return focus_purchase(f, r);
	if (str_eq(key, "instance_type"))
		return r->instance;
	if (str_eq(key, "account"))
		return focus_get(f, r, focus_blank(focus_get(f, r, FOCUS_ACCOUNT)) ? FOCUS_BILLING : FOCUS_ACCOUNT);
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		if (str_eq(key, keys[i].key))
			return focus_get(f, r, keys[i].col);
	return "";
}

static enum berth_code
focus_add(struct focus *f, const struct focus_row *r, const char *metric, const char *unit, double value,
    struct berth_err *err)
{
	static const char *const usual[] = { "provider", "region", "accelerator", "purchase" };
	const char *const *by = f->o->n_by > 0 ? f->o->by : usual;
	size_t n_by = f->o->n_by > 0 ? f->o->n_by : 4, n = 0, *at;
	struct usage_label labels[16];
	struct focus_sum *sum;
	enum berth_code rc;
	uint32_t target;
	int added;

	for (size_t i = 0; i < n_by && n < 15; i++) {
		const char *v = focus_label(f, r, by[i]);

		if (!focus_blank(v))
			labels[n++] = (struct usage_label){ by[i], arena_strdup(f->set->a, v) };
	}
	if (metric != NULL)
		labels[n++] = (struct usage_label){ "metric", metric };
	rc = usage_target_put(f->set, usage_name(f->set->a, labels, n), usage_labels_json(f->set->a, labels, n), &target, err);
	if (rc != BERTH_OK)
		return rc;
	f->set->targets.v[target].unit = unit;
	at = strmap_add(f->set->a, &f->by_key, arena_printf(f->set->a, "%u %lld %lld", target, (long long)r->start,
	    (long long)r->end), f->sums.n, &added);
	if (added) {
		sum = VEC_ADD(f->set->a, &f->sums);
		*sum = (struct focus_sum){ .target = target, .start = r->start, .end = r->end };
	}
	f->sums.v[*at].value += value;
	return BERTH_OK;
}

/* "eur_per_hour" */
static const char *
focus_cost_unit(struct focus *f, const struct focus_row *r)
{
	const char *s = focus_get(f, r, FOCUS_CURRENCY);

	return focus_blank(s) ? "usd_per_hour" : arena_printf(f->set->a, "%s_per_hour", str_lower(f->set->a, s));
}

static enum berth_code
focus_period(const struct focus *f, struct focus_row *r, struct berth_err *err)
{
	enum berth_code rc = time_parse(focus_get(f, r, FOCUS_START), 0, NULL, TIME_ABSOLUTE, &r->start, err);

	if (rc != BERTH_OK)
		return csv_err(f->csv, err, "ChargePeriodStart");
	rc = time_parse(focus_get(f, r, FOCUS_END), 0, NULL, TIME_ABSOLUTE, &r->end, err);
	if (rc != BERTH_OK)
		return csv_err(f->csv, err, "ChargePeriodEnd");
	if (r->end <= r->start || r->end - r->start > FOCUS_PERIOD_MAX)
		return err_set(err, BERTH_EINVAL, "a charge period of %lld s", (long long)(r->end - r->start));
	return BERTH_OK;
}

/* GPU-hours of the row; *any_out false: it is about something else. */
static enum berth_code
focus_gpu_hours(struct focus *f, struct focus_row *r, bool *any_out, struct berth_err *err)
{
	double quantity, count = 0, hours;
	const char *unit = focus_get(f, r, FOCUS_CONSUMED_UNIT);
	bool gpus, machine;
	enum berth_code rc = focus_number(f, r, FOCUS_CONSUMED, &quantity, err);

	if (rc == BERTH_OK && isnan(quantity)) {
		unit = focus_get(f, r, FOCUS_PRICED_UNIT);
		rc = focus_number(f, r, FOCUS_PRICED, &quantity, err);
	}
	if (rc != BERTH_OK)
		return rc;
	hours = focus_unit_hours(unit, &gpus);
	machine = focus_machine(f, r, &count);
	*any_out = hours > 0 && (gpus || machine) && !isnan(quantity);
	r->gpu_hours = *any_out ? quantity * hours * (gpus ? 1 : count) : 0;
	if (str_ieq(focus_get(f, r, FOCUS_STATUS), "Unused"))
		r->gpu_hours = 0;
	return BERTH_OK;
}

static enum berth_code
focus_usage(struct focus *f, struct focus_row *r, struct berth_err *err)
{
	double hours;
	bool any;
	enum berth_code rc = focus_gpu_hours(f, r, &any, err);

	if (rc == BERTH_OK && !any) {
		f->counts->without_gpus++;
		return BERTH_OK;
	}
	if (rc == BERTH_OK)
		rc = focus_period(f, r, err);
	if (rc == BERTH_OK)
		rc = focus_number(f, r, FOCUS_COST, &r->cost, err);
	if (rc != BERTH_OK)
		return rc;
	hours = (double)(r->end - r->start) / 3600;
	f->counts->gpu_hours += r->gpu_hours;
	if (!str_ieq(focus_get(f, r, FOCUS_STATUS), "Unused"))
		rc = focus_add(f, r, NULL, "gpu", r->gpu_hours / hours, err);
	if (rc == BERTH_OK && !isnan(r->cost)) {
		f->counts->cost += r->cost;
		rc = focus_add(f, r, "cost", focus_cost_unit(f, r), r->cost / hours, err);
	}
	return rc;
}

static enum berth_code
focus_row(struct focus *f, const struct csv_row *row, struct berth_err *err)
{
	struct focus_row r = { .field = row->field, .accelerator = "unknown", .instance = "" };
	const char *details;
	enum berth_code rc;

	if (!str_ieq(focus_get(f, &r, FOCUS_CATEGORY), "Usage")) {
		f->counts->without_gpus++;
		return BERTH_OK;
	}
	details = focus_get(f, &r, FOCUS_DETAILS);
	if (*details == '{' && jsonr_parse(details, strlen(details), "SkuPriceDetails", &r.details, err) != BERTH_OK)
		return csv_err(f->csv, err, "SkuPriceDetails");
	rc = focus_usage(f, &r, err);
	json_decref(r.details);
	return rc;
}

static enum berth_code
focus_open(struct focus *f, FILE *in, const char *name, struct berth_err *err)
{
	enum berth_code rc = csv_open_stream(in, name, &f->csv, err);

	for (size_t c = 0; rc == BERTH_OK && c < FOCUS_COLS; c++) {
		f->col[c] = -1;
		for (size_t k = 0; k < 3 && focus_names[c][k] != NULL && f->col[c] < 0; k++)
			f->col[c] = csv_column(f->csv, focus_names[c][k]);
		if (c <= FOCUS_CATEGORY && f->col[c] < 0)
			rc = err_set(err, BERTH_EINVAL, "%s: no column %s: FOCUS 1.0 to 1.2 has it", name, focus_names[c][0]);
	}
	if (rc == BERTH_OK && f->col[FOCUS_CONSUMED] < 0 && f->col[FOCUS_PRICED] < 0)
		rc = err_set(err, BERTH_EINVAL, "%s: no column ConsumedQuantity or PricingQuantity", name);
	return rc;
}

/* The sums as rows that know their end. */
static enum berth_code
focus_emit(struct focus *f, struct spool *sp, struct berth_err *err)
{
	enum berth_code rc = BERTH_OK;

	for (size_t i = 0; rc == BERTH_OK && i < f->sums.n; i++) {
		const struct focus_sum *s = &f->sums.v[i];
		double v = s->value;
		uint32_t source;
		struct usage_row row;

		if (v < 0) {
			f->say(f->arg, USAGE_REMARK, 0, arena_printf(f->set->a, "series %s: corrections take more than there was; 0 is "
			    "kept", f->set->targets.v[s->target].name));
			v = 0;
		}
		source = usage_source_put(f->set, arena_printf(f->set->a, "%s\n%lld", f->set->targets.v[s->target].name,
		    (long long)(s->end - s->start)), s->target);
		row = (struct usage_row){ .source = source, .t = s->start, .end = s->end, .value = v, .peak = v };
		usage_seen(f->set, source, s->start);
		rc = spool_add(sp, &row, err);
	}
	return rc;
}

enum berth_code
focus_read(FILE *in, const char *name, const struct focus_options *o, struct usage_set *set, struct spool *sp,
    struct focus_counts *counts, usage_say_fn *say, void *arg, struct berth_err *err)
{
	struct focus f = { .o = o, .set = set, .counts = counts, .say = say, .arg = arg };
	const struct csv_row *row;
	enum berth_code rc = focus_open(&f, in, name, err);

	while (rc == BERTH_OK) {
		rc = csv_next(f.csv, &row, err);
		if (rc == BERTH_OK && row == NULL)
			break;
		counts->rows.read++;
		if (rc == BERTH_OK)
			rc = focus_row(&f, row, err);
		if (rc != BERTH_EINVAL)
			continue;
		counts->rows.refused++;
		say(arg, USAGE_REFUSED, csv_line(f.csv), err->msg);
		rc = BERTH_OK;
	}
	csv_close(f.csv);
	return rc == BERTH_OK ? focus_emit(&f, sp, err) : rc;
}
