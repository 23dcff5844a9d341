# checks of the sources and of what is bundled
dist_check_SCRIPTS += tests/lint/data.sh
dist_check_SCRIPTS += tests/lint/layers.sh tests/lint/style.sh
dist_check_SCRIPTS += tests/lint/man.sh tests/lint/man-examples.sh
