#include <stdlib.h>
#include <string.h>

#include "providers/aws/aws.h"
#include "providers/inifile.h"
#include "providers/prov.h"
#include "util/arena.h"
#include "util/fileio.h"
#include "util/str.h"

#define AWS_FILE_MAX ((size_t)1024 * 1024)

struct aws_files {
	struct inifile config, credentials;
};

static const char *
aws_getenv(const char *name)
{
	const char *s = getenv(name);

	return s != NULL && s[0] != '\0' ? s : NULL;
}

/* Absent is fine: the chain goes on. */
static enum berth_code
aws_read_file(struct aws *w, struct inifile *ini, const char *variable, const char *in_home,
    struct berth_err *err)
{
	const char *path = aws_getenv(variable), *home = aws_getenv("HOME");
	char *text = NULL;
	enum berth_code rc;

	if (path == NULL && home == NULL)
		return BERTH_OK;
	if (path == NULL)
		path = arena_printf(w->env->arena, "%s/.aws/%s", home, in_home);
	else if (str_starts(path, "~/") && home != NULL)
		path = arena_printf(w->env->arena, "%s%s", home, path + 1);
	if (!fileio_exists(path))
		return BERTH_OK;
	if ((rc = fileio_slurp(w->env->arena, path, AWS_FILE_MAX, &text, NULL, err)) != BERTH_OK)
		return rc;
	inifile_read(ini, w->env->arena, text);
	explicit_bzero(text, strlen(text));
	return BERTH_OK;
}

static const char *
aws_config_section(struct arena *a, const char *profile)
{
	return str_eq(profile, "default") ? profile : arena_printf(a, "profile %s", profile);
}

/* Of the profile: the credentials file first, as the official tools do. */
static const char *
aws_setting(struct aws *w, const struct aws_files *f, const char *profile, const char *key)
{
	const char *v = inifile_get(&f->credentials, profile, key);

	return v != NULL ? v
			 : inifile_get(&f->config, aws_config_section(w->env->arena, profile), key);
}

/* Keys as text into the first credentials; control characters are refused here, before any call. */
static enum berth_code
aws_take_keys(struct aws *w, const char *id, const char *secret, const char *token,
    const char *found, struct berth_err *err)
{
	struct aws_cred *c = &w->auth.cred[0];
	struct arena *a = arena_new();
	char *clean = NULL;
	enum berth_code rc;

	if ((rc = sign_key_text(a, "access key id", id, &clean, err)) == BERTH_OK &&
	    !str_copy(c->id, sizeof(c->id), clean))
		rc = err_set(err, BERTH_EAUTH, "access key id is too long");
	if (rc == BERTH_OK &&
	    (rc = sign_key_text(a, "secret access key", secret, &clean, err)) == BERTH_OK &&
	    !str_copy(c->secret, sizeof(c->secret), clean))
		rc = err_set(err, BERTH_EAUTH, "secret access key is too long");
	if (rc == BERTH_OK && token != NULL && token[0] != '\0' &&
	    (rc = sign_key_text(a, "session token", token, &clean, err)) == BERTH_OK &&
	    !str_copy(c->token, sizeof(c->token), clean))
		rc = err_set(err, BERTH_EAUTH, "session token is too long");
	if (clean != NULL)
		explicit_bzero(clean, strlen(clean));
	arena_free(a);
	if (rc != BERTH_OK)
		return err_ctx(err, "%s", found);
	c->set = true;
	w->auth.source = AWS_SRC_KEYS;
	w->auth.found = found;
	return BERTH_OK;
}

static enum berth_code
aws_push_role(struct aws *w, const char *arn, const char *session, const char *external_id,
    struct berth_err *err)
{
	if (w->auth.n_roles == AWS_ROLES_MAX)
		return err_set(err, BERTH_EINVAL, "more than %d roles assumed one from the other",
		    AWS_ROLES_MAX);
	w->auth.roles[w->auth.n_roles++] =
	    (struct aws_role){ arn, session != NULL ? session : "berth", external_id };
	return BERTH_OK;
}

