#include <math.h>
#include <string.h>

#include "model/accel.h"
#include "providers/huawei/huawei.h"
#include "util/arena.h"
#include "util/str.h"

#define HUAWEI_CARDS_MAX 64

/* A card as some field tells it; name "" if it does not. */
struct huawei_card {
	const char *name;
	double count, gib;
};

static const struct {
	const char *word;
	enum huawei_sale is;
} huawei_sales[] = {
	{ "normal", HUAWEI_SOLD },
	{ "promotion", HUAWEI_SOLD },
	{ "obt", HUAWEI_SOLD },
	{ "available", HUAWEI_SOLD },
	{ "sellout", HUAWEI_SOLD_OUT },
	{ "obt_sellout", HUAWEI_SOLD_OUT },
	{ "abandon", HUAWEI_NONE },
	{ "private", HUAWEI_NONE },
	{ "test", HUAWEI_NONE },
};

enum huawei_sale
huawei_sale(const char *word, enum huawei_sale otherwise)
{
	if (word[0] == '\0')
		return otherwise;
	for (size_t i = 0; i < sizeof(huawei_sales) / sizeof(huawei_sales[0]); i++)
		if (str_eq(word, huawei_sales[i].word))
			return huawei_sales[i].is;
	return HUAWEI_MAYBE;
}

/* "az1(normal), az2(sellout)": that of each zone, otherwise where it is not named. */
static enum huawei_sale *
huawei_zones(const char *text, enum huawei_sale otherwise, const char *const *zones, size_t n,
    struct arena *a)
{
	enum huawei_sale *out = arena_alloc(a, (n > 0 ? n : 1) * sizeof(*out));
	size_t parts = 0;
	char **v = str_split(a, text, ',', &parts);

	for (size_t i = 0; i < n; i++)
		out[i] = otherwise;
	for (size_t k = 0; k < parts; k++) {
		char *open = strchr(v[k], '('), *end = open != NULL ? strchr(open, ')') : NULL;

		if (end == NULL)
			continue;
		*open = *end = '\0';
		for (size_t i = 0; i < n; i++)
			if (str_eq(str_trim(a, v[k]), zones[i]))
				out[i] = huawei_sale(str_trim(a, open + 1), otherwise);
	}
	return out;
}

/* [{"name", "count", "memory_mb"}], as a text of JSON or as such; the first entry counts. */
static void
huawei_card_list(const struct jsonr *specs, const char *key, struct arena *a, struct huawei_card *c)
{
	struct jsonr at = jsonr_get(specs, key), root, item;
	const char *text = json_string_value(at.v), *name = "";
	json_t *v = NULL;
	double mib = NAN;

	if (text != NULL && jsonr_parse(text, strlen(text), key, &v, NULL) != BERTH_OK)
		return;
	root = text != NULL ? jsonr_root(v, key) : at;
	item = json_is_array(root.v) ? jsonr_at(&root, 0) : root;
	if (json_is_object(item.v) && jsonr_str(&item, "name", &name, NULL) == BERTH_OK &&
	    name[0] != '\0' && jsonr_double(&item, "count", &c->count, NULL) == BERTH_OK) {
		(void)!jsonr_double(&item, "memory_mb", &mib, NULL);
		c->name = arena_strdup(a, name);
		c->gib = mib / 1024;
	}
	json_decref(v);
}

/* The number before '*' at the start of s, which then stands behind it; NaN if there is none. */
static double
huawei_times(struct arena *a, const char **s)
{
	const char *star = strchr(*s, '*');
	double n = NAN;

	if (star == NULL || str_to_double(str_trim(a, arena_strndup(a, *s, (size_t)(star - *s))), 0,
				HUAWEI_CARDS_MAX, &n, NULL) != BERTH_OK)
		return NAN;
	*s = star + 1;
	return n;
}

