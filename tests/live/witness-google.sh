#!/bin/bash
# Google Cloud beside its official client: the same calls, compared field by field; answers that its documents build.
exec bash "$TOP_SRCDIR/tests/live/clients.sh" witness_google.py 'Google Cloud beside its official client' \
	googleapiclient google_auth_httplib2 cryptography
