#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/record_jobs.h"
#include "ingest/slurmrest.h"
#include "net/http.h"
#include "util/arena.h"
#include "util/json.h"
#include "util/str.h"

#define REST_DAY INT64_C(86400)
#define REST_MIN_S INT64_C(60) /* a window is not made shorter for the size of its answer */
#define REST_MAX_S (28 * REST_DAY)
#define REST_AIM ((size_t)16 * 1024 * 1024)    /* bytes aimed at in one answer */
#define REST_BYTES ((size_t)256 * 1024 * 1024) /* and what is read at most */

/* One server and how it is asked. */
struct rest {
	struct record *r;
	const struct record_jobs_opts *o;
	struct http *http;
	const char *base; /* without a slash at the end */
	const char *user, *token;
	int version; /* of the API, N of v0.0.N; 0: not known yet */
	struct slurmrest *reader;
	int64_t jobs;
};

static int
rest_digit(char c)
{
	static const char digits[] =
	    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
	const char *at = c != '\0' ? strchr(digits, c) : NULL;

	return at == NULL ? -1 : (int)(at - digits);
}

/*
 * Whom a JSON web token is for: "sun" of its middle part, which is base64url (RFC 7519, RFC 4648
 * 5). NULL: it does not say.
 */
static const char *
rest_subject(struct arena *a, const char *token)
{
	const char *p = strchr(token, '.'), *sun = NULL;
	char *bytes = arena_alloc(a, strlen(token) + 1);
	unsigned held = 0, bits = 0;
	struct jsonr root;
	json_t *tree = NULL;
	size_t n = 0;

	for (p = p != NULL ? p + 1 : ""; rest_digit(*p) >= 0; p++) {
		held = (held << 6 | (unsigned)rest_digit(*p)) & 0xfffffU;
		bits += 6;
		if (bits >= 8) {
			bits -= 8;
			bytes[n++] = (char)(held >> bits & 0xffU);
		}
	}
	if (jsonr_parse(bytes, n, "token", &tree, NULL) != BERTH_OK)
		return NULL;
	root = jsonr_root(tree, "token");
	if (jsonr_str(&root, "sun", &sun, NULL) != BERTH_OK || sun == NULL || *sun == '\0')
		sun = NULL;
	else
		sun = arena_strdup(a, sun);
	json_decref(tree);
	return sun;
}

static enum berth_code
rest_auth(struct rest *s, struct berth_err *err)
{
	struct cmd_ctx *ctx = s->r->ctx;
	enum berth_code rc = record_secret(ctx, s->o->token_file, "SLURM_JWT", &s->token, err);

	if (rc == BERTH_OK && s->token != NULL && str_starts(s->token, "SLURM_JWT="))
		s->token += strlen("SLURM_JWT="); /* a file of what `scontrol token` prints */
	if (rc == BERTH_OK && s->token == NULL)
		return err_set(err, BERTH_EAUTH,
		    "slurmrestd wants a token: put one of `scontrol token` in $SLURM_JWT or "
		    "--token-file");
	if (rc == BERTH_OK)
		s->user = s->o->user != NULL ? s->o->user : rest_subject(ctx->arena, s->token);
	return rc;
}

/* Seconds of a window, in the form that its version reads, and flags that give what `sacct -D -X`
 * gives. */
static const char *
rest_query(struct arena *a, int version, int64_t from, int64_t to)
{
	if (version < 40)
		return arena_printf(a, "start_time=uts%lld&end_time=uts%lld&skip_steps=true",
		    (long long)from, (long long)to);
	return arena_printf(a,
	    "start_time=%lld&end_time=%lld&skip_steps=true&show_duplicates=true&"
	    "disable_truncate_usage_time=true&scheduler_unset=true",
	    (long long)from, (long long)to);
}

static enum berth_code
rest_refused(const struct rest *s, const struct http_resp *resp, struct berth_err *err)
{
	enum berth_code code = resp->status == 401 || resp->status == 403 ? BERTH_EAUTH
			       : resp->status == 429                      ? BERTH_ETHROTTLED
			       : resp->status >= 500                      ? BERTH_ETRANSIENT
									  : BERTH_EINVAL;
	struct slurmrest *reader = slurmrest_new();
	struct berth_err why = { 0 };
	struct buf nothing;
	int64_t jobs;
	enum berth_code told = BERTH_OK;

	buf_init(&nothing, REST_BYTES);
	if (reader != NULL)
		told = slurmrest_read(
		    reader, resp->body, resp->body_len, "answer", 0, &nothing, &jobs, &why);
	buf_free(&nothing);
	slurmrest_free(reader);
	if (told == BERTH_EAUTH)
		code = told;
	if (told != BERTH_OK && str_starts(why.msg, "the server says"))
		return err_set(err, code, "%s: HTTP status %d: %s", s->base, resp->status, why.msg);
	return err_set(err, code, "%s: HTTP status %d%s", s->base, resp->status,
	    code == BERTH_EAUTH
		? ": the token is not taken; is it for this user (--user), and has it not expired?"
		: "");
}

/* One request in version, its answer in *resp. */
static enum berth_code
rest_get(struct rest *s, struct arena *a, int version, int64_t from, int64_t to,
    struct http_resp *resp, struct berth_err *err)
{
	struct http_req req = { .arena = a, .idempotent = true, .timeout_s = 300 };
	enum berth_code rc;

