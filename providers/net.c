#include <stdlib.h>

#include "providers/net.h"

struct prov_net {
	int refs;
	struct http *http;
};

enum berth_code
prov_net_new(const struct http_config *conf, struct prov_net **net_out, struct berth_err *err)
{
	struct prov_net *net = calloc(1, sizeof(*net));
	enum berth_code rc;

	if (net == NULL)
		return err_set(err, BERTH_ENOMEM, "no memory for a network");
	net->refs = 1;
	rc = http_new(conf, &net->http, err);
	if (rc != BERTH_OK) {
		free(net);
		return rc;
	}
	*net_out = net;
	return BERTH_OK;
}

struct prov_net *
prov_net_ref(struct prov_net *net)
{
	if (net != NULL)
		net->refs++;
	return net;
}

void
prov_net_free(struct prov_net *net)
{
	if (net == NULL || --net->refs > 0)
		return;
	http_free(net->http);
	free(net);
}

struct http *
net_http(struct prov_net *net)
{
	return net->http;
}
