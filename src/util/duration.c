#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "util/duration.h"
#include "util/str.h"

#define DURATION_MAX_S (INT64_C(200) * 366 * 86400)

static const struct duration_unit {
	char letter;
	int32_t s;
} duration_units[] = {
	{ 'w', 604800 },
	{ 'd', 86400 },
	{ 'h', 3600 },
	{ 'm', 60 },
	{ 's', 1 },
};
#define DURATION_UNITS (sizeof(duration_units) / sizeof(duration_units[0]))

/* "1.5h" at *p -> seconds; units from *first on are allowed, *first moves behind the one used. */
static bool
duration_part(const char **p, size_t *first, int64_t *s_out)
{
	int64_t whole = 0, fraction = 0, ten = 1;
	const char *s = *p;
	size_t u;

	if (!str_is_digit(*s))
		return false;
	for (; str_is_digit(*s); s++)
		whole = whole > DURATION_MAX_S ? whole : whole * 10 + (*s - '0');
	if (*s == '.' && str_is_digit(s[1])) {
		for (s++; str_is_digit(*s) && ten < 1000000000; s++) {
			fraction = fraction * 10 + (*s - '0');
			ten *= 10;
		}
	}
	for (u = *first; u < DURATION_UNITS && duration_units[u].letter != *s; u++)
		continue;
	if (u == DURATION_UNITS || whole > DURATION_MAX_S ||
	    fraction * duration_units[u].s % ten != 0)
		return false;
	*s_out = whole * duration_units[u].s + fraction * duration_units[u].s / ten;
	*first = u + 1;
	*p = s + 1;
	return true;
}

enum berth_code
duration_parse(const char *s, int64_t *s_out, struct berth_err *err)
{
	int64_t sum = 0, part;
	const char *p = s;
	size_t first = 0;

	if (strcmp(s, "0") == 0) {
		*s_out = 0;
		return BERTH_OK;
	}
	if (*s != '\0' && s[strspn(s, "0123456789.")] == '\0')
		return err_set(err, BERTH_EINVAL,
		    "duration '%.60s' has no unit: add s, m, h, d or w, as in 36h", s);
	do {
		if (!duration_part(&p, &first, &part))
			return err_set(err, BERTH_EINVAL,
			    "'%.60s' is not a duration of whole seconds, as in 90m, 36h, 1h30m, "
			    "2d, 4w",
			    s);
		sum += part;
	} while (*p != '\0' && sum <= DURATION_MAX_S);
	if (sum > DURATION_MAX_S)
		return err_set(err, BERTH_EINVAL, "duration '%.60s' is longer than 200 years", s);
	*s_out = sum;
	return BERTH_OK;
}

char *
duration_fmt(char dst[DURATION_FMT_SIZE], int64_t s)
{
	uint64_t left = s < 0 ? -(uint64_t)s : (uint64_t)s;
	size_t n = 0;

	if (s < 0)
		dst[n++] = '-';
	for (size_t u = 0; u < DURATION_UNITS; u++) {
		uint64_t unit = (uint64_t)duration_units[u].s, k = left / unit;

		left %= unit;
		if (k > 0 || (s == 0 && unit == 1))
			n += (size_t)snprintf(dst + n, DURATION_FMT_SIZE - n, "%" PRIu64 "%c", k,
			    duration_units[u].letter);
	}
	return dst;
}
