/* src/util/json.h - the reader and the writer.  Floor: util. */
#ifndef BERTH_UTIL_JSON_H
#define BERTH_UTIL_JSON_H

#include "util/jsonr.h"
#include "util/jsonw.h"

#endif
