/* tests/unit/jsonpull.c - the pull reader against jansson, over every cut between two reads. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/tap.h"
#include "util/buf.h"
#include "util/jsonpull.h"
#include "util/rng.h"

static struct rng rng;

/* A file that gives few bytes at a time. */
struct dribble { const char *p; size_t n, most; };

static ssize_t
dribble_read(void *arg, char *out, size_t n)
{
	struct dribble *d = arg;
	size_t some = 1 + rng_below(&rng, d->most);

	some = some < n ? some : n;
	some = some < d->n ? some : d->n;
	memcpy(out, d->p, some);
	d->p += some;
	d->n -= some;
	return (ssize_t)some;
}

static FILE *
dribble_open(struct dribble *d)
{
	FILE *f = fopencookie(d, "r", (cookie_io_functions_t){ .read = dribble_read });

	setvbuf(f, NULL, _IONBF, 0);
	return f;
}

/* Text of a random document; blanks and escapes where they may stand. */
static void
blanks(struct buf *b)
{
	static const char set[] = " \t\r\n";

	if (rng_below(&rng, 3) != 0)
		return;
	for (uint64_t n = rng_below(&rng, rng_below(&rng, 10) == 0 ? 90 : 4); n > 0; n--)
		buf_add_char(b, set[rng_below(&rng, 4)]);
}

static void
random_string(struct buf *b)
{
	static const char *const parts[] = { "a", "price", "\\\"", "\\\\", "{", "}", "[", "]", ",", ":", "\\n", "\\u00e9", "\xc3\xa9",
		"\\ud83d\\ude00", "\xf0\x9f\x98\x80", " ", "\\/", "0123456789abcdef", "\\\\\\\"", "\\u0001" };
	uint64_t n = rng_below(&rng, 12);

	if (rng_below(&rng, 60) == 0)
		n = 2000;
	buf_add_char(b, '"');
	for (; n > 0; n--)
		buf_add_str(b, parts[rng_below(&rng, sizeof(parts) / sizeof(parts[0]))]);
	buf_add_char(b, '"');
}

static void
random_value(struct buf *b, int depth)
{
	static const char *const words[] = { "true", "false", "null", "0", "-1", "12345678901", "0.5", "-1.25e-3", "1E5" };
	uint64_t kind = rng_below(&rng, depth > 0 ? 4 : 2), n = rng_below(&rng, 6);

	blanks(b);
	if (kind == 0) {
		buf_add_str(b, words[rng_below(&rng, sizeof(words) / sizeof(words[0]))]);
	} else if (kind == 1) {
		random_string(b);
	} else {
		buf_add_char(b, kind == 2 ? '{' : '[');
		for (uint64_t i = 0; i < n; i++) {
			if (i > 0)
				buf_add_char(b, ',');
			if (kind == 2) {
				blanks(b);
				buf_printf(b, "\"k%d\"", (int)i);
				blanks(b);
				buf_add_char(b, ':');
			}
			random_value(b, depth - 1);
		}
		blanks(b);
		buf_add_char(b, kind == 2 ? '}' : ']');
	}
	blanks(b);
}

/* The tree that the tokens tell. NULL: an error is kept. */
static json_t *
rebuild(struct jsonpull *p, enum jsonpull_type t)
{
	json_t *v, *item;
	char *key;

	switch (t) {
	case JSONPULL_STRING:
		return json_stringn(p->text, p->len);
	case JSONPULL_NUMBER:
		v = json_loads(p->text, JSON_DECODE_ANY, NULL);
		if (v == NULL)
			jsonpull_fail(p, "a number out of range");
		return v;
	case JSONPULL_TRUE:
		return json_true();
	case JSONPULL_FALSE:
		return json_false();
	case JSONPULL_NULL:
		return json_null();
	case JSONPULL_OBJECT:
		v = json_object();
		while (jsonpull_key(p)) {
			key = strdup(p->text);
			item = rebuild(p, jsonpull_next(p));
			if (item != NULL)
				json_object_set_new(v, key, item);
			free(key);
			if (item == NULL)
				break;
		}
		return v;
	case JSONPULL_ARRAY:
		v = json_array();
		while (jsonpull_more(p)) {
			item = rebuild(p, jsonpull_next(p));
			if (item == NULL)
				break;
			json_array_append_new(v, item);
		}
		return v;
	case JSONPULL_END: case JSONPULL_ERROR: case JSONPULL_OBJECT_END: case JSONPULL_ARRAY_END: case JSONPULL_KEY:
		break;
	}
	return NULL;
}

/* The whole document by tokens; NULL if it is refused. most: bytes a read, 0: from memory. */
static json_t *
pull(const char *s, size_t n, size_t most, struct berth_err *err)
{
	struct dribble d = { s, n, most };
	FILE *f = most > 0 ? dribble_open(&d) : NULL;
	struct jsonpull p;
	json_t *v;

	if (f != NULL)
		jsonpull_file(&p, f, "doc");
	else
		jsonpull_bytes(&p, s, n, "doc");
	v = rebuild(&p, jsonpull_next(&p));
	(void)jsonpull_next(&p);
	if (jsonpull_close(&p, err) != BERTH_OK) {
		json_decref(v);
		v = NULL;
	}
	if (f != NULL)
		fclose(f);
	return v;
}

