#include <stdlib.h>
#include <string.h>

#include "providers/aws/aws.h"
#include "providers/prov.h"
#include "providers/wirejson.h"
#include "util/arena.h"
#include "util/child.h"
#include "util/fileio.h"
#include "util/str.h"
#include "util/time.h"

#define AWS_RENEW_S 300 /* before the end, or at half of a shorter life */
#define AWS_IMDS_TTL_S 21600
#define AWS_IMDS_TIMEOUT_S 2
#define AWS_PROCESS_TIMEOUT_S 60
#define AWS_TOKEN_MAX 65536

static bool
aws_cred_good(const struct aws_cred *c, int64_t now)
{
	return c->set && (c->renew_at == 0 || now < c->renew_at);
}

static bool
aws_auth_need(void *st, int64_t now)
{
	const struct aws *w = st;

	return !aws_cred_good(&w->auth.cred[w->auth.n_roles], now);
}

static void
aws_auth_drop(void *st)
{
	struct aws_auth *u = &((struct aws *)st)->auth;

	for (size_t i = u->source == AWS_SRC_KEYS ? 1 : 0; i <= u->n_roles; i++)
		u->cred[i].set = false;
	u->imds_token_until = 0;
}

void
aws_auth_wipe(struct aws_auth *u)
{
	explicit_bzero(u->cred, sizeof(u->cred));
	explicit_bzero(u->imds_token, sizeof(u->imds_token));
}

static enum berth_code
aws_auth_sign_with(const struct aws *w, const struct aws_cred *c, const char *service,
    const char *region, struct http_req *req, int64_t now, struct berth_err *err)
{
	const struct sign_v4 s = { .keys = { c->id, c->secret, c->token },
		.region = region,
		.service = service,
		.now = now };

	(void)w;
	return sign_v4(req, &s, NULL, err);
}

/* What needs no signature: public files, and this machine's command. */
static enum berth_code
aws_auth_sign(void *st, struct http_req *req, int64_t now, struct berth_err *err)
{
	struct aws *w = st;

	if (w->scope.service[0] == '\0')
		return BERTH_OK;
	return aws_auth_sign_with(
	    w, &w->auth.cred[w->auth.n_roles], w->scope.service, w->scope.region, req, now, err);
}

/* A token out of a file that others renew; into the request's arena. */
static enum berth_code
aws_auth_file(
    const char *path, const char *what, struct arena *a, char **token_out, struct berth_err *err)
{
	char *text = NULL;
	enum berth_code rc = fileio_slurp(a, path, AWS_TOKEN_MAX, &text, NULL, err);

	return rc == BERTH_OK ? sign_key_text(a, what, text, token_out, err)
			      : err_ctx(err, "%s", what);
}

static enum berth_code
aws_step_web(struct aws *w, struct http_req *req, struct berth_err *err)
{
	const struct aws_role *r = &w->auth.web_role;
	char *token = NULL;
	struct aws_form f;
	enum berth_code rc =
	    aws_auth_file(w->auth.web_file, "web identity token", req->arena, &token, err);

	if (rc != BERTH_OK)
		return rc;
	aws_form_begin(&f, req->arena, "AssumeRoleWithWebIdentity", AWS_STS_VERSION);
	aws_form_add(&f, r->arn, "RoleArn");
	aws_form_add(&f, r->session, "RoleSessionName");
	aws_form_add(&f, token, "WebIdentityToken");
	return aws_form_post(
	    &f, w, "sts", w->regions != NULL ? w->regions[0] : "us-east-1", req, err);
}

static enum berth_code
aws_step_assume(struct aws *w, struct http_req *req, int64_t now, struct berth_err *err)
{
	const struct aws_role *r = &w->auth.roles[w->auth.level - 1];
	struct aws_form f;
	enum berth_code rc;

	aws_form_begin(&f, req->arena, "AssumeRole", AWS_STS_VERSION);
	aws_form_add(&f, r->arn, "RoleArn");
	aws_form_add(&f, r->session, "RoleSessionName");
	if (r->external_id != NULL)
		aws_form_add(&f, r->external_id, "ExternalId");
	rc = aws_form_post(&f, w, "sts", w->regions[0], req, err);
	return rc == BERTH_OK ? aws_auth_sign_with(w, &w->auth.cred[w->auth.level - 1], "sts",
				    w->regions[0], req, now, err)
			      : rc;
}

