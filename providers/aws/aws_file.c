#include <stdio.h>
#include <string.h>

#include "model/accel.h"
#include "providers/aws/aws.h"
#include "providers/aws/aws_file.h"
#include "providers/prov.h"
#include "util/arena.h"
#include "util/str.h"

bool
aws_file_is_json(const char *bytes, size_t n)
{
	size_t i = n >= 3 && memcmp(bytes, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;

	while (i < n && str_is_space(bytes[i]))
		i++;
	return i < n && bytes[i] == '{';
}

bool
aws_file_is_csv(const char *bytes, size_t n)
{
	static const char *const fronts[] = { "\"FormatVersion\",", "FormatVersion,", NULL };

	for (size_t i = 0; fronts[i] != NULL; i++)
		if (n > strlen(fronts[i]) && memcmp(bytes, fronts[i], strlen(fronts[i])) == 0)
			return true;
	return false;
}

const char *
aws_file_region(struct arena *a, const char *place)
{
	return aws_region_of_location(a, place);
}

enum berth_code
aws_file_read(FILE *file, const char *bytes, size_t n, bool csv, const struct import_opts *opts,
    struct arena *a, struct import_result *result_out, struct berth_err *err)
{
	struct aws_scan *s = aws_scan_new();
	struct aws_price p = { .scan = s,
		.now = opts->now,
		.as_of = opts->as_of,
		.published = true,
		.source = opts->source != NULL ? opts->source : "AWS price list" };
	enum berth_code rc;

	memset(result_out, 0, sizeof(*result_out));
	if (s == NULL)
		return err_set(err, BERTH_ENOMEM, "no memory for a price list");
	s->reserved = true;
	rc = csv ? aws_price_csv(&p, file, err) : aws_price_json(&p, file, bytes, n, err);
	for (size_t i = 0; rc == BERTH_OK && i < s->offers.n; i++) {
		struct offer o = offer_copy(&s->offers.v[i], a);

		prov_offer_resolve(opts->accels, &o);
		VEC_PUSH(a, &result_out->offers, o);
	}
	result_out->rows = (long)result_out->offers.n;
	for (size_t i = 0; i < s->places.n; i++)
		VEC_PUSH(a, &result_out->unknown_places, arena_strdup(a, s->places.v[i]));
	aws_scan_free(s);
	if (rc == BERTH_OK && result_out->offers.n == 0)
		rc = err_set(err, BERTH_EINVAL, "no price of a machine with accelerators in it");
	return rc;
}
