/* kernels/rdma_api.h - libibverbs as far as it is needed, by dlopen: no header of it, nothing to
 * link. */
#ifndef BERTH_KERNELS_RDMA_API_H
#define BERTH_KERNELS_RDMA_API_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Layouts of libibverbs.so.1 on 64-bit Linux, which it has kept since 2006; only what is used has
 * its name. Posting and polling are no symbols: they are reached through the table in the context.
 */
enum { VERBS_PORT_ACTIVE = 4, VERBS_MTU_256 = 1, VERBS_MTU_4096 = 5, VERBS_LINK_ETHERNET = 2 };
enum { VERBS_QP_RC = 2, VERBS_INIT = 1, VERBS_RTR = 2, VERBS_RTS = 3 };
enum { VERBS_LOCAL_WRITE = 1, VERBS_REMOTE_WRITE = 2 };
enum { VERBS_WR_WRITE = 0, VERBS_WR_SEND = 2, VERBS_SIGNALED = 2 };
enum { /* what a change of state sets */
	VERBS_SET_STATE = 1 << 0,
	VERBS_SET_ACCESS = 1 << 3,
	VERBS_SET_PKEY = 1 << 4,
	VERBS_SET_PORT = 1 << 5,
	VERBS_SET_AV = 1 << 7,
	VERBS_SET_MTU = 1 << 8,
	VERBS_SET_TIMEOUT = 1 << 9,
	VERBS_SET_RETRY = 1 << 10,
	VERBS_SET_RNR_RETRY = 1 << 11,
	VERBS_SET_RQ_PSN = 1 << 12,
	VERBS_SET_RD_ATOMIC = 1 << 13,
	VERBS_SET_RNR_TIMER = 1 << 15,
	VERBS_SET_SQ_PSN = 1 << 16,
	VERBS_SET_DEST_RD_ATOMIC = 1 << 17,
	VERBS_SET_DEST_QPN = 1 << 20,
};

struct verbs_port {
	int state, max_mtu, active_mtu, gids;
	uint32_t flags, max_msg, bad_pkeys, bad_qkeys;
	uint16_t pkeys, lid, sm_lid;
	uint8_t lmc, max_vl, sm_sl, subnet_timeout, init_type, width, speed, phys_state, link_layer,
	    more_flags;
	uint16_t flags2;
	char room[64]; /* newer libraries may write more */
};

struct verbs_sge {
	uint64_t addr;
	uint32_t length, lkey;
};

struct verbs_send {
	uint64_t id;
	struct verbs_send *next;
	struct verbs_sge *sge;
	int n_sge, opcode;
	unsigned flags;
	uint32_t imm;
	union {
		struct {
			uint64_t remote_addr;
			uint32_t rkey;
		} write;
		struct {
			uint64_t remote_addr, compare, swap;
			uint32_t rkey;
		} atomic;
	} to;
	uint32_t srq;
	uint64_t bind[6];
};

struct verbs_recv {
	uint64_t id;
	struct verbs_recv *next;
	struct verbs_sge *sge;
	int n_sge;
};

struct verbs_done {
	uint64_t id;
	int status, opcode;
	uint32_t vendor_err, bytes, imm, qp, src_qp;
	unsigned flags;
	uint16_t pkey, slid;
	uint8_t sl, path_bits;
};

struct verbs_context;
struct verbs_cq {
	struct verbs_context *context;
};
struct verbs_mr {
	void *context, *pd, *addr;
	size_t length;
	uint32_t handle, lkey, rkey;
};

struct verbs_qp {
	struct verbs_context *context;
	void *user, *pd;
	struct verbs_cq *send_cq, *recv_cq;
	void *srq;
	uint32_t handle, num;
};

struct verbs_context {
	void *device;
	struct {
		void *old0[11];
		int (*poll)(struct verbs_cq *, int, struct verbs_done *);
		void *old1[13];
		int (*post_send)(struct verbs_qp *, struct verbs_send *, struct verbs_send **);
		int (*post_recv)(struct verbs_qp *, struct verbs_recv *, struct verbs_recv **);
		void *old2[5];
	} ops;
};

struct verbs_caps {
	uint32_t send, recv, send_sge, recv_sge, inline_bytes;
};

struct verbs_qp_init {
	void *user;
	struct verbs_cq *send_cq, *recv_cq;
	void *srq;
	struct verbs_caps cap;
	int type, all_signaled;
};

struct verbs_path {
	uint8_t dgid[16] __attribute__((aligned(8)));
	uint32_t flow;
	uint8_t sgid_index, hop_limit, traffic_class;
	uint16_t dlid;
	uint8_t sl, src_bits, rate, is_global, port;
};

struct verbs_qp_attr {
	int state, cur_state, mtu, mig;
	uint32_t qkey, rq_psn, sq_psn, dest_qpn;
	unsigned access;
	struct verbs_caps cap;
	struct verbs_path path, alt_path;
	uint16_t pkey, alt_pkey;
	uint8_t sqd_notify, draining, rd_atomic, dest_rd_atomic, rnr_timer, port, timeout, retry,
	    rnr_retry, alt_port, alt_timeout;
	uint32_t rate_limit;
};

/* name, result, symbol, arguments */
#define RDMA_FUNCS(X)                                                                              \
	X(device_list, void **, "ibv_get_device_list", (int *))                                    \
	X(device_list_free, void, "ibv_free_device_list", (void **))                               \
	X(device_name, const char *, "ibv_get_device_name", (void *))                              \
	X(open, struct verbs_context *, "ibv_open_device", (void *))                               \
	X(close, int, "ibv_close_device", (struct verbs_context *))                                \
	X(port, int, "ibv_query_port", (struct verbs_context *, uint8_t, struct verbs_port *))     \
	X(gid, int, "ibv_query_gid", (struct verbs_context *, uint8_t, int, uint8_t *))            \
	X(pd_alloc, void *, "ibv_alloc_pd", (struct verbs_context *))                              \
	X(pd_free, int, "ibv_dealloc_pd", (void *))                                                \
	X(mr_reg, struct verbs_mr *, "ibv_reg_mr", (void *, void *, size_t, int))                  \
	X(mr_free, int, "ibv_dereg_mr", (struct verbs_mr *))                                       \
	X(cq_create, struct verbs_cq *, "ibv_create_cq",                                           \
	    (struct verbs_context *, int, void *, void *, int))                                    \
	X(cq_free, int, "ibv_destroy_cq", (struct verbs_cq *))                                     \
	X(qp_create, struct verbs_qp *, "ibv_create_qp", (void *, struct verbs_qp_init *))         \
	X(qp_modify, int, "ibv_modify_qp", (struct verbs_qp *, struct verbs_qp_attr *, int))       \
	X(qp_free, int, "ibv_destroy_qp", (struct verbs_qp *))                                     \
	X(status_text, const char *, "ibv_wc_status_str", (int))

struct rdma_api {
	void *so;
#define X(f, r, s, a) r(*f) a;
	RDMA_FUNCS(X)
#undef X
};

/* Opens libibverbs.so.1; 0, or -1 with a sentence in why [n]. It stays open: its providers do not
 * like to be unloaded. */
int rdma_api_open(struct rdma_api *api, char *why, size_t n);

#endif
