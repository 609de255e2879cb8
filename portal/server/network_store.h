/* SQL of the network routes. A network is meant by its id or by the name that it has in its tenant
 * (network_find of db/schema). */
#pragma once

#include "common/db/db.h"

extern const struct db_query store_network_list; /* $1 limit $2 cursor $3 tenant $4 kind $5 name ->
						    (page) */
extern const struct db_query
	store_network_get; /* $1 id or name $2 tenant -> (body, version, whole) */
extern const struct db_query
	store_network_create; /* $1 name $2 kind $3 tenant $4 prefix $5 actor */
extern const struct db_query store_network_created; /* -> answer */
extern const struct db_query store_network_delete; /* $1 id or name $2 tenant $3 version $4 actor */
extern const struct db_query store_network_deleted;   /* -> answer */
extern const struct db_query store_attachment_put;    /* $1 id or name $2 tenant $3 switch $4 port
							 $5 mode $6 actor */
extern const struct db_query store_attachment_placed; /* $1 switch $2 port -> answer */
extern const struct db_query
	store_attachment_remove; /* $1 id or name $2 tenant $3 switch $4 port $5 actor */
extern const struct db_query store_attachment_removed; /* -> answer */
extern const struct db_query store_port_park;          /* $1 switch $2 port $3 actor */
extern const struct db_query store_port_release;       /* $1 switch $2 port $3 actor */
extern const struct db_query store_port_intent;        /* $1 switch $2 port -> answer */
extern const struct db_query store_node_networks;      /* $1 node -> (body) */
extern const struct db_query store_node_networks_put;  /* $1 node $2 networks $3 actor */
extern const struct db_query store_node_networks_done; /* $1 node -> answer */
