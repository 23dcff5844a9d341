#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/tap.h"
#include "util/hash.h"
#include "util/json.h"
#include "util/yaml.h"

static void
write_sample(struct jsonw *w)
{
	jsonw_begin_object(w, NULL);
	jsonw_str(w, "schema", "berth.test/1");
	jsonw_begin_array(w, "rows");
	jsonw_begin_object(w, NULL);
	jsonw_str(w, "name", "a \"b\"\n\x01\xff");
	jsonw_money(w, "price", (struct usd_micro){ 2990000 });
	jsonw_money(w, "unknown", USD_UNKNOWN);
	jsonw_time(w, "at", 1796032800);
	jsonw_time_or_null(w, "never", 0);
	jsonw_end_object(w);
	jsonw_begin_object(w, NULL);
	jsonw_end_object(w);
	jsonw_begin_array(w, NULL);
	jsonw_int(w, NULL, -5);
	jsonw_double(w, NULL, 0.1);
	jsonw_double(w, NULL, (double)NAN);
	jsonw_fixed(w, NULL, 2.0 / 3, 3);
	jsonw_end_array(w);
	jsonw_end_array(w);
	jsonw_begin_array(w, "none");
	jsonw_end_array(w);
	jsonw_bool(w, "yes", true);
	jsonw_str(w, "word", "plain text");
	jsonw_str(w, "no", "no");
	jsonw_str_or_null(w, "empty", "");
	jsonw_raw(w, "labels", "{\"team\":\"nlp\",\"n\":[1,2.5]}");
	jsonw_end_object(w);
}

static void
test_layout(void)
{
	static const struct { enum jsonw_format format; const char *want; } t[] = {
		{ JSONW_COMPACT, "{\"schema\":\"berth.test/1\",\"rows\":[{\"name\":\"a \\\"b\\\"\\n\\u0001\xef\xbf\xbd\","
		    "\"price\":2.990000,\"unknown\":null,\"at\":\"2026-11-30T10:00:00Z\",\"never\":null},{},"
		    "[-5,0.1,null,0.667]],\"none\":[],\"yes\":true,\"word\":\"plain text\",\"no\":\"no\",\"empty\":null,"
		    "\"labels\":{\"team\":\"nlp\",\"n\":[1,2.5]}}" },
		{ JSONW_PRETTY, "{\n  \"schema\": \"berth.test/1\",\n  \"rows\": [\n    {\n"
		    "      \"name\": \"a \\\"b\\\"\\n\\u0001\xef\xbf\xbd\",\n      \"price\": 2.990000,\n"
		    "      \"unknown\": null,\n      \"at\": \"2026-11-30T10:00:00Z\",\n      \"never\": null\n    },\n"
		    "    {},\n    [\n      -5,\n      0.1,\n      null,\n      0.667\n    ]\n  ],\n  \"none\": [],\n"
		    "  \"yes\": true,\n  \"word\": \"plain text\",\n  \"no\": \"no\",\n  \"empty\": null,\n"
		    "  \"labels\": {\n    \"team\": \"nlp\",\n    \"n\": [\n      1,\n      2.5\n    ]\n  }\n}\n" },
		{ JSONW_YAML, "schema: berth.test/1\nrows:\n  - name: \"a \\\"b\\\"\\n\\u0001\xef\xbf\xbd\"\n"
		    "    price: 2.990000\n    unknown: null\n    at: \"2026-11-30T10:00:00Z\"\n    never: null\n"
		    "  - {}\n  - - -5\n    - 0.1\n    - null\n    - 0.667\nnone: []\n\"yes\": true\nword: plain text\n"
		    "\"no\": \"no\"\nempty: null\nlabels:\n  team: nlp\n  \"n\":\n    - 1\n    - 2.5\n" },
	};
	struct berth_err err = { 0 };

	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		struct jsonw w;
		struct buf b;

		buf_init(&b, 10000);
		jsonw_init_buf(&w, &b, t[i].format);
		write_sample(&w);
		tap_code(jsonw_finish(&w, &err), BERTH_OK, &err);
		tap_is_str(b.p, t[i].want, "layout %d", (int)t[i].format);
		buf_free(&b);
	}
}

