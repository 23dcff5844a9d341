#include "ingest/sacct_row.h"

#include <string.h>

#include "ingest/tres.h"
#include "util/str.h"

#define SACCT_TRIES_MAX 20000

static const struct {
	const char *name;
	enum sacct_kind kind;
	int col;
} sacct_names[] = { { "JobID", SACCT_ID, SACCT_JOBID }, { "JobIDRaw", SACCT_ID, SACCT_JOBIDRAW },
	{ "JobName", SACCT_FREE, SACCT_JOBNAME }, { "Cluster", SACCT_ANY, SACCT_CLUSTER },
	{ "User", SACCT_ANY, SACCT_USER }, { "Account", SACCT_ANY, SACCT_ACCOUNT },
	{ "Partition", SACCT_ANY, SACCT_PARTITION }, { "QOS", SACCT_ANY, SACCT_QOS },
	{ "State", SACCT_STATUS, SACCT_STATE }, { "Submit", SACCT_TIME, SACCT_SUBMIT },
	{ "Eligible", SACCT_TIME, -1 }, { "Start", SACCT_TIME, SACCT_START },
	{ "End", SACCT_TIME, SACCT_END }, { "Elapsed", SACCT_SPAN, SACCT_ELAPSED },
	{ "ElapsedRaw", SACCT_NUMBER, SACCT_ELAPSEDRAW },
	{ "Timelimit", SACCT_SPAN, SACCT_TIMELIMIT },
	{ "TimelimitRaw", SACCT_ANY, SACCT_TIMELIMITRAW },
	{ "AllocTRES", SACCT_TRES, SACCT_ALLOCTRES }, { "ReqTRES", SACCT_TRES, SACCT_REQTRES },
	{ "NNodes", SACCT_NUMBER, -1 }, { "NCPUS", SACCT_NUMBER, -1 },
	{ "AllocCPUS", SACCT_NUMBER, -1 }, { "AllocNodes", SACCT_NUMBER, -1 },
	{ "Comment", SACCT_FREE, -1 }, { "AdminComment", SACCT_FREE, -1 },
	{ "SystemComment", SACCT_FREE, -1 }, { "SubmitLine", SACCT_FREE, -1 },
	{ "WorkDir", SACCT_FREE, -1 }, { "Constraints", SACCT_FREE, -1 },
	{ "Extra", SACCT_FREE, -1 }, { "Container", SACCT_FREE, -1 }, { "StdOut", SACCT_FREE, -1 },
	{ "StdErr", SACCT_FREE, -1 }, { "StdIn", SACCT_FREE, -1 }, { "Licenses", SACCT_FREE, -1 } };

static char
sacct_separator(const char *line)
{
	static const char seps[] = "|\t;^!\x1f";

	for (const char *s = seps; *s != '\0'; s++)
		if (strchr(line, *s) != NULL)
			return *s;
	return '\0';
}

static void
sacct_head_add(struct sacct_head *h, const char *name)
{
	h->kind[h->n] = SACCT_ANY;
	for (size_t i = 0; i < sizeof(sacct_names) / sizeof(sacct_names[0]); i++) {
		if (!str_ieq(name, sacct_names[i].name))
			continue;
		h->kind[h->n] = sacct_names[i].kind;
		if (sacct_names[i].col >= 0 && h->col[sacct_names[i].col] < 0)
			h->col[sacct_names[i].col] = (int)h->n;
	}
	h->n_free += h->kind[h->n] == SACCT_FREE;
	h->n++;
}

static enum berth_code
sacct_head_check(const struct sacct_head *h, struct berth_err *err)
{
	const int *c = h->col;
	const char *lacks = NULL;

	if (c[SACCT_JOBID] < 0 && c[SACCT_JOBIDRAW] < 0)
		lacks = "JobID";
	else if (c[SACCT_START] < 0)
		lacks = "Start";
	else if (c[SACCT_END] < 0 && c[SACCT_ELAPSED] < 0 && c[SACCT_ELAPSEDRAW] < 0)
		lacks = "End or Elapsed";
	else if (c[SACCT_ALLOCTRES] < 0)
		lacks = "AllocTRES";
	if (lacks == NULL)
		return BERTH_OK;
	return err_set(err, BERTH_EINVAL,
	    "the header has no column %s: export with sacct -P -D -o %s", lacks, sacct_columns);
}

enum berth_code
sacct_head_parse(struct sacct_head *h, char *line, struct berth_err *err)
{
	char *name = line, *next;

	memset(h, 0, sizeof(*h));
	for (size_t i = 0; i < SACCT_COL_COUNT; i++)
		h->col[i] = -1;
	h->sep = sacct_separator(line);
	if (h->sep == '\0')
		return err_set(err, BERTH_EINVAL,
		    "no header with \"|\" between its columns: export with sacct -P");
	for (; name != NULL; name = next) {
		next = strchr(name, h->sep);
		if (next != NULL)
			*next++ = '\0';
		if (next == NULL && *name == '\0' && h->n > 0) {
			h->trailing = true;
			break;
		}
		if (h->n == SACCT_COLUMNS_MAX)
			return err_set(
			    err, BERTH_EINVAL, "more than %d columns", SACCT_COLUMNS_MAX);
		sacct_head_add(h, name);
	}
	return sacct_head_check(h, err);
}

