noinst_LIBRARIES += libproviders.a
libproviders_a_SOURCES = \
	providers/account.h \
	providers/azure/azure.c providers/azure/azure.h \
	providers/azure/azure_auth.c \
	providers/azure/azure_check.c \
	providers/azure/azure_lease.c \
	providers/azure/azure_list.c \
	providers/azure/azure_market.c \
	providers/bearer.c providers/bearer.h \
	providers/alibaba/alibaba.c providers/alibaba/alibaba.h \
	providers/alibaba/alibaba_advice.c \
	providers/alibaba/alibaba_lease.c \
	providers/alibaba/alibaba_market.c \
	providers/alibaba/alibaba_quota.c \
	providers/aws/aws.c providers/aws/aws.h \
	providers/aws/aws_auth.c providers/aws/aws_chain.c \
	providers/aws/aws_file.c providers/aws/aws_file.h \
	providers/aws/aws_family.c providers/aws/aws_form.c \
	providers/aws/aws_check.c providers/aws/aws_lease.c \
	providers/aws/aws_market.c providers/aws/aws_place.c \
	providers/aws/aws_plans.c providers/aws/aws_price.c \
	providers/aws/aws_scan.c providers/aws/aws_spot.c \
	providers/calls.c \
	providers/tame.c providers/tame.h \
	providers/classify.c \
	providers/conf.c providers/conf.h \
	providers/crusoe/crusoe.c providers/crusoe/crusoe.h \
	providers/crusoe/crusoe_lease.c \
	providers/crusoe/crusoe_market.c \
	providers/digitalocean/digitalocean.c providers/digitalocean/digitalocean.h \
	providers/endpoint.c providers/endpoint.h \
	providers/gcp/gcp.c providers/gcp/gcp.h \
	providers/gcp/gcp_auth.c \
	providers/gcp/gcp_check.c \
	providers/gcp/gcp_lease.c \
	providers/gcp/gcp_list.c \
	providers/gcp/gcp_market.c \
	providers/gcp/gcp_quota.c \
	providers/gcp/gcp_sku.c providers/gcp/gcp_sku.h \
	providers/gcp/gcp_tpu.c \
	providers/huawei/huawei.c providers/huawei/huawei.h \
	providers/huawei/huawei_auth.c \
	providers/huawei/huawei_flavor.c \
	providers/huawei/huawei_lease.c \
	providers/huawei/huawei_market.c \
	providers/import/file.c \
	providers/import/import.c providers/import/import.h \
	providers/import/layout.c providers/import/layout.h \
	providers/import/provider.c \
	providers/import/row.c providers/import/row.h \
	providers/flow.c providers/flow.h \
	providers/inifile.c providers/inifile.h \
	providers/inproc.c providers/inproc.h \
	providers/keyed.c providers/keyed.h \
	providers/kubernetes/access.c \
	providers/kubernetes/job.c \
	providers/kubernetes/kubernetes.c providers/kubernetes/kubernetes.h \
	providers/kubernetes/lease.c \
	providers/kubernetes/market.c \
	providers/kubernetes/rights.c \
	providers/kubernetes/state.c \
	providers/lambda/lambda.c providers/lambda/lambda.h \
	providers/lambda/lambda_lease.c \
	providers/lambda/lambda_market.c \
	providers/lease.c providers/lease.h \
	providers/names.c providers/nametag.c providers/nametag.h providers/net.c providers/net.h \
	providers/oci/oci.c providers/oci/oci.h \
	providers/oci/oci_lease.c \
	providers/oci/oci_list.c \
	providers/oci/oci_market.c \
	providers/one.c \
	providers/openstack/auth.c \
	providers/openstack/lease.c \
	providers/openstack/market.c \
	providers/openstack/openstack.c providers/openstack/openstack.h \
	providers/openstack/who.c \
	providers/prov.c providers/prov.h \
	providers/provider.h \
	providers/rates.c providers/rates.h \
	providers/registry.c \
	providers/resolve.c \
	providers/runpod/runpod.c providers/runpod/runpod.h \
	providers/runpod/runpod_lease.c \
	providers/runpod/runpod_market.c \
	providers/runs.c \
	providers/vast/vast.c providers/vast/vast.h \
	providers/vast/vast_lease.c \
	providers/vast/vast_market.c \
	providers/replay/cloud.c providers/replay/cloud.h \
	providers/replay/curve.c providers/replay/curve.h \
	providers/replay/measure.c providers/replay/measure.h \
	providers/replay/replay.c providers/replay/replay.h \
	providers/replay/replay_int.h \
	providers/replay/replay_lease.c \
	providers/replay/replay_market.c \
	providers/replay/replay_run.c \
	providers/replay/serve.c providers/replay/serve.h \
	providers/replay/state.c providers/replay/state.h \
	providers/replay/tidy.c \
	providers/replay/trace.c providers/replay/trace.h \
	providers/replay/work.c \
	providers/slurm/cli.c \
	providers/slurm/lease.c \
	providers/slurm/market.c \
	providers/slurm/read.c \
	providers/slurm/slurm.c providers/slurm/slurm.h \
	providers/static/read.c \
	providers/static/serve.c \
	providers/static/static.c providers/static/static.h \
	providers/tencent/tencent.c providers/tencent/tencent.h \
	providers/tencent/tencent_lease.c \
	providers/tencent/tencent_market.c \
	providers/wirejson.c providers/wirejson.h
