/* SQL of the grant and package routes. */
#pragma once

#include "common/db/db.h"

extern const struct db_query
	store_grants; /* $1 limit $2 cursor $3 kind $4 tenant $5 object -> (page) */
extern const struct db_query
	store_grants_put; /* $1 kind $2 object $3 owner $4 tenant $5 expires_at $6 actor */
extern const struct db_query store_grants_made;   /* -> answer 201 */
extern const struct db_query store_grants_remove; /* $1 id $2 actor -> answer */

extern const struct db_query
	store_package_list; /* $1 limit $2 cursor $3 state $4 name LIKE -> (page)
			     */
extern const struct db_query store_package_get; /* $1 name $2 version -> (body, version, whole) */
/* $1 name $2 version $3 kind $4 digest $5 size_bytes $6 owner or NULL $7 public $8 actor -> answer
 */
extern const struct db_query store_package_create;
extern const struct db_query store_package_upload;   /* of content_kind */
extern const struct db_query store_package_received; /* of content_kind */
extern const struct db_query store_package_delete;   /* $1 name $2 version $3 actor */
