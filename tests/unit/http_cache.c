/* tests/unit/http_cache.c - answers on disk and recordings: ages, damage, secrets. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "net/http_cache.h"
#include "net/http_tape.h"
#include "tests/tap.h"
#include "util/arena.h"
#include "util/fileio.h"

#define T INT64_C(1795996800)

static struct arena *a;
static char dir[64];

static struct http_req
request(const char *key, int ttl_s, bool spool)
{
	return (struct http_req){ .arena = a, .url = "https://x.example/prices?sig=1", .cache_key = key, .cache_ttl_s = ttl_s,
		.spool = spool };
}

static struct http_resp
response(const char *body, const char *etag)
{
	struct http_resp r = { .arena = a, .status = 200, .body = body, .body_len = strlen(body) };

	r.headers[r.n_headers++] = (struct http_header){ "Content-Type", "application/json", false };
	if (etag != NULL)
		r.headers[r.n_headers++] = (struct http_header){ "ETag", etag, false };
	return r;
}

static int
files(void)
{
	FILE *f = popen(arena_printf(a, "ls %s | wc -l", dir), "r");
	int n = -1;

	if (f != NULL && fscanf(f, "%d", &n) != 1)
		n = -1;
	pclose(f);
	return n;
}

static void
test_cache(void)
{
	struct http_req req = request("prices-1", 100, false), ask = request("prices-1", 100, false), none = request("other", 9, false);
	struct http_req spool = request("big", 100, true), post = request("prices-1", 100, false);
	struct http_resp first = response("{\"a\": 1}", "\"v1\""), second = response("{\"a\": 22}", "\"v2\""), got, big;
	struct http_cache *c = NULL;
	struct berth_err err = { 0 };
	char line[32] = "";
	struct stat st;

	tap_code(http_cache_new(dir, &c, &err), BERTH_OK, &err);
	tap_ok(!http_cache_fresh(c, &req, T, &got), "an empty cache has nothing");
	http_cache_keep(c, &req, &first, T);
	tap_ok(http_cache_fresh(c, &req, T + 99, &got) && strcmp(got.body, "{\"a\": 1}") == 0 && got.cached == T && got.status == 200,
	    "99 s later it is there, with its age");
	tap_is_str(http_resp_header(&got, "content-type"), "application/json", "and its type");
	tap_ok(!http_cache_fresh(c, &req, T + 100, &got) && !http_cache_fresh(c, &req, T - 1, &got), "after 100 s it is old; nor is it of use before it was made");
	tap_ok(!http_cache_fresh(c, &none, T, &got), "another key is another answer");
	post.method = "POST";
	tap_ok(!http_cache_fresh(c, &post, T, &got), "a POST is never answered from it");
	http_cache_ask(c, &ask);
	tap_is_str(http_req_get_header(&ask, "If-None-Match"), "\"v1\"", "an old one is asked for by its tag");
	got = (struct http_resp){ .arena = a, .status = 304, .date = T + 200 };
	tap_ok(http_cache_revive(c, &req, T + 200, &got) && got.status == 200 && strcmp(got.body, "{\"a\": 1}") == 0 && got.date == T + 200,
	    "a 304 brings it back");
	tap_ok(http_cache_fresh(c, &req, T + 299, &got), "as young as the 304");
	http_cache_keep(c, &req, &second, T + 300);
	tap_ok(http_cache_fresh(c, &req, T + 301, &got) && strcmp(got.body, "{\"a\": 22}") == 0, "a new answer takes its place");
	tap_is_long(files(), 2, "and nothing of the old one is left");
	big = response("", NULL);
	big.file = http_spool_bytes("one\ntwo\n", 8);
	(void)!fgets(line, sizeof(line), big.file);
	http_cache_keep(c, &spool, &big, T);
	fclose(big.file);
	tap_ok(http_cache_fresh(c, &spool, T, &got) && got.file != NULL && fgets(line, sizeof(line), got.file) != NULL &&
	    strcmp(line, "one\n") == 0, "a spooled one is a file again, from its start");
	fclose(got.file);
	tap_ok(stat(dir, &st) == 0 && (st.st_mode & 0777) == 0700, "nobody else may look");
	if (system(arena_printf(a, "for f in %s/*.??????; do truncate -s 3 $f; done", dir)) != 0)
		tap_ok(0, "truncate");
	tap_ok(!http_cache_fresh(c, &req, T + 301, &got), "a body that is cut is no answer");
	http_cache_drop(c, &req);
	http_cache_drop(c, &spool);
	tap_is_long(files(), 0, "what could not be read is forgotten");
	http_cache_keep(c, &req, &(struct http_resp){ .arena = a, .status = 500, .body = "x", .body_len = 1 }, T);
	tap_is_long(files(), 0, "a refusal is not kept");
	http_cache_free(c);
}

/* Files that a crash, a full disk or somebody else left: no answer comes of them, nothing outside is touched, and a new one is kept. */
static void
test_broken_files(void)
{
	static const char *const heads[] = { "", "{", "[]", "null", "{}", "{\"fetched\":1,\"body\":\"..\",\"length\":0}",
		"{\"fetched\":1795996800,\"body\":\"../outside\",\"length\":5}", "{\"fetched\":1795996800,\"body\":\".\",\"length\":4096}",
		"{\"fetched\":1e400,\"body\":\"x\",\"length\":0}", "{\"fetched\":-1,\"body\":\"x\",\"length\":0}",
		"{\"fetched\":1795996800,\"body\":\"x\",\"length\":-1}", "{\"fetched\":1795996800,\"body\":\"nowhere\",\"length\":9223372036854775807}",
		"{\"fetched\":1795996800,\"body\":7,\"length\":0}", "{\"fetched\":9999999999999,\"body\":\"x\",\"length\":0}" };
	char *outside = arena_printf(a, "%s/outside", dir), *inside = arena_printf(a, "%s/c", dir);
	struct http_req req = { .arena = a, .url = "https://x.example/list", .cache_key = "k", .cache_ttl_s = 100 };
	struct http_resp first = response("{\"a\": 1}", "\"v1\""), got;
	struct http_cache *c = NULL;
	struct berth_err err = { 0 };
	struct stat st;

	tap_code(atomicfile_write(outside, "alien", 5, 0600, &err), BERTH_OK, &err);
	tap_code(http_cache_new(inside, &c, &err), BERTH_OK, &err);
	for (size_t i = 0; i < sizeof(heads) / sizeof(heads[0]); i++) {
		http_cache_keep(c, &req, &first, T);
		tap_ok(system(arena_printf(a, "for f in %s/*.json; do printf '%%s' '%s' >\"$f\"; done", inside, heads[i])) == 0, "head %zu", i);
		tap_ok(!http_cache_fresh(c, &req, T + 1, &got), "%s is no head", heads[i]);
		http_cache_ask(c, &req);
		got = (struct http_resp){ .arena = a, .status = 304 };
		tap_ok(!http_cache_revive(c, &req, T + 1, &got), "nor does a 304 bring it back");
		http_cache_drop(c, &req);
		http_cache_keep(c, &req, &first, T);
		tap_ok(http_cache_fresh(c, &req, T + 1, &got), "and a new answer is kept");
		http_cache_drop(c, &req);
	}
	tap_ok(stat(outside, &st) == 0 && st.st_size == 5, "what lies beside the folder was not touched");
	tap_ok(system(arena_printf(a, "rm -rf %s && : >%s", inside, inside)) == 0, "a file in the folder's place");
	http_cache_keep(c, &req, &first, T);
	tap_ok(!http_cache_fresh(c, &req, T + 1, &got), "keeps nothing, and does no harm");
	http_cache_free(c);
	unlink(inside);
	unlink(outside);
}

