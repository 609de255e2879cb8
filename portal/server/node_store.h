/* SQL of the node routes. Answers are columns (status, location, version, body), see store_text.h.
 */
#pragma once

#include "common/db/db.h"

extern const struct db_query
	store_node_list; /* $1 limit $2 cursor $3 state $4 class $5 rack $6 name LIKE -> (page) */
extern const struct db_query store_node_get;       /* $1 name -> (body, version, whole) */
extern const struct db_query store_node_inventory; /* $1 name -> (body) */
extern const struct db_query store_node_drives;    /* $1 name -> (body) */
extern const struct db_query store_node_visible;   /* $1 name -> a row when it may be seen */
extern const struct db_query store_seal_key;       /* -> (hex) of bampid's public key */
/* What one statement found is kept for the next of the same transaction in the setting haas.result.
 */
extern const struct db_query store_node_create;  /* $1 spec $2 actor */
extern const struct db_query store_node_created; /* $1 name -> answer */
extern const struct db_query store_node_lock;    /* $1 name $2 actor: locks the row, if any */
extern const struct db_query store_node_patch;   /* $1 name $2 version $3 patch $4 actor */
extern const struct db_query store_node_patched; /* $1 name -> answer */
extern const struct db_query store_node_delete;  /* $1 name $2 version $3 actor -> answer */
extern const struct db_query store_node_check;   /* $1 specs $2 actor: dry run of a sheet */
extern const struct db_query store_node_import; /* $1 specs $2 actor $3 dry_run: writes when the dry
						   run found nothing wrong */
extern const struct db_query store_node_imported; /* $1 dry_run -> answer */
extern const struct db_query store_node_fire;     /* $1 names[] $2 event $3 actor $4 reason */
extern const struct db_query store_node_fired;    /* $1 event -> answer */
extern const struct db_query
	store_node_action; /* $1 names[] $2 action $3 params $4 force $5 actor -> answer */
