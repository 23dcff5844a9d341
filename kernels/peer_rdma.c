/*
 * RDMA between two machines. Both ends tell each other over the TCP connection, whose ends know the
 * token, how they are reached; then the client writes into the server's memory, the server into the
 * client's, and messages of 64 bytes go there and back. What arrived is compared. Orders after the
 * greeting: 'C' clear, 'V' compare, 'W' n: write n bytes, 'E' expect a ping, 'L' n: answer n of
 * them, 'Z': done; each but 'Z' is answered by an outcome.
 */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "kernels/peer.h"
#include "kernels/rdma_link.h"

#define PEER_RDMA_RUNS 5
#define PEER_RDMA_PINGS 2000
#define PEER_RDMA_MAX ((uint64_t)1 << 40)

enum {
	WIRE_STATE = 0,
	WIRE_TEXT = 1,
	WIRE_TEXT_N = 111,
	WIRE_NUMBERS = 112,
	WIRE_GID = 152,
	WIRE_N = 168
};

static void
wire_put(uint8_t *p, uint64_t v)
{
	for (int i = 0; i < 8; i++)
		p[i] = (uint8_t)(v >> 8 * i);
}

static uint64_t
wire_get(const uint8_t *p)
{
	uint64_t v = 0;

	for (int i = 0; i < 8; i++)
		v |= (uint64_t)p[i] << 8 * i;
	return v;
}

/* Words of the peer, fit to print. */
static void
wire_text(const uint8_t *w, char out[WIRE_TEXT_N])
{
	snprintf(out, WIRE_TEXT_N, "%.*s", WIRE_TEXT_N - 1, (const char *)w + WIRE_TEXT);
	for (char *c = out; *c != '\0'; c++)
		*c = *c < ' ' || *c > '~' ? '?' : *c;
}

/* What an end says of itself: its state, then its name or why not. */
static bool
wire_hello_send(int fd, const struct rdma_link *l, enum rdma_state state)
{
	uint8_t w[WIRE_N] = { 0 };

	w[WIRE_STATE] = (uint8_t)state;
	snprintf((char *)w + WIRE_TEXT, WIRE_TEXT_N, "%.110s",
	    state == RDMA_READY ? l->mine.name : l->why);
	wire_put(w + WIRE_NUMBERS, (uint64_t)l->mine.qpn << 32 | l->mine.psn);
	wire_put(w + WIRE_NUMBERS + 8, (uint64_t)l->mine.rkey << 32 | (uint64_t)l->mine.lid << 16 |
					   (uint64_t)l->mine.mtu << 8 | l->mine.layer);
	wire_put(w + WIRE_NUMBERS + 16, l->mine.addr);
	wire_put(w + WIRE_NUMBERS + 24,
	    isfinite(l->mine.gbps) && l->mine.gbps > 0 ? (uint64_t)(l->mine.gbps * 1e3) : 0);
	memcpy(w + WIRE_GID, l->mine.gid, 16);
	return peer_all(fd, w, sizeof(w), true);
}

static bool
wire_hello_recv(int fd, struct rdma_end *e, enum rdma_state *state, char why[WIRE_TEXT_N])
{
	uint8_t w[WIRE_N];
	uint64_t v;

	if (!peer_all(fd, w, sizeof(w), false) || w[WIRE_STATE] > RDMA_BROKEN)
		return false;
	*state = (enum rdma_state)w[WIRE_STATE];
	wire_text(w, why);
	snprintf(e->name, sizeof(e->name), "%.39s", why);
	v = wire_get(w + WIRE_NUMBERS);
	e->qpn = (uint32_t)(v >> 32);
	e->psn = (uint32_t)v & 0xffffff;
	v = wire_get(w + WIRE_NUMBERS + 8);
	e->rkey = (uint32_t)(v >> 32);
	e->lid = (uint16_t)(v >> 16);
	e->mtu = (uint8_t)(v >> 8);
	e->layer = (uint8_t)v;
	e->addr = wire_get(w + WIRE_NUMBERS + 16);
	v = wire_get(w + WIRE_NUMBERS + 24);
	e->gbps = v > 0 ? (double)v * 1e-3 : (double)NAN;
	memcpy(e->gid, w + WIRE_GID, 16);
	return true;
}

