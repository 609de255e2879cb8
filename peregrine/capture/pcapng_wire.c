#include "peregrine/capture/pcapng_wire.h"

#include <string.h>

enum {
	BLOCK_SECTION = 0x0a0d0d0a,
	BLOCK_INTERFACE = 1,
	BLOCK_STATISTICS = 5,
	BLOCK_PACKET = 6,

	BYTE_ORDER_MAGIC = 0x1a2b3c4d,
	LINK_ETHERNET = 1,

	PCAPNG_WIRE_OPTION_END = 0,
	OPTION_COMMENT = 1,
	SECTION_APPLICATION = 4,
	INTERFACE_NAME = 2,
	INTERFACE_FILTER = 11,
	STATISTICS_RECEIVED = 4,
	STATISTICS_DROPPED = 5,

	TEXT_MAX = 400,
	BLOCK_MIN = 12,
};

static size_t pcapng_wire_padding(size_t size)
{
	return (4 - size % 4) % 4;
}

static void put_time(struct wire_writer *writer, int64_t time_us)
{
	wire_put_u32(writer, (uint32_t)((uint64_t)time_us >> 32));
	wire_put_u32(writer, (uint32_t)time_us);
}

static void pcapng_wire_put_option(struct wire_writer *writer, uint16_t code, const void *data,
				   size_t size)
{
	wire_put_u16(writer, code);
	wire_put_u16(writer, (uint16_t)size);
	wire_put_bytes(writer, data, size);
	wire_put_zeros(writer, pcapng_wire_padding(size));
}

static void pcapng_wire_put_text(struct wire_writer *writer, uint16_t code, const char *text)
{
	size_t size = text ? strnlen(text, TEXT_MAX) : 0;

	if (size > 0)
		pcapng_wire_put_option(writer, code, text, size);
}

static void pcapng_wire_put_number(struct wire_writer *writer, uint16_t code, uint64_t value)
{
	wire_put_u16(writer, code);
	wire_put_u16(writer, 8);
	wire_put_u64(writer, value);
}

/* A block's length stands at both of its ends: known when all is written. */
static uint8_t *pcapng_wire_begin(struct wire_writer *writer, uint32_t type)
{
	uint8_t *start = writer->at;

	wire_put_u32(writer, type);
	wire_put_u32(writer, 0);
	return start;
}

static void pcapng_wire_end(struct wire_writer *writer, uint8_t *start)
{
	uint32_t length = (uint32_t)(writer->at - start) + 4;
	struct wire_writer again = wire_writer(start + 4, 4);

	wire_put_u32(writer, length);
	if (!writer->bad)
		wire_put_u32(&again, length);
}

void pcapng_put_section(struct wire_writer *writer, const struct pcapng_section *section)
{
	uint8_t *block = pcapng_wire_begin(writer, BLOCK_SECTION);

	wire_put_u32(writer, BYTE_ORDER_MAGIC);
	wire_put_u16(writer, 1);
	wire_put_u16(writer, 0);
	wire_put_u64(writer, UINT64_MAX); /* length of the section: not told */
	pcapng_wire_put_text(writer, SECTION_APPLICATION, section->application);
	pcapng_wire_put_text(writer, OPTION_COMMENT, section->comment);
	wire_put_u32(writer, PCAPNG_WIRE_OPTION_END);
	pcapng_wire_end(writer, block);

	block = pcapng_wire_begin(writer, BLOCK_INTERFACE);
	wire_put_u16(writer, LINK_ETHERNET);
	wire_put_u16(writer, 0);
	wire_put_u32(writer, section->snap_length);
	pcapng_wire_put_text(writer, INTERFACE_NAME, section->interface);
	if (section->filter && section->filter[0]) {
		char filter[TEXT_MAX] = {0}; /* its first octet: a string for libpcap */

		(void)strncpy(filter + 1, section->filter, sizeof(filter) - 2);
		pcapng_wire_put_option(writer, INTERFACE_FILTER, filter, 1 + strlen(filter + 1));
	}
	wire_put_u32(writer, PCAPNG_WIRE_OPTION_END);
	pcapng_wire_end(writer, block);
}

void pcapng_put_packet(struct wire_writer *writer, int64_t time_us, const void *data, uint32_t size,
		       uint32_t length)
{
	uint8_t *block = pcapng_wire_begin(writer, BLOCK_PACKET);

	wire_put_u32(writer, 0); /* interface */
	put_time(writer, time_us);
	wire_put_u32(writer, size);
	wire_put_u32(writer, length);
	wire_put_bytes(writer, data, size);
	wire_put_zeros(writer, pcapng_wire_padding(size));
	pcapng_wire_end(writer, block);
}

void pcapng_put_statistics(struct wire_writer *writer, int64_t time_us,
			   const struct pcapng_statistics *statistics)
{
	uint8_t *block = pcapng_wire_begin(writer, BLOCK_STATISTICS);

	wire_put_u32(writer, 0);
	put_time(writer, time_us);
	pcapng_wire_put_number(writer, STATISTICS_RECEIVED, statistics->received);
	pcapng_wire_put_number(writer, STATISTICS_DROPPED, statistics->dropped);
	wire_put_u32(writer, PCAPNG_WIRE_OPTION_END);
	pcapng_wire_end(writer, block);
}

size_t pcapng_whole(const void *data, size_t size)
{
	struct wire_reader reader = wire_reader(data, size);
	size_t whole = 0;

	while (wire_left(&reader) >= BLOCK_MIN) {
		struct wire_reader block = reader;
		uint32_t length;

		wire_skip(&block, 4);
		length = wire_u32(&block);
		if (length < BLOCK_MIN || length % 4 || length > wire_left(&reader))
			break;
		wire_skip(&reader, length);
		whole += length;
	}
	return whole;
}
