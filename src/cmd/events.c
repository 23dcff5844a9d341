#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/cmd.h"
#include "cmd/jobshow.h"
#include "store/event_rows.h"
#include "util/arena.h"
#include "util/json.h"
#include "util/strmap.h"
#include "util/vec.h"

struct events_opts {
	int64_t after, since, limit;
	const char *type, *subject;
	bool summary;
};

static const struct events_opts events_defaults = { .limit = 100 };

#define OFF(field) offsetof(struct events_opts, field)
static const struct opt_row events_rows[] = {
	{ "after", 0, OPT_INT, "ID", "only events with a greater id", OFF(after), 0, 9e15, NULL },
	{ "since", 0, OPT_TIME, "TIME", "only events at or after this time", OFF(since), 0, 0,
	    NULL },
	{ "type", 't', OPT_STRING, "TEXT", "only this type; * and ? stand for others: job.*",
	    OFF(type), 0, 0, NULL },
	{ "subject", 0, OPT_STRING, "TEXT", "only about this: a job's id, instance:ID ...",
	    OFF(subject), 0, 0, NULL },
	{ "limit", 'n', OPT_INT, "N", "the newest so many; 0: all; default 100", OFF(limit), 0, 1e9,
	    NULL },
	{ "summary", 's', OPT_FLAG, NULL, "count them by type instead", OFF(summary), 0, 0, NULL },
	{ 0 },
};

static enum berth_code events_run(struct cmd_ctx *ctx, struct berth_err *err);

const struct cmd cmd_events = {
	.name = "events",
	.summary = "show what happened",
	.args = "",
	.opts = events_rows,
	.opts_default = &events_defaults,
	.opts_size = sizeof(events_defaults),
	.flags = CMD_STORE_RO,
	.run = events_run,
};

struct events_type {
	const char *type;
	int64_t count, first, last;
};

static int
events_type_cmp(const void *a, const void *b)
{
	const struct events_type *x = a, *y = b;

	return strcmp(x->type, y->type);
}

static enum berth_code
events_summary(struct cmd_ctx *ctx, const struct event *es, size_t n, struct berth_err *err)
{
	static const struct table_col cols[] = {
		{ "type", NULL, TABLE_TEXT, 0, 0 },
		{ "count", NULL, TABLE_INT, 0, 0 },
		{ "first", NULL, TABLE_TIME, 0, 0 },
		{ "last", NULL, TABLE_TIME, 0, 0 },
	};
	struct table *t = table_new(ctx->arena, cols, sizeof(cols) / sizeof(cols[0]));
	VEC(struct events_type) types = { 0 };
	struct strmap map = { 0 };
	struct jsonw *w;

	for (size_t i = 0; i < n; i++) {
		int added;
		size_t at = *strmap_add(ctx->arena, &map, es[i].type, types.n, &added);

		if (added)
			VEC_PUSH(ctx->arena, &types,
			    (struct events_type){ es[i].type, 0, es[i].t, es[i].t });
		types.v[at].count++;
		types.v[at].last = es[i].t > types.v[at].last ? es[i].t : types.v[at].last;
		types.v[at].first = es[i].t < types.v[at].first ? es[i].t : types.v[at].first;
	}
	if (types.n > 0)
		qsort(types.v, types.n, sizeof(*types.v), events_type_cmp);
	if (cmd_wants_json(ctx)) {
		w = cmd_json_begin(ctx, "berth.events-summary/1");
		jsonw_begin_array(w, "types");
		for (size_t i = 0; i < types.n; i++) {
			jsonw_begin_object(w, NULL);
			jsonw_str(w, "type", types.v[i].type);
			jsonw_int(w, "count", types.v[i].count);
			jsonw_time(w, "first", types.v[i].first);
			jsonw_time(w, "last", types.v[i].last);
			jsonw_end_object(w);
		}
		jsonw_end_array(w);
		return cmd_json_end(ctx, err);
	}
	for (size_t i = 0; i < types.n; i++) {
		table_row(t);
		table_text(t, types.v[i].type);
		table_int(t, types.v[i].count);
		table_time(t, types.v[i].first);
		table_time(t, types.v[i].last);
	}
	return cmd_table_print(ctx, t, err);
}

static enum berth_code
events_json(struct cmd_ctx *ctx, const struct event *es, size_t n, struct berth_err *err)
{
	struct jsonw *w = cmd_json_begin(ctx, "berth.events/1");

	jsonw_begin_array(w, "events");
	for (size_t i = 0; i < n; i++) {
		jsonw_begin_object(w, NULL);
		jsonw_int(w, "id", es[i].id);
		jsonw_time(w, "t", es[i].t);
		jsonw_str(w, "type", es[i].type);
		jsonw_str(w, "subject", es[i].subject);
		jsonw_raw(w, "data", es[i].data);
		if (es[i].run != 0)
			jsonw_int(w, "run", es[i].run);
		else
			jsonw_null(w, "run");
		jsonw_end_object(w);
	}
	jsonw_end_array(w);
	return cmd_json_end(ctx, err);
}

static enum berth_code
events_table(struct cmd_ctx *ctx, const struct event *es, size_t n, struct berth_err *err)
{
	static const struct table_col cols[] = {
		{ "id", NULL, TABLE_INT, 0, 0 },
		{ "t", "TIME", TABLE_TIME, 0, 0 },
		{ "type", NULL, TABLE_TEXT, 0, 0 },
		{ "subject", NULL, TABLE_TEXT, 0, 0 },
		{ "message", NULL, TABLE_TEXT, 0, TABLE_CUT },
		{ "data", NULL, TABLE_TEXT, 0, TABLE_CUT | TABLE_WIDE },
		{ "run", NULL, TABLE_INT, 0, TABLE_WIDE },
	};
	struct table *t = table_new(ctx->arena, cols, sizeof(cols) / sizeof(cols[0]));

	for (size_t i = 0; i < n; i++) {
		table_row(t);
		table_int(t, es[i].id);
		table_time(t, es[i].t);
		table_text(t, es[i].type);
		table_text(t, es[i].subject);
		table_text(t, jobshow_message(es[i].data, ctx->arena));
		table_text(t, strcmp(es[i].data, "{}") == 0 ? "" : es[i].data);
		table_int(t, es[i].run);
	}
	return cmd_table_print(ctx, t, err);
}

static enum berth_code
events_run(struct cmd_ctx *ctx, struct berth_err *err)
{
	const struct events_opts *o = ctx->opts;
	struct event_query q = { .after = o->after,
		.since = o->since,
		.type = o->type,
		.subject = o->subject,
		.limit = o->summary ? 0 : (size_t)o->limit };
	struct event *es;
	enum berth_code rc;
	size_t n;

	/* One more than shown tells whether there are more. */
	if (q.limit > 0)
		q.limit++;
	rc = store_event_list(ctx->store, &q, ctx->arena, &es, &n, err);
	if (rc != BERTH_OK)
		return rc;
	if (o->summary)
		return events_summary(ctx, es, n, err);
	if (q.limit > 0 && n == q.limit) {
		es++;
		n--;
		if (!cmd_wants_json(ctx))
			cmd_note(ctx, "there are older events: --limit 0 shows them all");
	}
	if (n == 0 && (ctx->format == CMD_TABLE || ctx->format == CMD_WIDE)) {
		cmd_note(ctx, "no events");
		return BERTH_OK;
	}
	return cmd_wants_json(ctx) ? events_json(ctx, es, n, err) : events_table(ctx, es, n, err);
}
