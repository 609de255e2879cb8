/* SQL of switches, ports and what reads option 82. Writers notify 'address': bampi-bootd keeps all
 * of it in memory. */
#pragma once

#include "common/db/db.h"

extern const struct db_query store_switch_list; /* $1 limit $2 cursor -> (page) */
extern const struct db_query store_switch_get;  /* $1 name -> (body) */
/* $1 name $2 ports $3 base $4 port_low $5 port_high $6 moved $7 swapped $8 actor;
 * store_switch_managed answers */
extern const struct db_query store_switch_put;
extern const struct db_query store_switch_delete; /* $1 name $2 actor $3 force -> answer */
extern const struct db_query store_port_list; /* $1 limit $2 cursor $3 switch $4 port -> (page) */
/* $1 switch $2 port $3 node $4 address $5 actor -> answer */
extern const struct db_query store_port_put;
extern const struct db_query store_port_delete;  /* $1 switch $2 port $3 actor -> answer */
extern const struct db_query store_circuit_list; /* $1 limit $2 cursor $3 relay -> (page) */
extern const struct db_query store_circuit_drop; /* $1 id $2 actor -> answer */
/* The latest samples, at most 1000, and $1 whatever its age -> (id, relay, circuit, remote) in hex.
 * $1 may be NULL. */
extern const struct db_query store_circuit_samples;
extern const struct db_query store_rule_list; /* $1 limit $2 cursor -> (page) */
extern const struct db_query store_rule_get;  /* $1 name -> (body) */
/* $1 name $2 relay $3 family $4 circuit $5 remote $6 switch $7 port $8 port_offset $9 ids of the
 * samples that it reads $10 actor -> answer */
extern const struct db_query store_rule_put;
extern const struct db_query store_rule_delete; /* $1 name $2 actor -> answer */
