#include <math.h>
#include <string.h>

#include "providers/alibaba/alibaba.h"

#define ALIBABA_ADVICE_HOURS (30.0 * 24) /* the share is of the last 30 days */
#define ALIBABA_SHARE_MOST 0.99          /* all of them would be a rate without end */

/* Per cent of spot machines taken back within the 30 days, as a rate an hour; NaN: none is told. */
static double
alibaba_rate(const struct jsonr *item)
{
	double share = NAN;

	if (jsonr_double(item, "InterruptionRate", &share, NULL) != BERTH_OK ||
	    !(share >= 0 && share <= 100))
		return NAN;
	share = share / 100 < ALIBABA_SHARE_MOST ? share / 100 : ALIBABA_SHARE_MOST;
	return -log1p(-share) / ALIBABA_ADVICE_HOURS;
}

void
alibaba_advice(const struct jsonr *root, alibaba_rate_fn *fn, void *arg)
{
	struct jsonr outer = jsonr_get(root, "AvailableSpotZones"),
		     zones = jsonr_get(&outer, "AvailableSpotZone");

	for (size_t i = 0; i < jsonr_len(&zones); i++) {
		struct jsonr zone = jsonr_at(&zones, i),
			     held = jsonr_get(&zone, "AvailableSpotResources");
		struct jsonr list = jsonr_get(&held, "AvailableSpotResource");
		const char *name = "";

		if (jsonr_str(&zone, "ZoneId", &name, NULL) != BERTH_OK)
			continue;
		for (size_t k = 0; k < jsonr_len(&list); k++) {
			struct jsonr item = jsonr_at(&list, k);
			const char *type = "";

			if (jsonr_str(&item, "InstanceType", &type, NULL) == BERTH_OK)
				fn(arg, name, type, alibaba_rate(&item));
		}
	}
}
