#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "kernels/peer.h"
#include "kernels/sha.h"

/*
 * A connection begins with a proof from both sides that they know the token, which itself never
 * goes over the wire: server: 16 random bytes S;  client: 16 random bytes C, HMAC(token, "c" S C);
 * server: HMAC(token, "s" C S). Then the client orders, in 9 bytes: what, and how many bytes
 * (little-endian). 'U': it sends them, one byte comes back when all are there and right; 'D': they
 * come; 'P': it sends 64 bytes and the same come back, so many times; 'R': RDMA, see peer_rdma.c;
 * 'Q': the server ends.
 */
#define PEER_RING ((size_t)1 << 20)
#define PEER_RUNS 5
#define PEER_RUN_S 0.5
#define PEER_RUN_QUICK_S 0.1
#define PEER_PINGS 2000
#define PEER_STREAMS_MAX 32
#define PEER_WAIT_S 10

static uint8_t *peer_ring; /* the same bytes on both sides; a stream is this over and over */

static bool
peer_ring_make(void)
{
	uint64_t x = 0x9e3779b97f4a7c15ull;

	peer_ring = malloc(PEER_RING);
	for (size_t i = 0; peer_ring != NULL && i < PEER_RING; i++) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		peer_ring[i] = (uint8_t)x;
	}
	return peer_ring != NULL;
}

int
peer_token(const char *file, char *out)
{
	const char *env = getenv("BERTH_PROBE_TOKEN");
	FILE *f = file != NULL ? fopen(file, "re") : NULL;
	bool read = false;

	out[0] = '\0';
	if (f != NULL) {
		read = fgets(out, 256, f) != NULL;
		fclose(f);
	} else if (file == NULL && env != NULL) {
		snprintf(out, 256, "%s", env);
		read = true;
	}
	out[strcspn(out, "\r\n")] = '\0';
	if (file != NULL && !read)
		fprintf(stderr, "berth-probe: %s: %s\n", file,
		    f == NULL ? strerror(errno) : "no token");
	else if (strlen(out) < 16)
		fprintf(stderr, "berth-probe: both sides need a token of at least 16 characters, "
				"in --token-file or BERTH_PROBE_TOKEN\n");
	return strlen(out) >= 16 ? 0 : -1;
}

const uint8_t *
peer_bytes(void)
{
	return peer_ring;
}

bool
peer_all(int fd, void *buf, size_t n, bool out)
{
	uint8_t *p = buf;

	while (n > 0) {
		const ssize_t got = out ? send(fd, p, n, MSG_NOSIGNAL) : recv(fd, p, n, 0);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return false;
		p += got;
		n -= (size_t)got;
	}
	return true;
}

static void
peer_options(int fd)
{
	const struct timeval t = { .tv_sec = PEER_WAIT_S };
	const int one = 1;

	(void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &t, sizeof(t));
	(void)setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &t, sizeof(t));
	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
}

static bool
peer_random(uint8_t out[16])
{
	const int fd = open("/dev/urandom", O_RDONLY | O_CLOEXEC);
	const bool ok = fd >= 0 && read(fd, out, 16) == 16;

	if (fd >= 0)
		close(fd);
	return ok;
}

static void
peer_proof(const char *token, char who, const uint8_t a[16], const uint8_t b[16], uint8_t out[32])
{
	uint8_t text[33];

	text[0] = (uint8_t)who;
	memcpy(text + 1, a, 16);
	memcpy(text + 17, b, 16);
	sha_hmac(token, strlen(token), text, sizeof(text), out);
}

/* In time that does not depend on where they differ. */
static bool
peer_same(const uint8_t a[32], const uint8_t b[32])
{
	unsigned d = 0;

	for (int i = 0; i < 32; i++)
		d |= a[i] ^ b[i];
	return d == 0;
}