static void
scrubbed(const char *text, const char *want)
{
	static const char *const secrets[] = { "SECRETVALUE" };

	tap_is_str(http_tape_scrub(a, text, strlen(text), secrets, 1), want, "%s", text);
}

static void
test_scrub(void)
{
	scrubbed("https://x/?Action=Run&X-Amz-Signature=abc&X-Amz-Security-Token=def&NextToken=ghi",
	    "https://x/?Action=Run&X-Amz-Signature=(removed)&X-Amz-Security-Token=(removed)&NextToken=ghi");
	scrubbed("grant_type=client_credentials&client_secret=s%21&client_id=me", "grant_type=client_credentials&client_secret=(removed)&client_id=me");
	scrubbed("{\"access_token\" : \"ey\\\"J\", \"token_type\": \"Bearer\", \"expires_in\": 3}",
	    "{\"access_token\" : \"(removed)\", \"token_type\": \"Bearer\", \"expires_in\": 3}");
	scrubbed("<SecretAccessKey>wJalr</SecretAccessKey><nextToken>n</nextToken>",
	    "<SecretAccessKey>(removed)</SecretAccessKey><nextToken>n</nextToken>");
	scrubbed("{\"adminPass\":\"x\",\"note\":\"see SECRETVALUE here\"}", "{\"adminPass\":\"(removed)\",\"note\":\"see (removed) here\"}");
	scrubbed("{\"password\": null, \"clientToken\": \"t\"}", "{\"password\": null, \"clientToken\": \"t\"}");
	scrubbed("password=", "password=");
	scrubbed("\"token\":\"unended", "\"token\":\"(removed)");
	scrubbed("https://x/skus?key=AIza&pageSize=5", "https://x/skus?key=(removed)&pageSize=5");
	/* what a list is read by stays: names of tags and taints, our own tag */
	scrubbed("<tagSet><item><key>berth-token</key><value>k1</value></item></tagSet>",
	    "<tagSet><item><key>berth-token</key><value>k1</value></item></tagSet>");
	scrubbed("{\"labels\": {\"berth-token\": \"k1\"}, \"taints\": [{\"key\": \"nvidia.com/gpu\", \"effect\": \"NoSchedule\"}]}",
	    "{\"labels\": {\"berth-token\": \"k1\"}, \"taints\": [{\"key\": \"nvidia.com/gpu\", \"effect\": \"NoSchedule\"}]}");
	/* pairs, as pods and metadata have them, and JSON within a string of JSON */
	scrubbed("{\"env\":[{\"name\":\"DB_PASSWORD\",\"value\":\"hunter2\"},{\"name\":\"MODE\",\"value\":\"fast\"}]}",
	    "{\"env\":[{\"name\":\"DB_PASSWORD\",\"value\":\"(removed)\"},{\"name\":\"MODE\",\"value\":\"fast\"}]}");
	scrubbed("{\"items\":[{\"key\": \"startup-script\", \"value\": \"export K=\\\"v\\\"\"}]}",
	    "{\"items\":[{\"key\": \"startup-script\", \"value\": \"(removed)\"}]}");
	scrubbed("{\"applied\":\"{\\\"api_key\\\":\\\"hunter2\\\",\\\"n\\\":1}\"}",
	    "{\"applied\":\"{\\\"api_key\\\":\\\"(removed)\\\",\\\"n\\\":1}\"}");
	scrubbed("{\"job\":{\"script\":\"#!/bin/sh\\nexport KEY=\\\"a b\\\" x\",\"name\":\"n\"}}",
	    "{\"job\":{\"script\":\"(removed)\",\"name\":\"n\"}}");
	scrubbed("{\"command\":[\"sh\", \"-c\", \"echo \\\"]\\\" k1\"],\"args\": [ \"--key\" ],\"image\":\"i\",\"command\":[]}",
	    "{\"command\":[\"(removed)\"],\"args\": [ \"(removed)\" ],\"image\":\"i\",\"command\":[]}");
	scrubbed("{\"applied\":\"{\\\"args\\\":[\\\"a\\\\\\\"b\\\",\\\"c\\\"],\\\"n\\\":1}\"}",
	    "{\"applied\":\"{\\\"args\\\":[\\\"(removed)\\\"],\\\"n\\\":1}\"}");
	scrubbed("{\"customData\":\"IyEv\",\"onstart\":\"a\"}", "{\"customData\":\"(removed)\",\"onstart\":\"(removed)\"}");
}

