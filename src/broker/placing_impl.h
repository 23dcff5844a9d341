/* src/broker/placing_impl.h - what the files of placing share.  Floor: broker; for
 * src/broker/placing*.c alone. */
#ifndef BERTH_BROKER_PLACING_IMPL_H
#define BERTH_BROKER_PLACING_IMPL_H

#include "broker/placing.h"
#include "broker/placing_facts.h"
#include "broker/placing_spot.h"
#include "broker/shares.h"
#include "plan/place_chain.h"
#include "util/strmap.h"
#include "util/vec.h"

struct decision;
struct placing_free;
struct placing_wishes;
struct attempt_use;

struct place_more_vec {    /* place_more, as it grows */
	VEC(size_t) start; /* [n_cand + 1] */
	VEC(size_t) resource;
	VEC(int64_t) units;
};

/* A place that is kept for a job which quotas make wait: EASY backfilling (Lifka, 1995). */
struct placing_hold {
	size_t job;     /* PLACE_NONE: for nobody */
	int64_t at;     /* when it can start, as what runs now is expected to end */
	double usd;     /* what it costs there */
	int64_t *spare; /* [n_quotas] what those behind it may hold beyond that time; PLACE_NO_LIMIT
			   where it takes nothing */
	size_t n, base; /* n of them are a limit: resources base .. base + n - 1 */
	size_t *turn;   /* [n_jobs] in which they go */
	struct placing_free *frees; /* [n_frees] machines that run, or go before, by their end */
	size_t n_frees;
};

/* What more of a limit brings, in the unit that it is told in. */
struct placing_raise {
	double shadow; /* USD that one unit more saves; NaN: more of it places jobs, before it saves
			  anything */
	double more;   /* the least that brings anything; 0: nothing would */
	double saves;  /* USD, so much more; NaN: it places jobs */
};

/* A job that others wait for, and that is not among those that are placed. */
struct placing_outside {
	const char *where; /* its output lies there; "" */
	const char *name;  /* while it has not ended; NULL */
	int64_t ends;      /* at the soonest; now */
	bool never;        /* it has failed or was cancelled, or one before it */
};

struct placing_outsides { /* each is looked up once */
	struct strmap at; /* by id */
	VEC(struct placing_outside *) v;
	bool soonest; /* ends of those that run are by what is surely left, not by what to expect */
	bool uses_read;
	struct attempt_use *uses;
	struct strmap use_at; /* by id */
};

struct placing_work_space {
	const struct placing_options *o;
	const struct accel_table *accels;
	struct arena *a;
	struct placing_facts facts;
	struct placing_job *jobs;
	struct cost_job *costs; /* [n_jobs] */
	size_t n_jobs, n_own;   /* those from n_own on are only in view (o->behind) */
	struct place_problem p;
	VEC(size_t) offer; /* by candidate: index into facts.offers */
	size_t *takes;     /* by candidate: index into offers of p; those behind facts.n_offers are
			      the same offers once more, for jobs that start later: they take
			      nothing of what is limited now */
	VEC(double) cost;
	VEC(double) risk;
	VEC(int64_t) need;
	VEC(struct cost_estimate) estimate;
	struct place_more_vec more_vec; /* what candidates take of the budgets, micro-USD, and of
					   what is kept for a job */
	struct place_more more;
	struct placing_hint *hints; /* [n_jobs] numbers for jobs that are not placed */
	unsigned char *refusal;     /* [n_jobs][n_offers] enum refuse_code of each pair by itself */
	struct placing_spot *spot;  /* [n_jobs] */
	double *first; /* [n_budgets] USD that the jobs before this one in the queue need of each at
			  least */
	struct spot_tables *tables;
	size_t *after; /* [n_jobs] job of this queue whose output it needs, or PLACE_NONE */
	const char *
	    *from; /* [n_jobs] where the output lies of a job that has a machine or is done; "" */
	int64_t *early; /* [n_jobs] when it can start: now, or when the job before it ends at the
			   soonest; behind the plan, when that ends */
	const char **before; /* [n_jobs] name of a job before it that has not ended; NULL */
	bool
	    *soonest; /* [n_jobs] early is not when the job before it ends in the plan, but could */
	int64_t by;   /* for an early finish: the end that all keep; 0 */
	int64_t *due; /* [n_jobs] by when it must end so that what waits for it can keep its
			 deadlines, were all of that as fast as can be; 0: it need not; NULL: none
			 need */
	size_t *due_of; /* [n_jobs] whose deadline that is */
	bool chained;   /* some after is set */
	bool later;     /* some job starts later */
	struct place_chain chain;
	struct placing_outsides outside;
	struct decision *last, *warm; /* [n_last] of each job, [n_warm] of the last placement */
	size_t n_last, n_warm;
	struct intent *launches; /* [n_launches] creates that are out */
	size_t n_launches;
	struct job *running; /* [n_running] jobs that hold machines */
	size_t n_running;
	struct placing_hold hold;
	const char *keep; /* id of a job that has a place kept although it has candidates; NULL */
	struct placing_raise *raise;   /* [n_resources] what more of each limit brings */
	struct placing_wishes *wishes; /* [n_resources] who wants more of each; NULL: not asked */
	size_t *short_of;              /* [n_resources] scratch of placing_kept_out() */
	struct shares shares;          /* with o->shares */
	struct share_rank *ranks;      /* [n_jobs] with o->shares */
};

