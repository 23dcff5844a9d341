/* providers/slurm/slurm.h - a Slurm cluster: slurmrestd v0.0.38 to v0.0.44, or its commands. Floor:
 * providers. */
#ifndef BERTH_PROVIDERS_SLURM_H
#define BERTH_PROVIDERS_SLURM_H

#include "providers/provider.h"
#include "providers/rates.h"
#include "util/json.h"

extern const struct provider_ops provider_slurm;

/* This folder's own. */
#define SLURM_OLDEST 38
#define SLURM_NEWEST 44
#define SLURM_LOCAL "slurm:/" /* base URL of the commands, which speak v0.0.38 here */

struct slurm {
	const struct prov_env *env;
	const char *url;  /* of slurmrestd, without a slash at its end; SLURM_LOCAL: commands */
	int version;      /* 38 .. 44; 0: not known yet */
	int asking;       /* the version that the next step asks for */
	const char *user; /* NULL: whoever runs the commands */
	const char *account, *qos, *spot_qos, *reservation,
	    *constraint; /* NULL: the cluster's own choice */
	const char *region, *workdir, *output;
	const char *ssh,
	    *bin; /* commands: through this login node, in this folder; NULL: here, in PATH */
	int64_t time_limit_s, queue_wait_s, notice_s;
	int timeout_s;
	const char *const *partitions, *const *gres;
	size_t n_partitions, n_gres;
	struct rates rates;
	struct arena *pass;  /* of one list of offers */
	struct strmap *down; /* partitions that take no work now */
};

/* Starts a request to path below the version; db: below /slurmdb. */
BERTH_MUST_CHECK enum berth_code slurm_request(const struct slurm *s, struct http_req *req,
    const char *method, bool db, const char *path, struct berth_err *err);

/* A number as the versions write it: 5, "5", {"set", "infinite", "number"}; false: null, not set,
 * infinite or negative. */
bool slurm_number(const struct jsonr *o, const char *key, int64_t *out);
/* Whether a state, which is a string ("mixed"), several in one ("IDLE+DRAIN") or an array, has the
 * word, any case. */
bool slurm_has_word(const struct jsonr *o, const char *key, const char *word);

/* One resource of a list like "gpu:a100:8(S:0-1),gpu:2,shard:16". */
struct slurm_gres {
	const char *name, *type;
	int64_t count;
};
/* The next one of *list, NULL at its end; strings live in a. */
const struct slurm_gres *slurm_gres_next(struct arena *a, const char **list);

/* What a job's comment says: "berth INSTALLATION TOKEN TYPE". False: it is not ours. */
bool slurm_read_comment(const char *comment, struct prov_machine *m);
/* Why a job waits, in plain words, and as what it counts: BERTH_OK (it may start yet), or the code
 * that ends the wait. */
const char *slurm_reason(const char *reason, enum berth_code *code_out, bool *at_once_out);

/* Answers requests to SLURM_LOCAL by squeue, scontrol, sbatch, scancel and sacctmgr, in the shapes
 * of v0.0.38. */
BERTH_MUST_CHECK enum berth_code slurm_exchange(
    void *st, const struct http_req *req, struct http_resp *resp, struct berth_err *err);

extern const struct prov_market_ops slurm_market;
extern const struct prov_lease_ops slurm_lease;
/* Every job of ours in the answer to a list. */
BERTH_MUST_CHECK enum berth_code slurm_jobs(struct slurm *s, const struct http_resp *resp,
    bool notices, prov_machine_fn *emit, void *arg, struct berth_err *err);

#endif
