#include "config.h"

#include <string.h>

#include "cmd/cmd.h"
#include "cmd/plan_join.h"
#include "util/arena.h"
#include "util/glob.h"
#include "util/str.h"

/* Whether any of the offers, or what is owned, is of this provider or region. */
static bool
names_hit(const char *pattern, const struct plan_sellers *s, bool region)
{
	for (size_t i = 0; i < s->n_offers; i++)
		if (region ? offer_region_hits(pattern, &s->offers[i])
			   : glob_match(pattern, s->offers[i].provider))
			return true;
	for (size_t i = 0; i < s->n_owned && !region; i++)
		if (glob_match(pattern, s->owned[i].offer.provider))
			return true;
	return false;
}

static const char *
names_near(const char *pattern, const struct plan_sellers *s, bool region, struct arena *a)
{
	const char **names = arena_array(a, s->n_offers + 1, sizeof(*names));

	for (size_t i = 0; i < s->n_offers; i++)
		names[i] =
		    !region ? s->offers[i].provider
		    : strchr(pattern, '/') == NULL
			? s->offers[i].region
			: arena_printf(a, "%s/%s", s->offers[i].provider, s->offers[i].region);
	names[s->n_offers] = NULL;
	return str_suggest(pattern, names);
}

static void
names_say(struct cmd_ctx *ctx, const char *option, const char *pattern,
    const struct plan_sellers *s, bool region)
{
	const char *near;

	if (s->n_offers == 0 || names_hit(pattern, s, region))
		return;
	near = names_near(pattern, s, region, ctx->arena);
	cmd_warn(ctx, "%s '%.60s': no offer is of such a %s; %s%s%s", option, pattern,
	    region ? "region" : "provider",
	    near == NULL ? "`berth prices list` names those there are" : "did you mean ",
	    near == NULL ? "" : near, near == NULL ? "" : "?");
}

void
plan_names_check(struct cmd_ctx *ctx, const struct plan_options *o, const struct plan_sellers *s)
{
	for (size_t i = 0; i < o->n_providers; i++)
		names_say(ctx, "--provider", o->providers[i], s, false);
	for (size_t i = 0; i < o->n_regions; i++)
		names_say(ctx, "--region", o->regions[i], s, true);
	for (size_t i = 0; i < o->n_shares; i++)
		names_say(ctx, "--share", o->shares[i].provider, s, false);
}
