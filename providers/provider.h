/* providers/provider.h - what an adapter is.  Floor: providers; may include util, model and net. */
#ifndef BERTH_PROVIDERS_PROVIDER_H
#define BERTH_PROVIDERS_PROVIDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/offer.h"
#include "net/http.h"
#include "util/err.h"

/*
 * An adapter does no I/O: a _build function writes the request, the core sends it and hands the
 * answer to _parse. The core owns sockets, paging, retries, deadlines, recording and the adapter's
 * state (state_size zeroed bytes). All calls of one account come from one thread. Out-structs hold
 * their strings; what an emit function is lent lives until it returns, unless said otherwise.
 */
#define PROVIDER_ABI 1u

enum prov_cap { /* what the cloud can do; an op is NULL only where its bit is clear */
	PROV_CAP_OFFERS = 1 << 0, /* market->offers_* */
	PROV_CAP_QUOTA = 1 << 1,  /* market->quota_* */
	PROV_CAP_NOTICES =
	    1 << 2,              /* market->notices_*: interruption notices by the account's API */
	PROV_CAP_LEASE = 1 << 3, /* lease: create, status, destroy, list */
	PROV_CAP_RUN = 1 << 4,   /* run: the provider runs jobs itself */
	PROV_CAP_MEASURE = 1 << 5, /* run->measure_*: it measures a machine itself */
	PROV_CAP_TOKEN =
	    1 << 6, /* a create with a token seen before is no second machine: safe to repeat */
	PROV_CAP_SPOT = 1 << 7, /* sells machines that it may take back */
	PROV_CAP_APART =
	    1 << 9, /* the list of machines shows no notices: they are asked for besides */
	PROV_CAP_OWN = 1 << 10, /* nobody sends a price list: berth.yaml says what an hour costs, or
				   it is unknown */
	PROV_CAP_STAYS =
	    1 << 11, /* a machine given back goes on running: what runs on it is ended first */
	PROV_CAP_AVOID = 1 << 12, /* create leaves out the machines of prov_create.avoid, and
				     refuses where no other is free */
	PROV_CAP_FREE =
	    1 << 8 /* a machine given back is free again at once: its list is asked anew then */
};

enum prov_key_type {
	PROV_KEY_STRING,
	PROV_KEY_PATH,
	PROV_KEY_INT,
	PROV_KEY_DOUBLE,
	PROV_KEY_DURATION,
	PROV_KEY_BOOL,
	PROV_KEY_STRINGS, /* a sequence of strings, or one */
	PROV_KEY_SECRET,  /* "env:NAME" or "file:PATH"; never the secret itself */
	PROV_KEY_NODE     /* a structure that the adapter reads itself from the YAML tree */
};

/*
 * One key of an account's section in berth.yaml, beside name and provider. The array ends with a
 * NULL name.
 */
struct prov_key {
	const char *name;
	enum prov_key_type type;
	bool required;
	const char *help; /* one line of berth-providers(7) */
};

struct prov_net;
struct prov_conf; /* an account's section, checked against keys; read by prov_conf_*() in prov.h */

/* What an account lives in. Borrowed until close; now may move forward between calls. */
struct prov_env {
	int64_t now; /* s since epoch UTC: the clock of this command */
	uint64_t seed;
	const char *account; /* name in berth.yaml */
	const char *
	    state_dir; /* folder beside the store, for clouds that live in this process; "": none */
	const char
	    *config_dir; /* relative paths of the section start here; "": the working directory */
	const char *installation; /* id that tags every machine of ours; "": only reads */
	const struct prov_conf *conf;
	const struct accel_table *accels; /* NULL: every accelerator is unknown */
	struct arena *arena;              /* lives as long as the account */
	const struct log *log;            /* NULL: warnings on stderr */
	bool offline;                     /* the wire is refused; in-process clouds go on */
	struct prov_net *net; /* the network that accounts share; NULL: the account's own */
};

/* Which offers are wanted. A provider may send more: the core filters. Zeroed: all. */
struct prov_query {
	const char *region;      /* NULL: all */
	const char *accelerator; /* canonical name; NULL: all */
};

