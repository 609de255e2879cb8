/* What a daemon logs when its connection comes or goes, the same words for all. */
#pragma once

#include "common/db/db.h"
#include "common/io/log.h"

/* For db_state_fn. `without`: what goes on while PostgreSQL is away. */
static inline void db_log_state(const struct db *db, const char *subject, bool connected,
				const char *without)
{
	const struct problem *away = db_away(db);

	if (connected)
		log_info(subject, "PostgreSQL is there");
	else if (db_stands_by(db))
		log_info(subject, "%s: %s", away->message, away->detail);
	else
		log_warn(subject, "PostgreSQL is away: %s (detail=\"%s\")", without, away->detail);
}
