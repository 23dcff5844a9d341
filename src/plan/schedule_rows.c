#include <math.h>
#include <string.h>

#include "plan/schedule_rules.h"
#include "util/arena.h"

bool
rules_serves(const struct rules *s, const struct rules_piece *p, size_t column)
{
	const struct commit_column *c = &s->column[column];

	return c->member == p->member && s->w[c->member].band_of[c->line] <= p->band;
}

double
rules_running(const struct rules *s, const struct rules_piece *p)
{
	double sum = 0;

	for (size_t c = 0; c < s->n_columns; c++)
		if (rules_serves(s, p, c))
			sum += s->now[c] * s->column[c].gpus;
	return sum;
}

double
rules_owned(const struct rules *s, size_t member, size_t t, size_t group, size_t quota)
{
	const struct schedule_work *w = &s->w[member];
	double sum = 0;

	for (size_t i = 0; i < w->p->n_owned; i++) {
		const struct schedule_owned *o = &w->p->owned[i];

		if (o->from > w->border.v[t] || o->to < w->border.v[t + 1] ||
		    (group > 0 && o->group != group))
			continue;
		if (quota == SIZE_MAX)
			sum += o->gpus;
		else if (o->weight != NULL)
			sum += o->weight[quota];
	}
	return sum;
}

/* Does a quota count a line? */
static bool
rules_reached(const struct rules *s, size_t member, size_t line)
{
	const struct commit_shares *r = s->member[member].rules;

	for (size_t q = 0; q < r->n_quotas; q++)
		if (r->quota[q].weight[line] > 0)
			return true;
	return false;
}

/* Is there anything to see to for a member's peak? Not where something on demand has no limit. */
static bool
rules_peaked(const struct rules *s, size_t member)
{
	const struct schedule_problem *p = s->w[member].p;

	for (size_t i = 0; i < p->n_lines; i++)
		if (p->lines[i].kind == COMMIT_ON_DEMAND &&
		    p->lines[i].max_count == COMMIT_NO_LIMIT && !rules_reached(s, member, i))
			return false;
	return !isnan(p->peak);
}

/* What is owned serves at the prices that it asks for its use. */
static void
rules_own(struct rules *s, size_t member)
{
	const struct schedule_problem *p = s->w[member].p;

	for (size_t i = 0; i < p->n_owned; i++) {
		bool known = false;

		for (size_t k = 0; k < s->n_own && !known; k++)
			known = s->server[k].member == member &&
				s->server[k].usage == p->owned[i].usage;
		if (!known)
			s->server[s->n_own++] = (struct commit_server){ member, p->n_lines,
				COMMIT_NOT_BOUGHT, 0, p->owned[i].usage };
	}
}

/* Members whose hours are pieces of their own, and the pieces. */
static void
rules_pieces(struct rules *s)
{
	size_t n = 1;

	for (size_t k = 0; k < s->n; k++)
		n += s->w[k].n_bands;
	s->merit = arena_array(s->a, s->n, sizeof(*s->merit));
	s->piece = arena_array(s->a, n, sizeof(*s->piece));
	for (size_t k = 0; k < s->n; k++) {
		const struct schedule_problem *p = s->w[k].p;

		s->merit[k] = true;
		for (size_t i = 0; i < p->n_lines; i++)
			if (p->lines[i].kind != COMMIT_OWNED &&
			    p->lines[i].kind != COMMIT_RESERVED && rules_reached(s, k, i))
				s->merit[k] = false;
		s->n_hours += !s->merit[k];
	}
	if (s->n_hours > 0)
		s->piece[s->n_pieces++] = (struct rules_piece){ s->n, 0, false };
	for (size_t k = 0; k < s->n; k++)
		for (size_t b = 0; b < s->w[k].n_bands && (s->merit[k] || s->n_hours > 1); b++)
			s->piece[s->n_pieces++] = (struct rules_piece){ k, b, !s->merit[k] };
	s->piece_usd = arena_array(s->a, s->n_pieces, sizeof(*s->piece_usd));
	s->piece_slope = arena_array(s->a, s->n_pieces, sizeof(*s->piece_slope));
}

