/* src/plan/spot.h - work with a deadline on spot machines: when to wait, to take spot, to leave for
 * on-demand.  Floor: domain. */
#ifndef BERTH_PLAN_SPOT_H
#define BERTH_PLAN_SPOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/err.h"

struct arena;

/*
 * Time runs in ticks. Whether spot can be had in a tick is known at its start. On demand costs 1 a
 * tick, spot `price`. Every launch, also into another zone, is a changeover: `changeover` ticks
 * that are billed and bring nothing. Work done is safe.
 */
struct spot_setting {
	int work;       /* ticks of work, >= 1 */
	int deadline;   /* ticks until it must be done, >= 1 */
	int changeover; /* >= 0 */
	double price;   /* of spot over on demand, >= 0; a replay never takes it at 1 or more */
};

/* How long a zone stays up or down hangs on how long it has been so: age buckets end at 15 min, 1
 * h, 4 h, 12 h. */
#define SPOT_AGES 5

struct spot_hazard {
	int edge[SPOT_AGES - 1];   /* ticks: the first age of the next bucket */
	double leave[SPOT_AGES];   /* chance a tick that the state ends */
	double older[SPOT_AGES];   /* chance a tick to reach the next bucket otherwise */
	int64_t events[SPOT_AGES]; /* ends seen */
	double hop[SPOT_AGES]; /* up alone: chance that another zone is up when this one is lost, by
				  that one's age; sum < 1 */
};

/* A zone's history: up[t] 1 where spot could be had, age[t] ticks since up last changed. */
struct spot_zone {
	const uint8_t *up;  /* [n] */
	const int32_t *age; /* [n] */
	size_t n;
};

void spot_edges(int tick_s, int edge[SPOT_AGES - 1]);
void spot_ages(const uint8_t *up, size_t n, int32_t *age_out);
/* Could spot be had in any of the zones? out [n] */
void spot_union(const struct spot_zone *zones, size_t n_zones, size_t n, uint8_t *up_out);

/* What spot did so far, by age: hours seen in the state, and its ends. */
struct spot_evidence {
	double hours[2][SPOT_AGES]; /* [0] down, [1] up */
	double ends[2][SPOT_AGES];
};

/* Adds one run of a state of this length; ended false: it goes on, or we ended it ourselves.
 * Lengths <= 0 add nothing. */
void spot_evidence_add(struct spot_evidence *e, bool up, double hours, bool ended);

/*
 * Chance an hour that a state of this age ends: (ends + 2) / (hours + 2 / prior), then z standard
 * errors worse (up ends sooner, down later). The prior: 27 public availability traces of V100 and
 * K80 spot machines, Wu et al., NSDI 2024 (spot-traces, 10,668 h up with 4,039 ends, 12,450 h
 * down), by the same ages; times (ends + 2) / (ends that it expects
 * + 2) over all ages, so that one age tells of the others, and drawn by ends / (ends + 2) / 2 of
 * the way (in logarithms) to the rate that is alike at all ages. An age that no up run reached,
 * where ends were seen, is neither drawn nor made worse. rate: interruptions an hour that the
 * provider publishes, by which the prior of up is scaled, up to 8 times; where it is under the
 * prior's mean of 0.379, by (rate / 0.379)^0.15, at least 1/4. NaN: not known. zones: a
 * pool comes back when any of them does. e NULL: nothing was seen.
 */
double spot_evidence_hazard(
    const struct spot_evidence *e, bool up, size_t age, double rate, size_t zones, double z);

/* Mean of it over ages from .. to in hours, of an up run. */
double spot_evidence_mean(const struct spot_evidence *e, double from_h, double to_h, double rate);

/* What the learned chances say of a state that has lasted so long; without pessimism. */
struct spot_outlook {
	bool up;
	double age_h;
	double leave;   /* chance an hour that it ends now */
	double more_h;  /* that it is expected to go on */
	double back_1h; /* chance that spot is back within an hour: of a loss, or from now where it
			   is down */
	int64_t events; /* ends of such states seen */
	double left_h;  /* to the deadline, ... */
	double turn_h;  /* ... and the work left beyond which it goes on demand; NaN: not known */
};
/* left_h and turn_h are not filled in. */
void spot_look_ahead(const struct spot_evidence *e, bool up, double age_h, double rate,
    size_t zones, struct spot_outlook *out);

/* The bucket of an age in hours. */
size_t spot_age_of(double hours);

