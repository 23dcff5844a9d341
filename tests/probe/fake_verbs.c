/*
 * A libibverbs.so.1 for tests: one device whose wire is a socket between two processes of this machine. Writes land in
 * memory that was registered, or end as the real ones do. BERTH_FAKE:
 *   ib=DEVICES ib_port=STATE ib_mtu=N ib_layer=N  ib_reg=ERRNO ib_rc=ERRNO ib_rtr=ERRNO (these calls fail)
 *   ib_fail=STATUS (each transfer ends so)  ib_hang=1 (no transfer ends)  ib_flip=1 (a byte arrives wrong)
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "kernels/rdma_api.h"
#include "tests/probe/fake.h"

#define EXPORT __attribute__((visibility("default")))
#define CQ_MAX 1024

struct fake_cq {
	struct verbs_cq cq;
	pthread_mutex_t lock;
	struct verbs_done ring[CQ_MAX];
	unsigned head, tail;
};

struct fake_qp {
	struct verbs_qp qp;
	int listener, wire;
	pthread_mutex_t lock;
	struct verbs_recv recv[16];
	struct verbs_sge sge[16];
	unsigned posted, taken;
};

struct fake_head { uint64_t addr; uint32_t opcode, rkey, len, pad; };

static struct verbs_context context;
static struct verbs_mr regions[8];
static unsigned n_regions;

static int
all(int fd, void *buf, size_t n, int out)
{
	char *p = buf;

	while (n > 0) {
		const ssize_t k = out ? send(fd, p, n, MSG_NOSIGNAL) : recv(fd, p, n, 0);

		if (k <= 0)
			return -1;
		p += k;
		n -= (size_t)k;
	}
	return 0;
}

static void
done(struct verbs_cq *c, uint64_t id, int status, uint32_t bytes)
{
	struct fake_cq *q = (struct fake_cq *)c;

	if (fake_number("ib_hang", -1, 0) != 0)
		return;
	pthread_mutex_lock(&q->lock);
	q->ring[q->head++ % CQ_MAX] = (struct verbs_done){ .id = id, .status = status, .bytes = bytes };
	pthread_mutex_unlock(&q->lock);
}

static struct sockaddr_un
address(uint32_t qpn, socklen_t *n)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	const int k = snprintf(a.sun_path + 1, sizeof(a.sun_path) - 1, "berth-fake-verbs-%u", qpn);

	*n = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)k);
	return a;
}

/* Where a message may lie: a region that was registered under that key; NULL: none. */
static void *
target(const struct fake_head *h)
{
	for (unsigned i = 0; i < n_regions; i++) {
		const uint64_t from = (uint64_t)(uintptr_t)regions[i].addr;

		if (h->rkey == regions[i].rkey && h->addr >= from && h->addr + h->len <= from + regions[i].length)
			return (void *)(uintptr_t)h->addr;
	}
	return NULL;
}

/* A message for a receive that was posted; waits a moment for one, as the hardware tries again. */
static void *
received(struct fake_qp *q, struct verbs_recv *w)
{
	for (int i = 0; i < 2000; i++) {
		pthread_mutex_lock(&q->lock);
		if (q->taken < q->posted) {
			const unsigned k = q->taken++ % 16;

			*w = q->recv[k];
			pthread_mutex_unlock(&q->lock);
			return (void *)(uintptr_t)q->sge[k].addr;
		}
		pthread_mutex_unlock(&q->lock);
		usleep(500);
	}
	return NULL;
}

