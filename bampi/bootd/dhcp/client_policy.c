#include "bampi/bootd/dhcp/client_policy.h"

#include "common/base/enum_text.h"

static const char *const kind_words[CLIENT_KINDS] = {
	[CLIENT_OTHER] = "other",       [CLIENT_BIOS] = "bios",
	[CLIENT_UEFI_X64] = "uefi-x64", [CLIENT_UEFI_ARM64] = "uefi-arm64",
	[CLIENT_HTTP_X64] = "http-x64", [CLIENT_HTTP_ARM64] = "http-arm64",
	[CLIENT_IPXE] = "ipxe",         [CLIENT_SITE_IPXE] = "site-ipxe",
	[CLIENT_BMC] = "bmc",           [CLIENT_UNSUPPORTED] = "unsupported",
};

/* Option 60 by how it begins; never parsed strictly, vendors append what they like. */
static const struct {
	const char *prefix;
	enum client_family family;
} vendor_classes[] = {
	{"PXEClient", CLIENT_FAMILY_PXE},
	{"HTTPClient", CLIENT_FAMILY_HTTP},
	{"iDRAC", CLIENT_FAMILY_BMC},
	{"CPQRIB", CLIENT_FAMILY_BMC},     /* HPE iLO */
	{"NVIDIA/BF/", CLIENT_FAMILY_BMC}, /* BlueField: OOB and BMC */
	{"BF2Client", CLIENT_FAMILY_BMC},
	{"BF3Client", CLIENT_FAMILY_BMC},
	{"nvidia-bluefield-dpu", CLIENT_FAMILY_BMC},
	{"OpenBMC", CLIENT_FAMILY_BMC},
	{"U-Boot", CLIENT_FAMILY_UBOOT}, /* "U-Boot.armv8" */
};

/* Option 93 (RFC 4578 2.1, IANA "Processor Architecture Types"): what we have a loader for.
 * `family` is what option 60 must say. */
static const struct {
	uint16_t arch;
	enum client_family family;
	enum client_kind kind;
} client_policy_architectures[] = {
	{0, CLIENT_FAMILY_PXE, CLIENT_BIOS},         {7, CLIENT_FAMILY_PXE, CLIENT_UEFI_X64},
	{9, CLIENT_FAMILY_PXE, CLIENT_UEFI_X64}, /* "EFI BC": some x64 firmware */
	{11, CLIENT_FAMILY_PXE, CLIENT_UEFI_ARM64},  {16, CLIENT_FAMILY_HTTP, CLIENT_HTTP_X64},
	{7, CLIENT_FAMILY_HTTP, CLIENT_HTTP_X64}, /* HTTP boot under the PXE number, seen on older firmware
					    */
	{19, CLIENT_FAMILY_HTTP, CLIENT_HTTP_ARM64}, {11, CLIENT_FAMILY_HTTP, CLIENT_HTTP_ARM64},
};

const char *client_kind_text(enum client_kind kind)
{
	return enum_text(kind_words, COUNT_OF(kind_words), (int)kind);
}

enum client_family client_family(const struct dhcp_message *request)
{
	for (size_t i = 0; i < COUNT_OF(vendor_classes); i++) {
		if (dhcp_option_begins(request, DHCP_OPTION_VENDOR_CLASS, vendor_classes[i].prefix))
			return vendor_classes[i].family;
	}
	return CLIENT_FAMILY_OTHER;
}

/* bampi/bootd/ipxe/build has it call itself so. Whoever else does gets an URL that his iPXE cannot
 * fetch, and no more. */
static bool client_is_site_ipxe(const struct dhcp_message *request)
{
	return dhcp_option_begins(request, DHCP_OPTION_USER_CLASS, "haas-ipxe");
}

/* iPXE writes option 77 as a plain string; a length byte before it (RFC 3004) is taken too. */
static bool is_ipxe(const struct dhcp_message *request)
{
	size_t size;

	return dhcp_option_begins(request, DHCP_OPTION_USER_CLASS, "iPXE") ||
	       dhcp_option_begins(request, DHCP_OPTION_USER_CLASS, "\4iPXE") ||
	       dhcp_option(request, DHCP_OPTION_IPXE, &size) != NULL;
}

/* The first entry of the list in option 93 that we know. */
static enum client_kind by_architecture(const struct dhcp_message *request,
					enum client_family family)
{
	size_t size;
	const uint8_t *bytes = dhcp_option(request, DHCP_OPTION_ARCH, &size);

	if (!bytes) /* PXE ROMs older than RFC 4578 are BIOS ones */
		return family == CLIENT_FAMILY_PXE ? CLIENT_BIOS : CLIENT_UNSUPPORTED;
	for (size_t at = 0; at + 1 < size; at += 2) {
		unsigned arch = (unsigned)bytes[at] << 8 | bytes[at + 1];

		for (size_t i = 0; i < COUNT_OF(client_policy_architectures); i++) {
			if (client_policy_architectures[i].arch == arch &&
			    client_policy_architectures[i].family == family)
				return client_policy_architectures[i].kind;
		}
	}
	return CLIENT_UNSUPPORTED;
}

enum client_kind client_loader_policy(const struct dhcp_message *request)
{
	return by_architecture(request, CLIENT_FAMILY_PXE);
}

enum client_kind client_policy(const struct dhcp_message *request)
{
	enum client_family family = client_family(request);

	if (family == CLIENT_FAMILY_BMC)
		return CLIENT_BMC;
	if (client_is_site_ipxe(request))
		return CLIENT_SITE_IPXE;
	if (is_ipxe(request))
		return CLIENT_IPXE;
	return family == CLIENT_FAMILY_OTHER ? CLIENT_OTHER : by_architecture(request, family);
}
