/* tests/unit/http.c - the client against a small server: limits, redirects, secrets, TLS. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "net/http.h"
#include "tests/tap.h"
#include "util/arena.h"
#include "util/fileio.h"
#include "util/time.h"

static int port[3];
static struct arena *a;
static struct http *client;

static struct http_req
request(int which, const char *path)
{
	struct http_req req = { .arena = a };

	http_req_url(&req, "%s://127.0.0.1:%d%s", which == 2 ? "https" : "http", port[which], path);
	return req;
}

static enum berth_code
get(int which, const char *path, struct http_resp *resp, struct berth_err *err)
{
	struct http_req req = request(which, path);

	return http_exchange(client, &req, resp, err);
}

/* What the server got since it was asked last, one request a line. */
static const char *
seen(void)
{
	struct http_resp resp;
	struct berth_err err;

	return get(0, "/seen", &resp, &err) == BERTH_OK ? resp.body : "";
}

static void
test_plain(void)
{
	static const struct { const char *path; int s; } waits[] = {
		{ "/90000", 86400 }, { "/99999999999999999999", 86400 }, { "/-5", 0 }, { "/soon", 0 },
	};
	struct http_req req = request(0, "/hello?a=b");
	struct http_resp resp;
	struct berth_err err = { 0 };
	const char *s;

	tap_code(get(0, "/hello", &resp, &err), BERTH_OK, &err);
	tap_ok(resp.status == 200 && strcmp(resp.body, "hello") == 0 && resp.body_len == 5, "body");
	tap_ok(resp.retry_after_s == 7 && strcmp(http_resp_header(&resp, "x-ONE"), "two") == 0, "headers, by any case");
	tap_ok(resp.date > INT64_C(1600000000), "date of the server");
	tap_code(get(0, "/nul", &resp, &err), BERTH_OK, &err);
	tap_ok(resp.body_len == 3 && memcmp(resp.body, "a\0b", 4) == 0, "a NUL in the body does not cut it");
	tap_code(get(0, "/later", &resp, &err), BERTH_OK, &err);
	tap_ok(resp.status == 503 && resp.retry_after_s == 30, "Retry-After as a date, by the server's own clock");
	for (size_t i = 0; i < sizeof(waits) / sizeof(waits[0]); i++) {
		tap_code(get(0, waits[i].path, &resp, &err), BERTH_OK, &err);
		tap_is_long(resp.retry_after_s, waits[i].s, "Retry-After: %s", waits[i].path + 1);
	}
	tap_code(get(0, "/nothing", &resp, &err), BERTH_OK, &err);
	tap_is_long(resp.status, 404, "a refusal is an answer");
	seen();
	req.method = "POST";
	tap_code(http_req_body(&req, "text/plain", "what", 4, &err), BERTH_OK, &err);
	tap_code(http_req_header(&req, "X-Empty", "", false, &err), BERTH_OK, &err);
	tap_code(http_exchange(client, &req, &resp, &err), BERTH_OK, &err);
	s = seen();
	tap_ok(strstr(s, "POST /hello?a=b") != NULL && strstr(s, "content-type=text/plain") != NULL &&
	    strstr(s, "body=what") != NULL && strstr(s, "x-empty=") != NULL && strstr(s, "user-agent=berth/") != NULL,
	    "what is sent");
	tap_code(http_req_header(&req, "X-Bad", "a\r\nHost: evil", false, &err), BERTH_EINVAL, &err);
	tap_is_str(http_urlencode(a, "a b/c~d%\xc3\xa9"), "a%20b%2Fc~d%25%C3%A9", "percent encoding");
}

static enum berth_code
get_secret(int which, const char *path, struct http_resp *resp, struct berth_err *err)
{
	struct http_req req = request(which, path);

	if (http_req_header(&req, "Authorization", "Bearer tok-SECRET", true, err) != BERTH_OK ||
	    http_req_header(&req, "X-Api-Key", "key-SECRET", true, err) != BERTH_OK ||
	    http_req_header(&req, "Accept", "text/x", false, err) != BERTH_OK)
		return BERTH_EFAIL;
	return http_exchange(client, &req, resp, err);
}

