// links: peregrine_capture
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/error.h"
#include "common/base/macros.h"

#include "peregrine/capture/capture_order.h"
#include "peregrine/capture/conversations.h"
#include "peregrine/capture/decap_wire.h"
#include "peregrine/capture/packet_ring.h"
#include "peregrine/capture/scope_policy.h"
#include "peregrine/capture/tcp_policy.h"
#include "tests/support/cmocka.h"
#include "tests/support/scratch.h"

#define OUTER                        \
	"02000000000102000000000208" \
	"00"
#define IPV4(protocol) "4500002800004000ff" protocol "00000a0000010a000002"
#define INNER          "0a00000000010a0000000002080045000014"

static size_t bytes_of(const char *hex, uint8_t *ret, size_t room)
{
	size_t size = 0;

	for (; hex[2 * size] && size < room; size++) {
		unsigned value;

		assert_int_equal(sscanf(hex + 2 * size, "%2x", &value), 1);
		ret[size] = (uint8_t)value;
	}
	return size;
}

/* --- what a mirror wraps around --- */

static void tunnels_are_unwrapped(void **state)
{
	static const struct {
		const char *what;
		enum decap_kind kind;
		const char *hex;
		int rc;
		uint32_t session;
		uint16_t vlan;
		uint8_t type;
	} rows[] = {
		{"as it is", DECAP_NONE, INNER, 0, 0, 0, 0},
		{"too short for a frame", DECAP_NONE, "0a0000000001", E_PROTOCOL, 0, 0, 0},
		{"gre", DECAP_GRE, OUTER IPV4("2f") "00006558" INNER, 0, 0, 0, 0},
		{"gre with a key", DECAP_GRE, OUTER IPV4("2f") "200065580000004d" INNER, 0, 77, 0,
		 0},
		{"gre with checksum, key and sequence", DECAP_GRE,
		 OUTER IPV4("2f") "b0006558"
				  "12340000"
				  "0000004d"
				  "00000009" INNER,
		 0, 77, 0, 0},
		{"gre with routing", DECAP_GRE, OUTER IPV4("2f") "4000655800000000" INNER,
		 E_PROTOCOL, 0, 0, 0},
		{"pptp's gre", DECAP_GRE, OUTER IPV4("2f") "00016558" INNER, E_PROTOCOL, 0, 0, 0},
		{"gre of ip", DECAP_GRE, OUTER IPV4("2f") "00000800" INNER, E_PROTOCOL, 0, 0, 0},
		{"erspan where gre is expected", DECAP_GRE, OUTER IPV4("2f") "000088be" INNER,
		 E_PROTOCOL, 0, 0, 0},
		{"a frame that is no tunnel", DECAP_GRE, INNER, E_PROTOCOL, 0, 0, 0},
		{"erspan I", DECAP_ERSPAN, OUTER IPV4("2f") "000088be" INNER, 0, 0, 0, 1},
		{"erspan II", DECAP_ERSPAN,
		 OUTER IPV4("2f") "100088be"
				  "00000001"
				  "10640003"
				  "00000000" INNER,
		 0, 3, 100, 2},
		{"erspan II of another version", DECAP_ERSPAN,
		 OUTER IPV4("2f") "100088be"
				  "00000001"
				  "20640003"
				  "00000000" INNER,
		 E_PROTOCOL, 0, 0, 0},
		{"erspan III", DECAP_ERSPAN,
		 OUTER IPV4("2f") "100022eb"
				  "00000001"
				  "20640003"
				  "00000000"
				  "00000000" INNER,
		 0, 3, 100, 3},
		{"erspan III with a subheader", DECAP_ERSPAN,
		 OUTER IPV4("2f") "100022eb"
				  "00000001"
				  "20640003"
				  "00000000"
				  "00000001"
				  "0000000000000000" INNER,
		 0, 3, 100, 3},
		{"erspan III of an ip packet", DECAP_ERSPAN,
		 OUTER IPV4("2f") "100022eb"
				  "00000001"
				  "20640003"
				  "00000000"
				  "00000800" INNER,
		 E_PROTOCOL, 0, 0, 0},
		{"erspan II cut in its header", DECAP_ERSPAN,
		 OUTER IPV4("2f") "100088be"
				  "00000001"
				  "1064",
		 E_PROTOCOL, 0, 0, 0},
		{"nothing inside", DECAP_GRE, OUTER IPV4("2f") "00006558", E_PROTOCOL, 0, 0, 0},
		{"vxlan", DECAP_VXLAN,
		 OUTER IPV4("11") "c00012b500000000"
				  "0800000000138900" INNER,
		 0, 5001, 0, 0},
		{"vxlan without a VNI", DECAP_VXLAN,
		 OUTER IPV4("11") "c00012b500000000"
				  "0000000000138900" INNER,
		 E_PROTOCOL, 0, 0, 0},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		uint8_t bytes[256];
		uint8_t inner[64];
		size_t size = bytes_of(rows[i].hex, bytes, sizeof(bytes));
		size_t inner_size = bytes_of(INNER, inner, sizeof(inner));
		struct decap decap = {0};
		int rc = decap_frame(rows[i].kind, bytes, size, &decap);

		if (rc != rows[i].rc)
			fail_msg("%s: %d", rows[i].what, rc);
		if (rc)
			continue;
		assert_int_equal(decap.size, inner_size);
		assert_int_equal(decap.offset, size - inner_size);
		assert_memory_equal(decap.frame, inner, inner_size);
		if (decap.session != rows[i].session || decap.vlan != rows[i].vlan ||
		    decap.type != rows[i].type)
			fail_msg("%s: session %u vlan %u type %u", rows[i].what, decap.session,
				 decap.vlan, decap.type);
	}
}

