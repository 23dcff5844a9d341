#include <string.h>

#include "tests/fuzz/fuzz.h"
#include "util/jsonpull.h"
#include "util/jsonr.h"

const char fuzz_name[] = "json";

/* All tokens; with skip, every second value is passed instead. */
static enum berth_code
pull(const uint8_t *data, size_t size, bool skip, struct berth_err *err)
{
	struct jsonpull p;
	size_t n = 0, steps = 0;

	jsonpull_bytes(&p, (const char *)data, size, "fuzz");
	while (jsonpull_next(&p) > JSONPULL_ERROR) {
		FUZZ_CHECK(p.text[p.len] == '\0' && ++steps <= size);
		if (skip && p.type == JSONPULL_KEY && n++ % 2 == 0)
			jsonpull_skip(&p);
		if (skip && p.type == JSONPULL_ARRAY && n++ % 2 == 0)
			jsonpull_leave(&p);
	}
	FUZZ_CHECK(p.type == JSONPULL_END || p.type == JSONPULL_ERROR);
	return jsonpull_close(&p, err);
}

/* What the reader of trees accepts, this one does; what it refuses, it says why. */
int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct berth_err err = { 0 }, ours = { 0 };
	json_t *v = NULL;
	enum berth_code whole = pull(data, size, false, &ours), rc;

	FUZZ_CHECK(whole == BERTH_OK || ours.msg[0] != '\0');
	rc = jsonr_parse((const char *)data, size, "fuzz", &v, &err);
	FUZZ_CHECK(rc != BERTH_OK || whole == BERTH_OK || strstr(ours.msg, "63 characters") != NULL ||
	    strstr(ours.msg, "deeper") != NULL);
	if (whole == BERTH_OK)
		FUZZ_CHECK(pull(data, size, true, &ours) == BERTH_OK);
	else
		(void)!pull(data, size, true, &ours);
	json_decref(v);
	return 0;
}
