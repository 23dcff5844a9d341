/* providers/aws/aws_file.h - the public price list of EC2 that lies in a file.  Floor: providers.
 */
#ifndef BERTH_PROVIDERS_AWS_FILE_H
#define BERTH_PROVIDERS_AWS_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "providers/import/import.h"

/* By its first bytes: a JSON document; the CSV whose first lines tell of the file. */
bool aws_file_is_json(const char *bytes, size_t n);
bool aws_file_is_csv(const char *bytes, size_t n);
/* The region that a price feed's words for a place mean, such as "EU (Ireland)"; NULL: none is
 * known. */
const char *aws_file_region(struct arena *a, const char *place);
/*
 * Every price of machines with accelerators, on demand and reserved, each under its kind. file (at
 * its start, seekable) or, for JSON, bytes [n]. BERTH_EINVAL: not such a list, or no such machine
 * in it; BERTH_EIO, BERTH_ENOMEM.
 */
BERTH_MUST_CHECK enum berth_code aws_file_read(FILE *file, const char *bytes, size_t n, bool csv,
    const struct import_opts *opts, struct arena *a, struct import_result *result_out,
    struct berth_err *err);

#endif
