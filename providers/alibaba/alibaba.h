/* providers/alibaba/alibaba.h - Alibaba Cloud: Elastic Compute Service 2014-05-26.  Floor:
 * providers. */
#ifndef BERTH_PROVIDERS_ALIBABA_H
#define BERTH_PROVIDERS_ALIBABA_H

#include "net/sign.h"
#include "providers/provider.h"
#include "providers/rates.h"
#include "util/json.h"

extern const struct provider_ops provider_alibaba;

/* This folder's own. */
struct alibaba_refresh; /* one walk of types, room and prices: alibaba_market.c */

struct alibaba {
	const struct prov_env *env;
	const char *template; /* URL; REGION in it stands for itself */
	const char *const *regions;
	size_t n_regions;
	struct rates words; /* `accelerators` alone */
	struct alibaba_refresh *refresh;
	size_t list_region, quota_region;
	uint64_t nonces;
};

/* Every call is a POST without a body: what is asked stands in the query. */
#define ALIBABA_ARGS_MAX 40
struct alibaba_args {
	struct sign_pair v[ALIBABA_ARGS_MAX];
	size_t n;
};
void alibaba_arg(struct alibaba_args *q, const char *name, const char *value);
enum berth_code alibaba_request(const struct alibaba *o, struct http_req *req, const char *region,
    const char *action, const struct alibaba_args *q, struct berth_err *err) BERTH_MUST_CHECK;
bool alibaba_error_read(const struct http_resp *resp, struct prov_error *error_out);

/*
 * Each zone's and type's rate of interruption, per hour, in an answer to DescribeSpotAdvice (shares
 * of 30 days; Poisson); NaN where none is told. What is no answer to that has no rates: they are
 * advice.
 */
typedef void alibaba_rate_fn(void *arg, const char *zone, const char *type, double rate);
void alibaba_advice(const struct jsonr *root, alibaba_rate_fn *fn, void *arg);

/* What may be rented: alibaba_quota.c. */
BERTH_MUST_CHECK enum berth_code alibaba_quota_build(
    void *st, const struct prov_cursor *cur, struct http_req *req, struct berth_err *err);
void alibaba_quota_part(const void *st, struct prov_part *out);
BERTH_MUST_CHECK enum berth_code alibaba_quota_parse(void *st, const struct http_resp *resp,
    struct prov_cursor *cur, prov_quota_fn *emit, void *arg, struct berth_err *err);

extern const struct prov_market_ops alibaba_market;
void alibaba_market_close(struct alibaba *o);
extern const struct prov_lease_ops alibaba_lease;

#endif
