/* What another vendor's tool prints, as JSON: read or refused, and every node within the text. */
#include <math.h>
#include <string.h>

#include "kernels/jlite.h"
#include "tests/fuzz/fuzz.h"

const char fuzz_name[] = "jlite";

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data, *why = "";
	char out[64], unit[8];
	struct jlite j;
	double v;

	if (!jlite_parse(&j, text, size, &why)) {
		FUZZ_CHECK(why[0] != '\0');
		return 0;
	}
	FUZZ_CHECK(j.n > 0);
	for (int i = 0; i < j.n; i++) {
		const struct jlite_node *n = &j.nodes[i];

		FUZZ_CHECK(n->first < j.n && n->next < j.n && (n->first < 0 || n->first > i) && (n->next < 0 || n->next > i));
		FUZZ_CHECK(n->s == NULL || (n->s >= text && n->s + n->n <= text + size));
		FUZZ_CHECK(n->key == NULL || (n->key >= text && n->key + n->key_n <= text + size));
		if (jlite_number(&j, i, &v, unit, sizeof(unit)))
			FUZZ_CHECK(isfinite(v) && v >= 0 && strlen(unit) < sizeof(unit));
		if (jlite_string(&j, i, out, sizeof(out)))
			FUZZ_CHECK(strlen(out) < sizeof(out));
		(void)jlite_get(&j, i, "gpu_data");
	}
	jlite_free(&j);
	return 0;
}
