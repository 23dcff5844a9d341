#include "config.h"

#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kernels/peer.h"
#include "kernels/run.h"

static void
main_usage(FILE *f)
{
	fputs("usage: berth-probe [--json] [--quick | --deep] [--only TEST,...] [--list] [--host]\n"
	      "                   [--cap SECONDS] [--steady SECONDS] [--array-mib N] [--gemm-n N]\n"
	      "                   [--pattern-mib N] [--library FILE] [--kmsg FILE] [--version] "
	      "[--help]\n"
	      "                   [--measure-command COMMAND [--measure-name NAME] "
	      "[--measure-devices N]]\n"
	      "       berth-probe --serve [HOST:]PORT | --peer HOST:PORT [--streams N] "
	      "[--token-file FILE]\n"
	      "                   [--rdma-device NAME] [--json]\n"
	      "Measures the GPUs of this machine, or the host where there are none.\n"
	      "  --json          one berth.probe-result/1 object on standard output\n"
	      "  --quick         about 8 s instead of up to 55 s; --deep: minutes\n"
	      "  --only LIST     these tests, or all that begin so (gemm)\n"
	      "  --list          names, units and what each test does\n"
	      "  --library FILE  this cuBLASLt instead of the first that is found and works\n"
	      "  --kmsg FILE     a kernel log to look for Xid lines in, instead of /dev/kmsg\n"
	      "  --host          the host reference, whatever else is there\n"
	      "  --measure-command COMMAND  a benchmark of your own, run by the shell three times; "
	      "its last line is a\n"
	      "                  rate with its unit (612.5 TFLOP/s). --measure-name: the test that "
	      "it stands for, or\n"
	      "                  user_ and a name; --measure-devices: how many accelerators it "
	      "keeps busy\n"
	      "  --serve, --peer one machine serves, the other measures bandwidth and latency to "
	      "it; both need the same\n"
	      "                  token, in --token-file or BERTH_PROBE_TOKEN; RDMA goes over the "
	      "first device whose port is\n"
	      "                  up, or over --rdma-device\n"
	      "  --sysroot DIR   look for /sys and /dev under DIR\n"
	      "exit status: 0 measured, 2 usage, 3 nothing to measure (host reference ran), 4 "
	      "wrong or unhealthy,\n"
	      "5 ended by a time cap\n",
	    f);
}

static int
main_list(void)
{
	size_t n;
	const struct suite_row *rows = suite_rows(&n);

	for (size_t i = 0; i < n; i++)
		printf("%-16s %-8s %-6s %s\n", rows[i].name, rows[i].unit,
		    rows[i].levels & LEVEL_QUICK ? "quick" : "", rows[i].what);
	return fflush(stdout) == 0 ? 0 : 1;
}

static int
main_number(const char *s, double lo, double hi, double *out)
{
	char *end;

	errno = 0;
	*out = strtod(s, &end);
	if (errno != 0 || end == s || *end != '\0' || !(*out >= lo) || !(*out <= hi)) {
		fprintf(stderr, "berth-probe: '%s' is not a number from %g to %g\n", s, lo, hi);
		return -1;
	}
	return 0;
}

enum {
	OPT_JSON = 256,
	OPT_QUICK,
	OPT_DEEP,
	OPT_ONLY,
	OPT_LIST,
	OPT_HOST,
	OPT_CAP,
	OPT_STEADY,
	OPT_ARRAY,
	OPT_GEMM,
	OPT_PATTERN,
	OPT_LIBRARY,
	OPT_KMSG,
	OPT_VERSION,
	OPT_SYSROOT,
	OPT_MEASURE,
	OPT_MEASURE_NAME,
	OPT_MEASURE_DEVICES,
	OPT_SERVE,
	OPT_PEER,
	OPT_STREAMS,
	OPT_TOKEN,
	OPT_RDMA
};

