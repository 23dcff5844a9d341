/* providers/openstack/openstack.h - OpenStack clouds: keystone v3, nova, placement.  Floor:
 * providers. */
#ifndef BERTH_PROVIDERS_OPENSTACK_H
#define BERTH_PROVIDERS_OPENSTACK_H

#include "providers/provider.h"
#include "providers/rates.h"
#include "util/json.h"
#include "util/strmap.h"
#include "util/vec.h"

extern const struct provider_ops provider_openstack;

/* This folder's own. */
#define OPENSTACK_NOVA                                                                             \
	"compute 2.61" /* extra_specs in lists of flavours; the flavour's name in servers */
#define OPENSTACK_PLACEMENT "placement 1.25" /* numbered groups */
#define OPENSTACK_EARLY_S 120                /* a token is renewed so long before it ends */

/* Who we are, gathered from berth.yaml, clouds.yaml or the environment. "": not said. */
struct openstack_who {
	const char *auth_url, *username, *user_id, *user_domain_name, *user_domain_id;
	const char *project_name, *project_id, *project_domain_name, *project_domain_id;
	const char *app_id,
	    *app_name; /* application credential; with either there is no project to name */
	const char *region, *interface, *cacert;
	const char *compute, *placement, *image_url,
	    *network_url; /* endpoints instead of the catalogue's */
	char *secret;     /* password, or of the application credential; wiped at close */
};

/* A flavour with accelerators. */
struct openstack_flavor {
	const char *name, *id, *accelerator, *word;
	int count;
	double vcpus, memory_mib, memory_gib_each;
	const char *fit; /* query of allocation_candidates */
	bool placed;     /* placement counts its accelerators too */
};

/* What must be looked up once before machines can be made. */
enum openstack_step {
	OPENSTACK_TOKEN,
	OPENSTACK_FLAVORS,
	OPENSTACK_IMAGE,
	OPENSTACK_NETWORK,
	OPENSTACK_DONE
};

struct openstack {
	const struct prov_env *env;
	struct openstack_who who;
	bool plain_http;
	char *token; /* NULL: none; wiped when dropped */
	int64_t expires;
	struct arena *catalog; /* of the token in use */
	const char *compute, *placement, *image_url,
	    *network_url; /* "": the cloud has none that we know of */
	enum openstack_step step;
	const char *marker;       /* of the next page of flavours */
	struct strmap flavor_ids; /* name -> index */
	VEC(const char *) ids;
	const char *image, *image_id, *network,
	    *network_id; /* as said, and as looked up; "": not there */
	const char *key_name, *zone, *user_zone;
	const char *const *groups, *const *flavors;
	size_t n_groups, n_flavors;
	int boot_volume_gib;
	bool ask_placement;
	struct rates rates;
	struct arena *pass; /* of one list */
	size_t asking; /* what the page under way is about: a number of found or broken; SIZE_MAX:
			  the list */
	VEC(struct openstack_flavor) found;
	VEC(const char *) broken; /* servers in ERROR, whose fault the list leaves out */
};

/* Reads keys, clouds.yaml, secure.yaml and OS_*. */
BERTH_MUST_CHECK enum berth_code openstack_who_read(struct openstack *s, struct berth_err *err);
extern const struct prov_auth_ops openstack_auth;
extern const struct prov_market_ops openstack_market;
extern const struct prov_lease_ops openstack_lease;

/* Starts a request to an endpoint of the catalogue; version is a microversion or NULL. */
BERTH_MUST_CHECK enum berth_code openstack_request(const struct openstack *s, struct http_req *req,
    const char *method, const char *base, const char *version, const char *path,
    struct berth_err *err);
/*
 * The marker in the "next" link of a list (key: "servers_links"), as it stands in the link; "" at
 * its end. The host of a link is never followed.
 */
BERTH_MUST_CHECK enum berth_code openstack_next(
    const struct jsonr *root, const char *key, char *dst, size_t size, struct berth_err *err);
/* What a flavour's extra specs ask for; false: no accelerator that we know as one. */
bool openstack_flavor_read(const struct openstack *s, const struct jsonr *flavor, struct arena *a,
    struct openstack_flavor *f);
/* Why a server is in ERROR, by the words of its fault. */
enum berth_code openstack_fault(const char *text);

#endif
