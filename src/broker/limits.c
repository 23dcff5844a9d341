/* Quotas under `limits:` of berth.yaml. */
#include "config.h"

#include <string.h>

#include "broker/broker.h"
#include "model/accel.h"
#include "util/arena.h"
#include "util/str.h"
#include "util/vec.h"
#include "util/yaml.h"

static enum berth_code
limits_texts(const struct yaml_node *n, struct placing_limit *l, struct berth_err *err)
{
	const struct {
		const char *key, **text;
	} texts[] = { { "name", &l->name }, { "provider", &l->provider },
		{ "account", &l->account }, { "region", &l->region },
		{ "accelerator", &l->accelerator }, { "purchase", &l->purchase },
		{ "unit", &l->unit } };

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		enum berth_code rc = yaml_str(n, texts[i].key, texts[i].text, err);

		if (rc != BERTH_OK)
			return rc;
	}
	return BERTH_OK;
}

/* What it counts is its name where it has none: "aws us-east-1 spot". */
static const char *
limits_name(const struct placing_limit *l, struct arena *a)
{
	const char *const parts[] = { l->provider, l->account, l->region, l->accelerator,
		l->purchase, str_eq(l->unit, "gpu") ? "" : l->unit };
	const char *name = "";

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		if (parts[i][0] != '\0')
			name =
			    arena_printf(a, "%s%s%s", name, name[0] != '\0' ? " " : "", parts[i]);
	return name[0] != '\0' ? name : "of everything";
}

/* A name of the table stands for all that it is or holds, as it does for a job: A100 for each A100.
 */
static void
limits_accelerators(const struct accel_table *accels, struct placing_limit *l, struct arena *a)
{
	const struct accel *want =
	    accels == NULL || l->accelerator[0] == '\0' ? NULL : accel_find(accels, l->accelerator);
	VEC(const char *) names = { 0 };

	for (size_t i = 0; want != NULL && i < accel_count(accels); i++)
		if (accel_is(accel_at(accels, i), want))
			VEC_PUSH(a, &names, accel_at(accels, i)->name);
	l->accelerators = names.v;
	l->n_accelerators = names.n;
}

static enum berth_code
limits_one(const struct yaml_node *n, const struct accel_table *accels, struct arena *a,
    struct placing_limit *l, struct berth_err *err)
{
	static const char *const keys[] = { "name", "provider", "account", "region", "accelerator",
		"purchase", "unit", "limit", "override", NULL };
	static const char *const needed[] = { "limit", NULL };
	enum purchase p;
	enum berth_code rc;

	*l = (struct placing_limit){ .name = "",
		.provider = "",
		.account = "",
		.region = "",
		.accelerator = "",
		.purchase = "",
		.unit = "gpu" };
	if ((rc = yaml_check_keys(n, keys, err)) != BERTH_OK ||
	    (rc = yaml_need_keys(n, needed, err)) != BERTH_OK ||
	    (rc = limits_texts(n, l, err)) != BERTH_OK ||
	    (rc = yaml_int(n, "limit", 0, INT64_C(1) << 40, &l->limit, err)) != BERTH_OK ||
	    (rc = yaml_bool(n, "override", &l->override, err)) != BERTH_OK)
		return rc;
	if (!str_eq(l->unit, "gpu") && !str_eq(l->unit, "machine") && !str_eq(l->unit, "vcpu"))
		return yaml_err(yaml_get(n, "unit"), err,
		    "unit must be gpu, machine or vcpu, not '%.40s'", l->unit);
	if (l->purchase[0] != '\0' && !purchase_parse(l->purchase, &p))
		return yaml_err(yaml_get(n, "purchase"), err,
		    "'%.40s' is none of on_demand, spot and reserved", l->purchase);
	if (l->purchase[0] != '\0')
		l->purchase = purchase_name(p);
	if (l->name[0] == '\0')
		l->name = limits_name(l, a);
	limits_accelerators(accels, l, a);
	return BERTH_OK;
}

enum berth_code
broker_limits_read(const struct yaml_node *config, const struct accel_table *accels,
    struct arena *a, struct placing_limit **limits_out, size_t *n_out, struct berth_err *err)
{
	const struct yaml_node *list = NULL;
	struct placing_limit *limits;
	enum berth_code rc;

	*limits_out = NULL;
	*n_out = 0;
	rc = yaml_list(config, "limits", &list, err);
	if (rc != BERTH_OK || list == NULL)
		return rc;
	limits = arena_array_of(a, list->n, struct placing_limit);
	for (size_t i = 0; i < list->n; i++) {
		const struct yaml_node *name = NULL;

		rc = limits_one(list->items[i], accels, a, &limits[i], err);
		if (rc != BERTH_OK)
			return rc;
		name = yaml_get(list->items[i], "name");
		for (size_t k = 0; name != NULL && k < i; k++)
			if (str_eq(limits[k].name, limits[i].name))
				return yaml_err(name, err, "'%.60s' names another limit already",
				    limits[i].name);
	}
	*limits_out = limits;
	*n_out = list->n;
	return BERTH_OK;
}
