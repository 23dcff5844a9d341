#include <stddef.h>

#include "providers/alibaba/alibaba.h"
#include "providers/aws/aws.h"
#include "providers/azure/azure.h"
#include "providers/crusoe/crusoe.h"
#include "providers/digitalocean/digitalocean.h"
#include "providers/gcp/gcp.h"
#include "providers/huawei/huawei.h"
#include "providers/import/import.h"
#include "providers/kubernetes/kubernetes.h"
#include "providers/lambda/lambda.h"
#include "providers/oci/oci.h"
#include "providers/openstack/openstack.h"
#include "providers/prov.h"
#include "providers/replay/replay.h"
#include "providers/runpod/runpod.h"
#include "providers/slurm/slurm.h"
#include "providers/static/static.h"
#include "providers/tencent/tencent.h"
#include "providers/vast/vast.h"
#include "util/str.h"

/* The order of berth-providers(7). Adding a provider is one line here and one #include. */
static const struct provider_ops *const provider_rows[] = {
	&provider_replay,
	&provider_static,
	&provider_import,
	&provider_lambda,
	&provider_aws,
	&provider_gcp,
	&provider_azure,
	&provider_oci,
	&provider_alibaba,
	&provider_tencent,
	&provider_huawei,
	&provider_runpod,
	&provider_vast,
	&provider_digitalocean,
	&provider_crusoe,
	&provider_openstack,
	&provider_slurm,
	&provider_kubernetes,
};

const struct provider_ops *const *
provider_all(size_t *n_out)
{
	*n_out = sizeof(provider_rows) / sizeof(provider_rows[0]);
	return provider_rows;
}

const struct provider_ops *
provider_find(const char *name)
{
	for (size_t i = 0; i < sizeof(provider_rows) / sizeof(provider_rows[0]); i++)
		if (str_eq(provider_rows[i]->name, name))
			return provider_rows[i];
	return NULL;
}
