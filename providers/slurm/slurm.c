#include <stdlib.h>
#include <string.h>

#include "providers/endpoint.h"
#include "providers/prov.h"
#include "providers/slurm/slurm.h"
#include "providers/wirejson.h"
#include "util/arena.h"
#include "util/str.h"

static const struct prov_key slurm_keys[] = {
	{ "url", PROV_KEY_STRING, false,
	    "base URL of slurmrestd; without it the cluster's commands are run" },
	{ "plain_http", PROV_KEY_BOOL, false,
	    "the URL may be http on another machine: the token then travels in the clear" },
	{ "api_version", PROV_KEY_STRING, false, "v0.0.38 to v0.0.44; the newest that answers" },
	{ "user", PROV_KEY_STRING, false,
	    "user of the jobs; needed with url; for commands who runs them" },
	{ "token", PROV_KEY_SECRET, false,
	    "JWT of slurmrestd, env:NAME or file:PATH (read anew for each call); env:SLURM_JWT" },
	{ "ssh", PROV_KEY_STRING, false,
	    "login node on which the commands are run, an ssh destination; this machine" },
	{ "bin", PROV_KEY_STRING, false, "folder of the commands; as in PATH" },
	{ "partitions", PROV_KEY_STRINGS, false, "the ones to use; all" },
	{ "gres", PROV_KEY_STRINGS, false, "generic resources that are accelerators; gpu" },
	{ "account", PROV_KEY_STRING, false, "Slurm account that is charged; the user's own" },
	{ "qos", PROV_KEY_STRING, false,
	    "quality of service of machines on demand; the user's own" },
	{ "spot_qos", PROV_KEY_STRING, false,
	    "a quality of service that others preempt, offered as spot; none" },
	{ "reservation", PROV_KEY_STRING, false, "reservation to use" },
	{ "constraint", PROV_KEY_STRING, false,
	    "node features that a machine needs, as sbatch -C has them" },
	{ "time_limit", PROV_KEY_DURATION, false,
	    "limit of a machine's life; the partition's default" },
	{ "queue_wait", PROV_KEY_DURATION, false,
	    "a job that waits longer for resources counts as no capacity; 2m" },
	{ "notice", PROV_KEY_DURATION, false, "so long before its end a machine is noticed; 5m" },
	{ "region", PROV_KEY_STRING, false, "name of the place; own" },
	{ "workdir", PROV_KEY_STRING, false, "folder in which the holder script starts; /tmp" },
	{ "output", PROV_KEY_STRING, false, "file of the holder script's output; /dev/null" },
	{ "prices", PROV_KEY_NODE, false, "what an hour costs: a list, see above" },
	{ "accelerators", PROV_KEY_NODE, false, "names for the cluster's types: a map, see above" },
	{ NULL, PROV_KEY_STRING, false, NULL },
};