static void *
receiver(void *arg)
{
	struct fake_qp *q = arg;
	struct fake_head h;
	static char waste[1 << 20];
	const int fd = accept(q->listener, NULL, NULL);

	while (fd >= 0 && all(fd, &h, sizeof(h), 0) == 0 && h.len <= sizeof(waste)) {
		struct verbs_recv w = { 0 };
		void *to = h.opcode == VERBS_WR_WRITE ? target(&h) : received(q, &w);
		int32_t status = to != NULL ? 0 : h.opcode == VERBS_WR_WRITE ? 10 : 13;

		if (all(fd, to != NULL ? to : waste, h.len, 0) != 0)
			break;
		if (to != NULL && h.opcode == VERBS_WR_WRITE && fake_number("ib_flip", -1, 0) != 0)
			((unsigned char *)to)[h.len / 2] ^= 16;
		if (to != NULL && h.opcode == VERBS_WR_SEND)
			done(q->qp.recv_cq, w.id, 0, h.len);
		if (all(fd, &status, sizeof(status), 1) != 0)
			break;
	}
	if (fd >= 0)
		close(fd);
	return NULL;
}

static int
post_send(struct verbs_qp *qp, struct verbs_send *w, struct verbs_send **bad)
{
	struct fake_qp *q = (struct fake_qp *)qp;
	struct fake_head h = { .addr = w->to.write.remote_addr, .opcode = (uint32_t)w->opcode, .rkey = w->to.write.rkey,
		.len = w->sge->length };
	int32_t status = (int32_t)fake_number("ib_fail", -1, 0);

	*bad = NULL;
	if (status == 0 && (all(q->wire, &h, sizeof(h), 1) != 0 ||
	    all(q->wire, (void *)(uintptr_t)w->sge->addr, h.len, 1) != 0 || all(q->wire, &status, sizeof(status), 0) != 0))
		status = 12;
	done(qp->send_cq, w->id, status, h.len);
	return 0;
}

static int
post_recv(struct verbs_qp *qp, struct verbs_recv *w, struct verbs_recv **bad)
{
	struct fake_qp *q = (struct fake_qp *)qp;

	*bad = NULL;
	pthread_mutex_lock(&q->lock);
	q->recv[q->posted % 16] = *w;
	q->sge[q->posted++ % 16] = *w->sge;
	pthread_mutex_unlock(&q->lock);
	return 0;
}

static int
poll_cq(struct verbs_cq *c, int n, struct verbs_done *out)
{
	struct fake_cq *q = (struct fake_cq *)c;
	int k = 0;

	pthread_mutex_lock(&q->lock);
	while (k < n && q->tail != q->head)
		out[k++] = q->ring[q->tail++ % CQ_MAX];
	pthread_mutex_unlock(&q->lock);
	if (k == 0)
		usleep(1);
	return k;
}

EXPORT void **
ibv_get_device_list(int *n)
{
	static void *list[9];

	*n = (int)fake_number("ib", -1, 1);
	memset(list, 0, sizeof(list));
	for (int i = 0; i < *n && i < 8; i++)
		list[i] = &context;
	return list;
}

EXPORT void ibv_free_device_list(void **list) { (void)list; }
EXPORT const char *ibv_get_device_name(void *d) { (void)d; return "fake_0"; }

EXPORT struct verbs_context *
ibv_open_device(void *d)
{
	(void)d;
	context.ops.poll = poll_cq;
	context.ops.post_send = post_send;
	context.ops.post_recv = post_recv;
	return &context;
}

EXPORT int ibv_close_device(struct verbs_context *c) { (void)c; return 0; }

EXPORT int
ibv_query_port(struct verbs_context *c, uint8_t port, struct verbs_port *p)
{
	(void)c;
	if (port != 1)
		return EINVAL;
	p->state = (int)fake_number("ib_port", -1, 4);
	p->active_mtu = (int)fake_number("ib_mtu", -1, 5);
	p->link_layer = (uint8_t)fake_number("ib_layer", -1, 1);
	p->lid = 7;
	p->gids = 1;
	return 0;
}

EXPORT int
ibv_query_gid(struct verbs_context *c, uint8_t port, int i, uint8_t *gid)
{
	(void)c;
	(void)port;
	memset(gid, 0x20 + i, 16);
	return 0;
}

EXPORT void *ibv_alloc_pd(struct verbs_context *c) { return c; }
EXPORT int ibv_dealloc_pd(void *p) { (void)p; return 0; }

