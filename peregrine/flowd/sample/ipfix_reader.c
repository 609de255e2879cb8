#include "peregrine/flowd/sample/ipfix_reader.h"

#include <errno.h>
#include <string.h>

#include "common/base/hash.h"
#include "common/net/frame_key_wire.h"

enum {
	FRAME_HEAD = 14,       /* of Ethernet: what IP lengths leave out and samples count */
	FRAME_LIMIT = 1 << 18, /* no frame is longer, a segment of offloading neither */
	ETHERTYPE_IPV4 = 0x800,
	IPFIX_READER_ETHERTYPE_IPV6 = 0x86dd,
	PROTOCOL_ICMP = 1,
	PROTOCOL_ICMP_6 = 58,
	SEGMENT_VXLAN = 1, /* first byte of layer2SegmentId (RFC 7011's registry, 351) */
};

/* No record of a real switch has more; a sum of many still fits into 64 bits. */
#define RECORD_BYTES_LIMIT   (1ULL << 46)
#define RECORD_PACKETS_LIMIT (1ULL << 40)

/* --- a record as a flow --- */

static bool ipfix_reader_any(const uint8_t *bytes, size_t size)
{
	for (size_t i = 0; i < size; i++)
		if (bytes[i])
			return true;
	return false;
}

static void map_ipv4(const uint8_t address[4], uint8_t ret[16])
{
	ret[10] = ret[11] = 0xff;
	memcpy(ret + 12, address, 4);
}

static bool ipfix_reader_any_pair(const uint8_t *a, const uint8_t *b, size_t size)
{
	return ipfix_reader_any(a, size) || ipfix_reader_any(b, size);
}

/* Some templates have fields for both families, one of them zero. Where both are told and no version
 * says which one is the flow's, IPv6 is around IPv4 (SRv6): the flow is the inner one. */
static void ipfix_reader_add_addresses(const struct ipfix_record *record, struct flow_key *key)
{
	uint64_t version = record->numbers[IPFIX_IP_VERSION];
	bool six = IPFIX_HAS(record, IPFIX_SOURCE_IPV6) && IPFIX_HAS(record, IPFIX_TARGET_IPV6);
	bool four = IPFIX_HAS(record, IPFIX_SOURCE_IPV4) && IPFIX_HAS(record, IPFIX_TARGET_IPV4);

	bool any_four = ipfix_reader_any_pair(record->source_ipv4, record->target_ipv4, 4);
	bool any_six = ipfix_reader_any_pair(record->source_ipv6, record->target_ipv6, 16);

	if (four && (!six || version == 4 || (version != 6 && any_four))) {
		map_ipv4(record->source_ipv4, key->source);
		map_ipv4(record->target_ipv4, key->target);
		key->flags |= FLOW_IPV4;
		key->ethertype = ETHERTYPE_IPV4;
	} else if (six && (!four || version == 6 || any_six)) {
		memcpy(key->source, record->source_ipv6, 16);
		memcpy(key->target, record->target_ipv6, 16);
		key->flags |= FLOW_IPV6;
		key->ethertype = IPFIX_READER_ETHERTYPE_IPV6;
	}
}

static void ipfix_reader_add_ports(const struct ipfix_record *record, struct flow_key *key)
{
	key->protocol = (uint8_t)record->numbers[IPFIX_PROTOCOL];
	key->source_port = (uint16_t)record->numbers[IPFIX_SOURCE_PORT];
	key->target_port = (uint16_t)record->numbers[IPFIX_TARGET_PORT];
	if (key->protocol != PROTOCOL_ICMP && key->protocol != PROTOCOL_ICMP_6)
		return;
	/* NetFlow of many switches says type and code in the target port. */
	key->source_port = 0;
	if (IPFIX_HAS(record, IPFIX_ICMP))
		key->target_port = (uint16_t)record->numbers[IPFIX_ICMP];
	else if (IPFIX_HAS(record, IPFIX_ICMP_TYPE))
		key->target_port = (uint16_t)((record->numbers[IPFIX_ICMP_TYPE] & 0xff) << 8 |
					      (record->numbers[IPFIX_ICMP_CODE] & 0xff));
}

/* Numbers beside ifIndex have a meaning of their own in our keys, but not in records. */
static uint32_t ipfix_reader_port_of(const struct ipfix_record *record, enum ipfix_use use)
{
	uint64_t number = record->numbers[use];

	return port_is_index(number) ? (uint32_t)number : (uint32_t)PORT_UNKNOWN;
}

