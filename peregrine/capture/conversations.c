#include "peregrine/capture/conversations.h"

#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/hash.h"
#include "common/base/json_text.h"
#include "common/net/frame_key_wire.h"

LEAKS_LEFT_TO_SANITIZER

enum { PROTOCOL_TCP = 6, PROTOCOL_UDP = 17, SLOTS = 2 * CONVERSATION_LIMIT, APPLICATIONS = 64 };
#define IDLE_US INT64_C(60000000)

struct conversations {
	struct conversation rows[CONVERSATION_LIMIT];
	size_t count;
	uint16_t slots[SLOTS]; /* row plus one; linear probing, never more than half full */
	uint64_t untracked;    /* packets of conversations that had no room */
	struct dpi *dpi;
};

int conversations_new(struct conversations **ret)
{
	struct conversations *conversations = calloc(1, sizeof(*conversations));
	int rc;

	if (!conversations)
		return -ENOMEM;
	rc = dpi_new(&conversations->dpi);
	if (rc) {
		free(conversations);
		return rc;
	}
	*ret = conversations;
	return 0;
}

void conversations_free(struct conversations *conversations)
{
	if (!conversations)
		return;
	for (size_t i = 0; i < conversations->count; i++)
		dpi_flow_free(conversations->rows[i].dpi);
	dpi_free(conversations->dpi);
	free(conversations);
}

/* --- the table --- */

/* The same for both directions. */
static uint32_t conversations_hash_of(const struct conversation *row)
{
	uint64_t ends[2];

	for (int i = 0; i < 2; i++) {
		ends[i] = hash_bytes(HASH_START, row->addresses[i], 16);
		ends[i] = hash_bytes(ends[i], &row->ports[i], 2);
		ends[i] = hash_bytes(ends[i], row->macs[i], 6);
	}
	return (uint32_t)hash_spread((ends[0] ^ ends[1]) + (uint64_t)row->protocol * 31 +
				     row->ethertype);
}

/* 0 or 1: the side of `row` that `one` comes from; -1: another conversation. */
static int side_of(const struct conversation *row, const struct conversation *one)
{
	if (row->protocol != one->protocol || row->ethertype != one->ethertype ||
	    row->vni != one->vni)
		return -1;
	for (int side = 0; side < 2; side++) {
		int other = !side;

		if (!memcmp(row->addresses[side], one->addresses[0], 16) &&
		    !memcmp(row->addresses[other], one->addresses[1], 16) &&
		    row->ports[side] == one->ports[0] && row->ports[other] == one->ports[1] &&
		    !memcmp(row->macs[side], one->macs[0], 6) &&
		    !memcmp(row->macs[other], one->macs[1], 6))
			return side;
	}
	return -1;
}

static void slots_fill(struct conversations *conversations)
{
	memset(conversations->slots, 0, sizeof(conversations->slots));
	for (size_t i = 0; i < conversations->count; i++) {
		size_t at = conversations_hash_of(&conversations->rows[i]) % SLOTS;

		while (conversations->slots[at])
			at = (at + 1) % SLOTS;
		conversations->slots[at] = (uint16_t)(i + 1);
	}
}

/* Every row silent for a minute makes room at once: the table is filled anew for all of them. */
static void conversations_make_room(struct conversations *conversations, int64_t now_us)
{
	size_t kept = 0;

	for (size_t i = 0; i < conversations->count; i++) {
		struct conversation *row = &conversations->rows[i];

		if (now_us - row->last_us > IDLE_US)
			dpi_flow_free(row->dpi);
		else
			conversations->rows[kept++] = *row;
	}
	if (kept == conversations->count)
		return;
	conversations->count = kept;
	slots_fill(conversations);
}

