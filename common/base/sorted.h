/* One binary search for sorted arrays.
 *     size_t at = SORTED_FIRST(i, 0, count, rows[i].id < id);
 *     found = at < count && rows[at].id == id; */
#pragma once

#include <stddef.h>

/* The first index of [from, to) whose element no longer comes before the wanted one; `to` when all
 * come before. `comes_before` is an expression of `index`: true for a first part of the range, and
 * false for the rest. It is evaluated about log2(to - from) times. */
#define SORTED_FIRST(index, from, to, comes_before)                                          \
	__extension__({                                                                      \
		size_t sorted_low_ = (from);                                                 \
		size_t sorted_high_ = (to);                                                  \
		while (sorted_low_ < sorted_high_) {                                         \
			const size_t index = sorted_low_ + (sorted_high_ - sorted_low_) / 2; \
			if (comes_before)                                                    \
				sorted_low_ = index + 1;                                     \
			else                                                                 \
				sorted_high_ = index;                                        \
		}                                                                            \
		sorted_low_;                                                                 \
	})
