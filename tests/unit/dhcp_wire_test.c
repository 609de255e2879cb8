// links: bootd_dhcp
/* Messages of DHCP on the wire: options that are long, and in other fields; what is malformed; the
 * frame around. */
#include <errno.h>
#include <string.h>

#include "common/base/error.h"
#include "common/base/macros.h"
#include "common/net/frame_wire.h"

#include "tests/unit/dhcp_message.h"

static void round_trip(void **state)
{
	struct dhcp_message sent = message_of(DHCP_DISCOVER);
	struct dhcp_message got;
	uint8_t bytes[4096];
	char text[16];
	size_t size;

	(void)state;
	dhcp_put_text(&sent, DHCP_OPTION_VENDOR_CLASS, "PXE\"Client\x01");
	dhcp_put(&sent, DHCP_OPTION_RELAY, "\1\3abc\5\4\12\0\0\0", 11);
	dhcp_put(&sent, DHCP_OPTION_IPXE, NULL, 0);
	size = encoded(&sent, bytes);
	assert_int_equal(size, DHCP_REPLY_MIN);
	assert_int_equal(dhcp_decode(bytes, size, &got), 0);
	assert_int_equal(got.xid, 0x12345678);
	assert_int_equal(dhcp_type(&got), DHCP_DISCOVER);
	assert_string_equal(dhcp_option_text(&got, DHCP_OPTION_VENDOR_CLASS, text, sizeof(text)),
			    "PXE.Client.");
	assert_int_equal(dhcp_relay_address(&got, DHCP_RELAY_LINK_SELECTION), 0x0a000000U);
	assert_non_null(dhcp_relay_option(&got, DHCP_RELAY_CIRCUIT_ID, &size));
	assert_int_equal(size, 3);
	assert_null(dhcp_relay_option(&got, DHCP_RELAY_REMOTE_ID, &size));
	assert_non_null(dhcp_option(&got, DHCP_OPTION_IPXE, &size));
	assert_int_equal(size, 0);
	assert_null(dhcp_option(&got, DHCP_OPTION_DNS, &size));
}

static void long_option(void **state)
{
	struct dhcp_message sent = message_of(DHCP_DISCOVER);
	struct dhcp_message got;
	uint8_t value[700];
	uint8_t bytes[4096];
	const uint8_t *joined;
	size_t size;

	(void)state;
	for (size_t i = 0; i < sizeof(value); i++)
		value[i] = (uint8_t)i;
	dhcp_put(&sent, DHCP_OPTION_VENDOR, value, sizeof(value));
	assert_int_equal(dhcp_decode(bytes, encoded(&sent, bytes), &got), 0);
	joined = dhcp_option(&got, DHCP_OPTION_VENDOR, &size);
	assert_int_equal(size, sizeof(value));
	assert_memory_equal(joined, value, sizeof(value));
	assert_int_equal(dhcp_encode(&sent, bytes, 548, &size), -ENOBUFS);
	for (int i = 0; i < 3; i++)
		dhcp_put(&sent, DHCP_OPTION_VENDOR, value, sizeof(value));
	assert_int_equal(dhcp_encode(&sent, bytes, 4096, &size), -ENOBUFS); /* overfull */
}

static void overload(void **state)
{
	struct dhcp_message plain = message_of(DHCP_DISCOVER);
	struct dhcp_message got;
	uint8_t bytes[4096];
	size_t size = encoded(&plain, bytes);

	(void)state;
	memcpy(bytes + 108, "\74\5HTTPC\377", 8); /* in file */
	memcpy(bytes + 44, "\74\5lient\377", 8);  /* in sname: joined after it */
	memcpy(bytes + 243, "\64\1\3\377", 4);    /* option 52 says both */
	assert_int_equal(dhcp_decode(bytes, size, &got), 0);
	assert_true(dhcp_option_begins(&got, DHCP_OPTION_VENDOR_CLASS, "HTTPClient"));
	assert_string_equal(got.file, "");
	assert_string_equal(got.sname, "");
	assert_null(dhcp_option(&got, DHCP_OPTION_OVERLOAD, &size));
}

static void put_filled(struct dhcp_message *message, uint8_t code, size_t size)
{
	uint8_t value[700];

	for (size_t i = 0; i < sizeof(value); i++)
		value[i] = (uint8_t)(code + i);
	dhcp_put(message, code, value, size);
}

static size_t area_size(const uint8_t *area, size_t room)
{
	size_t at = 0;

	while (at < room && area[at] && area[at] != DHCP_OPTION_END)
		at += 2U + area[at + 1];
	assert_true(at < room); /* END is in it */
	return at;
}

