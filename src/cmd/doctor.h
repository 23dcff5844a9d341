/* src/cmd/doctor.h - what the files of `berth doctor` share.  Floor: cmd. */
#ifndef BERTH_CMD_DOCTOR_H
#define BERTH_CMD_DOCTOR_H

#include "cmd/cmd.h"
#include "util/arena.h"
#include "util/vec.h"

struct yaml_node;

enum doctor_state { DOCTOR_OK, DOCTOR_WARN, DOCTOR_FAIL };

struct doctor_row {
	enum doctor_state state;
	const char *name, *message, *next;
};

struct doctor {
	struct cmd_ctx *ctx;
	VEC(struct doctor_row) rows;
	const struct config *config; /* NULL: could not be read */
	struct store *store;         /* NULL: none, or could not be opened */
	const char *store_path;      /* "" not known */
	const struct accel_table *accels;
	int failed, warned;
};

void doctor_add(struct doctor *d, enum doctor_state state, const char *name, const char *next,
    const char *message);
void doctor_add_err(struct doctor *d, enum doctor_state state, const char *name, const char *next,
    const struct berth_err *err);
#define DOCTOR_SAY(d, state, name, next, ...)                                                      \
	doctor_add((d), (state), (name), (next), arena_printf((d)->ctx->arena, __VA_ARGS__))

/* berth.yaml and each of its parts, as the verbs read them; fills in config. */
void doctor_config(struct doctor *d);
/* Every account: keys and credentials, and unless --offline what its cloud answers; nothing is
 * spent. */
void doctor_accounts(struct doctor *d);
/* Whether each machine of a static account's section is reached by ssh; account stands in front of
 * the lines. */
void doctor_ssh(struct doctor *d, const char *account, const struct yaml_node *section);

#endif
