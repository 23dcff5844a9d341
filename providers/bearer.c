#include <stdlib.h>
#include <string.h>

#include "providers/bearer.h"
#include "providers/wirejson.h"
#include "util/arena.h"
#include "util/str.h"
#include "util/time.h"

#define BEARER_EARLY_S 300
#define BEARER_LIFE_MAX_S (30 * 86400)

/* "11/05/2026 15:18:31 +00:00", month first, the zone optional and then UTC. */
static enum berth_code
bearer_us_date(struct arena *a, const char *s, int64_t *t_out, struct berth_err *err)
{
	const char *p = s + 10;

	if (strlen(s) < 19 || s[2] != '/' || s[5] != '/' || *p != ' ')
		return err_set(err, BERTH_EINVAL, "expires_on '%.40s' is no time", s);
	return time_parse(arena_printf(a, "%.4s-%.2s-%.2sT%.8s%s", s + 6, s, s + 3, p + 1,
			      s[19] == ' ' ? s + 20 : "Z"),
	    0, NULL, TIME_ABSOLUTE, t_out, err);
}

static enum berth_code
bearer_expires_on(const struct http_resp *resp, const struct jsonr *root, int64_t *ends_out,
    struct berth_err *err)
{
	struct jsonr v = jsonr_get(root, "expires_on");
	const char *s;

	if (!json_is_string(v.v))
		return jsonr_int(root, "expires_on", TIME_MIN, TIME_MAX, ends_out, err);
	s = json_string_value(v.v);
	if (s[0] != '\0' && s[strspn(s, "0123456789")] == '\0')
		return str_to_i64(s, TIME_MIN, TIME_MAX, ends_out, err);
	if (strchr(s, '/') != NULL)
		return bearer_us_date(resp->arena, s, ends_out, err);
	return time_parse(s, 0, NULL, TIME_ABSOLUTE, ends_out, err);
}

static bool
bearer_clean(const char *s)
{
	for (const char *p = s; *p != '\0'; p++)
		if (*p <= ' ' || *p > '~')
			return false;
	return s[0] != '\0';
}

enum berth_code
bearer_parse(struct bearer *b, const struct http_resp *resp, int64_t now, struct berth_err *err)
{
	int64_t life = -1, ends = 0;
	const char *token = "";
	struct jsonr root;
	json_t *v = NULL;
	enum berth_code rc = wirejson_parse(resp, &v, err);

	if (rc != BERTH_OK)
		return rc;
	root = jsonr_root(v, "token");
	rc = jsonr_str(&root, "access_token", &token, err);
	if (rc == BERTH_OK && !bearer_clean(token))
		rc = jsonr_err(&root, BERTH_EAUTH, err, "no access_token");
	if (rc == BERTH_OK)
		rc = jsonr_int(&root, "expires_in", 0, BEARER_LIFE_MAX_S, &life, err);
	if (rc == BERTH_OK && life >= 0)
		ends = now + life;
	else if (rc == BERTH_OK)
		rc = bearer_expires_on(resp, &root, &ends, err);
	if (rc == BERTH_OK) {
		bearer_drop(b);
		b->token = strdup(token);
		b->got = now;
		b->ends = ends;
		if (b->token == NULL)
			rc = err_set(err, BERTH_ENOMEM, "no memory for a token");
	}
	json_decref(v);
	return rc;
}

bool
bearer_need(const struct bearer *b, int64_t now)
{
	int64_t early;

	if (b->token == NULL || (b->ends == 0 && b->used))
		return true;
	if (b->ends == 0)
		return false;
	early = (b->ends - b->got) / 10 < BEARER_EARLY_S ? (b->ends - b->got) / 10 : BEARER_EARLY_S;
	return now >= b->ends - early;
}

enum berth_code
bearer_sign(struct bearer *b, struct http_req *req, struct berth_err *err)
{
	if (b->token == NULL)
		return err_set(err, BERTH_EAUTH, "no token");
	b->used = true;
	return http_req_set_header(
	    req, "Authorization", arena_printf(req->arena, "Bearer %s", b->token), true, err);
}

void
bearer_drop(struct bearer *b)
{
	if (b->token != NULL) {
		explicit_bzero(b->token, strlen(b->token));
		free(b->token);
	}
	memset(b, 0, sizeof(*b));
}
