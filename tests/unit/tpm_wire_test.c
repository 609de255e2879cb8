// links: common_net
/* Commands byte for byte as the TCG writes them, and responses that a chip may not send. */
#include <string.h>

#include "common/base/error.h"
#include "common/base/macros.h"
#include "common/net/tpm_wire.h"
#include "common/net/wire.h"

#include "tests/support/cmocka.h"

static void commands(void **state)
{
	static const uint8_t key[] =
		"\x80\x02\x00\x00\x00\x41\x00\x00\x01\x31\x40\x00\x00\x0b"
		"\x00\x00\x00\x09\x40\x00\x00\x09\x00\x00\x00\x00\x00"
		"\x00\x04\x00\x00\x00\x00"
		"\x00\x18\x00\x23\x00\x0b\x00\x05\x00\x72\x00\x00\x00\x10\x00\x18\x00\x0b\x00\x03\x00\x10\x00\x00\x00\x00"
		"\x00\x00\x00\x00\x00\x00";
	static const uint8_t registers[] = "\x80\x01\x00\x00\x00\x14\x00\x00\x01\x7e"
					   "\x00\x00\x00\x01\x00\x0b\x03\x80\x08\x00";
	uint8_t nonce[TPM_DIGEST_SIZE] = {1};
	uint8_t command[TPM_COMMAND_MAX];

	(void)state;
	assert_int_equal(tpm_key_encode(command), sizeof(key) - 1);
	assert_memory_equal(command, key, sizeof(key) - 1);
	assert_int_equal(tpm_registers_encode(1U << 7 | 1U << 11, command), sizeof(registers) - 1);
	assert_memory_equal(command, registers, sizeof(registers) - 1);
	assert_int_equal(tpm_quote_encode(0x80000000, nonce, 1U << 7, command), 73);
	assert_memory_equal(command, "\x80\x02\x00\x00\x00\x49\x00\x00\x01\x58\x80\x00\x00\x00",
			    14);
	assert_memory_equal(command + 27, "\x00\x20\x01", 3);
}

static void refusals(void **state)
{
	static const uint8_t denied[] = "\x80\x01\x00\x00\x00\x0a\x00\x00\x09\xa2";
	static const uint8_t short_of[] = "\x80\x02\x00\x00\x00\x0b\x00\x00\x00\x00";
	static const uint8_t another_bank[] =
		"\x80\x01\x00\x00\x00\x1c\x00\x00\x00\x00\x00\x00\x00\x07"
		"\x00\x00\x00\x01\x00\x04\x03\x80\x00\x00\x00\x00\x00\x00";
	uint8_t values[1][TPM_DIGEST_SIZE];
	struct tpm_quoted quoted;
	struct tpm_quote quote;
	struct tpm_key key;
	uint32_t handle;
	uint32_t code;

	(void)state;
	assert_int_equal(tpm_key_decode(denied, 10, &code, &handle, &key), E_DENIED);
	assert_int_equal(code, 0x9a2);
	assert_int_equal(tpm_quoted_decode(denied, 10, &code, &quoted), E_DENIED);
	for (size_t size = 0; size < 10; size++)
		assert_int_equal(tpm_key_decode(denied, size, &code, &handle, &key), E_MALFORMED);
	assert_int_equal(tpm_key_decode(short_of, 10, &code, &handle, &key), E_MALFORMED);
	assert_int_equal(code, 0);
	assert_int_equal(tpm_registers_decode(another_bank, sizeof(another_bank) - 1, 1U << 7,
					      &code, values),
			 E_MALFORMED);
	assert_int_equal(tpm_attest_decode("\xffTCG\x80\x14", 6, &quote), E_MALFORMED);
	assert_int_equal(tpm_attest_decode(NULL, 0, &quote), E_MALFORMED);
}

/* A number may come without its leading zeros, and no longer than the curve. */
static void numbers(void **state)
{
	uint8_t response[256];
	struct tpm_quoted quoted;
	uint32_t code;

	(void)state;
	for (uint16_t size = 31; size <= 33; size++) {
		struct wire_writer writer = wire_writer(response, sizeof(response));

		wire_put_u16(&writer, 0x8002);
		wire_put_u32(&writer, 10U + 4 + 2 + 3 + 4 + 2 + size + 2 + 32);
		wire_put_u32(&writer, 0);
		wire_put_u32(&writer, 0);
		wire_put_u16(&writer, 3);
		wire_put_bytes(&writer, "abc", 3);
		wire_put_u16(&writer, 0x18);
		wire_put_u16(&writer, 0x0b);
		wire_put_u16(&writer, size);
		for (uint16_t i = 0; i < size; i++)
			wire_put_u8(&writer, 7);
		wire_put_u16(&writer, 32);
		wire_put_zeros(&writer, 32);
		assert_int_equal(tpm_quoted_decode(response, wire_written(&writer), &code, &quoted),
				 size > 32 ? E_MALFORMED : 0);
		if (size > 32)
			continue;
		assert_int_equal(quoted.signature.r[0], size == 32 ? 7 : 0);
		assert_int_equal(quoted.signature.r[31], 7);
		assert_int_equal(quoted.attest_size, 3);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(commands),
		cmocka_unit_test(refusals),
		cmocka_unit_test(numbers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