static enum berth_code
aws_from_keys(struct aws *w, bool *found_out, struct berth_err *err)
{
	char *id = NULL, *secret = NULL, *token = NULL;
	const struct prov_conf *conf = w->env->conf;
	enum berth_code rc;

	*found_out = prov_conf_has(conf, "access_key_id");
	if (!*found_out)
		return BERTH_OK;
	if (!prov_conf_has(conf, "secret_access_key"))
		return err_set(err, BERTH_EINVAL, "access_key_id without secret_access_key");
	if ((rc = prov_conf_secret(conf, "access_key_id", &id, err)) == BERTH_OK &&
	    (rc = prov_conf_secret(conf, "secret_access_key", &secret, err)) == BERTH_OK &&
	    (!prov_conf_has(conf, "session_token") ||
		(rc = prov_conf_secret(conf, "session_token", &token, err)) == BERTH_OK))
		rc = aws_take_keys(w, id, secret, token, "the keys of berth.yaml", err);
	if (secret != NULL)
		explicit_bzero(secret, strlen(secret));
	if (token != NULL)
		explicit_bzero(token, strlen(token));
	free(id);
	free(secret);
	free(token);
	return rc;
}

static enum berth_code
aws_from_env(struct aws *w, bool *found_out, struct berth_err *err)
{
	const char *id = aws_getenv("AWS_ACCESS_KEY_ID"),
		   *secret = aws_getenv("AWS_SECRET_ACCESS_KEY");

	*found_out = id != NULL;
	if (id == NULL)
		return BERTH_OK;
	if (secret == NULL)
		return err_set(
		    err, BERTH_EAUTH, "AWS_ACCESS_KEY_ID is set and AWS_SECRET_ACCESS_KEY is not");
	return aws_take_keys(
	    w, id, secret, aws_getenv("AWS_SESSION_TOKEN"), "the environment", err);
}

static void
aws_from_web(
    struct aws *w, const char *file, const char *arn, const char *session, const char *found)
{
	w->auth.source = AWS_SRC_WEB;
	w->auth.found = found;
	w->auth.web_file = file;
	w->auth.web_role = (struct aws_role){ arn, session != NULL ? session : "berth", NULL };
}

/* Keys of a task: the address is the host agent's, TLS, or this machine's own (botocore allows the
 * same hosts). */
static enum berth_code
aws_from_container(struct aws *w, bool *found_out, struct berth_err *err)
{
	static const char *const hosts[] = { "https://", "http://127.", "http://localhost",
		"http://[::1]", "http://169.254.170.2", "http://169.254.170.23",
		"http://[fd00:ec2::23]", NULL };
	const char *rel = aws_getenv("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"),
		   *full = aws_getenv("AWS_CONTAINER_CREDENTIALS_FULL_URI");
	bool ok = false;

	*found_out = rel != NULL || full != NULL;
	if (!*found_out)
		return BERTH_OK;
	w->auth.container_url = rel != NULL
				    ? arena_printf(w->env->arena, "http://169.254.170.2%s%s",
					  rel[0] == '/' ? "" : "/", rel)
				    : arena_strdup(w->env->arena, full);
	for (size_t i = 0; hosts[i] != NULL; i++) {
		const char *behind = w->auth.container_url + strlen(hosts[i]);

		ok |= str_starts(w->auth.container_url, hosts[i]) &&
		      (behind[-1] == '/' || behind[-1] == '.' || *behind == ':' || *behind == '/' ||
			  *behind == '\0');
	}
	if (!ok)
		return err_set(err, BERTH_EINVAL,
		    "AWS_CONTAINER_CREDENTIALS_FULL_URI: plain http to a host that is not this "
		    "machine's");
	w->auth.container_token = aws_getenv("AWS_CONTAINER_AUTHORIZATION_TOKEN");
	w->auth.container_token_file = aws_getenv("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE");
	w->auth.source = AWS_SRC_CONTAINER;
	w->auth.found = "the container's credentials";
	return BERTH_OK;
}

static enum berth_code aws_from_profile(struct aws *w, const struct aws_files *f,
    const char *profile, int depth, bool own_keys, bool *found_out, struct berth_err *err);

