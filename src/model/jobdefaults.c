/* src/model/jobdefaults.c - rails for all jobs.  Floor: model. */
#include "config.h"

#include "model/jobdefaults.h"
#include "model/offer.h"
#include "util/yaml.h"

static enum berth_code
defaults_purchase(
    struct arena *a, const struct yaml_node *map, struct job_defaults *d, struct berth_err *err)
{
	const struct yaml_node *node = yaml_get(map, "purchase");
	const char **list = NULL;
	enum berth_code rc;
	size_t n = 0;

	rc = yaml_str_list(a, map, "purchase", &list, &n, err);
	if (rc != BERTH_OK || list == NULL)
		return rc;
	if (n == 0)
		return yaml_err(node, err, "allows nothing: name on_demand, spot or reserved");
	for (size_t i = 0; i < n; i++) {
		enum purchase p;

		if (!purchase_parse(list[i], &p))
			return yaml_err(
			    node, err, "'%.40s' is none of on_demand, spot, reserved", list[i]);
		d->purchase_ok[p] = true;
	}
	d->purchase_said = true;
	return BERTH_OK;
}

enum berth_code
job_defaults_read(
    const struct yaml_node *root, struct arena *a, struct job_defaults *out, struct berth_err *err)
{
	const struct yaml_node *map = NULL;
	enum berth_code rc = BERTH_OK;

	*out = JOB_DEFAULTS_NONE;
	if (root != NULL)
		rc = yaml_map(root, "defaults", &map, err);
	if (rc != BERTH_OK || map == NULL)
		return rc;
	if ((rc = yaml_str(map, "region", &out->region, err)) != BERTH_OK ||
	    (rc = yaml_money(map, "max_price", &out->max_price, err)) != BERTH_OK)
		return rc;
	if (usd_known(out->max_price) && out->max_price.v <= 0)
		return yaml_err(yaml_get(map, "max_price"), err, "must be more than 0, as in 40");
	return defaults_purchase(a, map, out, err);
}

enum berth_code
job_defaults_fill(const struct job_defaults *d, const char *file, struct arena *a,
    struct job_spec *spec, struct berth_err *err)
{
	bool any = false;

	if (d->region != NULL && spec->n_regions == 0) {
		spec->regions = arena_memdup(a, &d->region, sizeof(d->region));
		spec->n_regions = 1;
	}
	if (!usd_known(spec->max_price))
		spec->max_price = d->max_price;
	if (!d->purchase_said || spec->purchase_said)
		return BERTH_OK;
	for (int p = 0; p < 3; p++) {
		spec->purchase_ok[p] = spec->purchase_ok[p] && d->purchase_ok[p];
		any = any || spec->purchase_ok[p];
	}
	if (any)
		return BERTH_OK;
	return err_set(err, BERTH_EINVAL,
	    "%s: purchase under defaults of berth.yaml leaves the job nothing: one without "
	    "checkpoint goes on spot only if its file says purchase: [spot]",
	    file);
}