/* A refused offer, and what the job would have there. */
struct placing_near {
	size_t offer; /* index into facts.offers */
	int machines;
	double usd;
	int64_t finish;
	bool is;
	double idle_usd; /* over max_cost: that is counted beside usd */
};

struct placing_need {
	size_t offer;
	int64_t machines;
	double usd;
	int64_t finish;
};

#define PLACING_FRONT 8 /* deadlines worth a word */

/* What comes nearest among the refused offers. */
/* One that a rule refused. */
struct placing_away {
	enum refuse_code rule;
	struct placing_near near;
};

struct placing_hint {
	struct placing_near least[REFUSE_COUNT]; /* the cheapest that this rule alone refused; of
						    rules before the cost what is told as a change
						  */
	struct placing_near late[PLACING_FRONT]; /* refused by the deadline: later ends, each
						    cheaper than the one before */
	size_t n_late;
	int most_count; /* accelerators of one machine */
	int need_count;
	double most_memory, need_memory; /* too little; 0: none of which it is known */
	double over_memory, cap_memory;  /* the least of too much; 0: none */
	int64_t first_finish;            /* of those that miss the deadline */
	double first_finish_usd;
	double least_usd, least_price;  /* of those over the budget, over max_price */
	size_t least_offer;             /* of least_usd */
	int least_machines;             /* there */
	double least_idle_usd;          /* beside least_usd, of one over max_cost */
	double safety_usd, safety_left; /* what spot needs in reserve, and what the budgets have; 0:
					   that is not it */
	const char *quota;              /* that the need alone passes */
	VEC(struct placing_need) over;  /* what quotas alone refuse */
	VEC(struct placing_need) limited; /* what quotas, money or owned machines refuse */
	VEC(struct placing_away) away;    /* what one rule behind the deadline alone refuses */
	int64_t free_at;                  /* end of the first hold; 0: none */
	const struct placing_offer
	    *none; /* that its provider says it has none of, and is asked again first */
};

void placing_want(struct placing_work_space *w, const struct job *j, struct cost_job *c);
void placing_drop_unknown(struct placing_work_space *w, struct job *j);
/* The job on every offer, begun at `from`, or now; what the budgets leave counts, what other jobs
 * take does not. out [n_offers] */
void placing_estimate(struct placing_work_space *w, const struct cost_job *c, int64_t from,
    bool spot_leaves, struct cost_estimate *out);
/* The same on one of them: asks is of the job, and of `from`. */
struct placing_asks {
	struct cost_limits lim;
	double *left, *hour; /* [n_accounts] USD that budgets leave it */
};
void placing_asks(struct placing_work_space *w, const struct cost_job *c, int64_t from,
    bool spot_leaves, struct placing_asks *out);
void placing_estimate_at(struct placing_work_space *w, const struct cost_job *c,
    const struct placing_asks *asks, size_t offer, struct cost_estimate *out);
/* A refused offer, for what is told of a job that has no place. */
void placing_hint_add(struct placing_work_space *w, struct placing_hint *h, const struct job *j,
    size_t offer, const struct cost_estimate *e);
