#include "bampi/bootd/dhcp/architecture_policy.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/base/text.h"
#include "common/net/wire.h"

static const struct {
	uint16_t number;
	const char *name;
} architecture_policy_names[] = {
	{0, "x86 BIOS"},
	{1, "NEC PC98"},
	{2, "Itanium UEFI"},
	{3, "DEC Alpha"},
	{4, "Arc x86"},
	{5, "Intel lean client"},
	{6, "x86 UEFI of 32 bits"},
	{7, "x64 UEFI"},
	{8, "XScale UEFI"},
	{9, "EFI byte code"},
	{10, "arm UEFI of 32 bits"},
	{11, "arm64 UEFI"},
	{12, "PowerPC Open Firmware"},
	{13, "PowerPC ePAPR"},
	{14, "POWER OPAL"},
	{15, "x86 UEFI of 32 bits, HTTP"},
	{16, "x64 UEFI, HTTP"},
	{17, "EFI byte code, HTTP"},
	{18, "arm UEFI of 32 bits, HTTP"},
	{19, "arm64 UEFI, HTTP"},
	{20, "x86 BIOS, HTTP"},
	{21, "arm U-Boot of 32 bits"},
	{22, "arm64 U-Boot"},
	{23, "arm U-Boot of 32 bits, HTTP"},
	{24, "arm64 U-Boot, HTTP"},
	{25, "riscv32 UEFI"},
	{26, "riscv32 UEFI, HTTP"},
	{27, "riscv64 UEFI"},
	{28, "riscv64 UEFI, HTTP"},
	{37, "loongarch32 UEFI"},
	{38, "loongarch32 UEFI, HTTP"},
	{39, "loongarch64 UEFI"},
	{40, "loongarch64 UEFI, HTTP"},
	{41, "arm Raspberry Pi"},
};

const char *architecture_text(uint32_t architecture)
{
	for (size_t i = 0; i < COUNT_OF(architecture_policy_names); i++)
		if (architecture_policy_names[i].number == architecture)
			return architecture_policy_names[i].name;
	return "unknown";
}

static struct wire_reader architecture_list_of(const struct dhcp_message *request)
{
	size_t size = 0;
	const uint8_t *bytes = dhcp_option(request, DHCP_OPTION_ARCH, &size);

	return wire_reader(bytes, bytes ? size : 0);
}

uint32_t architecture_of(const struct dhcp_message *request)
{
	struct wire_reader list = architecture_list_of(request);
	uint16_t number = wire_u16(&list);

	return list.bad ? ARCHITECTURE_UNTOLD : number;
}

int boot_file_parse(const char *text, struct boot_file *ret, struct problem *problem)
{
	static const char allowed[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
	char *end = NULL;
	unsigned long number = strtoul(text, &end, 10);
	const char *name = *end == ':' ? end + 1 : "";

	if (text[0] >= '0' && text[0] <= '9' && number <= UINT16_MAX && name[0] && name[0] != '.' &&
	    name[strspn(name, allowed)] == '\0' && text_copy(ret->name, sizeof(ret->name), name)) {
		ret->architecture = (uint16_t)number;
		return 0;
	}
	(void)problem_set(problem, E_MALFORMED, "boot_files: \"%s\" is no ARCHITECTURE:FILE", text);
	problem_hint(problem, "as in 22:snponly-arm64.efi; the number is of DHCP's option 93, "
			      "the file is in boot_dir");
	return E_MALFORMED;
}

const char *boot_file_find(const struct boot_file files[], size_t count,
			   const struct dhcp_message *request)
{
	struct wire_reader list = architecture_list_of(request);

	while (wire_left(&list) >= 2) {
		uint16_t number = wire_u16(&list);

		for (size_t i = 0; i < count; i++)
			if (files[i].architecture == number)
				return files[i].name;
	}
	return NULL;
}
