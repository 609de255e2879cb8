// links: common_tftp
/* TFTP packets as firmware sends them, and as nobody should. */
#include <string.h>

#include "common/base/error.h"
#include "common/base/macros.h"
#include "common/tftp/tftp_wire.h"

#include "tests/support/cmocka.h"

#define BYTES(literal) literal, sizeof(literal) - 1

static void requests(void **state)
{
	static const struct {
		const char *bytes;
		size_t size;
		int rc;
		const char *name;
		bool octet;
		int block_size, window_size, timeout_s, tsize; /* -1 = not there */
	} cases[] = {
		/* EDK2, QEMU's OVMF */
		{BYTES("\0\1snponly.efi\0octet\0tsize\0000\0blksize\0001468\0"), 0, "snponly.efi",
		 true, 1468, -1, -1, 0},
		/* iPXE 2019 */
		{BYTES("\0\1undionly.kpxe\0octet\0blksize\0001432\0tsize\0000\0multicast\0\0"), 0,
		 "undionly.kpxe", true, 1432, -1, -1, 0},
		{BYTES("\0\1f\0OcTeT\0WindowSize\00016\0TIMEOUT\0005\0"), 0, "f", true, -1, 16, 5,
		 -1},
		{BYTES("\0\1f\0netascii\0"), 0, "f", false, -1, -1, -1, -1},
		{BYTES("\0\2f\0octet\0"), 0, "f", true, -1, -1, -1, -1},
		/* options out of range are not there, but blksize may be answered smaller */
		{BYTES("\0\1f\0octet\0blksize\0007\0windowsize\0000\0timeout\000256\0"), 0, "f",
		 true, -1, -1, -1, -1},
		{BYTES("\0\1f\0octet\0blksize\00099999999999\0windowsize\00065536\0"), 0, "f", true,
		 65464, -1, -1, -1},
		{BYTES("\0\1f\0octet\0blksize\00012x\0tsize\00099999999999999999999\0"), 0, "f",
		 true, -1, -1, -1, -1},
		/* the first counts */
		{BYTES("\0\1f\0octet\0blksize\000512\0blksize\0001024\0"), 0, "f", true, 512, -1,
		 -1, -1},
		/* padding after the options, an option cut off */
		{BYTES("\0\1f\0octet\0tsize\0000\0\0\0\0\0"), 0, "f", true, -1, -1, -1, 0},
		{BYTES("\0\1f\0octet\0tsize\0000\0blksi"), 0, "f", true, -1, -1, -1, 0},
		{BYTES("\0\1f\0octet"), E_MALFORMED, NULL, false, 0, 0, 0, 0},
		{BYTES("\0\1f"), E_MALFORMED, NULL, false, 0, 0, 0, 0},
		{BYTES("\0\1\0octet\0"), E_MALFORMED, NULL, false, 0, 0, 0, 0},
		{BYTES("\0\1"), E_MALFORMED, NULL, false, 0, 0, 0, 0},
		{BYTES("\0"), E_UNSUPPORTED, NULL, false, 0, 0, 0, 0},
		{BYTES("\0\4\0\1"), E_UNSUPPORTED, NULL, false, 0, 0, 0, 0},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct tftp_request request = {.opcode = TFTP_RRQ};
		const struct tftp_options *options = &request.options;

		assert_int_equal(tftp_request_decode(cases[i].bytes, cases[i].size, &request),
				 cases[i].rc);
		if (cases[i].rc)
			continue;
		assert_string_equal(request.name, cases[i].name);
		assert_int_equal(request.opcode, cases[i].bytes[1]);
		assert_int_equal(request.octet, cases[i].octet);
		assert_int_equal(options->has_block_size ? options->block_size : -1,
				 cases[i].block_size);
		assert_int_equal(options->has_window_size ? options->window_size : -1,
				 cases[i].window_size);
		assert_int_equal(options->has_timeout ? options->timeout_s : -1,
				 cases[i].timeout_s);
		assert_int_equal(options->has_size ? (int)options->size : -1, cases[i].tsize);
	}
}

static void long_name(void **state)
{
	uint8_t packet[400] = {0, 1};
	struct tftp_request request;

	(void)state;
	memset(packet + 2, 'a', 300);
	memcpy(packet + 302, "\0octet", 7);
	assert_int_equal(tftp_request_decode(packet, 309, &request), E_LIMIT);
}

static void replies(void **state)
{
	struct tftp_reply reply;

	(void)state;
	assert_int_equal(tftp_reply_decode(BYTES("\0\4\377\376"), &reply), 0);
	assert_int_equal(reply.opcode, TFTP_ACK);
	assert_int_equal(reply.block, 65534);
	/* EDK2, after it learned the size; some clients leave the NUL out */
	assert_int_equal(tftp_reply_decode(BYTES("\0\5\0\10User aborted\0"), &reply), 0);
	assert_int_equal(reply.opcode, TFTP_ERROR);
	assert_int_equal(reply.code, TFTP_ERROR_OPTION);
	assert_string_equal(reply.message, "User aborted");
	assert_int_equal(tftp_reply_decode(BYTES("\0\5\0\0\33[31mred"), &reply), 0);
	assert_string_equal(reply.message, "?[31mred");
	assert_int_equal(tftp_reply_decode(BYTES("\0\4\0"), &reply), E_MALFORMED);
	assert_int_equal(tftp_reply_decode(BYTES("\0\3\0\1data"), &reply), E_UNSUPPORTED);
}

static void packets(void **state)
{
	struct tftp_options options = {.has_size = true,
				       .size = 74000,
				       .has_block_size = true,
				       .block_size = 1468,
				       .has_window_size = true,
				       .window_size = 16,
				       .has_timeout = true,
				       .timeout_s = 3};
	uint8_t oack[TFTP_OACK_SIZE_MAX];
	uint8_t error[TFTP_HEAD_SIZE + TFTP_MESSAGE_MAX + 1];
	uint8_t head[TFTP_HEAD_SIZE];
	static const char wanted[] =
		"\0\6tsize\00074000\0blksize\0001468\0windowsize\00016\0timeout\0003";

	(void)state;
	assert_int_equal(tftp_oack_encode(&options, oack), sizeof(wanted));
	assert_memory_equal(oack, wanted, sizeof(wanted));
	assert_int_equal(tftp_error_encode(TFTP_ERROR_NOT_FOUND, "no such file", error), 17);
	assert_memory_equal(error, "\0\5\0\1no such file", 17);
	tftp_data_head(0x1234, head);
	assert_memory_equal(head, "\0\3\x12\x34", 4);
	/* the largest that there can be */
	options = (struct tftp_options){true, true, true, true, 65464, 65535, 255, UINT64_MAX};
	assert_in_range(tftp_oack_encode(&options, oack), 60, TFTP_OACK_SIZE_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(requests),
		cmocka_unit_test(long_name),
		cmocka_unit_test(replies),
		cmocka_unit_test(packets),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
