#!/bin/bash
# Where AWS keys come from, beside botocore: the same source wins, the same questions are asked of each, the same keys sign.
exec bash "$TOP_SRCDIR/tests/live/clients.sh" aws_chain.py 'AWS credentials beside botocore' boto3
