/* tests/unit/aws_test.c - a home, accounts and a scripted wire. */
#include <stdlib.h>
#include <string.h>

#include "tests/tap.h"
#include "tests/unit/aws_test.h"
#include "util/fileio.h"
#include "util/str.h"
#include "util/yaml.h"

struct arena *a;
const struct accel_table *accels;
struct berth_err err;
char home[64];
struct log quiet;
const char *shared;

static struct step *steps;
size_t n_steps, at_step;
char last_auth[4096], last_token[512];

void
clear_env(void)
{
	static const char *const names[] = { "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_PROFILE", "AWS_REGION",
		"AWS_DEFAULT_REGION", "AWS_ROLE_ARN", "AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
		"AWS_CONTAINER_CREDENTIALS_FULL_URI", "AWS_CONTAINER_AUTHORIZATION_TOKEN", "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE",
		"AWS_SHARED_CREDENTIALS_FILE", "AWS_CONFIG_FILE", "AWS_ROLE_SESSION_NAME" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		unsetenv(names[i]);
	setenv("HOME", home, 1);
}

const char *
put(const char *name, const char *text)
{
	const char *path = arena_printf(a, "%s/%s", home, name);

	if (fileio_mkdirs_for(path, &err) != BERTH_OK || atomicfile_write(path, text, strlen(text), 0600, &err) != BERTH_OK)
		tap_diag("%s", err.msg);
	return path;
}

struct prov_account *
open_account(const char *section, enum berth_code want)
{
	struct prov_env env = { .now = NOW, .installation = "inst", .accels = accels, .log = &quiet, .config_dir = home };
	const struct yaml_node *n = NULL;
	struct prov_account *acc = NULL;

	memset(&err, 0, sizeof(err));
	tap_code(yaml_parse(a, section, strlen(section), "berth.yaml", &n, &err), BERTH_OK, &err);
	tap_code(prov_account_open(n, NULL, &env, &acc, &err), want, &err);
	return acc;
}

static enum berth_code
wire(void *arg, struct prov_account *acc, const struct http_req *req, struct http_resp *resp, struct berth_err *e)
{
	const struct step *s = at_step < n_steps ? &steps[at_step++] : NULL;
	const char *auth = http_req_get_header(req, "Authorization"), *token = http_req_get_header(req, "X-Amz-Security-Token");

	(void)arg;
	*resp = (struct http_resp){ .arena = req->arena, .body = "" };
	if (str_starts(req->url, "process://")) {
		at_step--;
		return prov_exchange_next(acc, req, resp, e);
	}
	str_copy(last_auth, sizeof(last_auth), auth != NULL ? auth : "");
	str_copy(last_token, sizeof(last_token), token != NULL ? token : "");
	if (s == NULL || strstr(req->url, s->url) == NULL || (s->body != NULL && (req->body == NULL || strstr(req->body, s->body) == NULL))) {
		tap_ok(0, "request %zu: %s %s", at_step, req->url, req->body != NULL ? req->body : "");
		return err_set(e, BERTH_EFAIL, "unexpected");
	}
	resp->status = s->status;
	resp->body = s->answer;
	resp->body_len = strlen(s->answer);
	return BERTH_OK;
}

void
script(struct prov_account *acc, struct step *s, size_t n)
{
	steps = s;
	n_steps = n;
	at_step = 0;
	prov_account_hook(acc, wire, NULL);
}
