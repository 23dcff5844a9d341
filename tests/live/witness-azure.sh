#!/bin/bash
# Azure beside its official clients: the same calls, compared field by field; answers that their model classes build.
exec bash "$TOP_SRCDIR/tests/live/clients.sh" witness_azure.py 'Azure beside its official clients' \
	azure.mgmt.compute azure.identity cryptography
