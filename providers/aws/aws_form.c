#include <stdarg.h>
#include <string.h>

#include "providers/aws/aws.h"
#include "util/arena.h"
#include "util/str.h"
#include "util/time.h"

#define AWS_BODY_MAX ((size_t)1024 * 1024)

void
aws_form_begin(struct aws_form *f, struct arena *a, const char *action, const char *version)
{
	f->a = a;
	buf_init(&f->b, AWS_BODY_MAX);
	buf_printf(&f->b, "Action=%s&Version=%s", action, version);
}

void
aws_form_add(struct aws_form *f, const char *value, const char *fmt, ...)
{
	va_list ap;

	buf_add_char(&f->b, '&');
	va_start(ap, fmt);
	buf_vprintf(&f->b, fmt, ap);
	va_end(ap);
	buf_add_char(&f->b, '=');
	buf_add_str(&f->b, http_urlencode(f->a, value));
}

/* Whose the thing is, and of which intent. */
void
aws_form_tags(struct aws_form *f, const struct aws *w, int n, const char *resource,
    const struct prov_create *c)
{
	aws_form_add(f, resource, "TagSpecification.%d.ResourceType", n);
	aws_form_add(f, AWS_TAG_INSTALLATION, "TagSpecification.%d.Tag.1.Key", n);
	aws_form_add(f, w->env->installation, "TagSpecification.%d.Tag.1.Value", n);
	aws_form_add(f, AWS_TAG_TOKEN, "TagSpecification.%d.Tag.2.Key", n);
	aws_form_add(f, c->token, "TagSpecification.%d.Tag.2.Value", n);
	aws_form_add(f, "Name", "TagSpecification.%d.Tag.3.Key", n);
	aws_form_add(f, c->name != NULL ? c->name : c->token, "TagSpecification.%d.Tag.3.Value", n);
}

enum berth_code
aws_form_post(struct aws_form *f, struct aws *w, const char *service, const char *region,
    struct http_req *req, struct berth_err *err)
{
	enum berth_code rc = buf_check(&f->b, "request", err);

	if (rc == BERTH_OK) {
		req->method = "POST";
		http_req_url(req, "%s/", aws_url(w, req->arena, service, region));
		rc = http_req_body(
		    req, "application/x-www-form-urlencoded; charset=utf-8", f->b.p, f->b.len, err);
		aws_scope(w, service, region);
	}
	buf_free(&f->b);
	return rc;
}

enum berth_code
aws_json_post(struct aws *w, const char *service, const char *region, const char *target,
    const char *path, struct buf *b, struct http_req *req, struct berth_err *err)
{
	enum berth_code rc = buf_check(b, "request", err);

	if (rc == BERTH_OK) {
		req->method = "POST";
		http_req_url(req, "%s%s", aws_url(w, req->arena, service, region), path);
		rc = http_req_body(req,
		    target != NULL ? "application/x-amz-json-1.1" : "application/json", b->p,
		    b->len, err);
		if (rc == BERTH_OK && target != NULL)
			rc = http_req_header(req, "X-Amz-Target", target, false, err);
		aws_scope(w, service, region);
	}
	buf_free(b);
	return rc;
}

enum berth_code
aws_xml(const struct http_resp *resp, const char *action, const struct xml **root_out,
    struct berth_err *err)
{
	const char *type = http_resp_header(resp, "Content-Type"), *p = resp->body;
	enum berth_code rc;

	while (str_is_space(*p))
		p++;
	if (*p != '<' || str_istarts(p, "<html") || str_istarts(p, "<!doctype html"))
		return err_set(err, BERTH_ETRANSIENT, "HTTP %d, but the answer is not XML (%.60s)",
		    resp->status,
		    type != NULL          ? type
		    : resp->body_len == 0 ? "it is empty"
					  : "no content type");
	if ((rc = xml_parse(resp->arena, resp->body, resp->body_len, "answer", root_out, err)) !=
	    BERTH_OK)
		return rc;
	if (!str_eq((*root_out)->name, arena_printf(resp->arena, "%sResponse", action)))
		return err_set(err, BERTH_ETRANSIENT, "the answer is no %sResponse but a '%.60s'",
		    action, (*root_out)->name);
	return BERTH_OK;
}

enum berth_code
aws_field(const struct xml *x, const char *path, bool needed, char *dst, size_t size,
    struct berth_err *err)
{
	const char *s = xml_text(x, path);

	if (needed && s[0] == '\0')
		return err_set(err, BERTH_EINVAL, "no %s in the answer", path);
	if (!str_copy(dst, size, s))
		return err_set(err, BERTH_EINVAL, "%s is too long", path);
	return BERTH_OK;
}

int64_t
aws_time(const char *s)
{
	int64_t t = 0;

	return s[0] != '\0' && time_parse(s, 0, NULL, TIME_ABSOLUTE, &t, NULL) == BERTH_OK ? t : 0;
}