static void
test_same(void)
{
	static const size_t most[] = { 0, 1, 7, 70, 5000 };
	struct berth_err err = { 0 };
	int bad = 0, big = 0;
	struct buf b;

	buf_init(&b, 1 << 26);
	for (int i = 0; i < 300; i++) {
		json_t *want, *have;

		buf_clear(&b);
		random_value(&b, 2 + (int)rng_below(&rng, 5));
		big += b.len > 5000;
		want = json_loadb(b.p, b.len, JSON_DECODE_ANY, NULL);
		have = pull(b.p, b.len, most[i % 5], &err);
		if (want == NULL || have == NULL || !json_equal(want, have)) {
			bad++;
			tap_diag("%s: %.300s", have == NULL ? err.msg : "differs", b.p);
		}
		json_decref(want);
		json_decref(have);
	}
	tap_ok(bad == 0 && big > 10, "300 documents are what jansson reads, %d of them over 5 kB", big);
	buf_free(&b);
}

/* One byte of a document changed, or the document cut: refused by both or by none. */
static void
test_damaged(void)
{
	static const char bytes[] = "{}[],:\"\\ 0-1.eEtfnu\x01\xc3\xff";
	int refused = 0, bad = 0;
	struct buf b;

	buf_init(&b, 1 << 26);
	for (int i = 0; i < 4000; i++) {
		struct berth_err err = { 0 };
		json_t *want, *have;
		size_t n;

		buf_clear(&b);
		random_value(&b, 3);
		n = b.len;
		if (n == 0)
			continue;
		if (i % 4 == 0)
			n = rng_below(&rng, n);
		else
			b.p[rng_below(&rng, n)] = bytes[rng_below(&rng, sizeof(bytes) - 1)];
		want = json_loadb(b.p, n, JSON_DECODE_ANY, NULL);
		have = pull(b.p, n, rng_below(&rng, 3) * 5, &err);
		refused += want == NULL;
		if ((want == NULL) != (have == NULL) || (want != NULL && !json_equal(want, have)) ||
		    (have == NULL && (err.msg[0] == '\0' || strstr(err.where, "doc:byte ") == NULL))) {
			bad++;
			tap_diag("jansson %s, we %s: %.*s", want ? "accepts" : "refuses", have ? "accept" : err.msg, (int)n, b.p);
		}
		json_decref(want);
		json_decref(have);
	}
	tap_ok(bad == 0 && refused > 1000, "4000 damaged documents: refused by both (%d) or by none", refused);
	buf_free(&b);
}

/* {"a": X, "b": 7}: X is passed, whatever its strings hold and wherever a read ends. */
static void
test_skip(void)
{
	int bad = 0;
	struct buf b;

	buf_init(&b, 1 << 26);
	for (int i = 0; i < 600; i++) {
		struct dribble d;
		struct berth_err err = { 0 };
		struct jsonpull p;
		FILE *f;
		int seven = 0;

		buf_clear(&b);
		buf_add_str(&b, "{\"a\":");
		random_value(&b, 2 + i % 5);
		buf_add_str(&b, ",\"c\":[1,");
		random_value(&b, 2 + i % 5);
		buf_add_str(&b, "],\"b\":7}");
		d = (struct dribble){ b.p, b.len, 1 + (size_t)i % 200 };
		f = dribble_open(&d);
		jsonpull_file(&p, f, "doc");
		for (bool go = jsonpull_object(&p); go && jsonpull_key(&p); )
			if (jsonpull_is(&p, "b")) {
				seven = jsonpull_text(&p) && jsonpull_is(&p, "7");
			} else if (jsonpull_is(&p, "c") && jsonpull_array(&p)) {
				(void)jsonpull_text(&p);
				jsonpull_leave(&p);
			} else {
				jsonpull_skip(&p);
			}
		bad += !seven || jsonpull_next(&p) != JSONPULL_END;
		bad += jsonpull_close(&p, &err) != BERTH_OK;
		fclose(f);
	}
	tap_is_long(bad, 0, "600 documents skipped through to their last member");
	buf_free(&b);
}

static void
test_trees(void)
{
	static const char text[] = "{\"x\": [{\"n\": 1, \"s\": \"]\"}, 2, \"three\", null, true], \"y\": {\"z\": []}, \"w\": 4}";
	json_t *want = json_loads(text, 0, NULL), *have = json_object();
	struct dribble d = { text, strlen(text), 3 };
	FILE *f = dribble_open(&d);
	struct berth_err err = { 0 };
	struct jsonpull p;

	jsonpull_file(&p, f, "doc");
	if (jsonpull_object(&p))
		while (jsonpull_key(&p)) {
			char key[2] = { p.text[0], '\0' };
			json_t *list = json_array();

			if (key[0] == 'x' && jsonpull_array(&p)) {
				while (jsonpull_more(&p))
					json_array_append_new(list, jsonpull_tree(&p));
				json_object_set(have, key, list);
			} else {
				json_object_set_new(have, key, jsonpull_tree(&p));
			}
			json_decref(list);
		}
	tap_code(jsonpull_close(&p, &err), BERTH_OK, &err);
	tap_ok(json_equal(want, have), "values as trees are what the document says");
	fclose(f);
	json_decref(want);
	json_decref(have);
}