/* Lines that are bought, and all that serve. */
static void
rules_lines(struct rules *s, size_t member)
{
	const struct schedule_problem *p = s->w[member].p;
	size_t *column_of = arena_array(s->a, p->n_lines + 1, sizeof(*column_of));
	bool peak = rules_peaked(s, member);

	for (size_t i = 0; i < p->n_lines; i++) {
		const struct commit_line *l = &p->lines[i];
		struct commit_server *v = &s->server[s->n_servers];

		if (l->kind == COMMIT_OWNED)
			continue;
		*v = (struct commit_server){ member, i, COMMIT_NOT_BOUGHT,
			fmin(commit_stack_gpus(l, l->max_count), (double)s->w[member].rest.levels),
			l->usage };
		if (l->kind == COMMIT_RESERVED) {
			column_of[i] = v->column = s->n_columns;
			s->column[s->n_columns++] =
			    (struct commit_column){ member, i, 0, commit_line_gpus(l), 0, 0 };
		}
		if (l->kind == COMMIT_ON_DEMAND && peak)
			VEC_PUSH(s->a, &s->peak, (struct rules_peak){ member, i });
		s->n_servers++;
	}
	s->at_member[member] = s->n_offers;
	for (size_t k = 0; k < s->w[member].offer.n; k++) {
		const struct terms_offer *o = &s->w[member].offer.v[k];
		size_t line = s->w[member].line.v[k];

		s->offer[s->n_offers++] = (struct rules_offer){ member, line, column_of[line],
			o->from, o->to, commit_line_gpus(&p->lines[line]), usd_to_double(o->cost) };
	}
	s->at_member[member + 1] = s->n_offers;
}

double *
rules_zeroes(const struct rules *s)
{
	return arena_array(s->a, s->first_usd + s->stretches * s->n_pieces + 1, sizeof(double));
}

/* The largest whole number that all of a row's are multiples of; 0: they are not whole. */
static double
rules_unit(const struct rules *s, const double *row)
{
	double unit = 0;

	for (size_t j = 0; j < s->first_usd; j++) {
		double v = fabs(row[j]);

		if (v == 0)
			continue;
		if (v != floor(v) || v > 1e6 || j >= s->n_offers)
			return 0;
		while (v > 0) {
			double rest = fmod(unit, v);

			unit = v;
			v = rest;
		}
	}
	return unit;
}

/* A row of purchases alone, of whole numbers, has a whole right-hand side. */
static size_t
rules_add(struct rules *s, const double *row, double b, size_t member, size_t t, size_t quota)
{
	double unit = rules_unit(s, row);

	if (unit > 0)
		b = floor(b / unit + 1e-7) * unit;
	VEC_PUSH(s->a, &s->row, (struct rules_row){ member, t, quota });
	return linear_row(&s->lp, row, b);
}

/* Machines of a line that run at once. */
static void
rules_limit_rows(struct rules *s, size_t t)
{
	for (size_t c = 0; c < s->n_columns; c++) {
		const struct commit_line *l =
		    &s->w[s->column[c].member].p->lines[s->column[c].line];
		double *row;

		if (l->max_count == COMMIT_NO_LIMIT ||
		    schedule_dealt(s->w[s->column[c].member].p, s->column[c].line))
			continue; /* of what is dealt there is one column, which has its bound */
		row = rules_zeroes(s);
		for (size_t j = 0; j < s->n_offers; j++)
			row[j] = s->offer[j].column == c && rules_runs(s, j, t);
		rules_add(s, row, (double)l->max_count, s->n, t, SIZE_MAX);
	}
}

static double
rules_weight(const struct rules *s, size_t member, size_t line, size_t quota)
{
	return s->member[member].rules->quota[quota].weight[line];
}

/* Is this the last row of a quota over purchases alone, which holds on? */
static bool
rules_known(const struct rules *s, const double *row, size_t member, size_t t, size_t quota)
{
	for (size_t r = s->row.n; r-- > 0 && member == s->n;) {
		const struct rules_row *was = &s->row.v[r];

		if (was->quota != quota || was->member != s->n)
			continue;
		return s->r[was->stretch].quota[quota] == s->r[t].quota[quota] &&
		       memcmp(s->lp.a[r], row, s->first_usd * sizeof(*row)) == 0;
	}
	return false;
}