static bool
peer_hello(int fd, const char *token, bool server)
{
	uint8_t s[16], c[48], want[32], got[32];

	if (server) {
		if (!peer_random(s) || !peer_all(fd, s, 16, true) || !peer_all(fd, c, 48, false))
			return false;
		peer_proof(token, 'c', s, c, want);
		if (!peer_same(want, c + 16))
			return false;
		peer_proof(token, 's', c, s, want);
		return peer_all(fd, want, 32, true);
	}
	if (!peer_all(fd, s, 16, false) || !peer_random(c))
		return false;
	peer_proof(token, 'c', s, c, c + 16);
	peer_proof(token, 's', c, s, want);
	return peer_all(fd, c, 48, true) && peer_all(fd, got, 32, false) && peer_same(want, got);
}

/* The stream in or out; in: every byte is compared. */
static bool
peer_stream(int fd, uint64_t n, bool out, bool *wrong)
{
	uint8_t *buf = out ? NULL : malloc(PEER_RING);
	uint64_t done = 0;

	if (!out && buf == NULL)
		return false;
	while (done < n) {
		const size_t at = (size_t)(done % PEER_RING);
		size_t len = PEER_RING - at;
		ssize_t got;

		len = len < n - done ? len : (size_t)(n - done);
		got = out ? send(fd, peer_ring + at, len, MSG_NOSIGNAL) : recv(fd, buf, len, 0);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			break;
		if (!out && memcmp(buf, peer_ring + at, (size_t)got) != 0)
			*wrong = true;
		done += (uint64_t)got;
	}
	free(buf);
	return done == n;
}

bool
peer_order(int fd, char what, uint64_t n)
{
	uint8_t o[9] = { (uint8_t)what };

	for (int i = 0; i < 8; i++)
		o[1 + i] = (uint8_t)(n >> 8 * i);
	return peer_all(fd, o, sizeof(o), true);
}

bool
peer_order_recv(int fd, char *what, uint64_t *n)
{
	uint8_t o[9];

	if (!peer_all(fd, o, sizeof(o), false))
		return false;
	*what = (char)o[0];
	*n = 0;
	for (int i = 0; i < 8; i++)
		*n |= (uint64_t)o[1 + i] << 8 * i;
	return true;
}

struct peer_served {
	struct run *run;
	int fd;
	volatile bool *over, *refused;
};

/* One order; false: the connection is done. */
static bool
peer_obey(struct peer_served *s)
{
	uint8_t ping[64], ack;
	bool wrong = false;
	uint64_t n;
	char what;

	if (!peer_order_recv(s->fd, &what, &n))
		return false;
	switch (what) {
	case 'U':
		if (!peer_stream(s->fd, n, false, &wrong))
			return false;
		ack = wrong ? 'x' : 'k';
		return peer_all(s->fd, &ack, 1, true);
	case 'D':
		return peer_stream(s->fd, n, true, &wrong);
	case 'P':
		for (; n > 0; n--)
			if (!peer_all(s->fd, ping, sizeof(ping), false) ||
			    !peer_all(s->fd, ping, sizeof(ping), true))
				return false;
		return true;
	case 'R':
		return peer_rdma_serve(s->run, s->fd);
	case 'Q':
		*s->over = true;
		return false;
	default:
		return false;
	}
}

static void *
peer_serve_one(void *arg)
{
	struct peer_served *s = arg;

	peer_options(s->fd);
	if (peer_hello(s->fd, s->run->opts.token, true))
		while (peer_obey(s))
			;
	else
		*s->refused = true;
	close(s->fd);
	free(s);
	return NULL;
}

