#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/tap.h"
#include "util/buf.h"
#include "util/csv.h"
#include "util/hash.h"

/*
 * Reads text and writes what was read in one line: a record's fields between '|', a refused one as !line, each with
 * the line it starts on in front.
 */
static void
show(const char *text, size_t n, struct buf *out)
{
	const struct csv_row *row;
	struct berth_err err = { 0 };
	struct csv *c = NULL;
	enum berth_code rc;

	if (csv_open_bytes(text, n, "t.csv", &c, &err) != BERTH_OK) {
		buf_printf(out, "refused: %s", err.msg);
		return;
	}
	for (size_t i = 0; i < csv_columns(c); i++)
		buf_printf(out, "%s%s", i > 0 ? "|" : "", csv_header(c, i));
	while ((rc = csv_next(c, &row, &err)) == BERTH_EINVAL || row != NULL) {
		buf_printf(out, " %ld", csv_line(c));
		if (rc == BERTH_EINVAL) {
			buf_add_str(out, "!");
			continue;
		}
		for (size_t i = 0; i < row->n; i++)
			buf_printf(out, "%s%s", i > 0 ? "|" : ":", row->field[i]);
	}
	csv_close(c);
}

static void
test_cases(void)
{
	static const struct { const char *in, *want; } t[] = {
		{ "a,b\n1,2\n3,4\n", "a|b 2:1|2 3:3|4" },
		{ "a,b\r\n1,2\r\n3,4", "a|b 2:1|2 3:3|4" },
		{ "\xef\xbb\xbf" "a;b\n1;2,5\n", "a|b 2:1|2,5" },
		{ "a\tb\n1\t2\n", "a|b 2:1|2" },
		{ " a , B \nx, y \n", "a|B 2:x| y " },
		{ "a,b\n\n\r\n1,2\n", "a|b 4:1|2" },
		{ "a,b\n\"1\",\"2\"\n", "a|b 2:1|2" },
		{ "a,b\n\"x\"\"y\",\"\"\n", "a|b 2:x\"y|" },
		{ "a,b\n\"\"\"\",\"\"\"\"\"\"\n", "a|b 2:\"|\"\"" },
		{ "a,b\n\"1,2\",3\n", "a|b 2:1,2|3" },
		{ "a,b\n\"l1\nl2\r\nl3\",3\n4,5\n", "a|b 2:l1\nl2\r\nl3|3 5:4|5" },
		{ "a,b\n1,\"2\"", "a|b 2:1|2" },
		{ "a,b\n1,\"2\"\r\n3,4\r\n", "a|b 2:1|2 3:3|4" },
		{ "a,b\n5\" disk,x\"y\"\n", "a|b 2:5\" disk|x\"y\"" },
		{ "a,b\n,\n", "a|b 2:|" },
		{ "a,b\n1\n1,2,3\n1,2\n", "a|b 2! 3! 4:1|2" },
		{ "a,b\n\"1\"x,2\n3,4\n", "a|b 2! 3:3|4" },
		{ "a,b\n\"1\" ,2\n3,4\n", "a|b 2! 3:3|4" },
		{ "a,b\n\"1,2\n3,4\n5,6\n", "a|b 2! 3:3|4 4:5|6" },	/* never closed: only its line is lost */
		{ "a,b\n1,2\n\"", "a|b 2:1|2 3!" },
		{ "a\n1\n2", "a 2:1 3:2" },
		{ "a\n\"\"\n", "a 2:" },
		{ "\n\na,b\n1,2\n", "a|b 4:1|2" },
		{ "a,\"b,\nc\"\n1,2\n", "a|b,\nc 3:1|2" },
		{ "a,b,,\n1,2,3,4\n", "a|b|| 2:1|2|3|4" },
		{ "sep=;\r\na;b\r\n1,5;2\r\n", "a|b 3:1,5|2" }, { "\"sep=|\"\na|b,c\n1|2\n", "a|b,c 3:1|2" },
		{ "\xef\xbb\xbfsep=\t\na,b\n1\n", "a,b 3:1" }, { "sep=x\n1\n", "sep=x 2:1" },
		{ "a,b\n1,2,\n1,2,,\n1,2,,3\n1\n", "a|b 2:1|2 3:1|2 4! 5!" }, { "a,b\n,,,\n", "a|b 2:|" },
		{ "a,b\r1,2\r3,4\r", "refused: t.csv: its lines end in CR alone: give it LF (tr '\\r' '\\n')" },
		{ "a,b\n1,2\r", "a|b 2:1|2" },
		{ "a,b\n1\r2,3\n", "a|b 2:1\r2|3" },
		{ "", "refused: t.csv: empty: a header line with the names of the columns is needed" },
		{ "\r\n\n", "refused: t.csv: empty: a header line with the names of the columns is needed" },
		{ "a,A\n1,2\n", "refused: the column 'A' stands twice in the header" },
		{ "\xff\xfe" "a", "refused: t.csv: this is UTF-16: save it as UTF-8 (iconv -f UTF-16 -t UTF-8)" },
		{ "\x1f\x8b\x08", "refused: t.csv: this is compressed: give zcat's output on stdin, with - as the file" },
		{ "PK\x03\x04", "refused: t.csv: this is a zip archive or a spreadsheet: export it as CSV" },
		{ "\"a,b\n1,2\n", "refused: a quote is never closed" },
	};

	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		struct buf out;

		buf_init(&out, 10000);
		show(t[i].in, strlen(t[i].in), &out);
		tap_is_str(out.p, t[i].want, "case %zu", i);
		buf_free(&out);
	}
}

