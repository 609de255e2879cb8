// links: bampi_agent bootd_boot
/* What bampi-bootd writes for iPXE, the agent of a signed image reads; and what it refuses. */
#include <string.h>

#include "common/base/error.h"
#include "common/base/macros.h"

#include "bampi/agent/boot_script_wire.h"
#include "bampi/bootd/boot/script_table.h"
#include "tests/support/cmocka.h"

#define TOKEN "00112233445566778899aabbccddeeff"

static const struct script_values values = {
	.node = "n17",
	.mac = "52:54:00:00:00:17",
	.url = "http://10.4.2.1:8067",
	.agent = "http://10.4.2.1:8067",
	.token = TOKEN,
	.console = "ttyS0",
	.reason = "as asked: now",
};

static void reads_what_is_served(void **state)
{
	static const struct {
		enum boot_target written;
		enum boot_script_target read;
	} cases[] = {
		{BOOT_TARGET_AGENT, BOOT_SCRIPT_AGENT},
		{BOOT_TARGET_DISK, BOOT_SCRIPT_DISK},
		{BOOT_TARGET_STOP, BOOT_SCRIPT_STOP},
		{BOOT_TARGET_NONE, BOOT_SCRIPT_WAIT},
	};
	struct boot_script script;
	struct text text = {0};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		text_clear(&text);
		assert_int_equal(
			script_table_write(cases[i].written, FIRMWARE_UEFI, &values, &text), 0);
		assert_int_equal(boot_script_decode(text.data, text.size, &script), 0);
		assert_int_equal(script.target, cases[i].read);
		assert_string_equal(script.token, script.target == BOOT_SCRIPT_AGENT ? TOKEN : "");
	}
	text_clear(&text);
	assert_int_equal(script_table_wait(&values, &text), 0);
	assert_int_equal(boot_script_decode(text.data, text.size, &script), 0);
	assert_int_equal(script.target, BOOT_SCRIPT_WAIT);
	text_clear(&text);
	assert_int_equal(script_table_write(BOOT_TARGET_AGENT, FIRMWARE_UEFI, &values, &text), 0);
	assert_int_equal(boot_script_decode(text.data, text.size, &script), 0);
	assert_string_equal(script.url, "http://10.4.2.1:8067");
	assert_string_equal(script.mac, "52:54:00:00:00:17");
	text_done(&text);
}

#define AGENT  "#!ipxe\n# node n1: agent (x)\n"
#define URL    " haas.url=http://10.4.2.1:8067"
#define SECRET " haas.token=" TOKEN
#define MAC    " haas.mac=52:54:00:00:00:17"

static void refuses(void **state)
{
	static const struct {
		const char *text;
		int rc;
	} cases[] = {
		{"", E_MALFORMED},
		{"#!/bin/sh\n# node n1: stop (x)\n", E_MALFORMED},
		{"#!ipxe\n", E_MALFORMED},
		{"#!ipxe\n# node n1: reboot (x)\n", E_MALFORMED},
		{"#!ipxe\npoweroff\n# node n1: stop (x)\n", E_MALFORMED},
		{AGENT, E_MALFORMED},
		{AGENT "kernel x" URL SECRET "\n", E_MALFORMED},
		{AGENT "kernel x" URL MAC "\n", E_MALFORMED},
		{AGENT "kernel x" SECRET MAC "\n", E_MALFORMED},
		{AGENT "echo x" URL SECRET MAC "\n", E_MALFORMED},
		{AGENT "kernel x haas.url=file:///etc" SECRET MAC "\n", E_MALFORMED},
		{AGENT "kernel x haas.url=http://1\x01" SECRET MAC "\n", E_MALFORMED},
		{AGENT "kernel x" URL " haas.token=" TOKEN "0" MAC "\n", E_LIMIT},
		{AGENT "kernel x" URL " haas.token=0011223344556677889XAABBCCDDEEFF" MAC "\n",
		 E_MALFORMED},
		{AGENT "kernel x" URL SECRET " haas.mac=52:54:00:00:00\n", E_MALFORMED},
	};
	static char large[BOOT_SCRIPT_LIMIT + 1];
	struct boot_script script;

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++)
		assert_int_equal(boot_script_decode(cases[i].text, strlen(cases[i].text), &script),
				 cases[i].rc);
	assert_int_equal(boot_script_decode(large, sizeof(large), &script), E_LIMIT);
	assert_int_equal(boot_script_decode(AGENT "kernel x" URL SECRET MAC,
					    strlen(AGENT "kernel x" URL SECRET MAC), &script),
			 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_what_is_served),
		cmocka_unit_test(refuses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
