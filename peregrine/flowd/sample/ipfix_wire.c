#include "peregrine/flowd/sample/ipfix_wire.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "common/base/hash.h"

enum {
	SET_TEMPLATES_9 = 0,
	SET_OPTIONS_9 = 1,
	SET_TEMPLATES_10 = 2,
	SET_OPTIONS_10 = 3,
	SET_HEAD = 4,
	FIELD_SIZE = 4,
	ENTERPRISE = 0x8000,
	LONG_LENGTH = 255, /* a variable length that needs two bytes more (RFC 7011, 7) */
};

/* IANA's registry of information elements; the first 127 are NetFlow 9's too. */
static const struct {
	uint16_t element;
	uint8_t use;
} ipfix_wire_elements[] = {
	{1, IPFIX_BYTES},
	{2, IPFIX_PACKETS},
	{4, IPFIX_PROTOCOL},
	{5, IPFIX_IDENTITY},
	{7, IPFIX_SOURCE_PORT},
	{8, IPFIX_SOURCE_IPV4},
	{10, IPFIX_INPUT},
	{11, IPFIX_TARGET_PORT},
	{12, IPFIX_TARGET_IPV4},
	{14, IPFIX_OUTPUT},
	{22, IPFIX_BEGAN_UPTIME_MS},
	{27, IPFIX_SOURCE_IPV6},
	{28, IPFIX_TARGET_IPV6},
	{32, IPFIX_ICMP},
	{34, IPFIX_INTERVAL},
	{48, IPFIX_SAMPLER},
	{50, IPFIX_INTERVAL},
	{56, IPFIX_SOURCE_MAC},
	{58, IPFIX_TOLD_VLAN},
	{60, IPFIX_IP_VERSION},
	{61, IPFIX_DIRECTION},
	{80, IPFIX_TARGET_MAC},
	{85, IPFIX_TOTAL_BYTES},
	{86, IPFIX_TOTAL_PACKETS},
	{95, IPFIX_IDENTITY},
	{139, IPFIX_ICMP},
	{148, IPFIX_IDENTITY},
	{150, IPFIX_BEGAN_S},
	{152, IPFIX_BEGAN_MS},
	{154, IPFIX_BEGAN_NTP},
	{156, IPFIX_BEGAN_NTP},
	{160, IPFIX_BOOTED_MS},
	{176, IPFIX_ICMP_TYPE},
	{177, IPFIX_ICMP_CODE},
	{178, IPFIX_ICMP_TYPE},
	{179, IPFIX_ICMP_CODE},
	{234, IPFIX_IDENTITY},
	{235, IPFIX_IDENTITY},
	{243, IPFIX_TAG},
	{256, IPFIX_ETHERTYPE},
	{302, IPFIX_SAMPLER},
	{304, IPFIX_METHOD},
	{305, IPFIX_SAMPLED},
	{306, IPFIX_SPACE},
	{309, IPFIX_SIZE},
	{310, IPFIX_POPULATION},
	{311, IPFIX_PROBABILITY},
	{312, IPFIX_FRAME_SIZE},
	{315, IPFIX_FRAME},
	{351, IPFIX_SEGMENT},
	{352, IPFIX_L2_BYTES},
	{408, IPFIX_FRAME_KIND},
	{409, IPFIX_FRAME_OFFSET},
};

/* Where those that are no numbers go, and how long they are. */
static const struct {
	uint16_t at, size;
} ipfix_wire_places[IPFIX_PLACE_END - IPFIX_NUMBER_COUNT] = {
	[IPFIX_SOURCE_MAC - IPFIX_NUMBER_COUNT] = {offsetof(struct ipfix_record, source_mac), 6},
	[IPFIX_TARGET_MAC - IPFIX_NUMBER_COUNT] = {offsetof(struct ipfix_record, target_mac), 6},
	[IPFIX_SOURCE_IPV4 - IPFIX_NUMBER_COUNT] = {offsetof(struct ipfix_record, source_ipv4), 4},
	[IPFIX_TARGET_IPV4 - IPFIX_NUMBER_COUNT] = {offsetof(struct ipfix_record, target_ipv4), 4},
	[IPFIX_SOURCE_IPV6 - IPFIX_NUMBER_COUNT] = {offsetof(struct ipfix_record, source_ipv6), 16},
	[IPFIX_TARGET_IPV6 - IPFIX_NUMBER_COUNT] = {offsetof(struct ipfix_record, target_ipv6), 16},
};

