#include <string.h>

#include "tests/fuzz/fuzz.h"
#include "util/yaml.h"

const char fuzz_name[] = "yaml";

static size_t
walk(struct arena *a, const struct yaml_node *n, int depth)
{
	static const char *const allowed[] = { "name", "provider", "jobs", NULL };
	struct berth_err err;
	struct usd_micro m;
	const char *s, **list;
	char path[256];
	size_t count = 1, n_list;
	int64_t i;
	double d;
	bool b;

	FUZZ_CHECK(depth <= YAML_DEPTH_MAX);
	FUZZ_CHECK(n->line >= 1 && n->col >= 1);
	yaml_path(n, path, sizeof(path));
	(void)!yaml_check_keys(n, allowed, &err);
	for (size_t k = 0; k < n->n; k++) {
		if (n->kind == YAML_KIND_MAP) {
			const char *key = n->keys[k];

			for (size_t j = 0; j < k && k < 50; j++)
				FUZZ_CHECK(strcmp(key, n->keys[j]) != 0);
			(void)!yaml_str(n, key, &s, &err);
			(void)!yaml_int(n, key, INT64_MIN, INT64_MAX, &i, &err);
			(void)!yaml_double(n, key, -1e300, 1e300, &d, &err);
			(void)!yaml_bool(n, key, &b, &err);
			(void)!yaml_duration(n, key, &i, &err);
			(void)!yaml_time(n, key, 0, NULL, &i, &err);
			(void)!yaml_money(n, key, &m, &err);
			(void)!yaml_str_list(a, n, key, &list, &n_list, &err);
		}
		FUZZ_CHECK(n->items[k]->up == n);
		count += walk(a, n->items[k], depth + 1);
	}
	return count;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct yaml_node *root = NULL;
	struct berth_err err = { 0 };
	struct arena *a = arena_new();

	if (yaml_parse(a, (const char *)data, size, "fuzz", &root, &err) == BERTH_OK)
		FUZZ_CHECK(walk(a, root, 0) <= YAML_NODES_MAX);
	else
		FUZZ_CHECK(err.msg[0] != '\0');
	arena_free(a);
	return 0;
}
