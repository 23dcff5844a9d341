#!/bin/bash
# Tencent Cloud beside its official client: the same calls, compared field by field; answers that its model classes build.
exec bash "$TOP_SRCDIR/tests/live/clients.sh" witness_tencent.py 'Tencent Cloud beside its official client' \
	tencentcloud.cvm cryptography