/* NULL: no room. */
static struct conversation *conversations_find(struct conversations *conversations,
					       const struct conversation *one, unsigned *ret_side)
{
	size_t at = conversations_hash_of(one) % SLOTS;

	for (; conversations->slots[at]; at = (at + 1) % SLOTS) {
		struct conversation *row = &conversations->rows[conversations->slots[at] - 1];
		int side = side_of(row, one);

		if (side >= 0) {
			*ret_side = (unsigned)side;
			return row;
		}
	}
	*ret_side = 0;
	if (conversations->count == CONVERSATION_LIMIT) {
		conversations_make_room(conversations, one->last_us);
		if (conversations->count == CONVERSATION_LIMIT)
			return NULL;
		at = conversations_hash_of(one) % SLOTS;
		while (conversations->slots[at])
			at = (at + 1) % SLOTS;
	}
	conversations->rows[conversations->count] = *one;
	conversations->slots[at] = (uint16_t)(conversations->count + 1);
	return &conversations->rows[conversations->count++];
}

/* --- frames --- */

static void text_end(const struct conversation *row, int side, char *ret, size_t room)
{
	static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
	const uint8_t *address = row->addresses[side];
	const uint8_t *mac = row->macs[side];
	char text[INET6_ADDRSTRLEN] = "";
	bool ports = row->ports[0] || row->ports[1];

	if (!(row->flags & (FLOW_IPV4 | FLOW_IPV6))) {
		(void)text_format(ret, room, "%02x:%02x:%02x:%02x:%02x:%02x", mac[0], mac[1],
				  mac[2], mac[3], mac[4], mac[5]);
		return;
	}
	if (memcmp(address, mapped, sizeof(mapped)) == 0)
		(void)inet_ntop(AF_INET, address + 12, text, sizeof(text));
	else
		(void)inet_ntop(AF_INET6, address, text, sizeof(text));
	if (ports && (row->protocol == PROTOCOL_TCP || row->protocol == PROTOCOL_UDP))
		(void)text_format(ret, room, "%s.%u", text, row->ports[side]);
	else
		(void)text_copy(ret, room, text);
}

static void text_protocol(const struct conversation *row, char *ret, size_t room)
{
	static const struct {
		uint8_t protocol;
		const char *word;
	} words[] = {{1, "icmp"}, {6, "tcp"},    {17, "udp"},
		     {47, "gre"}, {58, "icmp6"}, {132, "sctp"}};

	if (!(row->flags & (FLOW_IPV4 | FLOW_IPV6))) {
		(void)text_format(ret, room, "%s",
				  row->ethertype == 0x0806   ? "arp"
				  : row->ethertype == 0x88cc ? "lldp"
							     : "ethernet");
		return;
	}
	for (size_t i = 0; i < COUNT_OF(words); i++) {
		if (words[i].protocol == row->protocol) {
			(void)text_copy(ret, room, words[i].word);
			return;
		}
	}
	(void)text_format(ret, room, "ip %u", row->protocol);
}

static void text_flags(const struct tcp_segment *segment, char *ret)
{
	static const char letters[] = "FSRP."; /* as tcpdump has them */

	for (int bit = 0; bit < 5; bit++) {
		if (segment->flags & 1U << bit)
			*ret++ = letters[bit];
	}
	*ret = '\0';
}

static void conversations_say(const struct conversation *one, const struct tcp_segment *segment,
			      uint32_t length, char line[PACKET_LINE_SIZE])
{
	char ends[2][INET6_ADDRSTRLEN + 8] = {"", ""};
	char protocol[16];
	char flags[8] = "";

	for (int side = 0; side < 2; side++)
		text_end(one, side, ends[side], sizeof(ends[side]));
	text_protocol(one, protocol, sizeof(protocol));
	if (!segment) {
		(void)text_format(line, PACKET_LINE_SIZE, "%s > %s %s length %u", ends[0], ends[1],
				  protocol, length);
		return;
	}
	text_flags(segment, flags);
	(void)text_format(line, PACKET_LINE_SIZE, "%s > %s %s [%s] seq %u ack %u win %u length %u",
			  ends[0], ends[1], protocol, flags, segment->sequence,
			  segment->acknowledged, segment->window, segment->payload);
}

