/* SQL of the way between two nodes of a tenant (db/schema/counter.sql). */
#pragma once

#include "common/db/db.h"

/* $1 tenant $2 $3 nodes $4 network, null = all that they share -> the answer as JSON, whose traffic
 * alone may be seen (null = everybody's). */
extern const struct db_query store_path_get;
/* $1 that JSON $2 a collector's answer for the links (peregrine/flowd/flowd_drill.c), null = none
 * $3 why not -> the JSON with what the links carry. */
extern const struct db_query store_path_load;
