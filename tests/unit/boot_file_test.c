// links: bootd_dhcp
/* wire gaps: boot files of architectures that we have no loader for, by configuration. */
#include <string.h>

#include "common/base/macros.h"

#include "bampi/bootd/dhcp/answer_policy.h"
#include "bampi/bootd/dhcp/architecture_policy.h"
#include "tests/support/cmocka.h"

#define SERVER 0x0a000001U

static const struct boot_file files[] = {
	{22, "snponly-arm64.efi"}, {6, "ipxe-ia32.efi"},
	{15, "ipxe-ia32.efi"},     {27, "snponly-riscv64.efi"},
	{41, "rpi.img"},           {7, "never.efi"}, /* there is a loader of ours */
};

static void an_architecture_has_the_file_of_the_configuration(void **state)
{
	static const struct {
		const char *vendor_class, *arch; /* of two bytes each */
		size_t arch_size;
		enum client_kind kind;
		const char *name, *text;
		const char *file;        /* of the answer; NULL = none */
		const char *reply_class; /* NULL = none */
	} rows[] = {
		{"U-Boot.armv8", "\0\26", 2, CLIENT_UNSUPPORTED, "snponly-arm64.efi",
		 "arm64 U-Boot", "snponly-arm64.efi", NULL},
		{"PXEClient:Arch:00006:UNDI:003016", "\0\6", 2, CLIENT_UNSUPPORTED, "ipxe-ia32.efi",
		 "x86 UEFI of 32 bits", "ipxe-ia32.efi", "PXEClient"},
		{"HTTPClient:Arch:00015:UNDI:003016", "\0\17", 2, CLIENT_UNSUPPORTED,
		 "ipxe-ia32.efi", "x86 UEFI of 32 bits, HTTP",
		 "http://10.0.0.1:8080/boot/file/ipxe-ia32.efi", "HTTPClient"},
		{"PXEClient:Arch:00027:UNDI:003000", "\0\33", 2, CLIENT_UNSUPPORTED,
		 "snponly-riscv64.efi", "riscv64 UEFI", "snponly-riscv64.efi", "PXEClient"},
		{"PXEClient:Arch:00041:UNDI:003000", "\0\51", 2, CLIENT_UNSUPPORTED, "rpi.img",
		 "arm Raspberry Pi", "rpi.img", "PXEClient"},
		{"PXEClient:Arch:00010:UNDI:003000", "\0\12", 2, CLIENT_UNSUPPORTED, NULL,
		 "arm UEFI of 32 bits", NULL, NULL},
		{"PXEClient:Arch:00039:UNDI:003000", "\0\47", 2, CLIENT_UNSUPPORTED, NULL,
		 "loongarch64 UEFI", NULL, NULL},
		{"PXEClient", "\0\47\0\33", 4, CLIENT_UNSUPPORTED, "snponly-riscv64.efi",
		 "loongarch64 UEFI", "snponly-riscv64.efi", "PXEClient"},
		{"PXEClient", "\77\77", 2, CLIENT_UNSUPPORTED, NULL, "unknown", NULL, NULL},
		{"PXEClient:Arch:00007", "\0\7", 2, CLIENT_UEFI_X64, "never.efi", "x64 UEFI",
		 "snponly.efi", "PXEClient"},
		/* What does not boot by network is given nothing to boot. */
		{"udhcp 1.35.0", "\0\26", 2, CLIENT_OTHER, "snponly-arm64.efi", "arm64 U-Boot",
		 NULL, NULL},
		{"U-Boot", NULL, 0, CLIENT_UNSUPPORTED, NULL, "unknown", NULL, NULL},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct dhcp_message request = {0};
		struct dhcp_message reply = {0};
		struct answer_facts facts = {.node = true, .server = SERVER, .http_port = 8080};
		const uint8_t *bytes;
		size_t size = 0;

		print_message("%s, %s\n", rows[i].vendor_class, rows[i].text);
		dhcp_put_text(&request, DHCP_OPTION_VENDOR_CLASS, rows[i].vendor_class);
		if (rows[i].arch)
			dhcp_put(&request, DHCP_OPTION_ARCH, rows[i].arch, rows[i].arch_size);
		assert_string_equal(architecture_text(architecture_of(&request)), rows[i].text);
		facts.client = client_policy(&request);
		assert_int_equal(facts.client, rows[i].kind);
		facts.family = client_family(&request);
		facts.boot_file = boot_file_find(files, COUNT_OF(files), &request);
		assert_int_equal(facts.boot_file == NULL, rows[i].name == NULL);
		if (rows[i].name)
			assert_string_equal(facts.boot_file, rows[i].name);

		assert_int_equal(answer_policy(&facts, &reply), rows[i].file != NULL);
		assert_string_equal(reply.file, rows[i].file ? rows[i].file : "");
		assert_int_equal(reply.siaddr, rows[i].file ? SERVER : 0);
		bytes = dhcp_option(&reply, DHCP_OPTION_VENDOR_CLASS, &size);
		assert_int_equal(bytes == NULL, rows[i].reply_class == NULL);
		if (rows[i].reply_class)
			assert_memory_equal(bytes, rows[i].reply_class, size);
		facts.node = false;
		reply = (struct dhcp_message){0};
		assert_false(answer_policy(&facts, &reply));
	}
}

