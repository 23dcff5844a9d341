#include "net/http_tape.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "net/http_int.h"
#include "util/arena.h"
#include "util/base64.h"
#include "util/fileio.h"
#include "util/json.h"
#include "util/str.h"
#include "util/vec.h"

#define TAPE_BODY_MAX ((size_t)32 * 1024 * 1024)
#define TAPE_FILE_MAX ((size_t)256 * 1024 * 1024)
#define TAPE_GONE "(removed)"
#define TAPE_SECRETS_MAX 16
#define TAPE_SECRET_MIN 6 /* bytes; what is shorter may be any word */
#define TAPE_START_MIN 12

struct tape_entry {
	const char *account, *method, *url, *body; /* of the request */
	json_t *v;
	bool used;
};

struct http_tape {
	FILE *out;       /* records */
	struct arena *a; /* plays */
	VEC(struct tape_entry) entries;
	VEC(json_t *) roots;
};

/* Whether a field so named holds a secret, or what a person gave a machine to run. */
static bool
tape_is_secret(const char *name, size_t n)
{
	static const char *const words[] = { "token", "secret", "password", "passwd", "passphrase",
		"apikey", "privatekey", "assertion", "signature", "credential", "authorization",
		"adminpass", "userdata", "accesskey", "cookie", "jwt", "customdata",
		"startupscript", "onstart" };
	static const char *const fine[] = { "next", "page", "clienttoken", "continu", "skip",
		"tokentype", "requesttoken", "marker", "berthtoken" };
	char plain[64];
	size_t len = 0;

	for (size_t i = 0; i < n && len + 1 < sizeof(plain); i++)
		if (str_is_alnum(name[i]))
			plain[len++] = str_lower_char(name[i]);
	plain[len] = '\0';
	for (size_t i = 0; i < sizeof(fine) / sizeof(fine[0]); i++)
		if (strstr(plain, fine[i]) != NULL)
			return false;
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (strstr(plain, words[i]) != NULL)
			return true;
	return str_eq(plain, "sig") || str_eq(plain, "pass");
}

/* What a machine is given to run, in the words of batch systems and of containers: it may hold
 * anything. */
static bool
tape_is_program(const char *name, size_t n)
{
	static const char *const words[] = { "script", "command", "args", "dockerArgs",
		"dockerStartCmd", "dockerEntrypoint" };

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (strlen(words[i]) == n && memcmp(words[i], name, n) == 0)
			return true;
	return false;
}

static bool
tape_in_name(char c)
{
	return str_is_alnum(c) || c == '_' || c == '-' || c == '.';
}

/* Bytes of a quote at i: 1, or 2 where JSON stands in a string of JSON; 0: there is none. */
static size_t
tape_quote(const char *p, size_t i, size_t n)
{
	if (i < n && p[i] == '"')
		return 1;
	return i + 1 < n && p[i] == '\\' && p[i + 1] == '"' ? 2 : 0;
}

/* The end of a string that is open at i; its quotes have q bytes. */
static size_t
tape_string_end(const char *p, size_t i, size_t n, size_t q)
{
	for (; i < n && tape_quote(p, i, n) != q; i++) {
		if (p[i] == '\\' && q == 1)
			i++;
		else if (p[i] == '\\' && i + 2 < n &&
			 p[i + 1] == '\\') /* an escape within JSON within JSON */
			i += p[i + 2] == '\\' ? 3 : 2;
	}
	return i < n ? i : n;
}

/*
 * The string that a JSON member's name, which ends at `at`, stands for; list: or a list of strings,
 * from its first to its last.
 */
static bool
tape_member(const char *p, size_t at, size_t n, bool list, size_t *from_out, size_t *len_out)
{
	size_t q = tape_quote(p, at, n), i = at + q, end;

	if (q == 0)
		return false;
	while (i < n && (str_is_space(p[i]) || p[i] == ':'))
		i++;
	list = list && i < n && p[i] == '[';
	while (list && i < n && (p[i] == '[' || str_is_space(p[i])))
		i++;
	if (tape_quote(p, i, n) != q)
		return false;
	*from_out = i + q;
	end = tape_string_end(p, i + q, n, q);
	for (i = end; list && i < n && p[i] != ']';) {
		i += tape_quote(p, i, n) == q ? q : 1;
		while (i < n && (str_is_space(p[i]) || p[i] == ','))
			i++;
		if (tape_quote(p, i, n) == q)
			i = end = tape_string_end(p, i + q, n, q);
	}
	*len_out = end - *from_out;
	return true;
}

