// links: bampi_bmc common_net common_base
/* IPMI answers and console bytes from a hostile BMC. Invariants: nothing is published on an error;
 * what is published is in range (device, privilege, user count, printable names, a tail of
 * printable lines and no more than asked). */
#include <stdlib.h>
#include <string.h>

#include "bampi/bmc/console_ring.h"
#include "bampi/bmc/ipmi_wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool held)
{
	if (!held)
		abort();
}

static void check_text(const char *text, size_t room)
{
	size_t length = strnlen(text, room);

	check(length < room);
	for (size_t i = 0; i < length; i++)
		check(text[i] >= ' ' && text[i] <= '~');
}

static void try_boot(const uint8_t *data, size_t size)
{
	struct bmc_boot boot = {.device = BMC_BOOT_NONE};
	bool valid = false;

	if (ipmi_boot_get_answer(data, size, &boot, &valid) == 0) {
		struct ipmi_frame again = ipmi_boot_set_request(IPMI_BOOT_FLAGS, &boot);
		uint8_t answer[] = {0x09, 0, 1, 5, again.bytes[2], again.bytes[3], 0, 0, 0};
		struct bmc_boot second;

		check(boot.device <= BMC_BOOT_OTHER && boot.firmware <= BMC_FIRMWARE_UEFI);
		/* What we would send for it reads as the same. */
		if (boot.device != BMC_BOOT_OTHER) {
			check(ipmi_boot_get_answer(answer, sizeof(answer), &second, &valid) == 0);
			check(second.device == boot.device &&
			      second.persistent == boot.persistent &&
			      second.firmware == boot.firmware);
		}
	} else {
		check(boot.device == BMC_BOOT_NONE && !valid);
	}
}

static void try_looks(const uint8_t *data, size_t size)
{
	struct ipmi_store_info sdr = {.records = 7};
	struct ipmi_store_info sel = {.records = 7};
	uint8_t record[IPMI_SEL_RECORD_SIZE] = {7};
	uint16_t next = 7;
	bool readable = true;
	uint8_t value = 7;
	uint16_t events = 0;

	if (ipmi_sdr_info_answer(data, size, &sdr))
		check(sdr.records == 7);
	if (ipmi_sel_info_answer(data, size, &sel))
		check(sel.records == 7);
	if (ipmi_sel_entry_answer(data, size, record, &next))
		check(record[0] == 7 && next == 7);
	if (ipmi_reading_answer(data, size, &readable, &value, &events))
		check(readable && value == 7);
	check(events < 0x8000);
}

static void try_answers(const uint8_t *data, size_t size)
{
	static const enum ipmi_lan_parameter parameters[] = {IPMI_LAN_ADDRESS, IPMI_LAN_SOURCE,
							     IPMI_LAN_MAC,     IPMI_LAN_NETMASK,
							     IPMI_LAN_GATEWAY, IPMI_LAN_VLAN};
	struct bmc_result result = {0};
	struct bmc_user user = {0};
	uint8_t count = 0;
	char text[64] = "";
	bool on;

	(void)!ipmi_power_status_answer(data, size, &on);
	(void)!ipmi_device_id_answer(data, size, &result);
	check(result.info.manufacturer <= 0xfffff);
	if (ipmi_guid_answer(data, size, text) == 0)
		check(strlen(text) == 36);
	text[0] = '\0';
	if (ipmi_user_access_answer(data, size, &user, &count) == 0)
		check(count < 64 && user.privilege < 16);
	else
		check(count == 0);
	if (ipmi_user_name_answer(data, size, text) == 0)
		check_text(text, 17);
	result = (struct bmc_result){0};
	for (size_t i = 0; i < COUNT_OF(parameters); i++)
		(void)!ipmi_lan_get_answer(parameters[i], data, size, &result);
	check(result.lan.vlan < 4096);
	try_looks(data, size);
	try_boot(data, size);
}

static void try_console(const uint8_t *data, size_t size)
{
	struct text tail = {0};
	unsigned lines = size ? data[0] % 8 : 0;
	unsigned seen = 0;

	console_tail_text((const char *)data, size, lines, &tail);
	for (const char *at = text_get(&tail); *at; at++) {
		check(*at == '\n' || (*at >= ' ' && *at <= '~'));
		seen += *at == '\n';
	}
	check(seen <= lines && tail.size <= (size_t)lines * (CONSOLE_TAIL_LINE_MAX + 1));
	text_done(&tail);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	try_answers(data, size);
	try_console(data, size);
	return 0;
}
