/* kernels/peer.h - bandwidth and latency between two machines of a gang.  One side serves, the
 * other measures. */
#ifndef BERTH_KERNELS_PEER_H
#define BERTH_KERNELS_PEER_H

#include "kernels/run.h"

/* Token [at least 16 bytes] out of a file or of BERTH_PROBE_TOKEN, into out [256]; -1 and a message
 * on stderr. */
int peer_token(const char *file, char *out);
/* Serves one peer and ends; 0 served, 1 no socket, 5 nobody came within the cap. */
int peer_serve(struct run *run);
/*
 * Measures against a peer that serves, into the report: tcp_latency, tcp_send, tcp_recv, and the
 * same over RDMA; the RDMA ports into its health.
 */
void peer_measure(struct run *run);

/*
 * For peer_rdma.c: seconds that one run of a rate is to take; all n bytes out or in; an order
 * (what, and a number); the bytes that both sides send, 1 MiB.
 */
double peer_run_s(const struct run *run);
bool peer_all(int fd, void *buf, size_t n, bool out);
bool peer_order(int fd, char what, uint64_t n);
bool peer_order_recv(int fd, char *what, uint64_t *n);
const uint8_t *peer_bytes(void);
/* RDMA over a connection that knows the token; serve: false when the connection is of no more use.
 */
bool peer_rdma_serve(struct run *run, int fd);
void peer_rdma_measure(struct run *run, int fd);

#endif