/* The line of the last request that the server got. */
static const char *
last_line(const char *s)
{
	const char *nl = strrchr(s, '\n');

	return nl != NULL ? nl + 1 : s;
}

static void
test_redirects(void)
{
	struct http_req req = request(0, "/same");
	struct http_resp resp;
	struct berth_err err = { 0 };
	const char *s;

	seen();
	tap_code(get_secret(0, "/same", &resp, &err), BERTH_OK, &err);
	s = last_line(seen());
	tap_ok(resp.status == 200 && strstr(s, "tok-SECRET") != NULL, "to the same host the key goes along");
	tap_code(get_secret(0, "/away", &resp, &err), BERTH_OK, &err);
	s = last_line(seen());
	tap_ok(resp.status == 200 && atoi(s) == port[1] && strstr(s, "SECRET") == NULL, "to another port no key goes: %s", s);
	tap_ok(strstr(s, "accept=text/x") != NULL, "the rest of the request is the same");
	tap_code(get_secret(0, "/back", &resp, &err), BERTH_OK, &err);
	s = last_line(seen());
	tap_ok(atoi(s) == port[0] && strstr(s, "SECRET") == NULL, "nor does one come back with the way home");
	tap_code(get(0, "/loop", &resp, &err), BERTH_EPERMANENT, &err);
	tap_ok(strstr(err.msg, "redirects") != NULL, "%s", err.msg);
	tap_code(get(0, "/file", &resp, &err), BERTH_EPERMANENT, &err);
	tap_code(get(0, "/user", &resp, &err), BERTH_EPERMANENT, &err);
	req.method = "POST";
	tap_code(http_exchange(client, &req, &resp, &err), BERTH_OK, &err);
	tap_is_long(resp.status, 302, "a POST is not sent on");
}

static void
test_limits(void)
{
	struct http_req req = request(0, "/big");
	struct http_resp resp;
	struct berth_err err = { 0 };
	int64_t from;

	req.max_bytes = 299999;
	tap_code(http_exchange(client, &req, &resp, &err), BERTH_EINVAL, &err);
	tap_ok(strstr(err.msg, "299999") != NULL && strstr(err.where, "/big") != NULL, "%s (%s)", err.msg, err.where);
	req.max_bytes = 300000;
	tap_code(http_exchange(client, &req, &resp, &err), BERTH_OK, &err);
	tap_is_long((long long)resp.body_len, 300000, "one byte more of limit is enough");
	req = request(0, "/drip");
	req.timeout_s = 1;
	from = time_mono_ms();
	tap_code(http_exchange(client, &req, &resp, &err), BERTH_ETRANSIENT, &err);
	tap_ok(time_mono_ms() - from < 9000 && strstr(err.msg, "within 1 s") != NULL, "a byte now and then is no answer: %s",
	    err.msg);
	req = request(0, "/silent");
	req.timeout_s = 1;
	from = time_mono_ms();
	tap_code(http_exchange(client, &req, &resp, &err), BERTH_ETRANSIENT, &err);
	tap_ok(time_mono_ms() - from < 9000, "nor is silence");
	tap_code(get(0, "/cut", &resp, &err), BERTH_ETRANSIENT, &err);
}

struct many { int ended, good; enum berth_code last; char msg[512]; };

static void
many_done(void *arg, enum berth_code rc, const struct berth_err *err)
{
	struct many *m = arg;

	m->ended++;
	m->good += rc == BERTH_OK;
	m->last = rc;
	snprintf(m->msg, sizeof(m->msg), "%s", err->msg);
}

