// links: peregrine_capture
/* Any frame from a mirror, of any kind of tunnel: what is inside lies in it, tags are less than it,
 * and what is said of its conversations adds up to the frames that were taken. What is written of
 * it as pcapng is whole. */
#undef NDEBUG
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "peregrine/capture/conversations.h"
#include "peregrine/capture/decap_wire.h"
#include "peregrine/capture/pcapng_wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct conversations *table;

static void write_it(const struct decap *inside)
{
	static uint8_t room[1 << 16];
	struct wire_writer writer = wire_writer(room, sizeof(room));
	uint32_t size = (uint32_t)(inside->size < 4096 ? inside->size : 4096);
	size_t written;

	pcapng_put_packet(&writer, 1, inside->frame, size, size);
	written = wire_written(&writer);
	assert(!writer.bad && written <= size + PCAPNG_PACKET_EXTRA);
	assert(pcapng_whole(room, written) == written && pcapng_whole(room, written - 1) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static int64_t time_us = 1;
	char line[PACKET_LINE_SIZE];

	if (!table)
		assert(conversations_new(&table) == 0);
	for (int kind = 0; kind < DECAP_KIND_COUNT; kind++) {
		struct decap inside = {0};

		if (decap_frame((enum decap_kind)kind, data, size, &inside) != 0)
			continue;
		assert(inside.frame >= data && inside.frame + inside.size == data + size);
		assert(inside.size >= 14 && inside.offset + inside.size == size);
		assert(decap_tags(inside.frame, inside.size) + 2 <= inside.size ||
		       decap_tags(inside.frame, inside.size) == 0);
		line[0] = '\0';
		conversations_take(table, inside.frame, inside.size, (uint32_t)inside.size,
				   time_us++, line);
		assert(strlen(line) > 0 && strlen(line) < sizeof(line));
		write_it(&inside);
	}
	(void)pcapng_whole(data, size);
	return 0;
}
