/* The machines that were measured before, as the measure of the next. */
#include "config.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "broker/fleet.h"
#include "plan/verdict_fleet.h"
#include "store/machine_rows.h"
#include "util/arena.h"
#include "util/str.h"

#define FLEET_MAX 2000 /* newest measurements that vote */
#define FLEET_AGE_S (180 * 86400)

/* The slowest GPU's value of one test in one measurement. */
static struct verdict_fleet_row *
fleet_slot(struct verdict_fleet_row *rows, size_t from, size_t *n, const char *test)
{
	for (size_t i = from; i < *n; i++)
		if (str_eq(rows[i].test, test))
			return &rows[i];
	rows[*n].test = test;
	rows[*n].value = (double)NAN;
	return &rows[(*n)++];
}

/* The word behind "name": in what the measuring program printed, without quotes; "" for null and
 * where it is not. */
static const char *
fleet_word(const char *json, const char *name, struct arena *a)
{
	const char *p = strstr(json, arena_printf(a, "\"%s\":", name));
	size_t n;

	if (p == NULL)
		return "";
	p += strlen(name) + 3;
	p += *p == '"';
	n = strcspn(p, "\",}\n");
	return n == 4 && strncmp(p, "null", 4) == 0 ? "" : arena_strndup(a, p, n < 80 ? n : 80);
}

/* Of the first device: those of one machine are alike. */
static const char *
fleet_key(const char *json, struct arena *a)
{
	const char *ecc = fleet_word(json, "ecc", a), *power = fleet_word(json, "power_limit_w", a);
	double watts = (double)NAN;

	if (str_to_double(power, 0, 1e6, &watts, NULL) != BERTH_OK)
		watts = (double)NAN;
	return verdict_fleet_key(a, fleet_word(json, "pci", a), fleet_word(json, "mig", a),
	    str_eq(ecc, "true")    ? 1
	    : str_eq(ecc, "false") ? 0
				   : -1,
	    watts, fleet_word(json, "kernels", a));
}

static enum berth_code
fleet_one(struct store *s, struct arena *a, const struct measurement *m,
    struct verdict_fleet_row **rows, size_t *n, size_t *cap, struct berth_err *err)
{
	const char *key = fleet_key(m->json, a);
	struct measure_row *mr;
	size_t k, from = *n;
	enum berth_code rc = store_measure_rows(s, m->id, a, &mr, &k, err);

	if (rc != BERTH_OK)
		return rc;
	if (*n + k > *cap) {
		struct verdict_fleet_row *more;

		*cap = (*n + k) * 2 + 256;
		more = arena_array_of(a, *cap, struct verdict_fleet_row);
		if (*n > 0)
			memcpy(more, *rows, *n * sizeof(*more));
		*rows = more;
	}
	for (size_t i = 0; i < k; i++) {
		struct verdict_fleet_row *r;

		/* of the whole machine only a user's benchmark; the host's own rates are no
		 * accelerator's */
		if ((mr[i].gpu < 0 && !str_eq(m->mode, "other")) || mr[i].peer >= 0 ||
		    (!str_eq(mr[i].status, "ok") && !str_eq(mr[i].status, "partial")))
			continue;
		r = fleet_slot(*rows, from, n, mr[i].test);
		r->accelerator = m->accelerator;
		r->provider = m->provider;
		r->key = key;
		r->machine = m->host[0] != '\0'
				 ? arena_printf(a, "%s/%s", m->provider, m->host)
				 : arena_printf(a, "%s/#%" PRId64, m->provider, m->instance_id);
		r->t = m->t;
		r->rejected = str_eq(m->verdict, "reject");
		r->value = mr[i].value < r->value || isnan(r->value) ? mr[i].value : r->value;
	}
	return BERTH_OK;
}

enum berth_code
fleet_refs(
    struct store *s, int64_t now, struct arena *a, struct verdict_refs *refs, struct berth_err *err)
{
	const struct measurement_query q = { .since = now - FLEET_AGE_S, .limit = FLEET_MAX };
	struct verdict_fleet_row *rows = NULL;
	struct measurement *ms;
	size_t n_ms, n = 0, cap = 0;
	enum berth_code rc;

	rc = store_measurement_list(s, &q, a, &ms, &n_ms, err);
	for (size_t i = 0; i < n_ms && rc == BERTH_OK; i++)
		rc = fleet_one(s, a, &ms[i], &rows, &n, &cap, err);
	if (rc == BERTH_OK)
		verdict_fleet_add(rows, n, a, refs);
	return rc;
}