/*
 * Paging. _parse writes where the next page is; "" ends. The core stops at a token that came
 * before.
 */
struct prov_cursor {
	int page; /* 0 at first */
	char next[2048];
};

/* Lent to emit. BERTH_OK to go on; another code stops the call with it. */
typedef enum berth_code prov_offer_fn(void *arg, const struct offer *offer, struct berth_err *err);
struct prov_quota {
	char region[64], name[128]; /* name: the provider's own word, "L-417A185B", "A100" */
	char unit[16];              /* "gpu" "vcpu" "machine" */
	enum purchase purchase;
	double limit, used; /* NaN: not said */
	/*
	 * What it counts, where the adapter knows it: then placements keep to it. Else it is told
	 * of alone. Globs; "" all.
	 */
	bool counts, any_purchase; /* any_purchase: all ways to buy, not `purchase` alone */
	char zone[64], types[256]; /* types: globs on instance types, a blank between each two */
	char accelerator[64];      /* on the names of offers */
	char provider[64]; /* of the offers: of an account that stands for several providers */
};
typedef enum berth_code prov_quota_fn(
    void *arg, const struct prov_quota *quota, struct berth_err *err);

enum prov_state {
	PROV_PENDING, /* accepted, not usable yet */
	PROV_READY,
	PROV_NOTICED, /* usable until reclaim_at */
	PROV_ENDING,  /* going; may still cost */
	PROV_GONE,    /* confirmed gone: costs nothing any more */
	PROV_FAILED,  /* never came up or broke down; costs until destroyed */
	PROV_STATE_COUNT
};

struct prov_machine {
	char ref[128];         /* the provider's id */
	char token[80];        /* tag: the intent's token; "" not ours */
	char installation[64]; /* tag: whose */
	enum prov_state state;
	char instance_type[64], region[64], zone[64], address[128];
	enum purchase purchase;
	bool other_market; /* of a create: sold otherwise than asked, spot as on demand; the core
			      ends it at once */
	int64_t created, ready_at; /* s since epoch; 0: not said. ready_at: since when, or expected
				      while pending */
	int64_t notice_at, reclaim_at; /* 0: none */
	int64_t ended;                 /* 0: not yet */
	enum berth_code why; /* of PROV_FAILED: BERTH_ECAPACITY, BERTH_EQUOTA ...; else BERTH_OK */
	char detail[192];    /* the provider's words; "preempted" if it took the machine back */
	bool preempted;
};
typedef enum berth_code prov_machine_fn(
    void *arg, const struct prov_machine *machine, struct berth_err *err);

/* One machine to make. */
struct prov_create {
	const char *token; /* of the committed intent: idempotency token and tag, [a-z0-9-], at most
			      64 bytes */
	const struct offer *offer;
	const char *name;      /* for people; NULL: the token */
	const char *ssh_key;   /* NULL: none */
	const char *user_data; /* NULL: none */
	const char *image;     /* NULL: the account's */
	const char *const *
	    avoid; /* [n_avoid] refs of machines that were bad: only where the adapter can choose */
	size_t n_avoid;
};

/* A job for a provider that runs jobs itself. */
struct prov_job {
	const char *job_id;
	int64_t attempt;   /* of the job on this machine: a start of the same one is no second */
	double work_hours; /* the whole work on this machine, if it runs as the accelerator table
			      rates it; > 0 */
	double progress;   /* share already done, 0 <= p < 1: where to resume */
	int64_t checkpoint_interval_s; /* 0: no checkpoints, progress is safe only at the end */
	int64_t checkpoint_write_s;    /* time one write takes from the work */
	int64_t restart_s;             /* time before work goes on */
	const char *command;           /* shell text; a simulated cloud ignores it */
	int rank, nodes;               /* of a gang; nodes 0 or 1: the machine is alone */
	int gpus;                      /* accelerators of each machine */
	const char *const *hosts;      /* [nodes] of a gang, by rank */
};

