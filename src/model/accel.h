/* src/model/accel.h - the table of accelerators: one meaning for every spelling.  Floor: model. */
#ifndef BERTH_MODEL_ACCEL_H
#define BERTH_MODEL_ACCEL_H

#include <stdbool.h>
#include <stddef.h>

#include "util/arena.h"
#include "util/err.h"

enum accel_precision {
	PRECISION_FP64,
	PRECISION_FP64_MMA,
	PRECISION_FP32,
	PRECISION_TF32,
	PRECISION_FP16,
	PRECISION_BF16,
	PRECISION_FP8,
	PRECISION_INT8,
	PRECISION_FP4,
	PRECISION_COUNT
};

/*
 * A product, or a group of products under the name that people use when they leave the rest out:
 *   family  "A100"       every product of the family
 *   model   "A100-80GB"  the products of a family with one memory size, whatever the form
 * A group that would have one member is no group: its name is another alias of that product.
 * A group's figures are the least of its members' (NaN if a member's is unknown), so that a machine
 * whose exact product nobody told us is never rated above what it may be.
 * Strings are never NULL ("" is unknown); NaN is an unknown number.
 */
struct accel {
	const char *name;   /* canonical: "A100-SXM4-80GB", "A100-80GB", "A100" */
	const char *family; /* "A100" */
	const char
	    *form; /* "SXM4" "PCIe" "NVL" ...; "" in a group, or if it comes in one form only */
	const char *vendor;    /* "NVIDIA" "AMD" "Google" ... */
	int year;              /* first sold; 0: unknown */
	double memory_gib;     /* nominal, of one device; the least in a group of several sizes */
	double bandwidth_gb_s; /* memory, peak, 1e9 bytes a second */
	double peak_tflops[PRECISION_COUNT]; /* dense peak, 1e12 operations a second */
	double link_gb_s; /* to its peers (NVLink ...), both directions together */
	double tdp_w;
	const char *compute_capability; /* "9.0", "gfx942" */
	int sm_count;                   /* SMs, compute units or cores; 0: unknown */
	int mig_slices;                 /* compute slices a card can be cut into; 0: cannot */
	const char *confidence; /* "read" "secondary" "recalled": how well the figures are known */
	const char *source;     /* URL */
	const char *note;
	const struct accel *const *members; /* [n_members] products of a group, in table order */
	size_t n_members;                   /* 0: a product */
};

struct accel_table;

/*
 * Reads the table (CSV, columns as data/README.md says) into the arena. Every alias belongs to one
 * row and equals no other row's name after normalisation. BERTH_EIO; BERTH_EINVAL with err->where =
 * "path:line". On an error tab_out is not written.
 */
BERTH_MUST_CHECK enum berth_code accel_table_load(const char *path, struct arena *arena,
    const struct accel_table **tab_out, struct berth_err *err);
/* The same from memory; name stands for the path in errors. */
BERTH_MUST_CHECK enum berth_code accel_table_parse(const char *name, const char *bytes, size_t len,
    struct arena *arena, const struct accel_table **tab_out, struct berth_err *err);
/* Finds accelerators.csv by data_path() and loads it. */
BERTH_MUST_CHECK enum berth_code accel_table_open(
    struct arena *arena, const struct accel_table **tab_out, struct berth_err *err);

/* Products in table order, then groups; n_members tells them apart. */
size_t accel_count(const struct accel_table *tab);
const struct accel *accel_at(const struct accel_table *tab, size_t i);

/*
 * The product or group of exactly this name or alias; NULL if nobody knows it. Never a prefix
 * match. Case, spaces and punctuation do not count; if the name is not found as it stands, vendor
 * and line words in front ("NVIDIA", "Tesla", "GeForce", "AMD Instinct" ...) and "Tensor Core GPU"
 * behind it are left out.
 */
const struct accel *accel_find(const struct accel_table *tab, const char *name);
/* The part of a group whose members have memory_gib (within 3 %); a itself if a is no group, none
 * has, or it is NaN. */
const struct accel *accel_narrow(
    const struct accel_table *tab, const struct accel *a, double memory_gib);
/* accel_find(), then accel_narrow(): for sources that give the memory beside the name. */
const struct accel *accel_find_sized(
    const struct accel_table *tab, const char *name, double memory_gib);
/* Family and memory without the form: A100-80GB of A100-SXM4-80GB; a itself if nothing is wider. */
const struct accel *accel_model(const struct accel_table *tab, const struct accel *a);
/*
 * Up to max names closest to an unknown one, best first ("A100-8" -> A100-80GB, A100, A100-40GB):
 * names that it begins, then those of the family that begins it, then by edit distance. Returns how
 * many; 0 if nothing is near.
 */
