#include <errno.h>
#include <stdio.h>

#include "providers/aws/aws_file.h"
#include "providers/import/import.h"
#include "util/str.h"

/* Whose layout it is stands in the first bytes; standard input is a CSV table. */
enum berth_code
import_file(const char *path, const struct import_opts *opts, struct arena *a, struct import_result *result_out,
    struct berth_err *err)
{
	struct csv *csv = NULL;
	enum berth_code rc;
	char front[64];
	FILE *f = str_eq(path, "-") ? NULL : fopen(path, "rb");
	size_t n = f != NULL ? fread(front, 1, sizeof(front), f) : 0;
	bool json = aws_file_is_json(front, n), list = aws_file_is_csv(front, n);

	if (json || list) {
		rc = fseek(f, 0, SEEK_SET) != 0 ? err_sys(err, BERTH_EIO, errno, "%s", path) :
		    aws_file_read(f, NULL, 0, list, opts, a, result_out, err);
		fclose(f);
		return rc == BERTH_OK ? rc : err_ctx(err, "%s", path);
	}
	if (f != NULL)
		fclose(f);
	if ((rc = csv_open(path, &csv, err)) != BERTH_OK)
		return rc;
	rc = import_read(csv, opts, a, result_out, err);
	csv_close(csv);
	return rc;
}
