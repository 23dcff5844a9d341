noinst_LIBRARIES += libcmd.a
# The frame of all verbs.
libcmd_a_SOURCES = \
	src/cmd/accounts.c src/cmd/accounts.h \
	src/cmd/advise.c \
	src/cmd/brokerset.c src/cmd/brokerset.h \
	src/cmd/cmd.c src/cmd/cmd.h src/cmd/priv.h \
	src/cmd/config.c src/cmd/config.h \
	src/cmd/ctx.c src/cmd/ctx.h \
	src/cmd/line.c src/cmd/line.h \
	src/cmd/progpath.c src/cmd/progpath.h \
	src/cmd/registry.c

# The verbs.
libcmd_a_SOURCES += \
	src/cmd/budget.c src/cmd/events.c src/cmd/series.c src/cmd/series_waste.c src/cmd/series_waste.h src/cmd/series_waits.c src/cmd/series_waits.h src/cmd/store.c src/cmd/store_tiers.c src/cmd/store_tiers.h \
	src/cmd/commitments.c src/cmd/commitments.h src/cmd/commitments_coverage.c src/cmd/commitments_coverage.h src/cmd/coverage_show.c \
	src/cmd/complete.c src/cmd/complete.h src/cmd/completion.c \
	src/cmd/doctor.c src/cmd/doctor.h src/cmd/doctor_accounts.c src/cmd/doctor_config.c src/cmd/doctor_ssh.c \
	src/cmd/forecast.c src/cmd/forecast.h src/cmd/forecast_answer.c src/cmd/forecast_cap.c src/cmd/forecast_words.c src/cmd/forecast_flow.c src/cmd/forecast_keep.c src/cmd/forecast_queue.c src/cmd/forecast_settle.c src/cmd/forecast_show.c src/cmd/forecast_test.c src/cmd/forecast_tree.c \
	src/cmd/explain.c \
	src/cmd/explain.h \
	src/cmd/explain_decision.c \
	src/cmd/help.c src/cmd/help.h \
	src/cmd/init.c \
	src/cmd/instances.c \
	src/cmd/probe.c src/cmd/probe.h \
	src/cmd/probe_history.c \
	src/cmd/probe_run.c \
	src/cmd/probe_show.c \
	src/cmd/probe_tables.c \
	src/cmd/job.c src/cmd/jobs.c src/cmd/jobshow.c src/cmd/jobshow.h \
	src/cmd/place.c \
	src/cmd/plan.c src/cmd/plan_approve.c src/cmd/plan_approve.h src/cmd/plan_approve_rest.c src/cmd/plan_deal.c src/cmd/plan_deal.h src/cmd/plan_deal_dates.c src/cmd/plan_deal_now.c src/cmd/plan_demand.c src/cmd/plan_events.c src/cmd/plan_gone.c src/cmd/plan_inputs.c src/cmd/plan_inputs.h src/cmd/plan_join.c src/cmd/plan_join.h src/cmd/plan_ladder.c src/cmd/plan_lines.c src/cmd/plan_lines.h src/cmd/plan_lp.c src/cmd/plan_money.c src/cmd/plan_names.c src/cmd/plan_opts.c src/cmd/plan_opts.h src/cmd/plan_owned.c src/cmd/plan_parts.c src/cmd/plan_paths.c src/cmd/plan_quota.c src/cmd/plan_reclaim.c src/cmd/plan_rival.c src/cmd/plan_runway.c src/cmd/plan_schedule.c src/cmd/plan_schedule_lp.c src/cmd/plan_schedule_turns.c src/cmd/plan_short.c src/cmd/plan_show.c src/cmd/plan_solve.c \
	src/cmd/prices.c src/cmd/prices_diff.c src/cmd/prices_drop.c src/cmd/prices_quarantine.c src/cmd/prices.h src/cmd/prices_history.c src/cmd/prices_import.c src/cmd/prices_refresh.c src/cmd/quotas.c \
	src/cmd/record.c src/cmd/record.h src/cmd/record_focus.c src/cmd/record_jobs.c \
	src/cmd/record_metrics.c src/cmd/record_metrics.h src/cmd/record_prom.c \
	src/cmd/record_jobs.h src/cmd/record_slurm.c src/cmd/record_slurmrest.c \
	src/cmd/calendar.c src/cmd/calendar.h src/cmd/joins.c src/cmd/joins.h src/cmd/roadmap.c src/cmd/roadmap_share.c src/cmd/roadmap.h \
	src/cmd/report.c src/cmd/report_data.c src/cmd/report_data.h src/cmd/report_html.c \
	src/cmd/scale.c \
	src/cmd/simchart.c src/cmd/simcommit.c src/cmd/simcommit.h src/cmd/simjobs.c src/cmd/simjobs.h src/cmd/simscale.c src/cmd/simscale.h src/cmd/simscale_show.c src/cmd/simowned.c src/cmd/simowned.h src/cmd/simshow.c src/cmd/simshow.h src/cmd/simspot.c src/cmd/simspot.h src/cmd/simspot_load.c src/cmd/simulate.c \
	src/cmd/submit.c \
	src/cmd/tick.c src/cmd/unit.c src/cmd/unit.h src/cmd/simunit.c src/cmd/simunit.h \
	src/cmd/version.c

bin_PROGRAMS += berth
berth_SOURCES = src/cmd/main.c
berth_LDADD = $(CMD_LIBS)
