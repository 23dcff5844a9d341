/* tests/unit/sign.c - signatures against published cases (shared) and against what the official clients made (ours). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/sign.h"
#include "tests/tap.h"
#include "util/arena.h"
#include "util/fileio.h"
#include "util/json.h"
#include "util/str.h"
#include "util/time.h"

static struct arena *a;
static const char *shared;
static struct berth_err err;

static const char *
str(const json_t *o, const char *key)
{
	return json_string_value(json_object_get(o, key));
}

static json_t *
load(const char *path)
{
	json_error_t e;

	return json_load_file(path, 0, &e);
}

static json_t *
vectors(const char *name, long n)
{
	json_t *v = load(arena_printf(a, "%s/vectors/%s", shared, name));

	if (v == NULL)
		tap_skip(arena_printf(a, "%s: %ld published cases", name, n), "no shared data");
	return v;
}

/* Headers as [[name, value]...] or {name: value}; straight into the request, for a published one has a folded line. */
static void
set_headers(struct http_req *req, const json_t *headers)
{
	const char *key;
	json_t *v;
	size_t i;

	json_array_foreach(headers, i, v)
		req->headers[req->n_headers++] = (struct http_header){ json_string_value(json_array_get(v, 0)),
			json_string_value(json_array_get(v, 1)), false };
	if (json_is_object(headers))
		json_object_foreach((json_t *)(uintptr_t)headers, key, v)
			req->headers[req->n_headers++] = (struct http_header){ key, json_string_value(v), false };
}

static struct http_req
request(const char *method, const char *url, const char *body)
{
	return (struct http_req){ .arena = a, .method = method, .url = url, .body = body, .body_len = body != NULL ? strlen(body) : 0 };
}

static int64_t
instant(const char *s)
{
	int64_t t = 0;

	tap_code(time_parse(s, 0, NULL, TIME_ABSOLUTE, &t, &err), BERTH_OK, &err);
	return t;
}

static bool
text_is(const struct sign_text *t, const json_t *want)
{
	bool ok = str_eq(t->canonical, str(want, "canonical_request")) && str_eq(t->to_sign, str(want, "string_to_sign")) &&
	    str_eq(t->signature, str(want, "signature"));

	if (!ok)
		tap_diag("got\n%s\n%s\n%s", t->canonical, t->to_sign, t->signature);
	return ok;
}

static void
test_v4_case(const json_t *c, int64_t now, long *header, long *query)
{
	const json_t *ctx = json_object_get(c, "context"), *r = json_object_get(c, "request"), *keys = json_object_get(ctx, "credentials");
	const char *url = arena_printf(a, "https://example.amazonaws.com%s", str(r, "target"));
	struct http_req req = request(str(r, "method"), url, str(r, "body"));
	struct sign_v4 s = { .keys = { str(keys, "access_key_id"), str(keys, "secret_access_key"), str(keys, "token") },
		.region = str(ctx, "region"), .service = str(ctx, "service"), .now = now,
		.raw_path = json_is_false(json_object_get(ctx, "normalize")), .body_header = json_is_true(json_object_get(ctx, "sign_body")),
		.token_unsigned = json_is_true(json_object_get(ctx, "omit_session_token")), .expires_s = 3600 };
	struct sign_text t = { "", "", "" };
	bool ok;

	set_headers(&req, json_object_get(r, "headers"));
	if (json_object_get(c, "header") != NULL) {
		ok = sign_v4(&req, &s, &t, &err) == BERTH_OK && text_is(&t, json_object_get(c, "header")) &&
		    str_eq(http_req_get_header(&req, "Authorization"), str(json_object_get(c, "header"), "authorization"));
		*header += ok;
		ok = ok && sign_v4(&req, &s, &t, &err) == BERTH_OK && text_is(&t, json_object_get(c, "header"));
		tap_ok(ok, "%s, signed twice", str(c, "name"));
	}
	if (json_object_get(c, "query") == NULL)
		return;
	req = request(str(r, "method"), url, str(r, "body"));
	set_headers(&req, json_object_get(r, "headers"));
	ok = sign_v4_url(&req, &s, &t, &err) == BERTH_OK && text_is(&t, json_object_get(c, "query")) &&
	    strstr(req.url, arena_printf(a, "&X-Amz-Signature=%s", t.signature)) != NULL;
	*query += ok;
	tap_ok(ok, "%s, as a URL", str(c, "name"));
}

