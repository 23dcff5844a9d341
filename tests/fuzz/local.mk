# Each parser of outside bytes has a fuzz target. NAME.t replays the seeds in the ordinary suite; with
# --enable-fuzzers (clang) NAME.fuzz is the same target for libFuzzer: tests/fuzz/csv.fuzz CORPUS tests/fuzz/seeds/csv
fuzz_main = tests/fuzz/fuzz.h tests/fuzz/replay.c
check_PROGRAMS += tests/fuzz/csv.t tests/fuzz/json.t tests/fuzz/yaml.t tests/fuzz/time.t
tests_fuzz_csv_t_SOURCES = tests/fuzz/csv.c $(fuzz_main)
tests_fuzz_csv_t_LDADD = libtap.a $(UTIL_LIBS)
check_PROGRAMS += tests/fuzz/jsonpull.t
tests_fuzz_jsonpull_t_SOURCES = tests/fuzz/jsonpull.c $(fuzz_main)
tests_fuzz_jsonpull_t_LDADD = libtap.a $(UTIL_LIBS)
tests_fuzz_json_t_SOURCES = tests/fuzz/json.c $(fuzz_main)
tests_fuzz_json_t_LDADD = libtap.a $(UTIL_LIBS)
tests_fuzz_yaml_t_SOURCES = tests/fuzz/yaml.c $(fuzz_main)
tests_fuzz_yaml_t_LDADD = libtap.a $(UTIL_LIBS)
tests_fuzz_time_t_SOURCES = tests/fuzz/time.c $(fuzz_main)
tests_fuzz_time_t_LDADD = libtap.a $(UTIL_LIBS)
check_PROGRAMS += tests/fuzz/prices.t tests/fuzz/trace.t
tests_fuzz_prices_t_SOURCES = tests/fuzz/prices.c $(fuzz_main)
tests_fuzz_prices_t_LDADD = libtap.a $(PROVIDER_LIBS)
tests_fuzz_trace_t_SOURCES = tests/fuzz/trace.c $(fuzz_main)
tests_fuzz_trace_t_LDADD = libtap.a $(PROVIDER_LIBS)
check_PROGRAMS += tests/fuzz/usage.t
tests_fuzz_usage_t_SOURCES = tests/fuzz/usage.c $(fuzz_main)
tests_fuzz_usage_t_LDADD = libtap.a $(INGEST_LIBS)
check_PROGRAMS += tests/fuzz/tier.t
tests_fuzz_tier_t_SOURCES = tests/fuzz/tier.c $(fuzz_main)
tests_fuzz_tier_t_LDADD = libtap.a $(STORE_LIBS)
check_PROGRAMS += tests/fuzz/holiday.t
tests_fuzz_holiday_t_SOURCES = tests/fuzz/holiday.c $(fuzz_main)
tests_fuzz_holiday_t_LDADD = libtap.a $(MODEL_LIBS)
check_PROGRAMS += tests/fuzz/xml.t tests/fuzz/aws.t
tests_fuzz_xml_t_SOURCES = tests/fuzz/xml.c $(fuzz_main)
tests_fuzz_xml_t_LDADD = libtap.a $(UTIL_LIBS)
tests_fuzz_aws_t_SOURCES = tests/fuzz/aws.c $(fuzz_main)
tests_fuzz_aws_t_LDADD = libtap.a $(PROVIDER_LIBS)
check_PROGRAMS += tests/fuzz/verdict.t tests/fuzz/jlite.t
tests_fuzz_verdict_t_SOURCES = tests/fuzz/verdict.c $(fuzz_main)
tests_fuzz_verdict_t_LDADD = libtap.a $(PLAN_LIBS)
tests_fuzz_jlite_t_SOURCES = tests/fuzz/jlite.c $(fuzz_main)
tests_fuzz_jlite_t_LDADD = libtap.a libprobe.a $(UTIL_LIBS)

