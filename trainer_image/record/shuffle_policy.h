/* Which sample comes when: the order of an epoch, computed, not stored.
 *
 * Pages are put in the order of a Feistel permutation, seeded by (seed, epoch). The samples of
 * all pages in that order are one line, cut into one share per rank. Shares differ by at most one sample. So each sample
 * is seen exactly once an epoch, for any number of ranks; two ranks may share a page. A share is cut
 * into groups of `window` pages, and a second permutation mixes the samples of a group.
 *
 * Nothing depends on what came before: (seed, epoch, position) gives the sample. That is all a checkpoint
 * needs. Memory is O(window), whatever the number of samples. Pure: no clock, no file. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/macros.h"

enum { SHUFFLE_WINDOW_MAX = 256 };

/* What is shuffled. */
struct shuffle_set {
	uint32_t pages;
	const uint64_t *
		first; /* [pages + 1], rising from 0: page p holds samples first[p] .. first[p + 1] - 1 */
};

struct shuffle_ask {
	uint64_t seed, epoch;
	uint32_t rank, ranks; /* rank < ranks */
	uint32_t window;      /* pages that are open at a time, 1 .. SHUFFLE_WINDOW_MAX */
};

/* Samples of one page that belong to this rank's group. */
struct shuffle_part {
	uint32_t page;
	uint32_t begin; /* the first of them, within the page */
	uint32_t count;
};

/* `window` pages whose samples are mixed. */
struct shuffle_group {
	uint64_t begin; /* position of its first sample in the share */
	uint64_t count;
	uint32_t part_count;
	struct shuffle_part part[SHUFFLE_WINDOW_MAX];
	uint64_t part_begin
		[SHUFFLE_WINDOW_MAX]; /* position of each part within the group, before mixing */
	uint64_t next_place;          /* in the order of pages: where the group behind it begins */
};

struct shuffle {
	struct shuffle_set set; /* borrowed */
	struct shuffle_ask ask;
	uint64_t count;    /* samples of this rank's share */
	uint64_t position; /* of the next sample, 0 .. count */
	uint64_t first_place;
	uint64_t first_skip;        /* samples of the first page that are the rank's before */
	struct shuffle_group group; /* that of `position` */
};

struct shuffle_place {
	uint32_t page;
	uint32_t index; /* within the page */
	uint32_t slot;  /* which part of the group: 0 .. window - 1 */
};

/* Begins at position 0. E_INVALID when rank, ranks or window are out of range. */
MUST_USE int shuffle_init(struct shuffle *shuffle, const struct shuffle_set *set,
			  const struct shuffle_ask *ask);
/* Goes to a position, 0 .. count: as if that many samples had been taken. E_INVALID beyond it. */
MUST_USE int shuffle_seek(struct shuffle *shuffle, uint64_t position);
/* The next sample; false at the end of the share. `shuffle->group` is its group: when group.begin
 * changes, other pages are to be opened. */
bool shuffle_next(struct shuffle *shuffle, struct shuffle_place *ret);
/* The group behind `group`, so that its pages can be read ahead; false when there is none. */
bool shuffle_group_after(const struct shuffle *shuffle, const struct shuffle_group *group,
			 struct shuffle_group *ret);

/* The permutation: where `index` (< count) goes to, a number below `count`. `key` chooses which. */
uint64_t shuffle_permute(uint64_t index, uint64_t count, uint64_t key);
/* Mixes numbers into a key (splitmix64). */
uint64_t shuffle_key(uint64_t seed, uint64_t epoch, uint64_t purpose);
