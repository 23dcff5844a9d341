/* src/plan/schedule_rules.h - the program of schedules under quotas, shares and one budget.  Floor:
 * domain; for schedule_*.c. */
#ifndef BERTH_PLAN_SCHEDULE_RULES_H
#define BERTH_PLAN_SCHEDULE_RULES_H

#include "plan/commit_joint.h"
#include "plan/schedule_impl.h"

#define RULES_PROVEN 5e-10
#define RULES_WHOLE 1e-7
#define RULES_ROOM 1e-9 /* GPUs by which a rounded rule may be off */

/* A purchase of one member's line at one date. */
struct rules_offer {
	size_t member, line, column, from, to;
	double gpus, usd; /* of one machine */
};

/*
 * A piece of the hours' cost in each stretch. Of a member that no quota reaches in its use of spot
 * and on demand: that of one band (schedule_band_usd()), of what runs in it and below. Member n: of
 * all others together, hour by hour. Those others cost no less than each by itself with the whole
 * of the quotas: pieces that guide, which add up to no more than the one of member n, so that it
 * needs tangents of its own only where the quotas bind.
 */
struct rules_piece {
	size_t member, band;
	bool guide;
};

/* usd of a piece >= slope x - b, with b behind the slopes. */
struct rules_cut {
	double *slope; /* [n_columns + 1] */
	double *saves; /* [n_quotas] USD that one more of a quota saves */
	double *now;   /* [n_columns + 1] where it was taken */
	size_t row;    /* SIZE_MAX: not in the program now */
};

/* What is on demand at a member's peak. */
struct rules_peak {
	size_t member, line;
};
/* A row of purchases and of a member's peak; member n: of purchases alone. */
struct rules_row {
	size_t member, stretch, quota;
};

/* A sum of purchases, which is whole. */
struct rules_sum {
	size_t *offer, n, row; /* [n]; row: its slack is most less the sum; SIZE_MAX: not in the
				  program now */
	double most;
};

struct rules {
	struct schedule_work *w; /* [n] members, with the same borders */
	size_t n, stretches, n_quotas;
	struct arena *a, *scratch;
	double budget, theta; /* theta: costs of purchases weigh 1 + theta */
	struct linear lp;     /* purchases, what is on demand at peaks by stretch, then USD of each
				 stretch's pieces */
	struct commit_member *member;    /* [n] */
	struct rules_piece *piece;       /* [n_pieces] */
	bool *merit;                     /* [n] its hours are pieces of its own */
	size_t n_pieces, n_hours, n_own; /* n_hours: members that are hour by hour; n_own: servers
					   that are owned */
	struct commit_recourse *r;       /* [stretches] */
	struct commit_server *server; /* [n_servers] one list; the first n_own are what is owned */
	struct commit_column *column; /* [n_columns] lines that are bought */
	struct rules_offer *offer;    /* [n_offers] */
	size_t *at_member;            /* [n + 1] first offer of each */
	size_t n_servers, n_columns, n_offers, first_usd, budget_row,
	    rows; /* rows: without tangents */
	VEC(struct rules_peak) peak;
	VEC(struct rules_row) row;   /* [rows] */
	VEC(struct rules_cut) * cut; /* [stretches][n_pieces] */
	VEC(struct rules_sum) sums;
	struct rules_sum *sum;           /* [n_sums] */
	size_t n_sums, held;             /* held: rows that stay in the program */
	double *piece_usd, *piece_slope; /* [n_pieces] of the last rules_at(); slope: of a GPU */
	size_t in;                       /* tangents in the program */
	bool given;                      /* its hours are of another solve */
	double *cap;                     /* [n] GPUs, beyond which demand is cut */
	double *wide;                    /* [n] GPUs of a member that are not told apart at first */
	double *hours, *x, *best, *now;  /* [stretches], [n_offers], [n_offers], [n_columns] */
	struct commit_tangent at;
	double best_usd, lower, first, budget_price, *price; /* price: [n_quotas]; first: what was
								known before the search */
	double work, work_max, moves;
	double enough;   /* USD: what cannot be less is not searched; INFINITY: all is */
	double polished; /* best_usd that no move of single purchases makes less; below 0: none */
	double *bought;  /* [stretches][n_quotas] USD that purchases pay for each of a quota, beside
			    what hours do; NULL: not priced yet */
	double *least, *most,
	    *all; /* [n_offers] bounds of all that may be better than the best; most, of all */
	double *node_lo, *node_hi, *sum_lo, *sum_hi, *sum_row; /* of the node that is looked at */
	double root_usd, *root_slope; /* bound of the first program, and what one more of each
					 purchase adds to it */
};

