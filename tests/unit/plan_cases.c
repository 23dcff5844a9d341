/*
 * Runs the cases in tests/plan: text files of inputs, a command and the expected plan.
 *
 *	# comment
 *	commit                          or: place
 *	demand 0 2 4 8                  one line a path, a value an hour
 *	offer a reserved fixed 0.6 usage 0 gpus 8 min 0 max 3
 *	offer o on_demand usage 1 max 4     also: spot; owned (min = max = count)
 *	peak 12                         budget 30
 *	expect a 3                      purchases; "cost", "bound" (USD), "unserved" (GPU-hours), "error invalid"
 *
 *	limit q 64                      of a place case
 *	offer a q:8 r:1                 what one machine takes of each limit
 *	job j 100                       and the penalty of leaving it out
 *	on a 5.5 2                      an offer of the job, its cost, and machines needed (1)
 *	expect j a                      or "none"; "cost", "optimal"
 */
#include <glob.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plan/commit.h"
#include "plan/place.h"
#include "tests/tap.h"
#include "util/arena.h"

#define MAX_OFFERS 32
#define MAX_NUMBERS 4096
#define MAX_WORDS 512
#define UNSERVED 1000.0

struct plan_case {
	const char *file;
	bool place;
	/* commit */
	double demand[MAX_NUMBERS];
	size_t n_paths, n_steps;
	struct commit_line line[MAX_OFFERS];
	char name[MAX_OFFERS][64];
	size_t n_offers;
	double peak, budget;
	struct commit_plan plan;
	/* place */
	char limit_name[MAX_OFFERS][64], job[MAX_OFFERS][64];
	int64_t limit[MAX_OFFERS], weight[MAX_OFFERS * 8], need[MAX_NUMBERS];
	size_t n_limits, use_start[MAX_OFFERS + 1], resource[MAX_OFFERS * 8], n_jobs, start[MAX_OFFERS + 1];
	size_t offer[MAX_NUMBERS];
	double cost[MAX_NUMBERS], penalty[MAX_OFFERS];
	struct place_plan placement;
	/* both */
	bool solved;
	enum berth_code rc;
	struct berth_err err;
	int bad;
};

static void
wrong(struct plan_case *c, int line, const char *what, const char *word)
{
	tap_diag("%s:%d: %s '%s'", c->file, line, what, word);
	c->bad++;
}

static size_t
find(char (*names)[64], size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(names[i], name) == 0)
			return i;
	return SIZE_MAX;
}

static int64_t
whole(const char *s)
{
	return strcmp(s, "-") == 0 ? COMMIT_NO_LIMIT : strtoll(s, NULL, 10);
}

static void
read_commit_offer(struct plan_case *c, char **w, size_t n, int line)
{
	struct commit_line *l = &c->line[c->n_offers];
	enum commit_kind k;

	for (k = COMMIT_OWNED; k < COMMIT_KIND_COUNT && strcmp(w[2], commit_kind_name(k)) != 0; k++)
		continue;
	if (k == COMMIT_KIND_COUNT)
		wrong(c, line, "no such kind", w[2]);
	*l = (struct commit_line){ k, c->n_offers, 0, 0, 1, 0, COMMIT_NO_LIMIT, 0 };
	for (size_t i = 3; i + 1 < n; i += 2) {
		if (strcmp(w[i], "fixed") == 0)
			l->fixed = strtod(w[i + 1], NULL);
		else if (strcmp(w[i], "usage") == 0)
			l->usage = strtod(w[i + 1], NULL);
		else if (strcmp(w[i], "gpus") == 0)
			l->gpus = whole(w[i + 1]);
		else if (strcmp(w[i], "min") == 0)
			l->min_count = whole(w[i + 1]);
		else if (strcmp(w[i], "max") == 0)
			l->max_count = whole(w[i + 1]);
		else
			wrong(c, line, "unknown word", w[i]);
	}
	if (k == COMMIT_OWNED)
		l->min_count = l->max_count;
}