static void tags_are_passed_over(void **state)
{
	static const struct {
		const char *hex;
		size_t tags;
	} rows[] = {
		{"0a00000000010a000000000208004500", 0},
		{"0a00000000010a0000000002810000640800", 16},
		{"0a00000000010a000000000288a80064810000650800", 20},
		{"0a00000000010a00000000028100", 0},
		{"0a", 0},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		uint8_t bytes[64];
		size_t size = bytes_of(rows[i].hex, bytes, sizeof(bytes));

		assert_int_equal(decap_tags(bytes, size), rows[i].tags);
	}
}

/* --- whose frames --- */

static void only_frames_of_the_scope(void **state)
{
	static const struct scope pair = {.a = {{2, 0, 0, 0, 0, 1}},
					  .b = {{2, 0, 0, 0, 0, 2}, {2, 0, 0, 0, 0, 3}},
					  .a_count = 1,
					  .b_count = 2};
	static const struct scope node = {.a = {{2, 0, 0, 0, 0, 1}}, .a_count = 1};
	static const struct {
		const char *frame; /* target, source */
		bool pair, node;
	} rows[] = {
		{"020000000002020000000001", true, true},
		{"020000000001020000000003", true, true},
		{"020000000009020000000001", false, true},
		{"020000000001020000000009", false, true},
		{"020000000003020000000002", false, false}, /* both are b's */
		{"020000000008020000000009", false, false},
		{"ffffffffffff020000000001", true, true},
		{"ffffffffffff020000000002", true, false},
		{"ffffffffffff020000000009", false, false},
		{"0200000000020200000000", false, false},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		uint8_t bytes[16];
		size_t size = bytes_of(rows[i].frame, bytes, sizeof(bytes));

		if (scope_has(&pair, bytes, size) != rows[i].pair ||
		    scope_has(&node, bytes, size) != rows[i].node)
			fail_msg("%s", rows[i].frame);
	}
}

/* --- TCP --- */

struct step {
	unsigned side;
	int64_t ms;
	uint32_t sequence, acknowledged, payload;
	uint16_t window;
	uint8_t flags;
};

