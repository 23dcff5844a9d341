/* Links of a machine: to the host, between its GPUs, and to another machine. */
#include <math.h>
#include <string.h>

#include "plan/verdict_impl.h"
#include "util/str.h"

static double
judge_value(const struct judge *j, const char *name, int gpu)
{
	const struct probe_test *t = probe_test_find(j->r, name, gpu, -1);

	return t != NULL && (t->status == PROBE_OK || t->status == PROBE_PARTIAL) ? t->value
										  : (double)NAN;
}

static void
judge_link(struct judge *j, int gpu)
{
	const double in = judge_value(j, "pcie_h2d", gpu), out = judge_value(j, "pcie_d2h", gpu);
	double link = (double)NAN;

	for (size_t i = 0; i < j->r->n_health; i++)
		if (j->r->health[i].gpu == gpu && str_eq(j->r->health[i].name, "pcie_link"))
			link = j->r->health[i].value;
	if (isfinite(in) && link > 0.0) {
		struct verdict_ratio r = { .gpu = gpu,
			.resource = "host_link",
			.test = "pcie_h2d",
			.measured = in,
			.reference = j->limits->pcie * link,
			.unit = "GB/s",
			.source = "PCIe generation and width" };

		r.ratio = in / r.reference;
		judge_ratio(j, &r);
		if (r.ratio < 1.0)
			judge_reason(j, VERDICT_DISCOUNT, "slow_link", gpu,
			    "gpu %d: %.3g GB/s from the host over a link of %.3g", gpu, in, link);
	}
	if (isfinite(in) && isfinite(out) && out < j->limits->pcie_balance * in)
		judge_reason(j, VERDICT_DISCOUNT, "lame_link", gpu,
		    "gpu %d: %.3g GB/s to the host, %.3g from it", gpu, out, in);
}

static void
judge_peers(struct judge *j)
{
	const double one_way = j->accel != NULL ? j->accel->link_gb_s / 2.0 : (double)NAN;

	for (size_t i = 0; i < j->r->n_tests; i++) {
		const struct probe_test *t = &j->r->tests[i];
		struct verdict_ratio r = { .gpu = t->gpu,
			.resource = "peer_link",
			.test = t->name,
			.measured = t->value,
			.reference = j->limits->p2p * one_way,
			.unit = t->unit,
			.source = "NVLink, one direction" };

		if (t->peer < 0 || !str_eq(t->name, "p2p") || !(t->value > 0.0) || !(one_way > 0.0))
			continue;
		r.ratio = t->value / r.reference;
		judge_ratio(j, &r);
		if (r.ratio < 1.0)
			judge_reason(j, VERDICT_DISCOUNT, "slow_peer", t->gpu,
			    "gpu %d to gpu %d: %.4g GB/s where NVLink has %.4g one way", t->gpu,
			    t->peer, t->value, one_way);
	}
}

/*
 * A link that holds while it is alone and falls when all devices talk: a lame lane, or a switch
 * that is not the one sold.
 */
static void
judge_mesh(struct judge *j)
{
	const bool nvlink = j->accel != NULL && j->accel->link_gb_s > 0.0;

	for (size_t i = 0; i < j->r->n_tests; i++) {
		const struct probe_test *t = &j->r->tests[i];
		const struct probe_test *alone =
		    t->peer >= 0 ? probe_test_find(j->r, "p2p", t->gpu, t->peer) : NULL;

		/* over PCIe pairs share the way by design */
		if (!nvlink || alone == NULL || !str_eq(t->name, "p2p_all") || !(t->value > 0.0) ||
		    !(alone->value > 0.0))
			continue;
		if (t->value < j->limits->p2p_all * alone->value)
			judge_reason(j, VERDICT_DISCOUNT, "crowded_peer", t->gpu,
			    "gpu %d to gpu %d: %.4g GB/s while all talk, %.4g alone", t->gpu,
			    t->peer, t->value, alone->value);
	}
}

void
judge_links(struct judge *j)
{
	for (size_t i = 0; i < j->r->n_gpus; i++)
		judge_link(j, j->r->gpus[i].index);
	judge_peers(j);
	judge_mesh(j);
}