static enum berth_code
aws_step_container(struct aws *w, struct http_req *req, struct berth_err *err)
{
	char *token = NULL;
	enum berth_code rc = BERTH_OK;

	http_req_url(req, "%s", w->auth.container_url);
	req->timeout_s = AWS_IMDS_TIMEOUT_S;
	if (w->auth.container_token_file != NULL)
		rc = aws_auth_file(w->auth.container_token_file, "container authorization token",
		    req->arena, &token, err);
	else if (w->auth.container_token != NULL)
		rc = sign_key_text(req->arena, "container authorization token",
		    w->auth.container_token, &token, err);
	return rc == BERTH_OK && token != NULL
		   ? http_req_header(req, "Authorization", token, true, err)
		   : rc;
}

static enum berth_code
aws_step_imds(struct aws *w, struct http_req *req, struct berth_err *err)
{
	const char *base = aws_url(w, req->arena, "imds", "");

	req->timeout_s = AWS_IMDS_TIMEOUT_S;
	if (w->auth.step == AWS_STEP_IMDS_TOKEN) {
		req->method = "PUT";
		http_req_url(req, "%s/latest/api/token", base);
		return http_req_header(req, "X-aws-ec2-metadata-token-ttl-seconds",
		    arena_printf(req->arena, "%d", AWS_IMDS_TTL_S), false, err);
	}
	http_req_url(req, "%s/latest/meta-data/iam/security-credentials/%s", base,
	    w->auth.step == AWS_STEP_IMDS_KEYS ? http_urlencode(req->arena, w->auth.imds_role)
					       : "");
	return http_req_header(req, "X-aws-ec2-metadata-token", w->auth.imds_token, true, err);
}

static enum aws_step
aws_step_next(struct aws_auth *u, int64_t now)
{
	u->level = 0;
	while (u->level < u->n_roles && aws_cred_good(&u->cred[u->level], now))
		u->level++;
	if (u->level > 0)
		return AWS_STEP_ASSUME;
	switch (u->source) {
	case AWS_SRC_PROCESS:
		return AWS_STEP_PROCESS;
	case AWS_SRC_WEB:
		return AWS_STEP_WEB;
	case AWS_SRC_CONTAINER:
		return AWS_STEP_CONTAINER;
	case AWS_SRC_KEYS:
	case AWS_SRC_NONE:
	case AWS_SRC_IMDS:
		break;
	}
	if (now >= u->imds_token_until) {
		u->imds_role[0] = '\0';
		return AWS_STEP_IMDS_TOKEN;
	}
	return u->imds_role[0] == '\0' ? AWS_STEP_IMDS_ROLE : AWS_STEP_IMDS_KEYS;
}

static enum berth_code
aws_step_build(void *st, int64_t now, struct http_req *req, struct berth_err *err)
{
	struct aws *w = st;
	enum berth_code rc = BERTH_OK;

	w->auth.step = aws_step_next(&w->auth, now);
	switch (w->auth.step) {
	case AWS_STEP_PROCESS:
		http_req_url(req, "process://credential_process");
		break;
	case AWS_STEP_WEB:
		rc = aws_step_web(w, req, err);
		break;
	case AWS_STEP_CONTAINER:
		rc = aws_step_container(w, req, err);
		break;
	case AWS_STEP_ASSUME:
		rc = aws_step_assume(w, req, now, err);
		break;
	case AWS_STEP_IMDS_TOKEN:
	case AWS_STEP_IMDS_ROLE:
	case AWS_STEP_IMDS_KEYS:
		rc = aws_step_imds(w, req, err);
		break;
	}
	w->scope.service[0] = '\0';
	return rc;
}

