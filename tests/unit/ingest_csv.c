/* CSV of usage, packed and not: what is read, what is refused, with its line and reason. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "ingest/usage.h"
#include "ingest/zin.h"
#include "tests/tap.h"
#include "util/tz.h"

#define NOW INT64_C(1796054400)	/* 2026-11-30T16:00:00Z */

struct said {
	char text[8192];
	size_t refused, remarks;
};

static void
keep(void *arg, enum usage_say kind, long line, const char *message)
{
	struct said *s = arg;
	size_t used = strlen(s->text);

	snprintf(s->text + used, sizeof(s->text) - used, "%ld:%s\n", line, message);
	s->refused += kind == USAGE_REFUSED;
	s->remarks += kind != USAGE_REFUSED;
}

static void
no_progress(void *arg, int64_t rows)
{
	(void)arg;
	(void)rows;
}

struct result {
	struct arena *a;
	struct usage_set set;
	struct usage_counts counts;
	struct said said;
	struct usage_row rows[64];
	size_t n;
	enum berth_code rc;
	struct berth_err err;
};

/* Reads text; *r owns an arena afterwards. */
static void
read_text(const char *text, const struct usage_csv_options *options, struct result *r)
{
	struct usage_csv_options o = { .now = NOW };
	FILE *f = fmemopen((char *)(uintptr_t)text, strlen(text), "r");
	const struct usage_row *row;
	struct spool *sp;

	memset(r, 0, sizeof(*r));
	r->a = arena_new();
	if (options != NULL) {
		o = *options;
		o.now = NOW;
	}
	usage_set_init(&r->set, r->a);
	if (f == NULL || spool_new(64, NULL, &sp, &r->err) != BERTH_OK)
		exit(1);
	r->rc = usage_csv_read(f, "t.csv", &o, &r->set, sp, &r->counts, keep, &r->said, no_progress, &r->err);
	if (r->rc == BERTH_OK && spool_sort(sp, &r->err) == BERTH_OK)
		while (spool_next(sp, &row, &r->err) == BERTH_OK && row != NULL && r->n < 64)
			if ((row->flags & USAGE_GAP) == 0)
				r->rows[r->n++] = *row;
	spool_free(sp);
	fclose(f);
}

static void
test_names(void)
{
	struct result r;

	read_text("timestamp,gpus,series,peak,team\n2026-11-30T00:00:00Z,1.5,a,3,x\n2026-11-30 01:00:00Z, 2 ,b,,x\n", NULL, &r);
	tap_code(r.rc, BERTH_OK, &r.err);
	tap_ok(r.n == 2 && r.rows[0].t == 1795996800 && r.rows[0].value == 1.5 && r.rows[0].peak == 3 &&
	    r.rows[1].t == 1796000400 && r.rows[1].value == 2 && r.rows[1].peak == 2, "time, mean and peak");
	tap_is_str(r.set.targets.v[0].name, "a", "the series column is the name");
	tap_is_str(r.set.targets.v[0].labels, "{\"team\":\"x\"}", "other columns are labels");
	arena_free(r.a);
	read_text("ts;gpus_used;team;GPU_type\r\n1795996800;4;\"b, c\";H100\r\n1795996800000;5;;H100\r\n", NULL, &r);
	tap_code(r.rc, BERTH_OK, &r.err);
	tap_is_str(r.set.targets.v[0].name, "accelerator=H100,team=\"b, c\"", "labels by key, quoted where they must be");
	tap_is_str(r.set.targets.v[1].name, "accelerator=H100", "an empty label is none");
	tap_ok(r.rows[0].t == 1795996800 && r.rows[1].t == 1795996800, "epoch seconds and milliseconds");
	arena_free(r.a);
	read_text("date,value\n2026-11-30T00:00:00+01:00,7\n", NULL, &r);
	tap_ok(r.n == 1 && r.rows[0].t == 1795993200 && strcmp(r.set.targets.v[0].name, "total") == 0, "no label: total");
	arena_free(r.a);
}

