/* providers/endpoint.h - base URLs of an account.  Floor: providers. */
#ifndef BERTH_PROVIDERS_ENDPOINT_H
#define BERTH_PROVIDERS_ENDPOINT_H

#include "providers/provider.h"
#include "util/arena.h"

enum endpoint_trust {
	ENDPOINT_SECRETS, /* credentials go there: https, or this machine */
	ENDPOINT_LOCAL    /* a metadata server, which gets none: http too */
};

/*
 * The value of a key, or fallback, without slashes at its end; *url_out lives in env->arena.
 * BERTH_EINVAL names the key: no host, a user in it, a query, or http where credentials would go
 * over it to another machine.
 */
BERTH_MUST_CHECK enum berth_code endpoint_read(const struct prov_env *env, const char *key,
    const char *fallback, enum endpoint_trust trust, const char **url_out, struct berth_err *err);
/* The same for a URL from elsewhere (a key file, an answer); what stands in messages for its key.
 */
BERTH_MUST_CHECK enum berth_code endpoint_check(
    const char *what, const char *url, enum endpoint_trust trust, struct berth_err *err);
/* Whether both URLs have the same scheme, host and port (the default one said or not), letters in
 * either case. */
bool endpoint_same(const char *a, const char *b);

#endif
