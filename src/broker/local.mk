noinst_LIBRARIES += libbroker.a
libbroker_a_SOURCES = \
	src/broker/account.c \
	src/broker/bench.c src/broker/bench.h \
	src/broker/broker.h \
	src/broker/decide.c src/broker/decide.h \
	src/broker/egress.c \
	src/broker/event.c \
	src/broker/fleet.c src/broker/fleet.h \
	src/broker/gang.c src/broker/gang.h \
	src/broker/idling.c src/broker/idling.h \
	src/broker/interval.c \
	src/broker/jobs.c \
	src/broker/late.c src/broker/late.h \
	src/broker/limits.c \
	src/broker/machine.c \
	src/broker/move.c \
	src/broker/notify.c \
	src/broker/owned.c \
	src/broker/placing.c src/broker/placing.h src/broker/placing_impl.h \
	src/broker/placing_after.c src/broker/placing_backfill.c src/broker/placing_behind.c src/broker/placing_change.c src/broker/placing_detail.c src/broker/placing_due.c src/broker/placing_explain.c src/broker/placing_hint.c src/broker/placing_late.c src/broker/placing_lift.c \
	src/broker/placing_move.c src/broker/placing_outlook.c src/broker/placing_overdue.c src/broker/placing_penalty.c src/broker/placing_raise.c src/broker/placing_raise.h src/broker/placing_raise_facts.c src/broker/placing_rank.c src/broker/placing_record.c src/broker/placing_safety.c src/broker/placing_share.c src/broker/placing_slow.c src/broker/placing_turns.c src/broker/placing_worth.c \
	src/broker/placing_facts.c src/broker/placing_facts.h src/broker/placing_readings.c \
	src/broker/placing_replay.c src/broker/placing_replay.h \
	src/broker/placing_spot.c src/broker/placing_spot.h \
	src/broker/pricelist.c src/broker/pricelist.h \
	src/broker/pricepolicy.c src/broker/prices.c \
	src/broker/preempt.c \
	src/broker/probe.c \
	src/broker/quarantine.c src/broker/quarantine.h \
	src/broker/quotas.c src/broker/quotas.h \
	src/broker/provision.c src/broker/provision.h src/broker/provision_queue.c \
	src/broker/refill.c \
	src/broker/release.c \
	src/broker/rollup.c \
	src/broker/runner.c src/broker/runner.h \
	src/broker/shell.c src/broker/shell.h src/broker/shell_job.c \
	src/broker/scaling.c src/broker/scaling.h src/broker/scaling_metric.c src/broker/scaling_read.c src/broker/scaling_say.c \
	src/broker/shares.c src/broker/shares.h \
	src/broker/silent.c \
	src/broker/sync.c \
	src/broker/tick.c \
	src/broker/usage_bill.c src/broker/usage_bill.h \
	src/broker/usage_demand.c src/broker/usage_jobs.c src/broker/usage_jobs.h \
	src/broker/usage_history.c src/broker/usage_history.h \
	src/broker/usage_load.c src/broker/usage_load.h src/broker/usage_waits.c src/broker/usage_waits.h \
	src/broker/waiting.c src/broker/waiting.h src/broker/waiting_fate.c \
	src/broker/watch.c