static void
test_v4(const char *file, long n_header, long n_query)
{
	json_t *v = vectors(file, n_header + n_query), *c;
	long header = 0, query = 0;
	int64_t now;
	size_t i;

	if (v == NULL)
		return;
	now = instant("2015-08-30T12:36:00Z");
	json_array_foreach(json_object_get(v, "cases"), i, c)
		test_v4_case(c, now, &header, &query);
	tap_is_long(header, n_header, "%s: all with headers", file);
	tap_is_long(query, n_query, "%s: all as URLs", file);
	json_decref(v);
}

static void
test_tc3(void)
{
	json_t *v = vectors("tencent_tc3.json", 5), *c;
	size_t i;

	json_array_foreach(v != NULL ? json_object_get(v, "cases") : NULL, i, c) {
		const json_t *r = json_object_get(c, "request"), *keys = json_object_get(c, "credentials");
		const char *query = str(r, "query");
		struct http_req req = request(str(r, "method"), arena_printf(a, "https://%s/%s%s", str(r, "host"), query[0] != '\0' ? "?" : "",
		    query), str(r, "payload"));
		struct sign_tc3 s = { .keys = { str(keys, "secret_id"), str(keys, "secret_key"), NULL }, .service = str(c, "service"),
			.now = json_integer_value(json_object_get(c, "timestamp")),
			.action = json_array_size(json_object_get(c, "signed_headers")) == 3 };
		struct sign_text t = { "", "", "" };

		tap_code(http_req_header(&req, "Content-Type", str(r, "content_type"), false, &err), BERTH_OK, &err);
		tap_code(http_req_header(&req, "X-TC-Action", str(c, "action"), false, &err), BERTH_OK, &err);
		tap_code(sign_tc3(&req, &s, &t, &err), BERTH_OK, &err);
		tap_ok(text_is(&t, json_object_get(c, "expected")), "TC3 %s", str(c, "name"));
		tap_is_str(http_req_get_header(&req, "Authorization"), str(json_object_get(c, "expected"), "authorization"), "TC3 header");
	}
	json_decref(v);
}

static const char *
url_of(const char *host, const char *path, const json_t *query)
{
	struct sign_pair pairs[16];
	size_t n = 0, i;
	const char *key;
	json_t *v;

	json_array_foreach(query, i, v)
		pairs[n++] = (struct sign_pair){ json_string_value(json_array_get(v, 0)), json_string_value(json_array_get(v, 1)) };
	if (json_is_object(query))
		json_object_foreach((json_t *)(uintptr_t)query, key, v)
			pairs[n++] = (struct sign_pair){ key, json_string_value(v) };
	return arena_printf(a, "https://%s%s?%s", host, path, sign_query(a, pairs, n));
}

static void
test_acs3(void)
{
	json_t *v = vectors("alibaba_acs3.json", 3), *c;
	size_t i;

	json_array_foreach(v != NULL ? json_object_get(v, "cases") : NULL, i, c) {
		const json_t *r = json_object_get(c, "request"), *keys = json_object_get(c, "credentials");
		struct http_req req = request(str(r, "method"), url_of("h", str(r, "path"), json_object_get(r, "query")), str(r, "body"));
		struct sign_acs3 s = { .keys = { str(keys, "access_key_id"), str(keys, "access_key_secret"), str(keys, "security_token") },
			.as_is = true, .payload_hash = str(r, "payload_hash") };
		struct sign_text t = { "", "", "" };

		set_headers(&req, json_object_get(r, "headers"));
		tap_code(sign_acs3(&req, &s, &t, &err), BERTH_OK, &err);
		tap_ok(text_is(&t, json_object_get(c, "expected")), "ACS3 %s", str(c, "name"));
		tap_is_str(http_req_get_header(&req, "Authorization"), str(json_object_get(c, "expected"), "authorization"), "ACS3 header");
	}
	json_decref(v);
}

