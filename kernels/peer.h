/* kernels/peer.h - bandwidth and latency between two machines of a gang.  One side serves, the other measures. */
#ifndef BERTH_KERNELS_PEER_H
#define BERTH_KERNELS_PEER_H

#include "kernels/run.h"

/* Token [at least 16 bytes] out of a file or of BERTH_PROBE_TOKEN, into out [256]; -1 and a message on stderr. */
int peer_token(const char *file, char *out);
/* Serves one peer and ends; 0 served, 1 no socket, 5 nobody came within the cap. */
int peer_serve(struct run *run);
/* Measures against a peer that serves, into the report: tcp_send, tcp_recv, tcp_latency, and the RDMA ports. */
void peer_measure(struct run *run);

#endif
