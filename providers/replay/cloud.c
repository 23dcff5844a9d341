#include <assert.h>
#include <limits.h>
#include <math.h>
#include <string.h>

#include "providers/replay/cloud.h"
#include "util/arena.h"
#include "util/glob.h"
#include "util/hash.h"
#include "util/rng.h"
#include "util/str.h"

const char *
trace_pool_key(const struct trace_pool *p, struct arena *a)
{
	return arena_printf(a, "%s/%s/%s/%s", p->provider, p->region, p->zone, p->instance_type);
}

static const struct trace_market *
cloud_market(const struct cloud *c, const struct cloud_machine *m)
{
	return &c->trace->pools[m->pool].market[m->purchase];
}

/* When the machine is up no more, planned ends included; INT64_MAX: not planned. */
static int64_t
cloud_end_planned(const struct cloud_machine *m)
{
	int64_t end = m->reclaim_at != 0 ? m->reclaim_at : INT64_MAX;

	return m->ended != 0 && m->ended < end ? m->ended : end;
}

static bool
cloud_up_at(const struct cloud_machine *m, size_t pool, enum purchase purchase, int64_t t)
{
	return m->pool == pool && m->purchase == purchase && m->created <= t &&
	       cloud_end_planned(m) > t;
}

static int
cloud_count(const struct cloud *c, size_t pool, enum purchase purchase, int64_t t)
{
	int n = 0;

	for (size_t i = 0; i < c->machines.n; i++)
		n += cloud_up_at(&c->machines.v[i], pool, purchase, t);
	return n;
}

int
cloud_up(const struct cloud *c, size_t pool, enum purchase purchase)
{
	return cloud_count(c, pool, purchase, c->clock);
}

static int
cloud_capacity(const struct trace_market *m, int64_t t)
{
	double v = curve_at(&m->capacity, t);

	return isnan(v) || v >= INT_MAX ? INT_MAX : (int)v;
}

int
cloud_room(const struct cloud *c, size_t pool, enum purchase purchase)
{
	const struct trace_market *m = &c->trace->pools[pool].market[purchase];
	int cap = m->sold ? cloud_capacity(m, c->clock) : 0, up = cloud_up(c, pool, purchase);

	return cap == INT_MAX ? INT_MAX : cap > up ? cap - up : 0;
}

/* Gives notice to one machine that would be up at `end`: the youngest without a notice, else the
 * youngest. */
static bool
cloud_take_one(struct cloud *c, size_t pool, int64_t decided, int64_t end)
{
	struct cloud_machine *pick = NULL;

	for (size_t i = c->machines.n; i-- > 0;) {
		struct cloud_machine *m = &c->machines.v[i];
		bool noticed = m->notice_at != 0 && m->notice_at <= decided;

		if (!cloud_up_at(m, pool, PURCHASE_SPOT, end))
			continue;
		if (!noticed) {
			pick = m;
			break;
		}
		if (pick == NULL)
			pick = m;
	}
	if (pick == NULL)
		return false;
	if (pick->notice_at == 0 || pick->notice_at > decided)
		pick->notice_at = decided;
	pick->reclaim_at = end;
	return true;
}

static void
cloud_fit(struct cloud *c, size_t pool, int64_t decided, int64_t end)
{
	int cap = cloud_capacity(&c->trace->pools[pool].market[PURCHASE_SPOT], end);
	int up = cloud_count(c, pool, PURCHASE_SPOT, end);

	while (up-- > cap && cloud_take_one(c, pool, decided, end))
		;
}

/* Index of the first planned preemption after t. */
static size_t
cloud_preempt_from(const struct trace_market *m, int64_t t)
{
	size_t i = 0;

	while (i < m->n_preempt && m->preempt[i] <= t)
		i++;
	return i;
}

/* Ends that fall in (from, to], in their order; the notice of each is given notice_s before it. */
static void
cloud_sweep(struct cloud *c, size_t pool, int64_t from, int64_t to)
{
	const struct trace_market *m = &c->trace->pools[pool].market[PURCHASE_SPOT];
	int64_t step = curve_next(&m->capacity, from);
	size_t p = cloud_preempt_from(m, from);

	for (;;) {
		int64_t planned = p < m->n_preempt ? m->preempt[p] : CURVE_NEVER;
		int64_t end = step < planned ? step : planned;

		if (end > to)
			break;
		if (planned == end) {
			cloud_take_one(c, pool, end - m->notice_s, end);
			p++;
		}
		if (step == end) {
			cloud_fit(c, pool, end - m->notice_s, end);
			step = curve_next(&m->capacity, end);
		}
	}
}

