#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "store/priv.h"
#include "util/buf.h"
#include "util/str.h"
#include "util/vec.h"

#define RUN_ARGS_MAX ((size_t)64 * 1024)

static bool
run_is_secret(const char *option, size_t len)
{
	static const char *const words[] = { "token", "secret", "password", "passphrase", "key",
		"credential" };
	char name[64];

	if (len >= sizeof(name))
		len = sizeof(name) - 1;
	for (size_t i = 0; i < len; i++)
		name[i] = str_lower_char(option[i]);
	name[len] = '\0';
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (strstr(name, words[i]) != NULL)
			return true;
	return false;
}

/* The words with a blank between, values of options that look secret as "***", cut where they would
 * be too long. */
static void
run_args(const char *const *args, size_t n, struct buf *out)
{
	bool hide = false;

	for (size_t i = 0; i < n; i++) {
		const char *eq = strchr(args[i], '=');
		bool option = str_starts(args[i], "--");
		size_t from;

		if (i > 0)
			buf_add_char(out, ' ');
		from = out->len;
		if (hide && !option) {
			buf_add_str(out, "***");
			hide = false;
			continue;
		}
		hide = option && run_is_secret(args[i],
				     eq != NULL ? (size_t)(eq - args[i]) : strlen(args[i]));
		if (hide && eq != NULL) {
			buf_add(out, args[i], (size_t)(eq - args[i]) + 1);
			buf_add_str(out, "***");
			hide = false;
		} else {
			buf_add_str(out, args[i]);
			if (out->p != NULL && from < out->len)
				(void)str_hide_password(out->p + from);
		}
	}
}

enum berth_code
store_run_begin(struct store *s, const char *verb, const char *const *args, size_t n_args,
    int64_t now, struct berth_err *err)
{
	char host[HOST_NAME_MAX + 1] = "";
	enum berth_code rc;
	struct buf text;
	int64_t id;

	if (gethostname(host, sizeof(host) - 1) != 0)
		host[0] = '\0';
	buf_init(&text, RUN_ARGS_MAX);
	run_args(args, n_args, &text);
	rc = store_insert(s, &id, err,
	    "INSERT INTO run (verb, args, host, pid, started) VALUES ($1, $2, $3, $4, $5) "
	    "RETURNING id",
	    DB_ARGS(db_text(verb), db_text(text.p), db_text(host), db_i64(getpid()), db_i64(now)));
	if (rc == BERTH_OK)
		s->run_id = id;
	buf_free(&text);
	return rc;
}

enum berth_code
store_run_end(struct store *s, int exit_status, int64_t now, struct berth_err *err)
{
	if (s->run_id == 0)
		return BERTH_OK;
	return store_write(s, err, "UPDATE run SET ended = $1, exit_status = $2 WHERE id = $3",
	    DB_ARGS(db_i64(now), db_i64(exit_status), db_i64(s->run_id)));
}

int64_t
store_run_id(const struct store *s)
{
	return s->run_id;
}

struct run_list {
	struct arena *a;
	VEC(struct run) runs;
};

static enum berth_code
run_row(struct db_stmt *st, void *arg, struct berth_err *err)
{
	struct run_list *l = arg;
	struct run *r = VEC_ADD(l->a, &l->runs);

	(void)err;
	r->id = db_col_i64(st, "id");
	r->verb = db_col_text(st, "verb", l->a);
	r->args = db_col_text(st, "args", l->a);
	r->host = db_col_text(st, "host", l->a);
	r->pid = db_col_i64(st, "pid");
	r->started = db_col_i64(st, "started");
	r->ended = db_col_i64(st, "ended");
	r->exit_status = r->ended != 0 ? (int)db_col_i64(st, "exit_status") : -1;
	return BERTH_OK;
}

enum berth_code
store_run_list(struct store *s, size_t limit, struct arena *a, struct run **runs_out, size_t *n_out,
    struct berth_err *err)
{
	struct run_list l = { .a = a };
	enum berth_code rc;

	rc = store_each(s, run_row, &l, err, "SELECT * FROM run ORDER BY id DESC LIMIT $1",
	    DB_ARGS(db_i64(limit > 0 ? (int64_t)limit : INT64_MAX)));
	if (rc == BERTH_OK) {
		*runs_out = l.runs.v;
		*n_out = l.runs.n;
	}
	return rc;
}

#define RUN_GAPS 9         /* the last ones */
#define RUN_GAP_MOST 86400 /* longer ones are no rhythm */

struct run_gaps {
	int64_t gap[RUN_GAPS], later;
	size_t n;
};

/* The newest first; gaps are kept in order of size. */
static enum berth_code
run_gap_row(struct db_stmt *st, void *arg, struct berth_err *err)
{
	struct run_gaps *g = arg;
	int64_t t = db_col_i64(st, "started"), gap = g->later - t;
	size_t at = g->n;

	(void)err;
	if (g->later > 0 && gap > 0 && gap <= RUN_GAP_MOST && g->n < RUN_GAPS) {
		for (; at > 0 && g->gap[at - 1] > gap; at--)
			g->gap[at] = g->gap[at - 1];
		g->gap[at] = gap;
		g->n++;
	}
	g->later = t;
	return BERTH_OK;
}

enum berth_code
store_run_gap(struct store *s, const char *verb, int64_t *gap_out, struct berth_err *err)
{
	struct run_gaps g = { .n = 0 };
	enum berth_code rc = store_each(s, run_gap_row, &g, err,
	    "SELECT started FROM (SELECT id, verb, started FROM run ORDER BY id DESC LIMIT 200) r "
	    "WHERE verb = $1 ORDER BY id DESC LIMIT 10",
	    DB_ARGS(db_text(verb)));

	if (rc == BERTH_OK)
		*gap_out = g.n > 0 ? g.gap[g.n / 2] : 0;
	return rc;
}