_Static_assert(IPFIX_USE_COUNT <= 64, "bits of ipfix_record.has");

/* --- a message --- */

int ipfix_open(const void *data, size_t size, struct ipfix_message *ret,
	       struct wire_reader *ret_sets)
{
	struct wire_reader reader = wire_reader(data, size);
	struct ipfix_message message = {.version = wire_u16(&reader)};
	uint16_t length = wire_u16(&reader); /* 9: records in it, which some count wrongly */

	if (reader.bad)
		return -EBADMSG;
	if (message.version != NETFLOW_9 && message.version != IPFIX_10)
		return -EPROTONOSUPPORT;
	if (message.version == NETFLOW_9)
		message.uptime_ms = wire_u32(&reader);
	else if (length > size || size - length >= SET_HEAD)
		return -EBADMSG;
	message.export_s = wire_u32(&reader);
	message.sequence = wire_u32(&reader);
	message.domain = wire_u32(&reader);
	if (reader.bad)
		return -EBADMSG;
	*ret = message;
	*ret_sets = reader;
	return 0;
}

static enum ipfix_set_kind ipfix_wire_kind_of(const struct ipfix_message *message, uint16_t id)
{
	bool nine = message->version == NETFLOW_9;

	if (id >= IPFIX_TEMPLATE_FIRST)
		return IPFIX_RECORDS;
	if (id == (nine ? SET_TEMPLATES_9 : SET_TEMPLATES_10))
		return IPFIX_TEMPLATES;
	if (id == (nine ? SET_OPTIONS_9 : SET_OPTIONS_10))
		return IPFIX_OPTIONS;
	return IPFIX_RESERVED;
}

/* Some exporters fill their packets: no set has the number and length zero. */
static bool ipfix_wire_is_padding(struct wire_reader rest)
{
	size_t size = wire_left(&rest);
	const uint8_t *bytes = wire_bytes(&rest, size);
	size_t i = 0;

	while (bytes && i < size && !bytes[i])
		i++;
	return bytes && i == size;
}

int ipfix_next_set(const struct ipfix_message *message, struct wire_reader *sets,
		   struct ipfix_set *ret)
{
	uint16_t length;

	if (sets->bad)
		return -EBADMSG;
	if (ipfix_wire_is_padding(*sets))
		return 0;
	ret->id = wire_u16(sets);
	length = wire_u16(sets);
	if (sets->bad || length < SET_HEAD)
		return -EBADMSG;
	ret->body = wire_cut(sets, (size_t)length - SET_HEAD);
	if (ret->body.bad)
		return -EBADMSG;
	ret->kind = ipfix_wire_kind_of(message, ret->id);
	return 1;
}

/* --- templates --- */

static uint8_t use_of(uint16_t element, uint16_t length)
{
	uint8_t use = IPFIX_SKIP;

	for (size_t i = 0;
	     i < COUNT_OF(ipfix_wire_elements) && ipfix_wire_elements[i].element <= element; i++)
		if (ipfix_wire_elements[i].element == element)
			use = ipfix_wire_elements[i].use;
	/* One in a length that it cannot have is passed over like one that we do not know. */
	if (use == IPFIX_FRAME)
		return use;
	if (use >= IPFIX_NUMBER_COUNT)
		return length == ipfix_wire_places[use - IPFIX_NUMBER_COUNT].size ? use
										  : IPFIX_SKIP;
	if (use == IPFIX_PROBABILITY)
		return length == sizeof(float) || length == sizeof(double) ? use : IPFIX_SKIP;
	return length > 0 && length <= 8 ? use : IPFIX_SKIP;
}

/* Scopes of NetFlow 9 are numbered in a way of their own (RFC 3954, 6.1): a length and no more. */
static int read_fields(struct wire_reader *body, bool nine, uint16_t scopes,
		       struct ipfix_template *template)
{
	uint16_t kept = 0;

	for (uint16_t i = 0; i < template->count; i++) {
		uint16_t element = wire_u16(body);
		uint16_t length = wire_u16(body);
		bool enterprise = !nine && (element & ENTERPRISE);
		bool variable = length == IPFIX_VARIABLE;

		if (enterprise)
			wire_skip(body, 4);
		if (body->bad)
			return -EBADMSG;
		/* A record of very many nothings would cost as much as one of many bytes. */
		if (length == 0)
			continue;
		template->fields[kept].length = length;
		template->fields[kept++].use =
			enterprise || (nine && i < scopes) ? IPFIX_SKIP : use_of(element, length);
		template->shortest += variable ? 1 : length;
	}
	template->count = kept;
	/* Records of nothing would never end a set. */
	return template->shortest > 0 ? 1 : -EBADMSG;
}

