#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/tap.h"
#include "util/log.h"

static char *text;
static size_t size;

/* What a log that writes to memory has written. */
static const char *
written(FILE *f)
{
	fclose(f);
	return text;
}

static FILE *
memory(void)
{
	free(text);
	text = NULL;
	return open_memstream(&text, &size);
}

static void
test_text(void)
{
	struct log l = { .level = LOG_WARN, .f = memory() };
	struct berth_err err = { 0 };

	log_warn(&l, "row %d", 7);
	log_info(&l, "not shown");
	err_set(&err, BERTH_EINVAL, "bad\x1b[2Jrow");
	err_at(&err, "usage.csv:3");
	log_err(&l, &err);
	tap_is_str(written(l.f), "berth: warning: row 7\nberth: usage.csv:3: bad\\x1B[2Jrow\n",
	    "warnings and errors, control bytes shown");
}

static void
test_json(void)
{
	struct log l = { .level = LOG_INFO, .f = memory(), .json = true, .verb = "prices list" };

	log_warn(&l, "say \"%s\"\n", "hi");
	log_debug(&l, "not shown");
	log_info(&l, "done");
	tap_is_str(written(l.f),
	    "{\"level\":\"warning\",\"verb\":\"prices list\",\"message\":\"say \\\"hi\\\"\\n\"}\n"
	    "{\"level\":\"info\",\"verb\":\"prices list\",\"message\":\"done\"}\n", "one object a line");
	l = (struct log){ .level = LOG_ERROR, .f = memory(), .json = true };
	log_warn(&l, "not shown");
	log_error(&l, "%s", "x");
	tap_is_str(written(l.f), "{\"level\":\"error\",\"verb\":null,\"message\":\"x\"}\n", "no verb is null");
}

/* A path that is longer than the place for it keeps its end, a URL its front; no character is cut in two. */
static void
test_long(void)
{
	struct berth_err err = { 0 };
	char path[400];
	size_t n = sizeof(err.where) - 1;

	for (size_t shift = 0; shift < 2; shift++) {
		memset(path, 'x', shift);
		for (size_t i = 0; i < 190; i++)
			memcpy(path + shift + 2 * i, "\xc3\xa4", 3);
		err_at(&err, "/%s/berth.yaml:3:18", path);
		tap_ok(strncmp(err.where, "...\xc3\xa4", 5) == 0 && strcmp(err.where + strlen(err.where) - 16, "/berth.yaml:3:18") == 0 &&
		    strlen(err.where) <= n && strlen(err.where) >= n - 1, "%s", err.where);
	}
	memset(path, 'y', sizeof(path) - 1);
	path[sizeof(path) - 1] = '\0';
	err_at(&err, "https://cloud/%s", path);
	tap_ok(strncmp(err.where, "https://cloud/yyy", 17) == 0 && strlen(err.where) == n, "%s", err.where);
	path[n] = '\0';
	err_at(&err, "%s", path);
	tap_is_str(err.where, path, "what just fits stays whole");
}

int
main(void)
{
	test_text();
	test_long();
	test_json();
	free(text);
	return tap_done();
}
