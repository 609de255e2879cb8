// links: peregrine_sample
/* Any messages of an exporter, each behind its length in two bytes: the reader ends, every record
 * that it counts is in the table or said to be folded or lost, keys have no stray bytes, what is
 * kept of templates stays within its bounds, and the same messages to a new book give the same. */
#undef NDEBUG
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "peregrine/flowd/sample/ipfix_reader.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const uint8_t exporter[16] = {[10] = 0xff, [11] = 0xff, [12] = 10, [15] = 1};
static struct harvest harvest;
static struct agent_directory *directory;

static void prepare(void)
{
	struct agent_row row = {.number = 3};

	if (directory)
		return;
	memcpy(row.agent, exporter, 16);
	memcpy(row.source, exporter, 16);
	assert(!flow_table_init(&harvest.flows, 8, 0));
	assert(!agent_directory_new(&row, 1, &directory));
}

static void check_bounds(const struct ipfix_book *exporters)
{
	struct ipfix_book_counts counts = ipfix_book_counts(exporters);

	assert(counts.domains <= IPFIX_AGENT_DOMAINS);
	assert(counts.templates <= counts.domains * IPFIX_DOMAIN_TEMPLATES);
	assert(counts.bytes <= IPFIX_BOOK_BYTES);
	assert(!counts.bytes == !counts.templates);
}

static uint64_t check_flows(void)
{
	struct flow_entry *entry;
	uint64_t sum = 0;
	size_t at = 0;

	while ((entry = flow_table_next(&harvest.flows, &at))) {
		const struct flow_key *key = &entry->key;

		assert(key->agent == 3 && !key->zero && key->tag < 4096);
		assert(key->flags & FLOW_RECORD);
		assert(key->told_vlan < 4096 || key->told_vlan == VLAN_UNTOLD);
		assert(key->input <= INT32_MAX && key->output <= INT32_MAX);
		assert(entry->bytes > 0 && entry->samples > 0);
		assert(key->flags & (FLOW_IPV4 | FLOW_IPV6) ||
		       (!key->protocol && !key->source_port && !key->target_port));
		sum = sum * 31 + entry->bytes + entry->packets;
	}
	return sum;
}

static uint64_t read_once(const uint8_t *data, size_t size)
{
	struct sample_reader reader = {.harvest = &harvest, .directory = directory};
	struct ipfix_book *exporters = NULL;
	struct source_book *book = NULL;
	uint64_t sum;
	size_t count;

	assert(!source_book_new(8, &book));
	assert(!ipfix_book_new(&exporters));
	reader.book = book;
	flow_table_clear(&harvest.flows);
	harvest.counts = (struct receive_counts){0};
	for (size_t at = 0; size - at >= 2;) {
		size_t length = (size_t)(data[at] << 8 | data[at + 1]);

		at += 2;
		if (length > size - at)
			length = size - at;
		ipfix_reader_take(&reader, exporters, data + at, length, exporter);
		at += length;
		check_bounds(exporters);
	}
	sum = check_flows();
	assert(harvest.counts.records == 0 || harvest.flows.count > 0);
	assert(harvest.counts.totals_first <= harvest.counts.totals);
	(void)source_book_harvest(book, &count);
	assert(count <= 8);
	source_book_free(book);
	ipfix_book_free(exporters);
	return sum + harvest.counts.records + harvest.counts.malformed;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint64_t first;

	prepare();
	first = read_once(data, size);
	assert(first == read_once(data, size));
	return 0;
}
