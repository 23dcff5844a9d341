# filled by its folder
EXTRA_DIST += tests/cli/probe-l4.json tests/cli/lib.sh tests/cli/json.awk
dist_check_SCRIPTS += tests/cli/completion.sh tests/cli/frame.sh tests/cli/jobs.sh tests/cli/tick.sh tests/cli/own-machine.sh tests/cli/prices.sh
dist_check_SCRIPTS += tests/cli/place.sh tests/cli/simulate.sh
dist_check_SCRIPTS += tests/cli/advise.sh tests/cli/probe.sh tests/cli/probe-fleet.sh
dist_check_SCRIPTS += tests/cli/plan.sh
dist_check_SCRIPTS += tests/cli/record-focus.sh tests/cli/record-jobs.sh tests/cli/record-metrics.sh tests/cli/record-slurm.sh tests/cli/record-odd.sh tests/cli/record-prometheus.sh
EXTRA_DIST += tests/cli/slurmrestd.py tests/cli/prometheus.py
dist_check_SCRIPTS += tests/cli/record.sh tests/cli/series.sh tests/cli/budget.sh tests/cli/events.sh tests/cli/store.sh tests/cli/store-tiers.sh tests/cli/store-tiers-jobs.sh tests/cli/record-clock.sh
dist_check_SCRIPTS += tests/cli/forecast.sh tests/cli/roadmap.sh tests/cli/wrong-input.sh
dist_check_SCRIPTS += tests/cli/spot-deadline.sh
dist_check_SCRIPTS += tests/cli/forecast.sh tests/cli/roadmap.sh tests/cli/forecast-tree.sh tests/cli/forecast-nasty.sh tests/cli/wrong-input.sh
dist_check_SCRIPTS += tests/cli/forecast.sh tests/cli/roadmap.sh tests/cli/forecast-tree.sh tests/cli/wrong-input.sh
dist_check_SCRIPTS += tests/cli/measured.sh
dist_check_SCRIPTS += tests/cli/forecast.sh tests/cli/roadmap.sh tests/cli/forecast-tree.sh tests/cli/forecast-nasty.sh tests/cli/joins.sh tests/cli/wrong-input.sh
EXTRA_DIST += tests/cli/refresh_server.py
dist_check_SCRIPTS += tests/cli/refresh.sh
dist_check_SCRIPTS += tests/cli/aws-prices.sh