/* {"name": "PASSWORD", "value": "..."}: the value behind such a pair's first half, which ends at
 * `at`. 0 bytes: none. */
static size_t
tape_pair(const char *p, size_t name, size_t at, size_t n, size_t *from_out)
{
	size_t from = 0, len = 0, i;

	if (at - name < 3 ||
	    (strncmp(p + name, "name", 4) != 0 && strncmp(p + name, "key", 3) != 0) ||
	    at - name > 4 || !tape_member(p, at, n, false, &from, &len) ||
	    !tape_is_secret(p + from, len))
		return 0;
	for (i = from + len;
	     i < n && (p[i] == '"' || p[i] == '\\' || p[i] == ',' || str_is_space(p[i])); i++)
		;
	if (n - i < 5 || strncmp(p + i, "value", 5) != 0 ||
	    !tape_member(p, i + 5, n, false, from_out, &len))
		return 0;
	return len;
}

/*
 * The value behind a name [name, at): JSON "name": "value", form name=value, XML <name>value<. 0
 * bytes: none that is secret.
 */
static size_t
tape_value(const char *p, size_t name, size_t at, size_t n, size_t *from_out)
{
	bool secret = tape_is_secret(p + name, at - name), tag = name > 0 && p[name - 1] == '<';
	size_t len = 0, i = at + 1;
	char end;

	if (name > 0 && p[name - 1] == '"' && (secret || tape_is_program(p + name, at - name)))
		return tape_member(p, at, n, true, from_out, &len) ? len : 0;
	if (name > 0 && p[name - 1] == '"')
		return tape_pair(p, name, at, n, from_out);
	if (at >= n || p[at] != (tag ? '>' : '=') ||
	    (!secret && (tag || at - name != 3 || strncmp(p + name, "key", 3) != 0)))
		return 0;
	for (end = tag ? '<' : '&'; i < n && p[i] != end && (tag || (p[i] != '\n' && p[i] != ' '));
	     i++)
		;
	*from_out = at + 1;
	return i - (at + 1);
}

/* The first secret value at or after *at, which moves to where to look for the next; its length, 0:
 * there is none. */
static size_t
tape_next(const char *text, size_t n, size_t *at, size_t *from_out)
{
	while (*at < n) {
		size_t name = *at, end = *at, len;

		while (end < n && tape_in_name(text[end]))
			end++;
		*at = end == name ? end + 1 : end;
		len = end > name ? tape_value(text, name, end, n, from_out) : 0;
		if (len > 0) {
			*at = *from_out + len;
			return len;
		}
	}
	return 0;
}

/* The known secrets, wherever they stand, into b. */
static void
tape_scrub_known(
    struct buf *b, const char *text, size_t n, const char *const *secrets, size_t n_secrets)
{
	for (size_t i = 0; i < n;) {
		size_t len = 0;

		for (size_t k = 0; k < n_secrets && len == 0; k++) {
			size_t m = strlen(secrets[k]);

			if (m >= TAPE_SECRET_MIN && m <= n - i &&
			    memcmp(text + i, secrets[k], m) == 0)
				len = m;
		}
		if (len > 0)
			buf_add_str(b, TAPE_GONE);
		else
			buf_add_char(b, text[i]);
		i += len > 0 ? len : 1;
	}
}

/* text [n] without what is secret, in the arena; len_out: its length, NUL bytes counted. */
static const char *
tape_scrub(struct arena *a, const char *text, size_t n, const char *const *secrets,
    size_t n_secrets, size_t *len_out)
{
	struct buf named, known;
	size_t at = 0, done = 0, from = 0, len;
	const char *out;

	buf_init(&named, 2 * TAPE_FILE_MAX);
	buf_init(&known, 2 * TAPE_FILE_MAX);
	while ((len = tape_next(text, n, &at, &from)) > 0) {
		buf_add(&named, text + done, from - done);
		buf_add_str(&named, TAPE_GONE);
		done = from + len;
	}
	buf_add(&named, text + done, n - done);
	tape_scrub_known(&known, named.p, named.len, secrets, n_secrets);
	*len_out = known.len;
	out = known.len > 0 ? arena_memdup(a, known.p, known.len + 1) : "";
	buf_free(&named);
	buf_free(&known);
	return out;
}