/* A whole number beyond 64 bits, in a field that nobody asks for, spoils no document; in one that is asked for it is too big. */
static void
test_beyond(void)
{
	static const char in[] = "{\"id\":18446744073709548794,\"s\":\"x 18446744073709548794\",\"price\":2.48,\"neg\":-99999999999999999999,"
	    "\"long\":0.12345678901234567890123,\"v\":[123456789012345678901],\"n\":9223372036854775807}";
	struct berth_err err = { 0 };
	const char *s = "";
	json_t *v = NULL;
	struct jsonr root;
	double price = 0;
	int64_t i = 0;

	tap_code(jsonr_parse(in, sizeof(in) - 1, "x.json", &v, &err), BERTH_OK, &err);
	root = jsonr_root(v, "x.json");
	tap_ok(jsonr_double(&root, "price", &price, &err) == BERTH_OK && price == 2.48, "the field beside it is read");
	tap_ok(jsonr_str(&root, "s", &s, &err) == BERTH_OK && strcmp(s, "x 18446744073709548794") == 0, "a text is left as it is");
	tap_ok(jsonr_int(&root, "n", 0, INT64_MAX, &i, &err) == BERTH_OK && i == INT64_MAX, "the largest of 64 bits is exact");
	tap_ok(jsonr_int(&root, "id", 0, INT64_MAX, &i, &err) == BERTH_EINVAL, "asked for: %s", err.msg);
	tap_near(json_real_value(json_object_get(v, "long")), 0.12345678901234568, 1e-16, "many digits behind the point");
	tap_near(json_real_value(json_object_get(v, "id")), 18446744073709548794.0, 1e5, "about that");
	json_decref(v);
}

static void
test_failures(void)
{
	FILE *full = fopen("/dev/full", "w");
	struct berth_err err = { 0 };
	struct jsonw w;
	struct buf b;

	buf_init(&b, 100);
	jsonw_init_buf(&w, &b, JSONW_PRETTY);
	write_sample(&w);
	tap_code(jsonw_finish(&w, &err), BERTH_EINVAL, &err);
	buf_free(&b);
	if (full == NULL) {
		tap_skip("full disk", "no /dev/full");
		return;
	}
	jsonw_init(&w, full, JSONW_PRETTY);
	write_sample(&w);
	tap_code(jsonw_finish(&w, &err), BERTH_EIO, &err);
	fclose(full);
}

static json_t *
random_tree(uint64_t x, int depth)
{
	static const char *const strings[] = { "", "a", "no", "1.5", "\xf0\x9f\x9a\xa2", "quote\" back\\slash", "l1\nl2",
		" lead", "trail ", "key: value", "- x", "#c", "\x7f\xc2\x85\xe2\x80\xa8", "null", "~", "2026-11-30",
		"a # b", "a:", "[", "{}", "*x", "&x", "!x", "|", "%", "@", "`", "true", "0x1f", "1e5", ".inf", "=", "<<" };
	size_t n = hash_join(x, 1) % 5;
	json_t *v;
	double d;

	switch (depth <= 0 ? hash_u64(x) % 5 : hash_u64(x) % 7) {
	case 0:
		return json_null();
	case 1:
		return json_boolean(x & 1);
	case 2:
		return json_integer((json_int_t)hash_join(x, 2) >> (x % 64));
	case 3:
		memcpy(&d, &(uint64_t){ hash_join(x, 3) }, sizeof(d));
		return json_real(isfinite(d) ? d : 0.5);
	case 4:
		return json_string(strings[hash_join(x, 4) % (sizeof(strings) / sizeof(strings[0]))]);
	case 5:
		v = json_array();
		for (size_t i = 0; i < n; i++)
			json_array_append_new(v, random_tree(hash_join(x, 10 + i), depth - 1));
		return v;
	default:
		v = json_object();
		for (size_t i = 0; i < n; i++)
			json_object_set_new(v, strings[hash_join(x, 30 + i) % (sizeof(strings) / sizeof(strings[0]))],
			    random_tree(hash_join(x, 20 + i), depth - 1));
		return v;
	}
}