static const struct option main_options[] = {
	{ "json", no_argument, NULL, OPT_JSON },
	{ "quick", no_argument, NULL, OPT_QUICK },
	{ "deep", no_argument, NULL, OPT_DEEP },
	{ "only", required_argument, NULL, OPT_ONLY },
	{ "list", no_argument, NULL, OPT_LIST },
	{ "host", no_argument, NULL, OPT_HOST },
	{ "cap", required_argument, NULL, OPT_CAP },
	{ "steady", required_argument, NULL, OPT_STEADY },
	{ "array-mib", required_argument, NULL, OPT_ARRAY },
	{ "gemm-n", required_argument, NULL, OPT_GEMM },
	{ "pattern-mib", required_argument, NULL, OPT_PATTERN },
	{ "library", required_argument, NULL, OPT_LIBRARY },
	{ "kmsg", required_argument, NULL, OPT_KMSG },
	{ "sysroot", required_argument, NULL, OPT_SYSROOT },
	{ "measure-command", required_argument, NULL, OPT_MEASURE },
	{ "measure-name", required_argument, NULL, OPT_MEASURE_NAME },
	{ "measure-devices", required_argument, NULL, OPT_MEASURE_DEVICES },
	{ "serve", required_argument, NULL, OPT_SERVE },
	{ "peer", required_argument, NULL, OPT_PEER },
	{ "streams", required_argument, NULL, OPT_STREAMS },
	{ "token-file", required_argument, NULL, OPT_TOKEN },
	{ "rdma-device", required_argument, NULL, OPT_RDMA },
	{ "version", no_argument, NULL, OPT_VERSION },
	{ "help", no_argument, NULL, 'h' },
	{ NULL, 0, NULL, 0 },
};

/* Options whose value is a number; as main_option(). */
static int
main_option_number(struct run_opts *o, int c)
{
	double v = 0;

	switch (c) {
	case OPT_MEASURE_DEVICES:
		if (main_number(optarg, 1, REPORT_MAX_GPUS, &v) < 0)
			return -1;
		if (v != (int)v) {
			fprintf(stderr,
			    "berth-probe: --measure-devices '%s' is not a whole number\n", optarg);
			return -1;
		}
		o->measure_devices = v;
		return 0;
	case OPT_STREAMS:
		if (main_number(optarg, 1, 32, &v) < 0)
			return -1;
		o->streams = (int)v;
		return 0;
	case OPT_CAP:
		return main_number(optarg, 1, 86400, &o->cap_s);
	case OPT_STEADY:
		return main_number(optarg, 0, 3600, &o->steady_s);
	case OPT_ARRAY:
		if (main_number(optarg, 1, 65536, &v) < 0)
			return -1;
		o->array_bytes = (uint64_t)v << 20;
		return 0;
	case OPT_GEMM:
		if (main_number(optarg, 32, 65536, &v) < 0)
			return -1;
		o->gemm_n = (uint64_t)v;
		return 0;
	case OPT_PATTERN:
		if (main_number(optarg, 1, 1e6, &v) < 0)
			return -1;
		o->pattern_bytes = (uint64_t)v << 20;
		return 0;
	default:
		return -1;
	}
}

/* 0 go on, 1 done, -1 usage error */
static int
main_option(struct run_opts *o, int c)
{
	switch (c) {
	case OPT_JSON:
		o->json = true;
		return 0;
	case OPT_QUICK:
	case OPT_DEEP:
		if (o->level == (c == OPT_QUICK ? LEVEL_DEEP : LEVEL_QUICK)) {
			fputs("berth-probe: --quick and --deep exclude each other\n", stderr);
			return -1;
		}
		o->level = c == OPT_QUICK ? LEVEL_QUICK : LEVEL_DEEP;
		return 0;
	case OPT_ONLY:
		o->only = optarg;
		return 0;
	case OPT_LIST:
		o->list = true;
		return 0;
	case OPT_HOST:
		o->force_host = true;
		return 0;
	case OPT_LIBRARY:
		o->library = optarg;
		return 0;
	case OPT_KMSG:
		o->kmsg = optarg;
		return 0;
	case OPT_SYSROOT:
		o->sysroot = optarg;
		return 0;
	case OPT_MEASURE:
		o->measure = optarg;
		return 0;
	case OPT_MEASURE_NAME:
		o->measure_name = optarg;
		return 0;
	case OPT_SERVE:
		o->serve = optarg;
		return 0;
	case OPT_PEER:
		o->peer = optarg;
		return 0;
	case OPT_TOKEN:
		o->token_file = optarg;
		return 0;
	case OPT_RDMA:
		o->rdma_device = optarg;
		return 0;
	case OPT_VERSION:
		return puts("berth-probe " PACKAGE_VERSION) < 0 ? -1 : 1;
	case 'h':
		main_usage(stdout);
		return 1;
	default:
		return main_option_number(o, c);
	}
}

