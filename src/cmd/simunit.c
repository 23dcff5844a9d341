#include "cmd/simunit.h"

#include "cmd/cmd.h"
#include "cmd/plan_join.h"
#include "util/arena.h"
#include "util/json.h"

enum berth_code
simunit_read(struct cmd_ctx *ctx, const struct series *rows, struct fc_series *s, size_t n,
    struct unit **units_out, struct berth_err *err)
{
	struct unit *u = arena_array(ctx->arena, n + 1, sizeof(*u));
	const struct accel_table *accels;
	enum berth_code rc = cmd_accels(ctx, &accels, err);

	for (size_t i = 0; i < n && rc == BERTH_OK; i++) {
		const char *name, *say;
		const struct accel *accel =
		    series_is_gpus(&rows[i]) ? plan_accel(accels, &rows[i], NULL, ctx->arena, &name)
					     : NULL;

		if (accel == NULL)
			continue;
		rc = unit_one(ctx->store, accels, &rows[i], accel, &s[i], ctx->arena, &u[i], err);
		say = rc == BERTH_OK && u[i].mixed ? unit_say(&u[i], accel, ctx->arena) : NULL;
		if (say != NULL)
			cmd_note(ctx, "series %s: %s", rows[i].name, say);
	}
	*units_out = u;
	return rc;
}

void
simunit_json(struct jsonw *w, const struct series *rows, const struct unit *units, size_t n)
{
	jsonw_begin_array(w, "units");
	for (size_t i = 0; i < n; i++) {
		if (units[i].in == NULL)
			continue;
		jsonw_begin_object(w, NULL);
		jsonw_str(w, "series", rows[i].name);
		unit_json(w, &units[i]);
		jsonw_end_object(w);
	}
	jsonw_end_array(w);
}