/* The first quota that one candidate alone would pass, of the whole limit if it starts later; NULL:
 * none. n_out: how many it would. */
const struct placing_quota *placing_never(
    const struct placing_work_space *w, size_t offer, int64_t need, bool later, size_t *n_out);
/* Does a quota keep so many machines of the offer from everybody? later: who starts when others
 * have ended is held against all of it, not against what is left now. */
bool placing_never_fits(
    const struct placing_work_space *w, size_t offer, int64_t machines, bool later);
/* Job i starts when another has ended: what machines take now, it does not take. */
bool placing_later(const struct placing_work_space *w, size_t i);
/* What job i may have of quota q: all of it where it starts later, else what the plan leaves and
 * its candidate k (or PLACE_NONE) gives back. left [n_resources] after the plan. */
int64_t placing_quota_has(
    const struct placing_work_space *w, size_t i, size_t k, size_t q, const int64_t *left);
/*
 * Under a deadline: spot while it is safe, on demand when it must be, waiting where that is
 * cheaper. e [n_offers] becomes the job's estimates. Spot is taken, or waited for, only with the
 * money at hand that on demand would cost, should spot fail; what waits keeps it from the jobs
 * behind it.
 */
void placing_apply_spot(struct placing_work_space *w, size_t i, struct cost_estimate *e);
/* Has it spent on its work already? What it began it is to end: where money lacks it goes before
 * others of its priority. */
bool placing_begun(const struct job *j);
/* Would so many machines of the offer ask for more than the budgets by the hour leave? later: as in
 * placing_never_fits(). */
bool placing_over_hour(const struct placing_work_space *w, const struct job *j, size_t offer,
    int64_t machines, bool later);
/* USD that are kept of the budgets when job i takes this. */
double placing_reserve(const struct placing_work_space *w, size_t i, const struct offer *o,
    const struct cost_estimate *e);
/* Adds the least that the job needs to w->first. */
void placing_first(struct placing_work_space *w, size_t i, const struct cost_estimate *e);
/* Resource -> how the user knows it, and its unit. */
const char *placing_resource(const struct placing_work_space *w, size_t r, const char **unit_out);
/* "aws us-east-1a p5.48xlarge spot" */
const char *placing_label(const struct placing_offer *po, int machines, struct arena *a);
/* "none to be had since TIME, as its provider last said at TIME; it is asked again from TIME" */
const char *placing_none_text(const struct placing_offer *po, struct arena *a);
/* Of job i, which no offer suits: the rule that refused the last ones in numbers; NULL: they say
 * nothing more. */
const char *placing_detail(const struct placing_work_space *w, size_t i);
/* "aws us-east-1 P has 8 left: no_quota have=8 need=16 vcpu, as its provider told of account aws at
 * TIME" */
const char *placing_quota_text(const struct placing_short_of *q, struct arena *a);
/* Data in a region that no offer has and no table knows are moved at the price between regions:
 * that is to be seen; NULL: it is none. */
const char *placing_astray(const struct placing_work_space *w, const struct job_spec *s);
/*
 * What more of each limit brings, by placing the same jobs again with it: into w->raise. Exact up
 * to 24 jobs; of more a part is placed again, which others stay beside: no less is saved. Jobs that
 * wait for others, or that others wait for, stay where they are. left as in placing_tell().
 */
void placing_raises(
    struct placing_work_space *w, const struct place_plan *plan, const int64_t *left);
/*
 * The limits of which each by itself, with what the plan leaves, refuses all candidates of job i,
 * which has no place; where none does, those that are short for the cheapest. Returns binds where
 * that is one of them, else the first.
 */
size_t placing_kept_out(struct placing_work_space *w, size_t i, const int64_t *left, size_t binds,
    const size_t **limits_out, size_t *n_out);
/* Of job i, which has no candidate: the limits of which each by itself refuses all that is refused
 * by quotas, money or owned machines. Into *limits_out [n], what counts it at `left`. */
size_t placing_refused_all(
    struct placing_work_space *w, size_t i, const int64_t *left, const size_t **limits_out);