/* "1 * NVIDIA P100 / 1 * 16G", "1 * NVIDIA M60-2Q / 2G", "2 * HUAWEI Ascend 310 / 2 * 8G". */
static void
huawei_card_text(const struct jsonr *specs, const char *key, struct arena *a, struct huawei_card *c)
{
	const char *text = json_string_value(jsonr_get(specs, key).v), *s, *slash, *mem;
	double count, gib = NAN;
	size_t digits;

	if (text == NULL)
		return;
	s = str_trim(a, text);
	if (s[0] == '\'')
		s++;
	slash = strchr(s, '/');
	mem = slash != NULL ? slash + 1 : "";
	s = arena_strndup(a, s, strcspn(s, "/'"));
	count = huawei_times(a, &s);
	(void)!isnan(huawei_times(a, &mem));
	mem = str_trim(a, mem);
	digits = strspn(mem, "0123456789.");
	if (digits > 0 && str_starts(str_trim(a, mem + digits), "G"))
		(void)!str_to_double(arena_strndup(a, mem, digits), 0.5, 4096, &gib, NULL);
	if (!(count > 0))
		return;
	c->name = str_trim(a, s);
	c->count = count;
	c->gib = gib;
}

/* "a100:pcie:1", "m60_1q:virt:1", "nvidia-p100:1" and others behind a ','. */
static void
huawei_card_alias(
    const struct jsonr *specs, const char *key, struct arena *a, struct huawei_card *c)
{
	const char *text = json_string_value(jsonr_get(specs, key).v), *last;
	double count = NAN;
	char *one;

	if (text == NULL)
		return;
	one = str_trim(a, arena_strndup(a, text, strcspn(text, ",")));
	last = strrchr(one, ':');
	if (last == NULL || str_to_double(last + 1, 0, HUAWEI_CARDS_MAX, &count, NULL) != BERTH_OK)
		return;
	one[strcspn(one, ":")] = '\0';
	for (char *p = one; *p != '\0'; p++)
		if (*p == '_')
			*p = '-';
		else if (*p == 'q' && p[1] == '\0' && p > one &&
			 str_is_digit(p[-1])) /* of a profile, which ends in Q */
			*p = 'Q';
	c->name = one;
	c->count = count;
}

/* The field that says most goes first. */
static struct huawei_card
huawei_card(const struct jsonr *specs, const char *kind, struct arena *a)
{
	static const char *const lists[] = { "info:gpus", "info:asic_accelerators" };
	static const char *const texts[] = { "info:ascend:name", "info:gpu:name" };
	static const char *const aliases[] = { "pci_passthrough:gpu_specs",
		"pci_passthrough:alias" };
	struct huawei_card c = { "", 0, NAN };
	bool accelerated = str_eq(kind, "gpu") || str_eq(kind, "ascend");

	for (size_t i = 0; c.name[0] == '\0' && i < 2; i++)
		huawei_card_list(specs, lists[i], a, &c);
	for (size_t i = 0; c.name[0] == '\0' && i < 2; i++)
		huawei_card_text(specs, texts[i], a, &c);
	for (size_t i = 0; c.name[0] == '\0' && i < 2; i++) {
		huawei_card_alias(specs, aliases[i], a, &c);
		if (!accelerated && i > 0 && !str_istarts(c.name, "nvidia") &&
		    !str_istarts(c.name, "ascend"))
			c.name = ""; /* other cards are passed through too */
	}
	return c;
}

/* What berth.yaml calls it, by the card's word or the family; else the word without its maker. */
static const char *
huawei_name(const struct huawei *h, const struct jsonr *specs, const char *flavor, const char *word,
    struct arena *a)
{
	static const char *const makers[] = { "nvidia ", "nvidia-", "huawei " };
	const char *own = rates_accelerator(&h->rates, word),
		   *rtx = json_string_value(jsonr_get(specs, "quota:gpu").v);