if FUZZERS
noinst_PROGRAMS = tests/fuzz/csv.fuzz tests/fuzz/json.fuzz tests/fuzz/yaml.fuzz tests/fuzz/time.fuzz
tests_fuzz_csv_fuzz_SOURCES = tests/fuzz/csv.c
tests_fuzz_csv_fuzz_LDADD = $(UTIL_LIBS)
tests_fuzz_csv_fuzz_LDFLAGS = $(AM_LDFLAGS) $(FUZZ_LDFLAGS)
noinst_PROGRAMS += tests/fuzz/jsonpull.fuzz
tests_fuzz_jsonpull_fuzz_SOURCES = tests/fuzz/jsonpull.c
tests_fuzz_jsonpull_fuzz_LDADD = $(UTIL_LIBS)
tests_fuzz_jsonpull_fuzz_LDFLAGS = $(AM_LDFLAGS) $(FUZZ_LDFLAGS)
tests_fuzz_json_fuzz_SOURCES = tests/fuzz/json.c
tests_fuzz_json_fuzz_LDADD = $(UTIL_LIBS)
tests_fuzz_json_fuzz_LDFLAGS = $(AM_LDFLAGS) $(FUZZ_LDFLAGS)
tests_fuzz_yaml_fuzz_SOURCES = tests/fuzz/yaml.c
tests_fuzz_yaml_fuzz_LDADD = $(UTIL_LIBS)
tests_fuzz_yaml_fuzz_LDFLAGS = $(AM_LDFLAGS) $(FUZZ_LDFLAGS)
tests_fuzz_time_fuzz_SOURCES = tests/fuzz/time.c
tests_fuzz_time_fuzz_LDADD = $(UTIL_LIBS)
tests_fuzz_time_fuzz_LDFLAGS = $(AM_LDFLAGS) $(FUZZ_LDFLAGS)
noinst_PROGRAMS += tests/fuzz/prices.fuzz tests/fuzz/trace.fuzz
tests_fuzz_prices_fuzz_SOURCES = tests/fuzz/prices.c
tests_fuzz_prices_fuzz_LDADD = $(PROVIDER_LIBS)
tests_fuzz_prices_fuzz_LDFLAGS = $(AM_LDFLAGS) $(FUZZ_LDFLAGS)
tests_fuzz_trace_fuzz_SOURCES = tests/fuzz/trace.c
tests_fuzz_trace_fuzz_LDADD = $(PROVIDER_LIBS)
tests_fuzz_trace_fuzz_LDFLAGS = $(AM_LDFLAGS) $(FUZZ_LDFLAGS)
noinst_PROGRAMS += tests/fuzz/usage.fuzz
tests_fuzz_usage_fuzz_SOURCES = tests/fuzz/usage.c
tests_fuzz_usage_fuzz_LDADD = $(INGEST_LIBS)
tests_fuzz_usage_fuzz_LDFLAGS = $(AM_LDFLAGS) $(FUZZ_LDFLAGS)
noinst_PROGRAMS += tests/fuzz/tier.fuzz
tests_fuzz_tier_fuzz_SOURCES = tests/fuzz/tier.c
tests_fuzz_tier_fuzz_LDADD = $(STORE_LIBS)
tests_fuzz_tier_fuzz_LDFLAGS = $(AM_LDFLAGS) $(FUZZ_LDFLAGS)
noinst_PROGRAMS += tests/fuzz/holiday.fuzz
tests_fuzz_holiday_fuzz_SOURCES = tests/fuzz/holiday.c
tests_fuzz_holiday_fuzz_LDADD = $(MODEL_LIBS)
tests_fuzz_holiday_fuzz_LDFLAGS = $(AM_LDFLAGS) $(FUZZ_LDFLAGS)
noinst_PROGRAMS += tests/fuzz/xml.fuzz tests/fuzz/aws.fuzz
tests_fuzz_xml_fuzz_SOURCES = tests/fuzz/xml.c
tests_fuzz_xml_fuzz_LDADD = $(UTIL_LIBS)
tests_fuzz_xml_fuzz_LDFLAGS = $(AM_LDFLAGS) $(FUZZ_LDFLAGS)
tests_fuzz_aws_fuzz_SOURCES = tests/fuzz/aws.c
tests_fuzz_aws_fuzz_LDADD = $(PROVIDER_LIBS)
tests_fuzz_aws_fuzz_LDFLAGS = $(AM_LDFLAGS) $(FUZZ_LDFLAGS)
noinst_PROGRAMS += tests/fuzz/verdict.fuzz tests/fuzz/jlite.fuzz
tests_fuzz_verdict_fuzz_SOURCES = tests/fuzz/verdict.c
tests_fuzz_verdict_fuzz_LDADD = $(PLAN_LIBS)
tests_fuzz_verdict_fuzz_LDFLAGS = $(AM_LDFLAGS) $(FUZZ_LDFLAGS)
tests_fuzz_jlite_fuzz_SOURCES = tests/fuzz/jlite.c
tests_fuzz_jlite_fuzz_LDADD = libprobe.a $(UTIL_LIBS)
tests_fuzz_jlite_fuzz_LDFLAGS = $(AM_LDFLAGS) $(FUZZ_LDFLAGS)
endif

