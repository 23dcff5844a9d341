#include "store/prune.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/priv.h"

#define PRUNE_DAY_S INT64_C(86400)
/* a placement reads where jobs were to go in the week before it */
#define PRUNE_BEHIND_S (INT64_C(8) * 86400)

#define OPEN_JOB "(SELECT id FROM job WHERE state IN ('queued', 'placed', 'running'))"

#define DECISIONS                                                                                  \
	"FROM decision d WHERE d.t < CASE WHEN d.kind NOT IN ('place', 'placement') THEN $1 ELSE " \
	"$2 END AND d.id < (SELECT max(x.id) FROM decision x WHERE x.subject = d.subject) AND "    \
	"d.subject NOT IN " OPEN_JOB " AND d.id NOT IN (SELECT decision_id FROM waiting) AND NOT " \
	"EXISTS (SELECT 1 FROM placement_input p WHERE p.decision_id = d.id AND p.t >= $1)"
#define EVENTS                                                                                     \
	"FROM event e WHERE e.t < $1 AND $2 < $1 AND e.type <> 'machine.orphan' AND e.subject "    \
	"NOT IN " OPEN_JOB " AND NOT EXISTS (SELECT 1 FROM outbox o WHERE o.event_id = e.id AND "  \
	"o.delivered IS NULL)"
#define INTENTS                                                                                    \
	"FROM intent t WHERE t.state = 'failed' AND t.settled < $1 AND $2 < $1 AND NOT EXISTS "    \
	"(SELECT 1 FROM instance n WHERE n.intent_id = t.id) AND NOT EXISTS (SELECT 1 FROM "       \
	"reservation r WHERE r.intent_id = t.id AND (r.settled IS NULL OR r.held > 0))"
#define RUNS "FROM run r WHERE r.verb = 'tick' AND r.ended < $1 AND $2 < $1"

/* Those of one kind: how many there are, and what goes, in this order. $1: before this, $2: where
 * jobs were to go, $3: at most so many. */
static const struct prune_kind {
	const char *count, *gone[2];
} prune_kinds[] = {
	{ "SELECT count(*) " DECISIONS,
	    { "DELETE FROM placement_input WHERE t < $1 AND $2 < $1 AND $3 > 0",
		"DELETE FROM decision WHERE id IN (SELECT d.id " DECISIONS
		" ORDER BY d.id LIMIT $3)" } },
	{ "SELECT count(*) " EVENTS,
	    { "DELETE FROM outbox WHERE event_id IN (SELECT e.id " EVENTS
	      " ORDER BY e.id LIMIT $3)",
		"DELETE FROM event WHERE id IN (SELECT e.id " EVENTS " ORDER BY e.id LIMIT $3)" } },
	{ "SELECT count(*) " INTENTS,
	    { "DELETE FROM reservation WHERE intent_id IN (SELECT t.id " INTENTS
	      " ORDER BY t.id LIMIT $3)",
		"DELETE FROM intent WHERE id IN (SELECT t.id " INTENTS
		" ORDER BY t.id LIMIT $3)" } },
	{ "SELECT count(*) " RUNS,
	    { "DELETE FROM run WHERE id IN (SELECT r.id " RUNS " ORDER BY r.id LIMIT $3)" } },
};

#define PRUNE_KINDS (sizeof(prune_kinds) / sizeof(prune_kinds[0]))

static enum berth_code
prune_count(struct store *s, int64_t keep_s, int64_t now, int64_t n[static PRUNE_KINDS],
    struct berth_err *err)
{
	enum berth_code rc = BERTH_OK;

	memset(n, 0, PRUNE_KINDS * sizeof(*n));
	for (size_t i = 0; rc == BERTH_OK && keep_s > 0 && i < PRUNE_KINDS; i++)
		rc = db_get_one(s->db, 0, &n[i], err, prune_kinds[i].count,
		    DB_ARGS(db_i64(now - keep_s), db_i64(now - keep_s - PRUNE_BEHIND_S)));
	return rc;
}

static struct prune_counts
prune_told(const int64_t n[static PRUNE_KINDS])
{
	return (struct prune_counts){
		.decisions = n[0], .events = n[1], .intents = n[2], .runs = n[3]
	};
}

enum berth_code
store_prune_due(
    struct store *s, int64_t keep_s, int64_t now, struct prune_counts *out, struct berth_err *err)
{
	int64_t n[PRUNE_KINDS];
	enum berth_code rc = prune_count(s, keep_s, now, n, err);

	*out = prune_told(n);
	return rc;
}

static enum berth_code
prune_rows(struct store *s, int64_t keep_s, int64_t now, int64_t most, struct prune_counts *out,
    struct berth_err *err)
{
	int64_t n[PRUNE_KINDS];
	enum berth_code rc = prune_count(s, keep_s, now, n, err);
	bool more = false;

	for (size_t i = 0; rc == BERTH_OK && keep_s > 0 && i < PRUNE_KINDS; i++) {
		for (size_t k = 0; rc == BERTH_OK && k < 2 && prune_kinds[i].gone[k] != NULL; k++)
			rc = db_run(s->db, err, prune_kinds[i].gone[k],
			    DB_ARGS(db_i64(now - keep_s), db_i64(now - keep_s - PRUNE_BEHIND_S),
				db_i64(most > 0 ? most : INT64_MAX)));
		if (most > 0 && n[i] > most) {
			n[i] = most;
			more = true;
		}
	}
	*out = prune_told(n);
	out->more = more;
	return rc;
}

enum berth_code
store_prune(struct store *s, int64_t keep_s, int64_t now, int64_t most, struct prune_counts *out,
    struct berth_err *err)
{
	enum berth_code rc = store_begin(s, err);

	*out = (struct prune_counts){ .decisions = 0 };
	return rc == BERTH_OK ? store_end(s, prune_rows(s, keep_s, now, most, out, err), err) : rc;
}

/* When all was done last; 0: never. */
static enum berth_code
prune_last(struct store *s, int64_t *last_out, struct berth_err *err)
{
	return db_get_one(s->db, 0, last_out, err,
	    "SELECT CAST(value AS BIGINT) FROM meta WHERE key = 'pruned'", DB_NO_ARGS);
}

enum berth_code
store_prune_daily(struct store *s, int64_t keep_s, int64_t now, int64_t most,
    struct prune_counts *out, struct berth_err *err)
{
	int64_t last = 0;
	char text[32];
	enum berth_code rc;

	*out = (struct prune_counts){ .decisions = 0 };
	if (keep_s == 0)
		return BERTH_OK;
	rc = prune_last(s, &last, err);
	if (rc != BERTH_OK || (last <= now && now - last < PRUNE_DAY_S))
		return rc;
	rc = store_begin(s, err);
	if (rc != BERTH_OK)
		return rc;
	rc = prune_rows(s, keep_s, now, most, out, err);
	snprintf(text, sizeof(text), "%lld", (long long)now);
	if (rc == BERTH_OK && !out->more)
		rc = db_run(s->db, err,
		    "INSERT INTO meta (key, value) VALUES ('pruned', $1) ON CONFLICT (key) DO "
		    "UPDATE SET value = $1",
		    DB_ARGS(db_text(text)));
	return store_end(s, rc, err);
}