EXPORT struct verbs_mr *
ibv_reg_mr(void *pd, void *addr, size_t n, int access)
{
	struct verbs_mr *m = &regions[n_regions];
	(void)pd;
	(void)access;

	errno = (int)fake_number("ib_reg", -1, 0);
	if (errno != 0 || n_regions == 8)
		return NULL;
	m->addr = addr;
	m->length = n;
	m->lkey = m->rkey = 0x1000 + (uint32_t)getpid() + n_regions;
	n_regions++;
	return m;
}

EXPORT int ibv_dereg_mr(struct verbs_mr *m) { m->length = 0; return 0; }

EXPORT struct verbs_cq *
ibv_create_cq(struct verbs_context *c, int n, void *user, void *channel, int vector)
{
	struct fake_cq *q = calloc(1, sizeof(*q));
	(void)n;
	(void)user;
	(void)channel;
	(void)vector;

	if (q == NULL)
		return NULL;
	q->cq.context = c;
	pthread_mutex_init(&q->lock, NULL);
	return &q->cq;
}

EXPORT int ibv_destroy_cq(struct verbs_cq *c) { free(c); return 0; }

EXPORT struct verbs_qp *
ibv_create_qp(void *pd, struct verbs_qp_init *init)
{
	static uint32_t n;
	struct fake_qp *q = calloc(1, sizeof(*q));
	struct sockaddr_un a;
	pthread_t t;
	socklen_t len;
	(void)pd;

	errno = (int)fake_number("ib_rc", -1, 0);
	if (errno != 0 || q == NULL || init->type != VERBS_QP_RC) {
		free(q);
		return NULL;
	}
	pthread_mutex_init(&q->lock, NULL);
	q->qp.send_cq = init->send_cq;
	q->qp.recv_cq = init->recv_cq;
	q->qp.num = ((uint32_t)getpid() & 0xffff) << 8 | (n++ & 0xff);
	a = address(q->qp.num, &len);
	q->wire = -1;
	q->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (bind(q->listener, (struct sockaddr *)&a, len) != 0 || listen(q->listener, 1) != 0 ||
	    pthread_create(&t, NULL, receiver, q) != 0) {
		close(q->listener);
		free(q);
		return NULL;
	}
	pthread_detach(t);
	return &q->qp;
}

/* The masks of the three steps as the kernel asks for them (ibv_modify_qp(3)). */
EXPORT int
ibv_modify_qp(struct verbs_qp *qp, struct verbs_qp_attr *a, int mask)
{
	static const int masks[4] = { 0, 0x39, 0x129181, 0x12e01 };
	struct fake_qp *q = (struct fake_qp *)qp;
	struct sockaddr_un at;
	socklen_t len;

	if (a->state < VERBS_INIT || a->state > VERBS_RTS || mask != masks[a->state] ||
	    (a->state == VERBS_INIT && (a->port != 1 || a->access != (VERBS_LOCAL_WRITE | VERBS_REMOTE_WRITE))))
		return EINVAL;
	if (a->state != VERBS_RTR)
		return 0;
	if (fake_number("ib_rtr", -1, 0) != 0)
		return (int)fake_number("ib_rtr", -1, 0);
	if (a->mtu < VERBS_MTU_256 || a->mtu > VERBS_MTU_4096 || a->path.port != 1 || (!a->path.is_global && a->path.dlid != 7) ||
	    (a->path.is_global && a->path.dgid[0] != 0x20))
		return EINVAL;
	at = address(a->dest_qpn, &len);
	q->wire = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	return connect(q->wire, (struct sockaddr *)&at, len) == 0 ? 0 : ENETUNREACH;
}

EXPORT int
ibv_destroy_qp(struct verbs_qp *qp)
{
	struct fake_qp *q = (struct fake_qp *)qp;

	if (q->wire >= 0)
		close(q->wire);
	close(q->listener);	/* the thread may still look at it: it is not freed */
	return 0;
}

EXPORT const char *
ibv_wc_status_str(int status)
{
	return status == 12 ? "transport retry counter exceeded" : status == 10 ? "remote access error" : "some status";
}
