#include <string.h>

#include "tests/tap.h"
#include "util/buf.h"
#include "util/yaml.h"

/* The tree in one line: 'text' "quoted" [list] {key=value} with line:col on each value. */
static void
show(const struct yaml_node *n, struct buf *out)
{
	switch (n->kind) {
	case YAML_KIND_SCALAR:
		buf_printf(out, n->quoted ? "\"%s\"" : "%s", n->text);
		break;
	case YAML_KIND_LIST:
	case YAML_KIND_MAP:
		buf_add_str(out, n->kind == YAML_KIND_MAP ? "{" : "[");
		for (size_t i = 0; i < n->n; i++) {
			if (i > 0)
				buf_add_str(out, " ");
			if (n->kind == YAML_KIND_MAP)
				buf_printf(out, "%s=", n->keys[i]);
			show(n->items[i], out);
		}
		buf_add_str(out, n->kind == YAML_KIND_MAP ? "}" : "]");
		break;
	}
	buf_printf(out, "@%d:%d", n->line, n->col);
}

static void
test_trees(void)
{
	static const struct { const char *in, *want; } t[] = {
		{ "a: 1\nb: [x, 'y', \"z\"]\n", "{a=1@1:4 b=[x@2:5 \"y\"@2:8 \"z\"@2:13]@2:4}@1:1" },
		{ "jobs:\n- name: j\n  run: |\n    echo\n", "{jobs=[{name=j@2:9 run=\"echo\n\"@3:8}@2:3]@2:1}@1:1" },
		{ "", "{}@1:1" }, { "# only a comment\n", "{}@1:1" }, { "---\n", "{}@1:1" },
		{ "- 1\n- null\n", "[1@1:3 null@2:3]@1:1" },
		{ "b: &x {k: [1]}\nc: *x\n", "{b={k=[1@1:12]@1:11}@1:4 c={k=[1@1:12]@1:11}@1:4}@1:1" },
		{ "a: !!str 5\n", "{a=\"5\"@1:4}@1:1" }, { "a: !!int 5\n", "{a=5@1:4}@1:1" },
		{ "{\"a\": 1}", "{a=1@1:7}@1:1" }, { "\xef\xbb\xbf" "a: 1\n", "{a=1@1:4}@1:1" },
	};

	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		const struct yaml_node *root = NULL;
		struct berth_err err = { 0 };
		struct arena *a = arena_new();
		struct buf out;

		buf_init(&out, 10000);
		tap_code(yaml_parse(a, t[i].in, strlen(t[i].in), "t.yaml", &root, &err), BERTH_OK, &err);
		if (root != NULL)
			show(root, &out);
		tap_is_str(out.p, t[i].want, "tree %zu", i);
		buf_free(&out);
		arena_free(a);
	}
}

static void
test_refused(void)
{
	static const struct { const char *in, *where, *says; } t[] = {
		{ "a: 1\nb: 2\na: 3\n", "t.yaml:3:1", "key 'a': stands twice, first in line 1" },
		{ "x: {a: 1, a: 2}\n", "t.yaml:1:11", "key 'x.a': stands twice" },
		{ "a: 1\n---\nb: 2\n", "t.yaml:2:1", "a second document" },
		{ "a:\n\tb: 1\n", "t.yaml:2:1", "a tab" },
		{ "a: [1, 2\nb: 3\n", "t.yaml:2:2", "did not find expected" },
		{ "a: \"x\n", "t.yaml:2:1", "unexpected end of stream" },
		{ "? [1]\n: 2\n", "t.yaml:1:3", "a key must be plain text" },
		{ "b: &x {k: 1}\nc:\n  <<: *x\n", "t.yaml:3:3", "merge keys" },
		{ "a: !secret x\n", "t.yaml:1:4", "tag" }, { "a: !!binary aGk=\n", "t.yaml:1:4", "tag" },
		{ "a: *x\n", "t.yaml:1:4", "alias" }, { "a: &x [*x]\n", "t.yaml:1:8", "alias" },
		{ "a: \"x\\0y\"\n", "t.yaml:1:4", "NUL" }, { "a: \xff\n", "", "byte 3" }, { "a: @x\n", "t.yaml:1:4", "token" },
		{ "a: b: c\n", "t.yaml:1:5", "mapping values" }, { "}", "t.yaml:1:1", "expected" },
	};

	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		const struct yaml_node *root = NULL;
		struct berth_err err = { 0 };
		struct arena *a = arena_new();

		tap_code(yaml_parse(a, t[i].in, strlen(t[i].in), "t.yaml", &root, &err), BERTH_EINVAL, &err);
		tap_is_str(err.where, t[i].where, "place of case %zu", i);
		tap_ok(strstr(err.msg, t[i].says) != NULL, "case %zu says %s: %s", i, t[i].says, err.msg);
		arena_free(a);
	}
}