const char *
http_tape_scrub(
    struct arena *a, const char *text, size_t n, const char *const *secrets, size_t n_secrets)
{
	size_t len;

	return tape_scrub(a, text, n, secrets, n_secrets, &len);
}

/*
 * What a request carries that no answer may give away: its secret headers, without the scheme in
 * front, and fields of its body.
 */
static size_t
tape_secrets(struct arena *a, const struct http_req *req, const char **secrets)
{
	size_t n = 0, at = 0, from = 0, len;

	for (size_t i = 0; i < req->n_headers && n < TAPE_SECRETS_MAX; i++) {
		const char *v = req->headers[i].value, *blank = strchr(v, ' ');

		if (!req->headers[i].secret)
			continue;
		secrets[n++] = blank != NULL && blank - v < 24 ? blank + 1 : v;
	}
	while (req->body != NULL && n < TAPE_SECRETS_MAX &&
	       (len = tape_next(req->body, req->body_len, &at, &from)) > 0)
		secrets[n++] = arena_strndup(a, req->body + from, len);
	return n;
}

/* How many bytes at p are the start of a secret, which may have been cut: enough of them to be no
 * other word. */
static size_t
tape_start_len(const char *p, const char *secret)
{
	size_t k = 0;

	while (secret[k] != '\0' && p[k] == secret[k])
		k++;
	return k >= TAPE_START_MIN || (k >= TAPE_SECRET_MIN && (p[k] == '\0' || secret[k] == '\0'))
		   ? k
		   : 0;
}

const char *
http_tape_scrub_words(const struct http_req *req, const char *text)
{
	const char *secrets[TAPE_SECRETS_MAX], *p, *out;
	size_t n = tape_secrets(req->arena, req, secrets), len, gone;
	struct buf b;

	buf_init(&b, TAPE_FILE_MAX);
	for (p = tape_scrub(req->arena, text, strlen(text), NULL, 0, &len); *p != '\0';
	     p += gone > 0 ? gone : 1) {
		gone = 0;
		for (size_t i = 0; i < n; i++)
			gone = (len = tape_start_len(p, secrets[i])) > gone ? len : gone;
		if (gone > 0)
			buf_add_str(&b, TAPE_GONE);
		else
			buf_add_char(&b, *p);
	}
	out = arena_strndup(req->arena, b.len > 0 ? b.p : "", b.len);
	buf_free(&b);
	return out;
}

static FILE *
tape_open(const char *path)
{
	int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
	FILE *f = fd >= 0 ? fdopen(fd, "a") : NULL;

	if (f != NULL)
		setvbuf(f, NULL, _IOFBF, 1 << 16);
	else if (fd >= 0)
		(void)close(fd);
	return f;
}

enum berth_code
http_tape_record(const char *path, struct http_tape **tape_out, struct berth_err *err)
{
	struct http_tape *t = calloc(1, sizeof(*t));

	if (t == NULL)
		return err_set(err, BERTH_ENOMEM, "no memory for a recording");
	t->out = tape_open(path);
	if (t->out == NULL) {
		free(t);
		return err_sys(err, BERTH_EIO, errno, "%s", path);
	}
	*tape_out = t;
	return BERTH_OK;
}

static enum berth_code
tape_line(struct http_tape *t, const char *line, size_t n, const char *path, int nr,
    struct berth_err *err)
{
	struct tape_entry e = { .account = "", .method = "", .url = "", .body = "" };
	struct jsonr root;
	json_t *v = NULL;
	enum berth_code rc;

	if ((rc = jsonr_parse(line, n, path, &v, err)) != BERTH_OK) {
		err_at(err, "%s:%d", path, nr);
		return rc;
	}
	VEC_PUSH(t->a, &t->roots, v);
	root = jsonr_root(v, path);
	if ((rc = jsonr_str(&root, "account", &e.account, err)) != BERTH_OK ||
	    (rc = jsonr_str(&root, "method", &e.method, err)) != BERTH_OK ||
	    (rc = jsonr_str(&root, "url", &e.url, err)) != BERTH_OK ||
	    (rc = jsonr_str(&root, "request_body", &e.body, err)) != BERTH_OK) {
		err_at(err, "%s:%d", path, nr);
		return rc;
	}
	e.v = v;
	VEC_PUSH(t->a, &t->entries, e);
	return BERTH_OK;
}

