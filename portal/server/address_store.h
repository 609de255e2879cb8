/* SQL of subnets, reservations and leases. Writers notify 'address': bampi-bootd keeps what it
 * serves in memory. */
#pragma once

#include "common/db/db.h"

extern const struct db_query store_subnet_list; /* $1 limit $2 cursor -> (page) */
extern const struct db_query store_subnet_get;  /* $1 name -> (body, version, whole) */
/* $1 name $2 version $3 prefix $4 gateway $5 dns[] $6 boot_server $7 pool_low $8 pool_high $9
 * reserved_only $10 lease_s: kept in haas.result */
extern const struct db_query store_subnet_put;
extern const struct db_query store_subnet_placed;     /* $1 name $2 version $3 actor -> answer */
extern const struct db_query store_subnet_delete;     /* $1 name $2 version $3 actor -> answer */
extern const struct db_query store_reservation_list;  /* $1 limit $2 cursor -> (page) */
extern const struct db_query store_reservation_clear; /* $1 mac */
extern const struct db_query
	store_reservation_put; /* $1 mac $2 subnet $3 address $4 actor -> answer */
extern const struct db_query store_reservation_drop; /* $1 mac $2 actor -> answer */
extern const struct db_query store_lease_list; /* $1 limit $2 cursor $3 subnet $4 node -> (page) */
extern const struct db_query store_lease_reclaim; /* $1 address $2 actor -> answer */
