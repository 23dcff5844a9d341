# unit tests of the plan floor: check_PROGRAMS += tests/unit/NAME.t
check_PROGRAMS += tests/unit/commit.t
tests_unit_commit_t_SOURCES = tests/unit/commit.c
tests_unit_commit_t_LDADD = libtap.a $(PLAN_LIBS)
check_PROGRAMS += tests/unit/commit_risk.t
tests_unit_commit_risk_t_SOURCES = tests/unit/commit_risk.c
tests_unit_commit_risk_t_LDADD = libtap.a $(PLAN_LIBS)
check_PROGRAMS += tests/unit/commit_level.t
tests_unit_commit_level_t_SOURCES = tests/unit/commit_level.c
tests_unit_commit_level_t_LDADD = libtap.a $(PLAN_LIBS)
check_PROGRAMS += tests/unit/place.t
tests_unit_place_t_SOURCES = tests/unit/place.c
tests_unit_place_t_LDADD = libtap.a $(PLAN_LIBS)
check_PROGRAMS += tests/unit/share.t
tests_unit_share_t_SOURCES = tests/unit/share.c
tests_unit_share_t_LDADD = libtap.a $(PLAN_LIBS)
check_PROGRAMS += tests/unit/cost.t
tests_unit_cost_t_SOURCES = tests/unit/cost.c
tests_unit_cost_t_LDADD = libtap.a $(PLAN_LIBS)
check_PROGRAMS += tests/unit/commit_oracle.t
tests_unit_commit_oracle_t_SOURCES = tests/unit/commit_oracle.c
tests_unit_commit_oracle_t_LDADD = libtap.a $(PLAN_LIBS)
check_PROGRAMS += tests/unit/plan_cases.t
tests_unit_plan_cases_t_SOURCES = tests/unit/plan_cases.c
tests_unit_plan_cases_t_LDADD = libtap.a $(PLAN_LIBS)
EXTRA_DIST += \
	tests/plan/commit-alike.test \
	tests/plan/commit-budget-below-minimum.test \
	tests/plan/commit-budget-nothing.test \
	tests/plan/commit-budget.test \
	tests/plan/commit-dearer-than-on-demand.test \
	tests/plan/commit-nan.test \
	tests/plan/commit-negative-price.test \
	tests/plan/commit-no-demand.test \
	tests/plan/commit-one-hour.test \
	tests/plan/commit-owned-first.test \
	tests/plan/commit-paths.test \
	tests/plan/commit-peak-cannot.test \
	tests/plan/commit-peak.test \
	tests/plan/commit-quota.test \
	tests/plan/commit-spot.test \
	tests/plan/commit-two-offers.test \
	tests/plan/commit-unserved.test \
	tests/plan/commit-whole-machine-pays.test \
	tests/plan/commit-whole-machines.test \
	tests/plan/place-alike.test \
	tests/plan/place-gang-not-split.test \
	tests/plan/place-leave-room-other-order.test \
	tests/plan/place-leave-room.test \
	tests/plan/place-nested-quota.test \
	tests/plan/place-priority.test \
	tests/plan/place-quota-zero.test \
	tests/plan/place-swap.test \
	tests/plan/place-vcpu-quota-half-used.test \
	tests/plan/place-vcpu-quota.test
check_PROGRAMS += tests/unit/verdict.t
tests_unit_verdict_t_SOURCES = tests/unit/verdict.c
tests_unit_verdict_t_LDADD = libtap.a $(PLAN_LIBS)
check_PROGRAMS += tests/unit/spot.t
tests_unit_spot_t_SOURCES = tests/unit/spot.c
tests_unit_spot_t_LDADD = libtap.a $(PLAN_LIBS)
check_PROGRAMS += tests/unit/spot_job.t
tests_unit_spot_job_t_SOURCES = tests/unit/spot_job.c
tests_unit_spot_job_t_LDADD = libtap.a $(PLAN_LIBS)
check_PROGRAMS += tests/unit/spot_table.t
tests_unit_spot_table_t_SOURCES = tests/unit/spot_table.c
tests_unit_spot_table_t_LDADD = libtap.a $(PLAN_LIBS)
check_PROGRAMS += tests/unit/cover.t
tests_unit_cover_t_SOURCES = tests/unit/cover.c
tests_unit_cover_t_LDADD = libtap.a $(PLAN_LIBS)