static void ipfix_reader_add_fields(const struct ipfix_record *record, struct flow_key *key)
{
	key->tag = (uint16_t)(record->numbers[IPFIX_TAG] & 0xfff);
	memcpy(key->source_mac, record->source_mac, 6);
	memcpy(key->target_mac, record->target_mac, 6);
	ipfix_reader_add_addresses(record, key);
	if (key->flags & (FLOW_IPV4 | FLOW_IPV6))
		ipfix_reader_add_ports(record, key);
	else
		key->ethertype = (uint16_t)record->numbers[IPFIX_ETHERTYPE];
}

/* A frame says all that fields do: it is read as one that sFlow brings. */
static void ipfix_reader_make_key(const struct ipfix_record *record, uint16_t agent,
				  struct flow_key *key)
{
	uint64_t told = record->numbers[IPFIX_TOLD_VLAN] & 0xfff;
	uint64_t segment = record->numbers[IPFIX_SEGMENT];

	*key = (struct flow_key){.agent = agent};
	key->input = ipfix_reader_port_of(record, IPFIX_INPUT);
	key->output = ipfix_reader_port_of(record, IPFIX_OUTPUT);
	key->told_vlan = told ? (uint16_t)told : VLAN_UNTOLD;
	if (record->frame)
		frame_key_decode(record->frame, record->frame_size, key);
	else
		ipfix_reader_add_fields(record, key);
	key->flags |= FLOW_RECORD;
	if (!key->vni && segment >> 56 == SEGMENT_VXLAN)
		key->vni = (uint32_t)(segment & 0xffffff) + 1;
	if (record->numbers[IPFIX_DIRECTION] == 1)
		key->flags |= FLOW_EGRESS;
}

/* False: it says nothing of how much, or what cannot be. */
static bool ipfix_reader_measure(const struct ipfix_record *record, uint32_t rate,
				 uint64_t *ret_packets, uint64_t *ret_bytes)
{
	bool l2 = IPFIX_HAS(record, IPFIX_L2_BYTES);
	bool counted = l2 || IPFIX_HAS(record, IPFIX_BYTES);
	uint64_t packets = record->numbers[IPFIX_PACKETS];
	uint64_t bytes = record->numbers[l2 ? IPFIX_L2_BYTES : IPFIX_BYTES];
	uint64_t more = l2 ? 0 : FRAME_HEAD; /* of each packet */

	if (!counted && !record->frame)
		return false;
	if (!counted) { /* a frame alone; it is never shorter than its begin */
		packets = IPFIX_HAS(record, IPFIX_PACKETS) ? packets : 1;
		more = record->numbers[IPFIX_FRAME_SIZE];
		if (more < record->frame_size)
			more = record->frame_size;
	}
	if (packets > RECORD_PACKETS_LIMIT || bytes > RECORD_BYTES_LIMIT || more > FRAME_LIMIT)
		return false;
	bytes += packets * more;
	if (bytes > RECORD_BYTES_LIMIT / rate || packets > RECORD_PACKETS_LIMIT / rate)
		return false;
	*ret_packets = packets * rate;
	*ret_bytes = bytes * rate;
	return bytes > 0;
}

/* --- sets --- */

struct message_view {
	struct sample_reader *reader;
	struct ipfix_book *book;
	struct ipfix_domain *domain;
	const struct ipfix_message *message;
	uint16_t agent;
	uint32_t source; /* in the harvest's sums */
	uint32_t records, unread;
	bool unknown;     /* there were records without a template: how many does not show */
	bool told;        /* the set under way gave something, or is counted as unknown */
	bool late;        /* a later message came before */
	int64_t heard_ms; /* the domain, since then */
};

/* --- totals --- */

#define IPFIX_READER_1900_S INT64_C(2208988800) /* from then to 1970 */

/* A time that no clock shows is none. */
static int64_t ipfix_reader_ms_of(uint64_t ms)
{
	return ms < UINT64_C(1) << 48 ? (int64_t)ms : TOTAL_UNTOLD;
}

