/* SQL of the event list and the event stream. */
#pragma once

#include "common/db/db.h"

extern const struct db_query
	store_node_events; /* $1 limit $2 cursor $3 node $4 after -> (page), oldest first */
/* $1 limit $2 cursor $3 subject_kind $4 subject $5 kind LIKE $6 after -> (page) */
extern const struct db_query store_event_newest;
extern const struct db_query store_event_oldest;
/* -> (xid): everything below it has ended. */
extern const struct db_query store_stream_start;
/* $1 xid $2 id of the last row had, $3 limit -> (xid, id, tenant or "", subject_kind, subject,
 * kind, body), in the order of the stream; only rows that no running transaction can still precede.
 */
extern const struct db_query store_stream_after;
