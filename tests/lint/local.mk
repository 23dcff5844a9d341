# checks of the sources and of what is bundled
dist_check_SCRIPTS += tests/lint/data.sh
