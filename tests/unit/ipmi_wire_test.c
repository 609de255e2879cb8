// links: bampi_bmc common_base
/* IPMI requests and answers byte by byte, against the tables of IPMI 2.0 rev 1.1. */
#include <errno.h>
#include <string.h>

#include "common/base/error.h"
#include "common/base/macros.h"

#include "bampi/bmc/ipmi_wire.h"
#include "tests/support/cmocka.h"

static void assert_frame(struct ipmi_frame frame, uint8_t netfn, const char *bytes, size_t size)
{
	assert_int_equal(frame.netfn, netfn);
	assert_int_equal(frame.size, size);
	assert_memory_equal(frame.bytes, bytes, size);
}
#define ASSERT_FRAME(frame, netfn, bytes) assert_frame((frame), (netfn), (bytes), sizeof(bytes) - 1)

static void power(void **state)
{
	struct ipmi_frame frame;
	bool on = false;

	(void)state;
	ASSERT_FRAME(ipmi_power_status_request(), 0, "\x01");
	assert_int_equal(ipmi_power_status_answer("\x01\x00\x61\x00\x40", 5, &on), 0);
	assert_true(on);
	assert_int_equal(ipmi_power_status_answer("\x01\x00\x60", 3, &on), 0);
	assert_false(on);
	assert_int_equal(ipmi_power_status_answer("\x01\x00", 2, &on), E_PROTOCOL);
	assert_int_equal(ipmi_power_status_answer("\x01\xc0\x61", 3, &on), E_PROTOCOL);
	assert_int_equal(ipmi_power_status_answer("\x02\x00\x61", 3, &on), E_PROTOCOL);
	assert_int_equal(ipmi_power_status_answer("", 0, &on), E_PROTOCOL);

	assert_int_equal(ipmi_power_request(BMC_POWER_OFF, &frame), 0);
	ASSERT_FRAME(frame, 0, "\x02\x00");
	assert_int_equal(ipmi_power_request(BMC_POWER_ON, &frame), 0);
	ASSERT_FRAME(frame, 0, "\x02\x01");
	assert_int_equal(ipmi_power_request(BMC_POWER_RESET, &frame), 0);
	ASSERT_FRAME(frame, 0, "\x02\x03");
	assert_int_equal(ipmi_power_request(BMC_POWER_SOFT, &frame), 0);
	ASSERT_FRAME(frame, 0, "\x02\x05");
	assert_int_equal(ipmi_power_request(BMC_POWER_CYCLE, &frame), -EINVAL);
	assert_int_equal(ipmi_power_request(BMC_POWER_STATUS, &frame), -EINVAL);
	ASSERT_FRAME(ipmi_identify_request(15), 0, "\x04\x0f");
}

/* efiboot and persistent cannot be seen at ipmi_sim, which drops them: here are the bytes (table
 * 28-14). */