EXTRA_DIST += \
	tests/fuzz/seeds/jlite/amd.json \
	tests/fuzz/seeds/jlite/deep.json \
	tests/fuzz/seeds/jlite/neuron.json \
	tests/fuzz/seeds/verdict/cut.json \
	tests/fuzz/seeds/verdict/gpu.json \
	tests/fuzz/seeds/verdict/host.json \
	tests/fuzz/seeds/verdict/network.json \
	tests/fuzz/seeds/verdict/other.json \
	tests/fuzz/seeds/aws/credentials.ini \
	tests/fuzz/seeds/aws/entry.json \
	tests/fuzz/seeds/aws/error.json \
	tests/fuzz/seeds/aws/error.xml \
	tests/fuzz/seeds/aws/list.csv \
	tests/fuzz/seeds/aws/list.json \
	tests/fuzz/seeds/xml/colons.xml \
	tests/fuzz/seeds/xml/crossed.xml \
	tests/fuzz/seeds/xml/doctype.xml \
	tests/fuzz/seeds/xml/instances.xml \
	tests/fuzz/seeds/xml/odd.xml \
	tests/fuzz/seeds/holiday/date \
	tests/fuzz/seeds/holiday/easter \
	tests/fuzz/seeds/holiday/first \
	tests/fuzz/seeds/holiday/last \
	tests/fuzz/seeds/holiday/leap \
	tests/fuzz/seeds/holiday/short \
	tests/fuzz/seeds/holiday/span \
	tests/fuzz/seeds/tier/day-of-hours \
	tests/fuzz/seeds/tier/day-of-seconds \
	tests/fuzz/seeds/tier/empty \
	tests/fuzz/seeds/tier/hour-of-minutes \
	tests/fuzz/seeds/tier/hour-with-gap \
	tests/fuzz/seeds/tier/index-far \
	tests/fuzz/seeds/tier/negative-index \
	tests/fuzz/seeds/tier/runs-too-long \
	tests/fuzz/seeds/tier/sketch-cut \
	tests/fuzz/seeds/tier/sketch-heavy \
	tests/fuzz/seeds/tier/sketch-without-end \
	tests/fuzz/seeds/csv/bom-tab.csv \
	tests/fuzz/seeds/csv/foreign.csv \
	tests/fuzz/seeds/csv/one.csv \
	tests/fuzz/seeds/csv/quotes.csv \
	tests/fuzz/seeds/csv/ragged.csv \
	tests/fuzz/seeds/csv/usage.csv \
	tests/fuzz/seeds/json/big.json \
	tests/fuzz/seeds/json/deep.json \
	tests/fuzz/seeds/json/numbers.json \
	tests/fuzz/seeds/json/offer.json \
	tests/fuzz/seeds/json/text.json \
	tests/fuzz/seeds/json/twice.json \
	tests/fuzz/seeds/time/date.txt \
	tests/fuzz/seeds/time/duration.txt \
	tests/fuzz/seeds/time/epoch.txt \
	tests/fuzz/seeds/time/fraction.txt \
	tests/fuzz/seeds/time/junk.txt \
	tests/fuzz/seeds/time/leap.txt \
	tests/fuzz/seeds/time/ms.txt \
	tests/fuzz/seeds/time/now.txt \
	tests/fuzz/seeds/time/offset.txt \
	tests/fuzz/seeds/time/relative.txt \
	tests/fuzz/seeds/time/rfc3339.txt \
	tests/fuzz/seeds/time/serial.txt \
	tests/fuzz/seeds/time/zone-fixed.tzif \
	tests/fuzz/seeds/time/zone-rule.tzif \
	tests/fuzz/seeds/time/zone-south.tzif \
	tests/fuzz/seeds/yaml/anchors.yaml \
	tests/fuzz/seeds/yaml/bad.yaml \
	tests/fuzz/seeds/yaml/documents.yaml \
	tests/fuzz/seeds/yaml/job.yaml \
	tests/fuzz/seeds/yaml/kinds.yaml \
	tests/fuzz/seeds/yaml/laughs.yaml \
	tests/fuzz/seeds/prices/berth.csv \
	tests/fuzz/seeds/prices/collected.csv \
	tests/fuzz/seeds/prices/gpuhunt.csv \
	tests/fuzz/seeds/prices/skypilot.csv \
	tests/fuzz/seeds/trace/bad.trace \
	tests/fuzz/seeds/trace/repeat.trace \
	tests/fuzz/seeds/trace/small.trace \
	tests/fuzz/seeds/usage/bars.txt \
	tests/fuzz/seeds/usage/error.json \
	tests/fuzz/seeds/usage/fixed.txt \
	tests/fuzz/seeds/usage/focus.csv \
	tests/fuzz/seeds/usage/metrics.prom \
	tests/fuzz/seeds/usage/range.json \
	tests/fuzz/seeds/usage/sacct.txt \
	tests/fuzz/seeds/usage/sinfo.txt \
	tests/fuzz/seeds/usage/smi.csv \
	tests/fuzz/seeds/usage/squeue.txt
