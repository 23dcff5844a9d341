/*
 * The tick over a replayed cloud, killed at every exchange: before the cloud acted, or after it acted and before anybody
 * knew. Whatever the instant, the next ticks must end in the same place. The oracle is the cloud's own state file, which
 * the broker never reads: each machine in it was known to the store, none runs on, and the bill follows from its times.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "broker/broker.h"
#include "model/accel.h"
#include "store/job_rows.h"
#include "store/money_rows.h"
#include "store/offer_rows.h"
#include "tests/tap.h"
#include "util/fileio.h"
#include "util/json.h"
#include "util/yaml.h"

#define SIM_START INT64_C(1796083200)	/* 2026-12-01T00:00:00Z */
#define SIM_STEP 60
#define SIM_STEPS 900
#define SIM_DATA_AT "aws/us-east-1"	/* input of each job: 0.09 USD a GiB to another cloud, aws.amazon.com/ec2/pricing */
#define SIM_DATA_GIB 10
#define SIM_DATA_USD 0.90
#ifdef __SANITIZE_ADDRESS__
#define SIM_LIVES 6			/* several times as slow; the ordinary build tries more */
#else
#define SIM_LIVES 16
#endif

static const char sim_trace[] =
    "schema: berth.replay/1\n"
    "start: 2026-12-01T00:00:00Z\n"
    "pools:\n"
    "  - region: north\n    zone: north-a\n    instance_type: a100x8\n    accelerator: A100-SXM4-80GB\n"
    "    accelerator_count: 8\n    accelerator_memory_gib: 80\n    vcpus: 96\n    memory_gib: 1000\n"
    "    startup: [2m, 4m]\n    teardown: 30s\n"
    "    on_demand: {price: 32.00, capacity: [[0h, 2]]}\n"
    "    spot: {price: 9.60, capacity: [[0h, 1], [80m, 0], [130m, 1]], notice: 2m, interruption_rate: 0.2}\n"
    "  - region: south\n    zone: south-a\n    instance_type: l4x1\n    accelerator: L4\n"
    "    accelerator_count: 1\n    accelerator_memory_gib: 24\n    vcpus: 8\n    memory_gib: 32\n"
    "    startup: 2m\n    broken: 0.3\n    slow: {share: 0.3, factor: 0.6}\n"
    "    on_demand: {price: 0.80, capacity: [[0h, 3]]}\n";

/* Gangs of three: of the first place two are to be had, the third create is refused; the second is taken back and comes again. */
static const char sim_gangs[] =
    "schema: berth.replay/1\n"
    "start: 2026-12-01T00:00:00Z\n"
    "pools:\n"
    "  - region: west\n    zone: west-a\n    instance_type: h100x8\n    accelerator: H100-SXM5-80GB\n"
    "    accelerator_count: 8\n    accelerator_memory_gib: 80\n    startup: [2m, 4m]\n    teardown: 30s\n"
    "    on_demand: {price: 20.00, capacity: [[0h, 2], [30m, 3]]}\n"
    "  - region: east\n    zone: east-a\n    instance_type: h100x8\n    accelerator: H100-SXM5-80GB\n"
    "    accelerator_count: 8\n    accelerator_memory_gib: 80\n    startup: [2m, 4m]\n    teardown: 30s\n"
    "    spot: {price: 8.00, capacity: [[0h, 3], [20m, 2], [40m, 3]], notice: 2m, interruption_rate: 0.2}\n";

static const char sim_config[] =
    "schema: berth.config/1\naccounts:\n  - name: sim\n    provider: replay\n    trace: sim.trace\n";

static struct log sim_log = { .level = LOG_ERROR };

struct sim_shared { int64_t now; long exchanges; };

struct sim {
	bool gangs;		/* the world of gangs */
	size_t n_jobs;
	char dir[64];
	struct arena *arena;
	struct store *store;
	const struct accel_table *accels;
	const struct yaml_node *config;
	struct broker broker;
	struct sim_shared *shared;
	long die_at;		/* number of the exchange, from 1; 0: never */
	bool die_after;		/* the cloud acts first */
};

static void
sim_must(enum berth_code rc, const struct berth_err *err, const char *what)
{
	if (rc == BERTH_OK)
		return;
	printf("Bail out! %s: %s %s\n", what, err->msg, err->where);
	exit(1);
}

static enum berth_code
sim_hook(void *arg, struct prov_account *account, const struct http_req *req, struct http_resp *resp,
    struct berth_err *err)
{
	struct sim *s = arg;
	enum berth_code rc;

	s->shared->exchanges++;
	if (s->die_at == s->shared->exchanges && !s->die_after)
		_exit(77);
	rc = prov_exchange_next(account, req, resp, err);
	if (s->die_at == s->shared->exchanges)
		_exit(77);
	return rc;
}

