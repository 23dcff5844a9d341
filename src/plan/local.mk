noinst_LIBRARIES += libplan.a
libplan_a_SOURCES = \
	src/plan/benchlog.c src/plan/benchlog.h src/plan/benchlog_impl.h src/plan/benchlog_json.c \
	src/plan/checkpoint.c src/plan/checkpoint.h \
	src/plan/commit.c src/plan/commit.h src/plan/commit_impl.h \
	src/plan/commit_change.c \
	src/plan/commit_curve.c \
	src/plan/commit_level.c \
	src/plan/commit_joint.c src/plan/commit_joint.h \
	src/plan/commit_joint_hours.c src/plan/commit_joint_rows.c src/plan/commit_change_joint.c \
	src/plan/commit_quota.c \
	src/plan/commit_recourse.c \
	src/plan/commit_risk.c \
	src/plan/commit_most.c \
	src/plan/commit_share.c \
	src/plan/commit_stack.c \
	src/plan/cost.c src/plan/cost.h \
	src/plan/cost_egress.c \
	src/plan/cover.c src/plan/cover.h \
	src/plan/explain.c src/plan/explain.h \
	src/plan/idle.c src/plan/idle.h \
	src/plan/latency.c src/plan/latency.h \
	src/plan/linear.c src/plan/linear.h src/plan/linear_cut.c src/plan/linear_cut.h \
	src/plan/place.c src/plan/place.h src/plan/place_impl.h \
	src/plan/place_chain.c src/plan/place_chain.h src/plan/place_chain_impl.h src/plan/place_chain_prove.c \
	src/plan/place_chain_time.c \
	src/plan/place_finish.c src/plan/place_finish.h \
	src/plan/place_flow.c \
	src/plan/place_search.c src/plan/place_rounds.c src/plan/place_hull.c src/plan/place_hull.h \
	src/plan/place_dive.c src/plan/place_purse.c src/plan/place_purse.h \
	src/plan/place_tree.c src/plan/place_check.c src/plan/place_work.c \
	src/plan/place_admit.c src/plan/place_branch.c src/plan/place_dual.c src/plan/place_keep.c \
	src/plan/place_scarce.c \
	src/plan/place_lns.c src/plan/place_slot.c src/plan/place_soft.c \
	src/plan/share.c src/plan/share.h \
	src/plan/scale.c src/plan/scale.h \
	src/plan/scalehours.c src/plan/scalehours.h \
	src/plan/schedule.c src/plan/schedule.h src/plan/schedule_impl.h src/plan/schedule_rules.h \
	src/plan/schedule_change.c \
	src/plan/schedule_cut.c \
	src/plan/schedule_hours.c \
	src/plan/schedule_joint.c \
	src/plan/schedule_merit.c \
	src/plan/schedule_near.c src/plan/schedule_price.c src/plan/schedule_price_hours.c \
	src/plan/schedule_rows.c \
	src/plan/schedule_rules.c \
	src/plan/schedule_search.c \
	src/plan/schedule_tree.c src/plan/schedule_tree.h \
	src/plan/spot.c src/plan/spot.h \
	src/plan/spot_job.c src/plan/spot_job.h \
	src/plan/spot_exact.c \
	src/plan/spot_impl.h src/plan/spot_market.c \
	src/plan/spot_learn.c \
	src/plan/spot_promise.c \
	src/plan/spot_table.c \
	src/plan/variant.c src/plan/variant.h \
	src/plan/terms.c src/plan/terms.h src/plan/terms_net.h \
	src/plan/terms_net.c \
	src/plan/verdict.c src/plan/verdict.h \
	src/plan/verdict_device.c \
	src/plan/verdict_fleet.c src/plan/verdict_fleet.h \
	src/plan/verdict_impl.h \
	src/plan/verdict_links.c \
	src/plan/verdict_parse.c src/plan/verdict_promise.c \
	src/plan/verdict_rate.c src/plan/verdict_rate.h \
	src/plan/verdict_speed.c src/plan/verdict_tables.c \
	src/plan/verdict_whole.c src/plan/verdict_whole.h
