#!/bin/bash
# OpenStack beside its official client: the same calls, compared field by field; answers that its resource classes build.
exec bash "$TOP_SRCDIR/tests/live/clients.sh" witness_openstack.py 'OpenStack beside openstacksdk' openstack keystoneauth1