/* The same as chances a tick, at most 0.9. */
void spot_chances(const struct spot_evidence *e, bool up, int tick_s, double rate, size_t zones,
    double z, struct spot_hazard *out);

/* The same from ticks [from, to) of the zone, for runs with up == state (1 up, 0 down). */
void spot_learn(const struct spot_zone *zone, size_t from, size_t to, int state, int tick_s,
    double z, struct spot_hazard *out);
struct spot_world;
/*
 * The same for a job that sits in the zone that the world would have it take until that is lost: up
 * of its zone with where it goes then, by (times seen)/(1.001 losses + 2); down of all zones
 * together.
 */
void spot_learn_pool(const struct spot_world *w, size_t from, size_t to, int tick_s, double z,
    struct spot_hazard *up_out, struct spot_hazard *down_out);
/* Expected ticks that an up run of each age goes on; the last bucket is geometric. */
void spot_remaining(const struct spot_hazard *up, double out[SPOT_AGES]);

enum spot_action { SPOT_WAIT, SPOT_TAKE, SPOT_ON_DEMAND };

/* What the job has at the start of a tick. */
enum spot_mode { SPOT_NOTHING, SPOT_HAS_SPOT, SPOT_HAS_ON_DEMAND };

struct spot_table;

/*
 * The cheapest action for each time left, work left, mode and age, by backward induction over the
 * learned chances (finite-horizon Markov decision process); an action after which the deadline
 * could be missed whatever spot does costs infinitely much, so that the deadline holds as long as
 * on-demand can be had. Never waits while spot is up. One table serves jobs of up to
 * setting->work that have at most deadline - work more time than work. BERTH_EINVAL for a setting
 * out of range or a table over 1 GiB.
 */
BERTH_MUST_CHECK enum berth_code spot_table_solve(const struct spot_setting *s,
    const struct spot_hazard *up, const struct spot_hazard *down, struct arena *a,
    struct spot_table **table_out, struct berth_err *err);

/*
 * left: ticks to the deadline (what is left over the work, clamped to what the table is for);
 * work: ticks of work left; mode with its
 * changeover ticks left; is_up and age of the zone that it has or would take; of the pool where
 * none is up. An up run that fewer than one in twenty would have reached by what was learned counts
 * as the calmest age: times have changed.
 */
enum spot_action spot_decide(const struct spot_table *t, int left, int work, enum spot_mode mode,
    int changeover_left, bool is_up, int age);
size_t spot_table_bytes(const struct spot_table *t);

/* After so many launches in vain only a zone that has been up for a whole changeover is believed.
 */
#define SPOT_VAIN 3

/*
 * How long a zone must have been up before it is asked, in the unit of changeover and owed; 0: it
 * need not. on_demand: the job has such a machine and would leave it. vain: spot launches in a row
 * that were lost before they brought anything. owed: what the job's machines so far and the rest on
 * demand from now on cost over on demand from the start, in on-demand time, < 0: saved. Where a
 * launch that is lost at once would bring that to more than one launch, the zone must have been up
 * for a changeover; where by more than the launch itself costs, for two, and for twice the time by
 * which it is more: what comes and goes costs about on demand and one launch.
 */
double spot_stand(double changeover, double price, bool on_demand, int vain, double owed);

/* What a decision hangs on, in ticks: the replay has it from the trace, the broker from its store.
 */
struct spot_now {
	int left, work;
	enum spot_mode mode;
	int changeover_left;
	bool up;   /* spot can be asked for */
	int age;   /* of the spot machine that it has, else of the zone that it would take; none up:
		      since the last went */
	int stood; /* how long the zone that it would take has been up */
	double stand; /* how long it must have been: spot_stand() */
	double lasts; /* of a pool, after SPOT_VAIN launches in vain: chance that the run of that
			 very zone goes on for two changeovers; 0: not known, as the table has it */
};

/*
 * The rule: the table's action. Spot that has not stood for long enough counts as down; and so does
 * that which must have, where by what was learned fewer than one in five would go on for two
 * changeovers; where lasts is known, fewer than three in five.
 */
enum spot_action spot_rule(const struct spot_table *t, const struct spot_now *n);

/* Least cost with the future known, over zones [n_zones] from tick t0: exact dynamic program. < 0:
 * cannot be done. */
double spot_omniscient(const struct spot_zone *zones, size_t n_zones, size_t t0,
    const struct spot_setting *s, struct arena *scratch);

/*
 * The same where prices move and regions differ: exact over (tick, work, machine and its
 * changeover, region of the state).
 */