/* How a step ended at the other side; s: seconds, where it took any. */
static bool
wire_outcome_send(int fd, bool ok, double s, const char *why)
{
	uint8_t w[WIRE_N] = { 0 };

	w[WIRE_STATE] = ok ? 0 : 1;
	snprintf((char *)w + WIRE_TEXT, WIRE_TEXT_N, "%.110s", ok ? "" : why);
	wire_put(w + WIRE_NUMBERS, ok && s > 0 ? (uint64_t)(s * 1e9) : 0);
	return peer_all(fd, w, sizeof(w), true);
}

/* False with why, whoever is to blame. */
static bool
wire_outcome_recv(int fd, double *s, char *why, size_t n)
{
	char text[WIRE_TEXT_N];
	uint8_t w[WIRE_N];

	if (!peer_all(fd, w, sizeof(w), false)) {
		snprintf(why, n, "the connection broke");
		return false;
	}
	wire_text(w, text);
	*s = (double)wire_get(w + WIRE_NUMBERS) * 1e-9;
	if (w[WIRE_STATE] != 0)
		snprintf(why, n, "the peer: %s", text);
	return w[WIRE_STATE] == 0;
}

/* One order of the client; false: it is done, or gone. */
static bool
serve_order(struct rdma_link *l, int fd, bool *gone)
{
	char what;
	uint64_t n;
	double s = 0;
	bool ok = true;

	*gone = !peer_order_recv(fd, &what, &n);
	if (*gone || what == 'Z')
		return false;
	switch (what) {
	case 'C':
		memset(rdma_link_in(l), 0, RDMA_AREA);
		break;
	case 'V':
		ok = memcmp(rdma_link_in(l), peer_bytes(), RDMA_AREA) == 0;
		if (!ok)
			snprintf(l->why, sizeof(l->why), "what arrived is wrong");
		break;
	case 'W':
		s = n <= PEER_RDMA_MAX ? rdma_link_write(l, n) : (double)NAN;
		ok = isfinite(s);
		break;
	case 'E':
		ok = rdma_link_expect(l);
		break;
	case 'L':
		ok = rdma_link_pong(l, n);
		break;
	default:
		*gone = true;
		return false;
	}
	*gone = !wire_outcome_send(fd, ok, s, l->why);
	return !*gone;
}

bool
peer_rdma_serve(struct run *run, int fd)
{
	enum rdma_state mine, theirs;
	struct rdma_link l;
	struct rdma_end peer;
	char why[WIRE_TEXT_N];
	double s;
	bool ok, gone = false;

	mine = rdma_link_open(&l, run->opts.sysroot, run->opts.rdma_device);
	if (mine == RDMA_READY)
		memcpy(rdma_link_out(&l), peer_bytes(), RDMA_AREA);
	ok = wire_hello_recv(fd, &peer, &theirs, why) && wire_hello_send(fd, &l, mine);
	gone = !ok;
	if (ok && mine == RDMA_READY && theirs == RDMA_READY) {
		ok = rdma_link_connect(&l, &peer);
		gone = !wire_outcome_send(fd, ok, 0, l.why) ||
		       !wire_outcome_recv(fd, &s, why, sizeof(why));
		while (ok && !gone && serve_order(&l, fd, &gone))
			;
		gone = gone &&
		       ok; /* whose side failed has been told; the connection is still of use */
	}
	rdma_link_close(&l);
	return !gone;
}

struct measured {
	struct run *run;
	struct rdma_link *l;
	int fd;
	char why[200];
};

static const struct {
	const char *name, *unit;
} measured_tests[] = {
	{ "rdma_latency", "us" },
	{ "rdma_send", "GB/s" },
	{ "rdma_recv", "GB/s" },
};

/* The three hang together: the rate of a connection that was not proved is none. */
static bool
measured_wanted(struct run *run)
{
	bool wanted = false;

	for (size_t i = 0; i < sizeof(measured_tests) / sizeof(measured_tests[0]); i++)
		wanted = wanted || suite_wants_name(&run->opts, measured_tests[i].name);
	return wanted;
}