size_t accel_suggest(
    const struct accel_table *tab, const char *name, const char **names_out, size_t max);
/* BERTH_ENOTFOUND "unknown accelerator 'A100-8': did you mean A100-80GB, A100 or A100-40GB?" */
enum berth_code accel_unknown(
    const struct accel_table *tab, const char *name, struct berth_err *err);

/* A whole card, or a slice of one. */
struct accel_ref {
	const struct accel *accel; /* parent; NULL: not known (a bare "1g.10gb" does not say) */
	double
	    share; /* of the parent's compute: 1, or g / mig_slices, or the vGPU's memory share */
	double memory_gib; /* of this slice, as the parent's nominal eighths; of the card; NaN */
	int slice_g;       /* g of a MIG profile; 0: not MIG */
	const char
	    *slice; /* profile with nominal memory, "3g.40gb" (also for 3g.39gb); "" if whole */
};

/*
 * As accel_find(), also for slices: "a100_3g.39gb", "nvidia_h200_nvl_4g.71gb",
 * "nvidia.com/mig-1g.10gb", "A10-4Q". A bare profile has share g/7. True if name is a known card or
 * any slice; else ref_out->accel is NULL, share 1.
 */
bool accel_resolve(const struct accel_table *tab, struct arena *arena, const char *name,
    struct accel_ref *ref_out);
/* Both are slices of one class: the same g (3g.39gb and 3g.40gb), or both whole. */
bool accel_ref_same_class(const struct accel_ref *a, const struct accel_ref *b);

/*
 * Speed of a over that of b: dense peaks at that precision if both know it, else memory bandwidths;
 * NaN if neither (or either is NULL).
 */
double accel_speed_ratio(
    const struct accel *a, const struct accel *b, enum accel_precision precision);
/* The fastest product of a group, by that ratio; a product itself; NULL of NULL. */
const struct accel *accel_fastest(const struct accel *a, enum accel_precision precision);
/*
 * Speed of have at work that is told of want, at that precision: what is told of a group is told of
 * its fastest product, and a machine that does not say which of a group it is counts as what people
 * mean by the name. 1 if want is NULL (any); NaN: not known.
 */
double accel_work_ratio(
    const struct accel *have, const struct accel *want, enum accel_precision precision);

const char *accel_precision_name(enum accel_precision p); /* "bf16", "fp64_mma" */
bool accel_precision_parse(
    const char *s, enum accel_precision *p_out); /* case does not count; also "half", "float" */

/*
 * What a user asks for: NAME, NAME:MEMORY, NAME:COUNT, NAME:MEMORY:COUNT, MEMORY, MEMORY:COUNT or
 * "any" in place of NAME. MEMORY is per accelerator: 80GB (that size), 24GB..80GB, 48GB.. or 48GB+
 * (at least), ..24GB. COUNT: 8, 4..8, 4.., 4+.
 */
struct accel_spec {
	const struct accel *accel; /* product, family or model; NULL: any */
	const char *name;          /* as written, "" for any */
	double memory_min_gib;     /* nominal; 0: no limit */
	double memory_max_gib;     /* INFINITY: no limit */
	int count_min, count_max;  /* of one machine; 0 and INT_MAX if not said */
	bool count_given;
};

/* MEMORY alone: "80GB" gives both ends; false if it is none. Ends not given are 0 and INFINITY. */
bool accel_memory_parse(
    struct arena *arena, const char *text, double *min_gib_out, double *max_gib_out);

/*
 * Parses a spec. BERTH_EINVAL: syntax, or no product of that name has such a memory.
 * BERTH_ENOTFOUND: nobody knows this accelerator; the message suggests names. A spec of a family
 * with one size becomes the model's: "A100:80GB" has accel A100-80GB.
 */
BERTH_MUST_CHECK enum berth_code accel_spec_parse(const struct accel_table *tab,
    struct arena *arena, const char *text, struct accel_spec *spec_out, struct berth_err *err);

/*
 * True if a machine with this accelerator is what want means: the same product, or a member of the
 * group, or a group that lies whole within it. A machine known only as "A100-80GB" is not an
 * A100-SXM4-80GB. have NULL (unknown) is nothing but any. want NULL: any.
 */
bool accel_is(const struct accel *have, const struct accel *want);
/*
 * Whether an offer (name as its row spells it, memory per accelerator or NaN, count) satisfies the
 * spec. The lesser of the offer's memory and the table's counts; unknown memory satisfies no memory
 * limit.
 */
bool accel_spec_match(const struct accel_spec *spec, const struct accel_table *tab,
    const char *accelerator, double memory_gib, int count);

#endif
