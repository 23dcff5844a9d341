#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "net/http.h"
#include "util/arena.h"

void
http_req_url(struct http_req *req, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	req->url = arena_vprintf(req->arena, fmt, ap);
	va_end(ap);
}

enum berth_code
http_req_header(
    struct http_req *req, const char *name, const char *value, bool secret, struct berth_err *err)
{
	struct http_header *h;

	if (strpbrk(name, "\r\n: ") != NULL || strpbrk(value, "\r\n") != NULL)
		return err_set(err, BERTH_EINVAL, "http: header '%s' holds a line break",
		    secret ? "(secret)" : name);
	if (req->n_headers == HTTP_HEADERS_MAX)
		return err_set(err, BERTH_EINVAL, "http: more than %d headers", HTTP_HEADERS_MAX);
	h = &req->headers[req->n_headers++];
	h->name = arena_strdup(req->arena, name);
	h->value = arena_strdup(req->arena, value);
	h->secret = secret;
	return BERTH_OK;
}

enum berth_code
http_req_set_header(
    struct http_req *req, const char *name, const char *value, bool secret, struct berth_err *err)
{
	size_t n = 0;

	for (size_t i = 0; i < req->n_headers; i++)
		if (strcasecmp(req->headers[i].name, name) != 0)
			req->headers[n++] = req->headers[i];
	req->n_headers = n;
	return http_req_header(req, name, value, secret, err);
}

enum berth_code
http_req_body(struct http_req *req, const char *content_type, const char *body, size_t len,
    struct berth_err *err)
{
	char *copy = arena_alloc(req->arena, len + 1);

	if (len > 0)
		memcpy(copy, body, len);
	req->body = copy;
	req->body_len = len;
	return http_req_header(req, "Content-Type", content_type, false, err);
}

static const char *
http_header_find(const struct http_header *headers, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (strcasecmp(headers[i].name, name) == 0)
			return headers[i].value;
	return NULL;
}

const char *
http_req_get_header(const struct http_req *req, const char *name)
{
	return http_header_find(req->headers, req->n_headers, name);
}

const char *
http_resp_header(const struct http_resp *resp, const char *name)
{
	return http_header_find(resp->headers, resp->n_headers, name);
}

/* What berth or an adapter reads of an answer. */
static bool
http_is_needed(const char *name)
{
	static const char *const needed[] = { "Date", "Retry-After", "ETag", "Last-Modified",
		"Location", "Content-Type", "Link", "opc-next-page", "X-Subject-Token",
		"x-amzn-ErrorType" };

	for (size_t i = 0; i < sizeof(needed) / sizeof(needed[0]); i++)
		if (strcasecmp(name, needed[i]) == 0)
			return true;
	return false;
}

void
http_resp_keep(struct http_resp *resp, const char *name, const char *value)
{
	size_t at = resp->n_headers;

	if (at < HTTP_HEADERS_MAX) {
		resp->n_headers++;
	} else {
		if (!http_is_needed(name) || http_resp_header(resp, name) != NULL)
			return;
		do {
			if (at-- == 0)
				return;
		} while (http_is_needed(resp->headers[at].name));
	}
	resp->headers[at] = (struct http_header){ name, value, false };
}

const char *
http_urlencode(struct arena *arena, const char *s)
{
	static const char plain[] =
	    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~";
	static const char hex[] = "0123456789ABCDEF";
	char *out = arena_array(arena, strlen(s) + 1, 3), *p = out;

	for (; *s != '\0'; s++) {
		unsigned char c = (unsigned char)*s;

		if (strchr(plain, c) != NULL) {
			*p++ = *s;
			continue;
		}
		*p++ = '%';
		*p++ = hex[c >> 4];
		*p++ = hex[c & 15];
	}
	*p = '\0';
	return out;
}
