/* Captures of packets, whose consent they have, where mirrors deliver. */
#pragma once

#include "common/db/db.h"

extern const struct db_query store_capture_list;
extern const struct db_query store_capture_get;
extern const struct db_query store_capture_vlan;  /* refuses one that is not the tenant's */
extern const struct db_query store_capture_start; /* spec, actor; keeps the id */
extern const struct db_query store_capture_started;
extern const struct db_query store_capture_approve; /* id, actor */
extern const struct db_query store_capture_stop;
extern const struct db_query store_capture_remove;
extern const struct db_query store_capture_changed; /* id */
extern const struct db_query
	store_capture_read; /* id, offset, actor -> (oldest file, id): may he? */
extern const struct db_query store_capture_watch; /* id, after, actor -> (id) */
extern const struct db_query store_capture_grants;
extern const struct db_query store_capture_grant_put; /* node, expires, actor; keeps the id */
extern const struct db_query store_capture_grant_made;
extern const struct db_query store_capture_grant_withdraw; /* id, actor */
extern const struct db_query store_capture_points;
extern const struct db_query store_capture_point_put; /* switch, spec, actor */
extern const struct db_query store_capture_point_done;
extern const struct db_query store_capture_point_remove; /* switch, actor */
