#include <math.h>
#include <string.h>

#include "model/accel.h"
#include "model/accelkey.h"
#include "util/str.h"

#define SLICE_EIGHTHS 8 /* a MIG profile's memory is a number of eighths of its card's */
#define SLICE_FIT                                                                                  \
	0.06 /* by so much a profile's name may differ from that: "3g.39gb" is 4/8 of 80 */

struct slice_profile {
	size_t at; /* where the profile begins in the name */
	int g;     /* compute slices */
	int memory_gib;
};

/* A whole number of one to three digits at s[*i]; advances *i. -1 if there is none. */
static int
slice_number(const char *s, size_t *i)
{
	int v = 0, digits = 0;

	for (; str_is_digit(s[*i]) && digits < 4; (*i)++, digits++)
		v = 10 * v + (s[*i] - '0');
	return digits == 0 || digits > 3 ? -1 : v;
}

/* "1g.10gb", also with the dot lost or mangled, and with "+me" or ".me" behind. */
static bool
slice_profile_at(const char *s, size_t at, struct slice_profile *p)
{
	size_t i = at;

	p->at = at;
	if ((p->g = slice_number(s, &i)) <= 0 || str_lower_char(s[i]) != 'g')
		return false;
	i++;
	if (s[i] == '.' || s[i] == '_' || s[i] == '-')
		i++;
	if ((p->memory_gib = slice_number(s, &i)) <= 0)
		return false;
	if (str_lower_char(s[i]) != 'g' || str_lower_char(s[i + 1]) != 'b')
		return false;
	return s[i + 2] == '\0' || s[i + 2] == '+' || str_ieq(s + i + 2, ".me");
}

static bool
slice_profile_find(const char *s, struct slice_profile *p)
{
	for (size_t i = 0; s[i] != '\0'; i++)
		if ((i == 0 || !str_is_alnum(s[i - 1])) && str_is_digit(s[i]) &&
		    slice_profile_at(s, i, p))
			return true;
	return false;
}

/* What stands in front of the profile, without "mig" and a resource's domain:
 * "nvidia.com/mig-1g.10gb" says nothing. */
static const char *
slice_parent_name(struct arena *arena, const char *s, size_t len)
{
	char *name = arena_strndup(arena, s, len);
	char *slash = strrchr(name, '/');
	size_t n;

	if (slash != NULL)
		name = slash + 1;
	for (n = strlen(name); n > 0 && !str_is_alnum(name[n - 1]); n--)
		name[n - 1] = '\0';
	if (n >= 3 && str_ieq(name + n - 3, "mig") && (n == 3 || !str_is_alnum(name[n - 4])))
		for (n -= 3; n > 0 && !str_is_alnum(name[n - 1]);)
			n--;
	name[n] = '\0';
	return name;
}

/* Eighths that a profile of g slices usually has. */
static int
slice_usual_eighths(int g)
{
	return g == 3 ? 4 : g == 7 ? SLICE_EIGHTHS : g;
}

/* The member of a group whose memory the profile's fits: only A100s of 80 GB have a 3g.39gb. */
static const struct accel *
slice_fit_parent(
    const struct accel_table *tab, const struct accel *a, const struct slice_profile *p)
{
	const int eighths[] = { slice_usual_eighths(p->g), p->g == 1 ? 2 : 0 };

	for (size_t e = 0; e < 2; e++)
		for (size_t i = 0; i < a->n_members && eighths[e] > 0; i++) {
			double memory_gib = a->members[i]->memory_gib;
			double want = memory_gib * eighths[e] / SLICE_EIGHTHS;

			if (fabs(p->memory_gib - want) <= fmax(1, SLICE_FIT * want))
				return accel_narrow(tab, a, memory_gib);
		}
	return a;
}

static bool
slice_mig(const struct accel_table *tab, struct arena *arena, const char *name,
    const struct slice_profile *p, struct accel_ref *ref)
{
	const char *parent = slice_parent_name(arena, name, p->at);
	const struct accel *a = accel_find(tab, parent);
	int slices = a != NULL ? a->mig_slices : 7;
	double eighths;

	if (p->g > slices)
		return false;
	if (a != NULL)
		a = slice_fit_parent(tab, a, p);
	ref->accel = a;
	ref->share = (double)p->g / slices;
	ref->slice_g = p->g;
	ref->memory_gib = p->memory_gib;
	if (a != NULL && !isnan(a->memory_gib)) {
		eighths = round(SLICE_EIGHTHS * p->memory_gib / a->memory_gib);
		if (eighths >= 1 && eighths <= SLICE_EIGHTHS)
			ref->memory_gib = a->memory_gib * eighths / SLICE_EIGHTHS;
	}
	ref->slice = arena_printf(arena, "%dg.%.0fgb", p->g, round(ref->memory_gib));
	return true;
}

/* A virtual GPU: "A10-4Q" is the part of an A10 that has 4 of its GiB. */
static bool
slice_vgpu(
    const struct accel_table *tab, struct arena *arena, const char *name, struct accel_ref *ref)
{
	const char *last = strrchr(name, '-');
	const struct accel *a;
	size_t i = 1;
	int gib;

	if (last == NULL || (gib = slice_number(last, &i)) <= 0 || last[i] == '\0' ||
	    last[i + 1] != '\0' || strchr("ABCQ", last[i]) == NULL)
		return false;
	a = accel_find(tab, arena_strndup(arena, name, (size_t)(last - name)));
	if (a == NULL || isnan(a->memory_gib) || gib > a->memory_gib)
		return false;
	ref->accel = a;
	ref->share = gib / a->memory_gib;
	ref->memory_gib = gib;
	ref->slice = arena_strdup(arena, last + 1);
	return true;
}

bool
accel_resolve(
    const struct accel_table *tab, struct arena *arena, const char *name, struct accel_ref *ref_out)
{
	struct slice_profile p;

	*ref_out = (struct accel_ref){
		.accel = accel_find(tab, name), .share = 1, .memory_gib = NAN, .slice = ""
	};
	if (ref_out->accel != NULL) {
		ref_out->memory_gib = ref_out->accel->memory_gib;
		return true;
	}
	if (strlen(name) >= ACCELKEY_BYTES)
		return false;
	if (slice_profile_find(name, &p))
		return slice_mig(tab, arena, name, &p, ref_out);
	return slice_vgpu(tab, arena, name, ref_out);
}

bool
accel_ref_same_class(const struct accel_ref *a, const struct accel_ref *b)
{
	return a->slice_g == b->slice_g && (a->slice_g != 0 || str_eq(a->slice, b->slice));
}