/* Is what follows the last colon a port? getaddrinfo() takes 99999 for 34463. */
static bool
main_is_address(const char *s, bool needs_host)
{
	const char *colon = strrchr(s, ':'), *port = colon != NULL ? colon + 1 : s;
	char *end;
	long v;

	errno = 0;
	v = strtol(port, &end, 10);
	return port[0] >= '0' && port[0] <= '9' && *end == '\0' && errno == 0 && v >= 1 &&
	       v <= 65535 && (!needs_host || (colon != NULL && colon != s));
}

/* Every name of --only must begin a test's, else a slip of the pen would measure nothing. */
static int
main_check_only(const char *list)
{
	static const char *const network[] = { "tcp_latency", "tcp_send", "tcp_recv",
		"rdma_latency", "rdma_send", "rdma_recv" };

	while (*list != '\0') {
		const size_t n = strcspn(list, ",");
		bool known = n == 0;
		size_t rows_n;
		const struct suite_row *rows = suite_rows(&rows_n);

		for (size_t i = 0; i < rows_n && !known; i++)
			known = strncmp(rows[i].name, list, n) == 0;
		for (size_t i = 0; i < sizeof(network) / sizeof(network[0]) && !known; i++)
			known = strncmp(network[i], list, n) == 0;
		if (!known) {
			fprintf(stderr,
			    "berth-probe: --only: no test begins with '%.*s'; --list names them\n",
			    (int)n, list);
			return -1;
		}
		list += n + (list[n] == ',');
	}
	return 0;
}

static int
main_check(const struct run_opts *o)
{
	if (o->peer != NULL && !main_is_address(o->peer, true)) {
		fprintf(stderr, "berth-probe: --peer '%s' is not HOST:PORT\n", o->peer);
		return -1;
	}
	if (o->serve != NULL && !main_is_address(o->serve, false)) {
		fprintf(stderr,
		    "berth-probe: --serve '%s' is neither HOST:PORT nor a port from 1 to 65535\n",
		    o->serve);
		return -1;
	}
	if (o->measure == NULL && (o->measure_name != NULL || o->measure_devices > 0)) {
		fprintf(stderr,
		    "berth-probe: --measure-%s says something of --measure-command, which is "
		    "missing\n",
		    o->measure_name != NULL ? "name" : "devices");
		return -1;
	}
	return o->only != NULL ? main_check_only(o->only) : 0;
}

static int
main_parse(struct run_opts *o, int argc, char **argv)
{
	int c, rc = 0;

	*o = (struct run_opts){ .level = LEVEL_STANDARD,
		.steady_s = -1,
		.cap_s = -1,
		.array_bytes = 512ull << 20,
		.gemm_n = 8192,
		.streams = 4 };
	while (rc == 0 && (c = getopt_long(argc, argv, "h", main_options, NULL)) != -1)
		rc = main_option(o, c);
	if (rc == 0 && optind < argc) {
		fprintf(stderr, "berth-probe: unexpected argument '%s'\n", argv[optind]);
		rc = -1;
	}
	if (rc == 0 && o->serve != NULL && o->peer != NULL) {
		fprintf(stderr, "berth-probe: --serve and --peer exclude each other\n");
		rc = -1;
	}
	if (rc == 0 && !o->list)
		rc = main_check(o);
	if (rc < 0)
		fputs("try: berth-probe --help\n", stderr);
	else if (rc == 0 && (o->serve != NULL || o->peer != NULL) &&
		 peer_token(o->token_file, o->token) < 0)
		rc = -1;
	if (o->measure_name == NULL)
		o->measure_name = "user";
	if (o->measure_devices < 1)
		o->measure_devices = 1;
	if (o->steady_s < 0)
		o->steady_s = o->level == LEVEL_DEEP ? 120 : 10;
	if (o->cap_s < 0 && o->measure != NULL)
		o->cap_s = 1800; /* how long a user's benchmark takes is the user's affair */
	if (o->cap_s < 0)
		o->cap_s = o->level == LEVEL_DEEP ? 1800 : o->level == LEVEL_QUICK ? 30 : 55;
	return rc;
}

