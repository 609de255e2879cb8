/* Health: labels, sensors and event logs as the API shows them, and what operators do to labels. */
#pragma once

#include "common/db/db.h"

/* $1 = node. */
extern const struct db_query store_node_health;
/* $1 limit, $2 cursor (id), $3 node. */
extern const struct db_query store_node_sel;
/* $1 limit, $2 cursor, $3 node, $4 label, $5 severity, $6 effect. */
extern const struct db_query store_label_list;
/* $1 nodes, $2 action, $3 label, $4 severity, $5 effects, $6 reason, $7 seconds, $8 actor. */
extern const struct db_query store_label_request;