static void
test_nul(void)
{
	static const char in[] = "a,b\n1,2\n3\0,4\n5,6\n";
	struct buf out;

	buf_init(&out, 10000);
	show(in, sizeof(in) - 1, &out);
	tap_is_str(out.p, "a|b 2:1|2 3! 4:5|6", "a NUL byte costs its line");
	buf_free(&out);
}

static void
test_messages(void)
{
	static const char in[] = "time,gpus\n1,2\n1,2,3\n";
	const struct csv_row *row;
	struct berth_err err = { 0 };
	struct csv *c = NULL;
	int i = -1;

	tap_code(csv_open("/nonexistent/x.csv", &c, &err), BERTH_ENOTFOUND, &err);
	tap_code(csv_open("/", &c, &err), BERTH_EIO, &err);
	tap_code(csv_open_bytes(in, sizeof(in) - 1, "t.csv", &c, &err), BERTH_OK, &err);
	tap_is_long(csv_column(c, "GPUS"), 1, "columns are found in either case");
	tap_is_long(csv_column(c, "gpu"), -1, "but whole");
	tap_code(csv_need(c, "peak", &i, &err), BERTH_EINVAL, &err);
	tap_is_str(err.msg, "t.csv: there is no column 'peak'; the header has: time, gpus", "a missing column is named");
	tap_code(csv_next(c, &row, &err), BERTH_OK, &err);
	err_set(&err, BERTH_EINVAL, "'x' is not a number");
	tap_code(csv_err(c, &err, "gpus"), BERTH_EINVAL, &err);
	tap_is_str(err.where, "t.csv:2", "a refused value has its place");
	tap_is_str(err.msg, "column gpus: 'x' is not a number", "and its column");
	tap_code(csv_next(c, &row, &err), BERTH_EINVAL, &err);
	tap_is_str(err.where, "t.csv:3", "a refused record has its place");
	tap_is_str(err.msg, "3 fields, but the header has 2", "and its reason");
	tap_ok(csv_next(c, &row, &err) == BERTH_OK && row == NULL, "the end");
	tap_ok(csv_next(c, &row, &err) == BERTH_OK && row == NULL, "stays the end");
	csv_close(c);
	csv_close(NULL);
}

