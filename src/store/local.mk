noinst_LIBRARIES += libstore.a
libstore_a_SOURCES = \
	src/store/store.c src/store/store.h src/store/priv.h \
	src/store/db.c src/store/db.h \
	src/store/sqlite.c src/store/sqlite.h src/store/sqlite_load.c src/store/sqlite_upkeep.c \
	src/store/migrate.c src/store/migrate.h \
	src/store/pack.c \
	src/store/run_rows.c src/store/upkeep.c \
	src/store/series_rows.c src/store/sample_rows.c src/store/raw_rows.c src/store/series_rows.h \
	src/store/tier.c src/store/tier.h src/store/tier_rows.c src/store/tier_rows.h src/store/tier_late.c src/store/tier_late.h \
	src/store/tier_move.c src/store/tier_check.c src/store/history.c \
	src/store/form_rows.c src/store/form_rows.h \
	src/store/bill_rows.c src/store/bill_rows.h \
	src/store/offer_rows.c src/store/offer_rows.h src/store/offer_replace.c src/store/offer_gaps.c \
	src/store/job_rows.c src/store/job_rows.h \
	src/store/intent_rows.c src/store/instance_rows.c src/store/measure_rows.c src/store/block_rows.c \
	src/store/machine_rows.h \
	src/store/money_rows.c src/store/money_rows.h \
	src/store/event_rows.c src/store/event_rows.h \
	src/store/prune.c src/store/prune.h \
	src/store/plan_rows.c src/store/plan_rows.h src/store/waiting_rows.c src/store/waiting_rows.h \
	src/store/silent_rows.c src/store/silent_rows.h \
	src/store/snapshot.c src/store/snapshot.h src/store/quota_rows.c src/store/quota_rows.h \
	src/store/fleet_rows.c src/store/fleet_rows.h \
	src/store/idling_rows.c src/store/idling_rows.h \
	src/store/forecast_pack.c src/store/forecast_pack.h src/store/forecast_rows.c src/store/forecast_rows.h \
	src/store/usage_pack.c src/store/usage_pack.h src/store/usage_rows.c src/store/usage_rows.h
nodist_libstore_a_SOURCES = src/store/migrations.c

# The schema: one file a version, never changed once released. They are compiled in.
MIGRATIONS = \
	src/store/migrations/0001_init.sql \
	src/store/migrations/0002_usage.sql \
	src/store/migrations/0003_offer_kind.sql \
	src/store/migrations/0004_offer_place.sql \
	src/store/migrations/0005_tiers.sql \
	src/store/migrations/0006_bill.sql \
	src/store/migrations/0007_offer_block.sql \
	src/store/migrations/0008_forecast.sql \
	src/store/migrations/0009_fleet.sql \
	src/store/migrations/0010_gang.sql \
	src/store/migrations/0011_offer_none.sql \
	src/store/migrations/0012_offer_usage.sql \
	src/store/migrations/0013_waiting.sql \
	src/store/migrations/0014_placement_input.sql \
	src/store/migrations/0015_job_marks.sql \
	src/store/migrations/0016_decision_placement.sql \
	src/store/migrations/0017_idling.sql \
	src/store/migrations/0018_quota.sql \
	src/store/migrations/0019_form.sql \
	src/store/migrations/0020_silent.sql \
	src/store/migrations/0021_sample_was.sql \
	src/store/migrations/0022_quota_region.sql \
	src/store/migrations/0023_form_was.sql
EXTRA_DIST += $(MIGRATIONS) src/store/embed.awk
CLEANFILES += src/store/migrations.c
src/store/migrations.c: $(MIGRATIONS) src/store/embed.awk
	$(AM_V_GEN)$(MKDIR_P) src/store && for f in $(MIGRATIONS); do echo $(srcdir)/$$f; done | \
		xargs $(AWK) -f $(srcdir)/src/store/embed.awk > $@.tmp && mv $@.tmp $@
