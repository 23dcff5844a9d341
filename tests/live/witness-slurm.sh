#!/bin/bash
# slurmrestd v0.0.39 to v0.0.44 beside clients generated from its own OpenAPI documents: calls compared, answers their models build.
exec bash "$TOP_SRCDIR/tests/live/clients.sh" witness_slurm.py 'slurmrestd v0.0.39 to v0.0.44 beside its clients' \
	slurmrestapi aind_slurm_rest cryptography