static void
test_by(void)
{
	static const char *const by[] = { "team" }, *const none[] = { "tem" };
	static const char text[] = "time,gpus,team,node,price_usd\n2026-11-30T00:00:00Z,1,a,n1,2.5\n"
	    "2026-11-30T00:00:00Z,2,a,n2,2.6\n2026-11-30T00:00:00Z,4,b,n1,2.5\n2026-11-30T01:00:00Z,8,a,n1,9\n";
	struct result r;

	read_text(text, &(struct usage_csv_options){ .by = by, .n_by = 1 }, &r);
	tap_ok(r.rc == BERTH_OK && r.set.targets.n == 2 && r.set.sources.n == 3 && r.set.targets.v[0].n_sources == 2,
	    "one series a team; its nodes are sources of it; a price makes no source");
	arena_free(r.a);
	read_text(text, &(struct usage_csv_options){ .series = "all" }, &r);
	tap_ok(r.rc == BERTH_OK && r.set.targets.n == 1 && r.set.targets.v[0].n_sources == 3 &&
	    strcmp(r.set.targets.v[0].name, "all") == 0 && r.said.remarks == 1, "all in one series");
	arena_free(r.a);
	read_text(text, &(struct usage_csv_options){ .by = none, .n_by = 1 }, &r);
	tap_code(r.rc, BERTH_EINVAL, &r.err);
	tap_ok(strstr(r.err.msg, "tem") != NULL && strstr(r.err.msg, "team") != NULL, "names the columns: %s", r.err.msg);
	arena_free(r.a);
	read_text("when,gpus\n1795996800,1\n", NULL, &r);
	tap_code(r.rc, BERTH_EINVAL, &r.err);
	arena_free(r.a);
	read_text("when,used\n1795996800,1\n", &(struct usage_csv_options){ .time_column = "when", .value_column = "used" },
	    &r);
	tap_ok(r.rc == BERTH_OK && r.n == 1, "columns of other names");
	arena_free(r.a);
}

static void
test_refused(void)
{
	static const struct {
		const char *field_t, *field_v, *says;
	} bad[] = {
		{ "2026-11-30T00:00:00Z", "x", "not a number" },
		{ "2026-11-30T00:00:00Z", "-1", "negative" },
		{ "2026-11-30T00:00:00Z", "nan", "no number of GPUs" },
		{ "2026-11-30T00:00:00Z", "inf", "no number of GPUs" },
		{ "2026-11-30T00:00:00Z", "1e16", "absurd" },
		{ "2026-11-30T00:00:00Z", "", "empty" },
		{ "2026-11-30T00:00:00Z", "1 2", "not a number" },
		{ "2026-11-30T00:00:00Z", "0x10", "not a number" },
		{ "2026-11-30T00:00:00", "1", "zone" },
		{ "2026-11-30", "1", "zone" },
		{ "2026-13-30T00:00:00Z", "1", "" },
		{ "2026-11-31T00:00:00Z", "1", "" },
		{ "2026-11-30T24:00:00Z", "1", "" },
		{ "2026-11-30T00:60:00Z", "1", "" },
		{ "46320", "1", "serial" },
		{ "+1h", "1", "" },
		{ "2026-12-02T00:00:00Z", "1", "ahead" },
		{ "2026-11-30T00:00:00Z,1,2", "1", "field" },
		{ "", "1", "" },
	};
	char text[4096] = "timestamp,gpus\n2026-11-29T00:00:00Z,1\n", line[32];
	struct result r;
	size_t n = sizeof(bad) / sizeof(bad[0]);

	for (size_t i = 0; i < n; i++)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s,%s\n", bad[i].field_t, bad[i].field_v);
	strncat(text, "2026-11-30T05:00:00Z,2\n", sizeof(text) - strlen(text) - 1);
	read_text(text, NULL, &r);
	tap_code(r.rc, BERTH_OK, &r.err);
	tap_ok(r.n == 2 && r.rows[1].value == 2, "good rows around them stay");
	tap_ok(r.counts.read == (int64_t)n + 2 && r.counts.refused == (int64_t)n && r.said.refused == n,
	    "%lld of %lld rows refused", (long long)r.counts.refused, (long long)r.counts.read);
	for (size_t i = 0; i < n; i++) {
		const char *at, *end;
		char reason[512];

		snprintf(line, sizeof(line), "%zu:", i + 3);
		at = i == 0 ? r.said.text : strchr(r.said.text, '\n');
		while (at != NULL && strncmp(at + (*at == '\n'), line, strlen(line)) != 0)
			at = strchr(at + 1, '\n');
		end = at != NULL ? strchr(at + 1, '\n') : NULL;
		snprintf(reason, sizeof(reason), "%.*s", end != NULL ? (int)(end - at) : 0, at != NULL ? at : "");
		tap_ok(at != NULL && strstr(reason, bad[i].says) != NULL, "line %zu (%s,%s) is refused: %s", i + 3,
		    bad[i].field_t, bad[i].field_v, at != NULL ? reason + (*reason == '\n') : "(not at all)");
	}
	arena_free(r.a);
}