#define OPEN                                                                                 \
	{0, 0, 1000, 0, 0, 64000, TCP_SYN}, {1, 8, 5000, 1001, 0, 64000, TCP_SYN | TCP_ACK}, \
	{                                                                                    \
		0, 10, 1001, 5001, 0, 64000, TCP_ACK                                         \
	}

static void tcp_is_told_apart(void **state)
{
	static const struct {
		const char *what;
		struct step steps[12];
		/* of side 0, then what side 1 said */
		uint64_t retransmissions, out_of_order, unseen, keepalives;
		uint64_t zero_windows, duplicate_acks;
		int64_t rtt_us;
	} rows[] = {
		{"nothing wrong",
		 {OPEN,
		  {0, 20, 1001, 5001, 100, 64000, TCP_ACK},
		  {1, 25, 5001, 1101, 0, 64000, TCP_ACK},
		  {0, 30, 1101, 5001, 100, 64000, TCP_ACK}},
		 0,
		 0,
		 0,
		 0,
		 0,
		 0,
		 5000},
		{"sent again as it was",
		 {OPEN,
		  {0, 20, 1001, 5001, 100, 64000, TCP_ACK},
		  {0, 220, 1001, 5001, 100, 64000, TCP_ACK},
		  {1, 225, 5001, 1101, 0, 64000, TCP_ACK}},
		 1,
		 0,
		 0,
		 0,
		 0,
		 0,
		 8000}, /* Karn: only its SYN was timed */
		{"lost before us, sent again later",
		 {OPEN,
		  {0, 20, 1101, 5001, 100, 64000, TCP_ACK},
		  {0, 220, 1001, 5001, 100, 64000, TCP_ACK}},
		 1,
		 0,
		 0,
		 0,
		 0,
		 0,
		 8000},
		{"two changed places",
		 {OPEN,
		  {0, 20, 1101, 5001, 100, 64000, TCP_ACK},
		  {0, 21, 1001, 5001, 100, 64000, TCP_ACK}},
		 0,
		 1,
		 0,
		 0,
		 0,
		 0,
		 8000},
		{"lost on the way to us alone",
		 {OPEN,
		  {0, 20, 1101, 5001, 100, 64000, TCP_ACK},
		  {1, 30, 5001, 1201, 0, 64000, TCP_ACK}},
		 0,
		 0,
		 1,
		 0,
		 0,
		 0,
		 8000},
		{"its window closed twice",
		 {OPEN,
		  {1, 30, 5001, 1001, 0, 0, TCP_ACK},
		  {1, 31, 5001, 1001, 0, 0, TCP_ACK},
		  {1, 40, 5001, 1001, 0, 100, TCP_ACK},
		  {1, 50, 5001, 1001, 0, 0, TCP_ACK}},
		 0,
		 0,
		 0,
		 0,
		 2,
		 0,
		 8000},
		{"a reset's window means nothing",
		 {OPEN, {1, 30, 5001, 1001, 0, 0, TCP_RESET | TCP_ACK}},
		 0,
		 0,
		 0,
		 0,
		 0,
		 0,
		 8000},
		{"asking whether it is there",
		 {OPEN,
		  {0, 20, 1001, 5001, 100, 64000, TCP_ACK},
		  {1, 25, 5001, 1101, 0, 64000, TCP_ACK},
		  {0, 9000, 1100, 5001, 1, 64000, TCP_ACK}},
		 0,
		 0,
		 0,
		 1,
		 0,
		 0,
		 5000},
		{"told three times that something is missing",
		 {OPEN,
		  {0, 20, 1001, 5001, 100, 64000, TCP_ACK},
		  {0, 21, 1201, 5001, 100, 64000, TCP_ACK},
		  {1, 22, 5001, 1101, 0, 64000, TCP_ACK},
		  {1, 23, 5001, 1101, 0, 64000, TCP_ACK},
		  {1, 24, 5001, 1101, 0, 64000, TCP_ACK},
		  {0, 90, 1101, 5001, 100, 64000, TCP_ACK}},
		 1,
		 0,
		 0,
		 0,
		 0,
		 2,
		 2000},
		{"past the end of the numbers",
		 {{0, 0, 0xffffffce, 1, 100, 64000, TCP_ACK},
		  {0, 1, 0x32, 1, 100, 64000, TCP_ACK},
		  {0, 400, 0xffffffce, 1, 100, 64000, TCP_ACK}},
		 1,
		 0,
		 0,
		 0,
		 0,
		 0,
		 0},
		{"the SYN sent again",
		 {{0, 0, 1000, 0, 0, 64000, TCP_SYN}, {0, 1000, 1000, 0, 0, 64000, TCP_SYN}},
		 1,
		 0,
		 0,
		 0,
		 0,
		 0,
		 0},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct tcp_pair pair = {0};
		const struct tcp_side *a = &pair.sides[0];
		const struct tcp_side *b = &pair.sides[1];

		for (size_t k = 0; k < COUNT_OF(rows[i].steps) && rows[i].steps[k].flags; k++) {
			const struct step *step = &rows[i].steps[k];
			const struct tcp_segment segment = {.sequence = step->sequence,
							    .acknowledged = step->acknowledged,
							    .payload = step->payload,
							    .window = step->window,
							    .flags = step->flags};

			tcp_seen(&pair, step->side, &segment, 1 + step->ms * 1000);
		}
		if (a->retransmissions != rows[i].retransmissions ||
		    a->out_of_order != rows[i].out_of_order || a->unseen != rows[i].unseen ||
		    a->keepalives != rows[i].keepalives ||
		    b->zero_windows != rows[i].zero_windows ||
		    b->duplicate_acks != rows[i].duplicate_acks ||
		    a->rtt.least_us != rows[i].rtt_us)
			fail_msg("%s: again %d late %d unseen %d alive %d zero %d dup %d rtt %d",
				 rows[i].what, (int)a->retransmissions, (int)a->out_of_order,
				 (int)a->unseen, (int)a->keepalives, (int)b->zero_windows,
				 (int)b->duplicate_acks, (int)a->rtt.least_us);
		if (rows[i].steps[1].side == 1)
			assert_int_equal(pair.handshake_us, 10000);
	}
}