	if (own == NULL)
		own = rates_accelerator(&h->rates, arena_strndup(a, flavor, strcspn(flavor, ".")));
	if (own != NULL)
		return arena_strdup(a, own);
	if (strstr(word, "Professional Graphics Card") != NULL &&
	    rtx != NULL) /* which one is said there alone */
		word = arena_strndup(a, rtx, strcspn(rtx, ":"));
	for (size_t i = 0; i < sizeof(makers) / sizeof(makers[0]); i++)
		if (str_istarts(word, makers[i]))
			word += strlen(makers[i]);
	return arena_strdup(a, word);
}

/* A part of a card ("m60-1q") by the name that the table gives its profile, and with that profile's
 * memory. */
static void
huawei_part(const struct huawei *h, struct arena *a, struct huawei_type *t)
{
	struct accel_ref ref = { .accel = NULL };
	double gib;

	if (h->env->accels == NULL || !accel_resolve(h->env->accels, a, t->card, &ref) ||
	    ref.accel == NULL || !(ref.share < 1))
		return;
	gib = ref.share * ref.accel->memory_gib;
	if (ref.slice_g == 0 && gib >= 1 && fabs(gib - round(gib)) < 0.01)
		t->card = arena_printf(a, "%s-%.0fQ", ref.accel->name, round(gib));
	t->card_gib = gib;
}

enum berth_code
huawei_flavor(const struct huawei *h, const struct jsonr *flavor, const char *const *zones,
    size_t n, struct arena *a, struct huawei_type *out, struct berth_err *err)
{
	struct jsonr specs = jsonr_get(flavor, "os_extra_specs");
	const char *name = "", *kind = "", *status = "", *az = "", *spot = "", *spot_az = "",
		   *charge = "";
	struct huawei_card card;
	double mib = NAN;
	enum berth_code rc;

	memset(out, 0, sizeof(*out));
	out->vcpus = out->memory_gib = out->card_gib = NAN;
	if ((rc = jsonr_str(flavor, "id", &name, err)) != BERTH_OK ||
	    (rc = jsonr_double(flavor, "vcpus", &out->vcpus, err)) != BERTH_OK ||
	    (rc = jsonr_double(flavor, "ram", &mib, err)) != BERTH_OK ||
	    (rc = jsonr_str(&specs, "hws:performancetype", &kind, err)) != BERTH_OK ||
	    (rc = jsonr_str(&specs, "ecs:performancetype", &kind, err)) != BERTH_OK ||
	    (rc = jsonr_str(&specs, "cond:operation:status", &status, err)) != BERTH_OK ||
	    (rc = jsonr_str(&specs, "cond:operation:az", &az, err)) != BERTH_OK ||
	    (rc = jsonr_str(&specs, "cond:spot:operation:status", &spot, err)) != BERTH_OK ||
	    (rc = jsonr_str(&specs, "cond:spot:operation:az", &spot_az, err)) != BERTH_OK ||
	    (rc = jsonr_str(&specs, "cond:operation:charge", &charge, err)) != BERTH_OK)
		return rc;
	card = huawei_card(&specs, kind, a);
	if (name[0] == '\0' || card.name[0] == '\0' || !(card.count >= 1) ||
	    card.count > HUAWEI_CARDS_MAX || card.count != floor(card.count))
		return BERTH_OK;
	out->name = arena_strdup(a, name);
	out->card = huawei_name(h, &specs, name, card.name, a);
	out->count = (int)card.count;
	out->card_gib = card.gib > 0 ? card.gib : NAN;
	huawei_part(h, a, out);
	out->memory_gib = mib / 1024;
	out->by_hour = !str_eq(charge, "period");
	out->ahead = !str_eq(charge, "demand");
	out->room = huawei_zones(az, huawei_sale(status, HUAWEI_SOLD), zones, n, a);
	out->spot = huawei_zones(spot_az, huawei_sale(spot, HUAWEI_NONE), zones, n, a);
	return BERTH_OK;
}