/* Records of the cap, above it, and what follows them. */
static void
test_long(void)
{
	const size_t most = CSV_RECORD_MAX;
	char *in = malloc(4 * most);
	const struct csv_row *row;
	struct berth_err err = { 0 };
	struct csv *c = NULL;
	size_t n = 0;

	n += (size_t)snprintf(in, 5, "a,b\n");
	memset(in + n, 'x', most);
	in[n + most - 2] = ',';
	n += most;
	n += (size_t)snprintf(in + n, 16, "\n1,2\n");
	memset(in + n, 'y', most + 1);
	in[n + 2] = ',';
	n += most + 1;
	n += (size_t)snprintf(in + n, 16, "\n3,4\n\"");
	memset(in + n, '\n', most + 10);
	n += most + 10;
	tap_code(csv_open_bytes(in, n, "t.csv", &c, &err), BERTH_OK, &err);
	tap_code(csv_next(c, &row, &err), BERTH_OK, &err);
	tap_is_long((long)strlen(row->field[0]), (long)most - 2, "a record of exactly 1 MiB is read");
	tap_ok(csv_next(c, &row, &err) == BERTH_OK && row->line == 3, "and the next one");
	tap_ok(csv_next(c, &row, &err) == BERTH_EINVAL && csv_line(c) == 4, "one more byte is refused: %s", err.msg);
	tap_ok(csv_next(c, &row, &err) == BERTH_OK && row->line == 5 && row->field[1][0] == '4', "and only that one");
	tap_ok(csv_next(c, &row, &err) == BERTH_EINVAL && csv_line(c) == 6, "an endless quote is refused: %s", err.msg);
	tap_ok(csv_next(c, &row, &err) == BERTH_OK && row == NULL, "the empty lines in it are no records");
	csv_close(c);
	free(in);
}

static const char *
random_field(uint64_t x, char *dst)
{
	static const char *const bits[] = { "a", "\"", ",", "\n", "\r\n", " ", ";", "\t", "\xc3\xa4", "12.5", "\"\"" };
	size_t n = x % 6;

	dst[0] = '\0';
	for (size_t i = 0; i < n; i++)
		strcat(dst, bits[hash_join(x, i) % (sizeof(bits) / sizeof(bits[0]))]);
	return dst;
}

/* What csv_put() wrote, and the test knows, is read back from a file: quoted fields across many refills. */
static void
test_round_trip(void)
{
	static const char seps[] = { ',', ';', '\t' };
	const struct csv_row *row;
	struct berth_err err = { 0 };
	struct csv *c = NULL;
	char field[64];
	int same = 1;

	for (size_t k = 0; k < sizeof(seps); k++) {
		FILE *f = tmpfile();

		fprintf(f, "a%cb%cc\n", seps[k], seps[k]);
		for (uint64_t r = 0; r < 40000; r++) {
			for (uint64_t i = 0; i < 3; i++) {
				csv_put(f, random_field(hash_join(r, i), field), seps[k]);
				fputs(i < 2 ? (char[]){ seps[k], '\0' } : r % 2 ? "\r\n" : "\n", f);
			}
		}
		rewind(f);
		tap_code(csv_open_stream(f, "t.csv", &c, &err), BERTH_OK, &err);
		for (uint64_t r = 0; r < 40000 && same; r++) {
			same = csv_next(c, &row, &err) == BERTH_OK && row != NULL && row->n == 3;
			for (uint64_t i = 0; i < 3 && same; i++)
				same = strcmp(row->field[i], random_field(hash_join(r, i), field)) == 0;
			if (!same)
				tap_diag("separator %zu, record %d: %s", k, (int)r, err.msg);
		}
		same = same && csv_next(c, &row, &err) == BERTH_OK && row == NULL;
		csv_close(c);
		fclose(f);
	}
	tap_ok(same, "120000 random records are read as they were written");
}

/* A pipe gives bytes in small pieces. */
static void
test_pipe(void)
{
	const struct csv_row *row;
	struct berth_err err = { 0 };
	struct csv *c = NULL;
	FILE *f = popen("for i in 'a,b' '\"x' 'y\",2' '3,4'; do printf '%s\\n' \"$i\"; done", "r");

	tap_code(csv_open_stream(f, "pipe", &c, &err), BERTH_OK, &err);
	tap_ok(csv_next(c, &row, &err) == BERTH_OK && strcmp(row->field[0], "x\ny") == 0, "a quoted newline from a pipe");
	tap_ok(csv_next(c, &row, &err) == BERTH_OK && row->line == 4, "lines are counted");
	csv_close(c);
	pclose(f);
}

int
main(void)
{
	test_cases();
	test_nul();
	test_messages();
	test_long();
	test_round_trip();
	test_pipe();
	return tap_done();
}
