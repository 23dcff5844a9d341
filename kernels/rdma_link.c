#include "config.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/rdma_link.h"
#include "kernels/report.h"

#define RDMA_CHUNK ((uint64_t)256 << 10)
#define RDMA_WINDOW 32  /* writes under way: enough for the longest wire at 256 KiB each */
#define RDMA_WAIT_S 3.0 /* without a completion */
#define RDMA_MEM (2 * RDMA_AREA + 4096)

enum { RDMA_ID_WRITE = 1, RDMA_ID_SEND, RDMA_ID_RECV };

static bool
rdma_failed(struct rdma_link *l, const char *what, int code)
{
	snprintf(l->why, sizeof(l->why), "%s: %s: %s", l->mine.name, what,
	    strerror(code > 0 ? code : errno));
	return false;
}

uint8_t *
rdma_link_out(struct rdma_link *l)
{
	return l->mem;
}

uint8_t *
rdma_link_in(struct rdma_link *l)
{
	return l->mem + RDMA_AREA;
}

/* First line of a file about a port; "" if there is none. */
static void
rdma_sys(const char *sysroot, const char *dev, int port, const char *file, char *out, size_t n)
{
	char path[400];
	FILE *f;

	snprintf(path, sizeof(path), "%.200s/sys/class/infiniband/%.60s/ports/%d/%.60s",
	    sysroot != NULL ? sysroot : "", dev, port, file);
	out[0] = '\0';
	f = fopen(path, "re");
	if (f == NULL)
		return;
	if (fgets(out, (int)n, f) == NULL)
		out[0] = '\0';
	fclose(f);
	out[strcspn(out, "\n")] = '\0';
}

/* RoCE v2 can be routed, and an IPv4 address is what both ends of a cloud's network have;
 * InfiniBand uses the first. */
static void
rdma_gid(struct rdma_link *l, const char *sysroot, const char *dev, const struct verbs_port *p)
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };
	int second = -1;
	char file[40], type[24];
	uint8_t gid[16];

	l->gid_index = 0;
	for (int i = 0; p->link_layer == VERBS_LINK_ETHERNET && i < p->gids && i < 64; i++) {
		snprintf(file, sizeof(file), "gid_attrs/types/%d", i);
		rdma_sys(sysroot, dev, l->port, file, type, sizeof(type));
		if (strcmp(type, "RoCE v2") != 0 || l->api.gid(l->ctx, l->port, i, gid) != 0)
			continue;
		second = second < 0 ? i : second;
		if (memcmp(gid, mapped, sizeof(mapped)) == 0) {
			second = i;
			break;
		}
	}
	if (second >= 0)
		l->gid_index = second;
	if (l->api.gid(l->ctx, l->port, l->gid_index, l->mine.gid) != 0)
		memset(l->mine.gid, 0, sizeof(l->mine.gid));
}

/* A port of this device that is up becomes the link's. */
static bool
rdma_port_up(struct rdma_link *l, const char *sysroot, const char *dev)
{
	for (int i = 1; i <= 4; i++) {
		struct verbs_port p;
		char rate[60], *end;

		memset(&p, 0, sizeof(p));
		if (l->api.port(l->ctx, (uint8_t)i, &p) != 0)
			return false;
		if (p.state != VERBS_PORT_ACTIVE)
			continue;
		l->port = (uint8_t)i;
		snprintf(
		    l->mine.name, sizeof(l->mine.name), "%.25s port %u", dev, (unsigned)l->port);
		l->mine.lid = p.lid;
		l->mine.mtu = (uint8_t)p.active_mtu;
		l->mine.layer = p.link_layer;
		rdma_sys(sysroot, dev, i, "rate", rate, sizeof(rate));
		l->mine.gbps = strtod(rate, &end);
		if (end == rate)
			l->mine.gbps = (double)NAN;
		rdma_gid(l, sysroot, dev, &p);
		return true;
	}
	return false;
}

/* Protection domain, memory, queues. errno of the queue pair tells whether the device has such
 * connections at all. */