double spot_omniscient_market(
    const struct spot_world *w, size_t t0, const struct spot_setting *s, struct arena *scratch);

enum spot_policy {
	SPOT_POLICY_ON_DEMAND,
	SPOT_POLICY_GREEDY,  /* spot when up, wait when down, on demand when it must */
	SPOT_POLICY_UNIFORM, /* Uniform Progress (Wu et al., NSDI 2024): on demand when behind c(t)
				= t C / R, spot when up */
	SPOT_POLICY_BERTH,   /* the table, or without one SPOT_POLICY_UNIFORM held back */
	SPOT_POLICY_COUNT
};
const char *spot_policy_name(
    enum spot_policy p); /* "on_demand" "greedy" "uniform_progress" "berth" */

/* Zones that differ in more than when they are up. */
struct spot_market {
	const double *const *price; /* [n_zones][ticks] of spot over on demand; NULL: the setting's.
				       1 and more is never taken */
	const int *region;          /* [n_zones] from 0; NULL: all in one */
	double
	    move; /* on-demand ticks that it costs to bring the state to another region (egress) */
	int home; /* region where it lies at the start; on demand runs where it lies */
	const double *tick; /* [regions] mean cost of a tick of work there: up times price + down
			       times 1; NULL: not known */
	int n_regions;      /* of tick */
	const struct spot_table *const *table; /* [n_levels] for spot at these prices; n_levels 0:
						  the one that is handed over */
	const double *level;
	size_t n_levels;
};

/* What a launch in an up zone brings, by the ticks that it has been up; the last age: that and
 * older. */
struct spot_promise {
	size_t ages;
	double *worth; /* [n_zones][ages] share of the ticks paid, to the end of the run or of the
			  work, that bring work */
	double *lasts; /* [n_zones][ages] chance that the run goes on for two changeovers */
	double least;  /* worth under which a launch is not expected to pay */
	struct spot_zone paying; /* is there an up zone where it is? */
};

/* One zone or a pool that a job may move in. */
struct spot_world {
	const struct spot_zone *zones; /* [n_zones], best first for a policy without scores */
	size_t n_zones;
	const struct spot_zone *any; /* union of the zones (that zone itself if there is one) */
	const double (*score)[SPOT_AGES]; /* [n_zones] which up zone to take by its age: the
					     greatest; NULL: the first */
	const int *edge;                  /* of the scores' buckets */
	const struct spot_market *market; /* NULL: one price, one region */
	bool thin; /* hardly anything was learned: after one launch in vain a zone must have been up
		      for a changeover */
	const struct spot_promise *promise; /* where a launch is not expected to pay, a zone counts
					       as down, with one price; NULL: not known */
};

/*
 * Has w heed what is learned from ticks [from, to) of each of its zones: sums over the runs that
 * reached the age, and two more that end by the chances of spot_learn() without pessimism, which
 * also say how long a run goes on that had not ended at to. Of s the work, the changeover and the
 * price count.
 */
void spot_promise_learn(struct spot_world *w, size_t from, size_t to, int tick_s,
    const struct spot_setting *s, struct arena *a, struct spot_promise *out);

#define SPOT_TOLD 16 /* launches of a run that are told of */

struct spot_run {
	double cost;         /* in on-demand ticks */
	int on_demand, spot; /* ticks billed */
	int launches;
	struct spot_launch {
		int tick; /* from the start */
		bool spot;
	} told[SPOT_TOLD]; /* the first of them */
	int vain;   /* most launches on spot in a row that were lost before they brought anything */
	int lost;   /* machines taken back under the work */
	int moves;  /* of the state to another region */
	int finish; /* ticks */
	bool missed;
};

/*
 * Replays one job from tick t0 (t0 + deadline <= ticks of the zones). table: for SPOT_POLICY_BERTH,
 * which is spot_rule(); NULL, where what was learned misleads: Uniform Progress, with spot that
 * must stand by spot_stand(), and after a launch in vain for a changeover.
 */
void spot_replay(enum spot_policy policy, const struct spot_world *w, size_t t0,
    const struct spot_setting *s, const struct spot_table *table, struct spot_run *out);

/*
 * Would the rule without a table have been cheaper than the table by more than SPOT_GUARD on jobs
 * started through ticks [from, to)? Then the chances learned there mislead, and the simple rule is
 * the better one. Needs room for two starts; else false.
 */
#define SPOT_GUARD 0.01
bool spot_misled(const struct spot_world *w, size_t from, size_t to, const struct spot_setting *s,
    const struct spot_table *table);

#endif
