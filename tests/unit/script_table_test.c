// links: bootd_boot
/* The boot scripts, whole: what is served to a node decides whose disk starts. */
#include <string.h>

#include "common/base/error.h"
#include "common/base/macros.h"

#include "bampi/bootd/boot/script_table.h"
#include "tests/support/cmocka.h"

static const struct script_values values = {
	.node = "n17",
	.mac = "52:54:00:00:00:17",
	.url = "http://10.4.2.1:8067",
	.agent = "https://10.4.2.1:8443",
	.token = "00112233445566778899aabbccddeeff",
	.console = "ttyS0",
	.reason = "as asked",
};

static void scripts(void **state)
{
	static const struct {
		enum boot_target target;
		enum node_firmware firmware;
		const char *text;
	} cases[] = {
		{BOOT_TARGET_AGENT, FIRMWARE_BIOS,
		 "#!ipxe\n"
		 "# node n17: agent (as asked)\n"
		 "echo haas: node n17 starts the agent\n"
		 "kernel http://10.4.2.1:8067/boot/file/vmlinuz console=ttyS0 quiet panic=30 initrd=agent.img"
		 " haas.url=https://10.4.2.1:8443 haas.token=00112233445566778899aabbccddeeff"
		 " haas.mac=52:54:00:00:00:17 || goto failed\n"
		 "initrd http://10.4.2.1:8067/boot/file/agent.img || goto failed\n"
		 "boot || goto failed\n"
		 ":failed\n"
		 "echo haas: the agent did not start, asking again in 5 s\n"
		 "sleep 5\n"
		 "imgfree ||\n"
		 "chain --replace http://10.4.2.1:8067/boot/script?mac=52:54:00:00:00:17"
		 "&again=00112233445566778899aabbccddeeff ||\n"
		 "reboot || goto failed\n"},
		{BOOT_TARGET_DISK, FIRMWARE_BIOS,
		 "#!ipxe\n"
		 "# node n17: disk (as asked)\n"
		 "echo haas: node n17 starts its disk\n"
		 "sanboot --no-describe --drive 0x80 ||\n"
		 "echo haas: the disk does not start, leaving it to the boot order\n"
		 "exit 1\n"},
		{BOOT_TARGET_DISK, FIRMWARE_UEFI,
		 "#!ipxe\n"
		 "# node n17: disk (as asked)\n"
		 "echo haas: node n17 starts its disk\n"
		 "exit 1\n"},
		{BOOT_TARGET_STOP, FIRMWARE_UEFI,
		 "#!ipxe\n"
		 "# node n17: stop (as asked)\n"
		 "echo haas: node n17: as asked\n"
		 "echo haas: powering off\n"
		 "sleep 3\n"
		 "poweroff ||\n"
		 "echo haas: this iPXE cannot power off, asking again every 30 s\n"
		 ":hold\n"
		 "sleep 30\n"
		 "imgfree ||\n"
		 "chain --replace http://10.4.2.1:8067/boot/script?mac=52:54:00:00:00:17 ||\n"
		 "goto hold\n"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct text text = {0};

		assert_int_equal(
			script_table_write(cases[i].target, cases[i].firmware, &values, &text), 0);
		assert_string_equal(text_get(&text), cases[i].text);
		text_done(&text);
	}
}

/* Only a disk target, and a machine that is not ours, may reach the firmware's boot order; only the
 * agent gets a token. */
static void who_gets_what(void **state)
{
	static const enum boot_target targets[] = {BOOT_TARGET_NONE, BOOT_TARGET_AGENT,
						   BOOT_TARGET_DISK, BOOT_TARGET_STOP};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(targets); i++) {
		for (int uefi = 0; uefi < 2; uefi++) {
			bool leaves =
				targets[i] == BOOT_TARGET_DISK || targets[i] == BOOT_TARGET_NONE;
			struct text text = {0};

			assert_int_equal(script_table_write(targets[i],
							    uefi ? FIRMWARE_UEFI : FIRMWARE_BIOS,
							    &values, &text),
					 0);
			assert_int_equal(strncmp(text_get(&text), "#!ipxe\n# node n17: ", 19), 0);
			assert_int_equal(strstr(text_get(&text), "\nexit") != NULL, leaves);
			assert_int_equal(strstr(text_get(&text), "sanboot") != NULL,
					 targets[i] == BOOT_TARGET_DISK && !uefi);
			assert_int_equal(strstr(text_get(&text), values.token) != NULL,
					 targets[i] == BOOT_TARGET_AGENT);
			assert_null(strchr(text_get(&text), '{'));
			text_done(&text);
		}
	}
}

static void nothing_is_smuggled_in(void **state)
{
	static const char *const bad[] = {"n1\nsanboot", "n1\rx", "${net0/mac}", "\x7f"};
	struct text text = {0};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(bad); i++) {
		struct script_values mine = values;

		mine.node = bad[i];
		assert_int_equal(script_table_write(BOOT_TARGET_STOP, FIRMWARE_BIOS, &mine, &text),
				 E_MALFORMED);
		assert_int_equal(text.size, 0);
	}
	text_done(&text);
}

/* What goes into a command line is one word of it. */
static void no_argument_brings_another(void **state)
{
	static const char *const bad[] = {"ttyS0 init=/bin/sh", "ttyS0\tx",     "ttyS0\"", "ttyS0'",
					  "ttyS0||exit",        "ttyS0&&shell", "ttyS0\\"};
	static const char *const good[] = {"", "ttyS0", "ttyS1,115200n8", "hvc0"};
	struct text text = {0};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(bad); i++) {
		struct script_values mine[] = {values, values, values, values, values};

		mine[0].mac = mine[1].url = mine[2].agent = mine[3].token = mine[4].console =
			bad[i];
		for (size_t k = 0; k < COUNT_OF(mine); k++)
			assert_int_equal(script_table_write(BOOT_TARGET_AGENT, FIRMWARE_BIOS,
							    &mine[k], &text),
					 E_MALFORMED);
		assert_int_equal(text.size, 0);
	}
	for (size_t i = 0; i < COUNT_OF(good); i++)
		assert_true(script_table_console(good[i]));
	text_done(&text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(scripts),
		cmocka_unit_test(who_gets_what),
		cmocka_unit_test(nothing_is_smuggled_in),
		cmocka_unit_test(no_argument_brings_another),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
