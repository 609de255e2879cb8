/* Divides a window between a collector's memory, second by second, and stored minutes. Nothing is
 * counted twice and nothing is left out:
 *
 *   minutes:        |  10:40  |  10:41  |  10:42  |        now = 10:42:20
 *   window of 90 s:       |<- cut ->|  whole  | begun |
 *                         ^ 10:40:50
 *
 * - A minute that the window cuts is read from memory. It is cut only where memory reaches; else it
 *   is taken whole, and the window is that much longer.
 * - A whole minute is read from its rows, and from memory as long as it is not stored. The
 *   statement that reads both says which, in one snapshot of the database.
 * - The minute under way is whole: nothing of it is later than now.
 *
 * The same question has the same seconds when it is asked again a little later. Else a parent and
 * its parts would not add up. So the first minute of a window is cut only where memory will still
 * reach it in a minute (exact_s). Later its begin may be forgotten: then it is longer, and `from_s`
 * says so. A window to now is pinned by the `to_s` of its first answer. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct drill_memory {
	int64_t first_s, last_s; /* seconds that are there; 0, 0 = none */
	int64_t exact_s;         /* the longest window whose first minute is cut */
};

struct drill_join {
	int64_t from_s, to_s;               /* what is answered */
	int64_t stored_from_s, stored_to_s; /* whole minutes; equal = none of them */
	bool head_cut, tail_cut;
};

/* `to_s` 0 = now: the end of what is in memory; so is what lies in the future. from_s < to_s, in
 * seconds since 1970. */
struct drill_join drill_join(const struct drill_memory *memory, int64_t from_s, int64_t to_s);
/* True: of the minute that begins at `minute_s` the stored rows are not read. */
bool drill_join_cuts(const struct drill_join *join, int64_t minute_s);
