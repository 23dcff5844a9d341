dist_pkgdata_DATA += data/accelerators.csv data/offers.csv data/probe_reference.csv data/probe_thresholds.csv
berthholidaysdir = $(pkgdatadir)/holidays
dist_berthholidays_DATA = data/holidays/cn.csv data/holidays/de.csv data/holidays/fr.csv data/holidays/gb.csv data/holidays/us.csv
berthjobsdir = $(pkgdatadir)/jobs
dist_berthjobs_DATA = \
	data/jobs/batch-inference-l4.yaml data/jobs/finetune-a100-spot.yaml data/jobs/pretrain-8xh100.yaml \
	data/jobs/render-cannot-resume.yaml data/jobs/report-by-deadline.yaml data/jobs/train-in-eu.yaml
berthhistorydir = $(pkgdatadir)/history
dist_berthhistory_DATA = data/history/gpu-usage.csv

# How the bundled files are made; berth itself never runs these.
EXTRA_DIST += data/README.md data/make-history.awk data/make-offers.py
berthreplaydir = $(pkgdatadir)/replay
dist_berthreplay_DATA = data/replay/example.trace
