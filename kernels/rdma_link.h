/* kernels/rdma_link.h - one reliable RDMA connection to a peer: writes into its memory, and round
 * trips. */
#ifndef BERTH_KERNELS_RDMA_LINK_H
#define BERTH_KERNELS_RDMA_LINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/rdma_api.h"

#define RDMA_AREA ((size_t)1 << 20) /* bytes that a stream of writes goes round in */
#define RDMA_PING 64

enum rdma_state {
	RDMA_READY,
	RDMA_NONE,  /* no library, no device, or none with reliable connections: nothing to measure
		     */
	RDMA_BROKEN /* there is a device, and it cannot be used */
};

/* What the peer must know to reach an end. */
struct rdma_end {
	uint32_t qpn, psn, rkey;
	uint64_t addr; /* of the area that the peer writes into */
	uint16_t lid;
	uint8_t gid[16], mtu, layer;
	double gbps;   /* NaN: the kernel does not say */
	char name[40]; /* "mlx5_0 port 1" */
};

struct rdma_link {
	struct rdma_api api;
	struct verbs_context *ctx;
	void *pd;
	struct verbs_mr *mr;
	struct verbs_cq *cq;
	struct verbs_qp *qp;
	uint8_t *mem; /* RDMA_AREA to send from, RDMA_AREA to receive in, two pings */
	uint8_t port;
	int gid_index;
	struct rdma_end mine, peer;
	char why[160]; /* of what failed last */
};

/*
 * Opens the first device with a port that is up.
 * sysroot  the kernel's files are looked for under it, NULL: the machine's;  device  only this one,
 * NULL: any
 */
enum rdma_state rdma_link_open(struct rdma_link *l, const char *sysroot, const char *device);
void rdma_link_close(struct rdma_link *l);
/* Connects to peer; false: l->why. Both ends must have done so before either sends. */
bool rdma_link_connect(struct rdma_link *l, const struct rdma_end *peer);

uint8_t *rdma_link_out(struct rdma_link *l); /* [RDMA_AREA] what is sent */
uint8_t *rdma_link_in(struct rdma_link *l);  /* [RDMA_AREA] what the peer writes into */

/* Writes the area into the peer's, over and over, bytes in all, and waits for the last; seconds, or
 * NaN and l->why. */
double rdma_link_write(struct rdma_link *l, uint64_t bytes);
/* Makes ready for the first ping that comes; the side that answers does so before the other begins.
 */
bool rdma_link_expect(struct rdma_link *l);
/* A ping out and one back; seconds, or NaN. */
double rdma_link_ping(struct rdma_link *l);
/* Answers n pings; rdma_link_expect() came before. */
bool rdma_link_pong(struct rdma_link *l, uint64_t n);

#endif
