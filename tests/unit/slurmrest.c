/* The accounting of slurmrestd in the shapes of v0.0.38 to v0.0.44: each job comes out as the line that sacct prints of it. */
#include <stdio.h>
#include <string.h>

#include "ingest/slurmrest.h"
#include "tests/tap.h"

#define META "{\"meta\":{\"Slurm\":{\"release\":\"25.05.1\"}},\"errors\":[],\"warnings\":[],\"jobs\":["
/* As v0.0.38 and v0.0.39 have it: plain numbers and null. */
#define OLD(id, array, task, task_id, het, offset, state, submit, start, end, elapsed, limit, req, alloc) \
	"{\"account\":\"nlp\",\"array\":{\"job_id\":" array ",\"limits\":{\"max\":{\"running\":{\"tasks\":2}}},\"task\":" task \
	",\"task_id\":" task_id "},\"cluster\":\"c1\",\"time\":{\"elapsed\":" elapsed ",\"eligible\":5,\"end\":" end ",\"start\":" start \
	",\"submission\":" submit ",\"limit\":" limit "},\"het\":{\"job_id\":" het ",\"job_offset\":" offset "},\"job_id\":" id \
	",\"name\":\"a|b\",\"partition\":\"gpu\",\"qos\":\"normal\",\"state\":{\"current\":" state ",\"reason\":\"None\"},\"steps\":[]," \
	"\"tres\":{\"allocated\":[" alloc "],\"requested\":[" req "]},\"user\":\"ann\"}"
#define SET(n) "{\"set\":true,\"infinite\":false,\"number\":" n "}"
#define UNSET "{\"set\":false,\"infinite\":false,\"number\":0}"
#define CPU "{\"type\":\"cpu\",\"name\":null,\"id\":1,\"count\":8},{\"type\":\"energy\",\"name\":null,\"id\":3,\"count\":null}"
#define GPUS(n) "{\"type\":\"gres\",\"name\":\"gpu\",\"id\":1001,\"count\":" n "},{\"type\":\"gres\",\"name\":\"gpu:a100\",\"id\":1002,\"count\":" n "}"

static void
test_shapes(void)
{
	static const struct { const char *what, *json, *want; } t[] = {
		{ "v0.0.38",
		  META OLD("7", "0", "null", "null", "0", "null", "\"COMPLETED\"", "1796030676", "1796030684", "1796120686", "90002",
		    "60", CPU "," GPUS("2"), CPU "," GPUS("2")) "]}",
		  "7|c1|ann|nlp|gpu|normal|COMPLETED|2026-11-30T09:24:36|2026-11-30T09:24:44|2026-12-01T10:24:46|1-01:00:02|60|"
		  "gres/gpu=2,gres/gpu:a100=2|gres/gpu=2,gres/gpu:a100=2\n" },
		{ "v0.0.43: states in a list, numbers that are objects, a task, no limit",
		  META OLD("9", "6", "\"\"", SET("3"), "0", UNSET, "[\"RUNNING\"]", "1796030676", "1796030684", "0", "10",
		    "{\"set\":true,\"infinite\":true,\"number\":0}", GPUS("1"), GPUS("1")) "]}",
		  "6_3|c1|ann|nlp|gpu|normal|RUNNING|2026-11-30T09:24:36|2026-11-30T09:24:44|Unknown|0-00:00:10|UNLIMITED|"
		  "gres/gpu=1,gres/gpu:a100=1|gres/gpu=1,gres/gpu:a100=1\n" },
		{ "tasks that wait, a limit of the partition",
		  META OLD("12", "12", "\"4-7%2\"", UNSET, "0", UNSET, "[\"PENDING\"]", SET("1796030676"), "0", UNSET, "0", UNSET,
		    GPUS("4"), "") "]}",
		  "12_[4-7%2]|c1|ann|nlp|gpu|normal|PENDING|2026-11-30T09:24:36|Unknown|Unknown|0-00:00:00||"
		  "gres/gpu=4,gres/gpu:a100=4|\n" },
		{ "a part of a heterogeneous job",
		  META OLD("4", "0", "null", "null", "3", "1", "\"COMPLETED\"", "1796030676", "1796030676", "1796030679", "3", "5",
		    "", "{\"type\":\"gres\",\"name\":\"gpu:a100_1g.10gb\",\"id\":1003,\"count\":3}") "]}",
		  "3+1|c1|ann|nlp|gpu|normal|COMPLETED|2026-11-30T09:24:36|2026-11-30T09:24:36|2026-11-30T09:24:39|0-00:00:03|5||"
		  "gres/gpu:a100_1g.10gb=3\n" },
		{ "nothing found is no error", "{\"errors\":[{\"error_number\":9003,\"error\":\"Nothing found with query\"}],\"jobs\":[]}", "" },
		{ "no jobs", META "]}", "" },
		{ "what is no job becomes a row that is refused", META "3,{\"job_id\":5}]}",
		  "|||||||Unknown|Unknown|Unknown|0-00:00:00|||\n|||||||Unknown|Unknown|Unknown|0-00:00:00|||\n" },
	};

	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		struct slurmrest *s = slurmrest_new();
		struct berth_err err = { 0 };
		struct buf out;
		int64_t jobs = -1;

		buf_init(&out, 65536);
		if (slurmrest_read(s, t[i].json, strlen(t[i].json), "answer", 1796200000, &out, &jobs, &err) != BERTH_OK)
			tap_ok(0, "%s: %s", t[i].what, err.msg);
		else
			tap_is_str(out.p != NULL ? out.p : "", t[i].want, "%s", t[i].what);
		buf_free(&out);
		slurmrest_free(s);
	}
}