void conversations_take(struct conversations *conversations, const void *frame, size_t size,
			uint32_t length, int64_t time_us, char line[PACKET_LINE_SIZE])
{
	const uint8_t *end = (const uint8_t *)frame + size;
	struct frame_layout layout;
	struct flow_key key = {0};
	struct tcp_segment segment = {0};
	struct conversation *row;
	bool tcp;
	unsigned side;

	frame_key_decode_layout(frame, size, &key, &layout);
	struct conversation one = {.ethertype = key.ethertype,
				   .protocol = key.protocol,
				   .flags = key.flags,
				   .vni = key.vni,
				   .ports = {key.source_port, key.target_port},
				   .first_us = time_us,
				   .last_us = time_us};

	memcpy(one.addresses[0], key.source, 16);
	memcpy(one.addresses[1], key.target, 16);
	memcpy(one.macs[0], key.source_mac, 6);
	memcpy(one.macs[1], key.target_mac, 6);
	/* An echo and its reply, and the like, are one conversation. */
	if (key.protocol != PROTOCOL_TCP && key.protocol != PROTOCOL_UDP)
		one.ports[0] = one.ports[1] = 0;
	tcp = key.protocol == PROTOCOL_TCP && layout.transport &&
	      tcp_decode(layout.transport, (size_t)(end - layout.transport),
			 layout.transport_length, &segment);
	conversations_say(&one, tcp ? &segment : NULL, length, line);
	row = conversations_find(conversations, &one, &side);
	if (!row) {
		conversations->untracked++;
		return;
	}
	row->packets[side]++;
	row->bytes[side] += length;
	row->last_us = time_us;
	if (tcp)
		tcp_seen(&row->tcp, side, &segment, time_us);
	if (key.flags & (FLOW_IPV4 | FLOW_IPV6) && layout.network && layout.network < end)
		dpi_look(conversations->dpi, &row->dpi,
			 &(struct dpi_packet){.bytes = layout.network,
					      .size = (size_t)(end - layout.network),
					      .time_us = time_us},
			 row->application, &row->guessed);
}

/* --- what came of it --- */

static uint64_t bytes_of(const struct conversation *row)
{
	return row->bytes[0] + row->bytes[1];
}

static int by_bytes(const void *a, const void *b)
{
	uint64_t left = bytes_of(*(const struct conversation *const *)a);
	uint64_t right = bytes_of(*(const struct conversation *const *)b);

	return left < right ? 1 : left > right ? -1 : 0;
}

static void write_side(const struct tcp_side *side, const char *key, struct text *out)
{
	json_begin_object(out, key);
	json_put_int(out, "segments", (int64_t)side->segments);
	json_put_int(out, "payload_bytes", (int64_t)side->bytes);
	json_put_int(out, "retransmissions", (int64_t)side->retransmissions);
	json_put_int(out, "retransmitted_bytes", (int64_t)side->retransmitted_bytes);
	json_put_int(out, "out_of_order", (int64_t)side->out_of_order);
	json_put_int(out, "duplicate_acks", (int64_t)side->duplicate_acks);
	json_put_int(out, "zero_windows", (int64_t)side->zero_windows);
	json_put_int(out, "resets", (int64_t)side->resets);
	json_put_int(out, "unseen", (int64_t)side->unseen);
	if (side->rtt.count > 0) {
		json_put_int(out, "rtt_count", side->rtt.count);
		json_put_int(out, "rtt_least_us", side->rtt.least_us);
		json_put_int(out, "rtt_mean_us", side->rtt.sum_us / side->rtt.count);
		json_put_int(out, "rtt_most_us", side->rtt.most_us);
	}
	json_end_object(out);
}

static void conversations_write_row(const struct conversation *row, struct text *out)
{
	char text[INET6_ADDRSTRLEN + 8];

	json_begin_object(out, NULL);
	text_end(row, 0, text, sizeof(text));
	json_put_string(out, "a", text);
	text_end(row, 1, text, sizeof(text));
	json_put_string(out, "b", text);
	text_protocol(row, text, sizeof(text));
	json_put_string(out, "protocol", text);
	json_put_string(out, "application", row->application);
	json_put_bool(out, "guessed", row->guessed);
	json_put_int(out, "packets", (int64_t)(row->packets[0] + row->packets[1]));
	json_put_int(out, "bytes_ab", (int64_t)row->bytes[0]);
	json_put_int(out, "bytes_ba", (int64_t)row->bytes[1]);
	json_put_int(out, "duration_us", row->last_us - row->first_us);
	if (row->protocol == PROTOCOL_TCP) {
		json_begin_object(out, "tcp");
		if (row->tcp.handshake_us)
			json_put_int(out, "handshake_us", row->tcp.handshake_us);
		write_side(&row->tcp.sides[0], "ab", out);
		write_side(&row->tcp.sides[1], "ba", out);
		json_end_object(out);
	}
	json_end_object(out);
}

