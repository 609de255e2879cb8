#include "bampi/bmc/console_ring.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define ROOM_FIRST 256

void console_ring_done(struct console_ring *ring)
{
	free(ring->bytes);
	*ring = (struct console_ring){0};
}

/* Only one that never came round: then each byte stays where it is. */
static void console_ring_grow(struct console_ring *ring, size_t more)
{
	size_t room = ring->room ? ring->room : ROOM_FIRST;
	char *bytes;

	while (room < CONSOLE_RING_SIZE && room - ring->total < more)
		room *= 2;
	bytes = realloc(ring->bytes, room);
	if (!bytes)
		return;
	ring->bytes = bytes;
	ring->room = room;
}

void console_ring_add(struct console_ring *ring, const void *bytes, size_t size)
{
	const char *at = bytes;

	if (ring->room < CONSOLE_RING_SIZE && ring->total <= ring->room &&
	    size > ring->room - ring->total)
		console_ring_grow(ring, size);
	if (size > ring->room) {
		ring->total += size - ring->room;
		at += size - ring->room;
		size = ring->room;
	}
	while (size > 0) {
		size_t start = ring->total % ring->room;
		size_t piece = size < ring->room - start ? size : ring->room - start;

		memcpy(ring->bytes + start, at, piece);
		ring->total += piece;
		at += piece;
		size -= piece;
	}
}

size_t console_ring_copy(const struct console_ring *ring, uint64_t since, char *ret, size_t room,
			 uint64_t *ret_position)
{
	uint64_t oldest = ring->total > ring->room ? ring->total - ring->room : 0;
	uint64_t from = since < oldest ? oldest : since;
	size_t size = 0;

	if (from > ring->total)
		from = ring->total;
	*ret_position = from;
	while (size < room && from < ring->total) {
		size_t start = from % ring->room;
		size_t piece = ring->room - start;

		if (piece > ring->total - from)
			piece = ring->total - from;
		if (piece > room - size)
			piece = room - size;
		memcpy(ret + size, ring->bytes + start, piece);
		size += piece;
		from += piece;
	}
	return size;
}

/* --- tail --- */

/* Where we are in an escape sequence (ECMA-48). */
enum escape { ESCAPE_NONE, ESCAPE_STARTED, ESCAPE_CONTROL, ESCAPE_STRING, ESCAPE_STRING_END };

struct console_ring_line {
	char text[CONSOLE_TAIL_LINE_MAX + 1];
	size_t length;
};

struct tail {
	enum escape escape;
	bool returned; /* the last byte was a carriage return */
	struct console_ring_line now;
	struct console_ring_line lines[CONSOLE_TAIL_LINES_MAX]; /* a ring of the latest */
	size_t count;
	unsigned limit;
};

static void line_end(struct tail *tail)
{
	size_t end = tail->now.length;

	while (end > 0 && tail->now.text[end - 1] == ' ')
		end--;
	if (end > 0) {
		tail->now.text[end] = '\0';
		tail->lines[tail->count++ % tail->limit] = tail->now;
	}
	tail->now.length = 0;
}

/* True when the byte belongs to an escape sequence. */
static bool in_escape(struct tail *tail, unsigned char byte)
{
	switch (tail->escape) {
	case ESCAPE_NONE:
		if (byte == 0x1b)
			tail->escape = ESCAPE_STARTED;
		return byte == 0x1b;
	case ESCAPE_STARTED:
		if (byte == '[')
			tail->escape = ESCAPE_CONTROL;
		else if (byte == ']' || byte == 'P' || byte == '^' || byte == '_')
			tail->escape = ESCAPE_STRING;
		else if (byte < 0x20 ||
			 byte > 0x2f) /* intermediates go on, anything else ends it */
			tail->escape = ESCAPE_NONE;
		return true;
	case ESCAPE_CONTROL:
		if (byte >= 0x40 && byte <= 0x7e)
			tail->escape = ESCAPE_NONE;
		/* A line break inside means that the sequence was cut off: do not swallow what
		 * follows. */
		if (byte == '\n' || byte == '\r')
			tail->escape = ESCAPE_NONE;
		return tail->escape == ESCAPE_CONTROL || (byte != '\n' && byte != '\r');
	case ESCAPE_STRING:
	case ESCAPE_STRING_END:
		if (byte == '\a' || byte == '\n' ||
		    (tail->escape == ESCAPE_STRING_END && byte == '\\'))
			tail->escape = ESCAPE_NONE;
		else
			tail->escape = byte == 0x1b ? ESCAPE_STRING_END : ESCAPE_STRING;
		return byte != '\n';
	}
	return false;
}

static void add_byte(struct tail *tail, unsigned char byte)
{
	struct console_ring_line *line = &tail->now;

	if (in_escape(tail, byte))
		return;
	/* A carriage return starts the line over, unless a line feed follows ("\r\r\n" is what some
	 * firmware writes for one). */
	if (tail->returned && byte != '\n' && byte != '\r')
		line->length = 0;
	tail->returned = byte == '\r';
	if (byte == '\n') {
		line_end(tail);
	} else if (byte == '\b') {
		line->length -= line->length > 0;
	} else if (byte == '\t' || (byte >= 0x20 && byte != 0x7f)) {
		char shown = byte == '\t' ? ' ' : '?';

		if (byte >= 0x20 && byte < 0x7f)
			shown = (char)byte;
		if (line->length < CONSOLE_TAIL_LINE_MAX)
			line->text[line->length++] = shown;
	}
}

void console_tail_text(const char *bytes, size_t size, unsigned lines, struct text *ret)
{
	CLEANUP(freep) struct tail *tail = calloc(1, sizeof(*tail));

	if (!tail) {
		ret->failed = true;
		return;
	}
	tail->limit = lines < CONSOLE_TAIL_LINES_MAX ? lines : CONSOLE_TAIL_LINES_MAX;
	if (tail->limit == 0)
		return;
	for (size_t i = 0; i < size; i++)
		add_byte(tail, (unsigned char)bytes[i]);
	line_end(tail);
	for (size_t i = tail->count > tail->limit ? tail->count - tail->limit : 0; i < tail->count;
	     i++) {
		text_add(ret, tail->lines[i % tail->limit].text);
		text_add(ret, "\n");
	}
}
