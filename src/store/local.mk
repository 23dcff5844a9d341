noinst_LIBRARIES += libstore.a
libstore_a_SOURCES = \
	src/store/db.h src/store/store.h \
	src/store/event_rows.h src/store/job_rows.h src/store/machine_rows.h src/store/money_rows.h \
	src/store/offer_rows.h src/store/plan_rows.h src/store/series_rows.h
