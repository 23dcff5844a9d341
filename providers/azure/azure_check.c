#include <stdio.h>
#include <string.h>

#include "providers/azure/azure.h"
#include "providers/wirejson.h"
#include "util/glob.h"
#include "util/str.h"

/* What berth does within its resource group, in Azure's words. */
static const char *const azure_actions[] = {
	"Microsoft.Compute/virtualMachines/read",
	"Microsoft.Compute/virtualMachines/write",
	"Microsoft.Compute/virtualMachines/delete",
	"Microsoft.Network/networkInterfaces/read",
	"Microsoft.Network/networkInterfaces/write",
	"Microsoft.Network/publicIPAddresses/read",
	"Microsoft.Network/publicIPAddresses/write",
};

enum berth_code
azure_check_build(void *st, int n, struct http_req *req, struct berth_err *err)
{
	const struct azure *z = st;

	if (n > 0 || z->subscription[0] == '\0' || z->group[0] == '\0')
		return BERTH_ENOTFOUND;
	return azure_request(z, req, "GET", err,
	    "subscriptions/%s/resourceGroups/%s/providers/Microsoft.Authorization/permissions"
	    "?api-version=2022-04-01",
	    z->subscription, z->group);
}

static bool
azure_check_in(const struct jsonr *permission, const char *key, const char *action)
{
	struct jsonr list = jsonr_get(permission, key);
	const char *pattern;

	for (size_t i = 0; i < jsonr_len(&list); i++)
		if ((pattern = json_string_value(json_array_get(list.v, i))) != NULL &&
		    glob_match(pattern, action))
			return true;
	return false;
}

/* Each entry allows its actions but for its notActions; one that allows is enough. Patterns hold
 * '*' alone. */
enum berth_code
azure_check_parse(void *st, const struct http_resp *resp, int n, struct prov_check *check_out,
    struct berth_err *err)
{
	struct jsonr root, list, one;
	json_t *v = NULL;
	enum berth_code rc;

	(void)st, (void)n;
	str_copy(check_out->name, sizeof(check_out->name), "permissions in the resource group");
	if (check_out->code != BERTH_OK)
		return BERTH_OK;
	rc = wirejson_parse(resp, &v, err);
	if (rc != BERTH_OK)
		return rc;
	root = jsonr_root(v, "answer");
	list = jsonr_get(&root, "value");
	for (size_t i = 0; i < sizeof(azure_actions) / sizeof(azure_actions[0]); i++) {
		bool may = false;

		for (size_t k = 0; !may && k < jsonr_len(&list); k++) {
			one = jsonr_at(&list, k);
			may = azure_check_in(&one, "actions", azure_actions[i]) &&
			      !azure_check_in(&one, "notActions", azure_actions[i]);
		}
		if (may)
			continue;
		check_out->code = BERTH_EAUTH;
		snprintf(check_out->detail + strlen(check_out->detail),
		    sizeof(check_out->detail) - strlen(check_out->detail), "%s%s",
		    check_out->detail[0] != '\0' ? ", " : "missing: ", azure_actions[i]);
	}
	json_decref(v);
	return BERTH_OK;
}