/* Into place, checked as any key; what ended already is no credential. */
static enum berth_code
aws_cred_put(struct aws_cred *c, const char *id, const char *secret, const char *token,
    int64_t expires, int64_t now, struct arena *a, struct berth_err *err)
{
	char *i = NULL, *s = NULL, *t = NULL;
	enum berth_code rc;

	if ((rc = sign_key_text(a, "access key id", id, &i, err)) != BERTH_OK ||
	    (rc = sign_key_text(a, "secret access key", secret, &s, err)) != BERTH_OK ||
	    (token[0] != '\0' &&
		(rc = sign_key_text(a, "session token", token, &t, err)) != BERTH_OK))
		return rc;
	if (expires != 0 && expires <= now)
		return err_set(err, BERTH_EAUTH, "the credentials given ended already");
	if (!str_copy(c->id, sizeof(c->id), i) || !str_copy(c->secret, sizeof(c->secret), s) ||
	    !str_copy(c->token, sizeof(c->token), t != NULL ? t : ""))
		return err_set(err, BERTH_EAUTH, "the credentials given are too long");
	c->set = true;
	c->expires = expires;
	c->renew_at = expires == 0                      ? 0
		      : expires - now < 2 * AWS_RENEW_S ? now + (expires - now) / 2 + 1
							: expires - AWS_RENEW_S;
	return BERTH_OK;
}

/* {"AccessKeyId", "SecretAccessKey", "Token" or "SessionToken", "Expiration"}: of IMDS, containers
 * and commands. */
static enum berth_code
aws_step_json(struct aws *w, const struct http_resp *resp, int64_t now, struct berth_err *err)
{
	static const char *const needed[] = { "AccessKeyId", "SecretAccessKey", NULL };
	const char *id = "", *secret = "", *token = "", *code = "Success", *until = "";
	struct jsonr root;
	json_t *v = NULL;
	enum berth_code rc = wirejson_parse(resp, &v, err);

	if (rc != BERTH_OK)
		return rc;
	root = jsonr_root(v, "credentials");
	rc = jsonr_str(&root, "Code", &code, err);
	if (rc == BERTH_OK && !str_eq(code, "Success"))
		rc = err_set(err, BERTH_EAUTH, "no credentials: %.60s", code);
	if (rc == BERTH_OK && (rc = jsonr_need(&root, needed, err)) == BERTH_OK &&
	    (rc = jsonr_str(&root, "AccessKeyId", &id, err)) == BERTH_OK &&
	    (rc = jsonr_str(&root, "SecretAccessKey", &secret, err)) == BERTH_OK &&
	    (rc = jsonr_str(&root, "SessionToken", &token, err)) == BERTH_OK &&
	    (rc = jsonr_str(&root, "Token", &token, err)) == BERTH_OK &&
	    (rc = jsonr_str(&root, "Expiration", &until, err)) == BERTH_OK) {
		if (until[0] != '\0' && aws_time(until) == 0)
			rc = err_set(err, BERTH_EAUTH,
			    "credentials with an end that is no time: '%.40s'", until);
		else
			rc = aws_cred_put(&w->auth.cred[0], id, secret, token, aws_time(until), now,
			    resp->arena, err);
	}
	json_decref(v);
	return rc;
}

static enum berth_code
aws_step_sts(struct aws *w, const struct http_resp *resp, const char *action, int64_t now,
    struct berth_err *err)
{
	const struct xml *root = NULL, *c;
	enum berth_code rc = aws_xml(resp, action, &root, err);

	if (rc != BERTH_OK)
		return rc;
	c = xml_get(xml_get(root, arena_printf(resp->arena, "%sResult", action)), "Credentials");
	if (c == NULL || aws_time(xml_text(c, "Expiration")) == 0)
		return err_set(err, BERTH_EINVAL, "%s: no Credentials in the answer", action);
	return aws_cred_put(&w->auth.cred[w->auth.level], xml_text(c, "AccessKeyId"),
	    xml_text(c, "SecretAccessKey"), xml_text(c, "SessionToken"),
	    aws_time(xml_text(c, "Expiration")), now, resp->arena, err);
}

