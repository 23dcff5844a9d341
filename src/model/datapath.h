/* src/model/datapath.h - where the bundled data files lie.  Floor: model. */
#ifndef BERTH_MODEL_DATAPATH_H
#define BERTH_MODEL_DATAPATH_H

#include "util/arena.h"
#include "util/err.h"

/*
 * Path of a bundled file ("accelerators.csv", "jobs/train.yaml"): the first that can be read of
 * $BERTH_DATA/name (if BERTH_DATA is set, only there), DIR/data/name and DIR/../data/name where DIR
 * holds the running program (a build or source tree), DIR/../share/berth/name, and the data
 * directory of the installation. BERTH_ENOTFOUND: the message lists where it was looked for.
 */
BERTH_MUST_CHECK enum berth_code data_path(
    struct arena *arena, const char *name, const char **path_out, struct berth_err *err);

#endif