static void
test_forms(void)
{
	struct arena *a = arena_new();
	struct berth_err err;
	const struct tz *tz;
	struct result r;

	read_text("time;gpus\n2026-11-30T00:00:00Z;12,5\n2026-11-30T01:00:00Z;16.25\n",
	    &(struct usage_csv_options){ .decimal_comma = true }, &r);
	tap_ok(r.n == 2 && r.rows[0].value == 12.5 && r.rows[1].value == 16.25, "decimal commas where they are stated");
	arena_free(r.a);
	read_text("time,gpus\n46320,8\n46320.5,16\n46321.25,4\n", &(struct usage_csv_options){ .serial_dates = true }, &r);
	tap_ok(r.n == 3 && r.rows[0].t == 1792886400 && r.rows[1].t == 1792929600 && r.rows[2].t == 1792994400,
	    "serial dates where they are stated");	/* 2026-10-25, -25T12, -26T06 */
	arena_free(r.a);
	tap_code(tz_load(a, "+02:00", &tz, &err), BERTH_OK, &err);
	read_text("time,gpus\n2026-11-30T02:00:00,1\n2026-11-30T00:30:00Z,1\n", &(struct usage_csv_options){ .tz = tz }, &r);
	tap_ok(r.n == 2 && r.rows[0].t == 1795996800 && r.rows[1].t == 1795998600, "a zone for times that name none");
	arena_free(r.a);
	arena_free(a);
}

/* What zin gives of a file with these bytes; -1: a read error. */
static long
zin_read_all(const unsigned char *bytes, size_t n, char *out, size_t size, const char **fault_out)
{
	char path[] = "/tmp/berth-zin.XXXXXX";
	int fd = mkstemp(path);
	struct berth_err err;
	struct zin *z;
	long got;

	*fault_out = NULL;
	if (fd < 0 || write(fd, bytes, n) != (ssize_t)n)
		exit(1);
	close(fd);
	if (zin_open(path, &z, &err) != BERTH_OK)
		exit(1);
	got = (long)fread(out, 1, size, zin_file(z));
	if (ferror(zin_file(z)))
		got = -1;
	*fault_out = zin_fault(z);
	zin_close(z);
	unlink(path);
	return got;
}

static size_t
pack(const char *text, size_t n, unsigned char *out, size_t size)
{
	z_stream s = { 0 };

	if (deflateInit2(&s, 9, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK)
		exit(1);
	s.next_in = (unsigned char *)(uintptr_t)text;
	s.avail_in = (unsigned)n;
	s.next_out = out;
	s.avail_out = (unsigned)size;
	if (deflate(&s, Z_FINISH) != Z_STREAM_END)
		exit(1);
	n = size - s.avail_out;
	deflateEnd(&s);
	return n;
}

static void
test_packed(void)
{
	static unsigned char packed[400000];
	static char text[300000], out[700000];
	const char *fault;
	uint64_t rng = 42;
	size_t n;
	long got;

	for (size_t i = 0; i < sizeof(text); i++) {
		rng = rng * 6364136223846793005ULL + 1442695040888963407ULL;
		text[i] = (char)('a' + (rng >> 60));
	}
	tap_is_long(zin_read_all((const unsigned char *)"", 0, out, sizeof(out), &fault), 0, "an empty file is empty");
	got = zin_read_all((const unsigned char *)text, sizeof(text), out, sizeof(out), &fault);
	tap_ok(got == (long)sizeof(text) && memcmp(out, text, sizeof(text)) == 0, "plain bytes");
	n = pack(text, sizeof(text), packed, sizeof(packed));
	got = zin_read_all(packed, n, out, sizeof(out), &fault);
	tap_ok(got == (long)sizeof(text) && memcmp(out, text, sizeof(text)) == 0 && fault == NULL, "gzip");
	got = zin_read_all(packed, n - 9, out, sizeof(out), &fault);
	tap_ok(got == -1 && fault != NULL, "cut off: %s", fault);
	packed[n / 2] ^= 0x55;
	got = zin_read_all(packed, n, out, sizeof(out), &fault);
	tap_ok(got == -1 && fault != NULL, "damaged: %s", fault);
	n = pack(text, 1000, packed, sizeof(packed));
	n += pack(text + 1000, 500, packed + n, sizeof(packed) - n);
	got = zin_read_all(packed, n, out, sizeof(out), &fault);
	tap_ok(got == 1500 && memcmp(out, text, 1500) == 0, "two members one behind the other");
	memcpy(packed + n, "junk", 4);
	tap_ok(zin_read_all(packed, n + 4, out, sizeof(out), &fault) == -1, "junk behind them is damage");
}

int
main(void)
{
	test_names();
	test_by();
	test_refused();
	test_forms();
	test_packed();
	return tap_done();
}