static void
read_place_offer(struct plan_case *c, char **w, size_t n, int line)
{
	size_t u = c->use_start[c->n_offers];

	for (size_t i = 2; i < n; i++, u++) {
		char *colon = strchr(w[i], ':');

		if (colon != NULL)
			*colon = '\0';
		c->resource[u] = find(c->limit_name, c->n_limits, w[i]);
		c->weight[u] = colon == NULL ? 1 : whole(colon + 1);
		if (c->resource[u] == SIZE_MAX)
			wrong(c, line, "no such limit", w[i]);
	}
	c->use_start[c->n_offers + 1] = u;
}

static void
solve(struct plan_case *c, struct arena *a)
{
	if (c->solved)
		return;
	c->solved = true;
	if (c->place) {
		struct place_problem p = { c->n_jobs, c->n_offers, c->n_limits, c->start, c->offer, c->cost, NULL, c->need,
			c->use_start, c->resource, c->weight, c->limit, c->penalty, NULL, NULL, NULL };
		struct place_options o = { .seed = 1, .rounds = 300, .gap = 0 };

		c->rc = place_solve(&p, &o, a, &c->placement, &c->err);
		if (c->rc == BERTH_OK && !place_check(&p, &c->placement))
			wrong(c, 0, "a limit is passed", "");
		return;
	}
	struct commit_demand d = { c->demand, c->n_paths, c->n_steps, NULL, 1, false };
	struct commit_curve curve;

	c->rc = commit_curve_build(&d, a, &curve, NULL, &c->err);
	struct commit_problem p = { &curve, c->line, c->n_offers, UNSERVED, c->peak, c->budget, 0 };
	if (c->rc == BERTH_OK)
		c->rc = commit_solve(&p, a, &c->plan, &c->err);
}

static void
expect_number(struct plan_case *c, int line, const char *what, double got, const char *want)
{
	if (fabs(got - strtod(want, NULL)) > 1e-6) {
		tap_diag("%s:%d: %s is %.9g, not %s", c->file, line, what, got, want);
		c->bad++;
	}
}

static void
expect_job(struct plan_case *c, int line, const char *job, const char *offer)
{
	size_t j = find(c->job, c->n_jobs, job), k;
	const char *got;

	if (j == SIZE_MAX) {
		wrong(c, line, "no such job", job);
		return;
	}
	k = c->placement.chosen[j];
	got = k == PLACE_NONE ? "none" : c->name[c->offer[k]];
	if (strcmp(got, offer) != 0) {
		tap_diag("%s:%d: %s is on %s, not on %s", c->file, line, job, got, offer);
		c->bad++;
	}
}

static void
expect(struct plan_case *c, char **w, size_t n, int line, struct arena *a)
{
	size_t i;

	solve(c, a);
	if (n >= 3 && strcmp(w[1], "error") == 0) {
		if (strcmp(err_name(c->rc), w[2]) != 0)
			wrong(c, line, "the result is", err_name(c->rc));
		return;
	}
	if (c->rc != BERTH_OK) {
		wrong(c, line, "the plan failed:", c->err.msg);
		return;
	}
	if (strcmp(w[1], "cost") == 0) {
		expect_number(c, line, "cost", c->place ? c->placement.cost : c->plan.cost_usd, w[2]);
	} else if (strcmp(w[1], "optimal") == 0) {
		if (!(c->place ? c->placement.optimal : c->plan.optimal))
			wrong(c, line, "not proven", "optimal");
	} else if (!c->place && strcmp(w[1], "bound") == 0) {
		expect_number(c, line, "money bound", c->plan.bound_usd, w[2]);
	} else if (!c->place && strcmp(w[1], "unserved") == 0) {
		expect_number(c, line, "unserved", c->plan.unserved_gpu_hours, w[2]);
	} else if (c->place) {
		expect_job(c, line, w[1], w[2]);
	} else if ((i = find(c->name, c->n_offers, w[1])) != SIZE_MAX) {
		expect_number(c, line, w[1], (double)c->plan.use[i].count, w[2]);
	} else {
		wrong(c, line, "no such offer", w[1]);
	}
}

