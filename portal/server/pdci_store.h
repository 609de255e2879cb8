/* SQL of the PDCI and usage routes. What one statement found or made, haas.result keeps for the
 * next: a statement doesn't see the rows that its own functions write. */
#pragma once

#include "common/db/db.h"

extern const struct db_query store_pdci_list; /* $1 limit $2 cursor $3 state $4 active $5 tenant $6
						 name -> (page) */
extern const struct db_query store_pdci_get;  /* $1 id or name $2 tenant -> (body) */
extern const struct db_query store_pdci_create; /* $1 tenant $2 name $3 request $4 actor */
extern const struct db_query store_pdci_try; /* as store_pdci_create, nothing is kept -> ({volumes,
						links}) */
extern const struct db_query store_pdci_created;  /* -> answer */
extern const struct db_query store_pdci_release;  /* $1 id or name $2 tenant $3 actor */
extern const struct db_query store_pdci_replace;  /* as store_pdci_release; $4 node */
extern const struct db_query store_pdci_released; /* -> answer */
extern const struct db_query
	store_usage_list; /* $1 limit $2 cursor $3 tenant $4 from $5 to $6 kind -> (page) */
