/* Whose read is next, when more of them wait than there are connections. Whoever asks has a queue of its own, and the queues take turns. None
 * has more than a share of the connections at once: the reads of one may be slow, and take the machine's cores. No I/O. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "common/base/macros.h"

struct read_turn;
struct read_asker;

#define READ_TURN_WAITING  256   /* reads of one that may wait */
#define READ_TURN_ABOUT_MS 10000 /* whoever has asked since then is about */

/* A part of the caller's own; `since_ms` is the caller's to set. */
struct read_item {
	struct read_item *next;
	struct read_asker *asker;
	int64_t since_ms;
};

/* `slots`: reads that run at the same time; of one asker half of them, and `among` while others are about, at least 1. */
MUST_USE int read_turn_new(unsigned slots, unsigned among, struct read_turn **ret);
/* Nothing waits, and nothing runs any more. */
void read_turn_free(struct read_turn *turn);
/* The item waits from now on. E_LIMIT: too many of this asker do. */
MUST_USE int read_turn_add(struct read_turn *turn, const char *asker, struct read_item *item);
/* Takes the item that runs from now on. NULL: none may. */
struct read_item *read_turn_next(struct read_turn *turn, int64_t now_ms);
/* It runs no more. */
void read_turn_done(struct read_turn *turn, struct read_item *item, int64_t now_ms);
/* Takes one that waits since before then. NULL: none does. */
struct read_item *read_turn_late(struct read_turn *turn, int64_t before_ms);
size_t read_turn_waiting(const struct read_turn *turn);