/* The machines of the owned commitment that the offer is of; PLACE_NONE: it is of none. */
size_t placing_pool(const struct placing_work_space *w, size_t offer);
/* "budget team leaves 4.33": the caps that are each too little for so many USD there, idle of them
 * only under the job's own; "": none is. subject_out: their names, joined; "". */
const char *placing_caps(const struct placing_work_space *w, size_t i,
    const struct placing_near *need, const char **subject_out);
/* The quota that by itself refuses what would cost job i, which goes to candidate k, least, where
 * more of that brings something; PLACE_NONE: none does. */
size_t placing_refused_by(const struct placing_work_space *w, size_t i, size_t k);
/* Job i goes to candidate k: what would be cheaper if no data had to be moved: into its egress. */
void placing_egress_told(struct placing_work_space *w, size_t i, size_t k);
/* Tries, reason and the rest of what is told of job i. left [n_resources] after the plan. */
void placing_tell(
    struct placing_work_space *w, size_t i, const struct place_plan *plan, const int64_t *left);
/* What would change the outcome: into w->jobs[i].changes. runner_up: a candidate, or PLACE_NONE. */
void placing_changes(struct placing_work_space *w, size_t i, const struct place_plan *plan,
    const int64_t *left, size_t runner_up);
/* What would change where job i goes, as it grows. */
struct placing_change_list {
	struct placing_work_space *w;
	const struct place_plan *plan;
	const int64_t *left; /* as in placing_tell() */
	VEC(struct placing_change) v;
};
struct placing_change *placing_change_add(
    struct placing_change_list *l, const char *what, const char *subject);
/* The limits that keep the job of k from candidate c, with what k gives back: how many, and what is
 * missing of the last of them. */
size_t placing_lacks(const struct placing_work_space *w, const int64_t *left, size_t k, size_t c,
    size_t *limit_out, int64_t *more_out);
/* The one quota that keeps the need out beside all other jobs, and what is missing of it;
 * PLACE_NONE: other limits do too. */
size_t placing_short(const struct placing_work_space *w, size_t i, size_t k,
    const struct placing_need *need, const int64_t *left, int64_t *more_out);
/* Job i (k: its candidate in the plan, or PLACE_NONE) lacks `more` of limit r: with what those take
 * of it then that go before. Into *who_out who they are, in words; "". */
int64_t placing_more_in_turn(struct placing_change_list *l, size_t i, size_t k, size_t r,
    int64_t more, const char **who_out);
/*
 * GPUs that a job's user would hold with it: those of the user's jobs that run, and of those before
 * it in the queue. Where not all can go, it is the last job of the one who holds most that stays
 * out (max-min fairness between users). What is only in view holds nothing that others would count.
 * start [n_jobs + 1]: what has a candidate.
 */
double *placing_holds(struct placing_work_space *w, const size_t *start);
/* What jobs outweigh one another by: the higher level goes first. */
int64_t placing_level(const struct placing_work_space *w, size_t i);
/* Does the job fit there beside all others, with what candidate k (or PLACE_NONE) gives back?
 * money: of budgets too. */
bool placing_room(const struct placing_work_space *w, size_t i, size_t k,
    const struct placing_need *need, bool money, const int64_t *left);
/*
 * Rules before the cost: of each that alone refuses offers which would cost job i under so many
 * USD, the best one, with what would admit it; the best three are added, each has its hint. k: its
 * candidate in the plan, or PLACE_NONE, with which the least change goes before the cost.
 */
void placing_lifts(
    struct placing_change_list *l, size_t i, size_t k, const int64_t *left, double under);
/* Who waits for whom, and where the output of those lies that are no longer queued. */
BERTH_MUST_CHECK enum berth_code placing_after_load(
    struct placing_work_space *w, struct store *store, struct berth_err *err);
/* Jobs [n_out] before those that wait for them; those that wait in a ring are left out. */
size_t *placing_order(const struct placing_work_space *w, size_t *n_out);
/* What moving the output of the job before costs on each offer: into the estimates [n_offers]. */
void placing_after_add(const struct placing_work_space *w, size_t i, struct cost_estimate *e);
/* On one of them. */
void placing_after_add_one(
    const struct placing_work_space *w, size_t i, size_t offer, struct cost_estimate *e);