static enum berth_code
aws_from_machine(struct aws *w, enum aws_source source, const char *found, struct berth_err *err)
{
	const char *off = aws_getenv("AWS_EC2_METADATA_DISABLED");

	if (off != NULL && str_ieq(off, "true"))
		return err_set(err, BERTH_EAUTH,
		    "no credentials were found, and AWS_EC2_METADATA_DISABLED keeps berth from "
		    "asking the metadata service");
	w->auth.source = source;
	w->auth.found = found;
	return BERTH_OK;
}

/* credential_source of a profile with a role. */
static enum berth_code
aws_from_named(struct aws *w, const char *named, bool *found_out, struct berth_err *err)
{
	if (str_eq(named, "Environment"))
		return aws_from_env(w, found_out, err);
	if (str_eq(named, "EcsContainer"))
		return aws_from_container(w, found_out, err);
	*found_out = str_eq(named, "Ec2InstanceMetadata");
	if (!*found_out)
		return err_set(err, BERTH_EINVAL,
		    "credential_source '%s': must be Environment, EcsContainer or "
		    "Ec2InstanceMetadata",
		    named);
	return aws_from_machine(w, AWS_SRC_IMDS, "the metadata service", err);
}

static enum berth_code
aws_from_role(
    struct aws *w, const struct aws_files *f, const char *profile, int depth, struct berth_err *err)
{
	const char *arn = aws_setting(w, f, profile, "role_arn"),
		   *session = aws_setting(w, f, profile, "role_session_name");
	const char *source = aws_setting(w, f, profile, "source_profile"),
		   *named = aws_setting(w, f, profile, "credential_source");
	const char *web = aws_setting(w, f, profile, "web_identity_token_file");
	bool found = false;
	enum berth_code rc;

	if (web != NULL) {
		aws_from_web(
		    w, web, arn, session, arena_printf(w->env->arena, "profile '%s'", profile));
		return BERTH_OK;
	}
	if (source != NULL)
		rc =
		    aws_from_profile(w, f, source, depth + 1, str_eq(source, profile), &found, err);
	else if (named != NULL)
		rc = aws_from_named(w, named, &found, err);
	else
		return err_set(err, BERTH_EINVAL,
		    "profile '%s': role_arn without source_profile or credential_source", profile);
	if (rc == BERTH_OK && !found)
		rc = err_set(err, BERTH_EAUTH, "profile '%s': no credentials in its source '%s'",
		    profile, source != NULL ? source : named);
	return rc == BERTH_OK
		   ? aws_push_role(w, arn, session, aws_setting(w, f, profile, "external_id"), err)
		   : rc;
}

/* Keys of one section of one file. */
static enum berth_code
aws_from_section(struct aws *w, const struct inifile *ini, const char *section, const char *found,
    bool *found_out, struct berth_err *err)
{
	const char *id = inifile_get(ini, section, "aws_access_key_id"),
		   *secret = inifile_get(ini, section, "aws_secret_access_key");

	*found_out = id != NULL;
	if (id == NULL)
		return BERTH_OK;
	if (secret == NULL)
		return err_set(
		    err, BERTH_EAUTH, "%s: aws_access_key_id without aws_secret_access_key", found);
	return aws_take_keys(
	    w, id, secret, inifile_get(ini, section, "aws_session_token"), found, err);
}

/*
 * Keys of the credentials file, then a program, then keys of the config file: botocore's order.
 * own_keys: these and not its role, for a profile that is its own source.
 */
