#include <string.h>

#include "tests/fuzz/fuzz.h"
#include "util/json.h"
#include "util/yaml.h"

const char fuzz_name[] = "json";

/* Reads every value as every type: none may do more than refuse. */
static void
walk(const struct jsonr *c)
{
	struct berth_err err;
	struct usd_micro m;
	const char *key, *s;
	json_t *v;
	int64_t i;
	double d;
	bool b;

	json_object_foreach((json_t *)(uintptr_t)c->v, key, v) {
		struct jsonr child = jsonr_get(c, key);

		(void)!jsonr_str(c, key, &s, &err);
		(void)!jsonr_int(c, key, INT64_MIN, INT64_MAX, &i, &err);
		(void)!jsonr_double(c, key, &d, &err);
		(void)!jsonr_bool(c, key, &b, &err);
		(void)!jsonr_money(c, key, &m, &err);
		(void)!jsonr_time(c, key, &i, &err);
		walk(&child);
	}
	for (size_t k = 0; k < jsonr_len(c); k++) {
		struct jsonr child = jsonr_at(c, k);

		walk(&child);
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	json_t *v = NULL, *again = NULL;
	const struct yaml_node *root = NULL;
	struct berth_err err = { 0 };
	struct arena *a = arena_new();
	char *text = arena_strndup(a, (const char *)data, size);
	struct jsonr top;
	struct jsonw w;
	struct buf b;

	buf_init(&b, 1 << 26);
	if (jsonr_parse((const char *)data, size, "fuzz", &v, &err) != BERTH_OK) {
		FUZZ_CHECK(err.msg[0] != '\0');
		goto out;
	}
	top = jsonr_root(v, "fuzz");
	walk(&top);
	/* What the writer makes of it, both readers accept: a value as it was, or its text as a string. */
	jsonw_init_buf(&w, &b, JSONW_PRETTY);
	jsonw_raw(&w, NULL, text);
	FUZZ_CHECK(jsonw_finish(&w, &err) == BERTH_OK);
	FUZZ_CHECK(jsonr_parse(b.p, b.len, "again", &again, &err) == BERTH_OK);
	FUZZ_CHECK(json_is_string(again) || json_typeof(again) == json_typeof(v) ||
	    (json_is_number(again) && json_is_number(v)));
	buf_clear(&b);
	jsonw_init_buf(&w, &b, JSONW_YAML);
	jsonw_begin_object(&w, NULL);
	jsonw_raw(&w, "root", text);
	jsonw_end_object(&w);
	FUZZ_CHECK(jsonw_finish(&w, &err) == BERTH_OK);
	FUZZ_CHECK(yaml_parse(a, b.p, b.len, "again", &root, &err) == BERTH_OK ||
	    strstr(err.msg, "1024 bytes") != NULL || strstr(err.msg, "deeper") != NULL ||
	    strstr(err.msg, "simple key") != NULL || strstr(err.msg, "expected ':'") != NULL);
out:
	json_decref(v);
	json_decref(again);
	buf_free(&b);
	arena_free(a);
	return 0;
}