/* What is known of a job that is not among those that are placed; depth 0. */
BERTH_MUST_CHECK enum berth_code placing_late_outside(struct placing_work_space *w,
    struct store *store, const char *id, int depth, const struct placing_outside **out,
    struct berth_err *err);
/* Of the one that job i waits for: into w->from, w->before and w->early. */
BERTH_MUST_CHECK enum berth_code placing_late_load(
    struct placing_work_space *w, struct store *store, size_t i, struct berth_err *err);
/* The soonest start of each job that waits for another of the queue: into w->early. */
void placing_late_early(struct placing_work_space *w);
/* By when each must end for those behind it: into w->due. Needs w->early. */
void placing_due_load(struct placing_work_space *w);
/* Is that before its own deadline? */
bool placing_due_binds(const struct placing_work_space *w, size_t i);
/* The earlier of both; 0: none. */
int64_t placing_due(const struct placing_work_space *w, size_t i);
/* "the deadline", or "the deadline of train (j-2)" */
const char *placing_due_text(const struct placing_work_space *w, size_t i);
/* Where it may go, what that costs beside staying, and who was refused. e [n_offers]; s: what the
 * policy for spot has said. */
void placing_move_tell(struct placing_work_space *w, struct placing_move *m,
    const struct cost_estimate *e, const struct placing_spot *s);
/* Machines that the job has. */
int64_t placing_move_machines(const struct placing_move *m);
/* Its own deadline is the one to keep. */
void placing_move_own(struct placing_move *m);
/* The offer as the job is to expect it: where it has left a machine as too slow, at the speed of
 * that one. */
const struct offer *placing_slow_met(
    const struct placing_work_space *w, const struct job *j, const struct offer *o);
/*
 * A job that has begun, and that no offer, to be had now or later, ends by its deadline any more:
 * it gets the first end that it can have, and a tenth of the time until then more, in place of the
 * deadline, which goes to `overdue`. e [n_offers] is scratch.
 */
void placing_overdue(struct placing_work_space *w, size_t i, struct cost_estimate *e);
/* Has the policy for spot a say in job i? Not in one that is late anyway. */
bool placing_spot_steers(const struct placing_work_space *w, size_t i);
/* What that is in words; NULL: job i is not overdue. */
const char *placing_overdue_text(const struct placing_work_space *w, size_t i);
/* Since when it runs there, and from what progress. */
BERTH_MUST_CHECK enum berth_code placing_slow_load(
    struct store *store, struct placing_move *m, struct arena *a, struct berth_err *err);
/* Is the deadline lost on the machine that it has, by what was measured, and kept on another? Fills
 * late, ends, and slow with the move. e [n_offers] is scratch. */
void placing_slow(struct placing_work_space *w, struct placing_move *m, struct cost_estimate *e);
/* The same for jobs that run: into moves [n_moves]. at [n]: of the queued jobs those that wait for
 * them. */
void placing_due_moves(struct placing_work_space *w, struct placing_move *moves, size_t n_moves,
    const struct job *queued, const size_t *at, size_t n);
/* Starts, ends and latest starts for the plan of chains: into w->chain, where a deadline needs
 * them. */
void placing_late_chain(struct placing_work_space *w);
/* The job before it ends at `start`: its candidates are as of then, and those that end too late
 * refused. */
void placing_late_shift(struct placing_work_space *w, size_t i, int64_t start);
/* Takes the refused ones out of the program and the plan. */
void placing_late_drop(struct placing_work_space *w, struct place_plan *plan);
/* An end of job i, were it to start at `at`, or when it can. */
int64_t placing_late_end(const struct placing_work_space *w, size_t i, int64_t finish, int64_t at);
/* "prep ends at TIME, "; "" */
const char *placing_late_text(const struct placing_work_space *w, size_t i);
/* When the work on the machine is expected to be done. use: NULL: nothing is known of it. */
int64_t placing_work_ends(const struct placing_work_space *w, const struct instance *in,
    const struct job *job, const struct attempt_use *use);
/* When it may be done: one that is over time is so at once, and one that tells more progress than
 * the table rates is as fast as that. */
int64_t placing_work_soonest(const struct placing_work_space *w, const struct instance *in,
    const struct job *job, const struct attempt_use *use);
