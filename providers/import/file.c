#include <errno.h>
#include <stdio.h>

#include "providers/aws/aws_file.h"
#include "providers/import/import.h"

/* Whose layout it is stands in the first bytes. */
enum berth_code
import_file(FILE *f, const char *name, const struct import_opts *opts, struct arena *a,
    struct import_result *result_out, struct berth_err *err)
{
	struct csv *csv = NULL;
	enum berth_code rc;
	char front[64];
	size_t n = fread(front, 1, sizeof(front), f);
	bool json = aws_file_is_json(front, n), list = aws_file_is_csv(front, n);

	if (ferror(f) || fseek(f, 0, SEEK_SET) != 0)
		return err_sys(err, BERTH_EIO, errno, "%s", name);
	if (json || list) {
		rc = aws_file_read(f, NULL, 0, list, opts, a, result_out, err);
		return rc == BERTH_OK ? rc : err_ctx(err, "%s", name);
	}
	if ((rc = csv_open_stream(f, name, &csv, err)) != BERTH_OK)
		return rc;
	rc = import_read(csv, opts, a, result_out, err);
	csv_close(csv);
	return rc;
}