static enum berth_code
aws_step_text(
    const struct http_resp *resp, const char *what, char *dst, size_t size, struct berth_err *err)
{
	char *text = NULL;
	enum berth_code rc = sign_key_text(resp->arena, what,
	    arena_strndup(resp->arena, resp->body, strcspn(resp->body, "\n")), &text, err);

	if (rc == BERTH_OK && (text[0] == '<' || text[0] == '{' || !str_copy(dst, size, text)))
		rc = err_set(err, BERTH_EAUTH, "%s: not what a metadata service answers", what);
	return rc;
}

static enum berth_code
aws_step_parse(void *st, const struct http_resp *resp, int64_t now, struct berth_err *err)
{
	struct aws *w = st;
	enum berth_code rc = BERTH_OK;

	switch (w->auth.step) {
	case AWS_STEP_PROCESS:
	case AWS_STEP_CONTAINER:
	case AWS_STEP_IMDS_KEYS:
		rc = aws_step_json(w, resp, now, err);
		break;
	case AWS_STEP_WEB:
		rc = aws_step_sts(w, resp, "AssumeRoleWithWebIdentity", now, err);
		break;
	case AWS_STEP_ASSUME:
		rc = aws_step_sts(w, resp, "AssumeRole", now, err);
		break;
	case AWS_STEP_IMDS_TOKEN:
		rc = aws_step_text(
		    resp, "metadata token", w->auth.imds_token, sizeof(w->auth.imds_token), err);
		w->auth.imds_token_until = rc == BERTH_OK ? now + AWS_IMDS_TTL_S - AWS_RENEW_S : 0;
		break;
	case AWS_STEP_IMDS_ROLE:
		rc = aws_step_text(resp, "role of this machine", w->auth.imds_role,
		    sizeof(w->auth.imds_role), err);
		break;
	}
	return rc == BERTH_OK ? rc : err_ctx(err, "credentials of %s", w->auth.found);
}

/* The owner's command, as the official tools run it: words by blanks and quotes, no shell. */
static const char **
aws_words(struct arena *a, const char *s)
{
	VEC(const char *) words = { 0 };

	while (*s != '\0') {
		char *word = arena_alloc(a, strlen(s) + 1), *p = word, quote = '\0';

		while (str_is_space(*s))
			s++;
		if (*s == '\0')
			break;
		for (; *s != '\0' && (quote != '\0' || !str_is_space(*s)); s++) {
			if (quote != '\0' ? *s == quote : *s == '"' || *s == '\'')
				quote = quote != '\0' ? '\0' : *s;
			else if (*s == '\\' && quote != '\'' && s[1] != '\0')
				*p++ = *++s;
			else
				*p++ = *s;
		}
		VEC_PUSH(a, &words, word);
	}
	VEC_PUSH(a, &words, NULL);
	return words.v;
}

enum berth_code
aws_exchange(void *st, const struct http_req *req, struct http_resp *resp, struct berth_err *err)
{
	const struct aws *w = st;
	const char **argv = aws_words(req->arena, w->auth.command != NULL ? w->auth.command : "");
	struct buf out, errs;
	int status = 0;
	enum berth_code rc;

	if (argv[0] == NULL)
		return err_set(err, BERTH_EINVAL, "credential_process is empty");
	buf_init(&out, AWS_TOKEN_MAX);
	buf_init(&errs, 1024);
	rc = child_run(argv, "", 0, AWS_PROCESS_TIMEOUT_S, &out, &errs, &status, err);
	if (rc == BERTH_OK && status != 0)
		rc = err_set(err, BERTH_EAUTH, "credential_process ended with %d: %.200s", status,
		    errs.len > 0 ? errs.p : "");
	if (rc == BERTH_OK) {
		resp->status = 200;
		resp->body = arena_strndup(req->arena, out.p, out.len);
		resp->body_len = strlen(resp->body);
	}
	buf_wipe(&out);
	buf_free(&errs);
	return rc;
}

const struct prov_auth_ops aws_auth_ops = {
	.need = aws_auth_need,
	.step_build = aws_step_build,
	.step_parse = aws_step_parse,
	.drop = aws_auth_drop,
	.sign = aws_auth_sign,
};