/* When the machines that run are expected to be free: into w->hold. */
BERTH_MUST_CHECK enum berth_code placing_backfill_load(
    struct placing_work_space *w, struct store *store, struct berth_err *err);
/*
 * The first job of the order (priority, then shares or the queue) that quotas alone make wait gets
 * the earliest time at which enough is expected to be free, what starts before it counted; of the
 * jobs behind it those candidates stay that end before, or fit beside it. Of w->p all but penalty
 * is set. True: the candidates have changed, and start [n_jobs + 1] with them.
 */
bool placing_backfill(struct placing_work_space *w, size_t *start);
/* What a candidate takes of each limit is given back to left [n_resources] (sign 1) or taken from
 * it
 * (-1). */
void placing_use(const struct placing_work_space *w, size_t k, int64_t sign, int64_t *left);
/* Id of the first job in turn that the plan leaves out, as those before it take too much of a quota
 * for it, and some behind it take of that quota now: it is to have a place kept. NULL: none is. */
const char *placing_backfill_missed(
    const struct placing_work_space *w, const struct place_plan *plan);
/* What that means to job i, which has no candidate: "waits so that job j-7 can start at TIME";
 * NULL: nothing. */
const char *placing_backfill_text(const struct placing_work_space *w, size_t i);
/* Would job i keep nobody waiting there for whom a place is kept? k, left as in placing_room(). */
bool placing_hold_lets(const struct placing_work_space *w, size_t i, size_t k,
    const struct placing_need *need, const int64_t *left);
/* What candidate k (PLACE_NONE: nothing) gives back of a resource when its job goes elsewhere. */
/* Of one accelerator, as the offer or the table says; NaN: neither does. */
double placing_memory(const struct placing_offer *po);
/* An offer that its memory refuses. */
void placing_hint_memory(
    struct placing_hint *h, const struct placing_offer *po, const struct job_variant *v);
/* What the memory is beside what is asked for. */
const char *placing_memory_text(const struct placing_work_space *w, const struct placing_hint *h);
int64_t placing_own(const struct placing_work_space *w, size_t k, size_t r);
/* Who has used how much, with o->shares. */
BERTH_MUST_CHECK enum berth_code placing_share_load(
    struct placing_work_space *w, struct store *store, struct berth_err *err);
/* The order by shares: w->ranks. start [n_jobs + 1] as in place_problem; of w->p all but n_jobs and
 * penalty is set. */
void placing_share_order(struct placing_work_space *w, const size_t *start);
/*
 * The cheapest candidate of job i that has room in left [n_resources], and takes it; PLACE_NONE:
 * none has. start [n_jobs + 1]; of w->p all but n_jobs and penalty is set.
 */
size_t placing_take_cheapest(
    const struct placing_work_space *w, size_t i, const size_t *start, int64_t *left);
/* Who gave way to whom: into the turns, and at the end of the reasons. */
void placing_share_tell(
    struct placing_work_space *w, const struct place_plan *plan, const int64_t *left);
/*
 * Penalty of leaving a job out: above every cost of any job, and more for each higher level of
 * priority; within a level up to twice as much for who holds least, and with shares one that fits
 * when its turn comes outweighs all that do not. The job's least cost is in it, so that of two the
 * cheaper one gains nothing by that. What has no candidate has none: it would only blur the sums.
 */
double *placing_penalties(struct placing_work_space *w, const size_t *start);
/* The distinct places of the offers, and what a GiB costs between each two: into w->chain. */
void placing_chain(struct placing_work_space *w);
/* place_solve(), or place_chain_solve() where jobs wait for one another; then each candidate's cost
 * has its moves. */
BERTH_MUST_CHECK enum berth_code placing_solve(struct placing_work_space *w,
    const struct place_options *o, struct place_plan *plan, struct berth_err *err);
/* What was decided last: what the two below start from. */
BERTH_MUST_CHECK enum berth_code placing_last_load(
    struct placing_work_space *w, struct store *store, struct berth_err *err);
/* The shadow prices of the last placement as the start of this one; none kept, or damaged: none. */
void placing_warm(struct placing_work_space *w);
/* Where the last placement put each job that still waits: it stays there unless another offer pays.
 */
void placing_last(struct placing_work_space *w);

#endif
