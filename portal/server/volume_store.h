/* SQL of the volume, archive and storage routes. What one statement found or made, haas.result
 * keeps for the next, as in pdci_store. */
#pragma once

#include "common/db/db.h"

extern const struct db_query store_volume_list; /* $1 limit $2 cursor $3 tenant $4 PDCI's name $5
						   kind $6 state $7 name $8 active -> (page) */
extern const struct db_query
	store_pdci_volumes;                    /* $1 limit $2 cursor $3 PDCI $4 tenant -> (page) */
extern const struct db_query store_volume_get; /* $1 id or name $2 tenant -> (body) */
/* $1 tenant $2 name $3 size_bytes $4 archive $5 storage $6 PDCI $7 keep $8 actor */
extern const struct db_query store_volume_create;
extern const struct db_query store_volume_created; /* -> answer 201 */
/* All: $1 id or name $2 tenant $3 actor, and $4 where they need one: PDCI, size_bytes, name of the
 * archive, the sealed secret in hex. */
extern const struct db_query store_volume_attach, store_volume_detach, store_volume_resize,
	store_volume_delete, store_volume_archive, store_volume_secret;
extern const struct db_query store_volume_changed; /* -> answer 202 */
extern const struct db_query store_volume_key; /* $1 id or name $2 tenant -> (key of its storage) */

extern const struct db_query store_archive_list; /* $1 limit $2 cursor $3 tenant $4 state $5 name $6
						    active -> (page) */
extern const struct db_query store_archive_get;  /* $1 id or name $2 tenant -> (body) */
extern const struct db_query store_archive_delete;  /* $1 id or name $2 tenant $3 actor */
extern const struct db_query store_archive_changed; /* -> answer 202 */

extern const struct db_query store_storage_list; /* $1 limit $2 cursor -> (page) */
extern const struct db_query store_storage_get;  /* $1 name -> (body) */
extern const struct db_query store_storage_put;  /* $1 name $2 spec $3 actor */
extern const struct db_query store_storage_done; /* $1 name -> answer 200 */