/* Words that repeat what was sent. */
static void
test_scrub_words(void)
{
	struct http_req req = { .arena = a, .url = "https://x.example/" };
	struct berth_err err = { 0 };

	tap_code(http_req_header(&req, "X-Amz-Security-Token", "FQoGZXIvYXdzEXAMPLE", true, &err), BERTH_OK, &err);
	tap_code(http_req_body(&req, "application/x-www-form-urlencoded", "a=1&client_secret=hunter2-SECRET", 32, &err), BERTH_OK, &err);
	tap_is_str(http_tape_scrub_words(&req, "should have been x-amz-security-token:FQoGZXIvYXdzEXAMPLE\n"),
	    "should have been x-amz-security-token:(removed)\n", "a header in the words");
	tap_is_str(http_tape_scrub_words(&req, "no hunter2-SECRET here"), "no (removed) here", "a field in the words");
	tap_is_str(http_tape_scrub_words(&req, "x-amz-security-token:FQoGZXIvYX"), "x-amz-security-token:(removed)", "one cut off at the end");
	tap_is_str(http_tape_scrub_words(&req, "token FQoGZXIvYXdzE: renew it"), "token (removed): renew it", "one cut off in the middle");
	tap_is_str(http_tape_scrub_words(&req, "FQoGZX is short"), "FQoGZX is short", "but no word that only begins alike");
	tap_is_str(http_tape_scrub_words(&req, "No valid host was found"), "No valid host was found", "other words stay");
	tap_is_str(http_tape_scrub_words(&req, ""), "", "none");
}

