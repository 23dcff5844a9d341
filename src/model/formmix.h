/* src/model/formmix.h - which products GPUs were where a series' name says less.  Floor: model.
 *
 * A form is the name of a product ("H100-PCIE-80GB"), "" where its source names the group only. A
 * mix is shares by form, as text a JSON object with its keys in order:
 * {"":0.25,"H100-PCIE-80GB":0.75}
 */
#ifndef BERTH_MODEL_FORMMIX_H
#define BERTH_MODEL_FORMMIX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/accel.h"
#include "util/arena.h"

struct form_share {
	const char *form;
	double share; /* 0..1 */
};

/* [t, until) of one mix; unit_seconds: what it has the shares of. */
struct form_run {
	int64_t t, until;
	const char *mix;
	double unit_seconds;
};

/* The form that a card or its slice says beside model, accel_model() of it: NULL where there is
 * nothing to say. */
static inline const char *
form_of(const struct accel *accel, const struct accel *model)
{
	if (accel == NULL || (accel == model && accel->n_members == 0))
		return NULL;
	return accel->n_members > 0 ? "" : accel->name;
}

/*
 * Appends the step at t to runs [*n], which have room for it. mix NULL: it is not known what its
 * GPUs were; where there were none (unit_seconds 0) it goes on as before.
 */
void form_run_add(struct form_run *run, size_t *n, int64_t t, int64_t step_s, double unit_seconds,
    const char *mix);
/*
 * The mix of amounts [n] by text[i]: a form, a mix itself, or NULL, which does not count. NULL:
 * none is left. Shares are rounded to 1e-6.
 */
const char *formmix_text(struct arena *a, const char *const *text, const double *amount, size_t n);
/* The shares of a mix by form; false: it is none. */
bool formmix_parse(struct arena *a, const char *mix, struct form_share **shares_out, size_t *n_out);

#endif