static enum rdma_state
rdma_queues(struct rdma_link *l)
{
	struct verbs_qp_init init = { .cap = { 128, 16, 1, 1, 0 }, .type = VERBS_QP_RC };
	struct verbs_qp_attr a;

	l->pd = l->api.pd_alloc(l->ctx);
	if (l->pd == NULL)
		return rdma_failed(l, "no protection domain", 0), RDMA_BROKEN;
	if (posix_memalign((void **)&l->mem, 4096, RDMA_MEM) != 0)
		return rdma_failed(l, "memory", ENOMEM), RDMA_BROKEN;
	memset(l->mem, 0, RDMA_MEM);
	l->mr = l->api.mr_reg(l->pd, l->mem, RDMA_MEM, VERBS_LOCAL_WRITE | VERBS_REMOTE_WRITE);
	if (l->mr == NULL)
		return rdma_failed(l,
			   "memory cannot be registered (ulimit -l is the limit of locked memory)",
			   0),
		       RDMA_BROKEN;
	l->cq = l->api.cq_create(l->ctx, 256, NULL, NULL, 0);
	if (l->cq == NULL)
		return rdma_failed(l, "no completion queue", 0), RDMA_BROKEN;
	init.send_cq = init.recv_cq = l->cq;
	errno = 0;
	l->qp = l->api.qp_create(l->pd, &init);
	if (l->qp == NULL && (errno == EOPNOTSUPP || errno == ENOSYS)) {
		snprintf(l->why, sizeof(l->why), "%s has no reliable connections", l->mine.name);
		return RDMA_NONE;
	}
	if (l->qp == NULL)
		return rdma_failed(l, "no queue pair", 0), RDMA_BROKEN;
	memset(&a, 0, sizeof(a));
	a.state = VERBS_INIT;
	a.port = l->port;
	a.access = VERBS_LOCAL_WRITE | VERBS_REMOTE_WRITE;
	errno = 0;
	if (l->api.qp_modify(l->qp, &a,
		VERBS_SET_STATE | VERBS_SET_PKEY | VERBS_SET_PORT | VERBS_SET_ACCESS) != 0)
		return rdma_failed(l, "the queue pair cannot be initialised", 0), RDMA_BROKEN;
	l->mine.qpn = l->qp->num;
	l->mine.psn = l->qp->num * 2654435761u & 0xffffff;
	l->mine.rkey = l->mr->rkey;
	l->mine.addr = (uint64_t)(uintptr_t)rdma_link_in(l);
	return RDMA_READY;
}

enum rdma_state
rdma_link_open(struct rdma_link *l, const char *sysroot, const char *device)
{
	int n = 0, seen = 0;
	void **list;

	memset(l, 0, sizeof(*l));
	l->mine.gbps = (double)NAN;
	if (rdma_api_open(&l->api, l->why, sizeof(l->why)) != 0)
		return RDMA_NONE;
	list = l->api.device_list(&n);
	for (int i = 0; list != NULL && i < n && l->port == 0; i++) {
		const char *name = l->api.device_name(list[i]);

		if (device != NULL && strcmp(device, name) != 0)
			continue;
		seen++;
		snprintf(l->mine.name, sizeof(l->mine.name), "%.30s", name);
		l->ctx = l->api.open(list[i]);
		if (l->ctx == NULL) {
			(void)rdma_failed(l, "cannot be opened", 0);
		} else if (!rdma_port_up(l, sysroot, name)) {
			snprintf(l->why, sizeof(l->why), "%.30s: no port is up", name);
			(void)l->api.close(l->ctx);
			l->ctx = NULL;
		}
	}
	if (list != NULL)
		l->api.device_list_free(list);
	if (seen == 0) {
		snprintf(l->why, sizeof(l->why),
		    device != NULL ? "there is no RDMA device %.60s" : "there is no RDMA device",
		    device);
		return device != NULL ? RDMA_BROKEN : RDMA_NONE;
	}
	return l->port == 0 ? RDMA_BROKEN : rdma_queues(l);
}

void
rdma_link_close(struct rdma_link *l)
{
	if (l->qp != NULL)
		(void)l->api.qp_free(l->qp);
	if (l->cq != NULL)
		(void)l->api.cq_free(l->cq);
	if (l->mr != NULL)
		(void)l->api.mr_free(l->mr);
	if (l->pd != NULL)
		(void)l->api.pd_free(l->pd);
	if (l->ctx != NULL)
		(void)l->api.close(l->ctx);
	free(l->mem);
	memset(l, 0, sizeof(*l));
}

bool
rdma_link_connect(struct rdma_link *l, const struct rdma_end *peer)
{
	const int mtu = peer->mtu < l->mine.mtu ? peer->mtu : l->mine.mtu;
	struct verbs_qp_attr a;

	l->peer = *peer;
	if (mtu < VERBS_MTU_256 || peer->mtu > VERBS_MTU_4096 || l->mine.mtu > VERBS_MTU_4096) {
		snprintf(l->why, sizeof(l->why),
		    "%s and the peer's %s have no MTU in common (%d and %d of 1 to 5)",
		    l->mine.name, peer->name, l->mine.mtu, peer->mtu);
		return false;
	}
	if (peer->layer != l->mine.layer) {
		snprintf(l->why, sizeof(l->why), "%s and the peer's %s are networks of two kinds",
		    l->mine.name, peer->name);
		return false;
	}
	memset(&a, 0, sizeof(a));
	a.state = VERBS_RTR;
	a.mtu = mtu;
	a.dest_qpn = peer->qpn;
	a.rq_psn = peer->psn;
	a.dest_rd_atomic = 1;
	a.rnr_timer = 12;
	a.path.dlid = peer->lid;
	a.path.port = l->port;
	a.path.is_global = l->mine.layer == VERBS_LINK_ETHERNET || peer->lid == 0;
	if (a.path.is_global) {
		memcpy(a.path.dgid, peer->gid, sizeof(a.path.dgid));
		a.path.sgid_index = (uint8_t)l->gid_index;
		a.path.hop_limit = 64;
	}
	errno = 0;
	if (l->api.qp_modify(l->qp, &a,
		VERBS_SET_STATE | VERBS_SET_AV | VERBS_SET_MTU | VERBS_SET_DEST_QPN |
		    VERBS_SET_RQ_PSN | VERBS_SET_DEST_RD_ATOMIC | VERBS_SET_RNR_TIMER) != 0)
		return rdma_failed(l, "not ready to receive", 0);
	memset(&a, 0, sizeof(a));
	a.state = VERBS_RTS;
	a.timeout = 14;
	a.retry = 7;
	a.rnr_retry = 6;
	a.sq_psn = l->mine.psn;
	a.rd_atomic = 1;
	if (l->api.qp_modify(l->qp, &a,
		VERBS_SET_STATE | VERBS_SET_TIMEOUT | VERBS_SET_RETRY | VERBS_SET_RNR_RETRY |
		    VERBS_SET_SQ_PSN | VERBS_SET_RD_ATOMIC) != 0)
		return rdma_failed(l, "not ready to send", 0);
	return true;
}

