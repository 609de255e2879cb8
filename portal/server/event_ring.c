#include "portal/server/event_ring.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/sorted.h"
#include "common/base/text.h"

#define WORDS 4

struct ring_event {
	struct event_position at;
	size_t offset, size;
	char *words; /* WORDS texts, one behind the other */
};

struct event_ring {
	struct event_position floor;
	struct ring_event *events; /* event n is at n % EVENT_RING_EVENTS */
	uint64_t first, stop;
	char *bytes;
	size_t head; /* where the next text goes */
};

bool event_position_after(struct event_position a, struct event_position b)
{
	return a.xid != b.xid ? a.xid > b.xid : a.id > b.id;
}

struct event_position event_position_read(const char *text)
{
	struct event_position position = {0};
	char *rest = NULL;

	position.xid = strtoull(text, &rest, 10);
	if (*rest == '-')
		position.id = strtoull(rest + 1, NULL, 10);
	return position;
}

int event_ring_new(struct event_ring **ret)
{
	struct event_ring *ring = calloc(1, sizeof(*ring));

	if (ring)
		ring->events = calloc(EVENT_RING_EVENTS, sizeof(*ring->events));
	if (ring)
		ring->bytes = malloc(EVENT_RING_BYTES);
	if (!ring || !ring->events || !ring->bytes) {
		event_ring_free(ring);
		return -ENOMEM;
	}
	*ret = ring;
	return 0;
}

static struct ring_event *ring_at(const struct event_ring *ring, uint64_t number)
{
	return &ring->events[number % EVENT_RING_EVENTS];
}

static void ring_drop_first(struct event_ring *ring)
{
	struct ring_event *event = ring_at(ring, ring->first++);

	ring->floor = event->at;
	free(event->words);
	event->words = NULL;
}

void event_ring_reset(struct event_ring *ring, struct event_position floor)
{
	while (ring->first < ring->stop)
		ring_drop_first(ring);
	ring->floor = floor;
	ring->head = 0;
}

void event_ring_free(struct event_ring *ring)
{
	if (!ring)
		return;
	if (ring->events)
		event_ring_reset(ring, (struct event_position){0});
	free(ring->events);
	free(ring->bytes);
	free(ring);
}

/* The oldest give way until `size` bytes at the head are nobody's. */
static void ring_make_room(struct event_ring *ring, size_t size)
{
	if (ring->head + size > EVENT_RING_BYTES) {
		/* What lies behind the head is older than what lies at the begin. */
		while (ring->first < ring->stop && ring_at(ring, ring->first)->offset >= ring->head)
			ring_drop_first(ring);
		ring->head = 0;
	}
	if (ring->stop - ring->first == EVENT_RING_EVENTS)
		ring_drop_first(ring);
	while (ring->first < ring->stop) {
		const struct ring_event *oldest = ring_at(ring, ring->first);

		if (oldest->offset >= ring->head + size ||
		    oldest->offset + oldest->size <= ring->head)
			return;
		ring_drop_first(ring);
	}
}

static char *ring_keep_words(const struct event_words *words)
{
	const char *const all[WORDS] = {words->tenant, words->subject_kind, words->subject,
					words->kind};
	size_t size = 0;
	char *kept;

	for (size_t i = 0; i < WORDS; i++)
		size += strlen(all[i]) + 1;
	kept = malloc(size);
	for (size_t i = 0, at = 0; kept && i < WORDS; i++) {
		memcpy(kept + at, all[i], strlen(all[i]) + 1);
		at += strlen(all[i]) + 1;
	}
	return kept;
}

void event_ring_add(struct event_ring *ring, struct event_position at,
		    const struct event_words *words, const char *body)
{
	struct text text = {0};
	char *kept = ring_keep_words(words);

	text_addf(&text, "id: %" PRIu64 "-%" PRIu64 "\ndata: ", at.xid, at.id);
	text_add(&text, body);
	text_add(&text, "\n\n");
	if (!kept || text.failed || text.size > EVENT_RING_BYTES / 2) {
		free(kept);
		event_ring_reset(ring, at);
	} else {
		ring_make_room(ring, text.size);
		memcpy(ring->bytes + ring->head, text_get(&text), text.size);
		*ring_at(ring, ring->stop++) = (struct ring_event){
			.at = at, .offset = ring->head, .size = text.size, .words = kept};
		ring->head += text.size;
	}
	text_done(&text);
}

struct event_position event_ring_floor(const struct event_ring *ring)
{
	return ring->floor;
}

struct event_position event_ring_end(const struct event_ring *ring)
{
	return ring->first < ring->stop ? ring_at(ring, ring->stop - 1)->at : ring->floor;
}

uint64_t event_ring_after(const struct event_ring *ring, struct event_position at)
{
	return SORTED_FIRST(number, ring->first, ring->stop,
			    !event_position_after(ring_at(ring, number)->at, at));
}

uint64_t event_ring_stop(const struct event_ring *ring)
{
	return ring->stop;
}

struct event_position event_ring_position(const struct event_ring *ring, uint64_t number)
{
	return ring_at(ring, number)->at;
}

struct event_words event_ring_words(const struct event_ring *ring, uint64_t number)
{
	struct event_words words = {.tenant = ring_at(ring, number)->words};

	words.subject_kind = words.tenant + strlen(words.tenant) + 1;
	words.subject = words.subject_kind + strlen(words.subject_kind) + 1;
	words.kind = words.subject + strlen(words.subject) + 1;
	return words;
}

const char *event_ring_run(const struct event_ring *ring, uint64_t number, size_t max,
			   uint64_t *ret_next, size_t *ret_size)
{
	const struct ring_event *event = ring_at(ring, number);
	size_t begin = event->offset;
	size_t end = begin + event->size;

	while (++number < ring->stop) {
		event = ring_at(ring, number);
		if (event->offset != end || end + event->size - begin > max)
			break;
		end += event->size;
	}
	*ret_next = number;
	*ret_size = end - begin;
	return ring->bytes + begin;
}
