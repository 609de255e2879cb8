// links: peregrine_sample
/* Any datagram, from a known agent or not: the reader ends, every sample that it counts is in the
 * table or said to be folded or lost, keys have no stray bytes, and a second reading of the same
 * bytes finds the same flows. */
#undef NDEBUG
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/net/frame_key_wire.h"

#include "peregrine/flowd/sample/sample_reader.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct harvest harvest;
static struct source_book *book;
static struct agent_directory *directory;

static void prepare(void)
{
	static const struct agent_row rows[] = {
		{.agent = {[10] = 0xff, [11] = 0xff, [12] = 10, [13] = 255, [15] = 11},
		 .source = {[15] = 1},
		 .number = 3},
	};

	if (book)
		return;
	assert(!flow_table_init(&harvest.flows, 8, 0));
	harvest.counters = calloc(HARVEST_COUNTERS, sizeof(*harvest.counters));
	harvest.discards = calloc(HARVEST_DISCARDS, sizeof(*harvest.discards));
	harvest.vlans = calloc(HARVEST_VLANS, sizeof(*harvest.vlans));
	assert(harvest.counters && harvest.discards);
	assert(!source_book_new(64, &book));
	assert(!agent_directory_new(rows, 1, &directory));
}

static uint64_t read_once(const uint8_t *data, size_t size)
{
	static const uint8_t source[16] = {[15] = 1};
	struct sample_reader reader = {.harvest = &harvest, .book = book, .directory = directory};
	uint64_t sum = 0;
	uint64_t samples = 0;
	struct flow_entry *entry;
	size_t at = 0;

	flow_table_clear(&harvest.flows);
	harvest.counts = (struct receive_counts){0};
	harvest.counter_count = harvest.discard_count = 0;
	sample_reader_take(&reader, data, size, source);
	sample_reader_flush(&reader);
	while ((entry = flow_table_next(&harvest.flows, &at))) {
		const struct flow_key *key = &entry->key;

		assert(key->agent == 3 && !key->zero && key->tag < 4096);
		assert(entry->samples > 0 && entry->packets >= entry->samples);
		assert(key->flags & (FLOW_IPV4 | FLOW_IPV6) ||
		       (!key->protocol && !key->source_port && !key->target_port));
		samples += entry->samples;
		sum = sum * 31 + entry->bytes;
	}
	assert(samples + harvest.flows.lost == harvest.counts.samples);
	assert(harvest.counter_count <= HARVEST_COUNTERS &&
	       harvest.discard_count <= HARVEST_DISCARDS && harvest.vlan_count <= HARVEST_VLANS);
	return sum;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct flow_key key = {.agent = 1, .input = 2, .output = 3, .told_vlan = 4};
	uint64_t first;
	size_t count;

	prepare();
	first = read_once(data, size);
	assert(first == read_once(data, size));
	(void)source_book_harvest(book, &count);
	assert(count <= 64);

	frame_key_decode(data, size, &key);
	assert(key.agent == 1 && key.input == 2 && key.output == 3 && key.told_vlan == 4);
	assert(!(key.flags & FLOW_FRAGMENT) || (!key.source_port && !key.target_port));
	return 0;
}