/* What is bought for all, and what a member has on demand at its peak, keep a quota; member n: what
 * is bought alone. */
static void
rules_quota_rows(struct rules *s, size_t member, size_t t)
{
	for (size_t q = 0; q < s->n_quotas; q++) {
		double *row = rules_zeroes(s);
		bool any = false;

		for (size_t j = 0; j < s->n_offers; j++) {
			row[j] = rules_runs(s, j, t)
				     ? rules_weight(s, s->offer[j].member, s->offer[j].line, q) *
					   s->offer[j].gpus
				     : 0;
			any = any || (row[j] > 0 && member == s->n);
		}
		for (size_t k = 0; k < s->peak.n; k++) {
			if (s->peak.v[k].member != member)
				continue;
			row[s->n_offers + t * s->peak.n + k] =
			    rules_weight(s, member, s->peak.v[k].line, q);
			any = any || row[s->n_offers + t * s->peak.n + k] > 0;
		}
		if (any && !rules_known(s, row, member, t, q))
			rules_add(s, row, s->r[t].quota[q], member, t, q);
	}
}

static void
rules_peak_rows(struct rules *s, size_t member, size_t t)
{
	const struct schedule_problem *p = s->w[member].p;
	double *row = rules_zeroes(s),
	       need = ceil(p->peak - 1e-9) - rules_owned(s, member, t, 0, SIZE_MAX);

	if (!rules_peaked(s, member) || need <= 0)
		return;
	for (size_t j = s->at_member[member]; j < s->at_member[member + 1]; j++)
		row[j] = rules_runs(s, j, t) ? -s->offer[j].gpus : 0;
	for (size_t k = 0; k < s->peak.n; k++)
		row[s->n_offers + t * s->peak.n + k] = s->peak.v[k].member == member ? -1 : 0;
	rules_add(s, row, -need + RULES_ROOM, member, t, SIZE_MAX);
	rules_quota_rows(s, member, t);
}

static void
rules_share_rows(struct rules *s, size_t member, size_t t)
{
	const struct commit_shares *rules = s->member[member].rules;
	double all = rules_owned(s, member, t, 0, SIZE_MAX);

	for (size_t k = 0; k < rules->n; k++) {
		const struct commit_share *sh = &rules->share[k];
		double *most = rules_zeroes(s), *least = rules_zeroes(s),
		       own = rules_owned(s, member, t, sh->group, SIZE_MAX);

		for (size_t j = s->at_member[member]; j < s->at_member[member + 1]; j++) {
			double g = rules_runs(s, j, t) ? s->offer[j].gpus : 0;
			bool in = rules->group[s->offer[j].line] == sh->group;

			most[j] = g * (in - sh->max);
			least[j] = g * (sh->min - in);
		}
		if (sh->max < 1)
			rules_add(s, most, sh->max * all - own + RULES_ROOM, s->n, t, SIZE_MAX);
		if (sh->min > 0)
			rules_add(s, least, own - sh->min * all + RULES_ROOM, s->n, t, SIZE_MAX);
	}
}

/* How many of a purchase can do any good. */
static double
rules_useful(const struct rules *s, size_t j)
{
	const struct rules_offer *o = &s->offer[j];
	int64_t max = s->w[o->member].p->lines[o->line].max_count;
	double most = ceil((double)s->w[o->member].rest.levels / o->gpus);

	if (max != COMMIT_NO_LIMIT)
		most = fmin(most, (double)max);
	for (size_t q = 0; q < s->n_quotas; q++)
		for (size_t t = o->from; t < o->to && rules_weight(s, o->member, o->line, q) > 0;
		     t++)
			most = fmin(
			    most, floor(s->r[t].quota[q] /
					    (rules_weight(s, o->member, o->line, q) * o->gpus) +
					RULES_ROOM));
	return most;
}

