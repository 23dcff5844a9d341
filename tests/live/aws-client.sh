#!/bin/bash
# The EC2 adapter beside the official client and its service models: aws_client.py says how.
exec bash "$TOP_SRCDIR/tests/live/clients.sh" aws_client.py 'EC2 beside boto3' boto3
