#include <string.h>

#include "tests/fuzz/fuzz.h"
#include "util/csv.h"

const char fuzz_name[] = "csv";

/* A record that was read, written by csv_put() and read again, is the same. */
static void
check_again(const struct csv *c, const struct csv_row *row)
{
	const struct csv_row *again = NULL;
	struct csv *d = NULL;
	char *text = NULL;
	size_t n = 0;
	FILE *f = open_memstream(&text, &n);

	if (f == NULL)
		return;
	for (size_t i = 0; i < row->n; i++)
		fprintf(f, "%sc%zu", i > 0 ? "," : "", i);
	putc('\n', f);
	for (size_t i = 0; i < row->n; i++) {
		if (i > 0)
			putc(',', f);
		csv_put(f, row->field[i], ',');
	}
	fputs(",end\n", f);	/* so that a lone empty field is a record, and one field too many */
	fclose(f);
	FUZZ_CHECK(csv_open_bytes(text, n, "again", &d, NULL) == BERTH_OK);
	FUZZ_CHECK(csv_columns(d) == csv_columns(c));
	FUZZ_CHECK(csv_next(d, &again, NULL) == BERTH_EINVAL);
	csv_close(d);
	memcpy(text + n - 5, "\n\n\n\n\n", 5);
	FUZZ_CHECK(csv_open_bytes(text, n, "again", &d, NULL) == BERTH_OK);
	FUZZ_CHECK(csv_next(d, &again, NULL) == BERTH_OK);
	FUZZ_CHECK(again != NULL || (row->n == 1 && row->field[0][0] == '\0'));
	for (size_t i = 0; again != NULL && i < row->n; i++)
		FUZZ_CHECK(strcmp(again->field[i], row->field[i]) == 0);
	csv_close(d);
	free(text);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct csv_row *row = NULL;
	struct berth_err err = { 0 };
	struct csv *c = NULL;
	enum berth_code rc;
	long line = 0, records = 0;

	if (csv_open_bytes(data, size, "fuzz", &c, &err) != BERTH_OK) {
		FUZZ_CHECK(err.msg[0] != '\0');
		return 0;
	}
	while ((rc = csv_next(c, &row, &err)) == BERTH_EINVAL || row != NULL) {
		FUZZ_CHECK(csv_line(c) > line);
		line = csv_line(c);
		FUZZ_CHECK((size_t)++records <= size);
		if (rc == BERTH_EINVAL)
			continue;
		FUZZ_CHECK(row->n == csv_columns(c));
		check_again(c, row);
	}
	FUZZ_CHECK(rc == BERTH_OK);
	csv_close(c);
	return 0;
}
