// links: sim_switch_relay
/* The lab's DHCP snooping: what it makes of frames, how families write option 82 (as bampi's rules
 * read it), which requests and replies go on. */
#include <string.h>

#include "common/net/circuit_rule.h"
#include "common/net/frame_wire.h"

#include "tests/sim/switch/switch_relay_wire.h"
#include "tests/support/cmocka.h"

static const struct switch_relay_place place = {
	"leaf1", "p14", {{0x00, 0x1b, 0x0d, 0x11, 0x22, 0x33}}, 100};

struct message {
	uint8_t bytes[400];
	size_t size;
};

static struct message message(uint8_t op)
{
	static const uint8_t cookie[] = {0x63, 0x82, 0x53, 0x63, 53, 1, 1, 255};
	struct message ret = {.bytes = {op, 1, 6}, .size = 248};

	ret.bytes[28] = 2;
	memcpy(&ret.bytes[236], cookie, sizeof(cookie));
	return ret;
}

static size_t frame(uint8_t *ret, size_t room, uint8_t target, uint16_t from, uint16_t to)
{
	static const uint8_t head[] = {2, 0, 0, 0, 0, 1, 8, 0};
	const struct frame_ends ends = {0, UINT32_MAX, from, to};
	size_t size = 0;

	memset(ret, target, 6);
	memcpy(ret + 6, head, sizeof(head));
	assert_int_equal(frame_encode(&ends, "dhcp", 4, ret + 14, room - 14, &size), 0);
	return 14 + size;
}

static void test_frames(void **state)
{
	static const struct {
		uint8_t target;
		uint16_t from, to;
		enum switch_relay_kind kind;
	} rows[] = {
		{0xff, 68, 67, SWITCH_RELAY_CLIENT},
		{0x02, 68, 67, SWITCH_RELAY_OTHER}, /* renewal */
		{0xff, 67, 68, SWITCH_RELAY_SERVER},
		{0x02, 67, 68, SWITCH_RELAY_SERVER},
		{0x02, 67, 67, SWITCH_RELAY_SERVER},
		{0xff, 4011, 68, SWITCH_RELAY_SERVER},
		{0xff, 4000, 67, SWITCH_RELAY_CLIENT},
		{0xff, 68, 69, SWITCH_RELAY_OTHER},
	};
	uint8_t data[100];
	size_t size = 0;

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct switch_relay_frame seen;

		size = frame(data, sizeof(data), rows[i].target, rows[i].from, rows[i].to);
		seen = switch_relay_look(data, size);
		assert_int_equal(seen.kind, rows[i].kind);
		assert_int_equal(seen.size, 4);
		assert_memory_equal(seen.data, "dhcp", 4);
	}
	size = frame(data, sizeof(data), 0xff, 68, 67);
	for (size_t cut = 0; cut < size; cut++)
		assert_int_equal(switch_relay_look(data, cut).kind, SWITCH_RELAY_OTHER);
	data[20] = 0x20; /* the first of several fragments */
	assert_int_equal(switch_relay_look(data, size).kind, SWITCH_RELAY_OTHER);
	data[20] = 0;
	data[12] = 0x81; /* a tag */
	assert_int_equal(switch_relay_look(data, size).kind, SWITCH_RELAY_OTHER);
}

/* Bytes by hand from the manuals, and the product's rule for the family makes the port of them. */
static void test_formats(void **state)
{
	static const struct {
		const char *format, *family;
		uint8_t bytes[32];
		size_t size;
		const char *switch_name, *port;
	} rows[] = {
		{"ios",
		 "cisco-mac",
		 {82, 18, 1, 6, 0, 4, 0, 100, 1, 14, 2, 8, 0, 6, 0, 0x1b, 0x0d, 0x11, 0x22, 0x33},
		 20,
		 "00:1b:0d:11:22:33",
		 "1/14"},
		{"ios-text",
		 "cisco-names",
		 {82, 16, 1, 5, 1, 3, 'p', '1', '4', 2, 7, 1, 5, 'l', 'e', 'a', 'f', '1'},
		 18,
		 "leaf1",
		 "p14"},
		{"comware",
		 "comware",
		 {82, 18, 1, 6, 0, 4, 0, 100, 0, 14, 2, 8, 0, 6, 0, 0x1b, 0x0d, 0x11, 0x22, 0x33},
		 20,
		 "00:1b:0d:11:22:33",
		 "14"},
		{"sonic",
		 "sonic",
		 {82,  19,  1, 9, 'l', 'e',  'a',  'f',  '1',  ':', 'p',
		  '1', '4', 2, 6, 0,   0x1b, 0x0d, 0x11, 0x22, 0x33},
		 21,
		 "leaf1",
		 "p14"},
	};

	(void)state;
	assert_int_equal(COUNT_OF(rows), switch_relay_format_count);
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		const struct switch_relay_format *format = switch_relay_format_find(rows[i].format);
		const struct circuit_rule_text text = {rows[i].family, "", "", "", "", 0};
		struct switch_relay_option option;
		struct circuit_sample sample;
		struct circuit_rule rule;
		struct circuit_place found;
		const char *why = "";

		assert_non_null(format);
		format->write(&place, &option);
		assert_int_equal(option.size, rows[i].size);
		assert_memory_equal(option.bytes, rows[i].bytes, option.size);
		assert_int_equal(circuit_rule_compile(&text, &rule, &why), 0);
		sample.circuit = &option.bytes[4];
		sample.circuit_size = option.bytes[3];
		sample.remote = sample.circuit + sample.circuit_size + 2;
		sample.remote_size = sample.circuit[sample.circuit_size + 1];
		assert_true(circuit_rule_apply(&rule, &sample, &found));
		assert_string_equal(found.switch_name, rows[i].switch_name);
		assert_string_equal(found.port, rows[i].port);
	}
	assert_null(switch_relay_format_find("tulip"));
}