enum berth_code
http_tape_replay(const char *path, struct http_tape **tape_out, struct berth_err *err)
{
	struct http_tape *t = calloc(1, sizeof(*t));
	enum berth_code rc;
	char *bytes = NULL;
	int nr = 0;
	size_t n = 0;

	if (t == NULL)
		return err_set(err, BERTH_ENOMEM, "no memory for a recording");
	t->a = arena_new();
	rc = fileio_slurp(t->a, path, TAPE_FILE_MAX, &bytes, &n, err);
	for (char *p = bytes, *nl; rc == BERTH_OK && p < bytes + n; p = nl + 1) {
		nl = memchr(p, '\n', (size_t)(bytes + n - p));
		if (nl == NULL)
			nl = bytes + n;
		nr++;
		if (nl > p)
			rc = tape_line(t, p, (size_t)(nl - p), path, nr, err);
	}
	if (rc != BERTH_OK) {
		http_tape_free(t);
		return rc;
	}
	*tape_out = t;
	return BERTH_OK;
}

void
http_tape_free(struct http_tape *tape)
{
	if (tape == NULL)
		return;
	if (tape->out != NULL)
		(void)fclose(tape->out);
	for (size_t i = 0; i < tape->roots.n; i++)
		json_decref(tape->roots.v[i]);
	arena_free(tape->a);
	free(tape);
}

bool
http_tape_plays(const struct http_tape *tape)
{
	return tape != NULL && tape->out == NULL;
}

/* The whole of a spooled body, set back to its start. */
static const char *
tape_file(struct arena *a, FILE *f, size_t *n_out)
{
	struct buf b;
	const char *out;
	char block[65536];
	size_t n;

	buf_init(&b, TAPE_BODY_MAX);
	if (fseeko(f, 0, SEEK_SET) == 0)
		while ((n = fread(block, 1, sizeof(block), f)) > 0 &&
		       buf_add(&b, block, n) == BERTH_OK)
			;
	(void)fseeko(f, 0, SEEK_SET);
	*n_out = b.code == BERTH_OK ? b.len : SIZE_MAX;
	out = arena_strndup(a, b.len > 0 ? b.p : "", b.len);
	buf_free(&b);
	return out;
}

static void
tape_put_body(struct jsonw *w, struct arena *a, const struct http_resp *resp,
    const char *const *secrets, size_t n_secrets)
{
	const char *body = resp->body;
	size_t n = resp->body_len;

	if (resp->file != NULL)
		body = tape_file(a, resp->file, &n);
	if (n > TAPE_BODY_MAX) {
		jsonw_bool(w, "too_big", true);
		return;
	}
	body = tape_scrub(a, body, n, secrets, n_secrets, &n);
	if (memchr(body, '\0', n) == NULL && str_utf8_valid(body, n))
		jsonw_str(w, "body", body);
	else
		jsonw_str(w, "body_base64", base64_encode(a, body, n));
}

static void
tape_put_headers(struct jsonw *w, struct arena *a, const struct http_resp *resp,
    const char *const *secrets, size_t n_secrets)
{
	jsonw_begin_array(w, "headers");
	for (size_t i = 0; i < resp->n_headers; i++) {
		const struct http_header *h = &resp->headers[i];

		jsonw_begin_array(w, NULL);
		jsonw_str(w, NULL, h->name);
		jsonw_str(w, NULL,
		    tape_is_secret(h->name, strlen(h->name))
			? TAPE_GONE
			: http_tape_scrub(a, h->value, strlen(h->value), secrets, n_secrets));
		jsonw_end_array(w);
	}
	jsonw_end_array(w);
}