/* When the flow began, by the exporter's clock. */
static int64_t ipfix_reader_began_ms(const struct ipfix_record *record,
				     const struct ipfix_message *message)
{
	const uint64_t *numbers = record->numbers;
	uint64_t ntp = numbers[IPFIX_BEGAN_NTP];
	uint32_t uptime_ms = (uint32_t)numbers[IPFIX_BEGAN_UPTIME_MS];

	if (IPFIX_HAS(record, IPFIX_BEGAN_MS))
		return ipfix_reader_ms_of(numbers[IPFIX_BEGAN_MS]);
	if (IPFIX_HAS(record, IPFIX_BEGAN_S))
		return (int64_t)(uint32_t)numbers[IPFIX_BEGAN_S] * 1000;
	if (IPFIX_HAS(record, IPFIX_BEGAN_NTP))
		return ((int64_t)(ntp >> 32) - IPFIX_READER_1900_S) * 1000 +
		       (int64_t)((ntp & UINT32_MAX) * 1000 >> 32);
	if (!IPFIX_HAS(record, IPFIX_BEGAN_UPTIME_MS))
		return TOTAL_UNTOLD;
	if (IPFIX_HAS(record, IPFIX_BOOTED_MS))
		return ipfix_reader_ms_of(numbers[IPFIX_BOOTED_MS] + uptime_ms);
	return message->version == NETFLOW_9 ? (int64_t)message->export_s * 1000 -
						       (int64_t)(message->uptime_ms - uptime_ms)
					     : TOTAL_UNTOLD;
}

static uint8_t ipfix_reader_width_of(const struct ipfix_kept *kept, enum ipfix_use use)
{
	uint8_t width = 0;

	for (uint16_t i = 0; i < kept->count; i++)
		if (kept->fields[i].use == use)
			width = (uint8_t)kept->fields[i].length;
	return width;
}

static bool ipfix_reader_is_total(const struct ipfix_record *record)
{
	return IPFIX_HAS(record, IPFIX_TOTAL_BYTES) && !record->frame &&
	       !IPFIX_HAS(record, IPFIX_BYTES) && !IPFIX_HAS(record, IPFIX_L2_BYTES);
}

/* The record's totals become what they grew by. False: there is nothing to count. */
static bool ipfix_reader_take_total(struct message_view *view, const struct ipfix_kept *kept,
				    struct ipfix_record *record)
{
	struct harvest *harvest = view->reader->harvest;
	struct total_book *totals = ipfix_book_totals(view->book, harvest->flows.seed);
	struct total_key key = {.domain = view->message->domain};
	const struct total_said said = {
		.bytes = record->numbers[IPFIX_TOTAL_BYTES],
		.packets = record->numbers[IPFIX_TOTAL_PACKETS],
		.byte_width = ipfix_reader_width_of(kept, IPFIX_TOTAL_BYTES),
		.packet_width = ipfix_reader_width_of(kept, IPFIX_TOTAL_PACKETS),
		.late = view->late,
		.began_ms = ipfix_reader_began_ms(record, view->message),
		.heard_ms = view->heard_ms,
	};
	struct total_growth growth;

	harvest->counts.totals++;
	if (!totals)
		return false;
	ipfix_reader_make_key(record, view->agent, &key.flow);
	key.identity = record->numbers[IPFIX_IDENTITY];
	for (unsigned use = IPFIX_BEGAN_S; use <= IPFIX_BEGAN_UPTIME_MS; use++)
		key.identity = hash_spread(hash_number(key.identity, record->numbers[use]));
	growth = total_book_take(totals, &key, &said);
	harvest->counts.totals_first += growth.first;
	harvest->counts.totals_forgotten += growth.forgot;
	record->numbers[IPFIX_BYTES] = growth.bytes;
	record->numbers[IPFIX_PACKETS] = growth.packets;
	record->has |= UINT64_C(1) << IPFIX_BYTES;
	return growth.bytes > 0;
}

/* --- records --- */

/* False: a frame that is not of Ethernet, or of which the begin is missing. */
static bool ipfix_reader_is_read(const struct ipfix_record *record)
{
	return !record->frame || (record->frame_size && !record->numbers[IPFIX_FRAME_OFFSET] &&
				  (!IPFIX_HAS(record, IPFIX_FRAME_KIND) ||
				   record->numbers[IPFIX_FRAME_KIND] == IPFIX_FRAME_ETHERNET));
}