static void
sim_open(struct sim *s, int64_t now)
{
	struct broker_setup setup = { .now = now, .seed = 1 };
	struct berth_err err;

	s->arena = arena_new();
	sim_log.f = stderr;
	sim_must(accel_table_open(s->arena, &s->accels, &err), &err, "accelerators");
	sim_must(yaml_parse(s->arena, sim_config, sizeof(sim_config) - 1, "berth.yaml", &s->config, &err), &err, "config");
	sim_must(store_open(arena_printf(s->arena, "%s/berth.db", s->dir), STORE_CREATE, now, &s->store, &err), &err, "store");
	setup.store = s->store;
	setup.accels = s->accels;
	setup.arena = s->arena;
	setup.config = s->config;
	setup.config_dir = setup.state_dir = setup.quarantine_dir = s->dir;
	setup.log = &sim_log;
	setup.refs_path = arena_printf(s->arena, "%s/probe_reference.csv", getenv("BERTH_DATA"));
	setup.limits_path = arena_printf(s->arena, "%s/probe_thresholds.csv", getenv("BERTH_DATA"));
	sim_must(broker_open(&setup, &s->broker, &err), &err, "broker");
	prov_account_hook(s->broker.accounts[0].prov, sim_hook, s);
}

static void
sim_close(struct sim *s)
{
	broker_close(&s->broker);
	store_close(s->store);
	arena_free(s->arena);
}

struct sim_offers { struct arena *arena; struct offer v[32]; size_t n; };

static enum berth_code
sim_offer(void *arg, const struct offer *o, struct berth_err *err)
{
	struct sim_offers *list = arg;

	(void)err;
	list->v[list->n++] = offer_copy(o, list->arena);
	return BERTH_OK;
}

static void
sim_job(struct sim *s, const char *name, const char *accel, int nodes, int count, double hours, bool resume)
{
	struct job_variant v = { .name = "", .accelerator = accel, .count_min = count, .count_max = count, .nodes = nodes,
		.work_hours = NAN, .speed = NAN };
	struct job_spec spec = { .name = name, .user = "u", .project = "p", .variants = &v, .n_variants = 1,
		.work_hours = hours, .precision = "bf16", .checkpoint_write_s = 60, .checkpoint_interval_s = 900,
		.restart_s = 120, .can_resume = resume, .max_price = USD_UNKNOWN, .max_cost = USD_UNKNOWN,
		.purchase_ok = { true, true, true }, .data_region = SIM_DATA_AT, .data_gib = SIM_DATA_GIB, .run = "train", .retries = 1 };
	struct berth_err err;
	const char *id;

	sim_must(store_job_insert(s->store, &spec, SIM_START, s->arena, &id, &err), &err, "job");
}

/* A fresh home: offers as the cloud tells them, four jobs that want two kinds of machine, or two gangs. */
static void
sim_prepare(struct sim *s)
{
	struct sim_offers offers = { .n = 0 };
	struct berth_err err;
	char path[128];

	/* Hundreds of lives: in memory if there is such a file system, so that fsync costs nothing. */
	snprintf(s->dir, sizeof(s->dir), "%s/berth-sim.XXXXXX", access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
	if (mkdtemp(s->dir) == NULL)
		exit(1);
	snprintf(path, sizeof(path), "%s/sim.trace", s->dir);
	sim_must(atomicfile_write(path, s->gangs ? sim_gangs : sim_trace,
	    s->gangs ? sizeof(sim_gangs) - 1 : sizeof(sim_trace) - 1, 0600, &err), &err, "trace");
	sim_open(s, SIM_START);
	offers.arena = s->arena;
	sim_must(prov_offers(s->broker.accounts[0].prov, NULL, sim_offer, &offers, &err), &err, "offers");
	sim_must(store_offers_replace(s->store, "replay", "sim", "replay", offers.v, offers.n, SIM_START, NULL, &err), &err,
	    "store offers");
	s->n_jobs = s->gangs ? 2 : 4;
	if (s->gangs) {
		sim_job(s, "may-be-taken", "H100-SXM5-80GB", 3, 8, 0.5, true);
		sim_job(s, "must-not-stop", "H100-SXM5-80GB", 3, 8, 0.3, false);
	} else {
		sim_job(s, "spot-job", "A100-SXM4-80GB", 1, 8, 1.6, true);
		sim_job(s, "must-not-stop", "A100-SXM4-80GB", 1, 8, 1, false);
		sim_job(s, "small-1", "L4", 1, 1, 0.8, true);
		sim_job(s, "small-2", "L4", 1, 1, 0.4, true);
	}
	sim_close(s);
	s->shared->now = SIM_START;
	s->shared->exchanges = 0;
}

/* Ticks until nothing is open; the process may die in between. */
static void
sim_go(struct sim *s)
{
	struct berth_err err;
	bool idle = false;

	sim_open(s, s->shared->now);
	for (long i = 0; i < SIM_STEPS && !idle; i++) {
		sim_must(broker_tick(&s->broker, &err), &err, "tick");
		sim_must(broker_idle(&s->broker, &idle, &err), &err, "idle");
		s->shared->now += SIM_STEP;
		broker_set_now(&s->broker, s->shared->now);
	}
	sim_close(s);
}

/* One life in a child of its own: true if it was killed on the way. */
static bool
sim_life(struct sim *s)
{
	int status = 0;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		sim_go(s);
		_exit(0);
	}
	waitpid(pid, &status, 0);
	if (!WIFEXITED(status) || (WEXITSTATUS(status) != 77 && WEXITSTATUS(status) != 0)) {
		printf("Bail out! a life ended with wait status %d\n", status);
		exit(1);
	}
	return WEXITSTATUS(status) == 77;
}