static void
pump_all(const struct many *m, int n)
{
	struct berth_err err = { 0 };

	while (m->ended < n)
		if (http_pump(client, time_mono_ms() + 1000, &err) != BERTH_OK)
			break;
}

static void
test_many(void)
{
	struct http_req req[20];
	struct http_resp resp[20];
	struct berth_err err = { 0 };
	int64_t from = time_mono_ms(), took;
	struct many m = { 0 };

	for (int i = 0; i < 20; i++) {
		req[i] = request(i % 2, "/wait");
		tap_code(http_begin(client, NULL, &req[i], &resp[i], 0, many_done, &m, &err), BERTH_OK, &err);
	}
	pump_all(&m, 20);
	took = time_mono_ms() - from;
	tap_ok(m.good == 20 && took < 4500, "20 answers of 300 ms each take %lld ms together", (long long)took);
	tap_ok(strcmp(resp[7].body, "waited") == 0, "each has its own answer");
	from = time_mono_ms();
	m = (struct many){ 0 };
	req[0] = request(0, "/silent");
	req[1] = request(1, "/hello");
	tap_code(http_begin(client, NULL, &req[0], &resp[0], from + 1500, many_done, &m, &err), BERTH_OK, &err);
	tap_code(http_begin(client, NULL, &req[1], &resp[1], from + 1500, many_done, &m, &err), BERTH_OK, &err);
	pump_all(&m, 2);
	took = time_mono_ms() - from;
	tap_ok(m.good == 1 && m.last == BERTH_ETRANSIENT && took >= 1450 && took < 9000, "the pass ends one: %s", m.msg);
}

static void
test_spool(void)
{
	struct http_req req = request(0, "/list");
	struct http_resp resp;
	struct berth_err err = { 0 };
	char head[17] = "";
	long n;

	req.spool = true;
	tap_code(http_exchange(client, &req, &resp, &err), BERTH_OK, &err);
	tap_ok(resp.file != NULL && resp.body_len == 0 && resp.body[0] == '\0' && ftell(resp.file) == 0, "a file at its start");
	tap_ok(fread(head, 1, 16, resp.file) == 16 && strcmp(head, "0123456789abcdef") == 0, "with what was sent");
	fseek(resp.file, 0, SEEK_END);
	n = ftell(resp.file);
	tap_is_long(n, 1048576, "all of it");
	fclose(resp.file);
	req = request(0, "/refuse");
	req.spool = true;
	tap_code(http_exchange(client, &req, &resp, &err), BERTH_OK, &err);
	tap_ok(resp.status == 403 && resp.file == NULL && strcmp(resp.body, "no, not you") == 0, "a refusal is read as always");
	req = request(0, "/list");
	req.spool = true;
	req.max_bytes = 1000000;
	tap_code(http_exchange(client, &req, &resp, &err), BERTH_EINVAL, &err);
	tap_ok(resp.file == NULL && strstr(err.msg, "1000000 bytes") != NULL, "a file has its limit too: %s", err.msg);
}

/* Of a hundred headers those that are read are kept, wherever they stand. */
static void
test_many_headers(void)
{
	struct http_resp resp;
	struct berth_err err = { 0 };

	tap_code(get(0, "/many", &resp, &err), BERTH_OK, &err);
	tap_ok(resp.n_headers == HTTP_HEADERS_MAX && resp.retry_after_s == 9 && resp.date == INT64_C(1796040000), "Retry-After and Date");
	tap_is_str(http_resp_header(&resp, "etag"), "\"t\"", "the tag");
	tap_is_str(http_resp_header(&resp, "opc-next-page"), "p2", "the next page");
	tap_is_str(http_resp_header(&resp, "X-0"), "0", "the first of the others");
	tap_code(get(0, "/manyaway", &resp, &err), BERTH_OK, &err);
	tap_ok(resp.status == 200, "a redirect behind sixty others is followed");
}

