/* Copies between devices: each ordered pair alone, then disjoint pairs at once, so that all devices
 * send and receive. */
#include "config.h"

#include <math.h>
#include <stdio.h>

#include "kernels/arith.h"
#include "kernels/run.h"

#define T_BLOCK 256
#define T_PEER_WORDS (1u << 23) /* 64 MiB */
#define T_MESH_COPIES 8 /* a turn lasts so long that the devices overlap, however they start */

struct t_peer {
	struct gpu *to;
	uint64_t words;
	int copies;
};

static int
t_peer_op(struct gpu *g, void *arg)
{
	struct t_peer *t = arg;
	int rc = 0;

	for (int i = 0; i < t->copies && rc == 0; i++)
		rc = g->run->cuda.copy_peer_async(
		    t->to->a, t->to->ctx, g->b, g->ctx, (size_t)t->words * 8, NULL);
	return rc;
}

static uint64_t
t_peer_words(const struct gpu *g, const struct gpu *to)
{
	const uint64_t n = g->words < to->words ? g->words : to->words;

	return n < T_PEER_WORDS ? n : T_PEER_WORDS;
}

/* Lets g write to the other where the machine can; *can says whether. The context of g is the
 * current one. */
static int
t_peer_enable(struct gpu *g, struct gpu *to, int *can)
{
	const struct cuda_api *cu = &g->run->cuda;
	int rc = cu->can_access_peer(can, g->dev, to->dev);

	if (rc == 0 && *can) {
		rc = cu->enable_peer(to->ctx, 0);
		rc = rc == CUDA_PEER_ALREADY ? 0 : rc;
	}
	return rc;
}

/* Sum of what lies in the first words of the target, whose context is the current one. */
static int
t_peer_sum(struct gpu *to, uint64_t words, uint64_t *got)
{
	const struct cuda_api *cu = &to->run->cuda;
	void *args[] = { &to->a, &words, &to->acc };
	int rc = cu->mem_set(to->acc, 0, 64);

	rc = rc != 0 ? rc : gpu_run(to, IMAGE_BASE, "berth_k_sum", gpu_grid(to), T_BLOCK, args);
	return rc != 0 ? rc : cu->copy_to_host(got, to->acc, 8);
}

struct t_peer_end {
	struct gpu *from, *to;
	const struct gpu_times *times;
	double bytes;
	int rc, can;
	bool right;
};

static void
t_peer_report(const struct suite_row *row, const struct t_peer_end *e)
{
	struct report *r = &e->from->run->report;
	struct report_test out = { .gpu = e->from->index, .peer = e->to->index };
	char check[40];

	snprintf(out.name, sizeof(out.name), "%s", row->name);
	snprintf(out.unit, sizeof(out.unit), "%s", row->unit);
	snprintf(check, sizeof(check), "%s.sum", row->name);
	gpu_rates(e->times, e->bytes, 1e-9, &out);
	out.status = e->rc != 0 || !e->right || !isfinite(out.value) ? REPORT_FAILED
		     : e->times->partial                             ? REPORT_PARTIAL
								     : REPORT_OK;
	if (e->rc != 0)
		snprintf(out.error, sizeof(out.error), "%s", cuda_api_text(e->rc));
	else if (!e->right)
		snprintf(out.error, sizeof(out.error), "what arrived is wrong");
	else if (!e->can)
		snprintf(out.error, sizeof(out.error), "no peer access: copied through the host");
	report_test(r, &out);
	report_check(r, check, e->from->index, e->rc == 0 && e->right ? REPORT_OK : REPORT_FAILED,
	    (double)e->to->index, "gpu %d to gpu %d: %s", e->from->index, e->to->index,
	    e->rc != 0 ? cuda_api_text(e->rc)
	    : e->right ? "sum at the target"
		       : "wrong sum at the target");
}

