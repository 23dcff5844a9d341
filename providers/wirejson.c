#include <string.h>

#include "providers/wirejson.h"
#include "util/str.h"

enum berth_code
wirejson_parse(const struct http_resp *resp, json_t **root_out, struct berth_err *err)
{
	const char *type = http_resp_header(resp, "Content-Type"), *p = resp->body;

	while (str_is_space(*p))
		p++;
	if (*p != '{' && *p != '[')
		return err_set(err, BERTH_ETRANSIENT, "HTTP %d, but the answer is not JSON (%.60s)", resp->status,
		    type != NULL ? type : resp->body_len == 0 ? "it is empty" : "no content type");
	return jsonr_parse(resp->body, resp->body_len, "answer", root_out, err);
}

enum berth_code
wirejson_field(const struct jsonr *o, const char *key, char *dst, size_t size, struct berth_err *err)
{
	const char *s = "";
	enum berth_code rc = jsonr_str(o, key, &s, err);

	if (rc == BERTH_OK && !str_copy(dst, size, s))
		return jsonr_err(o, BERTH_EINVAL, err, "%s is too long", key);
	return rc;
}
