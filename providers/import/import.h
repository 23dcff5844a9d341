/* providers/import/import.h - price lists that lie in files.  Floor: providers. */
#ifndef BERTH_PROVIDERS_IMPORT_H
#define BERTH_PROVIDERS_IMPORT_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "model/offer.h"
#include "providers/provider.h"
#include "util/csv.h"
#include "util/err.h"
#include "util/vec.h"

struct accel_table;
struct arena;

extern const struct provider_ops provider_import;

enum import_format {
	IMPORT_BERTH,     /* data/offers.csv and `berth prices list -o csv` */
	IMPORT_COLLECTED, /* price_per_hour_usd, and reserved_1y_... in the purchase column */
	IMPORT_SKYPILOT,  /* vms.csv of a SkyPilot catalogue: Price and SpotPrice in one row */
	IMPORT_GPUHUNT,   /* PROVIDER.csv of a gpuhunt catalogue: price and spot */
	IMPORT_FORMAT_COUNT
};
const char *import_format_name(enum import_format f);

/* Told about a row: refused, or kept with something unknown. line: of the file; provider: "" if it
 * could not be read. */
typedef void import_note_fn(
    void *arg, long line, const char *provider, bool refused, const char *message);

struct import_opts {
	const char *provider;             /* for layouts that do not say it; NULL: none */
	const char *source;               /* of rows that do not say it */
	const struct accel_table *accels; /* NULL: every name is unknown */
	int64_t now;                      /* a date behind it is refused */
	int64_t as_of;                    /* of rows without a date; 0: not said */
	import_note_fn *note;             /* NULL: nobody is told */
	void *note_arg;
};

struct import_result {
	enum import_format format;
	VEC(struct offer) offers; /* in file order; strings in the arena */
	long rows;                /* read */
	long refused;             /* each was noted */
	long skipped;             /* rows about machines without an accelerator */
	long unknown_price;       /* offers whose price is kept as unknown */
	VEC(const char *)
	unknown_places; /* of AWS: words in which no region is known; the offers keep them as their
			   region */
	const char **unknown_names; /* [n_unknown_names] accelerators that the table lacks */
	size_t n_unknown_names;
};

/* Which layout the header is. BERTH_EINVAL: none of them; the message says what each lacks. */
BERTH_MUST_CHECK enum berth_code import_detect(
    const struct csv *csv, enum import_format *format_out, struct berth_err *err);

/*
 * Reads every row. A bad row is noted and left out, the rest goes on. Rules:
 *  - a price that is empty, 0, below 0 or above 100,000 USD an hour is unknown (0 is known where
 *    there is an upfront payment besides);
 *  - a name that the accelerator table lacks is kept as it stands, accelerator_known false;
 *  - part of an accelerator (count 0.25) is refused: nothing can be placed on it;
 *  - of rows that describe one offer the youngest stays, of the same date the dearest; the others
 *    are refused by line.
 * Errors: BERTH_EINVAL (header), BERTH_EIO, BERTH_ENOMEM.
 */
BERTH_MUST_CHECK enum berth_code import_read(struct csv *csv, const struct import_opts *opts,
    struct arena *a, struct import_result *result_out, struct berth_err *err);

/*
 * A file in any layout: import_read() of a CSV table, or the public price list of EC2 as AWS
 * publishes it (JSON, CSV), read as it stands on disk at any size. f is at its start, can be sought
 * in and stays the caller's; name stands in messages. Errors as import_read(), and csv_open()'s.
 */
BERTH_MUST_CHECK enum berth_code import_file(FILE *f, const char *name,
    const struct import_opts *opts, struct arena *a, struct import_result *result_out,
    struct berth_err *err);

/* What makes two rows the same offer, as text in the arena. */
const char *import_offer_key(const struct offer *o, struct arena *a);

#endif