/* json_equal() tells 1.0 from 1, which are one number on paper. */
static bool
same_tree(const json_t *a, const json_t *b)
{
	const char *key;
	json_t *child;
	size_t i;

	if (json_is_number(a) && json_is_number(b))
		return json_number_value(a) == json_number_value(b);
	if (json_typeof(a) != json_typeof(b))
		return false;
	if (json_is_object(a)) {
		json_object_foreach((json_t *)(uintptr_t)a, key, child) {
			if (json_object_get(b, key) == NULL || !same_tree(child, json_object_get(b, key)))
				return false;
		}
		return json_object_size(a) == json_object_size(b);
	}
	json_array_foreach(a, i, child) {
		if (json_array_get(b, i) == NULL || !same_tree(child, json_array_get(b, i)))
			return false;
	}
	return json_is_array(a) ? json_array_size(a) == json_array_size(b) : json_equal(a, b);
}

/* jansson reads back what it gave us. */
static void
test_random(void)
{
	struct berth_err err = { 0 };
	int same = 1;

	for (uint64_t i = 0; i < 4000 && same; i++) {
		json_t *tree = random_tree(hash_u64(i), 5), *back;
		char *text = json_dumps(tree, JSON_ENCODE_ANY | JSON_COMPACT);
		struct jsonw w;
		struct buf b;

		buf_init(&b, 1000000);
		jsonw_init_buf(&w, &b, i % 2 ? JSONW_PRETTY : JSONW_COMPACT);
		jsonw_raw(&w, NULL, text);
		same = jsonw_finish(&w, &err) == BERTH_OK;
		back = json_loads(b.p, JSON_DECODE_ANY | JSON_REJECT_DUPLICATES, NULL);
		same = same && back != NULL && same_tree(tree, back);
		if (!same)
			tap_diag("%s became %s", text, b.p);
		free(text);
		json_decref(tree);
		json_decref(back);
		buf_free(&b);
	}
	tap_ok(same, "4000 random trees are read back by jansson");
}

static bool
same_as_yaml(const json_t *v, const struct yaml_node *n)
{
	int64_t i;
	double d;
	bool b;

	switch (json_typeof(v)) {
	case JSON_OBJECT:
		for (size_t k = 0; k < n->n; k++) {
			const json_t *child = json_object_get(v, n->keys[k]);

			if (child == NULL || !same_as_yaml(child, n->items[k]))
				return false;
		}
		return n->kind == YAML_KIND_MAP && n->n == json_object_size(v);
	case JSON_ARRAY:
		for (size_t k = 0; k < n->n; k++) {
			if (json_array_get(v, k) == NULL || !same_as_yaml(json_array_get(v, k), n->items[k]))
				return false;
		}
		return n->kind == YAML_KIND_LIST && n->n == json_array_size(v);
	case JSON_STRING:
		return n->kind == YAML_KIND_SCALAR && !yaml_is_null(n) && strcmp(json_string_value(v), n->text) == 0 &&
		    (n->quoted || yaml_as_double(n, -1e300, 1e300, &d, NULL) != BERTH_OK) &&
		    (n->quoted || yaml_as_bool(n, &b, NULL) != BERTH_OK);
	case JSON_INTEGER:
		return yaml_as_int(n, INT64_MIN, INT64_MAX, &i, NULL) == BERTH_OK && i == json_integer_value(v);
	case JSON_REAL:
		return yaml_as_double(n, -DBL_MAX, DBL_MAX, &d, NULL) == BERTH_OK && d == json_real_value(v);
	case JSON_TRUE:
	case JSON_FALSE:
		return yaml_as_bool(n, &b, NULL) == BERTH_OK && b == json_is_true(v);
	case JSON_NULL:
		break;
	}
	return yaml_is_null(n);
}

/* libyaml reads back the YAML form of the same trees, each value with its type. */
static void
test_random_yaml(void)
{
	struct berth_err err = { 0 };
	int same = 1;

	for (uint64_t i = 0; i < 4000 && same; i++) {
		json_t *tree = json_pack("{so}", "root", random_tree(hash_u64(i), 5));
		char *text = json_dumps(tree, JSON_COMPACT);
		const struct yaml_node *root = NULL;
		struct arena *a = arena_new();
		struct jsonw w;
		struct buf b;

		buf_init(&b, 1000000);
		jsonw_init_buf(&w, &b, JSONW_YAML);
		jsonw_raw(&w, NULL, text);
		same = jsonw_finish(&w, &err) == BERTH_OK && yaml_parse(a, b.p, b.len, "y", &root, &err) == BERTH_OK &&
		    same_as_yaml(tree, root);
		if (!same)
			tap_diag("%s became %s (%s: %s)", text, b.p, err.where, err.msg);
		free(text);
		json_decref(tree);
		buf_free(&b);
		arena_free(a);
	}
	tap_ok(same, "4000 random trees are read back as YAML");
}

