#!/bin/bash
# Huawei Cloud beside its official clients: the same calls, compared field by field; answers that their model classes build.
exec bash "$TOP_SRCDIR/tests/live/clients.sh" witness_huawei.py 'Huawei Cloud beside its official clients' \
	huaweicloudsdkecs huaweicloudsdkbss huaweicloudsdkiam cryptography