struct sim_end {
	size_t done, alive_store, alive_cloud, machines_store, machines_cloud, unknown, twice;
	double ledger, bill;		/* USD by the ledger; by the cloud's own times and starts */
	double egress, moved;		/* the part of each for input that was moved */
	double jobs;			/* USD by the jobs' own sums */
	size_t pending, preempted;
	double reserved;
};

static double
sim_price(const char *pool, const char *purchase)
{
	if (strstr(pool, "l4x1") != NULL)
		return 0.80;
	if (strstr(pool, "h100x8") != NULL)
		return strcmp(purchase, "spot") == 0 ? 8.00 : 20.00;
	return strcmp(purchase, "spot") == 0 ? 9.60 : 32.00;
}

/* The cloud's side, read from its own file. */
static void
sim_cloud(struct sim *s, struct sim_end *e, const struct instance *ins, size_t n)
{
	struct berth_err err;
	struct jsonr root, list;
	json_t *v;
	char *bytes;
	size_t len;

	sim_must(fileio_slurp(s->arena, arena_printf(s->arena, "%s/replay-sim.json", s->dir), 1U << 20, &bytes, &len, &err),
	    &err, "cloud state");
	sim_must(jsonr_parse(bytes, len, "state", &v, &err), &err, "cloud state");
	root = jsonr_root(v, "state");
	list = jsonr_get(&root, "machines");
	e->machines_cloud = jsonr_len(&list);
	for (size_t i = 0; i < e->machines_cloud; i++) {
		struct jsonr m = jsonr_at(&list, i);
		struct jsonr work = jsonr_get(&m, "job");
		int64_t created = 0, ended = 0;
		const char *ref = "", *pool = "", *purchase = "";
		size_t hits = 0;

		sim_must(jsonr_str(&m, "ref", &ref, &err), &err, "ref");
		sim_must(jsonr_str(&m, "pool", &pool, &err), &err, "pool");
		sim_must(jsonr_str(&m, "purchase", &purchase, &err), &err, "purchase");
		sim_must(jsonr_int(&m, "created", 0, INT64_MAX, &created, &err), &err, "created");
		sim_must(jsonr_int(&m, "ended", 0, INT64_MAX, &ended, &err), &err, "ended");
		e->alive_cloud += ended == 0;
		e->bill += sim_price(pool, purchase) * (double)(ended - created) / 3600;
		if (work.v != NULL && !json_is_null(work.v)) {	/* it ran a job: the input is there, of a gang's a third */
			e->moved += SIM_DATA_USD / (s->gangs ? 3 : 1);
			e->bill += SIM_DATA_USD / (s->gangs ? 3 : 1);
		}
		for (size_t k = 0; k < n; k++)
			hits += strcmp(ins[k].provider_ref, ref) == 0;
		e->unknown += hits == 0;
		e->twice += hits > 1;
	}
	json_decref(v);
}