enum prov_run_state {
	PROV_RUN_WAITING, /* machine or restart not over yet */
	PROV_RUN_RUNNING,
	PROV_RUN_DONE,
	PROV_RUN_FAILED, /* the work itself failed */
	PROV_RUN_LOST,   /* the machine went away under it */
	PROV_RUN_STOPPED,
	PROV_RUN_STATE_COUNT
};

struct prov_run {
	enum prov_run_state state;
	double progress;      /* share of the whole work, 0..1 */
	double safe_progress; /* share that a new try can resume from */
	bool silent;          /* the job itself says nothing of its progress */
	bool busy_known;      /* the machine tells ... */
	double busy;     /* ... the share of time that its busiest accelerator works now, 0..1 */
	int64_t started; /* when work began; 0: not yet */
	int64_t ended;   /* 0: not yet */
	int64_t notice_at, reclaim_at; /* of its machine; 0: none */
	int exit_status;               /* of PROV_RUN_FAILED */
	char detail[192];
};

/*
 * One row of an adapter's error table. The first row that fits an answer decides, before the
 * general rules of HTTP. Ends with a row whose three keys are all empty.
 */
struct prov_error_row {
	int status;       /* 0: any */
	const char *code; /* glob on the error code; NULL: any */
	const char *text; /* part of the message, any case; NULL: any */
	enum berth_code to;
};

/* The provider's own words for a refusal, as found in an answer. */
struct prov_error {
	char code[96], text[256];
};

#define PROV_BUILD(name, ...)                                                                      \
	enum berth_code (*name##_build)(                                                           \
	    void *st, __VA_ARGS__, struct http_req *req, struct berth_err *err)
#define PROV_PARSE(name, ...)                                                                      \
	enum berth_code (*name##_parse)(                                                           \
	    void *st, const struct http_resp *resp, __VA_ARGS__, struct berth_err *err)

/*
 * How an account proves who it is. now: s since epoch, corrected by the provider's Date. For each
 * call the core does: while need(): step (at most PROV_STEPS_MAX); build; sign; send. On a first
 * 401, or another answer that the error table calls BERTH_EAUTH and that is no plain 403: drop, and
 * all of it once more. On a 400, 401 or 403, or a BERTH_EAUTH within a 200, whose Date is off by
 * more than PROV_SKEW_S: the clock is corrected once and the call sent again. Each repeat is built
 * and signed anew.
 */
#define PROV_STEPS_MAX 8
#define PROV_SKEW_S 60
struct prov_auth_ops {
	/* A step must be made before a call may go out at now; a token that ends soon is renewed
	 * before it ends. NULL: no steps */
	bool (*need)(void *st, int64_t now);
	/*
	 * One exchange for credentials: a token request, IMDSv2, keystone, assume-role; sent as
	 * built, sign is not called. A refusal with 4xx is BERTH_EAUTH unless the error table says
	 * otherwise; step_parse gets what is no refusal, or with req->any_status every answer.
	 */
	PROV_BUILD(step, int64_t now);
	PROV_PARSE(step, int64_t now);
	void (*drop)(
	    void *st); /* forget tokens, so that need() is true again; NULL: nothing to forget */
	/* Signs req just before it is sent; called anew for each attempt, so it replaces what it
	 * set before. NULL: none */
	enum berth_code (*sign)(void *st, struct http_req *req, int64_t now, struct berth_err *err);
};

#define PROV_CHECK_DETAIL 1024 /* room for every permission that berth needs */
/* One question of doctor that costs nothing: may this account launch here? */
struct prov_check {
	char name[64];        /* what is asked, in the provider's words: "ec2:RunInstances" */
	enum berth_code code; /* BERTH_OK: it may */
	char detail[PROV_CHECK_DETAIL]; /* the provider's words, or what is missing; "" */
};

/* A region of an account that tells its quotas region by region. */
struct prov_part {
	const char *region; /* "" none: what is asked is of the whole account */
	char next[64];      /* the cursor of the one behind it; "" it is the last */
};

