/* The newest events in memory, as the stream sends them. Readers that come back find theirs here, however
 * many they are, without a question to the database. Texts lie behind each other, so that a reader
 * without a filter is sent a run of them at once. No I/O. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/macros.h"

/* What is kept: as many events, and as many bytes of text. */
#define EVENT_RING_EVENTS 16384
#define EVENT_RING_BYTES  ((size_t)8 << 20)

/* Of an event in the stream's order: (transaction, event). */
struct event_position {
	uint64_t xid, id;
};

/* What filters look at; each is a text. The tenant's is its id: its name may be another's later. */
struct event_words {
	const char *tenant, *subject_kind, *subject, *kind;
};

struct event_ring;

bool event_position_after(struct event_position a, struct event_position b);
/* "xid-id"; what does not begin so is {0, 0}. */
struct event_position event_position_read(const char *text);

/* -ENOMEM. */
MUST_USE int event_ring_new(struct event_ring **ret);
void event_ring_free(struct event_ring *ring);
/* Forgets all; what comes after `floor` is added next. */
void event_ring_reset(struct event_ring *ring, struct event_position floor);
/* Events come in their order. What memory has no room for is not kept, and neither is what was before it. */
void event_ring_add(struct event_ring *ring, struct event_position at,
		    const struct event_words *words, const char *body);

/* Every event after the floor is here, up to the end. */
struct event_position event_ring_floor(const struct event_ring *ring);
struct event_position event_ring_end(const struct event_ring *ring);
/* The number of the first event after `at`; event_ring_stop when there is none. */
uint64_t event_ring_after(const struct event_ring *ring, struct event_position at);
uint64_t event_ring_stop(const struct event_ring *ring);
struct event_position event_ring_position(const struct event_ring *ring, uint64_t number);
struct event_words event_ring_words(const struct event_ring *ring, uint64_t number);
/* The text of one event and of those that lie behind it, together at most `max` bytes, but for the first. */
const char *event_ring_run(const struct event_ring *ring, uint64_t number, size_t max,
			   uint64_t *ret_next, size_t *ret_size);