static void boot_flags(void **state)
{
	static const struct {
		struct bmc_boot boot;
		const char *flags; /* data 1 and 2 */
	} cases[] = {
		{{BMC_BOOT_NONE, false, BMC_FIRMWARE_BIOS}, "\x00\x00"},
		{{BMC_BOOT_PXE, false, BMC_FIRMWARE_BIOS}, "\x80\x04"},
		{{BMC_BOOT_PXE, true, BMC_FIRMWARE_BIOS}, "\xc0\x04"},
		{{BMC_BOOT_PXE, false, BMC_FIRMWARE_UEFI}, "\xa0\x04"},
		{{BMC_BOOT_PXE, true, BMC_FIRMWARE_UEFI}, "\xe0\x04"},
		{{BMC_BOOT_DISK, true, BMC_FIRMWARE_UEFI}, "\xe0\x08"},
		{{BMC_BOOT_DISK, false, BMC_FIRMWARE_BIOS}, "\x80\x08"},
	};
	struct bmc_boot seen;
	bool valid;

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct ipmi_frame frame = ipmi_boot_set_request(IPMI_BOOT_FLAGS, &cases[i].boot);
		uint8_t answer[] = {0x09, 0, 1, 5, frame.bytes[2], frame.bytes[3], 0, 0, 0};

		assert_int_equal(frame.size, 7);
		assert_memory_equal(frame.bytes, "\x08\x05", 2);
		assert_memory_equal(frame.bytes + 2, cases[i].flags, 2);
		assert_memory_equal(frame.bytes + 4, "\0\0\0", 3);
		assert_int_equal(ipmi_boot_get_answer(answer, sizeof(answer), &seen, &valid), 0);
		assert_int_equal(seen.device, cases[i].boot.device);
		assert_int_equal(seen.persistent, cases[i].boot.persistent);
		assert_int_equal(seen.firmware, cases[i].boot.firmware);
		assert_int_equal(valid, cases[i].boot.device != BMC_BOOT_NONE);
	}
	ASSERT_FRAME(ipmi_boot_set_request(IPMI_BOOT_BEGIN, &seen), 0, "\x08\x00\x01");
	ASSERT_FRAME(ipmi_boot_set_request(IPMI_BOOT_KEEP_VALID, &seen), 0, "\x08\x03\x08");
	ASSERT_FRAME(ipmi_boot_set_request(IPMI_BOOT_ACKNOWLEDGE, &seen), 0, "\x08\x04\x01\x01");
	ASSERT_FRAME(ipmi_boot_set_request(IPMI_BOOT_COMPLETE, &seen), 0, "\x08\x00\x00");
	ASSERT_FRAME(ipmi_boot_get_request(), 0, "\x09\x05\x00\x00");
	/* Locked (bit 7 of the parameter) still tells; a device that we never set is "other";
	 * another parameter is none. */
	assert_int_equal(
		ipmi_boot_get_answer("\x09\x00\x01\x85\x80\x14\x00\x00\x00", 9, &seen, &valid), 0);
	assert_int_equal(seen.device, BMC_BOOT_OTHER);
	assert_int_equal(ipmi_boot_get_answer("\x09\x00\x01\x04\x80\x14", 6, &seen, &valid),
			 E_PROTOCOL);
	assert_int_equal(ipmi_boot_get_answer("\x09\x00\x01\x05\x80", 5, &seen, &valid),
			 E_PROTOCOL);
}

static void identity(void **state)
{
	struct bmc_result result;
	char guid[37];

	(void)state;
	assert_int_equal(
		ipmi_device_id_answer("\x01\x00\x20\x81\x89\x45\x51\x9f\x91\x12\x00\x02\x0f", 13,
				      &result),
		0);
	assert_int_equal(result.op, BMC_INFO);
	assert_int_equal(result.info.firmware_major, 9);
	assert_int_equal(result.info.firmware_minor, 45);
	assert_int_equal(result.info.ipmi_major, 1);
	assert_int_equal(result.info.ipmi_minor, 5);
	assert_int_equal(result.info.manufacturer, 0x1291);
	assert_int_equal(result.info.product, 0x0f02);
	assert_int_equal(ipmi_device_id_answer("\x01\x00\x20\x81\x89\x45\x51\x9f\x91\x12\x00\x02",
					       12, &result),
			 E_PROTOCOL);
	assert_int_equal(
		ipmi_guid_answer(
			"\x37\x00\x03\x02\x01\x00\x05\x04\x07\x06\x08\x09\x0a\x0b\x0c\x0d\x0e\x0f",
			18, guid),
		0);
	assert_string_equal(guid, "00010203-0405-0607-0809-0a0b0c0d0e0f");
	assert_int_equal(ipmi_guid_answer("\x37\x00\x03\x02", 4, guid), E_PROTOCOL);
}

