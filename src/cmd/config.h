/* src/cmd/config.h - berth.yaml.  Floor: cmd. */
#ifndef BERTH_CMD_CONFIG_H
#define BERTH_CMD_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/jobdefaults.h"
#include "util/err.h"

struct arena;
struct yaml_node;

struct config_account {
	const char *name; /* unique; [a-z0-9._-]{1,63} */
	const char *provider;
	const struct yaml_node *node; /* the account's mapping: the provider's schema checks every
					 key but name and provider */
};

struct config_defaults {
	double service_level;    /* 0..1 exclusive; 0.95 */
	int64_t horizon_s;       /* 0: not said */
	const char *zone;        /* clock of days and weeks; NULL: UTC */
	const char *holidays;    /* file or country; NULL: none */
	struct job_defaults job; /* for jobs and plans */
};

/* How long samples are kept as they are before they are rolled up, and records before they are
 * deleted; 0: for ever. */
struct config_retention {
	int64_t raw_s, hourly_s;
	int64_t records_s;
};

struct config {
	const char *path; /* the file, "" if there is none: all defaults */
	const char
	    *dir; /* its folder: what relative paths in it start from; "" the working directory */
	const char *store;                     /* as written, or NULL */
	const char *roadmap;                   /* berth-roadmap(5), as written, or NULL */
	const struct config_account *accounts; /* [n_accounts] in the file's order */
	size_t n_accounts;
	struct config_defaults defaults;
	struct config_retention retention;
	const struct yaml_node *root; /* NULL without a file */
};

/*
 * The file that would be read: option if not NULL, else $BERTH_CONFIG, else the first that exists
 * of $XDG_CONFIG_HOME/berth/berth.yaml ($HOME/.config without XDG_CONFIG_HOME) and
 * /etc/berth/berth.yaml; "" if none.
 */
const char *config_find(struct arena *a, const char *option);
/*
 * Reads and checks path ("" gives the defaults). Everything lives in the arena.
 * Errors: BERTH_EINVAL with where = file:line:col (bad YAML, unknown key with a suggestion, wrong
 * value, an account twice), BERTH_ENOTFOUND, BERTH_EIO.
 */
BERTH_MUST_CHECK enum berth_code config_load(
    struct arena *a, const char *path, struct config *config_out, struct berth_err *err);
/* The account of that name; NULL if none. */
const struct config_account *config_account_find(const struct config *c, const char *name);

#endif
