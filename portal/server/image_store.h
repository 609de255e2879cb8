/* SQL of the image routes. */
#pragma once

#include "common/db/db.h"

extern const struct db_query
	store_image_list; /* $1 limit $2 cursor $3 state $4 name LIKE -> (page) */
extern const struct db_query store_image_get; /* $1 name $2 version -> (body, version, whole) */
/* $1 manifest (exact text) $2 signature hex $3 key id $4 owner or NULL $5 public $6 actor -> answer
 */
extern const struct db_query store_image_create;
/* $1 name $2 version -> (id, state, received_bytes, stored_bytes, stored_digest, may be written to)
 */
extern const struct db_query store_image_upload;
/* $1 id $2 received before $3 received now $4 state $5 actor -> answer */
extern const struct db_query store_image_received;
extern const struct db_query store_grant_put;  /* $1 name $2 version $3 tenant $4 actor -> answer */
extern const struct db_query store_grant_drop; /* $1 name $2 version $3 tenant $4 actor -> answer */