static void
test_set_header(void)
{
	struct http_req req = request(0, "/hello");
	struct berth_err err = { 0 };

	tap_code(http_req_header(&req, "X-Date", "1", false, &err), BERTH_OK, &err);
	tap_code(http_req_header(&req, "Accept", "text/x", false, &err), BERTH_OK, &err);
	tap_code(http_req_set_header(&req, "x-date", "2", false, &err), BERTH_OK, &err);
	tap_code(http_req_set_header(&req, "Authorization", "new", true, &err), BERTH_OK, &err);
	tap_ok(req.n_headers == 3 && strcmp(http_req_get_header(&req, "X-DATE"), "2") == 0 &&
	    strcmp(http_req_get_header(&req, "accept"), "text/x") == 0, "a header set again replaces the old one");
}

static void
test_urls(void)
{
	static const char *const bad[] = { "ftp://127.0.0.1/", "file:///etc/passwd", "http://u:p@127.0.0.1/", "not a url", "" };
	struct http_resp resp;
	struct berth_err err = { 0 };

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct http_req req = { .arena = a, .url = bad[i] };

		tap_code(http_exchange(client, &req, &resp, &err), BERTH_EINVAL, &err);
	}
	struct http_req closed = { .arena = a, .url = "http://127.0.0.1:1/" };

	tap_code(http_exchange(client, &closed, &resp, &err), BERTH_ETRANSIENT, &err);
}

/* Answers that no honest server gives: each ends soon, within its limits, and as what it is. */
static void
test_hostile(void)
{
	static const struct { const char *path; enum berth_code want; bool also_ok; } rows[] = {
		{ "/loris", BERTH_ETRANSIENT, false }, { "/endless", BERTH_EINVAL, false }, { "/heads", BERTH_EINVAL, false },
		{ "/storm", BERTH_EINVAL, true }, { "/storm-endless", BERTH_EINVAL, false }, { "/bomb", BERTH_EINVAL, false },
		{ "/bomb-twice", BERTH_EINVAL, false }, { "/gzip-lie", BERTH_ETRANSIENT, false },
		{ "/lengths", BERTH_ETRANSIENT, true }, { "/minus", BERTH_ETRANSIENT, false }, { "/huge", BERTH_ETRANSIENT, true },
		{ "/chunk", BERTH_ETRANSIENT, false }, { "/chunk-cut", BERTH_ETRANSIENT, false }, { "/no-status", BERTH_EINVAL, false },
		{ "/odd-status", BERTH_EINVAL, false }, { "/nothing-said", BERTH_ETRANSIENT, false },
		{ "/location", BERTH_EPERMANENT, true }, { "/location-odd", BERTH_EPERMANENT, false },
		{ "/location-gopher", BERTH_EPERMANENT, false },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct http_req req = request(0, rows[i].path);
		struct http_resp resp;
		struct berth_err err = { 0 };
		int64_t from = time_mono_ms();
		enum berth_code rc;

		req.max_bytes = 1000000;
		req.timeout_s = i == 0 ? 1 : 5;
		rc = http_exchange(client, &req, &resp, &err);
		tap_ok(rc == rows[i].want || (rows[i].also_ok && rc == BERTH_OK), "%s: %s: %s", rows[i].path, err_name(rc), err.msg);
		if (time_mono_ms() - from > 8000 || (rc == BERTH_OK && resp.body_len > 1000000))
			tap_ok(0, "%s: %lld ms", rows[i].path, (long long)(time_mono_ms() - from));
	}
}

