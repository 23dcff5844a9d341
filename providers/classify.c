#include <string.h>

#include "providers/prov.h"
#include "util/glob.h"
#include "util/str.h"

/* Whether text holds part; ASCII case does not count. */
static bool
classify_holds(const char *text, const char *part)
{
	size_t n = strlen(part);

	for (; *text != '\0'; text++) {
		size_t i = 0;

		while (i < n && str_lower_char(text[i]) == str_lower_char(part[i]))
			i++;
		if (i == n)
			return true;
	}
	return n == 0;
}

static bool
classify_fits(
    const struct prov_error_row *row, const struct http_resp *resp, const struct prov_error *e)
{
	if (row->status != 0 && row->status != resp->status)
		return false;
	if (row->code != NULL && !glob_match(row->code, e->code))
		return false;
	return row->text == NULL || classify_holds(e->text, row->text);
}

enum berth_code
prov_classify(const struct provider_ops *ops, const struct http_resp *resp,
    const struct prov_error *e, bool is_create, bool *unclassified_out)
{
	if (unclassified_out != NULL)
		*unclassified_out = false;
	for (const struct prov_error_row *r = ops->errors;
	     r != NULL && (r->status != 0 || r->code != NULL || r->text != NULL); r++)
		if (classify_fits(r, resp, e))
			return r->to;
	switch (resp->status) {
	case 401:
	case 403:
	case 407:
		return BERTH_EAUTH;
	case 404:
	case 410:
		return BERTH_ENOTFOUND;
	case 429:
		return BERTH_ETHROTTLED;
	case 408:
	case 502:
	case 503:
	case 504:
		return BERTH_ETRANSIENT;
	default:
		break;
	}
	if (!is_create) /* an error within a 200 says nothing of whose fault it is */
		return resp->status >= 500 || resp->status / 100 == 2 ? BERTH_ETRANSIENT
								      : BERTH_EPERMANENT;
	/* A create refused for a reason that nobody listed most often means that the machine is not
	 * there (some clouds say it with a plain 500); another try at once would be the wrong
	 * answer to any of them. */
	if (unclassified_out != NULL)
		*unclassified_out = true;
	return BERTH_ECAPACITY;
}
