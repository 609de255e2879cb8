/* The latest progress per deployment, flushed once a second for all by one statement. While
 * PostgreSQL is away the latest values wait. */
#pragma once

#include <stdint.h>

#include "common/base/macros.h"
#include "common/db/db.h"
#include "common/io/loop.h"

#include "bampi/bootd/boot/boot_counters.h"
#include "bampi/bootd/boot/boot_report.h"

struct progress_board;

/* db and counters are borrowed. */
MUST_USE int progress_board_new(struct loop *loop, struct db *db, struct boot_counters *counters,
				struct progress_board **ret);
/* What waits is dropped: the agents say it again within a second. Does not touch db, which may be
 * gone. */
void progress_board_free(struct progress_board *board);
/* -ENOMEM. */
MUST_USE int progress_board_put(struct progress_board *board, int64_t deployment_id,
				const struct boot_progress *progress);