static void users(void **state)
{
	struct bmc_user user = {.id = 2};
	uint8_t count;
	char name[17];

	(void)state;
	ASSERT_FRAME(ipmi_user_access_request(2), 6, "\x44\x0e\x02");
	assert_int_equal(ipmi_user_access_answer("\x44\x00\x0f\x42\x01\x14", 6, &user, &count), 0);
	assert_int_equal(count, 15);
	assert_true(user.enabled);
	assert_int_equal(user.privilege, 4);
	assert_int_equal(ipmi_user_access_answer("\x44\x00\x0f\x82\x01\x14", 6, &user, &count), 0);
	assert_false(user.enabled);
	/* A BMC that does not say whether the user is enabled: then messaging tells. */
	assert_int_equal(ipmi_user_access_answer("\x44\x00\x0f\x02\x01\x14", 6, &user, &count), 0);
	assert_true(user.enabled);
	assert_int_equal(ipmi_user_name_answer("\x46\x00"
					       "ad\x01min\0\0\0\0\0\0\0\0\0\0",
					       18, name),
			 0);
	assert_string_equal(name, "ad?min");
	ASSERT_FRAME(ipmi_user_set_name_request(3, "oper"), 6,
		     "\x45\x03"
		     "oper\0\0\0\0\0\0\0\0\0\0\0\0");
	ASSERT_FRAME(ipmi_user_set_password_request(3, "12345678901234567890"), 6,
		     "\x47\x83\x02"
		     "12345678901234567890");
	ASSERT_FRAME(ipmi_user_enable_request(3, true), 6, "\x47\x03\x01");
	ASSERT_FRAME(ipmi_user_enable_request(3, false), 6, "\x47\x03\x00");
	ASSERT_FRAME(ipmi_user_set_access_request(3, 4), 6, "\x43\x9e\x03\x04\x00");
}

static void lan(void **state)
{
	struct bmc_result result = {.op = BMC_LAN_GET};

	(void)state;
	ASSERT_FRAME(ipmi_lan_get_request(IPMI_LAN_ADDRESS), 12, "\x02\x0e\x03\x00\x00");
	assert_int_equal(
		ipmi_lan_get_answer(IPMI_LAN_ADDRESS, "\x02\x00\x11\x0a\x01\x02\x03", 7, &result),
		0);
	assert_int_equal(result.lan.address, 0x0a010203);
	assert_int_equal(ipmi_lan_get_answer(IPMI_LAN_SOURCE, "\x02\x00\x11\x02", 4, &result), 0);
	assert_true(result.lan.dhcp);
	assert_int_equal(ipmi_lan_get_answer(IPMI_LAN_VLAN, "\x02\x00\x11\x64\x80", 5, &result), 0);
	assert_int_equal(result.lan.vlan, 100);
	assert_int_equal(ipmi_lan_get_answer(IPMI_LAN_VLAN, "\x02\x00\x11\x64\x00", 5, &result), 0);
	assert_int_equal(result.lan.vlan, 0);
	assert_int_equal(ipmi_lan_get_answer(IPMI_LAN_MAC, "\x02\x00\x11\x64\x00", 5, &result),
			 E_PROTOCOL);
	assert_int_equal(result.lan.address, 0x0a010203); /* the rest stays */
}

static void completion_codes(void **state)
{
	static const struct {
		uint8_t code;
		int rc;
	} cases[] = {
		{0x00, 0},
		{0xc0, -EBUSY},
		{0xc1, E_UNSUPPORTED},
		{0xd5, E_CONFLICT},
		{0xd4, E_DENIED},
		{0xcc, E_UNSUPPORTED},
		{0xff, E_PROTOCOL},
		{0x42, E_PROTOCOL},
		{0xcb, E_NOT_FOUND},
		{0x80, E_UNSUPPORTED},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		const char *text = NULL;

		assert_int_equal(ipmi_completion_error(cases[i].code, &text), cases[i].rc);
		assert_true(text && text[0]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(power),    cmocka_unit_test(boot_flags),
		cmocka_unit_test(identity), cmocka_unit_test(users),
		cmocka_unit_test(lan),      cmocka_unit_test(completion_codes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