/* "HOST:PORT", "[::1]:PORT" or PORT alone. A socket that listens or is connected; -1 and why. */
static int
peer_socket(const char *where, bool listens, char *why, size_t why_n)
{
	const struct addrinfo hints = { .ai_socktype = SOCK_STREAM,
		.ai_flags = listens ? AI_PASSIVE : 0 };
	const char *colon = strrchr(where, ':');
	struct addrinfo *list = NULL;
	char host[256] = "";
	int fd = -1, rc;

	if (colon != NULL)
		snprintf(host, sizeof(host), "%.*s", (int)(colon - where), where);
	if (host[0] == '[' && host[strlen(host) - 1] == ']') {
		host[strlen(host) - 1] = '\0';
		memmove(host, host + 1, strlen(host));
	}
	rc = getaddrinfo(
	    host[0] != '\0' ? host : NULL, colon != NULL ? colon + 1 : where, &hints, &list);
	if (rc != 0)
		snprintf(why, why_n, "%s: %s", where, gai_strerror(rc));
	for (struct addrinfo *a = list; rc == 0 && a != NULL && fd < 0; a = a->ai_next) {
		const int one = 1;

		fd = socket(a->ai_family, a->ai_socktype | SOCK_CLOEXEC, a->ai_protocol);
		if (fd < 0)
			continue;
		peer_options(fd);
		if (listens)
			(void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
		if (listens ? bind(fd, a->ai_addr, a->ai_addrlen) != 0 || listen(fd, 64) != 0
			    : connect(fd, a->ai_addr, a->ai_addrlen) != 0) {
			snprintf(why, why_n, "%s: %s", where, strerror(errno));
			close(fd);
			fd = -1;
		}
	}
	if (list != NULL)
		freeaddrinfo(list);
	return fd;
}

int
peer_serve(struct run *run)
{
	const double until = report_now() + run->opts.cap_s;
	static volatile bool over, refused; /* threads may outlive this function */
	char why[320] = "";
	int fd = peer_socket(run->opts.serve, true, why, sizeof(why));

	if (fd < 0 || !peer_ring_make()) {
		fprintf(stderr, "berth-probe: %s\n", fd < 0 ? why : "out of memory");
		return 1;
	}
	while (!over && report_now() < until) {
		struct pollfd p = { .fd = fd, .events = POLLIN };
		struct peer_served *s;
		pthread_t t;
		int got;

		if (poll(&p, 1, 100) <= 0 || (got = accept(fd, NULL, NULL)) < 0)
			continue;
		s = malloc(sizeof(*s));
		if (s != NULL)
			*s = (struct peer_served){
				.run = run, .fd = got, .over = &over, .refused = &refused
			};
		if (s == NULL || pthread_create(&t, NULL, peer_serve_one, s) != 0) {
			close(got);
			free(s);
		} else {
			pthread_detach(t);
		}
	}
	close(fd);
	if (!over)
		fprintf(stderr, "berth-probe: no peer was served within %g s%s\n", run->opts.cap_s,
		    refused ? "; one came that did not know the token" : "");
	return over ? 0 : 5;
}

struct peer_link {
	int fd;
	bool down, ok, wrong;
	uint64_t n;
	pthread_t thread;
};

static void *
peer_work(void *arg)
{
	struct peer_link *l = arg;
	uint8_t ack = 0;

	l->ok = peer_order(l->fd, l->down ? 'D' : 'U', l->n) &&
		peer_stream(l->fd, l->n, !l->down, &l->wrong);
	if (l->ok && !l->down) {
		l->ok = peer_all(l->fd, &ack, 1, false);
		l->wrong = ack != 'k';
	}
	return NULL;
}

/* All streams at once; seconds, or NaN. */
static double
peer_burst(struct peer_link *l, int n, bool down, uint64_t bytes, bool *wrong)
{
	const double from = report_now();
	bool ok = true;
	int started = 0;

	for (; started < n; started++) {
		l[started].down = down;
		l[started].n = bytes;
		l[started].ok = l[started].wrong = false;
		if (pthread_create(&l[started].thread, NULL, peer_work, &l[started]) != 0)
			break;
	}
	for (int i = 0; i < started; i++) {
		pthread_join(l[i].thread, NULL);
		ok = ok && l[i].ok;
		*wrong = *wrong || l[i].wrong;
	}
	return ok && started == n ? report_now() - from : (double)NAN;
}

double
peer_run_s(const struct run *run)
{
	return run->opts.level == LEVEL_QUICK ? PEER_RUN_QUICK_S : PEER_RUN_S;
}

static void
peer_rate(struct run *run, struct peer_link *l, int n, bool down)
{
	const double run_s = peer_run_s(run);
	const char *name = down ? "tcp_recv" : "tcp_send";
	struct report_test t = { .gpu = -1, .peer = -1 };
	struct gpu_times times = { .n = 0 };
	uint64_t bytes = (uint64_t)4 << 20;
	bool wrong = false;
	double s;

	report_running(&run->report, -1, name, 15);
	for (int i = 0; i < 6;
	     i++) { /* so much that a run takes long enough; slow starts are behind it then */
		s = peer_burst(l, n, down, bytes, &wrong);
		if (isnan(s) || s >= run_s / 2 || bytes >= (uint64_t)8 << 30)
			break;
		bytes = (uint64_t)((double)bytes * fmin(16, run_s / fmax(s, 1e-4)));
	}
	for (int i = 0; i < PEER_RUNS && isfinite(s); i++) {
		s = peer_burst(l, n, down, bytes, &wrong);
		if (isfinite(s))
			times.s[times.n++] = s;
	}
	if (times.n < PEER_RUNS || wrong) {
		report_test_none(&run->report, name, -1, "GB/s", REPORT_FAILED, "%s",
		    wrong ? "what arrived is wrong" : "the connection broke");
		return;
	}
	snprintf(t.name, sizeof(t.name), "%s", name);
	snprintf(t.unit, sizeof(t.unit), "GB/s");
	gpu_rates(&times, (double)bytes * n, 1e-9, &t);
	t.status = REPORT_OK;
	report_test(&run->report, &t);
	report_check(
	    &run->report, name, -1, REPORT_OK, (double)n, "every byte of %d streams compared", n);
}

static void
peer_latency(struct run *run, int fd)
{
	struct report_test t = { .gpu = -1, .peer = -1, .status = REPORT_OK };
	struct gpu_times times = { .n = 0 };
	const int keep = (int)(sizeof(times.s) / sizeof(times.s[0])), group = PEER_PINGS / keep;
	uint8_t ping[64] = { 1 };
	bool ok;

	report_running(&run->report, -1, "tcp_latency", 15);
	ok = peer_order(fd, 'P', (uint64_t)group * (uint64_t)keep);
	for (int i = 0; i < keep && ok; i++) {
		double best = INFINITY; /* of a few: a thread that was put to sleep is no latency of
					   the network */

		for (int k = 0; k < group && ok; k++) {
			const double from = report_now();

			ok = peer_all(fd, ping, sizeof(ping), true) &&
			     peer_all(fd, ping, sizeof(ping), false);
			best = fmin(best, report_now() - from);
		}
		times.s[times.n++] = best;
	}
	if (!ok) {
		report_test_none(
		    &run->report, "tcp_latency", -1, "us", REPORT_FAILED, "the connection broke");
		return;
	}
	snprintf(t.name, sizeof(t.name), "tcp_latency");
	snprintf(t.unit, sizeof(t.unit), "us");
	gpu_rates(&times, 0.0, 1e6, &t);
	report_test(&run->report, &t);
}

void
peer_measure(struct run *run)
{
	struct peer_link l[PEER_STREAMS_MAX];
	char why[320] = "out of memory";
	const int n = run->opts.streams;
	int open = 0;

	rdma_ports(run);
	if (peer_ring_make()) {
		for (; open < n; open++) {
			l[open] = (struct peer_link){ .fd = peer_socket(run->opts.peer, false, why,
							  sizeof(why)) };
			if (l[open].fd < 0)
				break;
			if (!peer_hello(l[open].fd, run->opts.token, false)) {
				close(l[open].fd);
				snprintf(why, sizeof(why),
				    "%.200s: the peer does not know the token, or is no "
				    "berth-probe",
				    run->opts.peer);
				break;
			}
		}
	}
	if (open < n) {
		report_error(&run->report, "peer", 0, "%s", why);
		report_test_none(
		    &run->report, "tcp_send", -1, "GB/s", REPORT_FAILED, "%.190s", why);
	} else {
		if (suite_wants_name(&run->opts, "tcp_latency"))
			peer_latency(run, l[0].fd);
		if (suite_wants_name(&run->opts, "tcp_send"))
			peer_rate(run, l, n, false);
		if (suite_wants_name(&run->opts, "tcp_recv"))
			peer_rate(run, l, n, true);
		peer_rdma_measure(run, l[0].fd);
		(void)peer_order(l[0].fd, 'Q', 0);
	}
	for (int i = 0; i < open; i++)
		close(l[i].fd);
	report_running(&run->report, -1, NULL, 0);
}