static void
test_caps(void)
{
	static const char laughs[] = "a: &a [1,1,1,1,1,1,1,1,1,1]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a,*a]\n"
	    "c: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c,*c]\n"
	    "e: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d,*d]\nf: &f [*e,*e,*e,*e,*e,*e,*e,*e,*e,*e]\n";
	const struct yaml_node *root = NULL;
	struct berth_err err = { 0 };
	struct arena *a = arena_new();
	char deep[64];

	tap_code(yaml_parse(a, laughs, sizeof(laughs) - 1, "t.yaml", &root, &err), BERTH_EINVAL, &err);
	tap_ok(strstr(err.msg, "multiply") != NULL, "a billion laughs: %s at %s", err.msg, err.where);
	tap_ok(arena_bytes(a) < 100000000, "stay small");
	memset(deep, '[', 32);
	memset(deep + 32, ']', 32);
	tap_code(yaml_parse(a, deep, 64, "t.yaml", &root, &err), BERTH_OK, &err);
	memset(deep, '[', 40);
	tap_code(yaml_parse(a, deep, 64, "t.yaml", &root, &err), BERTH_EINVAL, &err);
	tap_ok(strstr(err.msg, "deeper") != NULL, "40 levels: %s", err.msg);
	tap_code(yaml_load(a, "/nonexistent.yaml", &root, &err), BERTH_ENOTFOUND, &err);
	arena_free(a);
}

