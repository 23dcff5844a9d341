#include <math.h>
#include <string.h>

#include "providers/aws/aws.h"
#include "providers/inifile.h"
#include "tests/fuzz/fuzz.h"
#include "util/arena.h"
#include "util/str.h"

const char fuzz_name[] = "aws";

/* No list makes an offer that is free, without a machine, or from nowhere. */
static void
check(struct aws_scan *s)
{
	for (size_t i = 0; i < s->offers.n; i++) {
		const struct offer *o = &s->offers.v[i];

		FUZZ_CHECK(usd_known(o->price) && o->price.v >= 0 && o->upfront.v >= 0 && (o->price.v > 0 || o->upfront.v > 0));
		FUZZ_CHECK(o->instance_type[0] != '\0' && o->accelerator[0] != '\0' && o->accelerator_count > 0);
		FUZZ_CHECK(strlen(o->currency) == 3 && (o->purchase == PURCHASE_RESERVED) == (o->term_months > 0));
	}
	aws_scan_free(s);
}

/* The same bytes as a price list in both forms, an entry of GetProducts, a credentials file, an error. */
int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct berth_err err;
	struct arena *a = arena_new();
	char *text = arena_strndup(a, (const char *)data, size);
	struct http_resp resp = { .arena = a, .status = 400, .body = text, .body_len = strlen(text) };
	struct prov_error e;
	struct inifile ini = { 0 };
	FILE *f = size > 0 ? fmemopen((void *)(uintptr_t)data, size, "rb") : NULL;

	for (int form = 0; form < 3; form++) {
		struct aws_scan *s = aws_scan_new();
		struct aws_price p = { .scan = s, .now = INT64_C(1795996800), .source = "fuzz", .published = true };

		if (s == NULL)
			abort();
		s->reserved = true;
		if (form == 0)
			(void)!aws_price_json(&p, NULL, (const char *)data, size, &err);
		else if (form == 1)
			(void)!aws_price_entry(&p, (const char *)data, size, &err);
		else if (f != NULL)
			(void)!aws_price_csv(&p, f, &err);
		check(s);
	}
	inifile_read(&ini, a, text);
	for (size_t i = 0; i < ini.rows.n; i++)
		FUZZ_CHECK(strchr(ini.rows.v[i].value, '\n') == NULL);
	FUZZ_CHECK(aws_error_read(&resp, &e));
	if (f != NULL)
		fclose(f);
	arena_free(a);
	return 0;
}
