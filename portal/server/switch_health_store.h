/* SQL of the health of switches (db/schema/counter.sql). */
#pragma once

#include "common/db/db.h"

extern const struct db_query store_switch_health_list; /* $1 limit $2 cursor $3 fabric */
extern const struct db_query store_switch_health_get;  /* $1 switch */