/* Odd, and read all the same. */
static void
test_odd(void)
{
	struct http_resp resp;
	struct berth_err err = { 0 };
	const char *s;

	tap_code(get(0, "/longer", &resp, &err), BERTH_OK, &err);
	tap_is_str(resp.body, "hello", "no more than was announced");
	tap_code(get(0, "/old-date", &resp, &err), BERTH_OK, &err);
	tap_is_long((long long)resp.date, 0, "no date before there were servers");
	tap_code(get(0, "/far-date", &resp, &err), BERTH_OK, &err);
	tap_is_long(resp.retry_after_s, 0, "a time in the past is no wait");
	tap_code(get(0, "/no-date", &resp, &err), BERTH_OK, &err);
	tap_ok(resp.date == 0 && resp.retry_after_s == 86400, "a date that is none, and a wait of a day at most: %d", resp.retry_after_s);
	tap_code(get_secret(0, "/location-slashes", &resp, &err), BERTH_OK, &err);
	s = last_line(seen());
	tap_ok(atoi(s) == port[1] && strstr(s, "SECRET") == NULL, "another host by a double slash sees no key");
	tap_code(get_secret(0, "/location-break", &resp, &err), BERTH_OK, &err);
	s = last_line(seen());
	tap_ok(strstr(s, "x-bad") == NULL, "a line break in a redirect stays one word");
	tap_code(get(0, "/location-none", &resp, &err), BERTH_OK, &err);
	tap_is_long(resp.status, 302, "a redirect to nowhere is an answer");
	tap_code(get(0, "/cookie", &resp, &err), BERTH_OK, &err);
	tap_code(get(0, "/hello", &resp, &err), BERTH_OK, &err);
	tap_ok(strstr(last_line(seen()), "cookie") == NULL, "no cookie is kept");
}

/* What must not be sent twice is not, also where a connection that was kept open dies under it. */
static void
test_once(void)
{
	struct http_req req = request(0, "/nothing-said");
	struct http_resp resp;
	struct berth_err err = { 0 };
	int n = 0;

	tap_code(get(0, "/hello", &resp, &err), BERTH_OK, &err);
	seen();
	req.method = "POST";
	tap_code(http_req_body(&req, "text/plain", "one", 3, &err), BERTH_OK, &err);
	tap_code(http_exchange(client, &req, &resp, &err), BERTH_ETRANSIENT, &err);
	for (const char *s = seen(); (s = strstr(s, "POST /nothing-said")) != NULL; s++)
		n++;
	tap_is_long(n, 1, "a POST without an answer went out once");
}

/* A file of authorities that is not there, or is none: said, and nothing goes out without. */
static void
test_no_authorities(const char *text)
{
	static const char *const files[] = { "/nowhere/ca.pem", NULL };

	for (size_t i = 0; i < 2; i++) {
		struct http_config c = { .ca_file = files[i] != NULL ? files[i] : text };
		struct http *knows = NULL;
		struct http_req req = request(2, "/hello");
		struct http_resp resp;
		struct berth_err err = { 0 };

		tap_code(http_new(&c, &knows, &err), BERTH_OK, &err);
		tap_code(http_exchange(knows, &req, &resp, &err), BERTH_EAUTH, &err);
		tap_ok(strstr(err.msg, "ca_file: no certificates") != NULL, "%s", err.msg);
		http_free(knows);
	}
}

/* Authorities and a certificate of our own as texts. */
static void
test_who(const char *cert, const char *key)
{
	struct http_config bare = { 0 }, whole;
	struct http *knows = NULL;
	struct http_req req = request(2, "/who");
	struct http_resp resp;
	struct berth_err err = { 0 };
	char *cert_pem = NULL, *key_pem = NULL;

	tap_code(fileio_slurp(a, cert, 65536, &cert_pem, NULL, &err), BERTH_OK, &err);
	tap_code(fileio_slurp(a, key, 65536, &key_pem, NULL, &err), BERTH_OK, &err);
	bare.ca_pem = cert_pem;
	tap_code(http_new(&bare, &knows, &err), BERTH_OK, &err);
	tap_code(http_exchange(knows, &req, &resp, &err), BERTH_OK, &err);
	tap_ok(resp.status == 200 && resp.body_len == 0, "trusted by its text, and nobody of a name asks");
	http_free(knows);
	whole = (struct http_config){ .ca_pem = cert_pem, .cert_pem = cert_pem, .key_pem = key_pem };
	tap_code(http_new(&whole, &knows, &err), BERTH_OK, &err);
	tap_code(http_exchange(knows, &req, &resp, &err), BERTH_OK, &err);
	tap_is_str(resp.body, "test", "the server knows us by our certificate");
	http_free(knows);
}

