dist_man_MANS += \
	man/berth.1 \
	man/berth-completion.1 \
	man/berth-doctor.1 \
	man/berth-help.1 \
	man/berth-version.1 \
	man/berth.yaml.5
dist_man_MANS += man/berth-advise.1 man/berth-probe.1
dist_man_MANS += man/berth-prices.1 man/berth-quotas.1 man/berth-providers.7 man/berth-replay.5
dist_man_MANS += man/berth-job.5
dist_man_MANS += man/berth-init.1 man/berth-instances.1 man/berth-job.1 man/berth-jobs.1 man/berth-report.1 \
	man/berth-submit.1 man/berth-tick.1
dist_man_MANS += man/berth-forecast.1 man/berth-roadmap.5
dist_man_MANS += man/berth-explain.1 man/berth-place.1 man/berth-plan.1 man/berth-planning.7
dist_man_MANS += man/berth-scale.1
dist_man_MANS += man/berth-simulate.1
dist_man_MANS += man/berth-record.1
dist_man_MANS += man/berth-series.1 man/berth-events.1 man/berth-budget.1 man/berth-commitments.1 man/berth-store.1 man/berth-store.5