static void
test_tape(void)
{
	char *path = arena_printf(a, "%s/tape.jsonl", dir), *bytes = NULL;
	struct http_req req = { .arena = a, .url = "https://x.example/list?page=1&X-Amz-Date=1" }, post = { .arena = a, .method = "POST",
		.url = "https://x.example/token" }, later = { .arena = a, .url = "https://x.example/list?page=1&X-Amz-Date=9" };
	struct http_req none = { .arena = a, .url = "https://x.example/other" }, spool = { .arena = a, .url = "https://x.example/list?page=3", .spool = true };
	struct http_resp latin = response("caf\xe9 hunter2-TOKEN password=hunter2-SECRET", NULL), echo = response("you sent hunter2-SECRET", NULL);
	struct http_resp one = response("{\"n\": 1}", NULL), two = response("a\0b", NULL), got;
	struct http_tape *t = NULL;
	struct berth_err err = { 0 };
	char line[32] = "";
	struct stat st;

	tap_code(http_req_header(&req, "Authorization", "Bearer hunter2-TOKEN", true, &err), BERTH_OK, &err);
	tap_code(http_req_body(&post, "application/x-www-form-urlencoded", "client_secret=hunter2-SECRET", 28, &err), BERTH_OK, &err);
	one.headers[one.n_headers++] = (struct http_header){ "X-Subject-Token", "hunter2-SUBJECT", false };
	one.headers[one.n_headers++] = (struct http_header){ "Date", "Mon, 30 Nov 2026 00:00:00 GMT", false };
	two.body_len = 3;
	tap_code(http_tape_record(path, &t, &err), BERTH_OK, &err);
	tap_ok(!http_tape_plays(t), "it records");
	tap_code(http_tape_put(t, "acc", &req, &one, &err), BERTH_OK, &err);
	tap_code(http_tape_put(t, "acc", &req, &two, &err), BERTH_OK, &err);
	one.body = "{\"id_token\": \"hunter2-ID\", \"echo\": \"hunter2-TOKEN\"}";
	one.body_len = strlen(one.body);
	tap_code(http_tape_put(t, "acc", &post, &one, &err), BERTH_OK, &err);
	tap_code(http_tape_put(t, "acc", &post, &echo, &err), BERTH_OK, &err);
	tap_code(http_tape_put(t, "latin", &req, &latin, &err), BERTH_OK, &err);
	http_tape_free(t);
	tap_ok(stat(path, &st) == 0 && (st.st_mode & 0777) == 0600, "the file is its owner's alone");
	tap_code(fileio_slurp(a, path, 1 << 20, &bytes, NULL, &err), BERTH_OK, &err);
	tap_ok(strstr(bytes, "hunter2-S") == NULL && strstr(bytes, "hunter2-I") == NULL, "no secret is in the file");
	tap_code(http_tape_replay(path, &t, &err), BERTH_OK, &err);
	tap_ok(http_tape_plays(t), "it plays");
	tap_code(http_tape_get(t, "acc", &later, &got, &err), BERTH_OK, &err);
	tap_ok(strcmp(got.body, "{\"n\": 1}") == 0 && got.date == T, "the first answer, though the date in the URL is another");
	tap_code(http_tape_get(t, "acc", &req, &got, &err), BERTH_OK, &err);
	tap_ok(got.body_len == 3 && memcmp(got.body, "a\0b", 3) == 0, "then the second, with its NUL");
	tap_code(http_tape_get(t, "acc", &spool, &got, &err), BERTH_OK, &err);
	tap_ok(got.file != NULL && fread(line, 1, 3, got.file) == 3 && memcmp(line, "a\0b", 3) == 0, "then that again, as a file for who wants one");
	if (got.file != NULL)
		fclose(got.file);
	tap_code(http_tape_get(t, "latin", &req, &got, &err), BERTH_OK, &err);
	tap_is_str(got.body, "caf\xe9 (removed) password=(removed)", "bytes that are no UTF-8 are scrubbed too");
	tap_code(http_tape_get(t, "acc", &none, &got, &err), BERTH_ENOTFOUND, &err);
	tap_code(http_tape_get(t, "else", &req, &got, &err), BERTH_ENOTFOUND, &err);
	http_tape_free(t);
	unlink(path);
	tap_code(http_tape_replay(path, &t, &err), BERTH_ENOTFOUND, &err);
}

int
main(void)
{
	a = arena_new();
	snprintf(dir, sizeof(dir), "/tmp/berth-cache-XXXXXX");
	if (mkdtemp(dir) == NULL)
		return 99;
	test_cache();
	test_broken_files();
	test_scrub();
	test_scrub_words();
	test_tape();
	rmdir(dir);
	arena_free(a);
	return tap_done();
}