/* Numbers are Slurm's own (slurm_errno.h); commands say the same in words. */
static const struct prov_error_row slurm_errors[] = {
	{ 0, "2017", NULL, BERTH_ENOTFOUND },
	{ 0, NULL, "Invalid job id specified", BERTH_ENOTFOUND },
	{ 0, "2014", NULL, BERTH_ECAPACITY },
	{ 0, NULL, "node configuration is not available", BERTH_ECAPACITY },
	{ 0, "2015", NULL, BERTH_ECAPACITY },
	{ 0, NULL, "partition configuration not available", BERTH_ECAPACITY },
	{ 0, "2016", NULL, BERTH_ECAPACITY },
	{ 0, NULL, "nodes are busy", BERTH_ECAPACITY },
	{ 0, "2050", NULL, BERTH_EQUOTA },
	{ 0, NULL, "accounting/QOS policy", BERTH_EQUOTA },
	{ 0, NULL, "limit reached", BERTH_EQUOTA },
	{ 0, "2002", NULL, BERTH_EAUTH },
	{ 0, NULL, "Access/permission denied", BERTH_EAUTH },
	{ 0, "2045", NULL, BERTH_EAUTH },
	{ 0, NULL, "Invalid account or account/partition", BERTH_EAUTH },
	{ 0, "2066", NULL, BERTH_EAUTH },
	{ 0, NULL, "Invalid qos specification", BERTH_EAUTH },
	{ 0, NULL, "rotocol authentication error", BERTH_EAUTH },
	{ 0, NULL, "Authentication failure", BERTH_EAUTH },
	{ 500, "-1", "Unspecified error",
	    BERTH_EAUTH }, /* what slurmrestd 22.05 says of a forged or old token */
	{ 0, "2000", NULL, BERTH_EPERMANENT },
	{ 0, NULL, "Invalid partition name", BERTH_EPERMANENT },
	{ 0, "2051", NULL, BERTH_EPERMANENT },
	{ 0, NULL, "time limit is invalid", BERTH_EPERMANENT },
	{ 0, "2072", NULL, BERTH_EPERMANENT },
	{ 0, NULL, "Invalid generic resource", BERTH_EPERMANENT },
	{ 0, "2115", NULL, BERTH_EPERMANENT },
	{ 0, NULL, "Trackable RESource", BERTH_EPERMANENT },
	{ 0, "2029", NULL, BERTH_EPERMANENT },
	{ 0, NULL, "Invalid feature specification", BERTH_EPERMANENT },
	{ 0, "9001", NULL, BERTH_EPERMANENT },
	{ 0, "2127", NULL, BERTH_EPERMANENT },
	{ 0, NULL, "Unknown host", BERTH_EPERMANENT },
	{ 0, NULL, "configuration source", BERTH_EPERMANENT },
	{ 0, NULL, "Unable to process configuration file", BERTH_EPERMANENT },
	{ 0, NULL, "Unable to contact slurm controller", BERTH_ETRANSIENT },
	{ 0, NULL, "Socket timed out", BERTH_ETRANSIENT },
	{ 0, NULL, "standby mode", BERTH_ETRANSIENT },
	{ 0, NULL, NULL, BERTH_OK },
};

static enum berth_code
slurm_open_rest(struct slurm *s, const char *url, struct berth_err *err)
{
	const struct prov_conf *conf = s->env->conf;
	const char *version = prov_conf_str(conf, "api_version", NULL);
	int64_t n = 0;
	enum berth_code rc;

	rc = endpoint_read(s->env, "url", url,
	    prov_conf_bool(conf, "plain_http", false) ? ENDPOINT_LOCAL : ENDPOINT_SECRETS, &s->url,
	    err);
	if (rc != BERTH_OK)
		return rc;
	if (s->user == NULL)
		return err_set(err, BERTH_EINVAL, "'url' needs 'user': whose token it is");
	s->asking = SLURM_NEWEST;
	if (version == NULL)
		return BERTH_OK;
	if (!str_starts(version, "v0.0.") ||
	    str_to_i64(version + 5, SLURM_OLDEST, SLURM_NEWEST, &n, NULL) != BERTH_OK)
		return err_set(err, BERTH_EINVAL, "api_version '%s': v0.0.%d to v0.0.%d are known",
		    version, SLURM_OLDEST, SLURM_NEWEST);
	s->version = (int)n;
	return BERTH_OK;
}