static void
cloud_forget(struct cloud *c)
{
	size_t n = 0;

	for (size_t i = 0; i < c->machines.n; i++)
		if (cloud_end_planned(&c->machines.v[i]) > c->clock - CLOUD_KEEP_S)
			c->machines.v[n++] = c->machines.v[i];
	c->machines.n = n;
}

void
cloud_advance(struct cloud *c, int64_t now)
{
	if (now <= c->clock)
		return;
	for (size_t i = 0; i < c->trace->n_pools; i++) {
		const struct trace_market *m = &c->trace->pools[i].market[PURCHASE_SPOT];

		if (m->sold && cloud_count(c, i, PURCHASE_SPOT, c->clock) > 0)
			cloud_sweep(c, i, c->clock + m->notice_s, now + m->notice_s);
	}
	c->clock = now;
	cloud_forget(c);
}

int
cloud_quota_used(const struct cloud *c, const struct trace_quota *q)
{
	int used = 0;

	for (size_t i = 0; i < c->trace->n_pools; i++) {
		const struct trace_pool *p = &c->trace->pools[i];

		if (glob_match(q->provider, p->provider) && glob_match(q->region, p->region) &&
		    glob_match(q->accelerator, p->accelerator))
			used += cloud_up(c, i, q->purchase) * p->accelerator_count;
	}
	return used;
}

static bool
cloud_quota_ok(const struct cloud *c, size_t pool, enum purchase purchase)
{
	const struct trace_pool *p = &c->trace->pools[pool];

	for (size_t i = 0; i < c->trace->n_quotas; i++) {
		const struct trace_quota *q = &c->trace->quotas[i];

		if (q->purchase == purchase && glob_match(q->provider, p->provider) &&
		    glob_match(q->region, p->region) &&
		    glob_match(q->accelerator, p->accelerator) &&
		    cloud_quota_used(c, q) + p->accelerator_count > q->limit)
			return false;
	}
	return true;
}

static bool
cloud_wish_fits(const struct trace_pool *p, const struct cloud_create *w)
{
	return str_eq(p->provider, w->provider) && str_eq(p->region, w->region) &&
	       str_eq(p->zone, w->zone) && str_eq(p->instance_type, w->instance_type);
}

/* Luck of a machine: drawn from the seed, its pool and its number, so that the order of other calls
 * does not matter. */
static void
cloud_draw(struct cloud *c, struct cloud_machine *m)
{
	const struct trace_pool *p = &c->trace->pools[m->pool];
	const struct trace_market *mk = cloud_market(c, m);
	double kind, startup, fate, noise, life;
	struct rng r;

	rng_seed_stream(&r, c->seed, hash_join(hash_str(m->pool_key), (uint64_t)c->next));
	kind = rng_unit(&r);
	startup = rng_unit(&r);
	fate = rng_unit(&r);
	life = rng_exp(&r);
	noise = rng_normal(&r) * p->jitter;
	m->broken = kind < p->broken_share;
	m->speed = kind < p->broken_share + p->slow_share ? p->slow_factor : 1;
	m->speed *= 1 + fmax(-0.5, fmin(0.5, noise));
	m->fails = fate < p->fail_share;
	m->ready_at = m->created + p->startup_min_s +
		      (int64_t)floor(startup * (double)(p->startup_max_s - p->startup_min_s + 1));
	if (mk->hazard > 0 && life / mk->hazard < 1e5) {
		m->reclaim_at = m->created + 1 + (int64_t)(life / mk->hazard * 3600);
		m->notice_at = m->reclaim_at - mk->notice_s;
		if (m->notice_at < m->created)
			m->notice_at = m->created;
	}
}

static bool
cloud_same_wish(const struct cloud *c, const struct cloud_machine *m, const struct cloud_create *w)
{
	return m->pool != SIZE_MAX && cloud_wish_fits(&c->trace->pools[m->pool], w) &&
	       m->purchase == w->purchase && str_eq(m->installation, w->installation);
}

static void
cloud_make(struct cloud *c, const struct cloud_create *w, size_t pool, size_t *machine_out)
{
	struct cloud_machine *m = VEC_ADD(c->arena, &c->machines);
	const struct trace_market *mk;

	m->ref = arena_printf(c->arena, "r-%06lld", (long long)c->next);
	m->token = arena_strdup(c->arena, w->token);
	m->installation = arena_strdup(c->arena, w->installation);
	m->pool = pool;
	m->pool_key = trace_pool_key(&c->trace->pools[pool], c->arena);
	m->purchase = w->purchase;
	m->created = c->clock;
	cloud_draw(c, m);
	c->next++;
	*machine_out = c->machines.n - 1;
	mk = &c->trace->pools[pool].market[PURCHASE_SPOT];
	if (m->purchase != PURCHASE_SPOT)
		return;
	/* Falls within the time of a notice were settled before this machine was there. */
	for (int64_t end = curve_next(&mk->capacity, c->clock); end <= c->clock + mk->notice_s;
	     end = curve_next(&mk->capacity, end))
		cloud_fit(c, pool, c->clock, end);
}

