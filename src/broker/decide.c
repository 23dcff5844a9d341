#include "broker/decide.h"

#include <math.h>

#include "model/block.h"
#include "model/record.h"
#include "store/machine_rows.h"
#include "store/plan_rows.h"

#define DECIDE_JSON_MAX ((size_t)1 << 20)

void
decide_begin(struct decide *d, const char *reason)
{
	buf_init(&d->text, DECIDE_JSON_MAX);
	jsonw_init_buf(&d->w, &d->text, JSONW_COMPACT);
	jsonw_begin_object(&d->w, NULL);
	if (reason != NULL)
		jsonw_str(&d->w, "reason", reason);
}

enum berth_code
decide_end(struct broker *b, struct decide *d, const char *kind, const char *subject,
    struct berth_err *err)
{
	struct decision row = { .t = b->now, .kind = kind, .subject = subject };
	enum berth_code rc;

	jsonw_end_object(&d->w);
	rc = jsonw_finish(&d->w, err);
	if (rc == BERTH_OK) {
		row.json = d->text.p;
		rc = store_decision_insert(b->store, &row, &row.id, err);
	}
	buf_free(&d->text);
	return rc;
}

struct placing_change *
decide_change(struct broker *b, const char *what, const char *subject, int64_t at, const char *text)
{
	struct placing_change *c = arena_alloc(b->tick_arena, sizeof(*c));

	*c = (struct placing_change){ .what = what,
		.subject = subject,
		.offer = "",
		.from = NAN,
		.to = NAN,
		.at = at,
		.usd = NAN,
		.text = text };
	return c;
}

enum berth_code
decide_held(struct broker *b, const struct offer *o, int64_t *until_out, struct berth_err *err)
{
	struct block *blocks;
	const struct block *hit;
	size_t n;
	enum berth_code rc = store_block_active(b->store, b->now, b->tick_arena, &blocks, &n, err);

	hit = rc == BERTH_OK ? block_hit(blocks, n, o) : NULL;
	*until_out = hit == NULL ? 0 : hit->until;
	return rc;
}