struct worker {
	struct gpu *g;
	enum suite_phase phase;
	pthread_t thread;
	bool started;
};

/* One thread a device; all devices run the same test at the same time, as jobs do. */
static void *
main_worker(void *arg)
{
	struct worker *w = arg;
	struct run *run = w->g->run;
	size_t n;
	const struct suite_row *rows = suite_rows(&n);

	if (w->g->ready && run->cuda.ctx_set(w->g->ctx) != 0)
		w->g->ready = false;
	for (size_t i = 0; i < n; i++) {
		if (rows[i].phase != w->phase || !suite_wants(&run->opts, &rows[i]))
			continue;
		if (w->phase == PHASE_MESH && run->n_gpus < 2)
			continue;
		pthread_barrier_wait(&run->barrier);
		if (!w->g->ready &&
		    w->phase != PHASE_MESH) { /* in a mesh the others wait for it at each turn */
			report_test_none(&run->report, rows[i].name, w->g->index, rows[i].unit,
			    REPORT_FAILED, "the device could not be opened");
			continue;
		}
		report_running(&run->report, w->g->index, rows[i].name, rows[i].cap_s);
		rows[i].run(w->g, &rows[i]);
		report_running(&run->report, w->g->index, NULL, 0);
	}
	return NULL;
}

static void *
main_open(void *arg)
{
	gpu_open(((struct worker *)arg)->g);
	return NULL;
}

struct sampler {
	struct run *run;
	volatile bool stop;
	pthread_t thread;
};

static void *
main_sampler(void *arg)
{
	struct sampler *s = arg;

	for (int i = 0; !s->stop || i == 0; i++) {
		usleep(i == 0 ? 100000 : 200000); /* clocks rise first */
		if (!s->stop || i == 0)
			health_sample(s->run);
	}
	return NULL;
}

static void
main_each(struct run *run, struct worker *w, void *(*fn)(void *), enum suite_phase phase)
{
	for (int i = 0; i < run->n_gpus; i++) {
		w[i] = (struct worker){ .g = &run->gpus[i], .phase = phase };
		w[i].started = pthread_create(&w[i].thread, NULL, fn, &w[i]) == 0;
		if (!w[i].started) /* the barrier counts on every thread */
			abort();
	}
	for (int i = 0; i < run->n_gpus; i++)
		pthread_join(w[i].thread, NULL);
}

static void
main_pairs(struct run *run)
{
	size_t n;
	const struct suite_row *rows = suite_rows(&n);

	for (size_t i = 0; i < n; i++) {
		if (rows[i].phase != PHASE_PAIRS || !suite_wants(&run->opts, &rows[i]) ||
		    run->n_gpus < 2)
			continue;
		for (int j = 0; j < run->n_gpus; j++) {
			if (!run->gpus[j].ready || run->cuda.ctx_set(run->gpus[j].ctx) != 0)
				continue;
			report_running(&run->report, j, rows[i].name, rows[i].cap_s * run->n_gpus);
			rows[i].run(&run->gpus[j], &rows[i]);
			report_running(&run->report, j, NULL, 0);
		}
	}
}

static int
main_gpus(struct run *run)
{
	struct worker *w = calloc((size_t)run->n_gpus, sizeof(*w));
	struct sampler s = { .run = run };
	bool sampling;

	if (w == NULL)
		return -1;
	pthread_barrier_init(&run->barrier, NULL, (unsigned)run->n_gpus);
	health_open(run);
	health_before(run);
	main_each(run, w, main_open, PHASE_EACH);
	main_each(run, w, main_worker, PHASE_EACH);
	main_pairs(run);
	main_each(run, w, main_worker, PHASE_MESH);
	sampling = run->has_nvml && pthread_create(&s.thread, NULL, main_sampler, &s) == 0;
	main_each(run, w, main_worker, PHASE_STEADY);
	s.stop = true;
	if (sampling)
		pthread_join(s.thread, NULL);
	health_after(run);
	free(w);
	return 0;
}

