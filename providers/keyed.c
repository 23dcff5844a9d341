#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "providers/keyed.h"
#include "providers/prov.h"
#include "util/arena.h"

enum berth_code
keyed_request(const struct prov_env *env, struct http_req *req, const char *method,
    const char *base, struct berth_err *err, const char *fmt, ...)
{
	char *key = NULL;
	enum berth_code rc = prov_conf_secret(env->conf, "api_key", &key, err);
	va_list ap;

	if (rc != BERTH_OK)
		return rc;
	req->method = method;
	va_start(ap, fmt);
	http_req_url(req, "%s/%s", base, arena_vprintf(req->arena, fmt, ap));
	va_end(ap);
	rc = http_req_header(
	    req, "Authorization", arena_printf(req->arena, "Bearer %s", key), true, err);
	explicit_bzero(key, strlen(key));
	free(key);
	return rc == BERTH_OK ? http_req_header(req, "Accept", "application/json", false, err) : rc;
}

enum berth_code
keyed_body(struct http_req *req, struct buf *b, struct jsonw *w, struct berth_err *err)
{
	enum berth_code rc = jsonw_finish(w, err);

	if (rc == BERTH_OK)
		rc = http_req_body(req, "application/json", b->p, b->len, err);
	buf_free(b);
	return rc;
}