static void
measured_none(struct run *run, enum report_status s, const char *why)
{
	for (size_t i = 0; i < sizeof(measured_tests) / sizeof(measured_tests[0]); i++)
		report_test_none(&run->report, measured_tests[i].name, -1, measured_tests[i].unit,
		    s, "%.190s", why);
}

/* An order that the server answers. */
static bool
measured_order(struct measured *m, char what, uint64_t n, double *s)
{
	if (peer_order(m->fd, what, n))
		return wire_outcome_recv(m->fd, s, m->why, sizeof(m->why));
	snprintf(m->why, sizeof(m->why), "the connection broke");
	return false;
}

static double
measured_burst(struct measured *m, bool down, uint64_t bytes)
{
	double s = (double)NAN;

	if (down)
		return measured_order(m, 'W', bytes, &s) && s > 0 ? s : (double)NAN;
	s = rdma_link_write(m->l, bytes);
	if (isnan(s))
		snprintf(m->why, sizeof(m->why), "%s", m->l->why);
	return s;
}

/* Nothing of an earlier run may stand for what this one brings. */
static bool
measured_clear(struct measured *m, bool down)
{
	double s;

	if (!down)
		return measured_order(m, 'C', 0, &s);
	memset(rdma_link_in(m->l), 0, RDMA_AREA);
	return true;
}

static bool
measured_right(struct measured *m, bool down)
{
	double s;

	if (!down)
		return measured_order(m, 'V', 0, &s);
	if (memcmp(rdma_link_in(m->l), peer_bytes(), RDMA_AREA) == 0)
		return true;
	snprintf(m->why, sizeof(m->why), "what arrived is wrong");
	return false;
}

static bool
measured_rate(struct measured *m, bool down)
{
	const char *name = down ? "rdma_recv" : "rdma_send";
	const double run_s = peer_run_s(m->run);
	struct report_test t = { .gpu = -1, .peer = -1, .status = REPORT_OK };
	struct gpu_times times = { .n = 0 };
	uint64_t bytes = (uint64_t)16 << 20;
	bool ok;
	double s = 0;

	report_running(&m->run->report, -1, name, 15);
	for (int i = 0; i < 6 && isfinite(s) && s < run_s / 2; i++) {
		if (i > 0) /* whole rounds of the area */
			bytes = (uint64_t)((double)bytes / RDMA_AREA *
					   fmin(16, run_s / fmax(s, 1e-4))) *
				RDMA_AREA;
		s = measured_burst(m, down, bytes);
	}
	ok = isfinite(s) && measured_clear(m, down);
	for (int i = 0; i < PEER_RDMA_RUNS && ok; i++) {
		s = measured_burst(m, down, bytes);
		ok = isfinite(s);
		times.s[times.n++] = s;
	}
	ok = ok && measured_right(m, down);
	if (!ok) {
		report_test_none(
		    &m->run->report, name, -1, "GB/s", REPORT_FAILED, "%.190s", m->why);
		return false;
	}
	snprintf(t.name, sizeof(t.name), "%s", name);
	snprintf(t.unit, sizeof(t.unit), "GB/s");
	gpu_rates(&times, (double)bytes, 1e-9, &t);
	report_test(&m->run->report, &t);
	report_check(&m->run->report, name, -1, REPORT_OK, (double)NAN,
	    "the memory that was written compared with what was sent");
	return true;
}

static bool
measured_latency(struct measured *m)
{
	struct report_test t = {
		.gpu = -1, .peer = -1, .status = REPORT_OK, .name = "rdma_latency", .unit = "us"
	};
	struct gpu_times times = { .n = 0 };
	const int keep = (int)(sizeof(times.s) / sizeof(times.s[0])),
		  group = PEER_RDMA_PINGS / keep;
	char theirs[200];
	bool ok, asked;
	double s;

	report_running(&m->run->report, -1, "rdma_latency", 15);
	asked = ok = measured_order(m, 'E', 0, &s) &&
		     peer_order(m->fd, 'L', (uint64_t)group * (uint64_t)keep);
	for (int i = 0; i < keep && ok; i++) {
		double best = INFINITY; /* of a few, as over TCP */

		for (int k = 0; k < group && ok; k++) {
			s = rdma_link_ping(m->l);
			ok = isfinite(s);
			best = fmin(best, s);
		}
		times.s[times.n++] = best;
	}
	if (asked &&
	    !ok) /* what the peer says of it comes all the same, and the next order after it */
		snprintf(m->why, sizeof(m->why), "%s", m->l->why);
	if (asked && !wire_outcome_recv(m->fd, &s, theirs, sizeof(theirs))) {
		snprintf(m->why, sizeof(m->why), "%.95s%s%.95s", ok ? "" : m->l->why,
		    ok ? "" : "; ", theirs);
		ok = false;
	}
	if (!ok) {
		report_test_none(
		    &m->run->report, "rdma_latency", -1, "us", REPORT_FAILED, "%.190s", m->why);
		return false;
	}
	gpu_rates(&times, 0.0, 1e6, &t);
	report_test(&m->run->report, &t);
	return true;
}