static void tcp_headers_are_read(void **state)
{
	static const struct {
		const char *hex;
		uint32_t length;
		bool good;
		uint32_t payload;
		uint8_t scale;
	} rows[] = {
		{"00500051000003e8000000005002fa0000000000", 120, true, 100, 0},
		/* a SYN: maximum segment, nothing, window scale 7 */
		{"00500051000003e8000000008002fa0000000000020405b401030307", 32, true, 0, 8},
		{"00500051000003e8000000008002fa0000000000020405b40103", 32, true, 0, 0},
		{"00500051000003e8000000008002fa00000000000300", 32, true, 0, 0},
		{"00500051000003e8000000004002fa0000000000", 120, false, 0, 0},
		{"00500051000003e80000000050", 120, false, 0, 0},
		{"00500051000003e8000000005010fa00", 120, true, 100, 0},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		uint8_t bytes[64];
		size_t size = bytes_of(rows[i].hex, bytes, sizeof(bytes));
		struct tcp_segment segment = {0};

		assert_int_equal(tcp_decode(bytes, size, rows[i].length, &segment), rows[i].good);
		assert_int_equal(segment.payload, rows[i].payload);
		assert_int_equal(segment.scale, rows[i].scale);
	}
}

/* --- the table of conversations --- */

static void the_table_is_bounded(void **state)
{
	uint8_t frame[54];
	struct conversations *table = NULL;
	CLEANUP(text_done) struct text out = {0};
	char line[PACKET_LINE_SIZE] = "";

	(void)state;
	(void)bytes_of("0200000000010200000000020800"
		       "4500002800004000ff0600000a0000010a000002"
		       "00000050000003e8000000005002fa0000000000",
		       frame, sizeof(frame));
	assert_int_equal(conversations_new(&table), 0);
	for (unsigned i = 0; i < CONVERSATION_LIMIT + 10; i++) {
		frame[34] = (uint8_t)(i >> 8);
		frame[35] = (uint8_t)i;
		conversations_take(table, frame, sizeof(frame), 60, 1000 + i, line);
	}
	assert_string_equal(line, "10.0.0.1.1033 > 10.0.0.2.80 tcp [S] seq 1000 ack 0 win 64000 "
				  "length 0");
	text_add(&out, "{");
	conversations_write(table, 1, &out);
	assert_non_null(strstr(text_get(&out), "\"conversation_count\":1024"));
	assert_non_null(strstr(text_get(&out), "\"untracked_packets\":10"));
	assert_non_null(strstr(text_get(&out), "\"tcp\":{\"segments\":1024,\"payload_bytes\":0,"));
	/* They are all silent for more than a minute: there is room again, and they are found. */
	for (int i = 0; i < 3; i++)
		conversations_take(table, frame, sizeof(frame), 60, 70000000, line);
	text_clear(&out);
	text_add(&out, "{");
	conversations_write(table, 1, &out);
	assert_non_null(strstr(text_get(&out), "\"conversation_count\":1,"));
	assert_non_null(strstr(text_get(&out), "\"packets\":3"));
	conversations_free(table);
}