check_PROGRAMS += tests/unit/idle.t
tests_unit_idle_t_SOURCES = tests/unit/idle.c
tests_unit_idle_t_LDADD = libtap.a $(PLAN_LIBS)

check_PROGRAMS += tests/unit/scale.t
tests_unit_scale_t_SOURCES = tests/unit/scale.c tests/unit/scale_fleet.h
tests_unit_scale_t_LDADD = libtap.a $(PLAN_LIBS)
check_PROGRAMS += tests/unit/scale_headroom.t
tests_unit_scale_headroom_t_SOURCES = tests/unit/scale_headroom.c tests/unit/scale_fleet.h
tests_unit_scale_headroom_t_LDADD = libtap.a $(PLAN_LIBS)
check_PROGRAMS += tests/unit/scale_hours.t
tests_unit_scale_hours_t_SOURCES = tests/unit/scale_hours.c tests/unit/scale_fleet.h
tests_unit_scale_hours_t_LDADD = libtap.a $(PLAN_LIBS)
check_PROGRAMS += tests/unit/variant.t
tests_unit_variant_t_SOURCES = tests/unit/variant.c
tests_unit_variant_t_LDADD = libtap.a $(PLAN_LIBS)
check_PROGRAMS += tests/unit/schedule.t
tests_unit_schedule_t_SOURCES = tests/unit/schedule.c
tests_unit_schedule_t_LDADD = libtap.a $(PLAN_LIBS)
check_PROGRAMS += tests/unit/schedule_search.t
tests_unit_schedule_search_t_SOURCES = tests/unit/schedule_search.c
tests_unit_schedule_search_t_LDFLAGS = -Wl,--wrap=linear_solve
tests_unit_schedule_search_t_LDADD = libtap.a $(PLAN_LIBS)
check_PROGRAMS += tests/unit/terms.t
tests_unit_terms_t_SOURCES = tests/unit/terms.c
tests_unit_terms_t_LDADD = libtap.a $(PLAN_LIBS)
check_PROGRAMS += tests/unit/place_flow.t
tests_unit_place_flow_t_SOURCES = tests/unit/place_flow.c
tests_unit_place_flow_t_LDADD = libtap.a $(PLAN_LIBS)
check_PROGRAMS += tests/unit/place_audit.t
tests_unit_place_audit_t_SOURCES = tests/unit/place_audit.c
tests_unit_place_audit_t_LDADD = libtap.a $(PLAN_LIBS)

check_PROGRAMS += tests/unit/place_budget.t
tests_unit_place_budget_t_SOURCES = tests/unit/place_budget.c bench/place_world.c bench/place_world.h
tests_unit_place_budget_t_LDADD = libtap.a $(PLAN_LIBS)
check_PROGRAMS += tests/unit/place_hull.t
tests_unit_place_hull_t_SOURCES = tests/unit/place_hull.c bench/place_world.c bench/place_world.h
tests_unit_place_hull_t_LDADD = libtap.a $(PLAN_LIBS)
check_PROGRAMS += tests/unit/place_chain.t
tests_unit_place_chain_t_SOURCES = tests/unit/place_chain.c
tests_unit_place_chain_t_LDADD = libtap.a $(PLAN_LIBS)
check_PROGRAMS += tests/unit/place_admit.t
tests_unit_place_admit_t_SOURCES = tests/unit/place_admit.c
tests_unit_place_admit_t_LDADD = libtap.a $(PLAN_LIBS)
check_PROGRAMS += tests/unit/latency.t
tests_unit_latency_t_SOURCES = tests/unit/latency.c
tests_unit_latency_t_LDADD = libtap.a $(PLAN_LIBS)
check_PROGRAMS += tests/unit/commit_joint.t
tests_unit_commit_joint_t_SOURCES = tests/unit/commit_joint.c
tests_unit_commit_joint_t_LDADD = libtap.a $(PLAN_LIBS)
check_PROGRAMS += tests/unit/linear.t
tests_unit_linear_t_SOURCES = tests/unit/linear.c
tests_unit_linear_t_LDADD = libtap.a $(PLAN_LIBS)
check_PROGRAMS += tests/unit/linear_cut.t
tests_unit_linear_cut_t_SOURCES = tests/unit/linear_cut.c
tests_unit_linear_cut_t_LDADD = libtap.a $(PLAN_LIBS)
