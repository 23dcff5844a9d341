/* tests/unit/http.c - the client against a small server: limits, redirects, secrets, TLS. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "net/http.h"
#include "tests/tap.h"
#include "util/arena.h"
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
	tap_ok(time_mono_ms() - from < 3000 && strstr(err.msg, "within 1 s") != NULL, "a byte now and then is no answer: %s",
	    err.msg);
	req = request(0, "/silent");
	req.timeout_s = 1;
	from = time_mono_ms();
	tap_code(http_exchange(client, &req, &resp, &err), BERTH_ETRANSIENT, &err);
	tap_ok(time_mono_ms() - from < 3000, "nor is silence");
	tap_code(get(0, "/cut", &resp, &err), BERTH_ETRANSIENT, &err);
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

static void
test_tls(const char *cert)
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
	test_urls();
	test_tls(cert);
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