static void texts_are_read_whole_or_refused(void **state)
{
	static const struct {
		const char *text;
		int architecture; /* -1: refused */
		const char *name;
	} rows[] = {
		{"22:snponly-arm64.efi", 22, "snponly-arm64.efi"},
		{"65535:a", 65535, "a"},
		{"65536:a", -1, NULL},
		{"22", -1, NULL},
		{"22:", -1, NULL},
		{":a", -1, NULL},
		{"-1:a", -1, NULL},
		{" 1:a", -1, NULL},
		{"x:a", -1, NULL},
		{"22:../a", -1, NULL},
		{"22:.a", -1, NULL},
		{"22:a/b", -1, NULL},
		{"22:a b", -1, NULL},
		{"22:0123456789012345678901234567890123456789012345678901234567890123456789012345678x"
		 "y",
		 -1, NULL},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct boot_file file = {0};
		struct problem problem = {0};
		int rc = boot_file_parse(rows[i].text, &file, &problem);

		print_message("%s\n", rows[i].text);
		assert_int_equal(rc != 0, rows[i].architecture < 0);
		assert_int_equal(problem.message[0] != '\0', rc != 0);
		if (rc)
			continue;
		assert_int_equal(file.architecture, rows[i].architecture);
		assert_string_equal(file.name, rows[i].name);
	}
}

/* A node that starts only what the site has signed gets the signed image where others get iPXE; to
 * start its disk it gets nothing, for no script could tell its firmware to leave. */
static void answer_of_secure_boot(void **state)
{
	static const struct {
		enum client_kind client;
		const char *file; /* NULL = as without Secure Boot, "" = nothing */
	} rows[] = {
		{CLIENT_UEFI_X64, "agent.efi"},
		{CLIENT_HTTP_X64, "http://10.0.0.1:8080/boot/file/agent.efi"},
		{CLIENT_UEFI_ARM64, ""}, /* no signed image is made for it */
		{CLIENT_HTTP_ARM64, ""},
		{CLIENT_IPXE, NULL}, /* the signed image itself: it wants its script */
		{CLIENT_BIOS, NULL},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct answer_facts facts = {.client = rows[i].client,
					     .node = true,
					     .mac = {{2, 0, 0, 0, 0, 1}},
					     .server = SERVER,
					     .http_port = 8080};
		struct dhcp_message plain = {0};
		struct dhcp_message reply = {0};

		assert_true(answer_policy(&facts, &plain));
		facts.secure_boot = true;
		assert_int_equal(answer_policy(&facts, &reply), !rows[i].file || rows[i].file[0]);
		assert_string_equal(reply.file, rows[i].file ? rows[i].file : plain.file);
		facts.disk = true;
		reply = (struct dhcp_message){0};
		assert_int_equal(answer_policy(&facts, &reply), rows[i].file == NULL);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_architecture_has_the_file_of_the_configuration),
		cmocka_unit_test(answer_of_secure_boot),
		cmocka_unit_test(texts_are_read_whole_or_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
