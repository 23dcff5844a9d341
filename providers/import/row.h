/* providers/import/row.h - one row of a price list into offers.  Floor: providers; this folder
 * only. */
#ifndef BERTH_PROVIDERS_IMPORT_ROW_H
#define BERTH_PROVIDERS_IMPORT_ROW_H

#include "providers/import/layout.h"

#define ROW_OFFERS_MAX 2 /* on demand and spot may stand in one row */

struct row_out {
	struct offer offer[ROW_OFFERS_MAX]; /* accelerator as the row spells it */
	size_t n;                           /* 0: a machine without an accelerator */
	const char *doubt;                  /* NULL, or why a price is unknown */
};

/* What the row before said, start with { 0 }: rows mostly share it. */
struct row_memo {
	char as_of[32];
	int64_t as_of_t;
};

/* Strings are borrowed from the record, its fields trimmed before. BERTH_EINVAL: the row is
 * refused, err->msg says why (the column stands in it). */
BERTH_MUST_CHECK enum berth_code row_read(const struct layout *l, char **field,
    const struct import_opts *opts, struct row_memo *memo, struct arena *a, struct row_out *out,
    struct berth_err *err);

/* Takes the blanks around each field of a record away: once, before the calls here. */
void row_trim(char **field, size_t n);
/* Who sells, in lower case, as far as the row or opts say it; "". */
const char *row_provider(
    const struct layout *l, char **field, const struct import_opts *opts, struct arena *a);

#endif