/* No more USD of a piece than with nothing bought. */
static double
rules_most(const struct rules *s, size_t t, const struct rules_piece *p)
{
	double usd = 0;

	if (p->member < s->n)
		return schedule_band_usd(&s->w[p->member], t, p->band, 0, NULL) * (1 + 1e-9) + 1e-6;
	for (size_t k = 0; k < s->n; k++)
		if (!s->merit[k])
			usd +=
			    s->hours[t] * s->w[k].p->unserved * ((double)s->w[k].rest.levels + 1);
	return usd;
}

static void
rules_variables(struct rules *s)
{
	double *cost, *lo, *hi;

	s->first_usd = s->n_offers + s->peak.n * s->stretches;
	cost = rules_zeroes(s);
	lo = rules_zeroes(s);
	hi = rules_zeroes(s);
	for (size_t j = 0; j < s->n_offers; j++) {
		cost[j] = s->offer[j].usd * (1 + s->theta);
		hi[j] = rules_useful(s, j);
	}
	for (size_t k = 0; k < s->peak.n * s->stretches; k++) {
		const struct rules_peak *v = &s->peak.v[k % s->peak.n];
		const struct schedule_work *w = &s->w[v->member];
		const struct commit_line *l = &w->p->lines[v->line];

		hi[s->n_offers + k] = fmin(commit_stack_gpus(l, l->max_count),
		    (double)w->rest.levels + fmax(0, ceil(w->p->peak)));
	}
	for (size_t k = 0; k < s->stretches * s->n_pieces; k++) {
		size_t var = s->first_usd + k;

		cost[var] = s->piece[k % s->n_pieces].guide ? 0 : 1;
		hi[var] = rules_most(s, k / s->n_pieces, &s->piece[k % s->n_pieces]);
	}
	linear_init(&s->lp, s->first_usd + s->stretches * s->n_pieces, cost, lo, hi, s->a);
	s->least = arena_array(s->a, s->n_offers + 1, sizeof(*s->least));
	s->most = arena_memdup(s->a, hi, (s->n_offers + 1) * sizeof(*hi));
	s->all = arena_memdup(s->a, hi, (s->n_offers + 1) * sizeof(*hi));
}

/* The hours of members together cost no less than what guides. */
static void
rules_guide_row(struct rules *s, size_t t)
{
	double *row = rules_zeroes(s);

	for (size_t k = 0; k < s->n_pieces; k++)
		row[s->first_usd + t * s->n_pieces + k] = s->piece[k].guide            ? 1
							  : s->piece[k].member == s->n ? -1
										       : 0;
	if (s->n_hours > 1)
		rules_add(s, row, 0, s->n, t, SIZE_MAX);
}

static void
rules_master(struct rules *s)
{
	rules_variables(s);
	for (size_t t = 0; t < s->stretches; t++) {
		rules_guide_row(s, t);
		rules_limit_rows(s, t);
		rules_quota_rows(s, s->n, t);
		for (size_t k = 0; k < s->n; k++) {
			rules_peak_rows(s, k, t);
			rules_share_rows(s, k, t);
		}
	}
	if (!isnan(s->budget)) {
		double *row = rules_zeroes(s);

		for (size_t j = 0; j < s->n_offers; j++)
			row[j] = s->offer[j].usd;
		s->budget_row = linear_row(&s->lp, row, s->budget * (1 + 1e-12));
		VEC_PUSH(s->a, &s->row, (struct rules_row){ s->n, s->stretches, SIZE_MAX });
	}
	s->rows = s->lp.m;
}

/* GPUs owned at one price of use. */
static double
rules_owned_at(const struct rules *s, const struct commit_server *v, size_t t)
{
	const struct schedule_work *w = &s->w[v->member];
	double sum = 0;

	for (size_t i = 0; i < w->p->n_owned; i++) {
		const struct schedule_owned *o = &w->p->owned[i];

		if (o->from <= w->border.v[t] && o->to >= w->border.v[t + 1] &&
		    o->usage == v->usage)
			sum += o->gpus;
	}
	return sum;
}