enum cloud_answer
cloud_create(struct cloud *c, const struct cloud_create *want, size_t *machine_out)
{
	size_t pool = 0;

	for (size_t i = 0; i < c->machines.n; i++)
		if (str_eq(c->machines.v[i].token, want->token)) {
			*machine_out = i;
			return cloud_same_wish(c, &c->machines.v[i], want) ? CLOUD_SAME
									   : CLOUD_MISMATCH;
		}
	while (pool < c->trace->n_pools && !cloud_wish_fits(&c->trace->pools[pool], want))
		pool++;
	if (pool == c->trace->n_pools || want->purchase == PURCHASE_RESERVED ||
	    !c->trace->pools[pool].market[want->purchase].sold)
		return CLOUD_NO_POOL;
	if (!cloud_quota_ok(c, pool, want->purchase))
		return CLOUD_QUOTA;
	if (cloud_room(c, pool, want->purchase) <= 0)
		return CLOUD_NO_CAPACITY;
	cloud_make(c, want, pool, machine_out);
	return CLOUD_MADE;
}

size_t
cloud_find(const struct cloud *c, const char *ref)
{
	for (size_t i = 0; i < c->machines.n; i++)
		if (str_eq(c->machines.v[i].ref, ref))
			return i;
	return SIZE_MAX;
}

void
cloud_destroy(struct cloud *c, size_t machine)
{
	struct cloud_machine *m = &c->machines.v[machine];

	if (m->ended == 0 && cloud_end_planned(m) > c->clock)
		m->ended =
		    c->clock + (m->pool != SIZE_MAX ? c->trace->pools[m->pool].teardown_s : 0);
}

int64_t
cloud_ended(const struct cloud *c, const struct cloud_machine *m, bool *preempted_out)
{
	int64_t end = cloud_end_planned(m);

	if (preempted_out != NULL)
		*preempted_out =
		    end <= c->clock && end == m->reclaim_at && (m->ended == 0 || m->ended > end);
	return end <= c->clock ? end : 0;
}

static enum prov_state
cloud_state(const struct cloud *c, const struct cloud_machine *m)
{
	if (cloud_ended(c, m, NULL) != 0)
		return PROV_GONE;
	if (m->ended != 0)
		return PROV_ENDING;
	if (c->clock < m->ready_at)
		return PROV_PENDING;
	if (m->fails)
		return PROV_FAILED;
	return m->notice_at != 0 && m->notice_at <= c->clock ? PROV_NOTICED : PROV_READY;
}

void
cloud_describe(const struct cloud *c, const struct cloud_machine *m, struct prov_machine *out)
{
	const struct trace_pool *p = m->pool != SIZE_MAX ? &c->trace->pools[m->pool] : NULL;

	memset(out, 0, sizeof(*out));
	str_copy(out->ref, sizeof(out->ref), m->ref);
	str_copy(out->token, sizeof(out->token), m->token);
	str_copy(out->installation, sizeof(out->installation), m->installation);
	out->purchase = m->purchase;
	out->created = m->created;
	out->ready_at = m->ready_at;
	out->state = cloud_state(c, m);
	out->ended = cloud_ended(c, m, &out->preempted);
	if (m->notice_at != 0 && m->notice_at <= c->clock) {
		out->notice_at = m->notice_at;
		out->reclaim_at = m->reclaim_at;
	}
	if (out->state == PROV_FAILED) {
		out->why = BERTH_ECAPACITY;
		str_copy(out->detail, sizeof(out->detail), "no host could start it");
	}
	if (out->preempted)
		str_copy(out->detail, sizeof(out->detail), "preempted");
	if (p == NULL)
		return;
	str_copy(out->instance_type, sizeof(out->instance_type), p->instance_type);
	str_copy(out->region, sizeof(out->region), p->region);
	str_copy(out->zone, sizeof(out->zone), p->zone);
	if (out->state == PROV_READY || out->state == PROV_NOTICED) {
		str_copy(out->address, sizeof(out->address), m->ref);
		str_copy(out->address + strlen(out->address),
		    sizeof(out->address) - strlen(out->address), ".replay.invalid");
	}
}