static void
test_refused(void)
{
	static const struct { const char *in, *where, *says; } t[] = {
		{ "{\"a\": 1,\n \"a\": 2}", "x.json:2:4", "duplicate object key" },
		{ "[18446744073709548794,\n1e400]", "x.json:2:5", "real number overflow" },
		{ "[1e999]", "x.json:1:6", "real number overflow" },
		{ "{\"a\": }", "x.json:1:7", "unexpected token" },
		{ "[1] 2", "x.json:1:5", "end of file expected" },
		{ "\"\xff\"", "x.json:1:1", "0xff" },
		{ "\"\\u0000\"", "x.json:1:8", "NUL" },
		{ "", "x.json:1:0", "token" },
		{ "[NaN]", "x.json:1:4", "invalid token" },
		{ "{'a':1}", "x.json:1:2", "expected" },
	};
	char deep[200];
	struct berth_err err = { 0 };
	json_t *v = NULL;

	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		tap_code(jsonr_parse(t[i].in, strlen(t[i].in), "x.json", &v, &err), BERTH_EINVAL, &err);
		tap_is_str(err.where, t[i].where, "place of case %zu", i);
		tap_ok(strstr(err.msg, t[i].says) != NULL, "case %zu says %s: %s", i, t[i].says, err.msg);
	}
	memset(deep, '[', 65);
	memset(deep + 65, ']', 65);
	tap_ok(jsonr_parse(deep, 130, "x.json", &v, &err) == BERTH_EINVAL, "65 levels are refused: %s", err.msg);
	tap_code(jsonr_parse(deep + 1, 128, "x.json", &v, &err), BERTH_OK, &err);
	json_decref(v);
	memset(deep, '[', 150);
	memcpy(deep, "[\"\\\"", 4);
	memcpy(deep + 150, "\"]", 2);
	tap_code(jsonr_parse(deep, 152, "x.json", &v, &err), BERTH_OK, &err);	/* brackets in a string */
	json_decref(v);
}