enum berth_code
http_tape_put(struct http_tape *tape, const char *account, const struct http_req *req,
    const struct http_resp *resp, struct berth_err *err)
{
	const char *secrets[TAPE_SECRETS_MAX];
	struct arena *a = arena_new();
	size_t n = tape_secrets(a, req, secrets);
	enum berth_code rc;
	struct jsonw w;

	jsonw_init(&w, tape->out, JSONW_COMPACT);
	jsonw_begin_object(&w, NULL);
	jsonw_str(&w, "schema", "berth.exchange/1");
	jsonw_str(&w, "account", account);
	jsonw_str(&w, "method", req->method != NULL ? req->method : "GET");
	jsonw_str(&w, "url", http_tape_scrub(a, req->url, strlen(req->url), secrets, n));
	jsonw_str(&w, "request_body",
	    http_tape_scrub(a, req->body != NULL ? req->body : "", req->body_len, secrets, n));
	jsonw_int(&w, "status", resp->status);
	tape_put_headers(&w, a, resp, secrets, n);
	tape_put_body(&w, a, resp, secrets, n);
	jsonw_end_object(&w);
	fputc('\n', tape->out);
	rc = jsonw_finish(&w, err);
	arena_free(a);
	return rc;
}

static size_t
tape_path_len(const char *url)
{
	return strcspn(url, "?");
}

/* How well an entry answers: 3 unused and the same, 2 unused and the same place, 1 used before, 0
 * not at all. */
static int
tape_fit(const struct tape_entry *e, const char *account, const char *method, const char *url,
    const char *body)
{
	bool place = str_eq(e->account, account) && str_eq(e->method, method) &&
		     tape_path_len(e->url) == tape_path_len(url) &&
		     strncmp(e->url, url, tape_path_len(url)) == 0;

	if (!place)
		return 0;
	if (e->used)
		return 1;
	return str_eq(e->url, url) && str_eq(e->body, body) ? 3 : 2;
}

static enum berth_code
tape_answer(
    const struct tape_entry *e, struct arena *a, struct http_resp *resp, struct berth_err *err)
{
	const json_t *headers = json_object_get(e->v, "headers"),
		     *body = json_object_get(e->v, "body");
	const char *coded = json_string_value(json_object_get(e->v, "body_base64"));
	char *bytes;

	memset(resp, 0, sizeof(*resp));
	resp->arena = a;
	resp->status = (int)json_integer_value(json_object_get(e->v, "status"));
	resp->body = "";
	for (size_t i = 0; i < json_array_size(headers); i++) {
		const char *name = json_string_value(json_array_get(json_array_get(headers, i), 0));
		const char *value =
		    json_string_value(json_array_get(json_array_get(headers, i), 1));

		if (name != NULL && value != NULL)
			http_resp_keep(resp, arena_strdup(a, name), arena_strdup(a, value));
	}
	http_read_times(resp);
	if (json_is_string(body)) {
		resp->body_len = json_string_length(body);
		resp->body = arena_memdup(a, json_string_value(body), resp->body_len + 1);
	} else if (coded != NULL) {
		enum berth_code rc = base64_decode(a, coded, &bytes, &resp->body_len, err);

		if (rc != BERTH_OK)
			return rc;
		resp->body = bytes;
	}
	return BERTH_OK;
}

enum berth_code
http_tape_get(struct http_tape *tape, const char *account, const struct http_req *req,
    struct http_resp *resp, struct berth_err *err)
{
	const char *secrets[TAPE_SECRETS_MAX], *method = req->method != NULL ? req->method : "GET",
					       *url, *body;
	size_t n = tape_secrets(req->arena, req, secrets);
	struct tape_entry *best = NULL;
	enum berth_code rc;
	int most = 0;

	url = http_tape_scrub(req->arena, req->url, strlen(req->url), secrets, n);
	body = http_tape_scrub(
	    req->arena, req->body != NULL ? req->body : "", req->body_len, secrets, n);
	for (size_t i = 0; i < tape->entries.n; i++) {
		int fit = tape_fit(&tape->entries.v[i], account, method, url, body);

		if (fit > most || (fit == 1 && most == 1)) {
			best = &tape->entries.v[i];
			most = fit;
		}
	}
	if (best == NULL)
		return err_set(err, BERTH_ENOTFOUND, "the recording has no answer to %s %.*s",
		    method, (int)tape_path_len(url), url);
	best->used = true;
	rc = tape_answer(best, req->arena, resp, err);
	if (rc != BERTH_OK || !req->spool || resp->status / 100 != 2)
		return rc;
	resp->file = http_spool_bytes(resp->body, resp->body_len);
	resp->body = "";
	resp->body_len = 0;
	return resp->file != NULL ? BERTH_OK : err_set(err, BERTH_ENOMEM, "no memory");
}