static void
test_sdk(void)
{
	json_t *v = vectors("huawei_sdk_hmac.json", 9), *c;
	const json_t *q = v != NULL ? json_object_get(v, "canonical_query_case") : NULL;
	size_t i;

	if (q != NULL)
		tap_is_str(strchr(url_of("h", "/", json_object_get(q, "params")), '?') + 1, str(q, "expected"), "SDK-HMAC query");
	json_array_foreach(v != NULL ? json_object_get(v, "cases") : NULL, i, c) {
		const json_t *r = json_object_get(c, "request"), *keys = json_object_get(c, "credentials"), *d = json_object_get(r, "derived");
		const char *host = str(r, "host") != NULL ? str(r, "host") : "h";
		struct http_req req = request(str(r, "method"), url_of(host, str(r, "path"), json_object_get(r, "query")), str(r, "body"));
		struct sign_sdk s = { .keys = { str(keys, "ak"), str(keys, "sk"), NULL }, .no_host = !json_is_true(json_object_get(r, "signhost")),
			.no_content_type = json_is_true(json_object_get(r, "skip_ct")), .service = json_string_value(json_array_get(d, 0)),
			.region = json_string_value(json_array_get(d, 1)) };
		struct sign_text t = { "", "", "" };
		struct time_civil w = { 0 };

		set_headers(&req, json_object_get(r, "headers"));
		tap_ok(sscanf(http_req_get_header(&req, "X-Sdk-Date"), "%4d%2d%2dT%2d%2d%2dZ", &w.year, &w.month, &w.day, &w.hour,
		    &w.minute, &w.second) == 6, "its clock");
		s.now = time_from_civil(w);
		tap_code(sign_sdk(&req, &s, &t, &err), BERTH_OK, &err);
		tap_ok(text_is(&t, json_object_get(c, "expected")), "SDK-HMAC %s", str(c, "name"));
		tap_is_str(http_req_get_header(&req, "Authorization"), str(c, "published_authorization"), "SDK-HMAC header");
	}
	json_decref(v);
}

static void
test_oci(void)
{
	json_t *v = vectors("oci_http_signature.json", 3), *c;
	size_t i;

	json_array_foreach(v != NULL ? json_object_get(v, "cases") : NULL, i, c) {
		const json_t *r = json_object_get(c, "request");
		struct http_req req = request(str(r, "method"), arena_printf(a, "https://%s%s", str(r, "host"), str(r, "target")), str(r, "body"));
		struct sign_oci s = { .key_id = arena_printf(a, "%s/%s/%s", str(v, "tenancy"), str(v, "user"), str(v, "fingerprint")),
			.key_pem = str(v, "published_example_private_key_pem"), .date = str(r, "date") };
		struct sign_text t = { "", "", "" };

		if (str(r, "content_type") != NULL)
			tap_code(http_req_header(&req, "Content-Type", str(r, "content_type"), false, &err), BERTH_OK, &err);
		tap_code(sign_oci(&req, &s, &t, &err), BERTH_OK, &err);
		tap_is_str(t.to_sign, str(json_object_get(c, "expected"), "signing_string"), "OCI %s", str(c, "name"));
		tap_is_str(http_req_get_header(&req, "Authorization"), str(json_object_get(c, "expected"), "authorization"), "OCI header");
	}
	json_decref(v);
}

static void
test_jwt(void)
{
	json_t *v = vectors("gcp_jwt_rs256.json", 2), *c;
	size_t i;

	json_array_foreach(v != NULL ? json_object_get(v, "cases") : NULL, i, c) {
		char *jwt = NULL;

		tap_code(sign_jwt_rs256(a, str(json_object_get(v, "service_account_json"), "private_key"), str(c, "header_json"),
		    str(c, "claims_json"), &jwt, &err), BERTH_OK, &err);
		tap_is_str(jwt, str(c, "jwt"), "RS256 %s", str(c, "name"));
	}
	json_decref(v);
	tap_code(sign_jwt_rs256(a, "-----BEGIN PRIVATE KEY-----\nno\n-----END PRIVATE KEY-----\n", "{}", "{}", &(char *){ NULL }, &err),
	    BERTH_EAUTH, &err);
}