struct prov_market_ops {
	PROV_BUILD(offers, const struct prov_query *q, const struct prov_cursor *cur);
	PROV_PARSE(offers, struct prov_cursor *cur, prov_offer_fn *emit, void *arg);
	PROV_BUILD(quota, const struct prov_cursor *cur);
	PROV_PARSE(quota, struct prov_cursor *cur, prov_quota_fn *emit, void *arg);
	/* Whose the page of quotas is that was built last: where it is not to be had the core goes
	 * on behind it. NULL: they are all told at once. */
	void (*quota_part)(const void *st, struct prov_part *out);
	PROV_BUILD(notices, const struct prov_cursor *cur);
	PROV_PARSE(notices, struct prov_cursor *cur, prov_machine_fn *emit, void *arg);
};

struct prov_lease_ops {
	PROV_BUILD(create, const struct prov_create *c);
	PROV_PARSE(create, const struct prov_create *c, struct prov_machine *machine_out);
	PROV_BUILD(status, const char *ref);
	PROV_PARSE(status, const char *ref, struct prov_machine *machine_out);
	/*
	 * NULL: one exchange says a machine's status. Else it is called with begin before the first
	 * build (the value does not count), and without after each parse: true asks for another
	 * build and parse.
	 */
	bool (*more)(void *st, bool begin);
	PROV_BUILD(destroy, const char *ref);
	PROV_PARSE(destroy, const char *ref, struct prov_machine *machine_out);
	PROV_BUILD(list, const struct prov_cursor *cur);
	PROV_PARSE(list, struct prov_cursor *cur, prov_machine_fn *emit, void *arg);
	/*
	 * Optional: permissions beyond what a cheap read shows (EC2 DryRun), question by question
	 * from n = 0. Build answers BERTH_ENOTFOUND where there is no n-th; parse gets every
	 * answer, of any status, with code and detail of *check_out already set as the core judges
	 * it ("" and BERTH_OK for a 2xx).
	 */
	PROV_BUILD(check, int n);
	PROV_PARSE(check, int n, struct prov_check *check_out);
};

struct prov_run_ops {
	PROV_BUILD(start, const char *ref, const struct prov_job *job);
	PROV_PARSE(start, const char *ref, struct prov_run *run_out);
	PROV_BUILD(
	    poll, const char *ref, const char *job_id, int64_t interval_s); /* see prov_poll() */
	PROV_PARSE(poll, const char *ref, struct prov_run *run_out);
	PROV_BUILD(stop, const char *ref, const char *job_id);
	PROV_PARSE(stop, const char *ref, struct prov_run *run_out);
	PROV_BUILD(measure, const char *ref);
	PROV_PARSE(measure, const char *ref, const char **json_out); /* in resp->arena */
};

struct provider_ops {
	unsigned abi, caps;  /* PROVIDER_ABI; PROV_CAP_* */
	const char *name;    /* lower case, never changes: a key in the store */
	const char *summary; /* one line */
	size_t state_size;
	const struct prov_key *keys;
	const struct prov_error_row *errors;
	/* True if resp is a refusal, of any HTTP status; error_out gets code and message, "" where
	 * there is none. NULL: by status. */
	bool (*error_read)(const struct http_resp *resp, struct prov_error *error_out);
	enum berth_code (*open)(void *st, const struct prov_env *env, struct berth_err *err);
	void (*close)(void *st); /* wipes secrets; cannot fail; NULL: nothing to do */
	/* Trust, certificate and proxy that the account's own files say, into what berth.yaml said;
	 * NULL: none. Borrowed until close */
	void (*wire)(void *st, struct http_config *conf);
	const struct prov_auth_ops *auth; /* NULL: requests are whole as built */
	const struct prov_market_ops *market;
	const struct prov_lease_ops *lease;
	const struct prov_run_ops *run;
	/*
	 * A cloud inside this process, or commands of this machine, answer here to URLs other than
	 * http and https; NULL: the wire alone. Any refusal is an answer with a status, as on the
	 * wire.
	 */
	enum berth_code (*exchange)(
	    void *st, const struct http_req *req, struct http_resp *resp, struct berth_err *err);
};

/* Nothing of it is on the wire: what proves who it is has no use for a cloud inside this process.
 */
static inline bool
provider_is_local(const struct provider_ops *ops)
{
	return ops->exchange != NULL && ops->auth == NULL;
}

#endif
