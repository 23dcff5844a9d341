# Against real servers on loopback; skipped by name where their packages are missing.
EXTRA_DIST += tests/live/lib.sh tests/live/exporter.py
dist_check_SCRIPTS += tests/live/prometheus.sh tests/live/slurm.sh