	http_req_url(
	    &req, "%s/slurmdb/v0.0.%d/jobs?%s", s->base, version, rest_query(a, version, from, to));
	rc = http_req_header(&req, "Accept", "application/json", false, err);
	if (rc == BERTH_OK && s->user != NULL)
		rc = http_req_header(&req, "X-SLURM-USER-NAME", s->user, false, err);
	if (rc == BERTH_OK)
		rc = http_req_header(&req, "X-SLURM-USER-TOKEN", s->token, true, err);
	return rc == BERTH_OK ? http_exchange(s->http, &req, resp, err) : rc;
}

/* Asks in the version that is known, or else finds the newest that the server has: it says 404 to
 * others. */
static enum berth_code
rest_ask(struct rest *s, struct arena *a, int64_t from, int64_t to, struct http_resp *resp,
    struct berth_err *err)
{
	int v = s->version != 0 ? s->version : SLURMREST_NEWEST;
	enum berth_code rc = rest_get(s, a, v, from, to, resp, err);

	while (rc == BERTH_OK && resp->status == 404 && s->version == 0 && v > SLURMREST_OLDEST)
		rc = rest_get(s, a, --v, from, to, resp, err);
	if (rc != BERTH_OK)
		return rc;
	if (resp->status == 404)
		return err_set(err, BERTH_ENOTFOUND,
		    "%s has no /slurmdb/v0.0.%d/jobs%s: does this slurmrestd serve the accounting "
		    "(plugin slurmdbd or dbv0.0.N)?",
		    s->base, v, s->version == 0 ? " nor a newer one" : "");
	if (resp->status != 200)
		return rest_refused(s, resp, err);
	s->version = v;
	return BERTH_OK;
}

/* One window; *bytes_out of its answer. */
static enum berth_code
rest_window(
    struct rest *s, int64_t from, int64_t to, FILE *out, size_t *bytes_out, struct berth_err *err)
{
	struct arena *a = arena_new();
	struct http_resp resp = { 0 };
	struct buf lines;
	int64_t jobs = 0;
	enum berth_code rc = rest_ask(s, a, from, to, &resp, err);

	buf_init(&lines, REST_BYTES);
	*bytes_out = resp.body_len;
	if (rc == BERTH_OK) {
		rc = slurmrest_read(
		    s->reader, resp.body, resp.body_len, "answer", to, &lines, &jobs, err);
		if (rc != BERTH_OK)
			(void)err_ctx(err, "%s", s->base);
		if (rc == BERTH_OK &&
		    fwrite(lines.p != NULL ? lines.p : "", 1, lines.len, out) != lines.len)
			rc = err_set(err, BERTH_EIO, "no room for the jobs in a temporary file");
		s->jobs += jobs;
	}
	buf_free(&lines);
	arena_free(a);
	return rc;
}

/* Windows one after the other, as long as their answers are of a fair size. */
static enum berth_code
rest_windows(struct rest *s, int64_t from, int64_t to, FILE *out, struct berth_err *err)
{
	int64_t each = REST_DAY;
	enum berth_code rc = BERTH_OK;

	while (rc == BERTH_OK && from < to) {
		int64_t end = from + each < to ? from + each : to;
		size_t bytes;

		rc = rest_window(s, from, end, out, &bytes, err);
		if (rc == BERTH_EINVAL && bytes == 0 &&
		    each > REST_MIN_S) { /* more than is read at once */
			each = each / 4 > REST_MIN_S ? each / 4 : REST_MIN_S;
			rc = BERTH_OK;
			continue;
		}
		from = end;
		if (bytes > REST_AIM)
			each = each / 2 > REST_MIN_S ? each / 2 : REST_MIN_S;
		else if (bytes < REST_AIM / 4)
			each = each * 2 < REST_MAX_S ? each * 2 : REST_MAX_S;
		record_progress(s->r, s->jobs);
	}
	return rc;
}

enum berth_code
slurmrest_fetch(struct record *r, const struct record_jobs_opts *o, int64_t from, int64_t to,
    FILE *out, struct berth_err *err)
{
	const struct http_config conf = { .ca_file = o->ca_file, .max_bytes = REST_BYTES };
	struct rest s = { .r = r, .o = o, .version = (int)o->api_version };
	struct buf head;
	enum berth_code rc;

	s.base =
	    arena_strndup(r->ctx->arena, o->url, strlen(o->url) - (str_ends(o->url, "/") ? 1 : 0));
	buf_init(&head, 4096);
	slurmrest_header(&head);
	if (fputs(head.p, out) == EOF)
		rc = err_set(err, BERTH_EIO, "no room for the jobs in a temporary file");
	else
		rc = rest_auth(&s, err);
	buf_free(&head);
	if (rc == BERTH_OK)
		rc = http_new(&conf, &s.http, err);
	s.reader = slurmrest_new();
	if (rc == BERTH_OK && s.reader == NULL)
		rc = err_set(err, BERTH_ENOMEM, "out of memory");
	if (rc == BERTH_OK)
		rc = rest_windows(&s, from, to, out, err);
	slurmrest_free(s.reader);
	http_free(s.http);
	return rc;
}
