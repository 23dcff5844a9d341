#!/bin/bash
# Azure's addresses, permissions and eviction rates beside its official clients: the same calls, answers that their models build.
exec bash "$TOP_SRCDIR/tests/live/clients.sh" witness_azure_rest.py "Azure's other services beside their clients" \
	azure.mgmt.network azure.mgmt.authorization azure.mgmt.resourcegraph cryptography