static enum berth_code
aws_from_profile(struct aws *w, const struct aws_files *f, const char *profile, int depth,
    bool own_keys, bool *found_out, struct berth_err *err)
{
	const char *command = aws_setting(w, f, profile, "credential_process");
	const char *found = arena_printf(w->env->arena, "profile '%s'", profile);
	enum berth_code rc;

	*found_out = true;
	if (depth > AWS_ROLES_MAX)
		return err_set(
		    err, BERTH_EINVAL, "profile '%s': source_profile goes in a circle", profile);
	if (!own_keys && aws_setting(w, f, profile, "role_arn") != NULL)
		return aws_from_role(w, f, profile, depth, err);
	if ((rc = aws_from_section(w, &f->credentials, profile, found, found_out, err)) !=
		BERTH_OK ||
	    *found_out)
		return rc;
	if (command != NULL) {
		w->auth.source = AWS_SRC_PROCESS;
		w->auth.command = command;
		w->auth.found = found;
		*found_out = true;
		return BERTH_OK;
	}
	rc = aws_from_section(
	    w, &f->config, aws_config_section(w->env->arena, profile), found, found_out, err);
	if (rc != BERTH_OK || *found_out)
		return rc;
	if (aws_setting(w, f, profile, "sso_session") != NULL ||
	    aws_setting(w, f, profile, "sso_start_url") != NULL)
		return err_set(err, BERTH_EAUTH,
		    "%s signs on by SSO: give it credential_process = aws configure "
		    "export-credentials --profile %s",
		    found, profile);
	return BERTH_OK;
}

/*
 * In the order of the official tools: own keys, environment, a profile's role, web identity,
 * profile, container, metadata. The environment's web identity goes before that of a profile.
 */
static enum berth_code
aws_chain_walk(struct aws *w, const struct aws_files *f, const char *profile, bool named,
    struct berth_err *err)
{
	const char *web = aws_getenv("AWS_WEB_IDENTITY_TOKEN_FILE"),
		   *arn = aws_getenv("AWS_ROLE_ARN");
	bool found = false, role = aws_setting(w, f, profile, "role_arn") != NULL &&
				   aws_setting(w, f, profile, "web_identity_token_file") == NULL;
	enum berth_code rc;

	if ((rc = aws_from_keys(w, &found, err)) != BERTH_OK || found)
		return rc;
	if (!named && ((rc = aws_from_env(w, &found, err)) != BERTH_OK || found))
		return rc;
	if (!named && !role && web != NULL && arn != NULL) {
		aws_from_web(w, web, arn, aws_getenv("AWS_ROLE_SESSION_NAME"),
		    "the web identity of the environment");
		return BERTH_OK;
	}
	if ((rc = aws_from_profile(w, f, profile, 0, false, &found, err)) != BERTH_OK || found)
		return rc;
	if ((rc = aws_from_container(w, &found, err)) != BERTH_OK || found)
		return rc;
	return aws_from_machine(w, AWS_SRC_NONE,
	    !named ? "the metadata service, for nothing else gave any"
		   : arena_printf(w->env->arena,
			 "the metadata service, for profile '%s' holds no credentials", profile),
	    err);
}

enum berth_code
aws_chain_find(struct aws *w, const char **region_out, struct berth_err *err)
{
	const char *own = prov_conf_str(w->env->conf, "profile", NULL),
		   *profile = own != NULL ? own : aws_getenv("AWS_PROFILE");
	const char *role = prov_conf_str(w->env->conf, "role_arn", NULL), *region;
	struct aws_files f = { 0 };
	enum berth_code rc;

	if ((rc = aws_read_file(w, &f.credentials, "AWS_SHARED_CREDENTIALS_FILE", "credentials",
		 err)) != BERTH_OK ||
	    (rc = aws_read_file(w, &f.config, "AWS_CONFIG_FILE", "config", err)) != BERTH_OK)
		return rc;
	if (profile != NULL && !inifile_has(&f.credentials, profile) &&
	    !inifile_has(&f.config, aws_config_section(w->env->arena, profile)))
		return err_set(err, BERTH_EAUTH,
		    "no profile '%s' in ~/.aws/config or ~/.aws/credentials", profile);
	if (profile == NULL)
		profile = "default";
	rc = aws_chain_walk(w, &f, profile, own != NULL, err);
	if (rc == BERTH_OK && role != NULL)
		rc = aws_push_role(
		    w, role, NULL, prov_conf_str(w->env->conf, "external_id", NULL), err);
	region = aws_getenv("AWS_REGION");
	if (region == NULL)
		region = aws_getenv("AWS_DEFAULT_REGION");
	if (region == NULL)
		region = aws_setting(w, &f, profile, "region");
	*region_out = region != NULL ? arena_strdup(w->env->arena, region) : NULL;
	inifile_wipe(&f.credentials, "aws_");
	inifile_wipe(&f.config, "aws_");
	return rc;
}
