/* providers/lambda/lambda.h - Lambda Cloud (OpenAPI 1.6.0): the model of small clouds with a token
 * and JSON.  Floor: providers. */
#ifndef BERTH_PROVIDERS_LAMBDA_H
#define BERTH_PROVIDERS_LAMBDA_H

#include "providers/provider.h"
#include "util/json.h"

extern const struct provider_ops provider_lambda;

/* This folder's own. */
struct lambda {
	const struct prov_env *env;
	const char *endpoint; /* without a slash at its end */
	const char *ssh_key;  /* name of a key of the account; NULL: none */
};

/* Starts a request to endpoint/path with the account's key. The last word of a build function. */
BERTH_MUST_CHECK enum berth_code lambda_request(const struct lambda *l, struct http_req *req,
    const char *method, const char *path, struct berth_err *err);

/*
 * "8x H100 (80 GB SXM5)" or "GH200 (96 GB)": name and memory of one GPU. The name gets its form and
 * memory behind it where the accelerator table knows the whole ("H100-SXM5-80GB"); memory_out is
 * NaN where the text says none.
 */
const char *lambda_gpu(
    const struct accel_table *accels, const char *description, struct arena *a, double *memory_out);

extern const struct prov_market_ops lambda_market;
extern const struct prov_lease_ops lambda_lease;

#endif
