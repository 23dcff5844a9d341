# Against real servers on loopback; skipped by name where their packages are missing.
EXTRA_DIST += tests/live/lib.sh tests/live/cluster.sh tests/live/exporter.py
EXTRA_DIST += tests/live/requirements.txt tests/live/aws_client.py tests/live/aws_fake.py tests/live/aws_model.py \
	tests/live/aws_moto.py tests/live/aws_peer.py
EXTRA_DIST += tests/live/aws_chain.py
dist_check_SCRIPTS += tests/live/aws.sh tests/live/aws-chain.sh tests/live/aws-client.sh tests/live/doctor.sh
EXTRA_DIST += tests/live/clients.sh tests/live/witness.py tests/live/witness_azure.py tests/live/witness_google.py
EXTRA_DIST += tests/live/witness_azure_rest.py
dist_check_SCRIPTS += tests/live/witness-azure-rest.sh
dist_check_SCRIPTS += tests/live/witness-azure.sh tests/live/witness-google.sh
EXTRA_DIST += tests/live/witness_alibaba.py tests/live/witness_openstack.py tests/live/witness_tencent.py
EXTRA_DIST += tests/live/witness_huawei.py
dist_check_SCRIPTS += tests/live/witness-huawei.sh
EXTRA_DIST += tests/live/requirements-alone.txt tests/live/witness_vast.py
dist_check_SCRIPTS += tests/live/witness-vast.sh
EXTRA_DIST += tests/live/slurm_model.py tests/live/witness_slurm.py
dist_check_SCRIPTS += tests/live/witness-slurm.sh
dist_check_SCRIPTS += tests/live/witness-alibaba.sh tests/live/witness-openstack.sh tests/live/witness-tencent.sh
dist_check_SCRIPTS += tests/live/prometheus.sh tests/live/slurm.sh tests/live/slurm-rent.sh tests/live/ssh.sh

# Calls of the provider core from the shell, for the tests of adapters.
EXTRA_PROGRAMS += tests/live/prov
check_DATA += tests/live/prov$(EXEEXT)
tests_live_prov_SOURCES = tests/live/prov.c
tests_live_prov_LDADD = $(PROVIDER_LIBS)
CLEANFILES += tests/live/prov$(EXEEXT)

# What takes minutes to start: make check-openstack, make check-kubernetes.
EXTRA_DIST += tests/live/openstack.sh tests/live/testbed/lib.sh tests/live/testbed/openstack-up \
	tests/live/testbed/openstack-down tests/live/testbed/openstack_launch.py tests/live/testbed/openstack_seed.py \
	tests/live/testbed/testbed_gpu.py
check-openstack: all tests/live/prov$(EXEEXT)
	$(AM_TESTS_ENVIRONMENT) exec bash $(srcdir)/tests/live/openstack.sh
.PHONY: check-openstack
EXTRA_DIST += tests/live/kubernetes.sh tests/live/testbed/kubernetes-up tests/live/testbed/kubernetes-down \
	tests/live/testbed/kubernetes_api.py tests/live/testbed/kubernetes_nodes.py tests/live/testbed/kubernetes_seed.py
check-kubernetes: all tests/live/prov$(EXEEXT)
	$(AM_TESTS_ENVIRONMENT) exec bash $(srcdir)/tests/live/kubernetes.sh
.PHONY: check-kubernetes

# HTTP/2 with one connection for all accounts.
dist_check_SCRIPTS += tests/live/http2.sh
