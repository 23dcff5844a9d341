/*
 * The layouts of kernels/rdma_api.h against a libibverbs header, where one is installed: compiled by tests/probe/peer.sh, never
 * linked. The names of the two collide, hence the renaming.
 */
#include <infiniband/verbs.h>
#include <stddef.h>

#define verbs_context own_context
#define verbs_qp own_qp
#define verbs_cq own_cq
#include "kernels/rdma_api.h"

#define AT(own, field, theirs, name) \
	_Static_assert(offsetof(struct own, field) == offsetof(struct theirs, name), #own "." #field)
#define SIZE(own, theirs) _Static_assert(sizeof(struct own) == sizeof(struct theirs), #own)
#define IS(own, theirs) _Static_assert((int)own == (int)theirs, #own)

AT(verbs_port, active_mtu, ibv_port_attr, active_mtu);
AT(verbs_port, lid, ibv_port_attr, lid);
AT(verbs_port, link_layer, ibv_port_attr, link_layer);
AT(verbs_port, flags2, ibv_port_attr, port_cap_flags2);
AT(verbs_port, gids, ibv_port_attr, gid_tbl_len);
AT(verbs_port, state, ibv_port_attr, state);
AT(verbs_sge, lkey, ibv_sge, lkey);
AT(verbs_sge, length, ibv_sge, length);
AT(verbs_send, to, ibv_send_wr, wr);
AT(verbs_send, opcode, ibv_send_wr, opcode);
AT(verbs_send, flags, ibv_send_wr, send_flags);
AT(verbs_send, imm, ibv_send_wr, imm_data);
AT(verbs_send, n_sge, ibv_send_wr, num_sge);
AT(verbs_recv, n_sge, ibv_recv_wr, num_sge);
AT(verbs_done, status, ibv_wc, status);
AT(verbs_done, bytes, ibv_wc, byte_len);
AT(verbs_done, path_bits, ibv_wc, dlid_path_bits);
AT(verbs_mr, rkey, ibv_mr, rkey);
AT(verbs_mr, lkey, ibv_mr, lkey);
AT(verbs_qp, num, ibv_qp, qp_num);
AT(verbs_qp, send_cq, ibv_qp, send_cq);
AT(verbs_cq, context, ibv_cq, context);
AT(verbs_qp, context, ibv_qp, context);
AT(verbs_context, ops.poll, ibv_context, ops.poll_cq);
AT(verbs_context, ops.post_send, ibv_context, ops.post_send);
AT(verbs_context, ops.post_recv, ibv_context, ops.post_recv);
AT(verbs_qp_init, type, ibv_qp_init_attr, qp_type);
AT(verbs_qp_init, cap, ibv_qp_init_attr, cap);
AT(verbs_path, dlid, ibv_ah_attr, dlid);
AT(verbs_path, port, ibv_ah_attr, port_num);
AT(verbs_path, is_global, ibv_ah_attr, is_global);
AT(verbs_qp_attr, path, ibv_qp_attr, ah_attr);
AT(verbs_qp_attr, pkey, ibv_qp_attr, pkey_index);
AT(verbs_qp_attr, rnr_timer, ibv_qp_attr, min_rnr_timer);
AT(verbs_qp_attr, timeout, ibv_qp_attr, timeout);
AT(verbs_qp_attr, rnr_retry, ibv_qp_attr, rnr_retry);
AT(verbs_qp_attr, port, ibv_qp_attr, port_num);
AT(verbs_qp_attr, dest_qpn, ibv_qp_attr, dest_qp_num);
AT(verbs_qp_attr, access, ibv_qp_attr, qp_access_flags);
AT(verbs_qp_attr, mtu, ibv_qp_attr, path_mtu);
AT(verbs_qp_attr, rate_limit, ibv_qp_attr, rate_limit);
AT(verbs_send, to.write.rkey, ibv_send_wr, wr.rdma.rkey);
AT(verbs_path, sgid_index, ibv_ah_attr, grh.sgid_index);
AT(verbs_path, hop_limit, ibv_ah_attr, grh.hop_limit);
SIZE(verbs_sge, ibv_sge);
SIZE(verbs_send, ibv_send_wr);
SIZE(verbs_recv, ibv_recv_wr);
SIZE(verbs_done, ibv_wc);
SIZE(verbs_mr, ibv_mr);
SIZE(verbs_qp_init, ibv_qp_init_attr);
SIZE(verbs_path, ibv_ah_attr);
SIZE(verbs_qp_attr, ibv_qp_attr);
_Static_assert(sizeof(((struct verbs_context *)0)->ops) == sizeof(struct ibv_context_ops), "table of calls");
IS(VERBS_PORT_ACTIVE, IBV_PORT_ACTIVE);
IS(VERBS_MTU_4096, IBV_MTU_4096);
IS(VERBS_LINK_ETHERNET, IBV_LINK_LAYER_ETHERNET);
IS(VERBS_QP_RC, IBV_QPT_RC);
IS(VERBS_INIT, IBV_QPS_INIT);
IS(VERBS_RTR, IBV_QPS_RTR);
IS(VERBS_RTS, IBV_QPS_RTS);
IS(VERBS_LOCAL_WRITE, IBV_ACCESS_LOCAL_WRITE);
IS(VERBS_REMOTE_WRITE, IBV_ACCESS_REMOTE_WRITE);
IS(VERBS_WR_WRITE, IBV_WR_RDMA_WRITE);
IS(VERBS_WR_SEND, IBV_WR_SEND);
IS(VERBS_SIGNALED, IBV_SEND_SIGNALED);
IS(VERBS_SET_STATE, IBV_QP_STATE);
IS(VERBS_SET_ACCESS, IBV_QP_ACCESS_FLAGS);
IS(VERBS_SET_PKEY, IBV_QP_PKEY_INDEX);
IS(VERBS_SET_PORT, IBV_QP_PORT);
IS(VERBS_SET_AV, IBV_QP_AV);
IS(VERBS_SET_MTU, IBV_QP_PATH_MTU);
IS(VERBS_SET_TIMEOUT, IBV_QP_TIMEOUT);
IS(VERBS_SET_RETRY, IBV_QP_RETRY_CNT);
IS(VERBS_SET_RNR_RETRY, IBV_QP_RNR_RETRY);
IS(VERBS_SET_RQ_PSN, IBV_QP_RQ_PSN);
IS(VERBS_SET_RD_ATOMIC, IBV_QP_MAX_QP_RD_ATOMIC);
IS(VERBS_SET_RNR_TIMER, IBV_QP_MIN_RNR_TIMER);
IS(VERBS_SET_SQ_PSN, IBV_QP_SQ_PSN);
IS(VERBS_SET_DEST_RD_ATOMIC, IBV_QP_MAX_DEST_RD_ATOMIC);
IS(VERBS_SET_DEST_QPN, IBV_QP_DEST_QPN);