static void
read_line(struct plan_case *c, char **w, size_t n, int line, struct arena *a)
{
	if (strcmp(w[0], "commit") == 0 || strcmp(w[0], "place") == 0) {
		c->place = w[0][0] == 'p';
	} else if (strcmp(w[0], "demand") == 0) {
		c->n_steps = n - 1;
		for (size_t i = 1; i < n; i++)
			c->demand[c->n_paths * c->n_steps + i - 1] = strtod(w[i], NULL);
		c->n_paths++;
	} else if (strcmp(w[0], "offer") == 0 && n > 1) {
		snprintf(c->name[c->n_offers], sizeof(c->name[0]), "%s", w[1]);
		if (c->place)
			read_place_offer(c, w, n, line);
		else
			read_commit_offer(c, w, n, line);
		c->n_offers++;
	} else if (strcmp(w[0], "peak") == 0 || strcmp(w[0], "budget") == 0) {
		*(w[0][0] == 'p' ? &c->peak : &c->budget) = strtod(w[1], NULL);
	} else if (strcmp(w[0], "limit") == 0) {
		snprintf(c->limit_name[c->n_limits], sizeof(c->limit_name[0]), "%s", w[1]);
		c->limit[c->n_limits++] = whole(w[2]);
	} else if (strcmp(w[0], "job") == 0) {
		snprintf(c->job[c->n_jobs], sizeof(c->job[0]), "%s", w[1]);
		c->penalty[c->n_jobs++] = strtod(w[2], NULL);
		c->start[c->n_jobs] = c->start[c->n_jobs - 1];
	} else if (strcmp(w[0], "on") == 0) {
		size_t k = c->start[c->n_jobs]++;

		c->offer[k] = find(c->name, c->n_offers, w[1]);
		c->cost[k] = strtod(w[2], NULL);
		c->need[k] = n > 3 ? whole(w[3]) : 1;
		if (c->offer[k] == SIZE_MAX)
			wrong(c, line, "no such offer", w[1]);
	} else if (strcmp(w[0], "expect") == 0) {
		expect(c, w, n, line, a);
	} else {
		wrong(c, line, "unknown word", w[0]);
	}
}

static void
run(const char *path, struct arena *a)
{
	static struct plan_case c;
	static char text[65536];
	FILE *f = fopen(path, "r");
	const char *base = strrchr(path, '/');
	int line = 0, expects = 0;

	memset(&c, 0, sizeof(c));
	c.file = base == NULL ? path : base + 1;
	c.peak = c.budget = NAN;
	while (f != NULL && fgets(text, sizeof(text), f) != NULL) {
		char *w[MAX_WORDS], *save = NULL;
		size_t n = 0;

		line++;
		for (char *s = strtok_r(text, " \t\n", &save); s != NULL && n < MAX_WORDS && s[0] != '#';
		    s = strtok_r(NULL, " \t\n", &save))
			w[n++] = s;
		if (n == 0)
			continue;
		expects += strcmp(w[0], "expect") == 0;
		read_line(&c, w, n, line, a);
	}
	if (f != NULL)
		fclose(f);
	tap_ok(c.bad == 0 && expects > 0, "%s: %d expectations", c.file, expects);
	arena_reset(a);
}

int
main(void)
{
	struct arena *a = arena_new();
	const char *top = getenv("TOP_SRCDIR");
	glob_t g = { 0 };

	if (glob(arena_printf(a, "%s/tests/plan/*.test", top == NULL ? "." : top), 0, NULL, &g) != 0)
		tap_ok(0, "there are cases in tests/plan");
	for (size_t i = 0; i < g.gl_pathc; i++)
		run(g.gl_pathv[i], a);
	globfree(&g);
	arena_free(a);
	return tap_done();
}