static void
test_errors(void)
{
	static const struct { const char *json, *msg; enum berth_code code; } t[] = {
		{ "{\"errors\":[{\"error_number\":1007,\"error\":\"Protocol authentication error\"}],\"jobs\":[]}",
		  "the server says: Protocol authentication error", BERTH_EAUTH },
		{ "{\"errors\":[{\"error\":\"Query empty\",\"description\":\"Unknown Query field\"}]}",
		  "the server says: Query empty: Unknown Query field", BERTH_EINVAL },
		{ "{\"hello\":1}", "no list of jobs", BERTH_EINVAL },
		{ META "{\"job_id\":1", "", BERTH_EINVAL },
	};

	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		struct slurmrest *s = slurmrest_new();
		struct berth_err err = { 0 };
		struct buf out;
		int64_t jobs;
		enum berth_code rc;

		buf_init(&out, 65536);
		rc = slurmrest_read(s, t[i].json, strlen(t[i].json), "answer", 0, &out, &jobs, &err);
		tap_ok(rc == t[i].code && strstr(err.msg, t[i].msg) != NULL, "%s", err.msg);
		buf_free(&out);
		slurmrest_free(s);
	}
}

/* Three windows of an hour: a job of two and a half is told in each, a short one once, one that waits for ever in all. */
static void
test_windows(void)
{
	static const char answer[] = META
	    OLD("1", "0", "null", "null", "0", "null", "\"COMPLETED\"", "1796030000", "1796030000", "1796039000", "9000", "60", "", GPUS("2")) ","
	    OLD("2", "0", "null", "null", "0", "null", "\"PENDING\"", "1796030000", "0", "0", "0", "60", GPUS("1"), "") "]}";
	static const char last[] = META
	    OLD("1", "0", "null", "null", "0", "null", "\"COMPLETED\"", "1796030000", "1796030000", "1796039000", "9000", "60", "", GPUS("2")) ","
	    OLD("1", "0", "null", "null", "0", "null", "\"COMPLETED\"", "1796037300", "1796037300", "1796037400", "100", "60", "", GPUS("2")) "]}";
	struct slurmrest *s = slurmrest_new();
	struct berth_err err = { 0 };
	struct buf out;
	int64_t jobs, got[3] = { 0 };

	buf_init(&out, 65536);
	for (int i = 0; i < 3; i++) {
		const char *a = i < 2 ? answer : last;

		if (slurmrest_read(s, a, strlen(a), "answer", 1796030000 + 3600 * (i + 1), &out, &jobs, &err) == BERTH_OK)
			got[i] = jobs;
	}
	tap_ok(got[0] == 2 && got[1] == 0 && got[2] == 1, "each job once, a requeued one is another: %d %d %d", (int)got[0],
	    (int)got[1], (int)got[2]);
	buf_free(&out);
	slurmrest_free(s);
}

int
main(void)
{
	test_shapes();
	test_errors();
	test_windows();
	return tap_done();
}