bool
sacct_is_state(const char *s)
{
	static const char *const states[] = { "BOOT_FAIL", "CANCELLED", "COMPLETED", "COMPLETING",
		"CONFIGURING", "DEADLINE", "FAILED", "LAUNCH_FAILED", "NODE_FAIL", "OUT_OF_MEMORY",
		"PENDING", "POWER_UP_NODE", "PREEMPTED", "RECONFIG_FAIL", "REQUEUED", "REQUEUE_FED",
		"REQUEUE_HOLD", "RESIZING", "RESV_DEL_HOLD", "REVOKED", "RUNNING", "SIGNALING",
		"SPECIAL_EXIT", "STAGE_OUT", "STOPPED", "SUSPENDED", "TIMEOUT", "UNKNOWN", NULL };
	char word[24];
	size_t n = strcspn(s, " +,");

	if (n >= sizeof(word))
		return false;
	memcpy(word, s, n);
	word[n] = '\0';
	return str_index(word, states) >= 0;
}

static bool
sacct_fits(enum sacct_kind kind, const char *s)
{
	struct slurmclock clock;
	struct slurmtime t;
	int64_t v, w;

	switch (kind) {
	case SACCT_ANY:
	case SACCT_FREE:
		return true;
	case SACCT_ID:
		return tres_is_step(s) || tres_tasks(s, &v, &w);
	case SACCT_STATUS:
		return sacct_is_state(s);
	case SACCT_TIME:
		slurmclock_init(&clock, NULL);
		clock.day_known = clock.day_plain =
		    true; /* of any day: only the form counts here */
		memcpy(clock.day_text, s, strnlen(s, 10));
		return slurmtime_parse(&clock, s, &t);
	case SACCT_SPAN:
		return slurmtime_duration(s, &v);
	case SACCT_NUMBER:
		return *s == '\0' || str_to_i64(s, 0, INT64_MAX, &v, NULL) == BERTH_OK;
	case SACCT_TRES:
		return *s == '\0' || (strchr(s, '=') != NULL && strchr(s, ' ') == NULL);
	}
	return false;
}

/* Where the surplus fields go: how many each free column takes beside its own. */
struct sacct_fit {
	const struct sacct_head *h;
	char *const *part; /* [n_parts] as the separators cut them */
	size_t start[SACCT_COLUMNS_MAX], found[SACCT_COLUMNS_MAX];
	int n_found, tries;
};

static void
sacct_fit(struct sacct_fit *f, size_t col, size_t part, size_t spare)
{
	if (f->n_found > 1 || f->tries++ > SACCT_TRIES_MAX)
		return;
	if (col == f->h->n) {
		if (spare == 0 && f->n_found++ == 0)
			memcpy(f->found, f->start, sizeof(f->found));
		return;
	}
	f->start[col] = part;
	if (f->h->kind[col] != SACCT_FREE) {
		if (sacct_fits(f->h->kind[col], f->part[part]))
			sacct_fit(f, col + 1, part + 1, spare);
		return;
	}
	for (size_t k = 0; k <= spare; k++)
		sacct_fit(f, col + 1, part + 1 + k, spare - k);
}

static const char *
sacct_anchor(const struct sacct_head *h, char **part, size_t n, char **field)
{
	struct sacct_fit f = { .h = h, .part = part };
	size_t spare = n - h->n;

	if (h->n_free == 0)
		return "more fields than the header has columns";
	if (h->n_free == 1) { /* anchored from the right */
		size_t i = 0, j = 0;

		for (; i < h->n; i++) {
			f.found[i] = j;
			j += h->kind[i] == SACCT_FREE ? spare + 1 : 1;
		}
	} else {
		sacct_fit(&f, 0, 0, spare);
		if (f.n_found == 0)
			return "more fields than the header has columns, and no way to read them "
			       "fits";
		if (f.n_found > 1)
			return "more fields than the header has columns, and more than one way to "
			       "read them: leave all free text but JobName out of the export";
	}
	for (size_t i = 0; i < h->n; i++) {
		size_t end = i + 1 < h->n ? f.found[i + 1] : n;

		field[i] = part[f.found[i]];
		for (size_t j = f.found[i] + 1; j < end; j++)
			part[j][-1] = h->sep;
	}
	return NULL;
}

const char *
sacct_split(const struct sacct_head *h, char *line, size_t len, char **field)
{
	char *part[SACCT_FIELDS_MAX];
	size_t n;

	if (h->trailing && len > 0 && line[len - 1] == h->sep)
		line[--len] = '\0';
	n = sacct_cut(h->sep, line, line + len, field);
	if (n > SACCT_FIELDS_MAX)
		return "too many fields";
	if (n < h->n)
		return "fewer fields than the header has columns";
	if (n == h->n)
		return NULL;
	memcpy(part, field, n * sizeof(*field));
	return sacct_anchor(h, part, n, field);
}