int ipfix_next_template(const struct ipfix_message *message, struct ipfix_set *set,
			struct ipfix_template *ret)
{
	bool nine = message->version == NETFLOW_9;
	struct wire_reader *body = &set->body;
	uint16_t scopes = 0;

	ret->count = 0;
	ret->shortest = 0;
	ret->options = set->kind == IPFIX_OPTIONS;
	if (wire_left(body) < FIELD_SIZE)
		return 0;
	ret->id = wire_u16(body);
	ret->count = wire_u16(body);
	/* Zeros are padding; a template without fields is a withdrawal, which only IPFIX has. */
	if (ret->id == 0 && ret->count == 0)
		return 0;
	if (!nine && ret->count == 0 && (ret->id >= IPFIX_TEMPLATE_FIRST || ret->id == set->id))
		return 1;
	if (ret->options && nine) { /* lengths in bytes: of the scopes, then of the options */
		scopes = ret->count / FIELD_SIZE;
		ret->count = (uint16_t)(scopes + wire_u16(body) / FIELD_SIZE);
	} else if (ret->options) {
		scopes = wire_u16(body);
	}
	if (body->bad || ret->id < IPFIX_TEMPLATE_FIRST || ret->count == 0)
		return -EBADMSG;
	if (ret->count > IPFIX_FIELD_LIMIT)
		return -E2BIG;
	return read_fields(body, nine, scopes, ret);
}

/* --- records --- */

static uint16_t ipfix_wire_length_of(struct wire_reader *body, const struct ipfix_field *field)
{
	uint8_t length;

	if (field->length != IPFIX_VARIABLE)
		return field->length;
	length = wire_u8(body);
	return length < LONG_LENGTH ? length : wire_u16(body);
}

static uint64_t ipfix_wire_number_of(const uint8_t *bytes, uint16_t length)
{
	uint64_t number = 0;

	for (uint16_t i = 0; i < length; i++)
		number = number << 8 | bytes[i];
	return number;
}

/* A probability (IEEE 754 of either length) as 1 in so many; 0: it is none. */
static uint64_t ipfix_wire_reciprocal_of(const uint8_t *bytes, uint16_t length)
{
	const union {
		uint64_t bits;
		double chance;
	} whole = {.bits = ipfix_wire_number_of(bytes, length)};
	const union {
		uint32_t bits;
		float chance;
	} half = {.bits = (uint32_t)whole.bits};
	double chance = length == sizeof(half) ? (double)half.chance : whole.chance;

	/* A chance so small that its reciprocal has no room is no sampling; NaN is neither. */
	return chance <= 1 && chance >= 0x1p-32 ? (uint64_t)llround(1 / chance) : 0;
}

static void ipfix_wire_put(struct ipfix_record *record, unsigned use, const uint8_t *bytes,
			   uint16_t length)
{
	record->has |= UINT64_C(1) << use;
	if (use == IPFIX_PROBABILITY) {
		record->numbers[use] = ipfix_wire_reciprocal_of(bytes, length);
	} else if (use == IPFIX_IDENTITY) {
		record->numbers[use] = hash_spread(
			hash_number(record->numbers[use], ipfix_wire_number_of(bytes, length)));
	} else if (use == IPFIX_FRAME) {
		record->frame = bytes;
		record->frame_size = length;
	} else if (use < IPFIX_NUMBER_COUNT) {
		record->numbers[use] = ipfix_wire_number_of(bytes, length);
	} else {
		memcpy((uint8_t *)record + ipfix_wire_places[use - IPFIX_NUMBER_COUNT].at, bytes,
		       length);
	}
}

int ipfix_next_record(struct wire_reader *body, const struct ipfix_field *fields, size_t count,
		      uint32_t shortest, struct ipfix_record *ret)
{
	if (wire_left(body) == 0 || wire_left(body) < shortest)
		return body->bad ? -EBADMSG : 0;
	*ret = (struct ipfix_record){0};
	for (size_t i = 0; i < count; i++) {
		unsigned use = fields[i].use;
		uint16_t length = ipfix_wire_length_of(body, &fields[i]);
		const uint8_t *bytes = wire_bytes(body, length);

		if (!bytes)
			return -EBADMSG;
		if (use == IPFIX_SKIP)
			continue;
		ipfix_wire_put(ret, use, bytes, length);
	}
	return 1;
}