static inline bool
rules_runs(const struct rules *s, size_t offer, size_t t)
{
	return s->offer[offer].from <= t && t < s->offer[offer].to;
}

/* GPUs that a member owns in a stretch: of a group (0: all), or what they take of a quota
 * (SIZE_MAX: GPUs). */
double rules_owned(const struct rules *s, size_t member, size_t t, size_t group, size_t quota);
/* Do purchases in a column serve in a piece? */
bool rules_serves(const struct rules *s, const struct rules_piece *p, size_t column);
/* Columns, servers, the rows of all rules and the hours. */
void rules_init(struct rules *s);
/* Hours of one member are the levels of each stretch. Of several, hours that are alike are taken as
 * one, at their mean. */
void rules_hours(struct rules *s);
/* Hours [stretches] as they are there, their demand times scale; none are parted. */
void rules_hours_given(struct rules *s, const struct commit_recourse *hours, double scale);
/* Parts hours that were taken as one where the best purchases use them otherwise; the exact USD of
 * those, in *usd. False: none. */
bool rules_part(struct rules *s, double *usd);
/* USD of the hours of one stretch with purchases x, by piece, and how they change; into
 * s->piece_usd, piece_slope and at. */
double rules_at(struct rules *s, size_t t, const double *x);
/* The same of the pieces that guide alone; their USD. */
double rules_guides(struct rules *s, size_t t, const double *x);
/* Single hours instead of those of a stretch, in a; what they were is to be put back. */
struct commit_recourse rules_each(struct rules *s, size_t t, struct arena *a);
/* Keeps the tangents of the last rules_at(); unless they are there. */
void rules_note(struct rules *s, size_t t);
double *rules_zeroes(const struct rules *s);
/* What of a member's serves in bands up to this one, with s->now bought. */
double rules_running(const struct rules *s, const struct rules_piece *p);
/* Do whole purchases keep all rows? */
bool rules_keep(struct rules *s, const double *x);
/* Keeps them if they are the best so far. */
bool rules_try(struct rules *s, const double *x);
bool rules_better(const struct rules *s, double usd);
/*
 * Several members: by prices of the quotas in each hour, at which each member is a flow of its own.
 * x [n_offers]: any purchases to begin with, and those that it came to. from: steps that led to x;
 * those are the smaller the more there were. The bound that is found, USD; plans that are met are
 * tried.
 */
double rules_price(struct rules *s, double *x, size_t from, size_t steps);
/* The bound at x, or at the prices of the program as it was solved last (root), by single hours and
 * whole machines, which are tried. */
double rules_price_single(struct rules *s, double *x, bool root);
/* A member's hours in a stretch by GPUs bought, with USD saves [n_atoms][n_quotas] that one more of
 * a quota has as its price in each: usd [levels + 1]. */
void rules_price_stretch(
    const struct rules *s, size_t t, size_t k, const double *saves, double *usd);
/* From s->best_usd, INFINITY if none is known, to the best within the work; s->lower: none costs
 * less. */
void rules_search(struct rules *s);
/* Cuts of the program as it is solved now, into it; how many. */
size_t rules_cuts(struct rules *s);
/* Single purchases more or fewer, and pairs that change places, as long as that helps. */
void rules_polish(struct rules *s);

#endif
