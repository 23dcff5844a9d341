/* providers/huawei/huawei.h - Huawei Cloud: Elastic Cloud Server, and its prices from BSS.  Floor:
 * providers. */
#ifndef BERTH_PROVIDERS_HUAWEI_H
#define BERTH_PROVIDERS_HUAWEI_H

#include "providers/provider.h"
#include "providers/rates.h"
#include "util/json.h"
#include "util/vec.h"

extern const struct provider_ops provider_huawei;

/* This folder's own. */
struct huawei_refresh; /* one walk of zones, flavors and prices: huawei_market.c */
struct huawei_project {
	const char *region, *id;
};
/* A machine that this process asked for, and the job that makes it: why it failed is said by the
 * job alone. */
struct huawei_made {
	const char *ref, *job, *token;
};

struct huawei {
	const struct prov_env *env;
	const char *ecs, *bss, *iam; /* URLs; REGION in the first and the last stands for itself */
	const char *currency;        /* of answers that name none */
	const char *domain;          /* id of the account; "" until it is known */
	const char *const *regions;
	size_t n_regions;
	VEC(struct huawei_project) projects;
	bool asked;         /* IAM for the projects */
	struct rates rates; /* `prices` of spot machines, and `accelerators` */
	struct huawei_refresh *refresh;
	VEC(struct huawei_made) made;
	const char
	    *asking_job; /* status: the next question is about a job; NULL: about the machine */
	size_t list_region, quota_region;
	int64_t list_seen;
	int list_page;
};

/* huawei_auth.c */
extern const struct prov_auth_ops huawei_auth;
/* NULL: not known. */
const char *huawei_project(const struct huawei *h, const char *region);
/* `projects` of berth.yaml: REGION=ID. */
enum berth_code huawei_projects_read(struct huawei *h, struct berth_err *err) BERTH_MUST_CHECK;

/* URL/VERSION/PROJECT/PATH of the region's ECS; each %s of the path must be safe in a URL. */
enum berth_code huawei_ecs(const struct huawei *h, struct http_req *req, const char *method,
    const char *region, const char *version, struct berth_err *err, const char *fmt, ...)
    BERTH_PRINTF(7, 8) BERTH_MUST_CHECK;
/* A template with its REGION filled in, in the request's arena. */
const char *huawei_base(const struct http_req *req, const char *template, const char *region);
bool huawei_error_read(const struct http_resp *resp, struct prov_error *error_out);

/* huawei_flavor.c: what is sold in a region */
enum huawei_sale { HUAWEI_NONE, HUAWEI_SOLD_OUT, HUAWEI_SOLD, HUAWEI_MAYBE };
struct huawei_type {
	const char *name, *card;
	int count;
	double card_gib, vcpus, memory_gib;
	bool by_hour, ahead;           /* how it may be paid */
	enum huawei_sale *room, *spot; /* [zones] */
};
/*
 * A flavor's accelerators, and where it is sold in zones [n]. *out is in a, with count 0 if it has
 * none. BERTH_EINVAL at a field of another type.
 */
enum berth_code huawei_flavor(const struct huawei *h, const struct jsonr *flavor,
    const char *const *zones, size_t n, struct arena *a, struct huawei_type *out,
    struct berth_err *err) BERTH_MUST_CHECK;
/* normal, sellout ...; absent or "": otherwise. */
enum huawei_sale huawei_sale(const char *word, enum huawei_sale otherwise);

extern const struct prov_market_ops huawei_market;
void huawei_market_close(struct huawei *h);
extern const struct prov_lease_ops huawei_lease;

#endif