/* RDMA against the slower of the two ports, where it was measured. */
static void
judge_rdma(struct judge *j)
{
	static const char *const names[] = { "rdma_send", "rdma_recv" };
	double port = (double)NAN;

	for (size_t i = 0; i < j->r->n_checks; i++)
		if (str_eq(j->r->checks[i].name, "rdma_path"))
			port = j->r->checks[i].value / 8.0;
	for (size_t i = 0; i < 2; i++) {
		const struct probe_test *t = probe_test_find(j->r, names[i], -1, -1);
		struct verdict_ratio r = { .gpu = -1,
			.resource = "network",
			.test = names[i],
			.unit = "GB/s",
			.reference = j->limits->rdma * port,
			.source = "rate of the port" };

		if (t == NULL || t->status != PROBE_OK || !(t->value > 0.0) || !(r.reference > 0.0))
			continue;
		r.measured = t->value;
		r.ratio = r.measured / r.reference;
		judge_ratio(j, &r);
		if (r.ratio < 1.0)
			judge_reason(j,
			    r.ratio < j->limits->reject ? VERDICT_REJECT : VERDICT_DISCOUNT,
			    "slow_rdma", -1, "%s %.4g GB/s over ports of %.4g GB/s", names[i],
			    r.measured, port);
	}
}

/* Was the test asked for? Of a part as berth-probe --only takes it: "tcp" names all that begin so.
 */
static bool
judge_asked(const struct judge *j, const char *name)
{
	const char *list = j->r->only;

	while (*list != '\0') {
		const size_t n = strcspn(list, ",");

		if (n > 0 && strncmp(list, name, n) == 0)
			return true;
		list += n + (list[n] == ',');
	}
	return j->r->only[0] == '\0';
}

/* Of a part: what was asked for is there, and something was measured. */
static void
judge_network_part(struct judge *j)
{
	static const char *const names[] = { "tcp_latency", "rdma_latency", "rdma_send",
		"rdma_recv", "tcp_send", "tcp_recv" };
	size_t measured = 0;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const struct probe_test *t = probe_test_find(j->r, names[i], -1, -1);

		measured += t != NULL && t->status == PROBE_OK && t->value > 0.0;
		if (t == NULL && i < 4 &&
		    judge_asked(j, names[i])) /* of the last two judge_network() tells */
			judge_reason(
			    j, VERDICT_REJECT, "not_measured", -1, "%s was not measured", names[i]);
	}
	if (measured == 0)
		judge_reason(j, VERDICT_REJECT, "not_measured", -1,
		    "nothing was measured between the two machines");
}

/* Between two machines: against what was sold, and one way against the other. */
void
judge_network(struct judge *j)
{
	static const char *const names[] = { "tcp_send", "tcp_recv", NULL };
	double rate[2] = { (double)NAN, (double)NAN };

	if (j->r->mode != PROBE_MODE_NETWORK)
		return;
	if (j->r->only[0] != '\0')
		judge_network_part(j);
	for (int i = 0; i < 2; i++) {
		const struct probe_test *t = probe_test_find(j->r, names[i], -1, -1);
		struct verdict_ratio r = { .gpu = -1,
			.resource = "network",
			.test = names[i],
			.unit = "GB/s",
			.reference = j->limits->network * j->p->network_gbps / 8.0,
			.source = "the network that was sold" };

		if (t == NULL || t->status != PROBE_OK || !(t->value > 0.0)) {
			if (judge_asked(j, names[i]))
				judge_reason(j, VERDICT_REJECT, "not_measured", -1,
				    "%s was not measured", names[i]);
			continue;
		}
		rate[i] = r.measured = t->value;
		r.ratio = r.measured / r.reference;
		if (!(r.reference > 0.0))
			continue;
		judge_ratio(j, &r);
		if (r.ratio < 1.0)
			judge_reason(j,
			    r.ratio < j->limits->reject ? VERDICT_REJECT : VERDICT_DISCOUNT,
			    "slow_network", -1,
			    "%s %.4g GB/s over a network of %.4g Gb/s (%.4g GB/s)", names[i],
			    r.measured, j->p->network_gbps, j->p->network_gbps / 8.0);
	}
	if (isfinite(rate[0]) && isfinite(rate[1]) &&
	    fmin(rate[0], rate[1]) < j->limits->network_balance * fmax(rate[0], rate[1]))
		judge_reason(j, VERDICT_DISCOUNT, "lame_network", -1,
		    "%.4g GB/s to the peer, %.4g from it", rate[0], rate[1]);
	judge_rdma(j);
}
