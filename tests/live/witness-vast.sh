#!/bin/bash
# Vast.ai beside its official client: the same calls, compared field by field; contracts with the client's own fields.
exec bash "$TOP_SRCDIR/tests/live/clients.sh" witness_vast.py 'Vast.ai beside its official client' vastai requests aiohttp dateutil cryptography
