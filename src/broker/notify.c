/* notify: what the outbox holds for each sink, oldest first; what cannot be sent is tried again
 * later. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "broker/broker.h"
#include "net/http.h"
#include "providers/net.h"
#include "store/event_rows.h"
#include "util/buf.h"
#include "util/json.h"

#define NOTIFY_BATCH 200 /* a sink that was away for long must not hold up a tick */

/* CloudEvents 1.0, structured JSON. */
static enum berth_code
notify_json(const struct broker *b, const struct event *e, struct buf *out, struct berth_err *err)
{
	const char *id = arena_printf(b->tick_arena, "%" PRId64, e->id);
	struct jsonw w;

	jsonw_init_buf(&w, out, JSONW_COMPACT);
	jsonw_begin_object(&w, NULL);
	jsonw_str(&w, "specversion", "1.0");
	jsonw_str(&w, "id", id);
	jsonw_str(
	    &w, "source", arena_printf(b->tick_arena, "berth/%s", store_installation(b->store)));
	jsonw_str(&w, "type", arena_printf(b->tick_arena, "berth.%s", e->type));
	jsonw_str(&w, "subject", e->subject);
	jsonw_time(&w, "time", e->t);
	jsonw_str(&w, "datacontenttype", "application/json");
	jsonw_raw(&w, "data", e->data);
	jsonw_end_object(&w);
	return jsonw_finish(&w, err);
}

static enum berth_code
notify_file(const struct broker_sink *sink, struct buf *line, struct berth_err *err)
{
	enum berth_code rc = BERTH_OK;
	ssize_t wrote;
	int fd;

	buf_add_char(line, '\n');
	fd = open(sink->target, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0)
		return err_sys(err, BERTH_EIO, errno, "%s", sink->target);
	wrote =
	    write(fd, line->p, line->len); /* one write: lines of several processes do not mix */
	if (wrote != (ssize_t)line->len)
		rc = err_sys(err, BERTH_EIO, wrote < 0 ? errno : ENOSPC, "%s", sink->target);
	if (close(fd) != 0 && rc == BERTH_OK)
		rc = err_sys(err, BERTH_EIO, errno, "%s", sink->target);
	return rc;
}

static enum berth_code
notify_webhook(
    struct broker *b, const struct broker_sink *sink, const struct buf *body, struct berth_err *err)
{
	struct http_req req = { .arena = b->tick_arena,
		.method = "POST",
		.url = sink->target,
		.body = body->p,
		.body_len = body->len,
		.timeout_s = 10 };
	struct http_resp resp;
	enum berth_code rc;

	if (b->net == NULL || b->offline)
		return err_set(err, BERTH_ETRANSIENT, "offline");
	rc = http_req_header(&req, "Content-Type", "application/cloudevents+json", false, err);
	if (rc == BERTH_OK)
		rc = http_exchange(net_http(b->net), &req, &resp, err);
	if (rc == BERTH_OK && (resp.status < 200 || resp.status > 299))
		rc = err_set(err, BERTH_ETRANSIENT, "status %d", resp.status);
	return rc;
}

static enum berth_code
notify_one(struct broker *b, const struct broker_sink *sink, const struct outbox_row *row,
    bool *sent_out, struct berth_err *err)
{
	int64_t wait_s = row->tries < 6 ? INT64_C(30) << row->tries : 1800;
	struct berth_err why;
	enum berth_code rc;
	struct buf text;

	buf_init(&text, 1U << 20);
	rc = notify_json(b, &row->event, &text, &why);
	if (rc == BERTH_OK)
		rc = sink->kind == SINK_FILE ? notify_file(sink, &text, &why)
					     : notify_webhook(b, sink, &text, &why);
	buf_free(&text);
	*sent_out = rc == BERTH_OK;
	if (rc == BERTH_OK) {
		b->counts.events_sent++;
		return store_outbox_delivered(b->store, row->event.id, sink->name, b->now, err);
	}
	b->counts.errors++;
	log_warn(b->log, "sink %s: %s", sink->name, why.msg);
	return store_outbox_failed(
	    b->store, row->event.id, sink->name, why.msg, b->now + wait_s, err);
}

enum berth_code
pass_notify(struct broker *b, struct berth_err *err)
{
	struct outbox_row *rows;
	enum berth_code rc = BERTH_OK;
	bool sent;
	size_t n;

	for (size_t i = 0; rc == BERTH_OK && i < b->n_sinks; i++) {
		rc = store_outbox_due(b->store, b->sinks[i].name, b->now, NOTIFY_BATCH,
		    b->tick_arena, &rows, &n, err);
		for (size_t j = 0; rc == BERTH_OK && j < n; j++) {
			rc = notify_one(b, &b->sinks[i], &rows[j], &sent, err);
			if (!sent) /* order is kept: the rest waits behind it */
				break;
		}
	}
	return rc;
}
