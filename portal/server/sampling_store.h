/* SQL of sampling: what switches shall send (db/schema/sampling.sql). */
#pragma once

#include "common/db/db.h"

extern const struct db_query store_sampling_list; /* $1 limit $2 cursor $3 fabric $4 switch */
extern const struct db_query store_sampling_set;  /* $1 fabric|switch $2 name $3 spec $4 actor */
extern const struct db_query store_sampling_now;  /* $1 fabric|switch $2 name */
