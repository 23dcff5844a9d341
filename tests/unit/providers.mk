# unit tests of the providers floor: check_PROGRAMS += tests/unit/NAME.t
check_PROGRAMS += tests/unit/import.t
tests_unit_import_t_SOURCES = tests/unit/import.c
tests_unit_import_t_LDADD = libtap.a $(PROVIDER_LIBS)
check_PROGRAMS += tests/unit/cloud.t
tests_unit_cloud_t_SOURCES = tests/unit/cloud.c
tests_unit_cloud_t_LDADD = libtap.a $(PROVIDER_LIBS)
check_PROGRAMS += tests/unit/prov.t
tests_unit_prov_t_SOURCES = tests/unit/prov.c providers/fake/fake.c providers/fake/fake.h
tests_unit_prov_t_LDADD = libtap.a $(PROVIDER_LIBS)
check_PROGRAMS += tests/unit/flow.t
tests_unit_flow_t_SOURCES = tests/unit/flow.c tests/unit/flow_fake.c tests/unit/flow_fake.h tests/unit/flow_wire.c \
	providers/fake/fake.c providers/fake/fake.h
tests_unit_flow_t_LDADD = libtap.a $(PROVIDER_LIBS)
EXTRA_DIST += tests/unit/flow_server.py
check_PROGRAMS += tests/unit/replay.t
tests_unit_replay_t_SOURCES = tests/unit/replay.c
tests_unit_replay_t_LDADD = libtap.a $(PROVIDER_LIBS)
# One suite over all adapters.
check_PROGRAMS += tests/conformance/conformance.t
tests_conformance_conformance_t_SOURCES = tests/conformance/conformance.c tests/conformance/clouds.h \
	tests/conformance/alibaba_cloud.c tests/conformance/aws_cloud.c tests/conformance/azure_cloud.c \
	tests/conformance/gcp_cloud.c \
	tests/conformance/huawei_cloud.c \
	tests/conformance/kit.c tests/conformance/kit.h tests/conformance/kube_cloud.c tests/conformance/lambda_cloud.c \
	tests/conformance/oci_cloud.c tests/conformance/openstack_cloud.c tests/conformance/recorded.c \
	tests/conformance/slurm_cloud.c tests/conformance/small_clouds.c tests/conformance/tencent_cloud.c \
	tests/conformance/twist.c tests/conformance/twist.h tests/conformance/wires.c tests/conformance/wires.h
tests_conformance_conformance_t_LDADD = libtap.a $(PROVIDER_LIBS)
check_PROGRAMS += tests/unit/lambda.t
tests_unit_lambda_t_SOURCES = tests/unit/lambda.c tests/conformance/clouds.h tests/conformance/lambda_cloud.c
tests_unit_lambda_t_LDADD = libtap.a $(PROVIDER_LIBS)
check_PROGRAMS += tests/unit/bearer.t
tests_unit_bearer_t_SOURCES = tests/unit/bearer.c
tests_unit_bearer_t_LDADD = libtap.a $(PROVIDER_LIBS)
check_PROGRAMS += tests/unit/gcp.t
tests_unit_gcp_t_SOURCES = tests/unit/gcp.c tests/unit/gcp_price.c tests/unit/gcp_test.c tests/unit/gcp_test.h
tests_unit_gcp_t_LDADD = libtap.a $(PROVIDER_LIBS)
check_PROGRAMS += tests/unit/slurm.t
tests_unit_slurm_t_SOURCES = tests/unit/slurm.c
tests_unit_slurm_t_LDADD = libtap.a $(PROVIDER_LIBS)
check_PROGRAMS += tests/unit/azure.t
tests_unit_azure_t_SOURCES = tests/unit/azure.c
tests_unit_azure_t_LDADD = libtap.a $(PROVIDER_LIBS)
check_PROGRAMS += tests/unit/aws.t
tests_unit_aws_t_SOURCES = tests/unit/aws.c tests/unit/aws_auth.c tests/unit/aws_price.c tests/unit/aws_test.c \
	tests/unit/aws_test.h
tests_unit_aws_t_LDADD = libtap.a $(PROVIDER_LIBS)
check_PROGRAMS += tests/unit/oci.t
tests_unit_oci_t_SOURCES = tests/unit/oci.c
tests_unit_oci_t_LDADD = libtap.a $(PROVIDER_LIBS)
check_PROGRAMS += tests/unit/alibaba.t
tests_unit_alibaba_t_SOURCES = tests/unit/alibaba.c
tests_unit_alibaba_t_LDADD = libtap.a $(PROVIDER_LIBS)
check_PROGRAMS += tests/unit/tencent.t
tests_unit_tencent_t_SOURCES = tests/unit/tencent.c
tests_unit_tencent_t_LDADD = libtap.a $(PROVIDER_LIBS)
check_PROGRAMS += tests/unit/huawei.t
tests_unit_huawei_t_SOURCES = tests/unit/huawei.c
tests_unit_huawei_t_LDADD = libtap.a $(PROVIDER_LIBS)
check_PROGRAMS += tests/unit/openstack.t
tests_unit_openstack_t_SOURCES = tests/unit/openstack.c tests/conformance/clouds.h tests/conformance/openstack_cloud.c
tests_unit_openstack_t_LDADD = libtap.a $(PROVIDER_LIBS)
check_PROGRAMS += tests/unit/small.t
tests_unit_small_t_SOURCES = tests/unit/small.c
tests_unit_small_t_LDADD = libtap.a $(PROVIDER_LIBS)
check_PROGRAMS += tests/unit/kubernetes.t
tests_unit_kubernetes_t_SOURCES = tests/unit/kubernetes.c
tests_unit_kubernetes_t_LDADD = libtap.a $(PROVIDER_LIBS)
check_PROGRAMS += tests/unit/rates.t
tests_unit_rates_t_SOURCES = tests/unit/rates.c
tests_unit_rates_t_LDADD = libtap.a $(PROVIDER_LIBS)
check_PROGRAMS += tests/unit/codes.t
tests_unit_codes_t_SOURCES = tests/unit/codes.c
tests_unit_codes_t_LDADD = libtap.a $(PROVIDER_LIBS)