static void
test_getters(void)
{
	static const char in[] = "{\"items\": [{\"price\": \"0.53\", \"n\": 8, \"f\": 2.5, \"whole\": 3.0, \"s\": \"x\", "
	    "\"t\": \"2026-11-30T10:00:00Z\", \"ms\": 1796032800123, \"b\": true, \"null\": null, \"big\": 1e300, "
	    "\"m\": 2.99, \"mi\": 7, \"ns\": \"12\", \"o\": {}, \"bad\": \"12x\", \"es\": \"1796032800\", \"zero\": 0, "
	    "\"less\": -2.5}]}";
	static const char *const needed[] = { "n", "null", NULL };
	struct berth_err err = { 0 };
	struct jsonr root, items, item, sub;
	json_t *v = NULL;
	struct usd_micro m = { 0 };
	const char *s = "default";
	int64_t i = 42, t = 0;
	double d = 0.5;
	bool b = false;

	tap_code(jsonr_parse(in, sizeof(in) - 1, "aws", &v, &err), BERTH_OK, &err);
	root = jsonr_root(v, "aws");
	tap_code(jsonr_array(&root, "items", &items, &err), BERTH_OK, &err);
	tap_is_long((long)jsonr_len(&items), 1, "one item");
	item = jsonr_at(&items, 0);
	tap_ok(jsonr_money(&item, "price", &m, &err) == BERTH_OK && m.v == 530000, "money from a string");
	tap_ok(jsonr_money(&item, "m", &m, &err) == BERTH_OK && m.v == 2990000, "from a real");
	tap_ok(jsonr_money(&item, "mi", &m, &err) == BERTH_OK && m.v == 7000000, "from an integer");
	tap_ok(jsonr_int(&item, "n", 0, 100, &i, &err) == BERTH_OK && i == 8, "an integer");
	tap_ok(jsonr_int(&item, "whole", 0, 100, &i, &err) == BERTH_OK && i == 3, "a whole real");
	tap_ok(jsonr_int(&item, "ns", 0, 100, &i, &err) == BERTH_OK && i == 12, "an integer in a string");
	tap_ok(jsonr_double(&item, "f", &d, &err) == BERTH_OK && d == 2.5, "a real");
	tap_ok(jsonr_double(&item, "price", &d, &err) == BERTH_OK && d == 0.53, "a real in a string");
	tap_ok(jsonr_str(&item, "s", &s, &err) == BERTH_OK && strcmp(s, "x") == 0, "a string");
	tap_ok(jsonr_bool(&item, "b", &b, &err) == BERTH_OK && b, "a boolean");
	tap_ok(jsonr_time(&item, "t", &t, &err) == BERTH_OK && t == 1796032800, "a time");
	t = 0;
	tap_ok(jsonr_time(&item, "ms", &t, &err) == BERTH_OK && t == 1796032800, "in milliseconds");
	t = 0;
	tap_ok(jsonr_time(&item, "es", &t, &err) == BERTH_OK && t == 1796032800, "in a string of seconds");
	tap_ok(jsonr_str(&item, "null", &s, &err) == BERTH_OK && strcmp(s, "x") == 0, "null leaves the default");
	tap_ok(jsonr_int(&item, "absent", 0, 1, &i, &err) == BERTH_OK && i == 12, "absent too");
	tap_ok(jsonr_object(&item, "absent", &sub, &err) == BERTH_OK && sub.v == NULL, "an absent object is none");
	tap_ok(jsonr_str(&sub, "x", &s, &err) == BERTH_OK, "and has nothing");
	tap_ok(jsonr_object(&item, "o", &sub, &err) == BERTH_OK && sub.v != NULL, "an empty object is one");
	tap_code(jsonr_int(&item, "f", 0, 100, &i, &err), BERTH_EINVAL, &err);
	tap_is_str(err.msg, "$.items[0].f: 2.5 is not a whole number", "a path");
	tap_is_str(err.where, "aws", "and the document");
	tap_ok(jsonr_int(&item, "n", 0, 7, &i, &err) == BERTH_EINVAL, "out of range: %s", err.msg);
	tap_ok(jsonr_int(&item, "big", 0, 7, &i, &err) == BERTH_EINVAL, "too big: %s", err.msg);
	tap_ok(jsonr_int(&item, "bad", 0, 7, &i, &err) == BERTH_EINVAL, "not a number: %s", err.msg);
	tap_ok(jsonr_money(&item, "big", &m, &err) == BERTH_EINVAL, "too dear: %s", err.msg);
	tap_ok(jsonr_price(&item, "big", &m, &err) == BERTH_OK && !usd_known(m), "a price like that is unknown");
	tap_ok(jsonr_price(&item, "price", &m, &err) == BERTH_OK && m.v == 530000, "a price");
	tap_ok(jsonr_price(&item, "zero", &m, &err) == BERTH_OK && !usd_known(m), "0 is none");
	tap_ok(jsonr_price(&item, "less", &m, &err) == BERTH_OK && !usd_known(m), "nor is less");
	tap_ok(jsonr_price(&item, "b", &m, &err) == BERTH_EINVAL, "a truth is no price: %s", err.msg);
	tap_ok(jsonr_time(&item, "s", &t, &err) == BERTH_EINVAL, "not a time: %s", err.msg);
	tap_ok(jsonr_time(&item, "big", &t, &err) == BERTH_EINVAL, "not a time: %s", err.msg);
	tap_ok(jsonr_bool(&item, "n", &b, &err) == BERTH_EINVAL, "not a boolean: %s", err.msg);
	tap_ok(jsonr_array(&item, "o", &sub, &err) == BERTH_EINVAL, "not an array: %s", err.msg);
	tap_ok(jsonr_need(&item, needed, &err) == BERTH_EINVAL, "missing");
	tap_is_str(err.msg, "$.items[0].null: missing", "is said with its path");
	json_decref(v);
}

int
main(void)
{
	test_layout();
	test_failures();
	test_beyond();
	test_random();
	test_random_yaml();
	test_refused();
	test_getters();
	return tap_done();
}