static enum berth_code
slurm_open(void *st, const struct prov_env *env, struct berth_err *err)
{
	static const char *const gpu[] = { "gpu" };
	struct slurm *s = st;
	const struct prov_conf *conf = env->conf;
	const char *url = prov_conf_str(conf, "url", NULL);
	enum berth_code rc;

	s->env = env;
	s->user = prov_conf_str(conf, "user", NULL);
	s->account = prov_conf_str(conf, "account", NULL);
	s->qos = prov_conf_str(conf, "qos", NULL);
	s->spot_qos = prov_conf_str(conf, "spot_qos", NULL);
	s->reservation = prov_conf_str(conf, "reservation", NULL);
	s->constraint = prov_conf_str(conf, "constraint", NULL);
	s->region = prov_conf_str(conf, "region", "own");
	s->workdir = prov_conf_str(conf, "workdir", "/tmp");
	s->output = prov_conf_str(conf, "output", "/dev/null");
	s->ssh = prov_conf_str(conf, "ssh", NULL);
	s->bin = prov_conf_str(conf, "bin", NULL);
	s->time_limit_s = prov_conf_int(conf, "time_limit", 0);
	s->queue_wait_s = prov_conf_int(conf, "queue_wait", 120);
	s->notice_s = prov_conf_int(conf, "notice", 300);
	s->timeout_s = (int)prov_conf_int(conf, "timeout", 30);
	s->n_partitions = prov_conf_strings(conf, "partitions", &s->partitions);
	s->n_gres = prov_conf_strings(conf, "gres", &s->gres);
	if (s->n_gres == 0) {
		s->gres = gpu;
		s->n_gres = 1;
	}
	s->pass = arena_new();
	rc = rates_read(prov_conf_node(conf, "prices"), prov_conf_node(conf, "accelerators"),
	    env->arena, &s->rates, err);
	if (rc != BERTH_OK)
		return rc;
	if (url != NULL)
		return slurm_open_rest(s, url, err);
	if (s->ssh != NULL && (s->ssh[0] == '-' || s->ssh[0] == '\0'))
		return err_set(
		    err, BERTH_EINVAL, "ssh '%s' is no address that ssh could reach", s->ssh);
	s->url = SLURM_LOCAL;
	s->version = SLURM_OLDEST;
	return BERTH_OK;
}

static void
slurm_close(void *st)
{
	struct slurm *s = st;

	arena_free(s->pass);
}

enum berth_code
slurm_request(const struct slurm *s, struct http_req *req, const char *method, bool db,
    const char *path, struct berth_err *err)
{
	req->method = method;
	http_req_url(req, "%s/%s/v0.0.%d/%s", s->url, db ? "slurmdb" : "slurm", s->version, path);
	return http_req_header(req, "Accept", "application/json", false, err);
}

static bool
slurm_need(void *st, int64_t now)
{
	const struct slurm *s = st;

	(void)now;
	return s->version == 0;
}

static enum berth_code
slurm_sign(void *st, struct http_req *req, int64_t now, struct berth_err *err)
{
	const struct slurm *s = st;
	const char *env_token = getenv("SLURM_JWT");
	char *token = NULL;
	enum berth_code rc = BERTH_OK;

	(void)now;
	if (str_eq(s->url, SLURM_LOCAL))
		return BERTH_OK;
	if (prov_conf_has(s->env->conf, "token"))
		rc = prov_conf_secret(s->env->conf, "token", &token, err);
	else if (env_token == NULL || env_token[0] == '\0')
		return err_set(err, BERTH_EAUTH,
		    "no 'token' in berth.yaml and no SLURM_JWT: make one by scontrol token "
		    "username=%s",
		    s->user);
	else if ((token = strdup(env_token)) == NULL)
		return err_set(err, BERTH_ENOMEM, "no memory for a token");
	if (rc == BERTH_OK)
		rc = http_req_set_header(req, "X-SLURM-USER-NAME", s->user, false, err);
	if (rc == BERTH_OK)
		rc = http_req_set_header(req, "X-SLURM-USER-TOKEN", token, true, err);
	if (token != NULL)
		explicit_bzero(token, strlen(token));
	free(token);
	return rc;
}

/* The newest version that the server has: others it does not know at all (404), with or without a
 * token. */
static enum berth_code
slurm_step_build(void *st, int64_t now, struct http_req *req, struct berth_err *err)
{
	const struct slurm *s = st;

	req->any_status = true;
	http_req_url(req, "%s/slurm/v0.0.%d/ping", s->url, s->asking);
	return slurm_sign(st, req, now, err);
}

/*
 * What a cancel says of its one job, beside an empty list of errors: {"status": [{"error":
 * {"string", "code", "message"}}]}.
 */
static bool
slurm_refused_one(
    const struct jsonr *root, int64_t *n_out, const char **text_out, const char **more_out)
{
	struct jsonr list = jsonr_get(root, "status"), one = jsonr_at(&list, 0),
		     e = jsonr_get(&one, "error");

	if (jsonr_int(&e, "code", INT32_MIN, INT32_MAX, n_out, NULL) != BERTH_OK || *n_out == 0)
		return false;
	(void)!jsonr_str(&e, "string", text_out, NULL);
	(void)!jsonr_str(&e, "message", more_out, NULL);
	return true;
}

