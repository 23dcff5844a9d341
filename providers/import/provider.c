#include <string.h>
#include <sys/stat.h>

#include "providers/aws/aws_file.h"
#include "providers/import/import.h"
#include "providers/prov.h"
#include "util/arena.h"
#include "util/fileio.h"
#include "util/log.h"
#include "util/str.h"

#define IMPORT_FILE_MAX ((size_t)256 * 1024 * 1024)
#define IMPORT_TOLD_MAX 20 /* refused rows named in the log; the rest is a number */

struct import_account {
	const struct prov_env *env;
	const char *const *files; /* [n_files] */
	size_t n_files;
};

static const struct prov_key import_keys[] = {
	{ "files", PROV_KEY_STRINGS, true, "price files, in any layout of berth-prices(1)" },
	{ "vendor", PROV_KEY_STRING, false, "who sells, for layouts that do not say it" },
	{ NULL, PROV_KEY_STRING, false, NULL },
};

static enum berth_code
import_open(void *st, const struct prov_env *env, struct berth_err *err)
{
	struct import_account *acc = st;

	acc->env = env;
	acc->n_files = prov_conf_strings(env->conf, "files", &acc->files);
	return acc->n_files > 0 ? BERTH_OK : err_set(err, BERTH_EINVAL, "'files' names no file");
}

/* One file is one page. */
static enum berth_code
import_offers_build(void *st, const struct prov_query *q, const struct prov_cursor *cur,
    struct http_req *req, struct berth_err *err)
{
	const struct import_account *acc = st;
	const char *path = acc->files[(size_t)cur->page < acc->n_files ? (size_t)cur->page : 0];

	(void)q, (void)err;
	if (path[0] != '/' && acc->env->config_dir[0] != '\0')
		path = arena_printf(req->arena, "%s/%s", acc->env->config_dir, path);
	http_req_url(req, "file://%s", path);
	return BERTH_OK;
}

struct import_told {
	const struct prov_env *env;
	const char *file;
	long n;
};

static void
import_tell(void *arg, long line, const char *provider, bool refused, const char *message)
{
	struct import_told *t = arg;

	(void)provider;
	if (refused && t->n++ < IMPORT_TOLD_MAX)
		log_warn(t->env->log, "%s: %s:%ld: %s", t->env->account, t->file, line, message);
}

static enum berth_code
import_offers_parse(void *st, const struct http_resp *resp, struct prov_cursor *cur,
    prov_offer_fn *emit, void *arg, struct berth_err *err)
{
	const struct import_account *acc = st;
	const char *file = acc->files[(size_t)cur->page];
	struct import_told told = { acc->env, file, 0 };
	struct import_opts o = {
		.provider = prov_conf_str(acc->env->conf, "vendor", NULL),
		.source = file,
		.accels = acc->env->accels,
		.now = acc->env->now,
		.as_of = resp->cached,
		.note = import_tell,
		.note_arg = &told,
	};
	struct import_result r;
	struct csv *csv = NULL;
	enum berth_code rc;

	if (aws_file_is_json(resp->body, resp->body_len))
		rc = aws_file_read(
		    NULL, resp->body, resp->body_len, false, &o, resp->arena, &r, err);
	else if ((rc = csv_open_bytes(resp->body, resp->body_len, file, &csv, err)) == BERTH_OK)
		rc = import_read(csv, &o, resp->arena, &r, err);
	for (size_t i = 0; rc == BERTH_OK && i < r.offers.n; i++)
		rc = emit(arg, &r.offers.v[i], err);
	csv_close(csv);
	for (size_t i = 0; rc == BERTH_OK && i < r.unknown_places.n; i++)
		log_warn(acc->env->log, "%s: %s: '%s' is no region of AWS that berth knows",
		    acc->env->account, file, r.unknown_places.v[i]);
	if (rc == BERTH_OK && told.n > IMPORT_TOLD_MAX)
		log_warn(acc->env->log, "%s: %s: %ld rows refused in all", acc->env->account, file,
		    told.n);
	if (rc == BERTH_OK && (size_t)cur->page + 1 < acc->n_files)
		str_copy(
		    cur->next, sizeof(cur->next), arena_printf(resp->arena, "%d", cur->page + 1));
	return rc;
}

static enum berth_code
import_exchange(void *st, const struct http_req *req, struct http_resp *resp, struct berth_err *err)
{
	const char *path = req->url + strlen("file://");
	char *bytes = NULL;
	enum berth_code rc;
	struct stat file;

	(void)st;
	if (stat(path, &file) == 0)
		resp->cached = file.st_mtime; /* rows without a date are as old as the file */
	rc = fileio_slurp(req->arena, path, IMPORT_FILE_MAX, &bytes, &resp->body_len, err);
	if (rc != BERTH_OK)
		return rc;
	resp->body = bytes;
	resp->status = 200;
	return BERTH_OK;
}

static const struct prov_market_ops import_market = {
	.offers_build = import_offers_build,
	.offers_parse = import_offers_parse,
};

const struct provider_ops provider_import = {
	.abi = PROVIDER_ABI,
	.caps = PROV_CAP_OFFERS,
	.name = "import",
	.summary = "price lists in files: berth's own CSV, SkyPilot and gpuhunt catalogues",
	.state_size = sizeof(struct import_account),
	.keys = import_keys,
	.open = import_open,
	.market = &import_market,
	.exchange = import_exchange,
};