/* wire 6: a reply whose options are too many for what the client takes (RFC 2131 4.1). */
static void what_does_not_fit_goes_on_in_other_fields(void **state)
{
	static const struct {
		const char *what;
		const char *file;
		bool name; /* stands in option 67, too */
		size_t id, relay;
		int rc;
		uint8_t overload;
	} rows[] = {
		{"all fits", "undionly.kpxe", true, 7, 40, 0, 0},
		{"sname is enough", "undionly.kpxe", true, 60, 200, 0, 2},
		{"then file, whose name is in 67", "undionly.kpxe", true, 120, 200, 0, 1},
		{"both", "undionly.kpxe", true, 170, 200, 0, 3},
		{"a name that is nowhere else stays", "undionly.kpxe", false, 60, 200, 0, 2},
		{"and so there is no room", "undionly.kpxe", false, 170, 200, -ENOBUFS, 0},
		{"no name", "", false, 170, 200, 0, 1},
		{"option 82 alone is too large", "", false, 7, 320, -ENOBUFS, 0},
		{"in two pieces", "", false, 250, 100, 0, 1},
		{"in three pieces", "", false, 300, 100, 0, 3},
		{"no room anywhere", "", false, 400, 200, -ENOBUFS, 0},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct dhcp_message sent = message_of(DHCP_ACK);
		struct dhcp_message got;
		uint8_t bytes[548];
		const uint8_t *at;
		size_t size;

		print_message("%s\n", rows[i].what);
		(void)strcpy(sent.file, rows[i].file);
		dhcp_put_u32(&sent, DHCP_OPTION_SERVER_ID, SERVER);
		dhcp_put_u32(&sent, DHCP_OPTION_LEASE_TIME, 600);
		put_filled(&sent, DHCP_OPTION_DNS, 32);
		if (rows[i].name)
			dhcp_put(&sent, DHCP_OPTION_BOOT_FILE, rows[i].file,
				 strlen(rows[i].file) + 1);
		put_filled(&sent, DHCP_OPTION_CLIENT_ID, rows[i].id);
		put_filled(&sent, DHCP_OPTION_RELAY, rows[i].relay);
		assert_int_equal(dhcp_encode(&sent, bytes, sizeof(bytes), &size), rows[i].rc);
		if (rows[i].rc)
			continue;
		at = memmem(bytes + 240, size - 240, "\64\1", 2);
		assert_int_equal(at ? at[2] : 0, rows[i].overload);
		assert_memory_equal(bytes + 240, "\65\1\5\66\4\12\0\0\1", 9);
		/* Option 82 is the last of the options proper. */
		at = bytes + 240 + area_size(bytes + 240, size - 240) - rows[i].relay;
		assert_int_equal(at[0], DHCP_OPTION_RELAY);
		if (rows[i].overload & 1)
			assert_true(area_size(bytes + 108, 128) > 0);
		if (rows[i].overload & 2)
			assert_true(area_size(bytes + 44, 64) > 0);
		assert_int_equal(dhcp_decode(bytes, size, &got), 0);
		assert_string_equal(got.file, rows[i].overload & 1 ? "" : rows[i].file);
		for (unsigned code = 1; code < DHCP_OPTION_END; code++) {
			size_t want = 0;
			size_t there = 0;
			const uint8_t *a = dhcp_option(&sent, (uint8_t)code, &want);
			const uint8_t *b = dhcp_option(&got, (uint8_t)code, &there);

			assert_int_equal(!a, !b);
			assert_int_equal(want, there);
			if (a)
				assert_memory_equal(a, b, want);
		}
	}
}

static void malformed(void **state)
{
	struct dhcp_message plain = message_of(DHCP_DISCOVER);
	struct dhcp_message got;
	uint8_t bytes[4096] = {0};
	size_t size = encoded(&plain, bytes);
	struct mac mac;

	(void)state;
	assert_int_equal(dhcp_decode(bytes, 239, &got), E_MALFORMED);
	assert_int_equal(dhcp_decode(bytes, DHCP_PACKET_MAX + 1, &got), E_LIMIT);
	assert_int_equal(dhcp_decode(bytes, 243, &got), 0);           /* END is missing */
	assert_int_equal(dhcp_decode(bytes, 242, &got), E_MALFORMED); /* inside an option */
	bytes[2] = 17;
	assert_int_equal(dhcp_decode(bytes, size, &got), E_MALFORMED);
	bytes[2] = 8;
	assert_int_equal(dhcp_decode(bytes, size, &got), 0);
	assert_false(dhcp_client_mac(&got, &mac));
	bytes[2] = 6;
	bytes[28] = 1; /* a group address is nobody */
	assert_int_equal(dhcp_decode(bytes, size, &got), 0);
	assert_false(dhcp_client_mac(&got, &mac));
	bytes[236] = 0;
	assert_int_equal(dhcp_decode(bytes, size, &got), E_MALFORMED);
}

static void frame(void **state)
{
	const struct frame_ends ends = {SERVER, MINE, 67, 68};
	uint8_t bytes[64];
	size_t size;

	(void)state;
	assert_int_equal(frame_encode(&ends, "abc", 3, bytes, sizeof(bytes), &size), 0);
	assert_int_equal(size, 31);
	/* checksums computed apart from our code */
	assert_memory_equal(bytes,
			    "\x45\0\0\x1f\0\0\x40\0\x40\x11\x26\x6a\x0a\0\0\1\x0a\0\0\x64"
			    "\0\x43\0\x44\0\x0b\x26\x8a",
			    28);
	assert_int_equal(frame_encode(&ends, "abc", 3, bytes, 30, &size), -ENOBUFS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(round_trip),
		cmocka_unit_test(long_option),
		cmocka_unit_test(overload),
		cmocka_unit_test(what_does_not_fit_goes_on_in_other_fields),
		cmocka_unit_test(malformed),
		cmocka_unit_test(frame),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
