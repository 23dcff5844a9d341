#include <string.h>

#include "tests/fuzz/fuzz.h"
#include "util/str.h"
#include "util/xml.h"

const char fuzz_name[] = "xml";

/* Whatever is read is clean text under clean names, and no deeper than promised. */
static void
walk(const struct xml *x, int depth)
{
	FUZZ_CHECK(depth <= XML_DEPTH_MAX);
	for (; x != NULL; x = x->next) {
		FUZZ_CHECK(x->name[0] != '\0' && str_utf8_valid(x->name, strlen(x->name)));
		FUZZ_CHECK(str_utf8_valid(x->text, strlen(x->text)));
		FUZZ_CHECK(x->text[0] == '\0' || (!str_is_space(x->text[0]) && !str_is_space(x->text[strlen(x->text) - 1])));
		walk(x->child, depth + 1);
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct xml *root = NULL;
	struct berth_err err = { 0 };
	struct arena *a = arena_new();

	if (xml_parse(a, (const char *)data, size, "fuzz", &root, &err) == BERTH_OK) {
		FUZZ_CHECK(root != NULL && root->next == NULL);
		walk(root, 1);
	} else {
		FUZZ_CHECK(err.code == BERTH_EINVAL && err.msg[0] != '\0' && err.where[0] != '\0');
	}
	arena_free(a);
	return 0;
}