static int
main_print(struct run *run)
{
	return run->opts.json ? report_json(&run->report, stdout)
			      : report_table(&run->report, stdout);
}

/* What hung is named, what was measured is kept, and the program ends whatever the driver does. */
static void
main_timed_out(struct run *run, const char *why)
{
	struct report *r = &run->report;

	for (int i = 0; i <= REPORT_MAX_GPUS; i++) {
		const char *test = r->running[i].test;

		if (test != NULL)
			report_test_none(r, test, i - 1, "", REPORT_FAILED, "no answer for %.0f s",
			    report_now() - r->running[i].since);
	}
	report_error(r, "time cap", 0, "%s", why);
	report_check(r, "finished", -1, REPORT_FAILED, (double)NAN, "%s", why);
	fprintf(stderr, "berth-probe: %s\n", why);
	_exit(main_print(run) != 0 ? 1 : 5);
}

static void *
main_watchdog(void *arg)
{
	struct run *run = arg;
	struct report *r = &run->report;
	const bool tty = isatty(STDERR_FILENO) && !r->closed;
	char why[120];

	for (;;) {
		const double now = report_now();
		const char *name = NULL;

		usleep(100000);
		if (r->closed)
			return NULL;
		pthread_mutex_lock(&r->lock);
		for (int i = 0; i <= REPORT_MAX_GPUS; i++) {
			if (r->running[i].test == NULL)
				continue;
			name = r->running[i].test;
			if (now > r->running[i].since + 3 * r->running[i].cap_s + 10 +
				      run->opts.steady_s) {
				pthread_mutex_unlock(&r->lock);
				snprintf(why, sizeof(why), "%s does not come back", name);
				main_timed_out(run, why);
			}
		}
		pthread_mutex_unlock(&r->lock);
		if (tty)
			fprintf(
			    stderr, "\r%5.1f s  %-20s", now - r->started, name != NULL ? name : "");
		if (now > r->started + run->opts.cap_s) {
			snprintf(why, sizeof(why), "not done within %g s", run->opts.cap_s);
			main_timed_out(run, why);
		}
	}
}

static int
main_run(struct run *run)
{
	const uint64_t hash = image_hash();
	pthread_t watchdog;
	int rc;

	if (hash != 0)
		snprintf(run->report.kernels, sizeof(run->report.kernels), "fnv1a:%016llx",
		    (unsigned long long)hash);
	if (pthread_create(&watchdog, NULL, main_watchdog, run) != 0) {
		fprintf(stderr, "berth-probe: no thread for the time cap\n");
		return 1;
	}
	pthread_detach(watchdog);
	if (run->opts.peer != NULL) {
		run->report.mode = "network";
		peer_measure(run);
	} else if (run->opts.force_host || (gpu_list(run) < 0 && !other_find(run)))
		host_reference(run);
	else if (run->n_gpus > 0 && main_gpus(run) < 0)
		report_error(&run->report, "memory", 0, "out of memory");
	if (run->opts.measure != NULL)
		user_measure(run);
	if (isatty(STDERR_FILENO))
		fprintf(stderr, "\r%-32s\r", "");
	rc = report_exit(&run->report, false);
	if (main_print(run) != 0) {
		fprintf(stderr, "berth-probe: cannot write the result: %s\n", strerror(errno));
		rc = 1;
	}
	return rc;
}

int
main(int argc, char **argv)
{
	static struct run run;
	int rc;

	rc = main_parse(&run.opts, argc, argv);
	if (rc != 0)
		return rc < 0 ? 2 : 0;
	if (run.opts.list)
		return main_list();
	if (run.opts.serve != NULL)
		return peer_serve(&run);
	report_init(&run.report, run.opts.level == LEVEL_QUICK  ? "quick"
				 : run.opts.level == LEVEL_DEEP ? "deep"
								: "standard");
	run.report.only = run.opts.only != NULL ? run.opts.only : "";
	expect_init(&run.expect);
	rc = main_run(&run);
	/* a thread may still hang in the driver, and the driver's own exit handlers with it */
	fflush(NULL);
	_exit(rc);
}
