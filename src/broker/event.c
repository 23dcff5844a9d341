#include <stdarg.h>
#include <stdio.h>

#include "broker/broker.h"
#include "store/event_rows.h"
#include "util/buf.h"
#include "util/json.h"

#define EVENT_DATA_MAX 65536

void
broker_json_machine(struct jsonw *w, const struct broker *b, const struct instance *in)
{
	jsonw_begin_object(w, "instance");
	jsonw_int(w, "id", in->id);
	jsonw_str(w, "account", in->account);
	jsonw_str_or_null(w, "ref", in->provider_ref);
	jsonw_str(w, "provider", in->offer.provider);
	jsonw_str(w, "region", in->offer.region);
	jsonw_str_or_null(w, "zone", in->offer.zone);
	jsonw_str(w, "instance_type", in->offer.instance_type);
	jsonw_str(w, "purchase", purchase_name(in->offer.purchase));
	jsonw_money(w, "price_per_hour", offer_hour(&in->offer, b->now));
	jsonw_time_or_null(w, "paid_until", in->offer.paid_until);
	jsonw_money(w, "cost", in->cost);
	jsonw_end_object(w);
}

enum berth_code
broker_event(struct broker *b, struct berth_err *err, const char *type, const char *subject,
    const char *job_id, const struct instance *in, const char *fmt, ...)
{
	struct event e = { .t = b->now, .type = type, .subject = subject };
	enum berth_code rc;
	char message[512];
	struct buf data;
	struct jsonw w;
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(message, sizeof(message), fmt, ap);
	va_end(ap);
	buf_init(&data, EVENT_DATA_MAX);
	jsonw_init_buf(&w, &data, JSONW_COMPACT);
	jsonw_begin_object(&w, NULL);
	jsonw_str(&w, "message", message);
	jsonw_str_or_null(&w, "job", job_id);
	if (in != NULL)
		broker_json_machine(&w, b, in);
	jsonw_end_object(&w);
	rc = jsonw_finish(&w, err);
	if (rc == BERTH_OK) {
		e.data = data.p;
		rc = store_event_append(b->store, &e, err);
	}
	buf_free(&data);
	if (rc == BERTH_OK)
		log_info(b->log, "%s %s: %s", type, subject, message);
	return rc;
}