static void
test_tls(const char *cert, const char *key)
{
	struct http_config trust = { .ca_file = cert };
	struct http *knows = NULL;
	struct http_req req = request(2, "/hello"), down = request(2, "/down");
	struct http_resp resp;
	struct berth_err err = { 0 };

	tap_code(get(2, "/hello", &resp, &err), BERTH_EAUTH, &err);
	tap_ok(strstr(err.msg, "ca_file") != NULL, "an unknown authority is not trusted: %s", err.msg);
	tap_code(http_new(&trust, &knows, &err), BERTH_OK, &err);
	tap_code(http_exchange(knows, &req, &resp, &err), BERTH_OK, &err);
	tap_is_long(resp.status, 200, "with its ca_file it is");
	http_req_url(&req, "https://localhost:%d/hello", port[2]);
	tap_code(http_exchange(knows, &req, &resp, &err), BERTH_EAUTH, &err);
	tap_ok(1, "for another name it is not");
	tap_code(http_exchange(knows, &down, &resp, &err), BERTH_EPERMANENT, &err);
	tap_ok(strstr(err.msg, "https to http") != NULL, "no way from https to http: %s", err.msg);
	http_free(knows);
	test_who(cert, key);
}

static pid_t
start_server(const char *script, const char *cert, const char *key, FILE **in, FILE **out)
{
	int to[2], from[2];
	pid_t pid;

	if (pipe(to) != 0 || pipe(from) != 0)
		return -1;
	pid = fork();
	if (pid == 0) {
		dup2(to[0], 0);
		dup2(from[1], 1);
		close(to[1]);
		close(from[0]);
		execlp("python3", "python3", script, cert, key, (char *)NULL);
		_exit(127);
	}
	close(to[0]);
	close(from[1]);
	*in = fdopen(to[1], "w");
	*out = fdopen(from[0], "r");
	return pid;
}

int
main(void)
{
	const char *top = getenv("TOP_SRCDIR");
	char dir[] = "/tmp/berth-http-XXXXXX";
	const char *cert, *key, *make;
	struct berth_err err = { 0 };
	FILE *in = NULL, *out = NULL;
	pid_t pid;

	a = arena_new();
	if (mkdtemp(dir) == NULL)
		return 99;
	cert = arena_printf(a, "%s/cert.pem", dir);
	key = arena_printf(a, "%s/key.pem", dir);
	make = arena_printf(a, "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=test -addext "
	    "subjectAltName=IP:127.0.0.1 -keyout %s -out %s >/dev/null 2>&1 && command -v python3 >/dev/null", key, cert);
	if (system(make) != 0) {
		tap_skip("http", "no python3 or no openssl program");
		return tap_done();
	}
	pid = start_server(arena_printf(a, "%s/tests/unit/http_server.py", top != NULL ? top : "."), cert, key, &in, &out);
	if (pid < 0 || fscanf(out, "%d %d %d", &port[0], &port[1], &port[2]) != 3) {
		tap_ok(0, "the server starts");
		return tap_done();
	}
	tap_code(http_new(NULL, &client, &err), BERTH_OK, &err);
	test_plain();
	test_redirects();
	test_limits();
	test_many();
	test_spool();
	test_set_header();
	test_many_headers();
	test_urls();
	test_odd();
	test_hostile();
	test_once();
	test_tls(cert, key);
	test_no_authorities(key);
	http_free(client);
	fclose(in);
	waitpid(pid, NULL, 0);
	fclose(out);
	unlink(cert);
	unlink(key);
	rmdir(dir);
	arena_free(a);
	return tap_done();
}