/* Of all TCP together, by what both sides sent. */
static void write_tcp(const struct conversations *conversations, struct text *out)
{
	struct tcp_side sum = {0};

	for (size_t i = 0; i < conversations->count; i++) {
		const struct conversation *row = &conversations->rows[i];

		for (size_t side = 0; side < 2 && row->protocol == PROTOCOL_TCP; side++) {
			const struct tcp_side *one = &row->tcp.sides[side];

			sum.segments += one->segments;
			sum.bytes += one->bytes;
			sum.retransmissions += one->retransmissions;
			sum.retransmitted_bytes += one->retransmitted_bytes;
			sum.out_of_order += one->out_of_order;
			sum.duplicate_acks += one->duplicate_acks;
			sum.zero_windows += one->zero_windows;
			sum.resets += one->resets;
			sum.unseen += one->unseen;
			if (one->rtt.count == 0)
				continue;
			if (sum.rtt.count == 0 || one->rtt.least_us < sum.rtt.least_us)
				sum.rtt.least_us = one->rtt.least_us;
			if (one->rtt.most_us > sum.rtt.most_us)
				sum.rtt.most_us = one->rtt.most_us;
			sum.rtt.count += one->rtt.count;
			sum.rtt.sum_us += one->rtt.sum_us;
		}
	}
	write_side(&sum, "tcp", out);
}

static void write_applications(const struct conversations *conversations, struct text *out)
{
	struct {
		const char *name;
		bool guessed;
		uint64_t packets, bytes, conversations;
	} sums[APPLICATIONS] = {{0}};
	size_t count = 0;

	for (size_t i = 0; i < conversations->count; i++) {
		const struct conversation *row = &conversations->rows[i];
		const char *name = row->application[0] ? row->application : "unknown";
		size_t at = 0;

		while (at < count &&
		       (strcmp(sums[at].name, name) != 0 || sums[at].guessed != row->guessed))
			at++;
		if (at == count && count == APPLICATIONS)
			at = APPLICATIONS - 1; /* the last of so many is "other" */
		else if (at == count)
			count++;
		if (!sums[at].name) {
			sums[at].name = at == APPLICATIONS - 1 ? "other" : name;
			sums[at].guessed = at < APPLICATIONS - 1 && row->guessed;
		}
		sums[at].packets += row->packets[0] + row->packets[1];
		sums[at].bytes += bytes_of(row);
		sums[at].conversations++;
	}
	json_begin_array(out, "applications");
	for (size_t i = 0; i < count; i++) {
		json_begin_object(out, NULL);
		json_put_string(out, "application", sums[i].name);
		json_put_bool(out, "guessed", sums[i].guessed);
		json_put_int(out, "conversations", (int64_t)sums[i].conversations);
		json_put_int(out, "packets", (int64_t)sums[i].packets);
		json_put_int(out, "bytes", (int64_t)sums[i].bytes);
		json_end_object(out);
	}
	json_end_array(out);
}

void conversations_write(const struct conversations *conversations, size_t most, struct text *out)
{
	const struct conversation *rows[CONVERSATION_LIMIT];

	for (size_t i = 0; i < conversations->count; i++)
		rows[i] = &conversations->rows[i];
	if (conversations->count > 0)
		qsort(rows, conversations->count, sizeof(const struct conversation *), by_bytes);
	json_begin_array(out, "conversations");
	for (size_t i = 0; i < conversations->count && i < most; i++)
		conversations_write_row(rows[i], out);
	json_end_array(out);
	json_put_int(out, "conversation_count", (int64_t)conversations->count);
	json_put_int(out, "untracked_packets", (int64_t)conversations->untracked);
	write_tcp(conversations, out);
	write_applications(conversations, out);
}