static void
refused(const char *text, size_t n, const char *where, const char *why)
{
	struct berth_err err = { 0 };
	json_t *v = pull(text, n, 0, &err);

	tap_ok(v == NULL && err.code == BERTH_EINVAL && strcmp(err.where, where) == 0 && strstr(err.msg, why) != NULL,
	    "%s at %s: %s", why, where, err.msg);
	json_decref(v);
}

static void
test_limits(void)
{
	size_t n = (size_t)20 * 1024 * 1024;
	struct berth_err err = { 0 };
	char *big = malloc(n + 1);
	struct jsonpull p;
	json_t *v;

	memset(big, '[', 70);
	refused(big, 70, "doc:byte 64", "deeper than 64");
	memset(big, '[', 64);
	memset(big + 64, ']', 64);
	v = pull(big, 128, 0, &err);
	tap_ok(v != NULL, "64 levels are none too many");
	json_decref(v);
	for (size_t most = 0; most < 3; most++) {
		v = pull("\xef\xbb\xbf{\"a\":1}", 10, most, &err);
		tap_ok(v != NULL && json_object_size(v) == 1, "a byte order mark is skipped, %zu bytes a read", most);
		json_decref(v);
	}
	refused("\xef\xbb\xbf\xef\xbb\xbf{}", 8, "doc:byte 3", "");
	memset(big, '[', n);
	jsonpull_bytes(&p, big, n, "doc");
	(void)jsonpull_next(&p);
	jsonpull_leave(&p);
	tap_ok(p.type == JSONPULL_ERROR && strstr(p.why, "deeper") != NULL, "nor is depth unlimited in what is skipped");
	tap_code(jsonpull_close(&p, &err), BERTH_EINVAL, &err);
	memset(big, 'x', n);
	memcpy(big, "{\"s\":\"", 6);
	memcpy(big + n - 2, "\"}", 2);
	jsonpull_bytes(&p, big, n, "doc");
	tap_ok(jsonpull_object(&p) && jsonpull_key(&p) && !jsonpull_text(&p), "a string of 20 MiB is refused");
	tap_code(jsonpull_close(&p, &err), BERTH_EINVAL, &err);
	memset(big + n - 2, 'x', 2);
	memcpy(big + 6 + 15 * 1024 * 1024, "\",\"t\":{", 7);
	jsonpull_bytes(&p, big, n, "doc");
	tap_ok(jsonpull_object(&p) && jsonpull_key(&p) && jsonpull_text(&p) && p.len == 15 * 1024 * 1024,
	    "one of 15 MiB is read");
	(void)jsonpull_key(&p);
	jsonpull_skip(&p);
	tap_ok(p.type == JSONPULL_ERROR && strstr(p.why, "cut") != NULL, "what is skipped must end: %s", p.why);
	tap_code(jsonpull_close(&p, &err), BERTH_EINVAL, &err);
	free(big);
}

int
main(void)
{
	struct berth_err err = { 0 };
	struct jsonpull p;

	rng_seed(&rng, 20261130);
	test_same();
	test_damaged();
	test_skip();
	test_trees();
	refused("{\"a\":1,}", 8, "doc:byte 7", "a comma before");
	refused("{\"a\" 1}", 7, "doc:byte 5", "no colon");
	refused("[1 2]", 5, "doc:byte 3", "no comma");
	refused("[01]", 4, "doc:byte 1", "no value");
	refused("[1}", 3, "doc:byte 2", "opens nothing");
	refused("{} {}", 5, "doc:byte 3", "bytes behind");
	refused("[\"a\tb\"]", 7, "doc:byte 2", "control character");
	refused("[\"\\u0000\"]", 10, "doc:byte 1", "bad escape");
	refused("[\"\\ud800x\"]", 11, "doc:byte 1", "bad escape");
	refused("[1\0]", 4, "doc:byte 2", "no comma");
	refused("", 0, "doc:byte 0", "cut");
	test_limits();
	jsonpull_bytes(&p, "[1,2]", 5, "doc");
	(void)jsonpull_array(&p);
	jsonpull_fail(&p, "no %s in it", "price");
	tap_ok(!jsonpull_more(&p) && jsonpull_next(&p) == JSONPULL_ERROR, "an error of the caller's ends it too");
	tap_code(jsonpull_close(&p, &err), BERTH_EINVAL, &err);
	tap_is_str(err.msg, "doc: no price in it", "in its words");
	return tap_done();
}
