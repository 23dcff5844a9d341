# filled by its folder
dist_man_MANS += man/berth-probe.1
dist_man_MANS += man/berth-job.5