static struct sim_end
sim_look(struct sim *s)
{
	struct sim_end e = { 0 };
	struct ledger_query q = { 0 };
	struct ledger_row *rows;
	struct instance *ins;
	struct budget *budgets;
	struct intent *its;
	struct berth_err err;
	struct job *jobs;
	size_t n, n_ins;

	sim_open(s, s->shared->now);
	sim_must(store_job_list(s->store, NULL, s->arena, &jobs, &n, &err), &err, "jobs");
	for (size_t i = 0; i < n; i++) {
		e.done += jobs[i].state == JOB_DONE;
		e.preempted += (size_t)jobs[i].preemptions;
		e.jobs += usd_to_double(jobs[i].cost);
	}
	sim_must(store_instance_list(s->store, 0, s->arena, &ins, &n_ins, &err), &err, "instances");
	e.machines_store = n_ins;
	for (size_t i = 0; i < n_ins; i++)
		e.alive_store += ins[i].state != INSTANCE_GONE;
	sim_must(store_ledger_list(s->store, &q, s->arena, &rows, &n, &err), &err, "ledger");
	for (size_t i = 0; i < n; i++) {
		e.ledger += usd_to_double(rows[i].amount);
		e.egress += rows[i].kind == LEDGER_EGRESS ? usd_to_double(rows[i].amount) : 0;
	}
	sim_must(store_intent_pending(s->store, s->arena, &its, &e.pending, &err), &err, "intents");
	sim_must(store_budget_list(s->store, s->shared->now, s->arena, &budgets, &n, &err), &err, "budgets");
	for (size_t i = 0; i < n; i++)
		e.reserved += usd_to_double(budgets[i].reserved);
	sim_cloud(s, &e, ins, n_ins);
	sim_close(s);
	return e;
}

static void
sim_remove(const struct sim *s)
{
	char cmd[128];

	snprintf(cmd, sizeof(cmd), "rm -rf '%s'", s->dir);
	if (system(cmd) != 0)
		tap_diag("%s stays", s->dir);
}

static bool
sim_sound(const struct sim *s, const struct sim_end *e)
{
	return e->done == s->n_jobs && e->alive_store == 0 && e->alive_cloud == 0 && e->unknown == 0 && e->twice == 0 &&
	    e->machines_store == e->machines_cloud && e->pending == 0 && fabs(e->ledger - e->bill) < 0.02 &&
	    fabs(e->egress - e->moved) < 1e-5 && fabs(e->jobs - e->ledger) < 1e-5 && fabs(e->reserved) < 1e-9;
}

static void
sim_tell(const struct sim_end *e)
{
	tap_diag("jobs done %zu, machines store %zu cloud %zu, alive store %zu cloud %zu, unknown %zu, twice %zu, pending %zu, "
	    "ledger %.4f bill %.4f, egress %.4f moved %.4f, jobs %.4f, reserved %.4f", e->done, e->machines_store, e->machines_cloud, e->alive_store, e->alive_cloud, e->unknown,
	    e->twice, e->pending, e->ledger, e->bill, e->egress, e->moved, e->jobs, e->reserved);
}

/* Killed at exchange k, then left alone. */
static bool
sim_killed(struct sim *s, long k, bool after, bool *reached_out)
{
	struct sim_end e;
	bool ok;

	sim_prepare(s);
	s->die_at = k;
	s->die_after = after;
	*reached_out = sim_life(s);
	s->die_at = 0;
	sim_life(s);
	e = sim_look(s);
	ok = sim_sound(s, &e);
	if (!ok) {
		tap_diag("killed %s exchange %ld, %s", after ? "after" : "before", k, s->dir);
		sim_tell(&e);
	} else {
		sim_remove(s);
	}
	return ok;
}

/* One world: left alone, then killed at the first instants and at some of the rest. */
static void
sim_world(struct sim *s, const char *what, long first, long some, bool all)
{
	long total, tried = 0, sound = 0, stride;
	struct sim_end e;
	bool reached;

	sim_prepare(s);
	sim_life(s);
	e = sim_look(s);
	sim_tell(&e);
	total = s->shared->exchanges;
	tap_ok(sim_sound(s, &e), "%s, left alone: all is done and paid, %ld exchanges, %zu machines, %zu preemptions", what,
	    total, e.machines_cloud, e.preempted);
	tap_ok(e.preempted >= 1, "the trace preempts a job on the way");
	sim_remove(s);
	stride = all ? 1 : total / some + 1;
	for (long k = 1; k <= total; k += k < first ? 1 : stride) {
		for (int after = 0; after <= 1; after++) {
			tried++;
			sound += sim_killed(s, k, after == 1, &reached) ? 1 : 0;
		}
	}
	tap_is_long(sound, tried, "%s, killed at %ld instants: the next ticks end in the same place", what, tried);
}

int
main(int argc, char **argv)
{
	bool all = argc > 1 && strcmp(argv[1], "-a") == 0;	/* every exchange */
	struct sim s = { .die_at = 0 };

	s.shared = mmap(NULL, sizeof(*s.shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (s.shared == MAP_FAILED)
		return 1;
	if (argc <= 1 || strcmp(argv[1], "-g") != 0)
		sim_world(&s, "single machines", SIM_LIVES, SIM_LIVES, all);
	s.gangs = true;
	sim_world(&s, "gangs", 3 * SIM_LIVES / 4, 3 * SIM_LIVES / 4, all);
	return tap_done();
}
