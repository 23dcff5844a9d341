#include <string.h>

#include "providers/azure/azure.h"
#include "providers/prov.h"
#include "providers/wirejson.h"
#include "util/arena.h"
#include "util/str.h"

/*
 * A machine says nothing of its address: that is its network card's, or its public address's, each
 * a list of its own. So a list of machines reads public addresses, then cards, then machines.
 */
struct azure_addresses {
	struct arena *arena;
	struct strmap by_public,
	    by_vm; /* id of a public address, name of a machine, both in lower case */
	VEC(const char *) text;
};

void
azure_list_close(struct azure *z)
{
	if (z->addresses != NULL)
		arena_free(z->addresses->arena);
	z->addresses = NULL;
}

const char *
azure_address(const struct azure *z, const char *vm)
{
	struct azure_addresses *x = z->addresses;
	const size_t *at = x != NULL ? strmap_get(&x->by_vm, str_lower(x->arena, vm)) : NULL;

	return at != NULL ? x->text.v[*at] : "";
}

static void
azure_put_address(struct azure_addresses *x, struct strmap *map, const char *key, const char *text)
{
	int added = 0;

	strmap_add(x->arena, map, str_lower(x->arena, key), x->text.n, &added);
	if (added)
		VEC_PUSH(x->arena, &x->text, arena_strdup(x->arena, text));
}

/* cur->next: "aLINK" public addresses, "nLINK" cards, "vLINK" machines; LINK is "" for a first
 * page. */
enum berth_code
azure_list_build(
    void *st, const struct prov_cursor *cur, struct http_req *req, struct berth_err *err)
{
	struct azure *z = st;
	const char *link = cur->next[0] != '\0' ? cur->next + 1 : "";
	const char *kind;
	struct arena *a;

	if (z->subscription[0] == '\0' || z->group[0] == '\0')
		return err_set(err, BERTH_EPERMANENT,
		    "machines want 'subscription' and 'resource_group' in berth.yaml");
	z->listing = cur->next[0] != '\0' ? cur->next[0] : 'a';
	if (cur->next[0] == '\0') {
		azure_list_close(z);
		a = arena_new();
		z->addresses = arena_new_of(a, struct azure_addresses);
		z->addresses->arena = a;
	}
	if (link[0] != '\0') {
		http_req_url(req, "%s", link);
		return http_req_header(req, "Accept", "application/json", false, err);
	}
	kind = z->listing == 'a'
		   ? "Microsoft.Network/publicIPAddresses?api-version=" AZURE_NETWORK_API_READ
	       : z->listing == 'n'
		   ? "Microsoft.Network/networkInterfaces?api-version=" AZURE_NETWORK_API_READ
		   : "Microsoft.Compute/virtualMachines?api-version=" AZURE_COMPUTE_API
		     "&$expand=instanceView";
	return azure_request(z, req, "GET", err, "subscriptions/%s/resourceGroups/%s/providers/%s",
	    z->subscription, z->group, kind);
}

static enum berth_code
azure_take_public(struct azure *z, const struct jsonr *o, struct berth_err *err)
{
	struct jsonr properties = jsonr_get(o, "properties");
	const char *id = "", *ip = "";
	enum berth_code rc = jsonr_str(o, "id", &id, err);

	if (rc == BERTH_OK)
		rc = jsonr_str(&properties, "ipAddress", &ip, err);
	if (rc == BERTH_OK && id[0] != '\0' && ip[0] != '\0')
		azure_put_address(z->addresses, &z->addresses->by_public, id, ip);
	return rc;
}

static enum berth_code
azure_take_card(struct azure *z, const struct jsonr *o, struct berth_err *err)
{
	struct jsonr properties = jsonr_get(o, "properties"),
		     vm = jsonr_get(&properties, "virtualMachine");
	struct jsonr configs = jsonr_get(&properties, "ipConfigurations"),
		     config = jsonr_at(&configs, 0);
	struct jsonr inner = jsonr_get(&config, "properties"),
		     pub = jsonr_get(&inner, "publicIPAddress");
	struct azure_addresses *x = z->addresses;
	const char *id = "", *ip = "", *public_id = "", *slash;
	const size_t *at;
	enum berth_code rc;

	if ((rc = jsonr_str(&vm, "id", &id, err)) != BERTH_OK ||
	    (rc = jsonr_str(&inner, "privateIPAddress", &ip, err)) != BERTH_OK ||
	    (rc = jsonr_str(&pub, "id", &public_id, err)) != BERTH_OK)
		return rc;
	at = strmap_get(&x->by_public, str_lower(x->arena, public_id));
	if (at != NULL)
		ip = x->text.v[*at];
	slash = strrchr(id, '/');
	if (slash != NULL && slash[1] != '\0' && ip[0] != '\0')
		azure_put_address(x, &x->by_vm, slash + 1, ip);
	return BERTH_OK;
}

static enum berth_code
azure_take(struct azure *z, const struct jsonr *item, prov_machine_fn *emit, void *arg,
    struct berth_err *err)
{
	struct prov_machine m;
	enum berth_code rc;

	if (z->listing == 'a')
		return azure_take_public(z, item, err);
	if (z->listing == 'n')
		return azure_take_card(z, item, err);
	rc = azure_machine(z, item, &m, err);
	return rc == BERTH_OK ? emit(arg, &m, err) : rc;
}

enum berth_code
azure_list_parse(void *st, const struct http_resp *resp, struct prov_cursor *cur,
    prov_machine_fn *emit, void *arg, struct berth_err *err)
{
	struct azure *z = st;
	struct jsonr root, list, item;
	json_t *v = NULL;
	char here[2] = { z->listing, '\0' };
	enum berth_code rc = wirejson_parse(resp, &v, err);

	if (rc != BERTH_OK)
		return rc;
	root = jsonr_root(v, "answer");
	rc = jsonr_array(&root, "value", &list, err);
	if (rc == BERTH_OK && list.v == NULL)
		rc = jsonr_err(&root, BERTH_ETRANSIENT, err, "no machines in the answer");
	for (size_t i = 0; rc == BERTH_OK && i < jsonr_len(&list); i++) {
		item = jsonr_at(&list, i);
		rc = azure_take(z, &item, emit, arg, err);
	}
	if (rc == BERTH_OK)
		rc = azure_next(&root, "nextLink", z->arm, here, cur, err);
	if (rc == BERTH_OK && cur->next[0] == '\0' && z->listing != 'v')
		str_copy(cur->next, sizeof(cur->next), z->listing == 'a' ? "n" : "v");
	json_decref(v);
	return rc;
}