/* Both are ready: connect, and say over which way. False with why. */
static bool
measured_connect(struct measured *m, const struct rdma_end *peer)
{
	const bool ok = rdma_link_connect(m->l, peer);
	const double gbps = fmin(m->l->mine.gbps, peer->gbps);
	const int mtu = m->l->mine.mtu < peer->mtu ? m->l->mine.mtu : peer->mtu;
	bool theirs;
	double s;

	if (!wire_outcome_send(m->fd, ok, 0, m->l->why))
		return false;
	theirs = wire_outcome_recv(m->fd, &s, m->why, sizeof(m->why));
	if (!ok)
		snprintf(m->why, sizeof(m->why), "%s", m->l->why);
	if (!ok || !theirs)
		return false;
	report_check(&m->run->report, "rdma_path", -1, REPORT_OK, gbps,
	    "%s to %s at the peer, MTU %d, %s", m->l->mine.name, peer->name, 128 << mtu,
	    m->l->mine.layer == VERBS_LINK_ETHERNET ? "RoCE" : "InfiniBand");
	return true;
}

void
peer_rdma_measure(struct run *run, int fd)
{
	struct rdma_link l;
	struct measured m = { .run = run, .l = &l, .fd = fd, .why = "the connection broke" };
	enum rdma_state mine, theirs = RDMA_NONE;
	struct rdma_end peer;
	char theirs_why[WIRE_TEXT_N] = "";

	if (!measured_wanted(run))
		return;
	report_running(&run->report, -1, "rdma", 20);
	mine = rdma_link_open(&l, run->opts.sysroot, run->opts.rdma_device);
	if (mine == RDMA_READY)
		memcpy(rdma_link_out(&l), peer_bytes(), RDMA_AREA);
	if (!peer_order(fd, 'R', 0) || !wire_hello_send(fd, &l, mine) ||
	    !wire_hello_recv(fd, &peer, &theirs, theirs_why)) {
		measured_none(run, REPORT_FAILED, "the connection broke");
	} else if (mine != RDMA_READY || theirs != RDMA_READY) {
		/* a gang whose one side has none goes over TCP; a device that is there and does not
		 * work is a fault */
		if (mine != RDMA_READY)
			snprintf(m.why, sizeof(m.why), "%s", l.why);
		else
			snprintf(m.why, sizeof(m.why), "the peer: %s", theirs_why);
		if (mine == RDMA_NONE && theirs == RDMA_BROKEN)
			snprintf(m.why, sizeof(m.why), "the peer: %s", theirs_why);
		measured_none(run,
		    mine == RDMA_BROKEN || theirs == RDMA_BROKEN ? REPORT_FAILED : REPORT_SKIPPED,
		    m.why);
	} else if (!measured_connect(&m, &peer)) {
		measured_none(run, REPORT_FAILED, m.why);
	} else {
		/* after a failure the connection is dead: the rest is told why */
		bool ok = measured_latency(&m);

		for (int down = 0; down < 2; down++) {
			if (ok)
				ok = measured_rate(&m, down == 1);
			else
				report_test_none(&run->report,
				    down == 1 ? "rdma_recv" : "rdma_send", -1, "GB/s",
				    REPORT_FAILED, "%.190s", m.why);
		}
		(void)peer_order(fd, 'Z', 0);
	}
	rdma_link_close(&l);
}