static void
test_getters(void)
{
	static const char in[] = "name: train\nn: 8\nq: '8'\nratio: 0.5\non: yes\nwait: 1h30m\nbare: 90\n"
	    "at: 2026-11-30T10:00:00Z\nlocal: 2026-11-30T10:00:00\nprice: 2.99\nneg: -1\nnothing:\nnull2: ~\n"
	    "text: 'null'\nlist: [a, b]\none: a\nmixed: [a, [b]]\naccounts:\n  - name: x\n    port: many\n";
	static const char *const allowed[] = { "name", "n", "ratio", "accounts", NULL };
	static const char *const needed[] = { "name", "nothing", NULL };
	const struct yaml_node *root = NULL, *list = NULL, *item;
	struct berth_err err = { 0 };
	struct arena *a = arena_new();
	struct usd_micro m = { 0 };
	const char *s = "default", **v = NULL;
	int64_t i = 42;
	double d = 0;
	size_t n = 0;
	bool b = false;

	tap_code(yaml_parse(a, in, sizeof(in) - 1, "c.yaml", &root, &err), BERTH_OK, &err);
	tap_ok(yaml_str(root, "name", &s, &err) == BERTH_OK && strcmp(s, "train") == 0, "a text");
	tap_ok(yaml_str(root, "n", &s, &err) == BERTH_OK && strcmp(s, "8") == 0, "a number as text");
	tap_ok(yaml_str(root, "absent", &s, &err) == BERTH_OK && strcmp(s, "8") == 0, "absent leaves the default");
	tap_ok(yaml_str(root, "nothing", &s, &err) == BERTH_OK && strcmp(s, "8") == 0, "nothing too");
	tap_ok(yaml_str(root, "null2", &s, &err) == BERTH_OK && strcmp(s, "8") == 0, "~ too");
	tap_ok(yaml_str(root, "text", &s, &err) == BERTH_OK && strcmp(s, "null") == 0, "'null' is a text");
	tap_ok(yaml_int(root, "n", 0, 10, &i, &err) == BERTH_OK && i == 8, "a whole number");
	tap_ok(yaml_double(root, "ratio", 0, 1, &d, &err) == BERTH_OK && d == 0.5, "a number");
	tap_ok(yaml_bool(root, "on", &b, &err) == BERTH_OK && b, "a boolean");
	tap_ok(yaml_duration(root, "wait", &i, &err) == BERTH_OK && i == 5400, "a duration");
	tap_ok(yaml_time(root, "at", 0, NULL, &i, &err) == BERTH_OK && i == 1796032800, "a time");
	tap_ok(yaml_money(root, "price", &m, &err) == BERTH_OK && m.v == 2990000, "money");
	tap_ok(yaml_str_list(a, root, "list", &v, &n, &err) == BERTH_OK && n == 2 && strcmp(v[1], "b") == 0, "texts");
	tap_ok(yaml_str_list(a, root, "one", &v, &n, &err) == BERTH_OK && n == 1 && strcmp(v[0], "a") == 0, "one text");
	tap_code(yaml_int(root, "q", 0, 10, &i, &err), BERTH_EINVAL, &err);
	tap_is_str(err.msg, "key 'q': a whole number is needed here, without quotes", "a number in quotes");
	tap_is_str(err.where, "c.yaml:3:4", "has its place");
	tap_ok(yaml_int(root, "n", 0, 7, &i, &err) == BERTH_EINVAL, "out of range: %s", err.msg);
	tap_ok(yaml_int(root, "ratio", 0, 7, &i, &err) == BERTH_EINVAL, "not whole: %s", err.msg);
	tap_ok(yaml_duration(root, "bare", &i, &err) == BERTH_EINVAL, "a duration without unit: %s", err.msg);
	tap_ok(yaml_time(root, "local", 0, NULL, &i, &err) == BERTH_EINVAL, "a time without zone: %s", err.msg);
	tap_ok(yaml_money(root, "neg", &m, &err) == BERTH_EINVAL, "negative money: %s", err.msg);
	tap_ok(yaml_str(root, "list", &s, &err) == BERTH_EINVAL, "a list for a text: %s", err.msg);
	tap_ok(yaml_str_list(a, root, "mixed", &v, &n, &err) == BERTH_EINVAL, "a list in a list: %s", err.msg);
	tap_ok(yaml_list(root, "name", &list, &err) == BERTH_EINVAL, "a text for a list: %s", err.msg);
	tap_code(yaml_list(root, "accounts", &list, &err), BERTH_OK, &err);
	item = list->items[0];
	tap_code(yaml_int(item, "port", 1, 65535, &i, &err), BERTH_EINVAL, &err);
	tap_is_str(err.msg, "key 'accounts[0].port': 'many' is not a whole number", "a path");
	tap_is_str(err.where, "c.yaml:20:11", "and a place");
	tap_code(yaml_check_keys(root, allowed, &err), BERTH_EINVAL, &err);
	tap_is_str(err.msg, "key 'q': there is no such key", "an unknown key");
	tap_code(yaml_need_keys(root, needed, &err), BERTH_EINVAL, &err);
	tap_is_str(err.msg, "the key 'nothing' is missing", "a key without value is missing");
	arena_free(a);
}

static void
test_suggestion(void)
{
	static const char *const allowed[] = { "provider", "region", NULL };
	const struct yaml_node *root = NULL;
	struct berth_err err = { 0 };
	struct arena *a = arena_new();

	tap_code(yaml_parse(a, "region: x\nprovidr: y\n", 21, "c.yaml", &root, &err), BERTH_OK, &err);
	tap_code(yaml_check_keys(root, allowed, &err), BERTH_EINVAL, &err);
	tap_is_str(err.msg, "key 'providr': there is no such key; did you mean 'provider'?", "a suggestion");
	tap_is_str(err.where, "c.yaml:2:1", "at the key");
	arena_free(a);
}

int
main(void)
{
	test_trees();
	test_refused();
	test_caps();
	test_getters();
	test_suggestion();
	return tap_done();
}
