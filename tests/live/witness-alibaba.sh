#!/bin/bash
# Alibaba Cloud beside its official client: the same calls, compared field by field; answers that its model classes build.
exec bash "$TOP_SRCDIR/tests/live/clients.sh" witness_alibaba.py 'Alibaba Cloud beside its official client' \
	alibabacloud_ecs20140526 alibabacloud_tea_openapi cryptography
