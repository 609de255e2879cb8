/* SQL of the deployment routes. */
#pragma once

#include "common/db/db.h"

extern const struct db_query store_deployment_list; /* $1 limit $2 cursor $3 state $4 active $5 plan
						       $6 node $7 job -> (page) */
extern const struct db_query store_deployment_get;  /* $1 id -> (body) */
extern const struct db_query store_deployment_create; /* $1 plan $2 names[] $3 image $4 tenant $5
							 params $6 actor -> answer */
extern const struct db_query
	store_deployment_ask; /* $1 id $2 verb $3 actor: kept for the next in haas.result */
extern const struct db_query store_deployment_asked; /* $1 id -> answer */