static void a_guess_is_no_fact(void **state)
{
	static const struct {
		uint16_t port;
		const char *payload; /* hex */
		const char *application, *guessed;
	} rows[] = {
		/* the port is all that is known of it */
		{22, "a5c3e7f19bd8a6c4e2f08d97b3a1c5e9", "\"application\":\"SSH\"",
		 "\"guessed\":true"},
		{5001, "0102030405060708090a0b0c0d0e0f10", "\"application\":\"TargusDataspeed\"",
		 "\"guessed\":true"},
		/* "GET / HTTP/1.1\r\nHost: a.b\r\n\r\n" */
		{80, "474554202f20485454502f312e310d0a486f73743a20612e620d0a0d0a",
		 "\"application\":\"HTTP\"", "\"guessed\":false"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		uint8_t frame[128];
		struct conversations *table = NULL;
		CLEANUP(text_done) struct text out = {0};
		char line[PACKET_LINE_SIZE] = "";
		size_t size = bytes_of("0200000000010200000000020800"
				       "4500002800004000ff0600000a0000010a000002"
				       "9c411389000003e8000000015018fa0000000000",
				       frame, sizeof(frame));

		size += bytes_of(rows[i].payload, frame + size, sizeof(frame) - size);
		frame[17] = (uint8_t)(size - 14);
		frame[36] = (uint8_t)(rows[i].port >> 8);
		frame[37] = (uint8_t)rows[i].port;
		assert_int_equal(conversations_new(&table), 0);
		for (unsigned j = 0; j < 20; j++)
			conversations_take(table, frame, size, (uint32_t)size, 1000 + j, line);
		text_add(&out, "{");
		conversations_write(table, 1, &out);
		const char *of_all = strstr(text_get(&out), "\"applications\":[");
		const char *lists[] = {text_get(&out), of_all};
		for (size_t j = 0; j < COUNT_OF(lists); j++) {
			if (!lists[j] || !strstr(lists[j], rows[i].application) ||
			    !strstr(lists[j], rows[i].guessed))
				fail_msg("%zu: %s", i, text_get(&out));
		}
		conversations_free(table);
	}
}

/* --- files --- */

static size_t slurp(const char *folder, const char *name, uint8_t **ret)
{
	char path[512];
	FILE *file;
	long size;

	(void)text_format(path, sizeof(path), "%s/%s", folder, name);
	file = fopen(path, "rb");
	assert_non_null(file);
	(void)fseek(file, 0, SEEK_END);
	size = ftell(file);
	rewind(file);
	*ret = malloc((size_t)size + 1);
	assert_non_null(*ret);
	assert_int_equal(fread(*ret, 1, (size_t)size, file), size);
	(void)fclose(file);
	return (size_t)size;
}

static void files_are_bounded_and_whole(void **state)
{
	static const uint8_t frame[1000];
	char folder[SCRATCH_SIZE];
	struct packet_ring_options options = {
		.files = 2, .file_bytes = 1 << 18, .section = {.snap_length = 1000}};
	struct packet_ring *ring = NULL;
	uint8_t *bytes = NULL;
	unsigned kept = 0;
	size_t size;

	(void)state;
	scratch_make(folder, "capture");
	options.folder = open(folder, O_RDONLY | O_DIRECTORY);
	assert_int_equal(packet_ring_new(&options, &ring), 0);
	for (int rc = 0; !rc && kept < 1000;) {
		rc = packet_ring_put(ring, 1000, frame, sizeof(frame), 1500);
		kept += rc == 0;
		if (rc)
			assert_int_equal(rc, E_LIMIT);
	}
	assert_in_range(kept, 500, 510);
	assert_int_equal(packet_ring_end(ring, 2000, &(struct pcapng_statistics){9, 1}), 0);
	assert_true(packet_ring_bytes(ring) <= 2 << 18);
	for (int i = 0; i < 2; i++) {
		size = slurp(folder, i ? "1.pcapng" : "0.pcapng", &bytes);
		assert_true(size <= 1 << 18);
		assert_int_equal(pcapng_whole(bytes, size), size);
		assert_int_equal(pcapng_whole(bytes, size - 1), size - (i ? 52 : 1032));
		free(bytes);
	}
	packet_ring_free(ring);

	options.wrap = true;
	assert_int_equal(packet_ring_new(&options, &ring), 0);
	for (unsigned i = 0; i < 600; i++)
		assert_int_equal(packet_ring_put(ring, 1000, frame, sizeof(frame), 1500), 0);
	assert_int_equal(packet_ring_newest(ring), 0);
	assert_int_equal(packet_ring_oldest(ring), 1);
	packet_ring_free(ring);
	close(options.folder);
	scratch_remove(folder);
}

static void an_order_is_understood(void **state)
{
	static const struct {
		const char *text;
		bool good;
	} rows[] = {
		{"{\"interface\":\"cap0\",\"kind\":\"port\",\"macs_a\":[\"02:00:00:00:00:01\"],"
		 "\"folder\":\"/x\"}",
		 true},
		{"{\"interface\":\"cap0\",\"kind\":\"port\",\"macs_a\":[],\"folder\":\"/x\"}",
		 false},
		{"{\"interface\":\"cap0\",\"kind\":\"port\",\"folder\":\"/x\"}", false},
		{"{\"interface\":\"cap0\",\"kind\":\"pipe\",\"macs_a\":[\"02:00:00:00:00:01\"],"
		 "\"folder\":\"/x\"}",
		 false},
		{"{\"interface\":\"a-name-that-is-too-long\",\"kind\":\"gre\","
		 "\"macs_a\":[\"02:00:00:00:00:01\"],\"folder\":\"/x\"}",
		 false},
		{"{\"interface\":\"cap0\",\"kind\":\"gre\",\"macs_a\":[\"02:00\"],\"folder\":\"/x\"}",
		 false},
		{"", false},
	};
	struct capture_order order;
	struct problem problem = {0};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		int rc = capture_order_read(rows[i].text, strlen(rows[i].text), &order, &problem);

		if ((rc == 0) != rows[i].good)
			fail_msg("%s: %d %s", rows[i].text, rc, problem.message);
	}
	assert_int_equal(capture_order_read(rows[0].text, strlen(rows[0].text), &order, &problem),
			 0);
	assert_int_equal(order.snap_length, 128);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tunnels_are_unwrapped),
		cmocka_unit_test(tags_are_passed_over),
		cmocka_unit_test(only_frames_of_the_scope),
		cmocka_unit_test(tcp_is_told_apart),
		cmocka_unit_test(tcp_headers_are_read),
		cmocka_unit_test(the_table_is_bounded),
		cmocka_unit_test(a_guess_is_no_fact),
		cmocka_unit_test(files_are_bounded_and_whole),
		cmocka_unit_test(an_order_is_understood),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
