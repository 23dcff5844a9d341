#include <string.h>

#include "providers/provider.h"
#include "providers/wirejson.h"
#include "util/arena.h"
#include "util/buf.h"
#include "util/jsonw.h"
#include "util/str.h"

enum berth_code
wirejson_parse(const struct http_resp *resp, json_t **root_out, struct berth_err *err)
{
	const char *type = http_resp_header(resp, "Content-Type"), *p = resp->body;

	if (str_starts(p, "\xef\xbb\xbf"))
		p += 3;
	while (str_is_space(*p))
		p++;
	if (*p != '{' && *p != '[')
		return err_set(err, BERTH_ETRANSIENT, "HTTP %d, but the answer is not JSON (%.60s)",
		    resp->status,
		    type != NULL          ? type
		    : resp->body_len == 0 ? "it is empty"
					  : "no content type");
	return jsonr_parse(resp->body, resp->body_len, "answer", root_out, err);
}

enum berth_code
wirejson_field(
    const struct jsonr *o, const char *key, char *dst, size_t size, struct berth_err *err)
{
	const char *s = "";
	enum berth_code rc = jsonr_str(o, key, &s, err);

	if (rc == BERTH_OK && !str_copy(dst, size, s))
		return jsonr_err(o, BERTH_EINVAL, err, "%s is too long", key);
	return rc;
}

enum berth_code
wirejson_body(struct jsonw *w, struct buf *b, struct http_req *req, struct berth_err *err)
{
	enum berth_code rc = jsonw_finish(w, err);

	if (rc == BERTH_OK)
		rc = http_req_body(req, "application/json", b->p, b->len, err);
	buf_free(b);
	return rc;
}

bool
wirejson_refusal(const struct http_resp *resp, const char *code_key, struct prov_error *error_out)
{
	const char *code = "", *text = "";
	struct jsonr root;
	json_t *v = NULL;

	memset(error_out, 0, sizeof(*error_out));
	if (resp->status / 100 == 2)
		return false;
	if (wirejson_parse(resp, &v, NULL) == BERTH_OK) {
		root = jsonr_root(v, "answer");
		(void)!jsonr_str(&root, code_key, &code, NULL);
		(void)!jsonr_str(&root, "message", &text, NULL);
		str_copy(error_out->code, sizeof(error_out->code), code);
		str_copy(error_out->text, sizeof(error_out->text), text);
	}
	json_decref(v);
	return true;
}

const char *
wirejson_base64(struct arena *a, const char *s)
{
	static const char digits[] =
	    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	size_t n = strlen(s);
	char *out = arena_alloc(a, (n + 2) / 3 * 4 + 1), *p = out;

	for (size_t i = 0; i < n; i += 3) {
		unsigned v = (unsigned)(unsigned char)s[i] << 16 |
			     (i + 1 < n ? (unsigned)(unsigned char)s[i + 1] << 8 : 0) |
			     (i + 2 < n ? (unsigned)(unsigned char)s[i + 2] : 0);

		*p++ = digits[v >> 18 & 63];
		*p++ = digits[v >> 12 & 63];
		*p++ = i + 1 < n ? digits[v >> 6 & 63] : '=';
		*p++ = i + 2 < n ? digits[v & 63] : '=';
	}
	*p = '\0';
	return out;
}