/* One case of ours: berth signs the bare request and must add what the official client added. */
static enum berth_code
sign_own(const json_t *root, const json_t *c, struct http_req *req)
{
	const char *scheme = str(c, "scheme");
	const struct sign_keys keys = { str(root, "id"), str(root, "secret"), str(c, "token") };
	int64_t now = json_integer_value(json_object_get(root, "now")), expires = json_integer_value(json_object_get(c, "expires"));

	if (str_eq(scheme, "v4")) {
		struct sign_v4 s = { .keys = keys, .region = str(c, "region"), .service = str(c, "service"), .now = now, .expires_s = (int)expires };

		return expires > 0 ? sign_v4_url(req, &s, NULL, &err) : sign_v4(req, &s, NULL, &err);
	}
	if (str_eq(scheme, "tc3"))
		return sign_tc3(req, &(struct sign_tc3){ .keys = keys, .service = str(c, "service"), .now = now }, NULL, &err);
	if (str_eq(scheme, "acs3"))
		return sign_acs3(req, &(struct sign_acs3){ .keys = keys, .nonce = str(c, "nonce"), .now = now }, NULL, &err);
	if (str_eq(scheme, "sdk"))
		return sign_sdk(req, &(struct sign_sdk){ .keys = keys, .now = now, .region = str(c, "region"),
		    .service = str(c, "service") }, NULL, &err);
	return sign_oci(req, &(struct sign_oci){ .key_id = str(c, "key_id"), .key_pem = str(root, "private_key"), .now = now }, NULL, &err);
}

/* The parts of an Authorization header in any order and any case of their names, as its readers take it. */
static char *
authorization(const char *s)
{
	const char *open = strchr(s, ' ');
	char **part, *out;
	size_t n = 0;

	if (open == NULL || !str_starts(s, "Signature "))
		return arena_strdup(a, s);
	part = str_split(a, open + 1, ',', &n);
	for (size_t i = 0; i < n; i++)		/* few: a plain sort */
		for (size_t k = i + 1; k < n; k++)
			if (strcmp(part[k], part[i]) < 0) {
				char *swap = part[i];

				part[i] = part[k];
				part[k] = swap;
			}
	out = str_join(a, (const char *const *)part, n, ",");
	return out;
}

static bool
same_query(const char *x, const char *y)
{
	size_t nx, ny, hits = 0;
	char **px = str_split(a, strchr(x, '?') + 1, '&', &nx), **py = str_split(a, strchr(y, '?') + 1, '&', &ny);

	for (size_t i = 0; i < nx; i++)
		hits += str_index(px[i], (const char *const *)py) >= 0;
	return nx == ny && hits == nx && strcspn(x, "?") == strcspn(y, "?") && strncmp(x, y, strcspn(x, "?")) == 0;
}

static void
test_own(void)
{
	const char *top = getenv("TOP_SRCDIR"), *key;
	json_t *root = load(arena_printf(a, "%s/tests/unit/sign_cases.json", top != NULL ? top : ".")), *c, *v;
	size_t i;

	tap_ok(root != NULL, "our own cases are there");
	json_array_foreach(json_object_get(root, "cases"), i, c) {
		struct http_req req = request(str(c, "method"), str(c, "url"), str(c, "body"));
		char *jwt = NULL;

		if (str_eq(str(c, "scheme"), "jwt")) {
			tap_code(sign_jwt_rs256(a, str(root, "private_key"), str(c, "header"), str(c, "claims"), &jwt, &err), BERTH_OK, &err);
			tap_is_str(jwt, str(c, "jwt"), "%s", str(c, "name"));
			continue;
		}
		set_headers(&req, json_object_get(c, "headers"));
		tap_code(sign_own(root, c, &req), BERTH_OK, &err);
		json_object_foreach(json_object_get(c, "added"), key, v)
			if (str_eq(key, "url"))
				tap_ok(same_query(req.url, json_string_value(v)), "%s: %s", str(c, "name"), req.url);
			else if (str_eq(key, "Authorization"))
				tap_is_str(authorization(http_req_get_header(&req, key)), authorization(json_string_value(v)), "%s %s: %s",
				    str(c, "scheme"), str(c, "name"), key);
			else
				tap_is_str(http_req_get_header(&req, key), json_string_value(v), "%s: %s", str(c, "name"), key);
	}
	json_decref(root);
}