static void
t_peer_pair(struct gpu *g, struct gpu *to, const struct suite_row *row)
{
	const struct cuda_api *cu = &g->run->cuda;
	struct t_peer t = { .to = to, .words = t_peer_words(g, to), .copies = 1 };
	struct gpu_times times = { .n = 0 };
	struct t_peer_end e = {
		.from = g, .to = to, .times = &times, .bytes = 8.0 * (double)t.words
	};
	uint64_t got = 0;

	e.rc = t_peer_enable(g, to, &e.can);
	e.rc = e.rc != 0 ? e.rc
			 : gpu_measure(g, t_peer_op, &t, 1, 5, report_now() + row->cap_s, &times);
	e.rc = e.rc != 0 ? e.rc : cu->ctx_set(to->ctx);
	e.rc = e.rc != 0 ? e.rc : t_peer_sum(to, t.words, &got);
	(void)cu->ctx_set(g->ctx);
	e.right = got == expect_copy(&g->run->expect, t.words);
	t_peer_report(row, &e);
}

/* All ordered pairs, one after the other; the devices' own threads rest. */
void
test_p2p(struct gpu *g, const struct suite_row *row)
{
	int rc = gpu_fill(g);

	if (rc != 0) {
		gpu_failed(g, row, "berth_k_fill", rc);
		return;
	}
	for (int i = 0; i < g->run->n_gpus; i++)
		if (i != g->index && g->run->gpus[i].ready)
			t_peer_pair(g, &g->run->gpus[i], row);
}

/* Partner of i in a turn of the circle method: n - 1 turns (n even) bring each pair together once.
 */
static int
t_mesh_partner(int i, int n, int turn)
{
	const int m = n - 1;
	int j;

	if (i == m)
		return turn;
	j = ((2 * turn - i) % m + m) % m;
	return j == i ? m : j;
}

/* One turn: g sends to its partner and receives from it, as all others do; who has none waits. */
static void
t_mesh_turn(struct gpu *g, struct gpu *to, const struct suite_row *row, int turns)
{
	struct run *run = g->run;
	struct t_peer t = { .to = to, .copies = T_MESH_COPIES };
	struct gpu_times times = { .n = 0 };
	struct t_peer_end e = { .from = g, .to = to, .times = &times };

	if (to != NULL) {
		t.words = t_peer_words(g, to);
		e.bytes = 8.0 * (double)t.words * t.copies;
		e.rc = gpu_fill(g);
		e.rc = e.rc != 0 ? e.rc : run->cuda.mem_set(g->a, 0, (size_t)t.words * 8);
		e.rc = e.rc != 0 ? e.rc : run->cuda.ctx_sync();
		e.rc = e.rc != 0 ? e.rc : t_peer_enable(g, to, &e.can);
	}
	pthread_barrier_wait(
	    &run->barrier); /* nobody sends before all have cleared what they receive into */
	if (to != NULL && e.rc == 0)
		e.rc =
		    gpu_measure(g, t_peer_op, &t, 1, 5, report_now() + row->cap_s / turns, &times);
	g->mesh_sum = 0;
	pthread_barrier_wait(&run->barrier);
	if (to != NULL && e.rc == 0)
		e.rc = t_peer_sum(g, t.words, &g->mesh_sum);
	pthread_barrier_wait(
	    &run->barrier); /* each has summed what it received: the sender looks there */
	if (to != NULL) {
		e.right = to->mesh_sum == expect_copy(&run->expect, t.words);
		t_peer_report(row, &e);
	}
}

/* Called in the threads of all devices, of those too that are not ready. */
void
test_p2p_all(struct gpu *g, const struct suite_row *row)
{
	struct run *run = g->run;
	const int n = run->n_gpus + run->n_gpus % 2;

	for (int turn = 0; turn < n - 1; turn++) {
		const int j = t_mesh_partner(g->index, n, turn);
		struct gpu *to =
		    j < run->n_gpus && g->ready && run->gpus[j].ready ? &run->gpus[j] : NULL;

		t_mesh_turn(g, to, row, n - 1);
	}
	if (!g->ready)
		report_test_none(&run->report, row->name, g->index, row->unit, REPORT_FAILED,
		    "the device could not be opened");
}
