/* SQL of fabrics, how switches are managed, cables, places and the planned cabling. What
 * writes calls the functions of fabric.sql, in two steps: the change, then the answer. */
#pragma once

#include "common/db/db.h"

extern const struct db_query store_fabric_list;   /* $1 limit $2 cursor -> (page) */
extern const struct db_query store_fabric_get;    /* $1 name -> (body) */
extern const struct db_query store_fabric_put;    /* $1 name $2 spec $3 actor */
extern const struct db_query store_fabric_placed; /* $1 name -> answer */
extern const struct db_query store_fabric_delete; /* $1 name $2 actor -> answer */

extern const struct db_query store_switch_key;     /* -> (public key of peregrined) */
extern const struct db_query store_switch_manage;  /* $1 name $2 spec $3 actor */
extern const struct db_query store_switch_managed; /* $1 name -> answer */
extern const struct db_query store_switch_release; /* $1 name $2 actor $3 force -> answer */
extern const struct db_query store_switch_known;   /* $1 name -> a row when it is managed */
extern const struct db_query store_aggregate_list; /* $1 limit $2 cursor $3 switch */
extern const struct db_query store_switch_ports;   /* $1 name -> (body) */

extern const struct db_query store_link_list; /* $1 limit $2 cursor $3 fabric $4 switch $5 state */
/* $1 limit $2 cursor $3 mac $4 node $5 nic $6 switch $7 port */
extern const struct db_query store_location_list;
extern const struct db_query store_wiring_list;   /* $1 limit $2 cursor $3 switch $4 node */
extern const struct db_query store_wiring_put;    /* $1 rows $2 replace $3 dry_run $4 actor */
extern const struct db_query store_wiring_told;   /* -> answer */
extern const struct db_query store_wiring_delete; /* $1 switch $2 port $3 actor -> answer */
