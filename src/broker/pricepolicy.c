#include "broker/pricelist.h"
#include "model/rates.h"
#include "util/arena.h"
#include "util/yaml.h"

const struct pricelist_policy pricelist_policy_default = {
	.moved = PRICELIST_MOVED,
	.moved_share = PRICELIST_MOVED_SHARE,
	.lost_share = PRICELIST_LOST_SHARE,
	.alert = PRICELIST_ALERT,
	.ages = { COST_LIST_AGE_S, COST_SPOT_AGE_S, COST_NONE_AGE_S },
};

enum berth_code
pricelist_policy_read(const struct yaml_node *config, const char *config_dir, int64_t now,
    struct arena *a, struct pricelist_policy *p, struct berth_err *err)
{
	static const char *const keys[] = { "moved", "moved_share", "lost_share", "alert",
		"list_age", "spot_age", "none_age", "rates", NULL };
	const struct yaml_node *map = NULL;
	const char *path = NULL;
	struct rates *rates = NULL;
	enum berth_code rc;

	*p = pricelist_policy_default;
	rc = config != NULL ? yaml_map(config, "prices", &map, err) : BERTH_OK;
	if (rc != BERTH_OK || map == NULL)
		return rc;
	if ((rc = yaml_check_keys(map, keys, err)) != BERTH_OK ||
	    (rc = yaml_double(map, "moved", 0.01, 100, &p->moved, err)) != BERTH_OK ||
	    (rc = yaml_double(map, "moved_share", 0, 1, &p->moved_share, err)) != BERTH_OK ||
	    (rc = yaml_double(map, "lost_share", 0, 1, &p->lost_share, err)) != BERTH_OK ||
	    (rc = yaml_double(map, "alert", 0, 100, &p->alert, err)) != BERTH_OK ||
	    (rc = yaml_duration(map, "list_age", &p->ages.list_s, err)) != BERTH_OK ||
	    (rc = yaml_duration(map, "spot_age", &p->ages.spot_s, err)) != BERTH_OK ||
	    (rc = yaml_duration(map, "none_age", &p->ages.none_s, err)) != BERTH_OK ||
	    (rc = yaml_str(map, "rates", &path, err)) != BERTH_OK || path == NULL)
		return rc;
	if (path[0] != '/' && config_dir != NULL && config_dir[0] != '\0')
		path = arena_printf(a, "%s/%s", config_dir, path);
	rc = rates_load(path, now, a, &rates, err);
	p->rates = rates;
	return rc;
}