/* {"errors": [{"error_number" or "error_code" or "errno", "error", "description"}]}, also beside a
 * 200. */
static bool
slurm_error_read(const struct http_resp *resp, struct prov_error *error_out)
{
	static const char *const codes[] = { "error_number", "error_code", "errno" };
	const char *text = "", *more = "";
	struct jsonr root, list, e;
	json_t *v = NULL;
	int64_t n = 0;
	bool found = false;

	memset(error_out, 0, sizeof(*error_out));
	if (wirejson_parse(resp, &v, NULL) == BERTH_OK) {
		root = jsonr_root(v, "answer");
		list = jsonr_get(&root, "errors");
		e = jsonr_at(&list, 0);
		for (size_t i = 0; i < 3 && n == 0; i++)
			(void)!jsonr_int(&e, codes[i], INT32_MIN, INT32_MAX, &n, NULL);
		(void)!jsonr_str(&e, "error", &text, NULL);
		(void)!jsonr_str(&e, "description", &more, NULL);
		found = n != 0 || text[0] != '\0' ||
			more[0] != '\0'; /* an entry without number or words refuses nothing */
		if (!found)
			found = slurm_refused_one(&root, &n, &text, &more);
		if (n != 0)
			snprintf(error_out->code, sizeof(error_out->code), "%lld", (long long)n);
		snprintf(error_out->text, sizeof(error_out->text), "%s%s%s", text,
		    text[0] != '\0' && more[0] != '\0' ? ": " : "", more);
	} else if (resp->status / 100 != 2)
		str_copy(error_out->text, sizeof(error_out->text),
		    arena_strndup(
			resp->arena, resp->body, resp->body_len < 200 ? resp->body_len : 200));
	json_decref(v);
	/* ESLURM_ALREADY_DONE of a cancel is none: its state is to be asked for */
	if (n == 2021 || strstr(error_out->text, "already completing or completed") != NULL)
		return false;
	return found || resp->status / 100 != 2;
}

static enum berth_code
slurm_step_parse(void *st, const struct http_resp *resp, int64_t now, struct berth_err *err)
{
	struct slurm *s = st;
	struct prov_error e;
	enum berth_code rc;

	(void)now;
	if (!slurm_error_read(resp, &e)) {
		s->version = s->asking;
		return BERTH_OK;
	}
	if (resp->status == 404 && s->asking > SLURM_OLDEST) {
		s->asking--;
		return BERTH_OK;
	}
	s->asking = SLURM_NEWEST;
	if (resp->status == 404)
		return err_set(err, BERTH_EPERMANENT,
		    "%s knows none of the versions v0.0.%d to v0.0.%d", s->url, SLURM_OLDEST,
		    SLURM_NEWEST);
	rc = prov_classify(&provider_slurm, resp, &e, false, NULL);
	return err_set(err, rc, "HTTP %d%s%s%s%s%s", resp->status, e.text[0] != '\0' ? " " : "",
	    e.text, rc == BERTH_EAUTH ? ": is the token still good? (scontrol token username=" : "",
	    rc == BERTH_EAUTH ? s->user : "", rc == BERTH_EAUTH ? ")" : "");
}

static const struct prov_auth_ops slurm_auth = {
	.need = slurm_need,
	.step_build = slurm_step_build,
	.step_parse = slurm_step_parse,
	.sign = slurm_sign,
};

const struct provider_ops provider_slurm = {
	.abi = PROVIDER_ABI,
	.caps = PROV_CAP_OFFERS | PROV_CAP_QUOTA | PROV_CAP_NOTICES | PROV_CAP_LEASE |
		PROV_CAP_SPOT | PROV_CAP_FREE | PROV_CAP_OWN,
	.name = "slurm",
	.summary = "a Slurm cluster, by slurmrestd or by its commands",
	.state_size = sizeof(struct slurm),
	.keys = slurm_keys,
	.errors = slurm_errors,
	.error_read = slurm_error_read,
	.open = slurm_open,
	.close = slurm_close,
	.auth = &slurm_auth,
	.market = &slurm_market,
	.lease = &slurm_lease,
	.exchange = slurm_exchange,
};