/* Each stretch with what is owned then, and what that leaves of the quotas. */
static void
rules_stretches(struct rules *s)
{
	s->r = arena_array(s->a, s->stretches, sizeof(*s->r));
	s->hours = arena_array(s->a, s->stretches, sizeof(*s->hours));
	s->cut = arena_array(s->a, s->stretches * s->n_pieces, sizeof(*s->cut));
	for (size_t t = 0; t < s->stretches; t++) {
		struct commit_server *own =
		    arena_memdup(s->a, s->server, s->n_servers * sizeof(*own));
		double *quota = arena_array(s->a, s->n_quotas + 1, sizeof(*quota));

		for (size_t q = 0; q < s->n_quotas; q++)
			quota[q] = s->member[0].rules->quota[q].limit;
		for (size_t k = 0; k < s->n_own; k++)
			own[k].cap = rules_owned_at(s, &own[k], t);
		for (size_t k = 0; k < s->n; k++) {
			for (size_t q = 0; q < s->n_quotas; q++)
				quota[q] = fmax(0, quota[q] - rules_owned(s, k, t, 0, q));
		}
		s->r[t] = (struct commit_recourse){ .m = s->member,
			.n = s->n,
			.n_quotas = s->n_quotas,
			.n_columns = s->n_columns,
			.n_servers = s->n_servers,
			.column = s->column,
			.server = own,
			.quota = quota,
			.scratch = s->scratch };
		s->hours[t] = (double)(s->w[0].border.v[t + 1] - s->w[0].border.v[t]) *
			      s->w[0].p->demand->step_hours;
	}
}

/* The member's lines with one more, that stands for what is owned. */
static void
rules_member(struct rules *s, size_t k)
{
	static const struct commit_shares none = { .n = 0 };
	const struct schedule_problem *p = s->w[k].p;
	struct commit_problem *own = arena_array(s->a, 1, sizeof(*own));
	struct commit_line *line = arena_array(s->a, p->n_lines + 1, sizeof(*line));

	memcpy(line, p->lines, p->n_lines * sizeof(*line));
	line[p->n_lines] = (struct commit_line){ .kind = COMMIT_OWNED, .gpus = 1 };
	*own = (struct commit_problem){ NULL, line, p->n_lines + 1, p->unserved, NAN, NAN, 0 };
	s->member[k] =
	    (struct commit_member){ own, p->rules != NULL ? p->rules : &none, NULL, NULL };
}

void
rules_init(struct rules *s)
{
	size_t lines = 0, offers = 0, n;

	for (size_t k = 0; k < s->n; k++) {
		lines += s->w[k].p->n_lines + s->w[k].p->n_owned;
		offers += s->w[k].offer.n;
	}
	s->stretches = s->w[0].rest.n;
	s->member = arena_array(s->a, s->n, sizeof(*s->member));
	s->server = arena_array(s->a, lines + 1, sizeof(*s->server));
	s->column = arena_array(s->a, lines + 1, sizeof(*s->column));
	s->offer = arena_array(s->a, offers + 1, sizeof(*s->offer));
	s->at_member = arena_array(s->a, s->n + 1, sizeof(*s->at_member));
	for (size_t k = 0; k < s->n; k++) {
		rules_member(s, k);
		rules_own(s, k);
	}
	s->n_servers = s->n_own;
	rules_pieces(s);
	for (size_t k = 0; k < s->n; k++)
		rules_lines(s, k);
	s->n_quotas = s->member[0].rules->n_quotas;
	rules_stretches(s);
	n = s->n_offers + 1;
	s->x = arena_array(s->a, n, sizeof(*s->x));
	s->best = arena_array(s->a, n, sizeof(*s->best));
	s->node_lo = arena_array(s->a, n, sizeof(*s->node_lo));
	s->node_hi = arena_array(s->a, n, sizeof(*s->node_hi));
	s->root_slope = arena_array(s->a, n, sizeof(*s->root_slope));
	s->now = arena_array(s->a, s->n_columns + 1, sizeof(*s->now));
	s->at.slope = arena_array(s->a, s->n_columns + 1, sizeof(double));
	s->at.saves = arena_array(s->a, s->n_quotas + 1, sizeof(double));
	s->price = arena_array(s->a, s->n_quotas + 1, sizeof(*s->price));
	rules_master(s);
}
