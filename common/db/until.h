/* Converts a remaining lifetime reported by PostgreSQL into a deadline on our own clock.
 *
 * The answer may be old: a database that stood still counts on when it goes on, and a slow path
 * brings late what was counted long ago. The answer alone does not show either. So the deadline
 * counts from the moment of asking. */
#pragma once

#include <stdint.h>

/* A database that is there has answered before that. */
enum { DB_SILENT_MS = 5000 };

/* `asked_ms` and `answered_ms` as loop_now_ms. Of an answer in time: counted from when it was
 * asked. Of a late one: `known_ms`, what an earlier one told (it lasts as long as before); where
 * none did (0), the latest that can be. The next answer in time says it exactly, so who uses this
 * asks all the time, not only when rows change. */
int64_t db_until_ms(int64_t asked_ms, int64_t answered_ms, int64_t left_ms, int64_t known_ms);