/* Waits for one completion; its id, or 0 and why. */
static uint64_t
rdma_wait(struct rdma_link *l)
{
	const double until = report_now() + RDMA_WAIT_S;
	struct verbs_done d;
	int n;

	do {
		n = l->ctx->ops.poll(l->cq, 1, &d);
		if (n < 0) {
			snprintf(l->why, sizeof(l->why), "%s: the completion queue cannot be read",
			    l->mine.name);
			return 0;
		}
		if (n > 0 && d.status != 0) {
			snprintf(l->why, sizeof(l->why),
			    "%s: a transfer ended with status %d: %.80s", l->mine.name, d.status,
			    l->api.status_text(d.status));
			return 0;
		}
		if (n > 0)
			return d.id;
	} while (report_now() < until);
	snprintf(l->why, sizeof(l->why), "%s: no transfer was completed within %g s", l->mine.name,
	    RDMA_WAIT_S);
	return 0;
}

static bool
rdma_post(struct rdma_link *l, int opcode, uint64_t at, uint32_t len)
{
	struct verbs_sge sge = {
		.addr = (uint64_t)(uintptr_t)(l->mem + at), .length = len, .lkey = l->mr->lkey
	};
	struct verbs_send w, *bad = NULL;
	int rc;

	memset(&w, 0, sizeof(w));
	w.id = opcode == VERBS_WR_SEND ? RDMA_ID_SEND : RDMA_ID_WRITE;
	w.sge = &sge;
	w.n_sge = 1;
	w.opcode = opcode;
	w.flags = VERBS_SIGNALED;
	w.to.write.remote_addr = l->peer.addr + at;
	w.to.write.rkey = l->peer.rkey;
	errno = 0;
	rc = l->ctx->ops.post_send(l->qp, &w, &bad);
	return rc == 0 || rdma_failed(l, "nothing can be sent", rc);
}

double
rdma_link_write(struct rdma_link *l, uint64_t bytes)
{
	const uint64_t n = (bytes + RDMA_CHUNK - 1) / RDMA_CHUNK;
	const double from = report_now();
	uint64_t posted = 0;

	for (uint64_t done = 0; done < n; done++) {
		for (; posted < n && posted - done < RDMA_WINDOW; posted++)
			if (!rdma_post(
				l, VERBS_WR_WRITE, posted * RDMA_CHUNK % RDMA_AREA, RDMA_CHUNK))
				return (double)NAN;
		if (rdma_wait(l) == 0)
			return (double)NAN;
	}
	return report_now() - from;
}

bool
rdma_link_expect(struct rdma_link *l)
{
	struct verbs_sge sge = { .addr = (uint64_t)(uintptr_t)(l->mem + 2 * RDMA_AREA + RDMA_PING),
		.length = RDMA_PING,
		.lkey = l->mr->lkey };
	struct verbs_recv w = { .id = RDMA_ID_RECV, .sge = &sge, .n_sge = 1 }, *bad = NULL;
	int rc;

	errno = 0;
	rc = l->ctx->ops.post_recv(l->qp, &w, &bad);
	return rc == 0 || rdma_failed(l, "nothing can be received", rc);
}

double
rdma_link_ping(struct rdma_link *l)
{
	bool sent = false, got = false;
	double from;

	if (!rdma_link_expect(l))
		return (double)NAN;
	from = report_now();
	if (!rdma_post(l, VERBS_WR_SEND, 2 * RDMA_AREA, RDMA_PING))
		return (double)NAN;
	while (!sent || !got) {
		const uint64_t id = rdma_wait(l);

		if (id == 0)
			return (double)NAN;
		sent = sent || id == RDMA_ID_SEND;
		got = got || id == RDMA_ID_RECV;
	}
	return report_now() - from;
}

bool
rdma_link_pong(struct rdma_link *l, uint64_t n)
{
	uint64_t got = 0, sent = 0;

	while (sent < n) {
		const uint64_t id = rdma_wait(l);

		if (id == 0)
			return false;
		sent += id == RDMA_ID_SEND;
		if (id != RDMA_ID_RECV)
			continue;
		got++;
		if (got < n && !rdma_link_expect(l))
			return false;
		if (!rdma_post(l, VERBS_WR_SEND, 2 * RDMA_AREA, RDMA_PING))
			return false;
	}
	return true;
}