static void test_long_names(void **state)
{
	char name[SWITCH_RELAY_NAME + 1];
	const struct switch_relay_place long_place = {name, name, {{0}}, 1};
	struct switch_relay_option option;

	(void)state;
	memset(name, 'x', SWITCH_RELAY_NAME);
	name[SWITCH_RELAY_NAME] = '\0';
	for (size_t i = 0; i < switch_relay_format_count; i++) {
		switch_relay_formats[i].write(&long_place, &option);
		assert_true(option.size > 2 && option.size <= sizeof(option.bytes));
	}
}

static void test_requests(void **state)
{
	struct switch_relay_option option;
	uint8_t ret[SWITCH_RELAY_ROOM];
	size_t size = 0;
	struct message request = message(1);
	struct message bad;

	(void)state;
	switch_relay_formats[0].write(&place, &option);
	assert_int_equal(
		switch_relay_request(request.bytes, request.size, 0x0a650001, &option, ret, &size),
		SWITCH_RELAY_FORWARD);
	assert_int_equal(size, 300);
	assert_int_equal(ret[3], 1);
	assert_memory_equal(&ret[24], "\x0a\x65\0\1", 4);
	assert_memory_equal(&ret[243], option.bytes, option.size);
	assert_int_equal(ret[243 + option.size], 255);

	/* One that was relayed, and so has giaddr and option 82, is no client's. */
	assert_int_equal(switch_relay_request(ret, size, 1, &option, ret, &size),
			 SWITCH_RELAY_HAS_GIADDR);
	memset(&ret[24], 0, 4);
	assert_int_equal(switch_relay_request(ret, 300, 1, &option, bad.bytes, &size),
			 SWITCH_RELAY_HAS_OPTION);
	bad = message(2);
	assert_int_equal(switch_relay_request(bad.bytes, bad.size, 1, &option, ret, &size),
			 SWITCH_RELAY_WRONG_OP);
	bad = message(1);
	bad.bytes[3] = 16;
	assert_int_equal(switch_relay_request(bad.bytes, bad.size, 1, &option, ret, &size),
			 SWITCH_RELAY_HOPS);
	bad = message(1);
	bad.bytes[241] = 200; /* an option that goes on behind the end */
	assert_int_equal(switch_relay_request(bad.bytes, bad.size, 1, &option, ret, &size),
			 SWITCH_RELAY_MALFORMED);
	assert_int_equal(switch_relay_request(bad.bytes, 239, 1, &option, ret, &size),
			 SWITCH_RELAY_MALFORMED);
}

static void test_replies(void **state)
{
	static struct switch_relay_reply reply;
	struct switch_relay_option option;
	struct message sent = message(2);

	(void)state;
	switch_relay_formats[0].write(&place, &option);
	assert_int_equal(switch_relay_reply(sent.bytes, sent.size, &reply), SWITCH_RELAY_NOT_OURS);
	memcpy(&sent.bytes[16], "\x0a\x65\0\x65", 4);
	memcpy(&sent.bytes[24], "\x0a\x65\0\1", 4);
	memcpy(&sent.bytes[243], option.bytes, option.size);
	sent.bytes[243 + option.size] = 255;
	sent.size = 244 + option.size;
	assert_int_equal(switch_relay_reply(sent.bytes, sent.size, &reply), SWITCH_RELAY_FORWARD);
	assert_int_equal(reply.address, 0x0a650065);
	assert_int_equal(reply.giaddr, 0x0a650001);
	assert_false(reply.broadcast);
	assert_int_equal(reply.option.size, option.size);
	assert_memory_equal(&reply.message[24], "\0\0\0\0", 4);
	assert_int_equal(reply.message[243], 255);
	sent.bytes[10] = 0x80;
	assert_int_equal(switch_relay_reply(sent.bytes, sent.size, &reply), SWITCH_RELAY_FORWARD);
	assert_true(reply.broadcast);
	sent.bytes[0] = 1;
	assert_int_equal(switch_relay_reply(sent.bytes, sent.size, &reply), SWITCH_RELAY_WRONG_OP);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_frames),     cmocka_unit_test(test_formats),
		cmocka_unit_test(test_long_names), cmocka_unit_test(test_requests),
		cmocka_unit_test(test_replies),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