/* Sorting before encoding, or as "key=value", "+" for a blank, "*" left bare, an empty value lost. */
static void
test_query(void)
{
	static const struct sign_pair pairs[] = { { "Action", "DescribeSpotPriceHistory" },
		{ "ProductDescription.1", "Linux/UNIX (Amazon VPC)" }, { "StartTime", "2026-11-30T00:00:00Z" }, { "Version", "2016-11-15" },
		{ "Filter.1.Name", "availability-zone" }, { "DryRun", "" }, { "a-b", "1" }, { "a", "2" }, { "q", "~x y+z*" },
		{ "n", "caf\xc3\xa9" } };
	const char *want = "Action=DescribeSpotPriceHistory&DryRun=&Filter.1.Name=availability-zone&ProductDescription.1=Linux%2FUNIX%20"
	    "%28Amazon%20VPC%29&StartTime=2026-11-30T00%3A00%3A00Z&Version=2016-11-15&a=2&a-b=1&n=caf%C3%A9&q=~x%20y%2Bz%2A";
	char *q = sign_query(a, pairs, sizeof(pairs) / sizeof(pairs[0]));
	struct http_req req = request("GET", arena_printf(a, "https://h/?%s", q), NULL);
	struct sign_text t;
	struct sign_v4 s = { .keys = { "i", "s", NULL }, .region = "r", .service = "v" };

	tap_is_str(q, want, "the query sent");
	tap_code(sign_v4(&req, &s, &t, &err), BERTH_OK, &err);
	tap_ok(strstr(t.canonical, arena_printf(a, "\n%s\n", want)) != NULL, "the query signed");
	req.url = "nothing";
	tap_code(sign_v4(&req, &s, &t, &err), BERTH_EINVAL, &err);
}

/* get-vanilla of the published suite, with the secret as files spell it. */
static void
test_keys(void)
{
	static const char *const texts[] = { "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY\r\n", "\xef\xbb\xbfwJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY",
		" wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY\t\n\n" };
	char *key = NULL;

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct http_req req = request("GET", "https://example.amazonaws.com/", NULL);
		struct sign_v4 s = { .region = "us-east-1", .service = "service", .now = INT64_C(1440938160) };
		struct sign_text t = { "", "", "" };

		tap_code(sign_key_text(a, "secret", texts[i], &key, &err), BERTH_OK, &err);
		s.keys = (struct sign_keys){ "AKIDEXAMPLE", key, NULL };
		tap_code(sign_v4(&req, &s, &t, &err), BERTH_OK, &err);
		tap_is_str(t.signature, "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31", "get-vanilla, spelling %zu", i);
	}
	tap_code(sign_key_text(a, "secret", "wJalr\rXUt", &key, &err), BERTH_EAUTH, &err);
	tap_ok(strstr(err.msg, "secret") != NULL && strstr(err.msg, "wJal") == NULL, "the refusal names the thing, not the text: %s", err.msg);
	tap_code(sign_key_text(a, "secret", "wJalr\x7fXUt", &key, &err), BERTH_EAUTH, &err);
	tap_code(sign_key_text(a, "secret", "a\nb", &key, &err), BERTH_EAUTH, &err);
	tap_code(sign_key_text(a, "secret", " \r\n", &key, &err), BERTH_EAUTH, &err);
}

int
main(void)
{
	const char *top = getenv("TOP_SRCDIR");

	a = arena_new();
	shared = getenv("BERTH_SHARED");
	if (shared == NULL)
		shared = arena_printf(a, "%s/../shared", top != NULL ? top : ".");
	test_query();
	test_keys();
	test_own();
	test_v4("aws_sigv4_crt_suite.json", 38, 38);
	test_v4("aws_sigv4_classic_suite.json", 34, 0);
	test_tc3();
	test_acs3();
	test_sdk();
	test_oci();
	test_jwt();
	arena_free(a);
	return tap_done();
}