static void ipfix_reader_take_record(struct message_view *view, const struct ipfix_record *record)
{
	struct harvest *harvest = view->reader->harvest;
	uint32_t rate = ipfix_domain_rate(view->domain, record);
	struct flow_key key;
	uint64_t packets;
	uint64_t bytes;

	if (!ipfix_reader_is_read(record)) {
		harvest->counts.no_header++;
		return;
	}
	if (!ipfix_reader_measure(record, rate, &packets, &bytes)) {
		harvest->counts.records_odd++;
		return;
	}
	ipfix_reader_make_key(record, view->agent, &key);
	harvest->counts.records++;
	flow_table_add_sum(&harvest->flows, &key, view->source, packets, bytes, rate);
	source_book_rate(view->reader->book, view->source, rate);
}

static int ipfix_reader_take_records(struct message_view *view, struct ipfix_set *set)
{
	const struct ipfix_kept *kept = ipfix_domain_template(view->domain, set->id);
	struct receive_counts *counts = &view->reader->harvest->counts;
	struct ipfix_record record;
	int rc;

	if (!kept) {
		counts->no_template++;
		view->unknown = view->told = true;
		return 1;
	}
	while ((rc = ipfix_next_record(&set->body, kept->fields, kept->count, kept->shortest,
				       &record)) == 1) {
		view->records++;
		view->told = true;
		if (kept->options)
			ipfix_domain_options(view->domain, &record);
		else if (!ipfix_reader_is_total(&record) ||
			 ipfix_reader_take_total(view, kept, &record))
			ipfix_reader_take_record(view, &record);
	}
	return rc < 0 ? rc : 1;
}

static int take_templates(struct message_view *view, struct ipfix_set *set)
{
	struct ipfix_template template;
	int rc;

	while ((rc = ipfix_next_template(view->message, set, &template)) == 1) {
		(void)ipfix_domain_learn(view->book, view->domain, &template);
		view->told = true;
	}
	/* One with too many fields costs what stands after it in its set, no more. */
	if (rc == -E2BIG)
		view->told = false;
	return rc < 0 && rc != -E2BIG ? rc : 1;
}

static int ipfix_reader_take_kind(struct message_view *view, struct ipfix_set *set)
{
	switch (set->kind) {
	case IPFIX_TEMPLATES:
	case IPFIX_OPTIONS: return take_templates(view, set);
	case IPFIX_RECORDS: return ipfix_reader_take_records(view, set);
	case IPFIX_RESERVED: break;
	}
	return 1;
}

/* What gives nothing is padding only where it is zeros: else it has a shape that we do not read. */
static int take_set(struct message_view *view, struct ipfix_set *set)
{
	struct wire_reader body = set->body;
	size_t size = wire_left(&body);
	const uint8_t *bytes = wire_bytes(&body, size);
	int rc;

	view->told = false;
	rc = ipfix_reader_take_kind(view, set);
	view->unread += rc >= 0 && !view->told && bytes && ipfix_reader_any(bytes, size);
	return rc;
}

/* --- a message --- */

void ipfix_reader_take(struct sample_reader *reader, struct ipfix_book *book, const void *data,
		       size_t size, const uint8_t source[16])
{
	struct receive_counts *counts = &reader->harvest->counts;
	struct ipfix_message message;
	struct wire_reader sets;
	int rc = ipfix_open(data, size, &message, &sets);
	struct message_view view = {.reader = reader, .book = book, .message = &message};
	struct ipfix_follow follow;
	struct ipfix_set set;
	bool bad = false;
	int agent;

	if (!sample_reader_count(counts, size, rc))
		return;
	agent = sample_reader_agent(reader, source, source);
	if (agent < 0)
		return;
	view.agent = (uint16_t)agent;
	view.domain = ipfix_book_domain(book, view.agent, message.version, message.domain);
	if (!view.domain)
		return;
	view.late = ipfix_domain_is_late(view.domain, &message);
	view.heard_ms = ipfix_domain_heard_ms(view.domain, &message);
	view.source = source_book_exporter(reader->book, view.agent, message.domain);
	/* Sets have lengths of their own: a bad one costs itself. */
	while ((rc = ipfix_next_set(&message, &sets, &set)) == 1)
		bad = take_set(&view, &set) < 0 || bad;
	if (rc < 0 || bad)
		counts->malformed++;
	follow =
		ipfix_domain_follow(book, view.domain, &message,
				    bad || rc < 0 || view.unknown ? IPFIX_UNCOUNTED : view.records);
	counts->records_missing += follow.missing;
	counts->sets_unread += view.unread;
	source_book_exported(reader->book, view.source,
			     &(struct source_export){.records = view.records,
						     .missing = follow.missing,
						     .unread = view.unread,
						     .restarted = follow.restarted});
}
